"""`geobias export` and `geobias push-card`: finished runs for other tools and for the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias.checks import describe_choices
from geobias.errors import InputError
from geobias.options import Debug

FORMATS = ("every-eval-ever",)
FinishedRunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run, or of several.")]


def export(
    run: FinishedRunFolder,
    format: Annotated[
        str, typer.Option(metavar="FORMAT", help="every-eval-ever: JSON with confidence intervals.")
    ] = "every-eval-ever",
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("data"),
    developer: Annotated[
        str | None, typer.Option(help="Developer of the model (default: the first part of its name, or unknown).")
    ] = None,
    organization: Annotated[str, typer.Option(help="Who ran the audit.")] = "unknown",
    relationship: Annotated[
        str,
        typer.Option(help="Relation to the model's developer: first_party, third_party, collaborative or other."),
    ] = "other",
    debug: Debug = False,
) -> None:
    """Write the numbers of a finished run in the format of another tool.

    One JSON file for each run and model, arranged as Every Eval Ever arranges its data. Texts are not exported.
    """
    from geobias.integrations.every_eval_ever import export_run
    from geobias.report.runs import shown

    if format not in FORMATS:
        raise InputError(f"Unknown --format {format!r}. {describe_choices(format, FORMATS)}")
    for path in export_run(run, out, developer=developer, organization=organization, relationship=relationship):
        typer.echo(f"Wrote {shown(path.resolve())}")


def push_card(
    repository: Annotated[str, typer.Argument(metavar="REPO", help="Model on the Hugging Face Hub: OWNER/NAME.")],
    run: FinishedRunFolder,
    benchmark: Annotated[
        str | None,
        typer.Option(metavar="OWNER/NAME", help="Also add .eval_results/geobias.yaml, for this dataset on the Hub."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Open the pull request (default: show what it would hold).")
    ] = False,
    debug: Debug = False,
) -> None:
    """Propose the section of a finished run for the model card of REPO, as a pull request on the Hugging Face Hub.

    Without --yes nothing is sent: the command reads README.md of REPO and prints the new files. A section from an
    earlier run is replaced. Log in first with `hf auth login`.
    """
    from geobias.integrations import hugging_face

    update = hugging_face.prepare_card(repository, run, benchmark=benchmark)
    if yes:
        typer.echo(f"Pull request: {hugging_face.push_card(update)}")
        return
    for path, content in update.files.items():
        typer.echo(f"--- {path}\n{content}")
    typer.echo(f"Nothing was sent. Add --yes to open a pull request on {repository}.")
