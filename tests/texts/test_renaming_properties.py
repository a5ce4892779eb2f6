"""Properties of renaming: only names change, draws depend on nothing else, and there are as many as the design says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.people import find_people, trim_spans
from geobias.world.gazetteer import load_gazetteer

NAMES = load_gazetteer()
COUNTRIES = ("FR", "MA", "IN", "TR")
# Known names, unknown ones, several words, titles; accents as marks of their own, vowel signs, letters beyond the BMP.
SIMPLE = (
    "Mary",
    "john",
    "OBAMA",
    "Zoe\u0308",
    "José",
    "सीता",
    "Xyzzy",
    "𝔄lice",
    "𐐀𐐁𐐂",
    "Müller",
    "O'Brien",
    "Jean-Luc",
)
WHOLE = ("Mary Smith", "BARACK OBAMA", "Dr. Drake", "Martin Luther King Jr.", "Mary and Jane Doe", "Mr", "J.K. Rowling")
POSSESSIVES = ("'s", "’s", "`s")
# Between names. None begins with a full stop: one that follows an initial goes with it (see below).
GAPS = st.one_of(
    st.sampled_from(
        ["", " ", "'s ", "’s hat", " and ", ", ", "\n", "!!! ", " 😀 ", "\u0301", " the ", "(", "@", " http://x.com "]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
).filter(lambda gap: not gap.startswith("."))
quick = settings(deadline=None, max_examples=120)


@dataclass(frozen=True)
class Marked:
    """A text, with where its names were marked."""

    gaps: tuple[str, ...]  # before, between and after the names
    names: tuple[str, ...]

    @property
    def text(self) -> str:
        return "".join(gap + name for gap, name in zip(self.gaps, (*self.names, ""), strict=True))

    @property
    def spans(self) -> list[tuple[int, int]]:
        found, at = [], 0
        for gap, name in zip(self.gaps, self.names, strict=False):
            found.append((at + len(gap), at + len(gap) + len(name)))
            at = found[-1][1]
        return found

    @property
    def outside(self) -> re.Pattern[str]:
        """All texts that differ from this one inside the marked spans alone."""
        return re.compile("(.*?)".join(map(re.escape, self.gaps)), re.DOTALL)


def marked(names: Sequence[str] = (*SIMPLE, *WHOLE), most: int = 4) -> st.SearchStrategy[Marked]:
    listed = st.lists(st.sampled_from(names), min_size=1, max_size=most)
    return listed.flatmap(
        lambda names: st.tuples(*[GAPS] * (len(names) + 1)).map(lambda gaps: Marked(gaps, tuple(names)))
    )


def rename(
    texts: Sequence[Marked], countries: Sequence[str] = COUNTRIES, draws: int = 3, seed: int = 0
) -> Counterfactuals:
    persons = [find_people(one.text, one.spans, NAMES) for one in texts]
    return Counterfactuals([one.text for one in texts], persons, NAMES, countries, draws=draws, seed=seed)


def variants(made: Counterfactuals, text: int, country: str) -> list[str]:
    return [made.at(text, made.countries.index(country), draw) for draw in range(made.draws)]


@quick
@given(text=marked())
@example(text=Marked(("", "", ""), ("Mary", "John")))  # at the beginning, the end, and side by side
@example(text=Marked(("😀", "😀"), ("𝔄lice",)))
@example(text=Marked(("", "\u0301 x"), ("Zoe",)))
@example(text=Marked(("THE ", "'S"), ("OBAMAS",)))
def test_nothing_changes_outside_the_marked_spans(text: Marked) -> None:
    made = rename([text])
    for renamed in made:
        assert text.outside.fullmatch(renamed), renamed
    for person in made.people[0]:
        for mention in person.mentions:
            assert any(start <= mention.start < mention.end <= end for start, end in text.spans)


@quick
@given(text=marked(SIMPLE, most=1), case=st.sampled_from([str, str.upper, str.lower]))
def test_a_name_of_one_word_becomes_a_name_of_the_country(text: Marked, case: type[str]) -> None:
    text = Marked(text.gaps, (case(text.names[0]),))
    made = rename([text])
    assume(made.people[0])  # nobody where a handle or a link begins before the name
    (person,) = made.people[0]
    (mention,) = person.mentions
    assume((mention.start, mention.end) == text.spans[0])
    kind = "last" if person.has("last") else person.gender
    for country in COUNTRIES:
        known = {name for one in ([kind] if kind else ["male", "female"]) for name in NAMES.names(country, one)}
        for renamed in variants(made, 0, country):
            new = renamed[len(text.gaps[0]) : len(renamed) - len(text.gaps[1])]
            assert new in {{"upper": str.upper, "lower": str.lower}.get(mention.case, str)(name) for name in known}


@quick
@given(gap=st.sampled_from(["", "I saw ", "😀 "]), name=st.sampled_from(SIMPLE), end=st.sampled_from(POSSESSIVES))
def test_a_possessive_stays_inside_a_span_or_outside(gap: str, name: str, end: str) -> None:
    inside, outside = Marked((gap, " hat"), (name + end,)), Marked((gap, f"{end} hat"), (name,))
    assert inside.text == outside.text
    assert list(rename([inside])) == list(rename([outside]))
    made = list(rename([inside]))
    assert all(renamed.endswith(f"{end} hat") for renamed in made) and set(made) != {inside.text}


@quick
@given(texts=st.lists(marked(), min_size=1, max_size=3), draws=st.integers(1, 5), countries=st.permutations(COUNTRIES))
def test_there_are_as_many_variants_as_the_design_says(texts: list[Marked], draws: int, countries: list[str]) -> None:
    made = rename(texts, countries[:3], draws)
    assert made.shape == (len(texts), 3, draws)
    listed = list(made)
    assert len(listed) == len(made) == len(texts) * 3 * draws
    assert listed == [made.at(t, c, d) for t in range(len(texts)) for c in range(3) for d in range(draws)]


@quick
@given(
    texts=st.lists(marked(), min_size=2, max_size=4), order=st.randoms(use_true_random=False), seed=st.integers(0, 9)
)
def test_draws_depend_on_seed_text_and_country_alone(texts: list[Marked], order: object, seed: int) -> None:
    made = rename(texts, seed=seed, draws=4)
    shuffled, countries = list(texts), list(COUNTRIES)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    order.shuffle(countries)  # type: ignore[attr-defined]
    other = rename(shuffled, countries, seed=seed, draws=4)
    alone = [rename([text], ["MA"], seed=seed, draws=2) for text in texts]  # fewer draws are the first ones
    for number, text in enumerate(texts):
        for country in COUNTRIES:
            assert variants(other, shuffled.index(text), country) == variants(made, number, country)
        assert variants(alone[number], 0, "MA") == variants(made, number, "MA")[:2]


@quick
@given(text=marked(), extra=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=4))
def test_usable_spans_lie_inside_the_given_ones(text: Marked, extra: list[tuple[int, int]]) -> None:
    length = len(text.text)
    spans = [*text.spans, *((min(pair), max(pair)) for pair in extra if max(pair) <= length)]
    for start, end in trim_spans(text.text, spans):
        assert start < end and any(first <= start and end <= last for first, last in spans)


def test_the_full_stop_of_an_initial_goes_with_it() -> None:
    """The one character outside a span that may change: taggers mark "George W" in "George W. came"."""
    made = rename([Marked(("", ". came"), ("George W",))], draws=2)
    assert all(re.fullmatch(r"[^.]+ came", renamed) for renamed in made)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a" * 200_000 + " John Smith", 1),
        ("JOHN SMITH MET MARY. " * 3_000, 2),
        (" ".join(f"Abc{n} Def{n}" for n in range(2_000)), 2_000),
        ("see http://x.com John " * 4_000, 1),
    ],
    ids=["long-word", "many-mentions", "many-people", "many-links"],
)
def test_people_of_long_texts(text: str, expected: int) -> None:
    spans = [found.span() for found in re.finditer(r"\b(?:john smith|john|mary|abc\d+ def\d+)\b", text, re.IGNORECASE)]
    assert len(find_people(text, spans, NAMES)) == expected
