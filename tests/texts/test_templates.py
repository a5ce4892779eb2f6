from __future__ import annotations

import re

import pytest

from geobias.errors import InputError
from geobias.texts import DEFAULT_TEMPLATE
from geobias.texts.templates import Sentences, check_template, mark, unmark


def test_sentences_in_their_order() -> None:
    sentences = Sentences([DEFAULT_TEMPLATE, "{region}: {description}"], ["Chad", "Peru"], ["kind", "shy", "loud"])
    assert sentences.shape == (2, 2, 3) and len(sentences) == 12
    assert sentences[0] == "People in Chad are kind."
    assert sentences[4] == "People in Peru are shy."
    assert sentences[11] == "Peru: loud"
    assert list(sentences) == sentences[:]


def test_names_that_look_like_placeholders_stay_names() -> None:
    (sentence,) = Sentences([DEFAULT_TEMPLATE], ["{description} {region}"], ["kind"])
    assert sentence == "People in {description} {region} are kind."


def test_the_marked_part_can_be_found_again() -> None:
    (marked,) = Sentences([DEFAULT_TEMPLATE], ["Chad"], ["hard-working"], marked=True)
    text, start, end = unmark(marked)
    assert text == "People in Chad are hard-working."
    assert text[start:end] == "hard-working"
    assert unmark(mark("Chad")) == ("Chad", 0, 4)
    assert unmark("Chad") == ("Chad", 0, 4)


@pytest.mark.parametrize(
    "template", ["People are {description}.", "People in {region}.", "", "{region}{description}{description}"]
)
def test_a_template_without_its_placeholders_is_refused_with_a_right_one(template: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"Example: {DEFAULT_TEMPLATE!r}")):
        check_template(template)
