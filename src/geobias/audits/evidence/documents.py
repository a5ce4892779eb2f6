"""The pages of a bundle that people read: overview, data statement, what was not tested, sign-off sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import geobias
from geobias.audits.decide.result import ScenariosSettings
from geobias.audits.gate.rules import Judgement
from geobias.audits.inputs import TextsSettings
from geobias.audits.limits_and_sources import list_citations, list_limits, list_sources
from geobias.audits.pages import has_world_map, run_sections
from geobias.audits.registry import list_audits
from geobias.audits.reports import describe
from geobias.models.sources import embedded_models, installed_models
from geobias.report.findings import with_role
from geobias.report.headlines import state_headline
from geobias.report.runs import FinishedRun
from geobias.report.sentences import format_list, to_markdown

Runs = Mapping[str, FinishedRun[Any]]

NO_TEXTS = "no texts; sentences are built from templates, words and names (run.json, `settings`)"
NO_AUDITS_OF_THEIR_OWN = ("compare",)  # it tests no model of a user's
NOT_COMPLIANCE = (
    "This bundle records tests. It is no certificate, no legal opinion and no proof that a model is fair or that any "
    "law or standard is met."
)
GENERAL_GAPS = (
    "Anything but place and nationality: gender, age, religion, disability, ethnicity and other grounds were not "
    "compared, unless a table says so.",
    "Texts, languages, words, names and places other than those in DATA.md.",
    "The system around the model: thresholds, filters, retrieval, interfaces, and people who decide with its help.",
    "Behaviour after the model, its prompt or its version changed: the fingerprints in versions.json say what was "
    "tested.",
)


def render_readme(
    runs: Runs,
    date: str,
    judgements: Sequence[Judgement],
    withheld: Sequence[str],
) -> str:
    """What the bundle is, what its runs conclude, whether rules hold, what was left out, how to verify it."""
    parts = [
        "# Evidence of bias tests by geobias",
        f"Written on {date}. {NOT_COMPLIANCE}",
        "## Runs",
        *(part for name, run in runs.items() for part in _describe_run(name, run)),
        "## Rules",
        *_describe_rules(judgements),
        "## Files",
        format_list(
            [
                "`runs/`: for each run its page (`report.html`), `results.json`, tables, and `run.json` with all "
                "settings",
                "`DATA.md`: the data behind the numbers, with licences",
                "`NOT-TESTED.md`: what the runs say nothing about",
                "`SIGN-OFF.md`: a sheet to copy, fill in and sign",
                "`versions.json`: commands, times, models with fingerprints, versions of all packages that change a "
                "number",
                "`rules/`: the rules and their outcome, if there are rules",
                "`MANIFEST.sha256`: the SHA-256 of every other file",
            ]
        ),
        "## Left out",
        *_describe_withheld(withheld),
        "## Verify",
        "Either command finds a file that was changed or is missing; the first also finds files that were added:",
        "```\ngeobias evidence --check FOLDER\nsha256sum --check MANIFEST.sha256\n```",
        "Somebody who changes a file can also write a new manifest. Keep the SHA-256 of `MANIFEST.sha256` in another "
        "place, such as a signed sign-off sheet, and compare it.",
    ]
    return _join(parts)


def _describe_run(name: str, run: FinishedRun[Any]) -> Iterator[str]:
    result, description = run.result, run.description
    yield f"### {to_markdown(name)}"
    yield to_markdown(describe(result))
    if result.findings:
        yield f"**{to_markdown(state_headline(result.findings))}**"
        yield format_list(
            f"*{finding.label_with_size}*: {to_markdown(finding.sentence)}" for finding in result.findings
        )
    yield "How it was made:"
    origin = f"made by `{description.command}`" if description.command else "made from Python, without a command"
    yield format_list(
        [
            origin,
            f"finished {description.finished}, after {description.seconds} seconds",
            f"[page](runs/{name}/report.html), [results](runs/{name}/results.json)",
        ]
    )


def _describe_rules(judgements: Sequence[Judgement]) -> Iterator[str]:
    if not judgements:
        yield "No file of rules was given to `geobias evidence`."
        return
    failures = [judgement for judgement in judgements if not judgement.passed]
    yield f"**{len(failures)} of {len(judgements)} rules failed.**" if failures else "**All rules hold.**"
    yield format_list(
        f"{'holds' if judgement.passed else 'FAILS'} in {to_markdown(judgement.run)}: "
        + to_markdown(str(judgement.rule))
        + ("" if judgement.passed else f": {to_markdown(judgement.explain())}")
        for judgement in judgements
    )
    yield (
        "Nothing here shows whether the rules were set before the results were known. A dated record elsewhere can, "
        "such as a signed commit of the rules on a shared server."
    )


def _describe_withheld(withheld: Sequence[str]) -> Iterator[str]:
    if not withheld:
        yield "Nothing."
        return
    yield (
        "These files are left out, or are here without the texts that they hold. `WITHHELD.sha256` has the SHA-256 of "
        "the originals, so that their owner can show them later and prove that they are the same:"
    )
    yield format_list(f"`{name}`" for name in withheld)


def render_data_statement(runs: Runs) -> str:
    """Which texts, words, names and models the numbers rest on, with the licences that apply."""
    results = [run.result for run in runs.values()]
    has_map = has_world_map(run_sections(list(runs.values())))
    licences = {model.name: model.licence for model in (*embedded_models(), *installed_models())}
    models = list({model.name: model for result in results for model in result.model_identities}.values())
    parts = [
        "# Data statement",
        "## Texts",
        format_list(line for name, run in runs.items() for line in list_texts(name, run.result)),
        "geobias does not know the licence, the consent or the personal data of texts that a user brings. Add it here "
        "on the copy that you sign.",
        "## Models",
        format_list(
            f"{to_markdown(model.name)}: fingerprint {model.fingerprint or 'unknown'}, licence "
            f"{to_markdown(licences.get(model.name, 'as its publisher states; not known to geobias'))}"
            for model in models
        )
        or "None.",
        "## Sources of data with their licences",
        format_list(map(to_markdown, list_sources(results, has_map))) or "None.",
        "## Methods",
        format_list([f"geobias {geobias.__version__}", *map(to_markdown, list_citations(results)[1:])]),
    ]
    return _join(parts)


def list_texts(name: str, result: Any) -> Iterator[str]:
    """The texts or scenarios behind a run, a line for each source: where they come from, how many, and their digest."""
    settings = result.settings
    texts, scenarios = (getattr(settings, key, None) for key in ("texts", "scenarios"))
    several = list(texts.values()) if isinstance(texts, Mapping) else [texts]
    sources: list[tuple[int, str, Any]] = [
        (each.count, "texts", each) for each in several if isinstance(each, TextsSettings)
    ]
    if isinstance(scenarios, ScenariosSettings):
        sources.append((scenarios.count, "scenarios", scenarios))
    for count, kind, source in sources:
        yield f"{to_markdown(name)}: {count:,} {kind} from {to_markdown(source.source)}, digest {source.digest}"
    if not sources:
        yield f"{to_markdown(name)}: {NO_TEXTS}"


def render_not_tested(runs: Runs) -> str:
    """What the runs say nothing about: other audits, what could not be tested, what was left out, and limits."""
    results = [run.result for run in runs.values()]
    audits = {result.audit for result in results}
    others = [row for row in list_audits() if row.name not in audits and row.name not in NO_AUDITS_OF_THEIR_OWN]
    untested = [
        f"{to_markdown(name)}: {to_markdown(answer.sentence)}"
        for name, run in runs.items()
        for answer in with_role(run.result.findings, "overall")
        if answer.evidence == "not testable"
    ]
    gaps = [line for name, run in runs.items() for line in _list_left_out(name, run.result)]
    has_map = has_world_map(run_sections(list(runs.values())))
    parts = [
        "# What was not tested",
        "## In general",
        format_list(GENERAL_GAPS),
        "## Audits without a run in this bundle",
        format_list(f"{row.name}: {_first_sentence(row.function)}" for row in others) or "None.",
        "## Questions that the data could not answer",
        format_list(untested) or "None.",
        "## Counted as left out or cut",
        format_list(gaps) or "Nothing.",
        "## Limits",
        format_list(map(to_markdown, list_limits(results, has_map))),
    ]
    return _join(parts)


def _list_left_out(name: str, result: Any) -> Iterator[str]:
    counts = getattr(result, "counts", None)
    for key, value in (vars(counts) if counts is not None else {}).items():
        is_gap = any(word in key for word in ("left_out", "without", "blank", "cut", "unknown"))
        if is_gap and value and isinstance(value, int | list):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else f"{value:,}"
            yield f"{to_markdown(name)}: {key.replace('_', ' ')}: {to_markdown(shown)}"


def _first_sentence(function: Callable[..., Any]) -> str:
    return to_markdown((function.__doc__ or "").strip().split("\n\n")[0])


def render_sign_off(runs: Runs) -> str:
    """A sheet with the questions that a person answers for, and blanks for names, dates and signatures."""
    questions = (
        "The texts, words, names and places are those of the intended use, and I may use them (DATA.md)",
        "The models are the versions that will be used (versions.json)",
        "The rules were set before the results were known (README.md, Rules)",
        "I have read every finding and caution on the pages (runs/*/report.html)",
        "I have read what was not tested, and know who tests it (NOT-TESTED.md)",
        "Failed rules and clear findings have an owner and a date, or an accepted reason",
    )
    roles = ("Ran the tests", "Reviewed the tests", "Responsible for the release")
    parts = [
        "# Sign-off sheet",
        f"{NOT_COMPLIANCE} Copy this sheet before you fill it in: a change in the bundle is a change that "
        "`geobias evidence --check` reports.",
        f"Runs: {', '.join(to_markdown(name) for name in runs)}",
        "SHA-256 of MANIFEST.sha256 (`geobias evidence --check` prints it):",
        "`________________________________________________________________`",
        "| statement | yes / no | remark |\n|---|---|---|\n" + "\n".join(f"| {each} | | |" for each in questions),
        "Decision (use / use with conditions / do not use), conditions and reasons:",
        "&nbsp;",
        "| role | name | date | signature |\n|---|---|---|---|\n" + "\n".join(f"| {role} | | | |" for role in roles),
    ]
    return _join(parts)


def _join(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"
