"""Classification by a model that only chats: which of the labels' words does it begin its answer with?

One call a text. The candidates for the first token of the answer come with their log-probabilities; a candidate counts
for a label when the label's word begins with it (" Pos" for "positive"). The labels' probabilities are then made to
sum to one.

A label whose word is among no candidates gets the probability of the least likely one: it has that at most. A text for
which no label is among them has no probabilities: it is kept as a row of zeros, so that it is not paid again, and told
when all the others are answered.
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
from geobias.models.served.completions import Said, choices, said
from geobias.models.served.endpoint import Endpoint, Line, Question, Refused
from geobias.models.served.identity import candidates_apart, known_identities, which_model
from geobias.models.served.probe import REFUSES

CHAT, COMPLETIONS = "chat/completions", "completions"
Way = tuple[str, int]  # where the candidates are asked for, and how many
FEWEST = 5
WAYS: tuple[Way, ...] = ((CHAT, 20), (CHAT, FEWEST), (COMPLETIONS, FEWEST))  # as many as servers commonly allow
HOPELESS = 20  # texts without any label, and no other: the prompt does not work
PROBES = ("I love this!", "I hate this!", "The train leaves at nine.")


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
        self._instead: dict[str, str] = {}  # text -> what was answered in place of a label
        if len(words) < 2 or not all(self.words.values()):
            raise InputError("A classifier needs two labels or more, each with a word.")
        for label, word in self.words.items():
            alike = [other for other, its in self.words.items() if other != label and its.startswith(word)]
            if alike:
                raise InputError(
                    f"The words for {label!r} and {alike[0]!r} begin alike: a served model is heard by how its answer "
                    "begins, so choose words of which none begins another."
                )

    @property
    def url(self) -> str:
        return self.endpoint.url

    @cached_property
    def way(self) -> Way:
        """Where the server gives candidates: in chats, or else in completions; found out at the first use."""
        lacking: dict[str, str] = {}
        for path, count in WAYS:
            if path in lacking:
                continue
            try:
                self.endpoint.ask(self._question(PROBES[0], (path, count)))
                return path, count
            except Refused as refusal:
                if refusal.status in (401, 403):
                    raise
                if refusal.status not in REFUSES or count == FEWEST:  # else it may allow fewer candidates
                    lacking[path] = str(refusal)
            except NoCandidates as error:
                lacking[path] = str(error)
        raise InputError(f"{self.name} cannot be asked to classify: {' '.join(lacking.values())}")

    def identity(self) -> ModelIdentity:
        return ModelIdentity(
            self.name,
            PROBABILITIES,
            self.fingerprint,
            prompt=self.prompt.settings,
            endpoint=self.url,
            asked_by="candidates of an answer",
        )

    @cached_property
    def model_digest(self) -> str:
        found = [self.endpoint.ask(self._question(text, self.way)) for text in PROBES]
        return which_model(self._place(self.way), [dict(candidates) for candidates in found], candidates_apart)

    @property
    def fingerprint(self) -> str:
        return self._fingerprint(self.model_digest)

    def known_fingerprints(self) -> list[str]:
        """That of the model that answered last in each way; no call is made."""
        return [self._fingerprint(identity) for way in WAYS for identity in known_identities(self._place(way))[:1]]

    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]:
        way = self.way

        def question(i: int) -> Question[tuple[np.ndarray, np.ndarray]]:
            async def answer(line: Line) -> tuple[np.ndarray, np.ndarray]:
                row = self._row(await self._candidates(line, texts[i], way), texts[i])
                return np.array([i]), np.array([[*row, 0.0]])

            return answer

        heard, labelled = [], False
        for some, rows in self.endpoint.answers(question(i) for i in range(len(texts))):
            yield some, rows
            labelled = labelled or bool(rows.any())
            if not labelled:
                heard.append(texts[int(some[0])])
                if len(heard) == HOPELESS:
                    self.check_scores(heard, np.zeros((HOPELESS, 1)))

    def score(self, texts: Sequence[str]) -> np.ndarray:
        rows = super().score(texts)
        self.check_scores(texts, rows)
        return rows

    def check_scores(self, texts: Sequence[str], rows: np.ndarray) -> None:
        """Raise where texts got no label."""
        without = np.flatnonzero(~rows.any(axis=1))
        if len(without):
            text = texts[int(without[0])]
            instead = f" (but with {self._instead[text]})" if text in self._instead else ""
            raise InputError(
                f"{self.name} answers {len(without):,} text(s) with none of {', '.join(self.words.values())}, for "
                f"example {text[:60]!r}{instead}: leave them out, or ask in another prompt for one of these words and "
                "nothing else. All answers so far are kept."
            )

    def _place(self, way: Way) -> tuple[str, ...]:
        path, count = way
        return self.url, self.name, self.prompt.template, path, str(count)

    def _fingerprint(self, identity: str) -> str:
        words = hashlib.sha256(json.dumps(self.words).encode()).hexdigest()[:16]
        return f"{identity}:{words}:words:served"

    def _question(self, text: str, way: Way) -> Question[Sequence[tuple[str, float]]]:
        return lambda line: self._candidates(line, text, way)

    async def _candidates(self, line: Line, text: str, way: Way) -> Sequence[tuple[str, float]]:
        """The candidates for the first token of the answer, the likeliest first."""
        path, count = way
        asked = self.prompt.template.replace(TEXT, text)
        if path == CHAT:
            body = {"messages": [{"role": "user", "content": asked}], "logprobs": True, "top_logprobs": count}
        else:
            body = {"prompt": asked, "logprobs": count}
        answer = await line.post(path, {**body, "max_tokens": 1, "temperature": 0})
        heard: list[Said] = said(choices(answer, 1)[0])
        if not heard or not heard[0].candidates:
            raise NoCandidates(f"The server at {self.url} gives no log-probabilities with {path}.")
        return heard[0].candidates

    def _row(self, candidates: Sequence[tuple[str, float]], text: str) -> np.ndarray:
        """p(label) for each label; zeros where none is among the candidates."""
        seen, unclear = dict.fromkeys(self.labels, 0.0), 0.0
        for token, log_p in candidates:
            beginning = token.strip().casefold()
            fitting = [label for label, word in self.words.items() if beginning and word.startswith(beginning)]
            if len(fitting) == 1:
                seen[fitting[0]] += math.exp(log_p)
            elif fitting:
                unclear += math.exp(log_p)
        together = sum(seen.values())
        if unclear > together:
            raise InputError(
                f"{self.name} begins its answer to the text {text[:60]!r} with what fits several labels: choose words "
                "that differ from their first letters on."
            )
        if not together:
            self._instead[text] = ", ".join(repr(token) for token, _ in candidates[:3])
            return np.zeros(len(self.labels))
        least = math.exp(candidates[-1][1])
        p = np.array([value or least for value in seen.values()])
        return p / p.sum()


class NoCandidates(InputError):
    """The server answers, but without log-probabilities."""
