"""Rules for spans that are probably no people, each on sentences both ways."""

from __future__ import annotations

import pytest

from geobias.texts.doubtful_spans import (
    COMMON_WORD,
    INTERJECTION,
    LOWER_CASE,
    NATIONALITY,
    NO_LETTER,
    ORGANISATION,
    REASONS,
    STRETCHED,
    TITLE,
    find_doubt,
    sort_spans,
)
from geobias.world.gazetteer import load_gazetteer

NAMES = load_gazetteer()


def mark(text: str, name: str) -> tuple[int, int]:
    start = text.index(name)
    return start, start + len(name)


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ("Stupidly locked myself out", "Stupidly", COMMON_WORD),
        ("Young and old were there.", "Young", COMMON_WORD),
        ("Brown Sugar is sweet", "Brown Sugar", COMMON_WORD),
        ("the headphone jack is loose", "jack", LOWER_CASE),
        ("A study in surrealism.", "surrealism", LOWER_CASE),
        ("the apex ad2600 plays", "ad2600", LOWER_CASE),
        ("very Parisian of him", "Parisian", NATIONALITY),
        ("the Poles are late", "Poles", NATIONALITY),
        ("a Christian told me", "Christian", NATIONALITY),
        ("i miss my bae", "bae", INTERJECTION),
        ("thank God for that", "God", INTERJECTION),
        ("Pleaseee come", "Pleaseee", STRETCHED),
        ("DIRTYYYY DANCERRRR", "DIRTYYYY DANCERRRR", STRETCHED),
        ("The Vice President spoke", "Vice President", TITLE),
        ("the Friends of Harvey Mudd College", "Harvey Mudd College", ORGANISATION),
        ("the Fred Hollows Foundation", "Fred Hollows", ORGANISATION),
        ("won 3 of them", "3", NO_LETTER),
    ],
)
def test_doubtful(text: str, name: str, reason: str) -> None:
    assert find_doubt(text, mark(text, name), NAMES) == reason
    assert reason in REASONS


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Mary left early", "Mary"),
        ("I met Young there", "Young"),  # a common word, but a known name with a capital of its own
        ("Young Smith left", "Young"),
        ("Scorsese made it.", "Scorsese"),  # on no list
        ("thanks obama!", "obama"),  # on no list, in a careless text
        ("ask mary about it", "mary"),
        ("they cheered a francis impersonator", "francis"),
        ("Christian told me", "Christian"),
        ("Marioooo!!", "Marioooo"),
        ("Henry III ruled", "Henry III"),
        ("Peter Hall directs", "Peter Hall"),
        ("Fred Hollows was a doctor", "Fred Hollows"),
        ("محمد came", "محمد"),
        ("J.M. Barrie wrote it", "J.M. Barrie"),
    ],
)
def test_clear(text: str, name: str) -> None:
    assert find_doubt(text, mark(text, name), NAMES) is None


def test_a_word_of_a_full_name_in_the_text_is_clear() -> None:
    text = "Stupidly, Will Young left. Young is gone."
    spans = [mark(text, "Stupidly"), mark(text, "Will Young"), (27, 32)]
    assert text[27:32] == "Young"
    clear, doubtful = sort_spans(text, spans, NAMES)
    assert clear == spans[1:]
    assert [(span.start, span.end, span.reason) for span in doubtful] == [(0, 8, COMMON_WORD)]
    alone = "Young is gone."
    assert sort_spans(alone, [(0, 5)], NAMES)[0] == []


def test_each_name_of_a_span_is_judged_alone_and_links_are_none() -> None:
    text = "@user Mary & God http://mary.com"
    clear, doubtful = sort_spans(text, [(0, 5), (6, 16), (17, 32)], NAMES)
    assert clear == [(6, 10)]
    assert [text[span.start : span.end] for span in doubtful] == ["God"]


def test_many_spans_take_linear_time() -> None:
    text = "Will Young met God. " * 5000
    spans = [span for k in range(0, len(text), 20) for span in ((k, k + 10), (k + 15, k + 18))]
    clear, doubtful = sort_spans(text, spans, NAMES)
    assert len(clear) == len(doubtful) == 5000
