"""Models that only chat, behind a server: with which answer do they begin their reply?

One call for each text. The candidates for the first token of the reply come with their log-probabilities. A classifier
reads them as its labels, a decider as the answers to a question. An answer that is not among the candidates gets the
probability of the least likely one, which it has at most. Where none of the answers is among them, a decider does not
answer; a classifier stores a row of zeros, so that the text is not paid again, and reports it when all others are
answered.

A server that chats without log-probabilities can still decide: answers are sampled at temperature 1 and counted.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import permutations
from typing import Any, ClassVar

import numpy as np

from geobias.errors import InputError
from geobias.models.answers import TEXT, AnswerSet, Decider, Prompt, count_answers
from geobias.models.endpoint import CallFailed, Connection, Endpoint, UnreadableAnswer
from geobias.models.prompted import LOG_ODDS
from geobias.models.scorer import Classifier, ModelIdentity, ScoreBlock, StreamingScorer, probability_columns
from geobias.models.served_lm import FAILED, REFUSED
from geobias.models.server_replies import (
    Candidates,
    candidate_distance,
    known_models,
    read_content,
    read_first_token,
    recognise_model,
)

CHAT, COMPLETIONS = "chat/completions", "completions"
Route = tuple[str, int]  # the path of a call, and how many candidates it asks for
SAMPLED: Route = (CHAT, 0)  # where there are no candidates, and answers are sampled
MISSING = (404, 405)  # status of a path that a server does not have
MOST_UNLABELLED = 20  # texts without any label, and none with one: the prompt does not work
DEFAULT_SAMPLES, FEWEST_SAMPLES = 20, 2  # one sample would say nothing about its own error
ANSWER_TOKENS = 24  # enough to tell an answer from a refusal


class ServedReader(StreamingScorer):
    """Puts each text into a question to a server, and reads the candidates for the first token of the reply."""

    paid = True
    version: ClassVar[int]  # raised whenever a change of the code changes what is stored
    kind: ClassVar[str]
    routes: ClassVar[tuple[Route, ...]]  # tried in this order at the first use
    probes: ClassVar[tuple[str, ...]]  # texts that tell which model answers

    def __init__(self, endpoint: Endpoint, question: str, *, system: str | None = None) -> None:
        self.endpoint, self.name, self.question, self.system = endpoint, endpoint.model, question, system

    @cached_property
    def route(self) -> Route:
        """Where the server gives candidates, and how many it allows."""
        problems: dict[str, tuple[int, str]] = {}
        for path, count in self.routes:
            if problems.get(path, (0, ""))[0] in MISSING:
                continue
            try:
                if self.endpoint.ask(partial(self._get_candidates, self.probes[0], (path, count))):
                    return path, count
                problem = f"The server at {self.endpoint.url} returns no log-probabilities with {path}."
                problems[path] = (0, problem)
            except CallFailed as failure:  # some servers refuse too large a number of candidates, others fail
                if failure.status not in (*REFUSED, *FAILED, *MISSING):
                    raise
                problems[path] = failure.status, str(failure)
        return self._do_without_candidates(problems)

    @cached_property
    def model_digest(self) -> str:
        """Which model answers under this name. Sampled answers cannot tell: they go by the name."""
        if self.route == SAMPLED:
            return hashlib.sha256(repr(self._address(SAMPLED)).encode()).hexdigest()[:32]
        queries = [partial(self._get_candidates, text, self.route, required=True) for text in self.probes]
        replies = [dict(self.endpoint.ask(query)) for query in queries]
        return recognise_model(self._address(self.route), replies, candidate_distance)

    @property
    def fingerprint(self) -> str:
        return self._fingerprint(self.model_digest)

    def known_fingerprints(self) -> list[str]:
        """Return that of the model that answered last on each route. No call is made."""
        return [self._fingerprint(digest) for route in self.routes for digest in known_models(self._address(route))[:1]]

    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]:
        _ = self.route  # before the first text
        yield from self.endpoint.ask_all(partial(self._make_block, i, text) for i, text in enumerate(texts))

    @abstractmethod
    def _address(self, route: Route) -> tuple[str, ...]:
        """Where models are told apart: those that answer here are compared with each other."""

    @abstractmethod
    def _settings(self) -> Any:
        """What the scores depend on besides the model and its address."""

    @abstractmethod
    def _do_without_candidates(self, problems: Mapping[str, tuple[int, str]]) -> Route:
        """What to do with a server that gives none, by the status and the message of each path."""

    @abstractmethod
    async def _make_row(self, text: str, connection: Connection) -> np.ndarray:
        """The scores of a text."""

    def _fingerprint(self, model_digest: str) -> str:
        settings = hashlib.sha256(json.dumps(self._settings()).encode()).hexdigest()[:16]
        return f"{model_digest}:{settings}:{self.kind}:served:{self.version}"

    async def _make_block(self, position: int, text: str, connection: Connection) -> ScoreBlock:
        return np.array([position]), np.array([await self._make_row(text, connection)])

    def _messages(self, text: str) -> list[dict[str, str]]:
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, {"role": "user", "content": self.question.replace(TEXT, text)}]

    async def _get_candidates(
        self, text: str, route: Route, connection: Connection, *, required: bool = False
    ) -> Candidates:
        """Return the candidates for the first token of the reply; none if the server names none.

        If they are `required`, the server has named candidates before: a reply without them is asked for again.
        """
        path, count = route
        if path == CHAT:
            body = {"messages": self._messages(text), "logprobs": True, "top_logprobs": count}
        else:
            body = {"prompt": self.question.replace(TEXT, text), "logprobs": count}

        def read(answer: Any) -> Candidates:
            token = read_first_token(answer)
            if required and not (token and token.candidates):
                raise UnreadableAnswer("returned no log-probabilities this time")
            return token.candidates if token else ()

        candidates: Candidates = await connection.post(path, {**body, "max_tokens": 1, "temperature": 0}, read)
        return candidates


class ServedClassifier(Classifier, ServedReader):
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
    kind = "words"
    routes = ((CHAT, 20), (CHAT, 5), (COMPLETIONS, 5))
    probes = ("I love this!", "I hate this!", "The train leaves at nine.")
    is_prompted = True

    def __init__(self, endpoint: Endpoint, prompt: str, words: Mapping[str, str]) -> None:
        if TEXT not in prompt:
            raise InputError(f"The prompt {prompt[:60]!r} must contain {TEXT}.")
        super().__init__(endpoint, prompt)
        self.prompt = Prompt(words, prompt)
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

    def identity(self) -> ModelIdentity:
        endpoint, prompt = self.endpoint.url, self.prompt.settings
        return replace(super().identity(), endpoint=endpoint, prompt=prompt, asked_by="candidates of an answer")

    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]:
        unlabelled, has_label = [], False
        for positions, rows in super().batches(texts):
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
        """Raise an error if the model answered some texts with none of the labels."""
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
        return self.endpoint.url, self.name, self.question, path, str(count)

    def _settings(self) -> Any:
        return self.words

    def _do_without_candidates(self, problems: Mapping[str, tuple[int, str]]) -> Route:
        messages = " ".join(message for _, message in problems.values())
        raise InputError(f"{self.name} cannot be used as a classifier: {messages}")

    async def _make_row(self, text: str, connection: Connection) -> np.ndarray:
        """p(label) for each label, then 0 for "cut"; zeros if no label is among the candidates."""
        candidates = await self._get_candidates(text, self.route, connection, required=True)
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
            return np.zeros(len(self.columns))
        smallest = math.exp(candidates[-1][1])
        p = np.array([value or smallest for value in label_p.values()])
        return np.append(p / p.sum(), 0.0)


class ServedDecider(ServedReader, Decider):
    """A chat model behind an endpoint as a decider.

    A candidate counts for an answer if it is the answer's word, in any spelling; where no candidate is, if the word
    begins with it ("Ye" for "yes"). A spelling of several tokens is left out if others are one token ("YES" of SmolLM2
    has 2.6 % of the probability of yes).
    """

    version = 3
    kind = "decider"
    routes = ((CHAT, 500), (CHAT, 20), (CHAT, 5))  # servers allow different numbers
    probes = ("Is two more than one?", "Is ice hot?", "Is it late?")
    does_chat = True

    def __init__(
        self, endpoint: Endpoint, answers: AnswerSet, *, system: str | None = None, samples: int | None = None
    ) -> None:
        super().__init__(endpoint, answers.message, system=system)
        self.answers, self.columns = answers, answers.columns
        self.samples = DEFAULT_SAMPLES if samples is None else samples
        if self.samples < FEWEST_SAMPLES:
            raise InputError(f"--samples must be at least {FEWEST_SAMPLES}, not {self.samples}.")

    def identity(self) -> ModelIdentity:
        way = f"{self.samples} sampled answers" if self.route == SAMPLED else "candidates of an answer"
        settings = {"template": self.question, "system": self.system, "words": list(self.answers.words)}
        identity = ModelIdentity(self.name, LOG_ODDS, self.fingerprint)
        return replace(identity, endpoint=self.endpoint.url, asked_by=way, prompt=settings)

    def _address(self, route: Route) -> tuple[str, ...]:
        return self.endpoint.url, self.name, self.system or "", self.question, str(route[1])

    def _settings(self) -> Any:
        samples = self.samples if self.route == SAMPLED else 0
        return [self.answers.words, self.answers.instruction, self.system, samples]

    def _do_without_candidates(self, problems: Mapping[str, tuple[int, str]]) -> Route:
        self.does_chat = problems[CHAT][0] not in MISSING
        return SAMPLED

    async def _make_row(self, text: str, connection: Connection) -> np.ndarray:
        if self.route == SAMPLED:  # each is a call of its own: not every server returns several at once
            body = {"messages": self._messages(text), "max_tokens": ANSWER_TOKENS, "temperature": 1}
            replies = (connection.post(CHAT, body, read_content) for _ in range(self.samples))
            return count_answers(self.answers, await asyncio.gather(*replies))
        candidates = await self._get_candidates(text, self.route, connection, required=True)
        log_p = [sum_spellings(candidates, self.answers.spellings(word)) for word in self.answers.words]
        # Without any candidate the bound would be the same for all answers, and look like an undecided model.
        missing = -np.inf if all(number is None for number in log_p) else candidates[-1][1]
        return np.array([0, 0, *(missing if number is None else number for number in log_p)])


def sum_spellings(candidates: Candidates, spellings: Sequence[str]) -> float | None:
    """log P of an answer from the candidates for its first token; None if none of them belongs to it."""
    forms = {spelling.strip() for spelling in spellings}
    tokens = [(token.strip(), log_p) for token, log_p in candidates]
    numbers = [log_p for token, log_p in tokens if token in forms] or [
        log_p for token, log_p in tokens if token and any(form.startswith(token) for form in forms)
    ]
    return float(np.logaddexp.reduce(numbers)) if numbers else None
