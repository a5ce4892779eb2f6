"""Runs for the tests of the page: small, of known functions, and with any text put wherever users' texts can stand."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import geobias
from geobias.audits.pages import read_runs, render_page
from geobias.audits.study import IndexEntry, RunIndex, save_index
from geobias.models.scorer import Scorer
from geobias.report.findings import ExampleText, Finding, Size, grade_evidence
from geobias.report.run_folder import PAGE
from geobias.report.runs import index_folder
from geobias.world.regions import Region, RegionTree
from geobias.world.words import Word
from tests.conftest import spell

HOSTILE = '</script><img src=x onerror="window.pwned=1"> <b>\'"&amp; $& \u2028 {{7*7}} {region}'
COUNTRIES = {"FR": ("EU", "France"), "DE": ("EU", "Germany"), "IT": ("EU", "Italy"), "NG": ("AF", "Nigeria"),
             "KE": ("AF", "Kenya"), "TD": ("AF", "Chad"), "MT": ("EU", "Malta")}  # fmt: skip
WORDS = {"manners": ("kind", "rude", "polite"), "work": ("nurse", "thief", "baker", "=1+1")}
PEOPLE = {"Aland": "AB", "Bland": "CD", "Cland": "EF"}  # made-up countries, and how their names begin
LABELS = ("negative", "neutral", "positive")


def chance(text: str) -> float:
    """From 0 to 1, always the same for the same text."""
    return zlib.crc32(text.encode()) / 2**32


class Speaker(Scorer):
    """A language model whose likelihoods are drawn by lot."""

    columns = ("log_likelihood",)

    def __init__(self, name: str = "speaker") -> None:
        self.name = name

    def score(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[-1 - 2 * chance(text)] for text in texts])


def judge(name: str, more: str = "") -> Any:
    """A classifier by lot, which is harsh with the names of Bland."""

    def function(texts: list[str]) -> np.ndarray:
        harsh = [1.0 + 4 * any(letter in text for letter in ("Cx", "Dx")) for text in texts]
        rows = [[chance(label + text) + 0.1 for label in LABELS] for text in texts]
        values = np.array(rows) * np.column_stack([harsh, np.ones((len(texts), 2))])
        return values / values.sum(axis=1, keepdims=True)

    function.labels = [label + more for label in LABELS]  # type: ignore[attr-defined]
    function.__module__, function.__qualname__ = "judges", name + more
    return function


def regions_run(folder: Path, more: str = "") -> None:
    tree = [Region("Earth", "Earth" + more, "earth", None)]
    tree += [Region(code, name + more, "continent", 0) for code, name in (("EU", "Europe"), ("AF", "Africa"))]
    for code, (continent, name) in COUNTRIES.items():
        tree.append(Region(code, name + more, "country", 1 if continent == "EU" else 2))
    for at, code in enumerate(COUNTRIES, 3):
        tree += [Region(f"{code}-{k}", f"City {k} of {code}{more}", "city", at) for k in range(3)]
    geobias.audit_regions(
        Speaker("speaker" + more),
        tree=RegionTree(tuple(tree)),
        words=[Word(word + more, topic + more) for topic, words in WORDS.items() for word in words],
        templates="People in {region} are {description}." + more.replace("{region}", ""),
        out=folder,
    )


def names_run(folder: Path, more: str = "") -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    names = [
        {"country": country + more, "kind": kind, "name": f"{start}x{kind[0]}{chr(97 + k)}{'' if k else more}"}
        for country, starts in PEOPLE.items()
        for start in starts
        for kind in ("male", "female", "last")
        for k in range(10)
    ]
    gazetteer = folder.parent / "gazetteer.csv"
    pd.DataFrame(names).to_csv(gazetteer, index=False)
    texts = pd.DataFrame(
        {"text": [f"Mary Smith was here {spell(n)}{more}" for n in range(15)], "spans": [[[0, 10]]] * 15}
    )
    geobias.audit_names(
        [judge("one", more), judge("two", more)],
        texts,
        spans="spans",
        gazetteer=gazetteer,
        countries=[country + more for country in PEOPLE],
        draws=4,
        perplexity_draws=2,
        perplexity=Speaker("reader" + more),
        positive=["positive" + more],
        negative=["negative" + more],
        out=folder,
    )


def both_runs(folder: Path, more: str = "") -> Path:
    """The folder that holds a run of both audits, and their page, which is given back."""
    index = index_folder(folder, ["regions", "names"])
    index.claim()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEOBIAS_CACHE", str(folder / "cache"))
        regions_run(folder / "regions", more)
        names_run(folder / "names", more)
    save_index(index, RunIndex([IndexEntry("regions"), IndexEntry("names")]))
    return folder / PAGE


def finding(role: Any = "overall", p: float | None = 0.2, more: str = "", **fields: Any) -> Finding:
    """A finding of the names audit, with these fields."""
    defaults: dict[str, Any] = {
        "audit": "names",
        "model": f"judges:one{more}",
        "question": f"Are names of some countries judged differently?{more}",
        "size": Size(-1.8, -3.4, -0.2, "points"),
        "p_adjusted": p,
        "evidence": grade_evidence(p),
        "sentence": f"one: The largest gap is 1.8 points lower, adjusted p = {p}.{more}",
        "limit": f"12 texts.{more}",
        "next_step": f"Use more texts: `geobias names --texts more.csv`{more}",
    }
    return Finding(role=role, **defaults | fields)


def example(more: str = "") -> ExampleText:
    return ExampleText(
        text_id="1", original=f"Mary is rude{more}", changed=f"Cxma is rude{more}", label=f"negative{more}",
        before=0.2, after=0.7, original_names=["Mary"], changed_names=["Cxma"],
    )  # fmt: skip


def invent_findings(more: str = "") -> list[Finding]:
    """One of each label, with and without numbers and texts."""
    return [
        finding(p=0.001, more=more, subject=f"Bland{more}", examples=[example(more)]),
        finding(p=0.07, more=more, model=f"judges:two{more}"),
        finding(p=0.5, more=more),
        finding(p=None, more=more, size=None),
        finding("detail", 0.01, more, question="Which countries?"),
        finding("caution", None, more, sentence=f"Rare names may explain half of Δ.{more}", size=None),
    ]


def page_with_findings(folder: Path, more: str = "") -> Path:
    """The page of both runs with invented findings, whatever their numbers are."""
    page = both_runs(folder, more)
    regions, names = read_runs(folder)
    about_regions = [finding(p=0.3, more=more, audit="regions", model="speaker" + more, question="Which regions?")]
    runs = [
        replace(regions, result=replace(regions.result, findings=about_regions)),
        replace(names, result=replace(names.result, findings=invent_findings(more))),
    ]
    page.write_text(render_page(runs, with_texts=True), encoding="utf-8")
    return page
