"""What a Python user calls: the audits, with the options of the command line by keyword."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geobias.audits.downstream.design import answer as downstream_answer
from geobias.audits.downstream.design import question as downstream_question
from geobias.audits.downstream.result import DownstreamResult
from geobias.audits.downstream.terminal import write_files as write_downstream
from geobias.audits.model_identity import model_identity
from geobias.audits.names.design import Asked
from geobias.audits.names.design import answer as names_answer
from geobias.audits.names.design import question as names_question
from geobias.audits.names.files import write_files as write_names
from geobias.audits.names.result import NamesResult
from geobias.audits.regions.design import DEFAULT_CITIES, RegionsResult, answer, question
from geobias.audits.regions.terminal import write_files as write_regions
from geobias.engine.ask import compute_on
from geobias.models.classifiers.prompted import read_prompt_options
from geobias.models.load import load_classifier, load_masked, load_scorer
from geobias.models.scorer import EMBEDDED_CLASSIFIERS, EMBEDDED_LM, ScorerLike
from geobias.report.run_folder import RUN, TRAINING, RunFolder
from geobias.report.runs import place_for, read_run, save_run
from geobias.texts.defaults import DEFAULT_PREFIX, DEFAULT_TEMPLATE
from geobias.world.regions import RegionTree
from geobias.world.words import Word

if TYPE_CHECKING:
    from geobias.audits.drift.design import DriftResult
    from geobias.models.language.language_model import LanguageModel


def audit_regions(
    model: str | Path | Callable[[list[str]], Any] | ScorerLike | LanguageModel | None = None,
    *,
    score: str | None = None,
    cities: int | str = DEFAULT_CITIES,
    continents: str | Sequence[str] = (),
    countries: str | Sequence[str] = (),
    tree: str | Path | RegionTree | None = None,
    words: str | Path | Sequence[str | Word] | None = None,
    templates: str | Sequence[str] = DEFAULT_TEMPLATE,
    ablate: str | Sequence[str] = (),
    substitute: str | None = None,
    vectors: str | Path | None = None,
    placebo: bool = False,
    device: str = "auto",
    dtype: str = "auto",
    ray: str | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> RegionsResult:
    """How differently a language model speaks of the people of the world's regions (HERB, Eq. 1 to 10).

    `model` is a Hugging Face id, a folder, a loaded model, a function from texts to log-likelihoods (itself, or as
    "package.module:function"), or any scorer of them, which has its own score; by default the embedded model.
    `score` is one that its kind has: aul (the default), aula, pll, pll-word, conditional of a masked LM; mean
    (the default), sum, conditional of a causal one; aul (the default), mean, sum, conditional of an encoder-decoder.
    `ray` ("auto", "local" or an address) computes on a Ray cluster instead of in this process.
    The options are those of `geobias regions`; with `out` the same folder is left.
    """
    asked = question(
        cities=cities,
        continents=continents,
        countries=countries,
        tree=tree,
        words=words,
        templates=templates,
        ablate=ablate,
        substitute=substitute,
        vectors=vectors,
        placebo=placebo,
    )
    with compute_on(ray, device, dtype) as (device, dtype):
        scorer = load_scorer(model, score, device=device, dtype=dtype)
        about = model_identity(scorer)
        run = None if out is None else RunFolder(place_for(out), asked.settings_for(about["name"], about["score"]))
        if run is not None:
            run.check([scorer.fingerprint])
        began = time.perf_counter()
        result = answer(asked, scorer, progress=progress)
    if run is not None:
        save_run(run, result, write_regions, seconds=round(time.perf_counter() - began, 1))
    return result


def audit_names(
    classifier: Any = EMBEDDED_CLASSIFIERS[0],
    texts: Any = None,
    *,
    column: str = "text",
    spans: str | None = None,
    label: str | None = None,
    subsets: Sequence[str] = (),
    limit: int | None = None,
    finder: str | None = None,
    entity: str = "person",
    countries: str | Sequence[str] | None = None,
    draws: int = 50,
    seed: int = 0,
    scripts: str = "latin",
    gazetteer: str | Path | None = None,
    names: str = "random",
    positive: Sequence[str] = (),
    negative: Sequence[str] = (),
    threshold: float | None = None,
    labels: str | None = None,
    prompt: str | None = None,
    calibrate: bool = False,
    lm: str | Path | Callable[[list[str]], Any] | ScorerLike | LanguageModel | None = None,
    perplexity: str | None = None,
    perplexity_form: str = "mean",
    perplexity_draws: int = 5,
    perplexity_texts: int | None = None,
    device: str = "auto",
    dtype: str = "auto",
    ray: str | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> NamesResult:
    """How a classifier treats people by the country that their names come from (Barriere and Cifuentes 2024).

    `classifier` is a Hugging Face id, a folder, a function from texts to probabilities (itself, or as
    "package.module:function"), a scikit-learn pipeline (itself, or as a .skops file), a loaded classifier, or a list of
    such; with `labels` ("negative,positive") also a language model. `texts` is a file, a list of texts, a pandas or
    polars frame or column, a Hugging Face dataset, or {language: any of these}; by default 100 tweets that ship inside.
    `lm` is whatever `audit_regions` takes as a model.
    The options are those of `geobias names`; with `out` the same folder is left.
    """
    how = Asked(
        positive=tuple(positive),
        negative=tuple(negative),
        threshold=threshold,
        lm=lm,
        perplexity=perplexity,
        form=perplexity_form,
        perplexity_draws=perplexity_draws,
        perplexity_texts=perplexity_texts,
        names=names,
        prompt=read_prompt_options(labels, prompt, calibrate),
    )
    asked = names_question(
        texts=texts,
        column=column,
        spans=spans,
        label=label,
        subsets=subsets,
        limit=limit,
        finder=finder,
        entity=entity,
        countries=countries,
        draws=draws,
        seed=seed,
        scripts=scripts,
        names=gazetteer,
        device=device,
    )
    several = classifier if isinstance(classifier, list | tuple) else [classifier]
    with compute_on(ray, device, dtype) as (device, dtype):
        classifiers = [load_classifier(one, prompt=how.prompt, device=device, dtype=dtype) for one in several]
        settings = asked.settings_for([one.name for one in classifiers], how)
        run = None if out is None else RunFolder(place_for(out), settings)
        if run is not None:
            run.check()
        began = time.perf_counter()
        result = names_answer(asked, classifiers, how, device=device, dtype=dtype, progress=progress)
    if run is not None:
        save_run(run, result, write_names, seconds=round(time.perf_counter() - began, 1))
    return result


def audit_downstream(
    classifier: Any = EMBEDDED_CLASSIFIERS[0],
    texts: Any = None,
    *,
    column: str = "text",
    label: str | None = None,
    limit: int | None = None,
    prefix: str = DEFAULT_PREFIX,
    control: str | None = None,
    regions: str = "countries",
    cities: int | str | None = None,
    continents: str | Sequence[str] = (),
    countries: str | Sequence[str] = (),
    positive: str | None = None,
    threshold: float | None = None,
    labels: str | None = None,
    prompt: str | None = None,
    calibrate: bool = False,
    device: str = "auto",
    dtype: str = "auto",
    ray: str | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> DownstreamResult:
    """How a classifier judges the same texts, said to come from region after region (HERB, Table 4 and Figure 4).

    `classifier` and `texts` are whatever `audit_names` takes. `regions` is countries, cities (each country's `cities`
    largest, by name) or city-country ("Lyon, France"). `control` is a prefix that names no region, by default the
    prefix with "here". The options are those of `geobias downstream`; with `out` the same folder is left.
    """
    asked = downstream_question(
        texts=texts,
        column=column,
        label=label,
        limit=limit,
        prefix=prefix,
        control=control,
        regions=regions,
        cities=cities,
        continents=continents,
        countries=countries,
        positive=positive,
        threshold=threshold,
        prompt=read_prompt_options(labels, prompt, calibrate),
    )
    several = classifier if isinstance(classifier, list | tuple) else [classifier]
    with compute_on(ray, device, dtype) as (device, dtype):
        classifiers = [load_classifier(one, prompt=asked.prompt, device=device, dtype=dtype) for one in several]
        settings = asked.settings_for([one.name for one in classifiers])
        run = None if out is None else RunFolder(place_for(out), settings)
        if run is not None:
            run.check()
        began = time.perf_counter()
        result = downstream_answer(asked, classifiers, progress=progress)
    if run is not None:
        save_run(run, result, write_downstream, seconds=round(time.perf_counter() - began, 1))
    return result


def audit_drift(
    model: str | Path | None = None,
    *,
    out: str | Path,
    texts: Any = None,
    column: str = "text",
    levels: str | Sequence[str] | None = None,
    top: int | None = None,
    epochs: int = 20,
    rate: float = 5e-5,
    batch: int = 32,
    seed: int = 0,
    score: str = "aul",
    cities: int | str = 0,
    continents: str | Sequence[str] = (),
    countries: str | Sequence[str] = (),
    words: str | Path | Sequence[str | Word] | None = None,
    templates: str | Sequence[str] = DEFAULT_TEMPLATE,
    device: str = "auto",
    progress: bool | None = None,
) -> DriftResult:
    """How a masked language model's regional bias moves while it is trained on (HERB, Figure 5).

    `texts` is whatever `audit_names` takes; without any the model reads the sentences that it finds likeliest itself.
    The model's own folder is only read. `out` holds the training while it lasts, then the run and the trained model;
    called again after a kill it goes on. The options are those of `geobias drift`.
    """
    from geobias.audits.drift.design import DriftResult, answer, question  # torch only when a model is trained
    from geobias.audits.drift.terminal import write_files

    asked = question(
        texts=texts,
        column=column,
        levels=levels,
        top=top,
        epochs=epochs,
        rate=rate,
        batch=batch,
        seed=seed,
        score=score,
        cities=cities,
        continents=continents,
        countries=countries,
        words=words,
        templates=templates,
    )
    run = RunFolder(place_for(out), asked.settings_for(str(model or EMBEDDED_LM)))
    run.check()
    lm = load_masked(model, device=device, dtype="float32")  # small steps vanish in the rounding of shorter numbers
    run.check([lm.scorer(asked.score).fingerprint])
    if (run.path / RUN).is_file():
        run.tidy()
        return DriftResult.read(read_run(run.path, "drift"))
    with run.hold(TRAINING):
        began = time.perf_counter()
        result = answer(asked, lm, run.path / TRAINING, progress=progress)
        save_run(run, result, partial(write_files, lm=lm), seconds=round(time.perf_counter() - began, 1))
    return result
