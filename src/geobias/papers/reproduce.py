"""`geobias.reproduce`: one table or figure of a paper, measured, compared, shown and saved."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geobias.checks import describe_choices
from geobias.errors import InputError

if TYPE_CHECKING:  # the command is made from this function, so that help imports nothing heavy
    from geobias.papers.tables import Reproduction
    from geobias.report.run_folder import RunFolder


def reproduce(
    paper: str,
    table: str,
    *,
    model: str | Sequence[str] = (),
    perplexity: str | None = None,
    texts: Any = None,
    column: str | None = None,
    label: str | None = None,
    limit: int | None = None,
    finder: str | None = None,
    cities: int | str | None = None,
    countries: str | Sequence[str] | None = None,
    draws: int | None = None,
    epochs: int | None = None,
    word: str | None = None,
    device: str = "auto",
    out: str | Path | None = None,
    progress: bool | None = None,
) -> Reproduction:
    """Measure a table or a figure of a paper, with its models or yours, next to the published numbers.

    Parameters
    ----------
    paper : {"herb", "names"}
        The paper: herb (Li and others, 2022) or names (Barriere and Cifuentes, 2024).
    table : str
        The table or figure, such as "table-5" or "figure-1".
    model : str or list of str, optional
        Models to measure, under their own names: Hugging Face ids, folders or functions. Default: the paper's, from the
        Hugging Face hub or its cache; those that are missing are named.
    perplexity : str, optional
        Names paper, Tables 2 to 5: language model that gives perplexities. Default: each classifier's own base.
    texts : str, Path, list, frame, dataset or dict, optional
        Texts, in any form that `audit_names` takes: labelled ones for HERB's Tables 4 and 5 and Figure 4, where
        ``{"imdb": texts}`` names the data set; ``{language: texts}`` for Tables 2 and 4 of the names paper. Default:
        bundled tweets for the names paper, none for HERB.
    column : str, optional
        Column that contains the texts. Default: "text".
    label : str, optional
        Column that contains the labels. Default: "label".
    limit : int, optional
        Number of texts to use from the start. Default: all; 100 of the bundled tweets.
    finder : str, optional
        Names paper: model that finds people. The paper used "xx_ent_wiki_sm". Default: the bundled finder.
    cities : int or str, optional
        HERB: number of the largest cities of each country, or "all". Default: as in the paper.
    countries : str or list of str, optional
        HERB's Table 5 and figures: keep only these countries, by code ("FR", "FRA") or name. Default: all.
    draws : int, optional
        Names paper: renamed versions of each text for each country. Default: 50.
    epochs : int, optional
        HERB's Table 5 and Figure 5: passes over the training texts. Default: 3, and 20.
    word : str, optional
        HERB's Figure 1: word to map. Default: "bald".
    device : str, default "auto"
        Where to run models: "auto" (a GPU if there is one), "cpu", "cuda", "cuda:1", ...
    out : str or Path, optional
        Folder for the results; needed where models are trained. It must be new, empty, or hold the same run, which
        resumes. Default: nothing is saved.
    progress : bool, optional
        Whether to show a progress bar. Default: on terminals and in notebooks.

    Returns
    -------
    Reproduction
        Published and measured numbers; `to_frame()` has a row for each.

    Raises
    ------
    InputError
        If an option does not belong to the table, or a table, a file or a model cannot be used.

    Examples
    --------
    >>> import geobias
    >>> result = geobias.reproduce("herb", "table-1", model="my/model", out="runs/herb")  # doctest: +SKIP
    >>> result.to_frame()[["column", "published", "measured"]]  # doctest: +SKIP
    """
    from geobias.checks import parse_city_count
    from geobias.models.pretrained import resolve_device  # torch only where models are loaded
    from geobias.report.run_folder import MODELS, RunFolder
    from geobias.report.runs import place_for

    options = {
        "perplexity": perplexity, "texts": texts, "column": column, "label": label, "limit": limit, "finder": finder,
        "cities": cities, "countries": countries, "draws": draws, "epochs": epochs, "word": word,
    }  # fmt: skip
    options = {name: value for name, value in options.items() if value is not None}
    name, module = find_table(paper, table)
    measure, accepted = module.measure, inspect.signature(module.measure).parameters
    models = [model] if isinstance(model, str) else list(dict.fromkeys(model))
    if "models" in accepted:
        options["models"] = models
    elif len(models) > 1:
        raise InputError(f"{paper} {name} shows one model. Give one --model.")
    elif models:
        (options["model"],) = models
    for option in options.keys() - accepted.keys():
        usable = (each for each in accepted if each not in ("device", "folder", "progress"))
        known = ", ".join(f"--{each.removesuffix('s') if each == 'models' else each}" for each in usable)
        raise InputError(f"--{option} is not an option of {paper} {name}, which has {known}.")
    if cities is not None:
        parse_city_count(cities)
    if "folder" in accepted and out is None:
        raise InputError(f"{paper} {name} trains models: name a folder for them, out='runs/NAME'.")
    settings = {"paper": paper, "table": name} | {key: _describe(value) for key, value in options.items()}
    folder = None if out is None else RunFolder(place_for(out), settings)
    if folder is not None:
        folder.check()
    resolve_device(device)  # a wrong device is not a missing model
    with nullcontext() if folder is None or "folder" not in accepted else folder.hold(MODELS):
        if folder is not None and "folder" in accepted:
            options["folder"] = folder.path / MODELS
        result: Reproduction = measure(**options, device=device, progress=progress)
        result = replace(result, paper=paper, table=name, settings=settings)
        if folder is not None:
            save(folder, result)
    return result


def find_table(paper: str, table: str) -> tuple[str, Any]:
    """The name of a table or figure and its module; "5", "table_5" and "table-5" are one."""
    from geobias.papers.tables import PAPERS

    if paper not in PAPERS:
        raise InputError(f"Unknown paper {paper!r}. {describe_choices(paper, PAPERS)}")
    names = list_tables(paper)
    asked = table.strip().lower().replace("_", "-")
    name = f"table-{asked}" if f"table-{asked}" in names else asked
    if name not in names:
        raise InputError(f"geobias has no {table!r} of {paper}. {describe_choices(name, names)}")
    return name, import_module(f"geobias.papers.{paper}.{name.replace('-', '_')}")


def list_tables(paper: str) -> list[str]:
    """The tables and figures of a paper: the modules of its folder."""
    files = (Path(file.name) for file in (resources.files("geobias.papers") / paper).iterdir())
    return sorted(
        file.stem.replace("_", "-") for file in files if file.match("table_*.py") or file.match("figure_*.py")
    )


def save(folder: RunFolder, result: Reproduction) -> None:
    """The table as CSV, a figure as SVG, and results.json; run.json last."""
    from geobias.files import save_file
    from geobias.report.run_folder import RESULTS, write_json
    from geobias.report.runs import typed_command
    from geobias.report.tables import write_csv

    content, stem = result.to_dict(), f"{result.paper}-{result.table}"
    with folder.stage() as staging:
        (staging / "tables").mkdir()
        write_csv(staging / "tables" / f"{stem}.csv", result.cells())
        if result.chart:
            save_file(staging / "figures" / f"{stem}.svg", result.chart.encode())
        write_json(staging / RESULTS, content)
        folder.move_in(staging)
        about = {key: content[key] for key in ("schema_version", "audit", "settings", "versions")}
        folder.finish({**about, "command": typed_command()})


def _describe(value: Any) -> Any:
    """An option as settings have it: texts in memory by their content."""
    from geobias.audits.inputs import TextsSettings
    from geobias.texts.user_texts import read_texts

    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {key: _describe(each) for key, each in value.items()}
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Sequence) and all(isinstance(each, str) for each in value) and len(value) <= 300:
        return list(value)
    texts = read_texts(value)
    return vars(TextsSettings.describe(texts))
