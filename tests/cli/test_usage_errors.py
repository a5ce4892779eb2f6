"""Wrong usage: one line that starts with `geobias:`, exit code 2, and the nearest command or option."""

from __future__ import annotations

import pytest

from geobias.cli.usage_errors import explain_usage_error
from tests.conftest import Run


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("nmaes", "There is no command 'nmaes'. Did you mean names? `geobias --help` lists all commands."),
        ("xyzxyz", "There is no command 'xyzxyz'. `geobias --help` lists all commands."),
        ("names --countris FR", "`geobias names` has no option --countris. Did you mean --countries?"),
        ("names --countris=FR", "`geobias names` has no option --countris. Did you mean --countries?"),
        ("names -x", "`geobias names` has no option -x. `geobias names --help` lists all options."),
        ("names --draws nan", "--draws must be a whole number, not 'nan'."),
        ("names --draws=1.5", "--draws must be a whole number, not '1.5'."),
        ("names --threshold high", "--threshold must be a number, not 'high'."),
        ("names --draws", "--draws needs a value. `geobias names --help` explains it."),
        ("names --quiet=3", "--quiet takes no value. Write --quiet alone."),
        ("gate", "`geobias gate` needs RUN [RUN ...]. `geobias gate --help` explains it."),
        ("cache all", "`geobias cache` does not take the argument 'all'."),
    ],
)
def test_wrong_usage_is_one_line(run: Run, arguments: str, expected: str) -> None:
    code, out, err = run(*arguments.split())
    assert code == 2 and out == "" and err.count("\n") == 1
    assert err.startswith(f"geobias: {expected}")


def test_no_command_shows_the_help(run: Run) -> None:
    code, out, err = run()
    assert code == 2 and "Start with `geobias audit`" in out and err == ""


def test_other_errors_are_not_explained() -> None:
    assert explain_usage_error(ValueError("other"), ["names"]) is None
