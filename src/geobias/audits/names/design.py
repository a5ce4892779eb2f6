"""The names study: rename the people in real texts, country after country, and see how a classifier changes its mind.

After Barriere and Cifuentes 2024. `question()` settles whom to rename and how, `answer()` asks classifiers and language
models; what follows from their answers is in `names_result`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.inputs import given_texts
from geobias.audits.labels import toned_labels, true_labels
from geobias.audits.model_identity import model_identity
from geobias.audits.names.perplexity import Perplexity, language_models, take_perplexity
from geobias.audits.names.result import Judgement, NamesResult
from geobias.checks import HIGHEST_SEED, MOST_ROWS, check_number, check_probability, check_size
from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.models.classifiers.prompted import Prompt, refuse_unused_prompt
from geobias.models.finders import EMBEDDED_FINDER, load_finder
from geobias.models.load import find_model_name
from geobias.models.scorer import Classifier
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.people import people, places
from geobias.texts.user_texts import Texts
from geobias.world.gazetteer import ENOUGH, PAPER_COUNTRIES, Gazetteer, city_gazetteer, gazetteer, read_gazetteer

ENTITIES = ("person", "place")
PERPLEXITIES = ("pll", "pll-word")
FORMS = ("mean", "sum")
NAMES_ARE = ("random", "fixed")
MOST_DRAWS = 10_000


@dataclass(frozen=True)
class NamesQuestion:
    """What is asked of every classifier alike: the texts, and those of them in which somebody is renamed."""

    texts: Texts = field(repr=False)
    named: np.ndarray = field(repr=False)  # positions of the texts that name somebody
    renamed: Counterfactuals = field(repr=False)
    left_out: tuple[str, ...]  # countries with too few names
    settings: dict[str, Any] = field(repr=False)

    def settings_for(self, classifiers: Sequence[str], how: Asked) -> dict[str, Any]:
        """What tells a run from another: this question, put to these classifiers in that way."""
        return {**self.settings, **how.settings, "classifiers": list(classifiers)}


@dataclass(frozen=True)
class Asked:
    """How the classifiers are asked, and how their answers are read."""

    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    threshold: float | None = None
    lm: Any = None  # a name or a loaded model; None: each classifier's own base model, else the embedded one
    perplexity: str | None = None  # pll or pll-word of a masked LM; None: what fits the kind of model
    form: str = "mean"
    perplexity_draws: int = 5
    perplexity_texts: int | None = None  # of those that name somebody; None: all of them
    names: str = "random"  # in intervals and tests: these names stand for others like them; or "fixed", for themselves
    prompt: Prompt | None = None  # how language models among the classifiers are asked for a label

    def __post_init__(self) -> None:
        check_probability("--threshold", self.threshold)
        if self.perplexity not in (None, *PERPLEXITIES):
            raise InputError(f"Unknown perplexity {self.perplexity!r}: choose {' or '.join(PERPLEXITIES)}.")
        if self.form not in FORMS:
            raise InputError(f"--perplexity-form is {' or '.join(FORMS)}, not {self.form!r}.")
        check_number("--perplexity-draws", self.perplexity_draws, 0, MOST_DRAWS)
        if isinstance(self.lm, str) and not self.lm.strip():
            raise InputError("--lm is empty: leave it out, or name a language model.")
        if self.names not in NAMES_ARE:
            raise InputError(f"--names is {' or '.join(NAMES_ARE)}, not {self.names!r}.")
        if self.perplexity_texts is not None:
            check_number("--perplexity-texts", self.perplexity_texts, 1, MOST_ROWS)

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "positive": list(self.positive) or "by name",
            "negative": list(self.negative) or "by name",
            "threshold": self.threshold,
            "lm": None if self.lm is None else find_model_name(self.lm),
            "perplexity": self.perplexity or "by kind of model",
            "perplexity_form": self.form,
            "perplexity_draws": self.perplexity_draws,
            "perplexity_texts": self.perplexity_texts or "all",
            "names_are": self.names,
        } | ({"prompt": self.prompt.settings} if self.prompt else {})


def question(
    *,
    texts: Any = None,
    column: str = "text",
    spans: str | None = None,
    label: str | None = None,
    subsets: str | Sequence[str] = (),
    limit: int | None = None,
    finder: str | None = None,
    entity: str = "person",
    countries: str | Sequence[str] | None = None,
    draws: int = 50,
    seed: int = 0,
    scripts: str = "latin",
    names: str | Path | None = None,
    device: str = "auto",
) -> NamesQuestion:
    """Resolve the options into texts, people and countries; what is wrong with them is found here, before any work."""
    if entity not in ENTITIES:
        raise InputError(f"--entity is {' or '.join(ENTITIES)}, not {entity!r}.")
    check_number("--draws", draws, 1, MOST_DRAWS)
    check_number("--seed", seed, 0, HIGHEST_SEED)
    if finder is not None and not finder.strip():
        raise InputError("--finder is empty: leave it out, or name one.")
    listed = _gazetteer(entity, names, scripts)
    chosen, left_out = _countries(listed, countries)
    given = given_texts(texts, column=column, spans=spans, label=label, subsets=subsets, limit=limit, entity=entity)
    if finder is not None and given.spans is not None:
        raise InputError("The texts bring spans of their own: leave out --finder, or --spans.")
    found = given.spans
    if found is None:
        found = tuple(map(tuple, load_finder(finder or EMBEDDED_FINDER, entity=entity, device=device)(given.texts)))
    persons = [
        people(text, spans, listed) if entity == "person" else places(text, spans)
        for text, spans in zip(given.texts, found, strict=True)
    ]
    named = np.flatnonzero([bool(somebody) for somebody in persons])
    if not len(named):
        raise InputError(f"No {entity} was found in any of the {len(given)} texts of {given.source}.")
    check_size(len(named) * len(chosen) * draws, "renamed texts", "use fewer --draws, --countries or texts (--limit)")
    renamed = Counterfactuals(
        [given.texts[i] for i in named], [persons[i] for i in named], listed, chosen, draws=draws, seed=seed
    )
    marked = [[mention[:2] for person in persons[i] for mention in map(astuple, person.mentions)] for i in named]
    settings = {
        "texts": {"source": given.source, "count": len(given), "digest": given.digest},
        "finder": "given spans" if given.spans is not None else finder or EMBEDDED_FINDER,
        "mentions": hashlib.blake2b(json.dumps(marked).encode(), digest_size=16).hexdigest(),
        "entity": entity,
        "countries": list(chosen),
        "draws": draws,
        "seed": seed,
        "scripts": scripts,
        "names": listed.digest,
    }
    return NamesQuestion(given, named, renamed, left_out, settings)


def _gazetteer(entity: str, names: str | Path | None, scripts: str) -> Gazetteer:
    if entity == "place":
        if names is not None:
            raise InputError("--gazetteer is a list of people's names: leave it out with --entity place.")
        return city_gazetteer(scripts)
    return gazetteer(scripts) if names is None else read_gazetteer(Path(names), scripts)


def _countries(listed: Gazetteer, wanted: str | Sequence[str] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The countries to draw names from, and those left out of "all" for want of names."""
    if wanted == "all" or (wanted is None and not set(PAPER_COUNTRIES) <= set(listed.codes)):
        left_out = tuple(code for code in listed.codes if listed.lacking(code))
        chosen = tuple(code for code in listed.codes if code not in left_out)
        if not chosen:
            raise InputError(f"No country has {ENOUGH} names of every kind ({', '.join(listed.kinds)}).")
        return chosen, left_out
    if isinstance(wanted, str):
        wanted = [name for name in wanted.split(",") if name.strip()]
    chosen = (
        tuple(dict.fromkeys(listed.find(name.strip()) for name in wanted)) if wanted is not None else PAPER_COUNTRIES
    )
    if not chosen:
        raise InputError("--countries is empty: leave it out, or name at least one.")
    for code in chosen:
        for kind, count in listed.lacking(code):
            raise InputError(
                f"{listed.country(code)} has {count} {kind} names in this script, and {ENOUGH} are needed: leave it "
                "out, or try --scripts all."
            )
    return chosen, ()


