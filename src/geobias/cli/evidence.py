"""`geobias register`, `geobias evidence` and `geobias verify`: rules before a run, its evidence, and its integrity."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias.cli.finished_runs import Runs
from geobias.options import Debug


def register(
    rules: Annotated[Path, typer.Argument(metavar="RULES", help="TOML file of rules, as for `geobias gate`.")],
    debug: Debug = False,
) -> None:
    """Record the rules of a gate with their SHA-256 and the time, before a run.

    Writes RULES.registered.json next to RULES. `geobias evidence --rules RULES` then says whether the rules came before
    the run. The time is that of this machine's clock.
    """
    from geobias.audits.evidence.registration import read_registration, register_rules
    from geobias.report.runs import shown

    target = register_rules(rules)
    registration = read_registration(rules)
    assert registration is not None
    count = f"{len(registration.rules)} rule{'' if len(registration.rules) == 1 else 's'}"
    typer.echo(f"Registered {count} on {registration.registered}: {shown(target.resolve())}")
    typer.echo(f"SHA-256 of the rules: {registration.sha256}")


def evidence(
    runs: Runs,
    out: Annotated[Path, typer.Option(help="Folder or .zip file to write. It must not exist.")],
    rules: Annotated[
        Path | None, typer.Option(help="TOML file of rules to check and include (default: no rules).")
    ] = None,
    with_texts: Annotated[
        bool, typer.Option("--with-texts", help="Include the texts and the files with a row for each text.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Write finished runs as a bundle of evidence: results, pages, versions, data statement, manifest, sign-off sheet.

    The texts that were scored are left out of every file unless --with-texts is given. `geobias verify` finds any later
    change of the bundle. It records tests; it is no certificate.
    """
    from geobias.audits.evidence.bundle import write_evidence
    from geobias.audits.evidence.manifest import hash_manifest
    from geobias.report.runs import shown

    bundle = write_evidence(list(runs), out, rules=rules, with_texts=with_texts)
    typer.echo(f"Evidence: {shown(bundle.resolve())} ({'with' if with_texts else 'without'} texts)")
    typer.echo(f"SHA-256 of its manifest: {hash_manifest(bundle)}")
    typer.echo("Start with README.md. Copy SIGN-OFF.md to sign it, with the SHA-256 above.")


def verify(
    bundle: Annotated[
        Path, typer.Argument(metavar="BUNDLE", help="Folder or .zip file that `geobias evidence` wrote.")
    ],
    debug: Debug = False,
) -> None:
    """Check a bundle of evidence against its manifest. Exit code 0 if it is unchanged, 1 if not.

    Prints a line for each file that was changed, is missing or was added.
    """
    from geobias.audits.evidence.manifest import hash_manifest, verify_evidence

    problems = verify_evidence(bundle)
    for problem in problems:
        typer.echo(problem)
    if problems:
        raise typer.Exit(1)
    typer.echo(f"Unchanged. SHA-256 of its manifest: {hash_manifest(bundle)}")
