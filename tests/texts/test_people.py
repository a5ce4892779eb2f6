"""From marked spans to people who can be renamed: every rule of the method, on texts one can read."""

from __future__ import annotations

import pytest

from geobias.texts.people import find_people, trim_spans
from geobias.world.gazetteer import load_gazetteer

NAMES = load_gazetteer()


def spans(text: str, *names: str) -> list[tuple[int, int]]:
    """Where each name stands, one after the other."""
    found, at = [], 0
    for name in names:
        start = text.index(name, at)
        at = start + len(name)
        found.append((start, at))
    return found


def renamed(text: str, *names: str, first: str = "Amina", last: str = "Diallo") -> str:
    """The text with everybody called the same."""
    pieces, at = [], 0
    mentions = [mention for person in find_people(text, spans(text, *names), NAMES) for mention in person.mentions]
    for mention in sorted(mentions, key=lambda mention: mention.start):
        pieces += [text[at : mention.start], mention.render(first, last)]
        at = mention.end
    return "".join(pieces) + text[at:]


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("I like Michael's hat.", ["Michael's"], "I like Amina's hat."),
        ("JOHN!!! come here", ["JOHN!!!"], "AMINA!!! come here"),
        ("follow michael smith now", ["michael smith"], "follow amina diallo now"),
        ("Mr. Drake is here", ["Mr. Drake"], "Mr. Diallo is here"),
        ("Vice President Joe Biden spoke", ["Vice President Joe Biden"], "Vice President Amina Diallo spoke"),
        ("Martin Luther King Jr. had a dream", ["Martin Luther King Jr."], "Amina Diallo Jr. had a dream"),
        ("Stephen A. Smith is loud", ["Stephen A. Smith"], "Amina Diallo is loud"),
        ("Drake is kind", ["Drake"], "Diallo is kind"),
        ("Xyzzy is kind", ["Xyzzy"], "Amina is kind"),  # unknown to the gazetteer: a first name
        ("A text without anybody", [], "A text without anybody"),
        ("John Major came. Major left.", ["John Major", "Major"], "Amina Diallo came. Diallo left."),
        ("President-elect Joe Biden spoke", ["President-elect Joe Biden"], "President-elect Amina Diallo spoke"),
        ("Dr.Drake is in", ["Dr.Drake"], "Dr.Diallo is in"),
        ("VOTE FOR SAM NOW", ["SAM"], "VOTE FOR AMINA NOW"),
        ("George W. came", ["George W."], "Amina Diallo came"),
        ("Michael (CR7) scored", ["Michael (CR7)"], "Amina (CR7) scored"),
        ("Mary Poppins's hat trick", ["Mary Poppins's hat"], "Amina Diallo's hat trick"),
        ("Mary and Jane Doe left", ["Mary and Jane Doe"], "Amina and Amina Diallo left"),
        ("Obama/Drake won", ["Obama/Drake"], "Diallo/Diallo won"),
        ("The Obamas left with Barack Obama", ["Obamas", "Barack Obama"], "The Diallos left with Amina Diallo"),
        ("Robert Downey, Jr. is in", ["Robert Downey, Jr."], "Amina Diallo, Jr. is in"),
        ("Mary Drake @MaryDrake hi", ["Mary Drake @MaryDrake"], "Amina Diallo @MaryDrake hi"),
    ],
)
def test_only_the_name_changes(text: str, names: list[str], expected: str) -> None:
    assert renamed(text, *names) == expected


def test_a_word_that_is_both_a_first_and_a_last_name_is_a_first_name() -> None:
    word = "Thomas"
    assert NAMES.is_first(word) and NAMES.is_last(word)
    assert renamed(f"{word} is kind", word) == "Amina is kind"


def test_mentions_of_one_person_change_together() -> None:
    text = "Barack Obama won. Obama smiled, Barack waved, and OBAMA slept."
    assert renamed(text, "Barack Obama", "Obama", "Barack", "OBAMA") == (
        "Amina Diallo won. Diallo smiled, Amina waved, and DIALLO slept."
    )
    (one,) = find_people(text, spans(text, "Barack Obama", "Obama", "Barack", "OBAMA"), NAMES)
    assert one.text == "Barack Obama" and len(one.mentions) == 4


def test_a_shorter_mention_belongs_to_the_last_one_before_it() -> None:
    text = "Barack Obama and Michelle Obama came; Obama spoke."
    barack, michelle = find_people(text, spans(text, "Barack Obama", "Michelle Obama", "Obama"), NAMES)
    assert (barack.text, len(barack.mentions)) == ("Barack Obama", 1)
    assert (michelle.text, len(michelle.mentions)) == ("Michelle Obama", 2)


def test_different_people_stay_apart() -> None:
    text = "Mary met John and Mary left."
    found = find_people(text, spans(text, "Mary", "John", "Mary"), NAMES)
    assert [(person.text, len(person.mentions)) for person in found] == [("Mary", 2), ("John", 1)]


@pytest.mark.parametrize(
    ("name", "gender"),
    [("Mary Smith", "female"), ("john smith", "male"), ("J. Smith", None), ("Drake", None), ("Qwrt", None)],
)
def test_gender_is_that_of_the_first_name(name: str, gender: str | None) -> None:
    (person,) = find_people(name, [(0, len(name))], NAMES)
    assert person.gender == gender


@pytest.mark.parametrize(
    "text",
    ["@MaryJones hi", "see http://mary.com/jones", "#MaryJones", "www.mary.org", "write mary@jones.com", "at mary.com"],
)
def test_handles_hashtags_and_links_are_never_names(text: str) -> None:
    start = text.casefold().index("mary")
    assert find_people(text, [(start, start + 4)], NAMES) == ()


def test_marks_at_the_ends_are_trimmed_but_vowel_signs_stay() -> None:
    assert trim_spans("(Ann), ...", [(0, 10)]) == [(1, 4)]
    assert trim_spans("!!!", [(0, 3)]) == []
    hindi = "सीता है"  # the last sign of the name is a mark, not a letter
    assert trim_spans(hindi, [(0, 4)]) == [(0, 4)]
