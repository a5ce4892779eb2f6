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

PANELS = {  # of `geobias COMMAND --help`; options that are in none stand with --help
    "Input": "texts column subsets spans label limit finder countries continents regions cities gazetteer prefix "
    "control positive negative words templates tree subject scenarios domains origin word rule rules",
    "Model": "labels prompt perplexity allow score method system samples",
    "Training": "train epochs",
    "Statistics": "draws seed placebo paraphrases known",
    "Compute": "plan device dtype ray server yes",
    "Output": "out junit preview full quiet json debug",
}
PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names.split()}
MODELS = {"model", "models", "classifier", "finder"}  # arguments that say what is audited
PYTHON_ONLY = {"progress", "scripts", "doubtful", "perplexity_draws", "names", "threshold", "calibrate"}
REPEATED = {
    "model",
    "score",
    "subsets",
    "templates",
    "prefix",
    "control",
    "allow",
    "rule",
}  # others have commas
FLAG_NAMES = {"subsets": "--subset", "templates": "--template", "send": "--yes"}  # where it is not the parameter's name
METAVARS = {
    "ray": "auto|local|ADDRESS",
    "out": "PATH",
    "allow": "NAME",
    "server": "KEY=VALUE,...",
    "check": "BUNDLE",
    "perplexity": "MODEL",
    "to": "FORMAT",
    "benchmark": "OWNER/NAME",
} | dict.fromkeys(("texts", "gazetteer", "rules", "junit", "tree", "words", "scenarios", "train"), "FILE")
LANGUAGE_FILE = "[LANGUAGE=]FILE"  # of texts that a function also takes as a dict by language; then it is repeated
MORE_HELP = {
    LANGUAGE_FILE: "; for several languages: --texts en=a.csv --texts eu=b.csv",
    "classifier": "; or a server's model as http://localhost:8000/v1#my-model",
    "allow": "; repeat it for several",
}
DEFAULTS = {"classifier": "the four bundled classifiers"}
OTHER_DEFAULTS = {"nothing is saved": "a new folder in runs/"}  # of a command, by what a docstring says of Python
SHOW = ("full", "quiet", "json")
SERVER = ("server", "yes")
ADDED = {  # to the commands of single audits
    "regions": ("plan", *SERVER),
    "names": ("plan", "preview", *SERVER),
    "downstream": ("plan", *SERVER),
    "find": ("plan",),
    "decide": ("plan", *SERVER),
}
FLAGS = {  # what only a command has
    "plan": "Show the number of texts, the time and the smallest detectable effect, then stop.",
    "full": "Print every table and note below the findings.",
    "quiet": "Print only the findings.",
    "json": "Print only the results, as JSON. Files are still written.",
    "debug": "Show the full traceback on failure.",
    "server": "For a model behind a server: calls=N stops after N calls (the same command resumes), rate=R calls per "
    "second, at-once=8 concurrent calls, begin=<s> the token to send before every text.",
    "yes": "Send texts to the server without confirmation.",
    "open": "Open the page in the browser; the page of one run is not written again.",
    "check": "Compare this folder or .zip file with its manifest, write nothing.",
    "preview": "Show N texts with their renamed versions, then stop.",
}
FLAG_TYPES = {"preview": int, "server": str, "check": str}  # of those that are no switches
INSTEAD = {"check"}  # of the arguments


def make_command(function: Function, run: Callable[[Values], None], *flags: str) -> Callable[..., None]:
    """A command with the parameters of a function and some flags; `run` gets what the user gave, by their names."""
    text, descriptions = _read_docstring(function)
    parameters = [each for each in inspect.signature(function).parameters.values() if each.name not in PYTHON_ONLY]
    known = {each.name for each in parameters}
    options = []
    for each in parameters:
        type_text, description = descriptions.get(each.name, ("", ""))
        help = _write_help(each, type_text, description, known)
        if (each.default is each.empty and each.name != "out") or each == _find_first_argument(function):
            is_required = each.default is each.empty and not INSTEAD & {*flags}
            options.append(_make_argument(each, type_text, help, is_required))
        else:
            options.append(_make_option(each, type_text, help))
    options += [_make_flag(name) for name in (*flags, "debug")]
    order = [None, *PANELS]
    options.sort(key=lambda option: order.index(option.annotation.__metadata__[0].rich_help_panel))

    def command(**values: Any) -> None:
        run({name: value for name, value in values.items() if value not in (None, []) and name != "debug"})

    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    command.__doc__ = re.sub(r"`audit_(\w+)`", r"`geobias \1`", _write_flags(text, known))
    return command


