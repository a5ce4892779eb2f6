"""The command line: parse, call an audit, show.

Exit codes: 0 done, 1 a gate failed, 2 bad input, 3 failed while running, 130 interrupted.

Nothing heavy is imported here at the top: `geobias --help` must answer at once.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from geobias import __version__
from geobias.errors import GeobiasError
from geobias.prompts.prefixes import DEFAULT_PREFIX
from geobias.prompts.templates import DEFAULT_TEMPLATE

app = typer.Typer(
    name="geobias",
    help="Audit language models and text classifiers for bias by place and nationality.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, ...")]
Dtype = Annotated[str, typer.Option(help="auto, float32, bfloat16 or float16.")]
Out = Annotated[Path | None, typer.Option(help="Folder for the results (default: a new one under runs/).")]
Json = Annotated[
    bool, typer.Option("--json", help="Print the results as JSON and nothing else (the folder is written too).")
]
Debug = Annotated[bool, typer.Option("--debug", help="On failure show the full traceback.")]


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False,
) -> None:
    if version:
        typer.echo(f"geobias {__version__}")
        raise typer.Exit


@app.command()
def regions(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MODEL ...]", help="Masked LMs: Hugging Face ids or folders; none: the embedded one."),
    ] = None,
    score: Annotated[
        list[str] | None,
        typer.Option(help="aul (default), aula, pll, pll-word or conditional; several: aul,conditional."),
    ] = None,
    cities: Annotated[str, typer.Option(help="Each country's N largest cities; 0 for none, or 'all'.")] = "5",
    continents: Annotated[str | None, typer.Option(help="Only these, by code or name: EU,AF")] = None,
    countries: Annotated[str | None, typer.Option(help="Only these, by code or name: FR,DE,Nigeria")] = None,
    tree: Annotated[Path | None, typer.Option(help="Your own regions: CSV with id, name, parent.")] = None,
    words: Annotated[Path | None, typer.Option(help="Your own words: one a line, or CSV with word, topic.")] = None,
    ablate: Annotated[
        list[str] | None,
        typer.Option(help="Also the score without each topic, or without each word: topics, words, or topics,words."),
    ] = None,
    substitute: Annotated[
        str | None,
        typer.Option(help="Also the score with each topic's words replaced: by their substitutes (topics) or nearest."),
    ] = None,
    vectors: Annotated[
        Path | None, typer.Option(help="Word vectors for --substitute nearest: word2vec's or GloVe's text form.")
    ] = None,
    template: Annotated[
        list[str] | None,
        typer.Option(help=f"Default: {DEFAULT_TEMPLATE} Several: give it several times; the score is then the mean."),
    ] = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    out: Out = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """How differently a language model speaks of the people of the world's regions (HERB).

    Every sentence "People in REGION are WORD." is put to the model; how much its answers differ between the
    sub-regions of a region is that region's score. It says something of the model, nothing of the people.
    """
    from geobias.commands.regions import run_regions

    run_regions(
        models or [None],
        [name.strip() for given in score or ["aul"] for name in given.split(",")],
        options={
            "cities": cities,
            "continents": () if continents is None else continents,
            "countries": () if countries is None else countries,
            "tree": tree,
            "words": words,
            "templates": template or DEFAULT_TEMPLATE,
            "ablate": ablate or (),
            "substitute": substitute,
            "vectors": vectors,
        },
        device=device,
        dtype=dtype,
        out=out,
        as_json=json,
    )


@app.command()
def names(
    classifiers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CLASSIFIER ...]",
            help="Hugging Face ids, folders, or functions as package.module:function; none: the four embedded ones.",
        ),
    ] = None,
    texts: Annotated[
        list[str] | None,
        typer.Option(
            help="CSV, TSV, JSONL, Parquet or lines, also .gz; several with a language each: en=a.csv eu=b.csv. "
            "None: tweets that ship inside.",
            metavar="[LANGUAGE=]FILE",
        ),
    ] = None,
    column: Annotated[str, typer.Option(help="The column that holds the texts.")] = "text",
    spans: Annotated[str | None, typer.Option(help="A column of offsets of the names: [[0, 5], ...].")] = None,
    label: Annotated[str | None, typer.Option(help="A column of true labels, for error rates.")] = None,
    subset: Annotated[list[str] | None, typer.Option(help="Repeat the tables for each value of this column.")] = None,
    limit: Annotated[
        int | None, typer.Option(help="Only the first N texts of each file (of the tweets inside: 100).")
    ] = None,
    finder: Annotated[
        str | None, typer.Option(help="What finds the names: a spaCy pipeline or a token classifier (id or folder).")
    ] = None,
    entity: Annotated[str, typer.Option(help="person, or place: places become cities of each country.")] = "person",
    countries: Annotated[
        str | None, typer.Option(help="By code or name: FR,Nigeria; or 'all' (default: the paper's seventeen).")
    ] = None,
    draws: Annotated[int, typer.Option(help="Renamed versions of each text for each country.")] = 50,
    seed: Annotated[int, typer.Option(help="Other seeds draw other names.")] = 0,
    scripts: Annotated[str, typer.Option(help="Names in latin letters, or all.")] = "latin",
    gazetteer: Annotated[Path | None, typer.Option(help="Your own names: CSV with country, kind, name.")] = None,
    positive: Annotated[str | None, typer.Option(help="Labels that count as positive in Δ: joy,optimism")] = None,
    negative: Annotated[str | None, typer.Option(help="Labels that count as negative in Δ.")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="A class is predicted from this probability on (default: the likeliest one).")
    ] = None,
    lm: Annotated[
        str | None, typer.Option(help="Masked LM for perplexity (default: the classifier's base, else the embedded).")
    ] = None,
    perplexity: Annotated[str, typer.Option(help="pll, or pll-word (kinder to names of many pieces).")] = "pll",
    perplexity_form: Annotated[str, typer.Option(help="mean over a text's tokens, or sum.")] = "mean",
    perplexity_draws: Annotated[
        int, typer.Option(help="Draws of each text and country whose perplexity is taken; it is slow. 0: none.")
    ] = 5,
    perplexity_texts: Annotated[
        int | None, typer.Option(help="Texts whose renamed versions' perplexity is taken, chosen by the seed (all).")
    ] = None,
    preview: Annotated[int | None, typer.Option(help="Show N texts with their renamed versions, and stop.")] = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    out: Out = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """How a classifier treats people by the country that their names come from.

    The people in real texts get common names of country after country; how the classifier changes its mind, and how
    that goes with what a language model finds strange, is measured. It says something of the models, nothing of people.
    """
    from geobias.audits.names import Asked
    from geobias.commands.names import run_names, sources

    run_names(
        classifiers or [],
        {
            "texts": sources(texts),
            "column": column,
            "spans": spans,
            "label": label,
            "subsets": subset or (),
            "limit": limit,
            "finder": finder,
            "entity": entity,
            "countries": countries,
            "draws": draws,
            "seed": seed,
            "scripts": scripts,
            "names": gazetteer,
        },
        Asked(
            positive=_listed(positive),
            negative=_listed(negative),
            threshold=threshold,
            lm=lm,
            perplexity=perplexity,
            form=perplexity_form,
            perplexity_draws=perplexity_draws,
            perplexity_texts=perplexity_texts,
        ),
        device=device,
        dtype=dtype,
        out=out,
        as_json=json,
        preview=preview,
    )


def _listed(names: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (names or "").split(",") if name.strip())


@app.command()
def downstream(
    classifiers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CLASSIFIER ...]",
            help="Hugging Face ids, folders, or functions as package.module:function; none: the four embedded ones.",
        ),
    ] = None,
    texts: Annotated[
        Path | None,
        typer.Option(help="CSV, TSV, JSONL, Parquet or lines, also .gz. None: tweets that ship inside."),
    ] = None,
    column: Annotated[str, typer.Option(help="The column that holds the texts.")] = "text",
    label: Annotated[str | None, typer.Option(help="A column of true labels, for accuracy and macro-F1.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N texts (of the tweets inside: 30).")] = None,
    prefix: Annotated[str, typer.Option(help="What is put before every text.")] = DEFAULT_PREFIX,
    control: Annotated[
        str | None, typer.Option(help="A prefix that names no region (default: the prefix with 'here').")
    ] = None,
    regions: Annotated[str, typer.Option(help="countries, cities, or city-country ('Lyon, France').")] = "countries",
    cities: Annotated[
        str | None, typer.Option(help="Each country's N largest cities, or 'all' (default: 1); with --regions cities.")
    ] = None,
    continents: Annotated[str | None, typer.Option(help="Only these, by code or name: EU,AF")] = None,
    countries: Annotated[str | None, typer.Option(help="Only these, by code or name: FR,DE,Nigeria")] = None,
    positive: Annotated[
        str | None, typer.Option(help="The class to show (default: by name, such as hate); the files have all.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="A class is predicted from this probability on (default: the likeliest one).")
    ] = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    out: Out = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """How a classifier judges the same texts, said to come from region after region (HERB).

    "I am from REGION." is put before every text; how the answers change is told against the texts as they were and
    against a prefix that names no region. It says something of the classifiers, nothing of people.
    """
    from geobias.commands.downstream import run_downstream

    run_downstream(
        classifiers or [],
        {
            "texts": texts,
            "column": column,
            "label": label,
            "limit": limit,
            "prefix": prefix,
            "control": control,
            "regions": regions,
            "cities": cities,
            "continents": () if continents is None else continents,
            "countries": () if countries is None else countries,
            "positive": positive,
            "threshold": threshold,
        },
        device=device,
        dtype=dtype,
        out=out,
        as_json=json,
    )


Finished = Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `geobias regions` left.")]


@app.command("map")
def world_map(
    run: Finished,
    word: Annotated[str | None, typer.Option(help="How likely this word is of each country's people.")] = None,
    topic: Annotated[str | None, typer.Option(help="The mean over this topic's words.")] = None,
    variant: Annotated[str | None, typer.Option(help="The score itself: c_w (default) or c_z.")] = None,
    debug: Debug = False,
) -> None:
    """A world map of a finished regions run: of one word, of a topic, or of the score (HERB's Figure 1).

    Leaves an SVG, a PNG and a page for the browser in RUN/figures, and the numbers in RUN/tables.
    """
    from geobias.commands.map import run_map

    run_map(run, word=word, topic=topic, variant=variant)


@app.command()
def space(
    run: Finished,
    neighbours: Annotated[int, typer.Option(help="How many nearest countries are looked at.")] = 10,
    seed: Annotated[int, typer.Option(help="Of the layout and of what chance gives.")] = 0,
    debug: Debug = False,
) -> None:
    """Does the model of a finished regions run hold countries of one continent together? (HERB's Figure 3)

    Its representations of their names on a plane, beside the real map; and how many of a country's nearest are on
    its continent. Needs umap-learn, which the extra "space" installs.
    """
    from geobias.commands.space import run_space

    run_space(run, neighbours=neighbours, seed=seed)


@app.command()
def audit(
    out: Out = None,
    debug: Debug = False,
) -> None:
    """A first look in three minutes: both audits on the models that ship inside, with as much as fits."""
    from geobias.commands.audit import run_audit

    run_audit(out)


@app.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Delete every kept score.")] = False,
    debug: Debug = False,
) -> None:
    """Show what the store of scores holds, or clear it."""
    from geobias.engine import store

    if clear:
        store.clear()
    held = store.stored()
    for scores in held:
        typer.echo(f"{scores.bytes / 1e3:12,.0f} kB  {scores.texts:>9,} texts  {scores.name}  {scores.fingerprint[:8]}")
    total = f"{sum(scores.bytes for scores in held) / 1e3:12,.0f} kB in" if held else "The store is empty:"
    typer.echo(f"{total} {store.cache_folder()}")


@app.command("models")
def models_inside(debug: Debug = False) -> None:
    """List the models that ship inside, with size, task and measured quality."""
    from geobias.commands.models import show_models

    show_models()


def main() -> None:
    """Run a command; every failure is one line on standard error, unless --debug asks for the traceback."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("geobias: %(message)s"))
    logging.getLogger("geobias").handlers = [handler]
    try:
        app()
    except GeobiasError as error:
        if "--debug" in sys.argv:
            raise
        print(f"geobias: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(error.exit_code)
    except SystemExit as stopped:
        if stopped.code == 130:  # the command-line library has already turned the interrupt into its exit code
            print("geobias: stopped; the same command goes on from here.", file=sys.stderr)
        raise
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        print(
            f"geobias: failed: {type(error).__name__}: {' '.join(str(error).split())[:300]} (--debug shows where)",
            file=sys.stderr,
        )
        sys.exit(3)


if __name__ == "__main__":
    main()
