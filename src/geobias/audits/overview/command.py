"""`geobias audit`: its options."""

from __future__ import annotations

from geobias.options import Debug, Out, Plain


def audit(
    out: Out = None,
    plain: Plain = False,
    debug: Debug = False,
) -> None:
    """A first look in three minutes: both audits on the models that ship inside, with as much as fits."""
    from geobias.audits.overview.run import run_audit

    run_audit(out)