def _find_first_argument(function: Function) -> inspect.Parameter | None:
    """The parameter that says what is audited."""
    first = next(iter(inspect.signature(function).parameters.values()))
    return None if first.kind is first.KEYWORD_ONLY else first


def keep_brackets(text: str) -> str:
    """Help as Typer needs it, which takes words in brackets, as in .[papers], for markup and leaves them out."""
    return re.sub(r"\[(?=[a-z#/@])", r"\\[", text)


def _read_docstring(function: Function) -> tuple[str, dict[str, tuple[str, str]]]:
    """The text above the sections of a numpydoc docstring; the type and the description of each parameter."""
    text, *sections = re.split(r"^([A-Z][A-Za-z ]+)\n-+\n", inspect.getdoc(function) or "", flags=re.MULTILINE)
    section = dict(zip(sections[::2], sections[1::2], strict=True)).get("Parameters", "")
    _, *entries = re.split(r"^(\w+) : (.+)\n", section, flags=re.MULTILINE)
    return text.strip(), dict(zip(entries[::3], zip(entries[1::3], entries[2::3], strict=True), strict=True))


def _write_help(parameter: inspect.Parameter, type_text: str, description: str, known: set[str]) -> str:
    """The first sentence of a parameter's description and its default, with options as they are typed."""
    name, default = parameter.name, parameter.default
    sentence = " ".join(re.split(r"(?<=\.)\s", description.strip())[0].split()).removesuffix(".")
    sentence = re.sub(r"^Whether to (.)", lambda match: match[1].upper(), sentence)
    if explained := re.search(r"Default: (.+?)\.(?=\s|$)", " ".join(description.split())):
        default = OTHER_DEFAULTS.get(explained[1], explained[1])
    sentence += MORE_HELP.get(_find_metavar(name, type_text) or name, MORE_HELP.get(name, ""))
    if not any(default is nothing for nothing in (None, False, (), parameter.empty)):
        sentence += f" (default: {DEFAULTS.get(name, default)})".replace("True", "yes")
    return keep_brackets(_write_flags(f"{sentence}.", known).replace("`", ""))


def _write_flags(text: str, known: set[str]) -> str:
    """Parameters as they are typed."""
    return re.sub(r"`(\w+)`", lambda match: _flag(match[1]) if match[1] in known else match[0], text)


def _find_metavar(name: str, type_text: str) -> str | None:
    return LANGUAGE_FILE if "dict" in type_text else METAVARS.get(name)


def _flag(name: str) -> str:
    return FLAG_NAMES.get(name, f"--{name.replace('_', '-')}")


def _make_flag(name: str) -> inspect.Parameter:
    metavar = METAVARS.get(name, "N") if name in FLAG_TYPES else None
    option = typer.Option(_flag(name), help=FLAGS[name], metavar=metavar, rich_help_panel=PANEL_OF.get(name))
    kind: Any = FLAG_TYPES[name] | None if name in FLAG_TYPES else bool
    default = None if name in FLAG_TYPES else False
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _make_argument(parameter: inspect.Parameter, type_text: str, help: str, is_required: bool) -> inspect.Parameter:
    """For what has no default, and for the first parameter: what is audited."""
    is_list, metavar = _takes_list(parameter, type_text), parameter.name.upper()
    metavar = metavar.removesuffix("S") if is_list else metavar
    kind: Any = list[str] if is_list else str
    argument = typer.Argument(metavar=metavar, help=help)
    if is_required:
        return parameter.replace(annotation=Annotated[kind, argument])
    return parameter.replace(default=None, annotation=Annotated[kind | None, argument])


def _make_option(parameter: inspect.Parameter, type_text: str, help: str) -> inspect.Parameter:
    name, default = parameter.name, parameter.default
    default = None if default == () or default is parameter.empty else default
    kind: Any = _read_type(parameter)
    choices = "|".join(re.findall(r'"(.+?)"', (re.match(r"\{.+\}", type_text) or [""])[0]))
    has_commas = name not in REPEATED and _takes_list(parameter, type_text)
    plain = {str: "TEXT,..." if has_commas else "TEXT", int: "N", float: "X"}
    metavar = _find_metavar(name, type_text) or choices or plain.get(kind)
    flags = [_flag(name)] if default is False or name in FLAG_NAMES else []
    option = typer.Option(*flags, metavar=metavar, help=help, show_default=False, rich_help_panel=PANEL_OF.get(name))
    if name in REPEATED or metavar == LANGUAGE_FILE:
        kind, default = list[str], None  # the function has the default
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
    run = run_regions if audit == "regions" else partial(run_audit, audit, function)
    return make_command(function, run, *ADDED.get(audit, ()), *SHOW)


