"""Commands made from public functions, whose signatures and docstrings are the only declaration of the options.

A parameter becomes an option: its name is the flag, the first sentence of its description (numpydoc) and its default
are the help. The tables hold what a signature cannot say, by names that mean the same in every command.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer

Values = dict[str, Any]
Function = Callable[..., Any]

PANELS = {  # of `geobias COMMAND --help`; options of other packages' audits that are in none stand with --help
    "Input": "texts column spans label subsets limit finder countries gazetteer positive negative",
    "Model": "labels prompt calibrate perplexity allow",
    "Statistics": "draws seed names threshold",
    "Compute": "plan device dtype ray server yes",
    "Output": "out preview full quiet json debug",
}
PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names.split()}
MODELS = {"model", "models", "classifier", "finder"}  # arguments that say what is audited
PYTHON_ONLY = {"progress", "scripts", "doubtful", "perplexity_draws"}
REPEATED = {"texts", "subsets", "allow"}  # options that may be given several times; other lists have commas in them
SINGULAR = {"subsets": "subset"}  # the flag of one of them
METAVARS = {"texts": "[LANGUAGE=]FILE", "gazetteer": "FILE", "ray": "auto|local|ADDRESS", "out": "FOLDER",
            "allow": "NAME", "server": "KEY=VALUE,...", "perplexity": "MODEL"}  # fmt: skip
MORE_HELP = {
    "texts": "; for several languages: --texts en=a.csv --texts eu=b.csv",
    "classifier": "; or a model behind a server: http://localhost:8000/v1#my-model",
}
DEFAULTS = {"out": "a new folder in runs/", "classifier": "the four bundled classifiers"}
SHOW = ("full", "quiet", "json")
SERVER = ("server", "yes")
ADDED = {"find": ("plan",), "names": ("plan", "preview", *SERVER)}  # to the commands of single audits
FLAG_TYPES = {"preview": int, "server": str}  # of those that are no switches
FLAGS = {  # what only a command has
    "plan": "Show the number of texts, the time and the smallest detectable effect, then stop.",
    "full": "Print every table and note below the findings.",
    "quiet": "Print only the findings.",
    "json": "Print only the results, as JSON. Files are still written.",
    "debug": "Show the full traceback on failure.",
    "preview": "Show N texts with their renamed versions, then stop.",
    "server": "For a model behind a server: calls=N stops after N calls (the same command resumes), rate=R calls per "
    "second, at-once=8 concurrent calls, begin=<s> the token to send before every text.",
    "yes": "Send texts to the server without confirmation.",
}


def make_command(function: Function, run: Callable[[Values], None], *flags: str) -> Callable[..., None]:
    """A command with the parameters of a function and some flags; `run` gets what the user gave, by their names."""
    text, descriptions = _read_docstring(function)
    parameters = [each for each in inspect.signature(function).parameters.values() if each.name not in PYTHON_ONLY]
    known = {each.name for each in parameters}
    options = []
    for each in parameters:
        type_text, description = descriptions.get(each.name, ("", ""))
        is_argument = each.default is each.empty or (each is parameters[0] and each.kind is not each.KEYWORD_ONLY)
        make = _make_argument if is_argument else _make_option
        options.append(make(each, type_text, _write_help(each, description, known)))
    options += [_make_flag(name) for name in (*flags, "debug")]
    order = [None, *PANELS]
    options.sort(key=lambda option: order.index(option.annotation.__metadata__[0].rich_help_panel))

    def command(**values: Any) -> None:
        run({name: value for name, value in values.items() if value not in (None, []) and name != "debug"})

    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    command.__doc__ = re.sub(r"`audit_(\w+)`", r"`geobias \1`", text)
    return command


def keep_brackets(text: str) -> str:
    """Help as Typer needs it, which takes words in brackets, as in geobias[papers], for markup and leaves them out."""
    return re.sub(r"\[(?=[a-z#/@])", r"\\[", text)


def _read_docstring(function: Function) -> tuple[str, dict[str, tuple[str, str]]]:
    """The text above the sections of a numpydoc docstring; the type and the description of each parameter."""
    text, *sections = re.split(r"^([A-Z][A-Za-z ]+)\n-+\n", inspect.getdoc(function) or "", flags=re.MULTILINE)
    section = dict(zip(sections[::2], sections[1::2], strict=True)).get("Parameters", "")
    _, *entries = re.split(r"^(\w+) : (.+)\n", section, flags=re.MULTILINE)
    return text.strip(), dict(zip(entries[::3], zip(entries[1::3], entries[2::3], strict=True), strict=True))


def _write_help(parameter: inspect.Parameter, description: str, known: set[str]) -> str:
    """The first sentence of a parameter's description and its default, with options as they are typed."""
    name, default = parameter.name, parameter.default
    sentence = " ".join(re.split(r"(?<=\.)\s", description.strip())[0].split()).removesuffix(".")
    sentence = re.sub(r"^Whether to (.)", lambda match: match[1].upper(), sentence)
    if explained := re.search(r"Default: (.+?)\.(?=\s|$)", " ".join(description.split())):
        default = explained[1]
    if name in DEFAULTS or not any(default is nothing for nothing in (None, False, (), parameter.empty)):
        sentence += f"{MORE_HELP.get(name, '')} (default: {DEFAULTS.get(name, default)})".replace("True", "yes")
    text = re.sub(r"`(\w+)`", lambda match: _flag(match[1]) if match[1] in known else match[1], f"{sentence}.")
    return keep_brackets(text)


