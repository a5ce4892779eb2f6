"""Language models behind a server, scored by the server's own log-probabilities.

The scores `mean`, `sum` and `conditional` are those of causal models (`language.causal`). The first token has a
log-probability only after another one: after `begin` (the token that begins a text, such as `<s>`, for models whose
server adds none). Otherwise it is not counted; the column `tokens` says how many were.

The server is probed at the first use: how it gives log-probabilities, whether they are at the right tokens, and which
model answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial

import numpy as np

from geobias.checks import describe_choices
from geobias.errors import InputError
from geobias.models.scorer import LOG_LIKELIHOOD, AnyLanguageModel, MethodScorer, ModelIdentity, ScoreBlock
from geobias.models.served.completions import ScoredToken
from geobias.models.served.connection import Connection
from geobias.models.served.endpoint import Endpoint
from geobias.models.served.likelihoods import LikelihoodSource, probe_server, score_tokens
from geobias.models.served.server_identity import known_models, recognise_model
from geobias.texts.templates import unmark


class ServedLM(AnyLanguageModel):
    """A language model behind an endpoint, scored by the log-probabilities that the server returns.

    Use it as the model of `audit_regions`, as `lm` of `audit_names`, or with `labels` as a classifier. The server is
    probed at the first use: how it returns log-probabilities, and which model answers.

    Parameters
    ----------
    endpoint : Endpoint
        The server, and limits on its use.
    begin : str, default ""
        Text sent before every text and not scored: the token that begins texts, such as "<s>", if the server adds none.

    Attributes
    ----------
    methods : tuple of str
        "mean" and "sum" of the log-probabilities of all tokens, and "conditional": the mean over the marked part.
    name : str
        Name of the model on the server.

    Examples
    --------
    >>> import geobias
    >>> model = geobias.ServedLM(geobias.Endpoint("http://localhost:8000/v1", "my-model"))
    >>> model.methods
    ('mean', 'sum', 'conditional')
    >>> geobias.audit_regions(model, cities=0, out="runs/served")  # doctest: +SKIP
    """

    methods = ("mean", "sum", "conditional")
    default_method = "conditional"
    perplexity_method = "mean"
    prompted_method = "conditional"

    def __init__(self, endpoint: Endpoint, *, begin: str = "") -> None:
        self.endpoint, self.name, self.begin = endpoint, endpoint.model, begin

    def scorer(self, method: str | None = None) -> ServedScorer:
        return ServedScorer(self, method or self.default_method)

    @cached_property
    def source(self) -> LikelihoodSource:
        """How this server gives log-probabilities; probed at the first use."""
        return self.endpoint.ask(partial(probe_server, self.begin))

    @cached_property
    def model_digest(self) -> str:
        """Which model answers under this name."""
        return recognise_model(self._address, self.source.probe_log_p)

    @property
    def _address(self) -> tuple[str, str, str]:
        return self.endpoint.url, self.name, self.begin

    def describe(self, score: str, fingerprint: str | None) -> ModelIdentity:
        return ModelIdentity(
            self.name, score, fingerprint, endpoint=self.endpoint.url, asked_by=self.source.name, begin=self.begin
        )

    def known_fingerprints(self, method: str) -> list[str]:
        """Return the fingerprints of the models that answered here before, the last one first. No call is made.

        Parameters
        ----------
        method : str
            One of `methods`.

        Returns
        -------
        list of str
            Fingerprints of scores in the store.
        """
        return [make_fingerprint(digest, method) for digest in known_models(self._address)]


def make_fingerprint(model_digest: str, method: str) -> str:
    return f"{model_digest}:{method}:served:{ServedScorer.version}"


class ServedScorer(MethodScorer):
    """One scoring method of a served model. The column `tokens` says how many tokens counted."""

    lm: ServedLM
    version = 1  # raised whenever a change of the code changes the scores
    columns = (LOG_LIKELIHOOD, "tokens")
    paid = True

    def __init__(self, lm: ServedLM, method: str) -> None:
        if method not in lm.methods:
            raise InputError(f"Unknown score {method!r} for a served model. {describe_choices(method, lm.methods)}")
        self.lm, self.method = lm, method
        self.needs_mark = self.looks_back_only = method == "conditional"

    @property
    def fingerprint(self) -> str:
        return make_fingerprint(self.lm.model_digest, self.method)

    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]:
        size = self.lm.source.texts_per_call
        shares = (range(start, min(start + size, len(texts))) for start in range(0, len(texts), size))
        yield from self.lm.endpoint.ask_all(partial(self._score_share, texts, share) for share in shares)

    async def _score_share(self, texts: Sequence[str], share: range, connection: Connection) -> ScoreBlock:
        spans = [self._span(texts[i]) for i in share]
        tokens = await score_tokens(connection, [text for text, _, _ in spans], self.lm.begin)
        return np.array(share), np.array([self._row(*pair) for pair in zip(tokens, spans, strict=True)])

    def _span(self, text: str) -> tuple[str, int, int]:
        """Return the text as it is sent, and from where to where its tokens count."""
        plain, start, end = unmark(text)
        if not self.needs_mark:
            start, end = 0, len(plain)
        offset = len(self.lm.begin)
        return self.lm.begin + plain, offset + start, offset + end

    def _row(self, tokens: Sequence[ScoredToken], span: tuple[str, int, int]) -> tuple[float, int]:
        _, start, end = span
        log_p = [token.log_p for token in tokens if token.log_p is not None and token.start < end and token.end > start]
        if not log_p:
            return np.nan, 0  # no token, no score
        return (sum(log_p) if self.method == "sum" else sum(log_p) / len(log_p)), len(log_p)
