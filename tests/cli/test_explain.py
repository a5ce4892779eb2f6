"""`geobias explain`: entries of the glossary, near spellings, and a fast start."""

from __future__ import annotations

import subprocess
import sys

import pytest

from geobias.report.glossary import TERMS, TOPICS, find_term, list_forms, split_terms
from tests.cli.test_help_and_completion import LIGHT
from tests.conftest import Run


def test_an_entry_has_name_forms_definition_and_note(run: Run) -> None:
    code, out, _ = run("explain", "p_adjusted")
    assert code == 0 and out.startswith("adjusted p (adjusted p-value")
    code, out, _ = run("explain", "c_w")
    assert code == 0 and out.startswith("C_w\nHERB's score of a region") and "not a percentage" in " ".join(out.split())


@pytest.mark.parametrize(("words", "name"), [(["adjusted", "p"], "adjusted p"), (["perplexty"], "perplexity"),
                                             (["INTERVAL"], "95 % interval"), (["delta"], "Δ")])  # fmt: skip
def test_other_forms_and_near_spellings_are_accepted(run: Run, words: list[str], name: str) -> None:
    code, out, err = run("explain", *words)
    assert code == 0 and out.startswith(name), err


def test_an_unknown_term_is_refused_with_the_nearest_ones(run: Run) -> None:
    code, out, err = run("explain", "correlation")
    assert code == 2 and not out and "Did you mean" in err and "partial correlation" in err
    code, _, err = run("explain", "horoscope")
    assert code == 2 and "`geobias explain` lists all terms" in err


def test_without_a_term_all_are_listed(run: Run) -> None:
    code, out, _ = run("explain")
    listed = " ".join(out.split())
    assert code == 0 and all(topic in out for topic in TOPICS) and all(term.name in listed for term in TERMS)


def test_it_starts_fast() -> None:
    code = LIGHT.format(arguments=["geobias", "explain", "C_w"], code=0)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_form_belongs_to_two_terms() -> None:
    forms = [form.lower() for term in TERMS for form in (term.name, *term.other_forms, *term.search_forms)]
    assert len(set(forms)) >= len(forms) - 2 and set(forms) == set(list_forms())  # PLL-word, LM: also in lower case
    for term in TERMS:
        assert all(find_term(form) is term for form in (term.name, *term.other_forms, *term.search_forms))
        assert not term.note or term.note.endswith(".")


def test_everyday_words_are_not_marked_on_the_page() -> None:
    marked = [term.name for _, term in split_terms("A clear run: the mean C_w of each label, and its interval") if term]
    assert marked == ["C_w"]