def _flag(name: str) -> str:
    return f"--{SINGULAR.get(name, name).replace('_', '-')}"


def _make_flag(name: str) -> inspect.Parameter:
    kind: Any = FLAG_TYPES.get(name, bool)
    metavar = METAVARS.get(name, "N") if name in FLAG_TYPES else None
    option = typer.Option(_flag(name), metavar=metavar, help=FLAGS[name], rich_help_panel=PANEL_OF[name])
    default, kind = (None, kind | None) if name in FLAG_TYPES else (False, bool)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _make_argument(parameter: inspect.Parameter, type_text: str, help: str) -> inspect.Parameter:
    """For what has no default, and for the first parameter: what is audited."""
    is_list, metavar = _takes_list(parameter, type_text), parameter.name.upper()
    metavar = metavar.removesuffix("S") if is_list else metavar
    kind: Any = list[str] if is_list else str
    if parameter.default is parameter.empty:
        return parameter.replace(annotation=Annotated[kind, typer.Argument(metavar=metavar, help=help)])
    argument = typer.Argument(metavar=metavar, help=help)
    return parameter.replace(default=None, annotation=Annotated[kind | None, argument])


def _make_option(parameter: inspect.Parameter, type_text: str, help: str) -> inspect.Parameter:
    name, default = parameter.name, None if parameter.default == () else parameter.default
    kind: Any = _read_type(parameter)
    choices = "|".join(re.findall(r'"(.+?)"', (re.match(r"\{.+\}", type_text) or [""])[0]))
    plain = {str: "TEXT,..." if _takes_list(parameter, type_text) else "TEXT", int: "N", float: "X"}
    metavar = METAVARS.get(name) or choices or plain.get(kind)
    flags = [_flag(name)] if default is False or name in SINGULAR else []
    option = typer.Option(*flags, metavar=metavar, help=help, show_default=False, rich_help_panel=PANEL_OF.get(name))
    kind = list[str] if name in REPEATED else kind
    kind = kind | None if default is None else kind
    return parameter.replace(kind=parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _takes_list(parameter: inspect.Parameter, type_text: str) -> bool:
    return re.search("[Ll]ist|[Ss]equence", type_text + inspect.formatannotation(parameter.annotation)) is not None


def _read_type(parameter: inspect.Parameter) -> type:
    """What the parser makes of a value: text, unless the function takes nothing but numbers or yes and no."""
    words = set(re.findall(r"\w+", inspect.formatannotation(parameter.annotation)))
    return next((kind for kind in (bool, int, float) if kind.__name__ in words and not words & {"str", "Any"}), str)


def make_audit_command(audit: str, function: Function) -> Callable[..., None]:
    """The command of an audit."""
    return make_command(function, partial(run_audit, audit, function), *ADDED.get(audit, ()), *SHOW)


def run_audit(audit: str, function: Function, values: Values) -> None:
    """Run an audit, save it and show it; with --plan only say what it would take, with --preview show what is asked."""
    from geobias.audits.inputs import parse_text_files
    from geobias.audits.show_results import View, show_result
    from geobias.audits.study import prepare
    from geobias.report.runs import new_folder, place_for

    view, out = View(*map(values.pop, SHOW)), values.pop("out", None)
    plan, preview = values.pop("plan", False), values.pop("preview", None)
    if "texts" in values:
        values["texts"] = parse_text_files(values["texts"])
    for name in MODELS & values.keys():
        values[name] = list(dict.fromkeys(values[name])) if isinstance(values[name], list) else values[name]
    if "server" in ADDED.get(audit, ()):
        values["classifier"] = _choose_classifiers(values)
    if preview is not None:
        prepare(function, **values).preview(preview)
        return
    if plan:
        prepare(function, **values).plan().show()
        return
    folder = place_for(out or new_folder(_label(audit, function, values)))
    show_result(function(**values, out=folder), folder, view)


def _label(audit: str, function: Function, values: Values) -> str:
    """The name of a new folder: the audit, and what it audits if that is a single model."""
    from geobias.report.runs import slug

    name, parameter = next(iter(inspect.signature(function).parameters.items()))
    model = values.get(name, parameter.default)
    model = getattr(model, "model", model)  # behind a server
    several = [model] if isinstance(model, str) else model
    return f"{audit}-{slug(several[0])}" if name in MODELS and several and len(several) == 1 else audit


def _choose_classifiers(values: Values) -> Any:
    """Those that the command names, or the model behind a server; the bundled ones where it names none."""
    from geobias.audits.served_models import find_served
    from geobias.models.scorer import EMBEDDED_CLASSIFIERS

    names = values.get("classifier")
    served = find_served(names, values.pop("server", None), values.pop("yes", False))
    return served or names or list(EMBEDDED_CLASSIFIERS)
