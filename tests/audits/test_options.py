"""Every command has the options of its public Python function, with the same defaults."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

import pytest
import typer

import geobias
from geobias.audits.names.design import NamesOptions
from geobias.audits.registry import BUNDLED, get_audit
from geobias.audits.study import RunOptions
from geobias.cli import make_app

# What only a terminal has: other things to do than the audit, how to print, and consent to what leaves the machine.
# From Python a server is an `Endpoint`, given as the model.
COMMAND_ONLY = {"plan", "preview", "full", "quiet", "json", "debug"}
SERVER = {"server", "yes"}
HAS_SERVER = {"regions", "names"}
PYTHON_ONLY = {"progress"}
FOR_PAPERS = {"names": {"doubtful", "scripts", "perplexity_draws"}}
# A command-line option that may be repeated has a singular name; the keyword that takes them all has a plural.
SEVERAL = {"subset": "subsets", "template": "templates"}
# Several models or classifiers on the command line, one or a list of them in Python.
ARGUMENTS = {"regions": {"models": "model"}, "names": {"classifiers": "classifier"}}
# Without a classifier the command audits all bundled ones, the function the first of them. An option that may be
# repeated has no default that it could show.
OTHER_DEFAULTS = {
    ("names", "classifier"),
    ("regions", "templates"),
}

BY_HAND = [audit.name for audit in BUNDLED if audit.find("command", audit.name)]  # all others are made of functions
COMMANDS = [*BY_HAND, "reproduce"]

OPTIONS = {
    "names": NamesOptions,
}
# What a public function takes besides the options of its design: what is audited, and how the run goes.
AUDITED = {"model", "models", "classifier", "finder", "paper", "score"}
RUN = {field.name for field in fields(RunOptions)}


def public_function(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(geobias, f"audit_{name}", None) or getattr(geobias, name)
    return function


def command_options(name: str) -> dict[str, Any]:
    """The command's arguments and options by the names of the keywords that they should have, with their defaults."""
    command = typer.main.get_command(make_app()).commands[name]  # type: ignore[attr-defined]
    options = {}
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            keyword = ARGUMENTS.get(name, {}).get(parameter.name, parameter.name)
        else:
            keyword = max(parameter.opts, key=len).removeprefix("--").replace("-", "_")
        options[SEVERAL.get(keyword, keyword)] = parameter.default
    return options


def function_options(name: str) -> dict[str, Any]:
    return {key: value.default for key, value in inspect.signature(public_function(name)).parameters.items()}


def comparable(default: Any) -> str | None:
    """Defaults as text; what is given by nothing at all is None."""
    return None if default in (None, (), [], inspect.Parameter.empty) else str(default)


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_the_same(name: str) -> None:
    on_terminal = COMMAND_ONLY | (SERVER if name in HAS_SERVER else set())
    if name in HAS_SERVER and "model" in function_options(name):
        on_terminal -= {"model"}
    command, function = command_options(name), function_options(name)
    assert set(command) - on_terminal == set(function) - PYTHON_ONLY - FOR_PAPERS.get(name, set())


@pytest.mark.parametrize("name", COMMANDS)
def test_defaults_are_the_same(name: str) -> None:
    command, function = command_options(name), function_options(name)
    differing = {
        option: (command[option], function[option])
        for option in command.keys() & function.keys()
        if comparable(command[option]) != comparable(function[option]) and (name, option) not in OTHER_DEFAULTS
    }
    assert not differing


@pytest.mark.parametrize("name", OPTIONS)
def test_the_options_class_is_the_signature(name: str) -> None:
    """`collect_options` copies by name, which mypy cannot follow: names, types and defaults are compared here."""
    parameters = inspect.signature(public_function(name)).parameters
    options = {option.name: option for option in fields(OPTIONS[name])}
    assert options.keys() - parameters.keys() == set()
    assert parameters.keys() - options.keys() <= AUDITED | RUN
    for option in options.values():
        parameter = parameters[option.name]
        default = inspect.Parameter.empty if option.default is MISSING else option.default
        assert parameter.default == default, option.name
        assert option.type in ("Any", parameter.annotation), option.name


@pytest.mark.parametrize("name", OPTIONS)
def test_the_command_has_types_that_the_options_allow(name: str) -> None:
    """Of options that the command hands on as they are; None stands for the default."""
    hints = typing.get_type_hints(get_audit(name).load("command", name))
    for option in fields(OPTIONS[name]):
        allowed = {*str(option.type).replace("Sequence", "list").split(" | "), "NoneType"}
        if option.name in hints and option.type != "Any":
            kinds = typing.get_args(hints[option.name]) or (hints[option.name],)
            assert {getattr(kind, "__name__", "") if kind != list[str] else "list[str]" for kind in kinds} <= allowed
