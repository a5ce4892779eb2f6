"""Small commands that cover every audit, for the comparison of their numbers between versions."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import sys
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

from geobias import cli
from geobias.audits.names.audit import audit_names
from geobias.audits.pages import read_run
from geobias.audits.reports import list_numbers, make_section
from geobias.report.page.blocks import Chart, Choice, WorldMap
from geobias.report.results import to_json
from tests.conftest import build_small_model, spell
from tests.models.mitigated.planted import make_texts

MODEL = """
import hashlib
import re

def number(text, salt=""):
    return int.from_bytes(hashlib.sha256((salt + text).encode()).digest()[:4], "big") / 2**32

def likelihood(texts):
    return [-1 - 3 * number(text) - ("Nigeria" in text) for text in texts]

def other(texts):
    return [-1 - 3 * number(text, "other") for text in texts]

def judge(texts):
    bad = [0.1 + 0.8 * number(text) for text in texts]
    return [{"positive": 1 - p, "negative": p} for p in bad]

def second(texts):
    bad = [0.1 + 0.4 * number(text) + 0.4 * number(text, "second") for text in texts]
    return [{"positive": 1 - p, "negative": p} for p in bad]

def hate(texts):
    bad = [0.2 + 0.4 * text.startswith("I am from Uganda") + 0.3 * ("awful" in text) for text in texts]
    return [{"noHate": 1 - p, "hate": p} for p in bad]

def biased(texts):
    moves = (("Uganda", 0.3), ("Canada", -0.2), ("grew up in K", 0.2))
    bad = [0.3 + 0.1 * number(text) + sum(move for name, move in moves if name in text) for text in texts]
    return [{"noHate": 1 - p, "hate": p} for p in bad]

def feeling(texts):
    values = [[number(text, salt) for salt in "abc"] for text in texts]
    return [{name: v / sum(row) for name, v in zip(("joy", "anger", "sadness"), row)} for row in values]

def capitals(texts):
    names = [re.finditer(r"[A-Z]\\w+(?: [A-Z]\\w+)?", text) for text in texts]
    return [[(*name.span(), "PER" if number(name[0]) < 0.8 else "LOC") for name in row] for row in names]

def plain(texts):
    names = [re.finditer(r"[A-Z]\\w+(?: [A-Z]\\w+)?", text) for text in texts]
    return [[(*name.span(), "PER") for name in row if name[0].isascii()] for row in names]

def decide(prompts):
    return [{"yes": 0.3 + 0.5 * number(p), "no": 0.1, "A": 0.5, "B": 0.2, "4": 0.3, "6": 0.2} for p in prompts]

def decide_again(prompts):
    return [{"yes": 0.2 + 0.5 * number(p, "again"), "no": 0.2, "A": 0.4, "B": 0.4, "5": 0.9} for p in prompts]

