"""Classification by a model that only chats: which of the labels' words does it begin its answer with?

One call a text. The candidates for the first token of the answer come with their log-probabilities; a candidate counts
for a label when the label's word begins with it (" Pos" for "positive"). The labels' probabilities are then made to
sum to one.

A label whose word is among no candidates gets the probability of the least likely one: it has that at most.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from geobias.errors import GeobiasError, InputError
from geobias.models.completions import Said, choices, said
from geobias.models.endpoint import Endpoint, Line, Question, Refused
from geobias.models.prompted import TEXT, Prompt
from geobias.models.scorer import StreamingScorer, probability_columns
from geobias.models.which import known_identities, which_model

CHAT, COMPLETIONS = "chat/completions", "completions"
CANDIDATES = {CHAT: 20, COMPLETIONS: 5}  # as many as servers commonly give
PROBES = ("I love this!", "I hate this!", "The train leaves at nine.")


class ServedClassifier(StreamingScorer):
    """A served model that is asked for one of several words. `prompt` holds {text}, `words` a word for each label."""

    paid = True
    multi_label = False
    base: str | None = None

    def __init__(self, endpoint: Endpoint, prompt: str, words: Mapping[str, str]) -> None:
        if TEXT not in prompt:
            raise InputError(f"The prompt {prompt[:60]!r} must hold {TEXT}, where the text goes.")
        self.endpoint, self.prompt = endpoint, Prompt(words, prompt)
        self.name = endpoint.model
        self.words = {label: word.strip().casefold() for label, word in words.items()}
        self.labels = tuple(words)
        self.columns = probability_columns(self.labels)
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
    def path(self) -> str:
        """Where the server gives candidates: in chats, or else in completions; found out at the first use."""
        lacking = []
        for path in (CHAT, COMPLETIONS):
            try:
                self.endpoint.ask(self._question(PROBES[0], path))
                return path
            except Refused as refusal:
                if refusal.status in (401, 403):
                    raise
                lacking.append(str(refusal))
            except NoCandidates as error:
                lacking.append(str(error))
        raise InputError(f"{self.name} cannot be asked to classify: {' '.join(lacking)}")

    @cached_property
    def identity(self) -> str:
        found = [self.endpoint.ask(self._question(text, self.path)) for text in PROBES]
        return which_model(self._place, [candidates[0][1] for candidates in found])

    @property
    def fingerprint(self) -> str:
        return self._fingerprint(self.identity)

    def likely_fingerprints(self) -> list[str]:
        """Those under which this model's answers are kept already, the last one first; no call is made."""
        return [self._fingerprint(identity) for identity in known_identities(self._place)]

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        path = self.path

        def question(i: int) -> Question[tuple[np.ndarray, np.ndarray]]:
            async def answer(line: Line) -> tuple[np.ndarray, np.ndarray]:
                row = self._row(await self._candidates(line, texts[i], path), texts[i])
                return np.array([i]), np.array([[*row, 0.0]])

            return answer

        yield from self.endpoint.answers(question(i) for i in range(len(texts)))

    @property
    def _place(self) -> tuple[str, str, str]:
        return self.url, self.name, self.prompt.template

    def _fingerprint(self, identity: str) -> str:
        words = hashlib.sha256(json.dumps(self.words).encode()).hexdigest()[:16]
        return f"{identity}:{words}:words:served"

    def _question(self, text: str, path: str) -> Question[Sequence[tuple[str, float]]]:
        return lambda line: self._candidates(line, text, path)

    async def _candidates(self, line: Line, text: str, path: str) -> Sequence[tuple[str, float]]:
        """The candidates for the first token of the answer, the likeliest first."""
        asked = self.prompt.template.replace(TEXT, text)
        if path == CHAT:
            body = {
                "messages": [{"role": "user", "content": asked}],
                "logprobs": True,
                "top_logprobs": CANDIDATES[CHAT],
            }
        else:
            body = {"prompt": asked, "logprobs": CANDIDATES[COMPLETIONS]}
        answer = await line.post(path, {**body, "max_tokens": 1, "temperature": 0})
        heard: list[Said] = said(choices(answer, 1)[0])
        if not heard or not heard[0].candidates:
            raise NoCandidates(f"The server at {self.url} gives no log-probabilities with {path}.")
        return heard[0].candidates

    def _row(self, candidates: Sequence[tuple[str, float]], text: str) -> np.ndarray:
        """p(label) for each label."""
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
            likeliest = ", ".join(repr(token) for token, _ in candidates[:3])
            raise GeobiasError(
                f"{self.name} answers the text {text[:60]!r} with none of {', '.join(self.words.values())} (but with "
                f"{likeliest}): ask in the prompt for one of these words and nothing else."
            )
        least = math.exp(candidates[-1][1])
        p = np.array([value or least for value in seen.values()])
        return p / p.sum()


class NoCandidates(InputError):
    """The server answers, but without log-probabilities."""