def run_audit(audit: str, function: Function, values: Values) -> None:
    """Run an audit, save it and show it; --plan only says what it would take, --preview shows what is asked."""
    from geobias.audits.inputs import parse_text_files
    from geobias.audits.plan import find_served
    from geobias.audits.show_results import View, show_result
    from geobias.audits.study import prepare
    from geobias.models.scorer import EMBEDDED_CLASSIFIERS
    from geobias.report.runs import new_folder, place_for

    view, out = View(*map(values.pop, SHOW)), values.pop("out", None)
    plan, preview = values.pop("plan", False), values.pop("preview", None)
    parameter = next(iter(inspect.signature(function).parameters.values()))
    if "texts" in values:
        values["texts"] = parse_text_files(values["texts"])
    models = values.get(parameter.name, parameter.default)
    if parameter.name in MODELS:
        models = list(dict.fromkeys(models)) if isinstance(models, list) else models
        if parameter.name == "classifier" and "classifier" not in values:
            models = list(EMBEDDED_CLASSIFIERS)
        if "yes" in values:
            served = find_served(values.get(parameter.name), values.pop("server", None), values.pop("yes"))
            models = served or models
        values[parameter.name] = models
    if preview is not None:
        prepare(function, **values).preview(preview)
        return
    if plan:
        prepare(function, **values).plan().show()
        return
    folder = place_for(out or new_folder(_label(audit, models) if parameter.name in MODELS else audit))
    show_result(function(**values, out=folder), folder, view)


def run_regions(values: Values) -> None:
    """Run the regions audit of each model by each score: runs of their own below one folder."""
    from geobias.audits.plan import find_served
    from geobias.audits.regions.study import list_studies, plan_studies, run_studies, show_runs
    from geobias.audits.show_results import View
    from geobias.models.scorer import EMBEDDED_LM
    from geobias.report.runs import new_folder, place_for

    plan, view, out = values.pop("plan"), View(*map(values.pop, SHOW)), values.pop("out", None)
    names = list(dict.fromkeys(values.pop("model", [])))
    served = find_served(names, values.pop("server", None), values.pop("yes"))
    scores = [name.strip() for name in filter(None, ",".join(values.pop("score", [])).split(","))]
    studies = list_studies(served or names or [EMBEDDED_LM], scores, values)
    if plan:
        plan_studies(studies).show()
        return
    label = _label("regions", list(dict.fromkeys(study.names()[0] for study in studies.values())))
    folder = place_for(out or new_folder(label))
    show_runs(run_studies(studies, folder), folder, view)


def run_overview(function: Function, values: Values) -> None:
    """Run every audit that fits the models, and say before what is asked of them."""
    from geobias.audits.inputs import parse_text_files
    from geobias.audits.show_results import LINES_OF_SEVERAL, View, show_results
    from geobias.audits.study import prepare
    from geobias.report.runs import new_folder, place_for
    from geobias.report.tables import console

    plan, view, out = values.pop("plan"), View(*map(values.pop, SHOW)), values.pop("out", None)
    if "texts" in values:
        values["texts"] = parse_text_files([values["texts"]])
    folder = None if plan else place_for(out or new_folder("audit"))
    study = prepare(function, **values, out=folder)
    if plan:
        study.plan().show()
        return
    scope = [] if view.quiet or view.json else study.design.scope
    for line in scope:
        console().print(line, style="dim")
    assert folder is not None
    results = study.run().results.values()
    show_results(list(results), folder, view, lines=LINES_OF_SEVERAL - len(scope))


def _label(audit: str, models: Any) -> str:
    """The name of a new folder: the audit, and what it audits if that is a single model."""
    from geobias.report.runs import slug

    several = models if isinstance(models, list) else [getattr(models, "model", models)]
    return f"{audit}-{slug(several[0])}" if len(several) == 1 and several[0] else audit