likelihood.fingerprint = other.fingerprint = judge.fingerprint = second.fingerprint = feeling.fingerprint = "1"
"""
INPUTS = {
    "model.py": MODEL,
    "words.csv": "word,topic,substitute\nkind,manners,nice\nrude,manners,coarse\nloyal,manners,true\nloud,voice,noisy\n"
    "quiet,voice,still\nhonest,voice,frank\n",
    "tree.csv": "id,name,parent\nE,Earth,\nN,North,E\nS,South,E\nFR,France,N\nDE,Germany,N\nIT,Italy,N\nNG,Nigeria,S\n"
    "KE,Kenya,S\nCL,Chile,S\nLY,Lyon,FR\nPA,Paris,FR\n",
    "texts.csv": "id,text,stars,topic\n"
    + "".join(
        f"{k},{name} {what} in town {spell(k)}.,{'positive' if k % 3 else 'negative'},{'a' if k % 2 else 'b'}\n"
        for k, (name, what) in enumerate(
            (name, what)
            for name in ("Mary Smith", "John", "Peter Jones", "Anna", "Robert Brown", "Linda")
            for what in ("was late", "is kind")
        )
    ),
    "marked.jsonl": "\n".join(
        json.dumps({"text": f"{name} {what} in town {spell(k)}.", "people": [[0, len(name)]]})
        for k, (name, what) in enumerate(product(("Mary Smith", "John", "Anna"), ("was late", "is kind", "sang")))
    ),
    "train.csv": "text,label\n"
    + "".join(
        f"{word} number {spell(k)},{label}\n"
        for k in range(20)
        for word, label in (("nice", "kind"), ("nasty", "rude"))
    ),
    "moods.jsonl": "\n".join(
        json.dumps({"text": text, "label": "negative" if "awful" in text else "positive"}) for text in make_texts(40)
    ),
    "hate.csv": "text,label,split\nfine,noHate,test\nawful,hate,test\nawful,noHate,train\n",
}
FEW = "--countries FR,DE,NG,KE,US,CA"
WORDS = "--words words.csv"
REGIONS = f"{WORDS} --paraphrases 2"
TEMPLATES = "--template 'People in {region} are {description}.' --template 'They are {description} in {region}.'"
NAMES = "--texts texts.csv --countries FR,MA,US,PL --draws 4 --seed 3"
LABELLED = f"{NAMES} --label stars --subset topic --perplexity model:likelihood"
PLANTED = "tests.models.mitigated.planted"
MOODS = (
    f"{PLANTED}:dislike_poland --texts moods.jsonl --finder {PLANTED}:find_everybody --countries PL,FR,DE,IT --draws 4"
)
PROMPT = "--labels negative=bad,positive=good --prompt '{text} is'"

# Each leaves a folder of its own name; those that read runs come after them.
FUNCTIONS = {
    "regions-tree": f"regions model:likelihood --tree tree.csv {REGIONS}",
    "regions-other": f"regions model:other --tree tree.csv {REGIONS}",
    "regions-distances": f"regions model:likelihood --cities 2 {FEW} {WORDS} --paraphrases 0 --no-placebo",
    "regions-templates": f"regions model:likelihood --cities 0 {FEW} {REGIONS} --subject both {TEMPLATES}",
    "names": f"names model:judge {LABELLED}",
    "names-second": f"names model:second {LABELLED}",
    "names-feelings": f"names model:feeling {NAMES} --positive joy --negative anger,sadness",
    "downstream": f"downstream model:judge --texts texts.csv --label stars {FEW}",
    "downstream-second": f"downstream model:second --texts texts.csv --label stars {FEW}",
    "downstream-cities": f"downstream model:judge --texts texts.csv {FEW} --regions city-country --cities 2",
    "downstream-biased": f"downstream model:biased --texts texts.csv {FEW},UG",
    "downstream-several": f"downstream model:biased model:judge --texts texts.csv {FEW},UG",
    "downstream-prefix": f"downstream model:biased --texts texts.csv {FEW},UG --prefix 'I am from {{region}}.'",
    "downstream-few": f"downstream model:biased --texts texts.csv {FEW} --limit 7",
    "find-plain": "find model:plain --limit 60 --countries FR,TR,US,PL,DE,ES,BR --draws 4",
    "find-several": "find model:plain model:capitals --limit 60 --countries FR,TR,US --draws 3",
    "find": "find model:capitals --texts marked.jsonl --spans people --countries FR,TR,US,PL --draws 3",
    "decide": "decide model:decide --countries FR,NG,KE,US --limit 12 --origin stated,name",
    "decide-second": "decide model:decide_again --countries FR,NG,KE,US --limit 12 --origin stated,name",
    "mitigate": f"mitigate model:judge {NAMES} --label stars",
    "mitigate-planted": f"mitigate {MOODS} --label label --method blind,average:4",
    "mitigate-unlabelled": f"mitigate {MOODS} --method blind",
    "compare-regions": "compare regions-tree regions-other",
    "compare-names": "compare names names-second",
    "compare-downstream": "compare downstream downstream-second",
    "compare-decide": "compare decide decide-second",
    "reproduce-4": "reproduce herb table-4 --texts hate.csv --model model:hate",
    "reproduce-4-overall": "reproduce herb table-4-overall --texts hate.csv --model model:hate",
}
MODELS = {
    **{
        f"regions-bert-{score}": f"regions bert --cities 1 {FEW} {REGIONS} --score {score}"
        for score in ("aul", "aula", "pll", "pll-word", "conditional")
    },
    **{
        f"regions-gpt2-{score}": f"regions gpt2 --cities 1 {FEW} {REGIONS} --score {score}"
        for score in ("mean", "sum", "conditional")
    },
    **{
        f"regions-t5-{score}": f"regions t5 --cities 0 {FEW} {REGIONS} --score {score}"
        for score in ("aul", "mean", "conditional")
    },
    "names-embedded": "names embedded/sentiment --limit 4 --draws 3 --countries FR,MA,US --perplexity embedded/lm",
    "names-prompted": f"names gpt2 {PROMPT} {NAMES} --perplexity gpt2",
    "downstream-embedded": f"downstream embedded/hate --limit 4 {FEW}",
    "reproduce-figure-5": f"reproduce herb figure-5 --model bert {FEW} --epochs 2 --device cpu",
    "reproduce-5": f"reproduce herb table-5 --model bert --model roberta --texts train.csv {FEW} --epochs 1 "
    "--device cpu",
    "reproduce-names-1": "reproduce names table-1 --limit 2 --draws 2 --model embedded/hate",
    "reproduce-herb-1": "reproduce herb table-1 --cities 0 --model bert",
}
PYTHON_ONLY = {"names-feelings": {"names": "fixed"}, "names-prompted": {"calibrate": True}}  # no options
GATES = {
    "gate-names": """gate names --rule 'names."model:judge".delta.worst < 30'
        --rule 'names."model:judge".change.negative.worst < 90'""",
    "gate-regions": "gate regions-tree --rule 'regions.Earth.c_w.balanced < 3.9' "
    "--rule 'regions.North.c_w.balanced < 0.001' --rule 'regions.\"model:likelihood\".association.ratio < 9'",
    "gate-decide": """gate decide --rule 'decide."model:decide".impact_ratio.worst > 0.1'""",
    "gate-downstream": """gate downstream --rule 'downstream."model:judge".negative.worst < 0.9'""",
}


def prepare(folder: Path) -> None:
    """Write the inputs and the small models of these commands."""
    for name, content in INPUTS.items():
        (folder / name).write_text(content, encoding="utf-8")
    for kind in ("bert", "roberta", "gpt2", "t5"):
        build_small_model(kind, folder / kind)


Meaning = dict[str, float | str]
LABEL_CELLS = ("direction", "valence", "evidence", "role")  # in words, and no part of a sentence


def run_command(name: str, command: str) -> Meaning:
    """Run one command in the current folder, and return every number of it, by its path and by its meaning."""
    is_gate = command.startswith("gate ")
    out = io.StringIO()
    argv, sys.argv = sys.argv, ["geobias", *shlex.split(command), *(["--json"] if is_gate else ["--out", name])]
    try:
        with (
            mock.patch.dict(audit_names.__kwdefaults__ or {}, PYTHON_ONLY.get(name, {})),
            contextlib.redirect_stdout(out),
            contextlib.suppress(SystemExit),
        ):
            cli.main()
    finally:
        sys.argv = argv
    if is_gate:
        return {**numbers(json.loads(out.getvalue()), "results")}
    content = json.loads(Path(name, "results.json").read_text(encoding="utf-8"))
    meaning: Meaning = {**numbers(content, "results")}
    return meaning if content["audit"] == "reproduce" else meaning | describe_run(Path(name), words=name in FUNCTIONS)


def numbers(content: Any, path: str = "") -> dict[str, float]:
    """Every number with the path to it; settings, versions and work say how, not what."""
    if isinstance(content, bool) or content is None or isinstance(content, str):
        return {}
    if isinstance(content, int | float):
        return {path: float(content)}
    items = content.items() if isinstance(content, dict) else enumerate(content)
    skipped = {"schema_version", "settings", "versions", "work", "seconds"}
    return {
        key: value
        for name, part in items
        if name not in skipped
        for key, value in numbers(part, f"{path}/{str(name).replace('/', '|')}").items()
    }


def describe_run(folder: Path, *, words: bool) -> Meaning:
    """What a finished run means, whatever the form of its results.json.

    Rows of `to_frame` by their keys, the numbers of a gate, findings field by field (with `words` their sentences, in
    which another processor rounds otherwise), and the rows of charts and maps by the words in them.
    """
    run = read_run(folder)
    meaning: Meaning = {}
    for row in run.result.list_tidy_rows():
        add_row(meaning, "frame", row)
    for number in list_numbers(run.result):
        add_row(meaning, "gate", {"path": number.path, "value": number.value, "low": number.low, "high": number.high})
    for n, finding in enumerate(run.result.findings):
        for name, value in to_json(finding).items():
            meaning |= numbers(value, f"finding/{n}/{name}")
            if isinstance(value, str) and (words or name in LABEL_CELLS):
                meaning[f"finding/{n}/{name}"] = value
    section = make_section(run, "page")
    for block in section.blocks:
        for part in block.options.values() if isinstance(block, Choice) else [block]:
            if isinstance(part, Chart):
                for row in part.rows:
                    add_row(meaning, f"chart/{part.id}", row)
            elif isinstance(part, WorldMap):
                for measure in part.measures:
                    for code, estimate in measure.estimates.items():
                        add_row(meaning, "map", {"title": measure.title, "code": code, **vars(estimate)})
    return meaning


def add_row(meaning: Meaning, kind: str, row: Mapping[str, Any]) -> None:
    """The numbers of a row, by the words in it; of several with the same words, by their order."""
    words = "|".join(str(value) for value in row.values() if isinstance(value, str))
    for name, value in row.items():
        if isinstance(value, bool | int | float):
            path, n = f"{kind}/{words}/{name}", 2
            while path in meaning:
                path, n = f"{kind}/{words}/{name} ({n})", n + 1
            meaning[path] = float(value)


def run_all(folder: Path, commands: dict[str, str]) -> dict[str, Meaning]:
    """Run commands inside a prepared folder, with a store of their own."""
    before = Path.cwd()
    os.chdir(folder)
    os.environ["GEOBIAS_CACHE"] = str(folder / "cache")
    try:
        return {name: run_command(name, command) for name, command in commands.items()}
    finally:
        os.chdir(before)
