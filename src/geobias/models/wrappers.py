"""Wrappers around any classifier that keep the names of people from it.

What the classifier reads depends on a text without its names: two texts that differ only in names are the same text to
it, provided that the finder finds the names in both. Equal texts are scored once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from geobias.checks import check_number
from geobias.errors import InputError
from geobias.models.finders import EMBEDDED_FINDER
from geobias.models.mitigated import MitigatedClassifier
from geobias.texts.counterfactuals import GENDERS
from geobias.texts.people import TITLES, Person
from geobias.world.gazetteer import FEWEST_NAMES, load_gazetteer, select_for_mitigation

PLACEHOLDER = "Sam"  # a short name of men and women: texts stay natural, so that accuracy suffers least
MOST_COPIES = 1000
TITLE_BEFORE = re.compile(r"([^\W\d_]+)\.?\s+$")
LONGEST_TITLE = 20  # characters
Replacement = tuple[int, int, str]  # start and end of a name in a text, and what takes its place


class BlindClassifier(MitigatedClassifier):
    """A classifier that reads one placeholder in place of every person's name.

    Parameters
    ----------
    classifier : str, Path, callable or object
        The classifier to wrap, in any form that `load_classifier` takes.
    finder : str, callable, spacy.Language or PeopleReader, default "embedded/entities"
        What finds the people in texts, in any form that `audit_finders` takes.
    placeholder : str, default "Sam"
        What the classifier reads in place of a name.
    name : str, optional
        Name in results. Default: the name of the classifier and the method.
    device : str, default "auto"
        Where to run models that are loaded here.

    Attributes
    ----------
    label : str
        The method and its strength, such as "average:8".
    settings : dict
        What tells two wrappers of one classifier apart, besides the finder.

    Examples
    --------
    >>> import geobias
    >>> def judge(texts):
    ...     return [{"negative": 0.9, "positive": 0.1} if "Kofi" in text else
    ...             {"negative": 0.1, "positive": 0.9} for text in texts]
    >>> blind = geobias.BlindClassifier(judge)
    >>> blind.predict(["I met Kofi Mensah yesterday.", "I met John Smith yesterday."])
    ['positive', 'positive']
    """

    method = "blind"

    def __init__(
        self,
        classifier: Any,
        finder: Any = EMBEDDED_FINDER,
        *,
        placeholder: str = PLACEHOLDER,
        name: str | None = None,
        device: str = "auto",
    ) -> None:
        if not placeholder.strip():
            raise InputError("The placeholder of a blind classifier is empty. Use a name such as 'Sam'.")
        self.placeholder = placeholder
        super().__init__(classifier, finder, name=name, device=device)

    @property
    def label(self) -> str:
        return self.method

    @property
    def settings(self) -> dict[str, Any]:
        return super().settings | {"placeholder": self.placeholder}

    def list_versions(self, text: str, people: Sequence[Person]) -> list[str]:
        cases = {"upper": self.placeholder.upper(), "lower": self.placeholder.lower()}
        replacements = [
            (mention.start, mention.end, cases.get(mention.case, self.placeholder))
            for person in people
            for mention in person.mentions
        ]
        return [replace_spans(text, replacements)]


class AveragingClassifier(MitigatedClassifier):
    """A classifier whose answer is the mean over K versions of a text, with names of K countries.

    The names are those that `geobias` reserves for mitigation, never those that it audits with. Countries are drawn
    without replacement and men's and women's names alternate, so both are balanced. The draw depends on the text
    without its names: texts that differ only in names get the same answer.

    Parameters
    ----------
    classifier : str, Path, callable or object
        The classifier to wrap, in any form that `load_classifier` takes.
    copies : int, default 8
        K, the number of versions of a text that names somebody. An even number balances gender.
    finder : str, callable, spacy.Language or PeopleReader, default "embedded/entities"
        What finds the people in texts, in any form that `audit_finders` takes.
    seed : int, default 0
        Seed for drawing countries and names.
    name : str, optional
        Name in results. Default: the name of the classifier and the method.
    device : str, default "auto"
        Where to run models that are loaded here.

    Attributes
    ----------
    label : str
        The method and its strength, such as "average:8".
    settings : dict
        What tells two wrappers of one classifier apart, besides the finder.

    Examples
    --------
    >>> import geobias
    >>> classifier = geobias.AveragingClassifier("embedded/sentiment", 4)
    >>> probabilities = classifier(["Kofi Mensah was late.", "John Smith was late."])
    >>> bool((probabilities[0] == probabilities[1]).all())
    True
    """

    method = "average"

    def __init__(
        self,
        classifier: Any,
        copies: int = 8,
        finder: Any = EMBEDDED_FINDER,
        *,
        seed: int = 0,
        name: str | None = None,
        device: str = "auto",
    ) -> None:
        check_number("K of average:K", copies, 1, MOST_COPIES)
        self.copies, self.seed = copies, seed
        self.names = select_for_mitigation(load_gazetteer())
        self.countries = tuple(code for code in self.names.codes if not self.names.find_short_lists(code, FEWEST_NAMES))
        super().__init__(classifier, finder, name=name, device=device)

    @property
    def label(self) -> str:
        return f"{self.method}:{self.copies}"

    @property
    def settings(self) -> dict[str, Any]:
        return super().settings | {"seed": self.seed, "names": self.names.digest}

    def list_versions(self, text: str, people: Sequence[Person]) -> list[str]:
        parts = [[_name_parts(text, person, k) for k in range(len(person.mentions))] for person in people]
        slots = [
            (mention.start, mention.end, f"\x00{i} {' '.join(parts[i][k])}\x00")
            for i, person in enumerate(people)
            for k, mention in enumerate(person.mentions)
        ]
        content = f"{self.seed}\x00{replace_spans(text, slots)}".encode("utf-8", "surrogatepass")
        rng = np.random.default_rng(int.from_bytes(hashlib.blake2b(content, digest_size=16).digest(), "little"))
        order, first_gender = rng.permutation(len(self.countries)), int(rng.integers(2))
        versions = []
        for copy in range(self.copies):
            code, gender = self.countries[order[copy % len(order)]], GENDERS[(first_gender + copy) % 2]
            replacements: list[Replacement] = []
            for person, person_parts in zip(people, parts, strict=True):
                names = {kind: self._draw_name(rng, code, kind) for kind in (gender, "last")}
                names["first"] = names[gender]
                for mention, mention_parts in zip(person.mentions, person_parts, strict=True):
                    name = " ".join(names[part] for part in mention_parts)
                    cases = {"upper": name.upper(), "lower": name.lower()}
                    replacements.append((mention.start, mention.end, cases.get(mention.case, name)))
            versions.append(replace_spans(text, replacements))
        return versions

    def _draw_name(self, rng: np.random.Generator, code: str, kind: str) -> str:
        names = self.names.names(code, kind)
        return names[int(rng.integers(len(names)))]


def replace_spans(text: str, replacements: Sequence[Replacement]) -> str:
    """A text with other words at these positions."""
    parts, position = [], 0
    for start, end, words in sorted(replacements):
        parts += [text[position:start], words]
        position = end
    return "".join((*parts, text[position:]))


def _name_parts(text: str, person: Person, mention: int) -> tuple[str, ...]:
    """Which parts of a name a mention shows: by its place in the text, never by the name itself.

    Whether a lone name is a first or a last name depends on the country that it comes from; here it is a last name only
    after a title.
    """
    if any(len(each.parts) > 1 for each in person.mentions):
        return person.mentions[mention].parts
    start = person.mentions[mention].start
    title = TITLE_BEFORE.search(text[max(start - LONGEST_TITLE, 0) : start])
    return ("last",) if title and title[1].casefold() in TITLES else ("first",)
