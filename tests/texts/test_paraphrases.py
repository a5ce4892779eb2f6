from __future__ import annotations

import re

import pytest

from geobias.texts.paraphrases import (
    NEUTRAL_DEMONYM_TEMPLATES,
    NEUTRAL_TEMPLATES,
    SUBJECTS,
    paraphrase_templates,
)
from geobias.texts.templates import DESCRIPTION, REGION, Sentences, check_template, refuse_region_after_description
from geobias.world.words import PARTS_OF_SPEECH, Word, herb_words, load_valence

NEGATION = {"no", "not", "never", "nobody", "none", "hardly", "rarely", "seldom", "without", "few"}


def list_all() -> dict[str, tuple[str, ...]]:
    templates = {
        f"{part_of_speech} {subject}": paraphrase_templates(Word("nurse", part_of_speech=part_of_speech), subject)
        for part_of_speech in PARTS_OF_SPEECH
        for subject in SUBJECTS
    }
    return templates | {"neutral region": NEUTRAL_TEMPLATES, "neutral demonym": NEUTRAL_DEMONYM_TEMPLATES}


@pytest.mark.parametrize("kind", list(list_all()))
def test_templates_fit_every_model_and_stay_neutral(kind: str) -> None:
    templates = list_all()[kind]
    assert len(set(templates)) == len(templates) >= (4 if kind.startswith("neutral") else 12)
    for template in templates:
        check_template(template)
        refuse_region_after_description(template)
        assert template.count(REGION) == 1 and template.endswith(f"{DESCRIPTION}.")
        words = set(re.findall(r"[a-z]+", re.sub(r"{\w+}", "", template.lower())))
        assert not words & NEGATION
        # "best" finds the one word that describes; it praises nobody.
        assert not (words & set(load_valence())) - {"best"}, template
        if kind.endswith("demonym"):
            assert not template.startswith(REGION)  # it would need a capital letter


@pytest.mark.parametrize(
    ("noun", "article"),
    [
        ("nurse", "a"),
        ("architect", "an"),
        ("heir", "an"),
        ("unionist", "a"),
        ("uninvited guest", "an"),
        ("unimportant person", "an"),
        ("user", "a"),
        ("European", "a"),
        ("one-off", "a"),
        ("Uncle", "an"),
    ],
)
def test_the_article_fits_the_noun(noun: str, article: str) -> None:
    for subject in SUBJECTS:
        for template in paraphrase_templates(Word(noun, part_of_speech="noun"), subject):
            assert template.endswith(f" {article} {DESCRIPTION}.")


def test_words_that_share_templates_have_equal_tuples() -> None:
    groups: dict[tuple[str, ...], list[str]] = {}
    for word in herb_words():
        groups.setdefault(paraphrase_templates(word), []).append(word.word)
    assert sorted(map(len, groups.values())) == [1, 5, 24, 82]
    assert ["architect"] in groups.values()


def test_a_sentence_of_each_part_of_speech() -> None:
    sentences = [
        Sentences(paraphrase_templates(word, subject)[:1], [name], [word.word]).at(0, 0, 0)
        for word in (Word("kind"), Word("architect", part_of_speech="noun"), Word("succeed", part_of_speech="verb"))
        for subject, name in (("region", "Kenya"), ("demonym", "the French"))
    ]
    assert sentences == [
        "People in Kenya are kind.",
        "In general, the French are kind.",
        "A typical person in Kenya is an architect.",
        "Among the French, a typical person is an architect.",
        "People in Kenya usually succeed.",
        "In general, the French succeed.",
    ]
