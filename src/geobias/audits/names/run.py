"""`geobias names`: one run for all classifiers; or, with --preview, the renamed texts alone."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.consent import Served, Workload, agree, workload
from geobias.audits.labels import toned_labels
from geobias.audits.model_identity import model_identity
from geobias.audits.names.design import Asked, NamesQuestion, answer, question
from geobias.audits.names.files import write_files
from geobias.audits.names.perplexity import language_models
from geobias.audits.names.result import NamesResult
from geobias.audits.names.terminal import notes, tables
from geobias.audits.plan import PILOT_DRAWS, PILOT_TEXTS, POWER, show_plan, timed
from geobias.audits.served_classifier import classification, served_classifier
from geobias.checks import check_number
from geobias.engine.ask import compute_on
from geobias.measures.names_resampling import FEWEST_TEXTS, NameUnits, Resampling
from geobias.models.classifiers.prompted import require_prompt
from geobias.models.load import load_classifier
from geobias.models.scorer import EMBEDDED_CLASSIFIERS, LOG_LIKELIHOOD, Classifier
from geobias.models.served.served_lm import ServedLM
from geobias.report import runs
from geobias.report.run_folder import RunFolder
from geobias.report.tables import console, titled_table
from geobias.report.tables import show as show_result

MEANING = (
    "Δ is the mean of p(positive) - p(negative), in points of 100, minus the same on the texts as they were; the "
    "change of a class is in per cent of its predictions. Any renaming changes texts: what sets countries apart stands "
    "against their mean. * marks an adjusted p-value below 0.05; intervals allow for other texts and other names "
    "(docs/statistics.md). It speaks of the models and of lists of common names, not of people: names cross borders."
)
WARNING = "These are real texts. Some may be offensive; they are shown to check the renaming, nothing else."
COUNTRIES_PREVIEWED, MOST_PREVIEWED = 3, 10_000


def run_names(
    classifiers: Sequence[str],
    options: Mapping[str, Any],
    how: Asked,
    *,
    device: str,
    dtype: str,
    out: Path | None,
    as_json: bool,
    preview: int | None,
    plan: bool,
    served: Served | None = None,
    ray: str | None = None,
) -> None:
    if served:
        require_prompt(how.prompt, served.model)
    asked = question(**options, device=device)
    if preview is not None:
        _preview(asked, preview)
        return
    names = [served.model] if served else list(dict.fromkeys(classifiers or EMBEDDED_CLASSIFIERS))
    if served and plan:
        console().print(f"Nothing is sent now. It would be: {_workload(asked, served, how)}")
        return
    if plan:
        _plan(asked, names, how, device=device, dtype=dtype)
        return
    label = f"names-{runs.slug(names[0])}" if len(names) == 1 else "names"
    folder = runs.place_for(out or runs.new_folder(label))
    result = audit_into(folder, asked, names, how, device=device, dtype=dtype, served=served, ray=ray)
    if as_json:
        print(json.dumps(result.to_dict(), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        show(result, folder)


def audit_into(
    folder: Path,
    asked: NamesQuestion,
    names: Sequence[str],
    how: Asked,
    *,
    device: str,
    dtype: str,
    served: Served | None = None,
    ray: str | None = None,
) -> NamesResult:
    """Ask the classifiers and leave the run in its folder."""
    run = RunFolder(folder, asked.settings_for(names, how))
    run.check()
    if served:
        agree(served, _workload(asked, served, how))
    with compute_on(ray, device, dtype) as (here, precision):
        if served:
            classifiers = [served_classifier(served, require_prompt(how.prompt, served.model))]
        else:
            classifiers = [load_classifier(name, prompt=how.prompt, device=here, dtype=precision) for name in names]
        began = time.perf_counter()
        result = answer(asked, classifiers, how, device=here, dtype=precision)
    runs.save_run(run, result, write_files, seconds=round(time.perf_counter() - began, 1))
    return result


def _workload(asked: NamesQuestion, served: Served, how: Asked) -> Workload:
    load = classification(served, require_prompt(how.prompt, served.model), asked.texts.texts, asked.renamed)
    if how.perplexity_draws and how.lm is None:
        lm = ServedLM(served.endpoint(), begin=served.begin)
        known = lm.known_fingerprints(how.perplexity or lm.perplexity_method)[:1]
        for texts in (asked.texts.texts, asked.renamed.part(range(len(asked.named)), how.perplexity_draws)):
            load += workload(texts, (LOG_LIKELIHOOD, "tokens"), known, name=served.model)
    return load


def show(result: NamesResult, folder: Path) -> None:
    files = "Every number: tables/*.csv; every renamed text with its scores: counterfactuals.parquet."
    shown = tables(result, width=console().width)
    show_result(shown, notes(result), [MEANING], f"{files}\nResults: {runs.shown(folder)}")


def _plan(asked: NamesQuestion, names: Sequence[str], how: Asked, *, device: str, dtype: str) -> None:
    loaded = [load_classifier(name, prompt=how.prompt, device=device, dtype=dtype) for name in names]
    texts, countries, draws = asked.renamed.shape
    steps = [timed(one.name, one, asked.renamed) for one in loaded]
    if how.perplexity_draws:
        taken = asked.renamed.part(range(min(how.perplexity_texts or texts, texts)), how.perplexity_draws)
        for scorer in {
            id(scorer): scorer for scorer, _ in language_models(loaded, how, device, dtype).values()
        }.values():
            steps.append(timed(f"perplexity by {model_identity(scorer)['name']}", scorer, taken))
    show_plan(
        f"{texts:,} of {len(asked.texts):,} texts name somebody; {countries} countries x {draws} draws.",
        steps,
        [_smallest_effect(asked, one, how) for one in loaded],
    )


def _smallest_effect(asked: NamesQuestion, classifier: Classifier, how: Asked) -> str:
    """From a few texts and draws: what texts, names and single answers add to the variance shrinks as each grows."""
    texts, _, draws = asked.renamed.shape
    chosen = np.unique(np.linspace(0, texts - 1, PILOT_TEXTS).astype(int))
    pilot = asked.renamed.part(chosen, PILOT_DRAWS)
    positive, negative = toned_labels(classifier.name, classifier.labels, how.positive, how.negative)
    if not positive or not negative or len(chosen) < FEWEST_TEXTS:
        return f"{classifier.name}: no Δ, or too few texts to say how small an effect could be found."
    p = classifier.score(list(pilot))[:, : len(classifier.labels)].reshape(*pilot.shape, -1)
    tone = 100 * (p[..., positive].sum(axis=-1) - p[..., negative].sum(axis=-1))
    resampling = Resampling(NameUnits(*pilot.name_units()), pilot.shape, np.ones(pilot.shape[::2], dtype=bool))
    of_texts, of_names, noise = resampling.variances(tone)
    lists = asked.renamed.gazetteer
    listed = np.median([sum(len(lists.names(code, kind)) for kind in lists.kinds) for code in asked.renamed.countries])
    shown = np.median((resampling.occurrences > 0).sum(axis=0))
    shrunk = of_texts * len(chosen) / texts + of_names * min(shown / listed, 1.0)
    shrunk = shrunk + noise * len(chosen) * pilot.draws / (texts * draws)
    effect = POWER * float(np.median(np.sqrt(shrunk)))
    return (
        f"{classifier.name}: the smallest difference of a country's Δ from the mean of countries that would be found 4 "
        f"times of 5 (before correction for many countries): about {effect:.1f} points."
    )


def _preview(asked: NamesQuestion, count: int) -> None:
    """Originals and renamed texts side by side, each text with other countries, so that all are seen."""
    check_number("--preview", count, 1, MOST_PREVIEWED)
    renamed, listed = asked.renamed, asked.renamed.gazetteer
    table = titled_table(f"{len(renamed.texts):,} of {len(asked.texts):,} texts name somebody; the first draw of some")
    table.add_column("as it was", overflow="fold", ratio=1)
    table.add_column("country", no_wrap=True)
    table.add_column("renamed", overflow="fold", ratio=1)
    countries = len(renamed.countries)
    for text in range(min(count, len(renamed.texts))):
        chosen = dict.fromkeys((text * COUNTRIES_PREVIEWED + k) % countries for k in range(COUNTRIES_PREVIEWED))
        for k, country in enumerate(chosen):
            original = renamed.texts[text] if k == 0 else ""
            table.add_row(original, listed.country(renamed.countries[country]), renamed.at(text, country, 0))
        table.add_section()
    out = console()
    out.print(WARNING, style="bold")
    out.print(table)
