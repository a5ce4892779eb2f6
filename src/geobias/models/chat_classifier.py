"""Classification by a model that only chats: with which label's word does it begin its answer?

One call for each text. The candidates for the first token of the answer come with their log-probabilities. A candidate
counts for a label if the label's word begins with it (" Pos" for "positive"). The probabilities of the labels are then
normalised.

A label whose word is not among the candidates gets the probability of the least likely one, which it has at most. A
text for which no label is among them has no probabilities: it is stored as a row of zeros, so that it is not paid
again, and reported when all others are answered.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import permutations
from typing import Any

import numpy as np

from geobias.errors import InputError
from geobias.models.completions import read_first_token
from geobias.models.connection import CallRefused, Connection, UnreadableAnswer
from geobias.models.endpoint import Endpoint
from geobias.models.prompted import TEXT, Prompt
from geobias.models.scorer import Classifier, ModelIdentity, ScoreBlock, StreamingScorer, probability_columns
from geobias.models.served_lm import REFUSED
from geobias.models.server_identity import candidate_distance, known_models, recognise_model

CHAT, COMPLETIONS = "chat/completions", "completions"
Route = tuple[str, int]  # the path of a call, and how many candidates it asks for
FEWEST_CANDIDATES = 5
ROUTES: tuple[Route, ...] = ((CHAT, 20), (CHAT, FEWEST_CANDIDATES), (COMPLETIONS, FEWEST_CANDIDATES))
MOST_UNLABELLED = 20  # texts without any label, and none with one: the prompt does not work
PROBES = ("I love this!", "I hate this!", "The train leaves at nine.")

Candidates = Sequence[tuple[str, float]]  # text and log-probability, the likeliest first


class NoCandidates(InputError):
    """The server answers, but without log-probabilities."""


class ServedClassifier(Classifier, StreamingScorer):
    """A classifier that prompts a chat model behind an endpoint and reads the first token of its answer.

    Each text takes one call. The server must return log-probabilities of the candidates for the first token. The
    probability of a label is the share of the candidates that begin the word of that label.

    Parameters
    ----------
    endpoint : Endpoint
        The server, and limits on its use.
    prompt : str
        The prompt, with "{text}" for the text.
    words : mapping of str to str
        The word that stands for each label, such as ``{"negative": "bad", "positive": "good"}``. No word may begin with
        another.

    Attributes
    ----------
    labels : tuple of str
        The labels.
    name : str
        Name of the model on the server.

    Raises
    ------
    InputError
        If the prompt lacks "{text}", or if the words cannot be told apart by their first letters.

    Examples
    --------
    >>> import geobias
    >>> endpoint = geobias.Endpoint("http://localhost:8000/v1", "my-model")
    >>> prompt = "Is this review good or bad? Answer with one word.\\n{text}"
    >>> classifier = geobias.ServedClassifier(endpoint, prompt, {"negative": "bad", "positive": "good"})
    >>> classifier.labels
    ('negative', 'positive')
    >>> geobias.audit_names(classifier, "reviews.csv", out="runs/chat")  # doctest: +SKIP
    """

    version = 1
    paid = True
    is_prompted = True

    def __init__(self, endpoint: Endpoint, prompt: str, words: Mapping[str, str]) -> None:
        if TEXT not in prompt:
            raise InputError(f"The prompt {prompt[:60]!r} must contain {TEXT}.")
        self.endpoint, self.name, self.prompt = endpoint, endpoint.model, Prompt(words, prompt)
        self.words = {label: word.strip().casefold() for label, word in words.items()}
        self.labels = tuple(words)
        self.columns = probability_columns(self.labels)
        self._other_answers: dict[str, str] = {}  # text -> what was answered instead of a label
        if len(words) < 2 or not all(self.words.values()):
            raise InputError("A classifier needs at least two labels, each with a word.")
        for (label, word), (other, longer) in permutations(self.words.items(), 2):
            if longer.startswith(word):
                raise InputError(
                    f"The word for {label!r} is the start of the word for {other!r}. Choose other words: the first "
                    "token of the answer must tell them apart."
                )

    @cached_property
    def route(self) -> Route:
        """Where the server gives candidates: in chats, or else in completions; tried at the first use."""
        problems: dict[str, str] = {}
        for path, count in ROUTES:
            if path in problems:
                continue
            try:
                self.endpoint.ask(partial(self._get_candidates, PROBES[0], (path, count)))
                return path, count
            except CallRefused as refusal:
                if refusal.status in (401, 403):
                    raise
                if refusal.status not in REFUSED or count == FEWEST_CANDIDATES:  # else it may allow fewer candidates
                    problems[path] = str(refusal)
            except NoCandidates as error:
                problems[path] = str(error)
        raise InputError(f"{self.name} cannot be used as a classifier: {' '.join(problems.values())}")

    @cached_property
    def model_digest(self) -> str:
        """Which model answers under this name."""
        answers = [dict(self.endpoint.ask(partial(self._get_candidates, text, self.route))) for text in PROBES]
        return recognise_model(self._address(self.route), answers, candidate_distance)

    @property
    def fingerprint(self) -> str:
        return self._fingerprint(self.model_digest)

    def known_fingerprints(self) -> list[str]:
        """Return that of the model that answered last on each route. No call is made."""
        return [self._fingerprint(digest) for route in ROUTES for digest in known_models(self._address(route))[:1]]

    def identity(self) -> ModelIdentity:
        endpoint, prompt = self.endpoint.url, self.prompt.settings
        return replace(super().identity(), endpoint=endpoint, prompt=prompt, asked_by="candidates of an answer")

    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]:
        route = self.route
        queries = (partial(self._classify, i, text, route) for i, text in enumerate(texts))
        unlabelled, has_label = [], False
        for positions, rows in self.endpoint.ask_all(queries):
            yield positions, rows
            has_label = has_label or bool(rows.any())
            if not has_label:
                unlabelled.append(texts[int(positions[0])])
                if len(unlabelled) == MOST_UNLABELLED:
                    self.check_scores(unlabelled, np.zeros((MOST_UNLABELLED, 1)))

    def score(self, texts: Sequence[str]) -> np.ndarray:
        rows = super().score(texts)
        self.check_scores(texts, rows)
        return rows

    def check_scores(self, texts: Sequence[str], scores: np.ndarray) -> None:
        """Raise an error if the model answered some texts with none of the labels.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        scores : numpy.ndarray
            A row for each text.
        """
        unlabelled = np.flatnonzero(~scores.any(axis=1))
        if len(unlabelled):
            text = texts[int(unlabelled[0])]
            instead = f" (but with {self._other_answers[text]})" if text in self._other_answers else ""
            raise InputError(
                f"{self.name} answers {len(unlabelled):,} text(s) with none of {', '.join(self.words.values())}, such "
                f"as {text[:60]!r}{instead}. Remove these texts, or change --prompt so that the model answers with "
                "one of these words only. The answers so far are saved."
            )

    def _address(self, route: Route) -> tuple[str, ...]:
        path, count = route
        return self.endpoint.url, self.name, self.prompt.template, path, str(count)

    def _fingerprint(self, model_digest: str) -> str:
        words = hashlib.sha256(json.dumps(self.words).encode()).hexdigest()[:16]
        return f"{model_digest}:{words}:words:served:{self.version}"

    async def _classify(self, position: int, text: str, route: Route, connection: Connection) -> ScoreBlock:
        row = self._row(await self._get_candidates(text, route, connection, required=True), text)
        return np.array([position]), np.array([[*row, 0.0]])

    async def _get_candidates(
        self, text: str, route: Route, connection: Connection, *, required: bool = False
    ) -> Candidates:
        """Return the candidates for the first token of the answer.

        If they are `required`, the server has named candidates before: an answer without them is asked for again.
        """
        path, count = route
        question = self.prompt.template.replace(TEXT, text)
        if path == CHAT:
            body = {"messages": [{"role": "user", "content": question}], "logprobs": True, "top_logprobs": count}
        else:
            body = {"prompt": question, "logprobs": count}

        def read(answer: Any) -> Candidates:
            token = read_first_token(answer)
            if token and token.candidates:
                return token.candidates
            if required:
                raise UnreadableAnswer("returned no log-probabilities this time")
            raise NoCandidates(f"The server at {self.endpoint.url} returns no log-probabilities with {path}.")

        candidates: Candidates = await connection.post(path, {**body, "max_tokens": 1, "temperature": 0}, read)
        return candidates

    def _row(self, candidates: Candidates, text: str) -> np.ndarray:
        """Return p(label) for each label; zeros if none is among the candidates."""
        label_p, ambiguous_p = dict.fromkeys(self.labels, 0.0), 0.0
        for token, log_p in candidates:
            beginning = token.strip().casefold()
            labels = [label for label, word in self.words.items() if beginning and word.startswith(beginning)]
            if len(labels) == 1:
                label_p[labels[0]] += math.exp(log_p)
            elif labels:
                ambiguous_p += math.exp(log_p)
        total = sum(label_p.values())
        if ambiguous_p > total:
            raise InputError(
                f"The answer of {self.name} to the text {text[:60]!r} starts like several labels. Choose words with "
                "different first letters."
            )
        if not total:
            self._other_answers[text] = ", ".join(repr(token) for token, _ in candidates[:3])
            return np.zeros(len(self.labels))
        smallest = math.exp(candidates[-1][1])
        p = np.array([value or smallest for value in label_p.values()])
        return p / p.sum()