def answer(
    asked: NamesQuestion,
    classifiers: Sequence[Classifier],
    how: Asked,
    *,
    device: str = "auto",
    dtype: str = "auto",
    progress: bool | None = None,
) -> NamesResult:
    """Put the question to every classifier, and to the language models that go with them.

    What is wrong with labels or models is found before anything is scored.
    """
    names = [classifier.name for classifier in classifiers]
    if not names or len(set(names)) < len(names):
        raise InputError(
            f"Give one classifier or several, each with a name of its own, not: {', '.join(names) or 'none'}."
        )
    refuse_unused_prompt(how.prompt, classifiers)
    prepared = [_prepared(asked, classifier, how) for classifier in classifiers]
    lms = language_models(classifiers, how, device, dtype) if how.perplexity_draws else {}
    taken: dict[int, Perplexity] = {}
    judgements = []
    for classifier, reading in zip(classifiers, prepared, strict=True):
        judgement = _judged(asked, classifier, reading, how, progress)
        if lms:
            scorer, note = lms[classifier.name]
            if id(scorer) not in taken:
                taken[id(scorer)] = take_perplexity(asked, scorer, how, progress)
            judgement = replace(judgement, perplexity=taken[id(scorer)], notes=(*judgement.notes, *note))
        judgements.append(judgement)
    settings = asked.settings_for(names, how)
    return NamesResult(
        asked.texts, asked.named, asked.renamed, asked.left_out, settings, tuple(judgements), how.names == "fixed"
    )


@dataclass(frozen=True)
class _Reading:
    """How a classifier's labels are to be read."""

    positive: list[int]
    negative: list[int]
    truth: np.ndarray | None
    notes: tuple[str, ...]


def _prepared(asked: NamesQuestion, classifier: Classifier, how: Asked) -> _Reading:
    positive, negative = toned_labels(classifier.name, classifier.labels, how.positive, how.negative)
    several_fit = classifier.multi_label or how.threshold is not None
    return _Reading(
        positive, negative, *true_labels(asked.texts, classifier.name, classifier.labels, several_fit=several_fit)
    )


def _judged(
    asked: NamesQuestion, classifier: Classifier, reading: _Reading, how: Asked, progress: bool | None
) -> Judgement:
    labels = tuple(classifier.labels)
    originals = ask(classifier, asked.texts.texts, label=classifier.name, progress=progress)
    renamed = ask(classifier, asked.renamed, label=classifier.name, progress=progress)
    return Judgement(
        model=model_identity(classifier),
        labels=labels,
        multi_label=classifier.multi_label,
        positive=reading.positive,
        negative=reading.negative,
        threshold=how.threshold if how.threshold is not None else 0.5 if classifier.multi_label else None,
        original=originals.scores[:, : len(labels)],
        renamed=renamed.scores[:, : len(labels)].reshape(*asked.renamed.shape, len(labels)),
        truth=reading.truth,
        counts={
            "texts_cut": originals.cut,
            "renamed_texts": len(renamed.scores),
            "distinct_renamed_texts": renamed.distinct,
            "renamed_texts_cut": renamed.cut,
        },
        work={"texts_scored": originals.scored, "renamed_texts_scored": renamed.scored},
        notes=reading.notes,
    )
