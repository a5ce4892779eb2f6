"""Which texts are copies of one another."""

from __future__ import annotations

import pytest

from geobias.texts.scenarios import load_scenarios
from geobias.texts.user_texts import copy_key, find_first_copies, sample_texts

COPIES = [
    ("I met Maria at work.", "I met Ahmed at work."),
    ("I met Maria Garcia at work.", "I met Ahmed at work."),
    ("Maria feels angry.", "Ahmed feels angry."),
    ("Invoice 17 is due.", "invoice  2041 is due."),
    ("They moved to Peru in 1990.", "They moved to South Sudan in 2011."),
    ("@anna so true https://t.co/1", "@ben so true https://t.co/2"),
    ("GREAT FILM", "great film"),
]
NO_COPIES = [
    ("The film was good.", "The film was bad."),
    ("Great film.", "Terrible film."),
    ("Parliament Passes Budget After Long Debate", "Senate Blocks Reform Despite Public Outcry"),
    ("GREAT FILM", "AWFUL FILM"),
    ("I like it.", "You like it."),
    ("Is it good?", "It is good."),
]


@pytest.mark.parametrize(("first", "second"), COPIES)
def test_texts_that_differ_in_names_numbers_case_and_blanks_are_copies(first: str, second: str) -> None:
    assert copy_key(first) == copy_key(second)
    assert find_first_copies([first, second, first]) == [0]


@pytest.mark.parametrize(("first", "second"), NO_COPIES)
def test_other_texts_are_no_copies(first: str, second: str) -> None:
    assert copy_key(first) != copy_key(second)
    assert find_first_copies([first, second]) == [0, 1]


def test_spans_mark_names_that_do_not_look_like_names() -> None:
    texts = ["she asked xiu about it", "she asked the plumber about it"]
    assert find_first_copies(texts) == [0, 1]
    assert find_first_copies(texts, [[(10, 13)], [(10, 21)]]) == [0]


def test_the_bundled_tweets_are_hardly_ever_taken_for_copies() -> None:
    """Seven repeat another one: six by the same user, and tweets of a name alone."""
    tweets = sample_texts()
    assert len(tweets) - len(find_first_copies(tweets.texts, tweets.spans)) == 7


def test_no_bundled_scenario_is_a_copy() -> None:
    texts = [scenario.texts[0] for scenario in load_scenarios()]
    assert find_first_copies(texts) == [*range(len(texts))]
