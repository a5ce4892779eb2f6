"""Names that the bundled finder was trained with take no part in its audit."""

from __future__ import annotations

import pytest

import geobias
from geobias.audits.find.audit import audit_finders
from geobias.audits.study import prepare
from geobias.world.gazetteer import (
    PAPER_COUNTRIES,
    is_for_mitigation,
    list_spellings,
    list_words,
    load_gazetteer,
    select_for_mitigation,
    select_held_out,
    select_unseen,
)
from recipes.entities.augment import is_held_out, is_latin


def test_the_rule_is_that_of_the_recipe() -> None:
    held_out = select_unseen(load_gazetteer("all"))
    kept = {name.casefold() for names in held_out.lists.values() for name in names}
    training = {name.casefold() for name, raw in list_spellings() if is_latin(raw) and not is_held_out(raw)}
    everything = {name.casefold() for names in load_gazetteer("all").lists.values() for name in names}
    assert kept == everything - training and not kept & training
    assert len(kept & {name.casefold() for name, raw in list_spellings() if is_latin(raw)}) > 2500


def test_the_bundled_finder_reads_held_out_names_and_tweets_only() -> None:
    held_out = select_unseen(load_gazetteer())
    design = prepare(audit_finders, limit=2000, draws=1).design
    assert design.held_out and len(design.texts) == 214
    assert not any(key.startswith("btc.train") for key in design.texts.ids)
    names = {new.first for c in range(17) for person in design.counterfactuals.new_names(0, c) for new in person}
    listed = {name for code in PAPER_COUNTRIES for kind in held_out.kinds for name in held_out.names(code, kind)}
    assert names - {""} <= listed
    other = prepare(audit_finders, "some_pipeline", limit=2000, draws=1).design
    assert not other.held_out and len(other.texts) == 798  # 2 repeat another tweet


def test_a_country_with_too_few_of_them_is_refused_or_left_out() -> None:
    with pytest.raises(geobias.InputError, match=r"Ethiopia has 2 female names that embedded/entities was not trained"):
        prepare(audit_finders, countries="FR,ET")
    design = prepare(audit_finders, countries="all", limit=1, draws=1).design
    assert "ET" in design.countries_left_out and "ET" not in design.counterfactuals.countries
    assert len(design.counterfactuals.countries) > 60


def test_names_to_mitigate_with_are_never_names_to_test_with() -> None:
    gazetteer = load_gazetteer("all")
    mitigation, held_out, unseen = (
        {name for names in select(gazetteer).lists.values() for name in names}
        for select in (select_for_mitigation, select_held_out, select_unseen)
    )
    assert not mitigation & held_out and not mitigation & unseen
    assert len(mitigation) > 5000 and len(held_out) > 5000
    assert {is_for_mitigation(name) for name in ("José", "Jose", "JOSÉ")} in ({True}, {False})
    for spellings in (("Łukasz", "Lukasz"), ("Jørgen", "Jorgen"), ("Đorđe", "Dorde"), ("Işık", "Isik")):
        assert len(set(map(is_for_mitigation, spellings))) == 1
        assert list_words(spellings[0]) == list_words(spellings[1])
    folded = {name.casefold() for name in mitigation}
    assert not folded & {name.casefold() for name in held_out}
