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
from geobias.prompts.templates import DEFAULT_TEMPLATE

app = typer.Typer(
    name="geobias",
    help="Audit language models for bias by place.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

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
    template: Annotated[
        list[str] | None,
        typer.Option(help=f"Default: {DEFAULT_TEMPLATE} Several: give it several times; the score is then the mean."),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, ...")] = "auto",
    dtype: Annotated[str, typer.Option(help="auto, float32, bfloat16 or float16.")] = "auto",
    out: Annotated[Path | None, typer.Option(help="Folder for the results (default: a new one under runs/).")] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the results as JSON and nothing else (the folder is written too).")
    ] = False,
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
        },
        device=device,
        dtype=dtype,
        out=out,
        as_json=json,
    )


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
