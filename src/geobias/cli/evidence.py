"""`geobias evidence`: finished runs as a bundle of evidence, and the check of such a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias.errors import InputError
from geobias.options import Debug


def evidence(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN ...]", help="Folders of finished runs.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder or .zip file to write. It must not exist.")] = None,
    rules: Annotated[
        Path | None, typer.Option(help="TOML file of rules to check and include (default: no rules).")
    ] = None,
    with_texts: Annotated[
        bool, typer.Option("--with-texts", help="Include the texts and the files with a row for each text.")
    ] = False,
    check: Annotated[
        Path | None,
        typer.Option(metavar="BUNDLE", help="Compare this folder or .zip file with its manifest, write nothing."),
    ] = None,
    debug: Debug = False,
) -> None:
    """Write finished runs as a bundle of evidence: results, pages, versions, data statement, manifest, sign-off sheet.

    The texts that were scored are left out of every file unless --with-texts is given. `geobias evidence --check
    BUNDLE` finds any later change: exit code 1 and a line for each file that was changed, is missing or was added. It
    records tests; it is no certificate.
    """
    from geobias.audits.evidence.manifest import hash_manifest, verify_evidence

    if check is not None:
        if runs or out or rules or with_texts:
            raise InputError("--check takes a bundle alone: leave out the runs and the other options.")
        problems = verify_evidence(check)
        for problem in problems:
            typer.echo(problem)
        if problems:
            raise typer.Exit(1)
        typer.echo(f"Unchanged. SHA-256 of its manifest: {hash_manifest(check)}")
        return
    if not runs or out is None:
        raise InputError("Give the folders of finished runs and --out, or --check BUNDLE.")
    from geobias.audits.evidence.bundle import write_evidence
    from geobias.report.runs import shown

    bundle = write_evidence(list(runs), out, rules=rules, with_texts=with_texts)
    typer.echo(f"Evidence: {shown(bundle.resolve())} ({'with' if with_texts else 'without'} texts)")
    typer.echo(f"SHA-256 of its manifest: {hash_manifest(bundle)}")
    typer.echo("Start with README.md. Copy SIGN-OFF.md to sign it, with the SHA-256 above.")
