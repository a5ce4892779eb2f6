"""The numbers of a finished run as a flat list, for other tools: each by the path that a gate knows it by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from geobias.audits.reports import find_number_tree
from geobias.models.scorer import ModelIdentity
from geobias.report.number_tree import WORST, NumberTree, TreeNumber, join_path, model_names
from geobias.report.results import AuditResult

# The last parts of paths that sum up a model; the others are of single countries or regions.
SUMMARIES = (
    (WORST,),
    *(("association", "ratio"), ("known", "auc"), ("known", "offensive")),
    *(("recall", "lowest"), ("recall", "mean"), ("gap",), ("precision",), ("flips", "any")),
)
REGION_SUMMARIES = (("c_w", "balanced"), ("change", "balanced"))  # of the root and the regions directly below it
HIGHER_IS_BETTER = ("recall", "precision", "impact_ratio", "answered")


@dataclass(frozen=True)
class RunNumber:
    """A number of a run with its 95 % interval, and the model that it describes."""

    parts: tuple[str, ...]
    model: ModelIdentity | None  # None where the number is of several models
    value: float
    low: float | None
    high: float | None

    @property
    def path(self) -> str:
        """The path in a rule of a gate: names.sentiment.delta.worst."""
        return join_path(self.parts)

    @property
    def lower_is_better(self) -> bool:
        names = model_names(self.model.name) if self.model else ()
        start = 2 if self.parts[1] in names else 1  # a model may have the name of a measure
        return not any(part in HIGHER_IS_BETTER for part in self.parts[start:])


def list_numbers(result: AuditResult) -> list[RunNumber]:
    """Every number of a result that a gate can check; those without a value are left out."""
    tree = find_number_tree(result)
    return [
        RunNumber((result.audit, *parts), _find_model(result.model_identities, parts), *_read_values(number))
        for parts, number in _flatten(tree or NumberTree([]))
        if number.value is not None
    ]


def list_summary_numbers(result: AuditResult) -> list[RunNumber]:
    """The numbers that sum up each model: worst values, ratios, and C of the largest regions."""
    top_regions = _name_top_regions(result)
    return [
        number
        for number in list_numbers(result)
        if _ends_with(number.parts, SUMMARIES)
        or (_ends_with(number.parts, REGION_SUMMARIES) and number.parts[1] in top_regions)
    ]


def _ends_with(parts: tuple[str, ...], endings: Sequence[tuple[str, ...]]) -> bool:
    return any(parts[-len(ending) :] == ending for ending in endings)


def _name_top_regions(result: AuditResult) -> set[str]:
    """Ids of the root and of what lies directly below it."""
    return {region.id for region in getattr(result, "regions", ()) if region.parent_index in (None, 0)}


def _flatten(tree: NumberTree) -> Iterator[tuple[tuple[str, ...], TreeNumber]]:
    for name in tree.names:
        below = tree.get(name.casefold())  # None where two entries share the name
        if isinstance(below, NumberTree):
            if below.number is not None:
                yield (name,), below.number
            yield from (((name, *parts), number) for parts, number in _flatten(below))
        elif below is not None:
            yield (name,), below


def _read_values(number: TreeNumber) -> tuple[float, float | None, float | None]:
    assert number.value is not None
    return float(number.value), number.low, number.high


def _find_model(models: Sequence[ModelIdentity], parts: tuple[str, ...]) -> ModelIdentity | None:
    """The only model, or the one that the path begins with."""
    if len({model.name for model in models}) == 1:
        return models[0]
    return next((model for model in models if model.name == parts[0]), None)
