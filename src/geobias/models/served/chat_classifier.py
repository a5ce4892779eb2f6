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
from functools import cached_property

import numpy as np

from geobias.errors import InputError
from geobias.models.classifiers.prompted import TEXT, Prompt
from geobias.models.scorer import (
    PROBABILITIES,
    Classifier,
    ModelIdentity,
    ScoreBlock,
    StreamingScorer,
    probability_columns,
)
from geobias.models.served.completions import read_choices, read_generated
from geobias.models.served.endpoint import CallRefused, Connection, Endpoint, Query
from geobias.models.served.probe import REFUSED
from geobias.models.served.server_identity import candidate_distance, known_models, recognise_model

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
    """A served model that is asked for one of several words. `prompt` holds {text}, `words` a word for each label."""

    paid = True
    is_prompted = True

    def __init__(self, endpoint: Endpoint, prompt: str, words: Mapping[str, str]) -> None:
        if TEXT not in prompt:
            raise InputError(f"The prompt {prompt[:60]!r} must hold {TEXT}, where the text goes.")
        self.endpoint, self.prompt = endpoint, Prompt(words, prompt)
        self.name = endpoint.model
        self.words = {label: word.strip().casefold() for label, word in words.items()}
        self.labels = tuple(words)
        self.columns = probability_columns(self.labels)
        self._other_answers: dict[str, str] = {}  # text -> what was answered instead of a label
        if len(words) < 2 or not all(self.words.values()):
            raise InputError("A classifier needs two labels or more, each with a word.")
        for label, word in self.words.items():
            similar = [other for other, longer in self.words.items() if other != label and longer.startswith(word)]
            if similar:
                raise InputError(
                    f"The words for {label!r} and {similar[0]!r} begin alike: a served model is heard by how its "
                    "answer begins, so choose words of which none begins another."
                )

    @cached_property
    def route(self) -> Route:
        """Where the server gives candidates: in chats, or else in completions; tried at the first use."""
        problems: dict[str, str] = {}
        for path, count in ROUTES:
            if path in problems:
                continue
            try:
                self.endpoint.ask(self._make_query(PROBES[0], (path, count)))
                return path, count
            except CallRefused as refusal:
                if refusal.status in (401, 403):
                    raise
                if refusal.status not in REFUSED or count == FEWEST_CANDIDATES:  # else it may allow fewer candidates
                    problems[path] = str(refusal)
            except NoCandidates as error:
                problems[path] = str(error)
        raise InputError(f"{self.name} cannot be asked to classify: {' '.join(problems.values())}")

    @cached_property
    def model_digest(self) -> str:
        """Which model answers under this name."""
        answers = [dict(self.endpoint.ask(self._make_query(text, self.route))) for text in PROBES]
        return recognise_model(self._address(self.route), answers, candidate_distance)

    @property
    def fingerprint(self) -> str:
        return self._fingerprint(self.model_digest)

    def known_fingerprints(self) -> list[str]:
        """Return that of the model that answered last on each route. No call is made."""
        return [self._fingerprint(digest) for route in ROUTES for digest in known_models(self._address(route))[:1]]

    def identity(self) -> ModelIdentity:
        return ModelIdentity(
            self.name,
            PROBABILITIES,
            self.fingerprint,
            prompt=self.prompt.settings,
            endpoint=self.endpoint.url,
            asked_by="candidates of an answer",
        )

    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]:
        route = self.route

        def make_query(i: int) -> Query[ScoreBlock]:
            async def classify(connection: Connection) -> ScoreBlock:
                row = self._row(await self._get_candidates(connection, texts[i], route), texts[i])
                return np.array([i]), np.array([[*row, 0.0]])

            return classify

        unlabelled, has_label = [], False
        for positions, rows in self.endpoint.ask_all(make_query(i) for i in range(len(texts))):
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
        """Raise an error if texts got no label."""
        unlabelled = np.flatnonzero(~scores.any(axis=1))
        if len(unlabelled):
            text = texts[int(unlabelled[0])]
            instead = f" (but with {self._other_answers[text]})" if text in self._other_answers else ""
            raise InputError(
                f"{self.name} answers {len(unlabelled):,} text(s) with none of {', '.join(self.words.values())}, for "
                f"example {text[:60]!r}{instead}: leave them out, or ask in another prompt for one of these words and "
                "nothing else. All answers so far are kept."
            )

    def _address(self, route: Route) -> tuple[str, ...]:
        path, count = route
        return self.endpoint.url, self.name, self.prompt.template, path, str(count)

    def _fingerprint(self, model_digest: str) -> str:
        words = hashlib.sha256(json.dumps(self.words).encode()).hexdigest()[:16]
        return f"{model_digest}:{words}:words:served"

    def _make_query(self, text: str, route: Route) -> Query[Candidates]:
        return lambda connection: self._get_candidates(connection, text, route)

    async def _get_candidates(self, connection: Connection, text: str, route: Route) -> Candidates:
        """Return the candidates for the first token of the answer."""
        path, count = route
        question = self.prompt.template.replace(TEXT, text)
        if path == CHAT:
            body = {"messages": [{"role": "user", "content": question}], "logprobs": True, "top_logprobs": count}
        else:
            body = {"prompt": question, "logprobs": count}
        answer = await connection.post(path, {**body, "max_tokens": 1, "temperature": 0})
        generated = read_generated(read_choices(answer, 1)[0])
        if not generated or not generated[0].candidates:
            raise NoCandidates(f"The server at {self.endpoint.url} gives no log-probabilities with {path}.")
        return generated[0].candidates

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
                f"{self.name} begins its answer to the text {text[:60]!r} with what fits several labels: choose words "
                "that differ from their first letters on."
            )
        if not total:
            self._other_answers[text] = ", ".join(repr(token) for token, _ in candidates[:3])
            return np.zeros(len(self.labels))
        smallest = math.exp(candidates[-1][1])
        p = np.array([value or smallest for value in label_p.values()])
        return p / p.sum()
