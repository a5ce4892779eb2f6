"""What the tables of both papers share: their design and the path of a run, with the models one after the other."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from geobias.audits.reproduce.published import PublishedTable
from geobias.audits.reproduce.result import (
    HerbSettings,
    NamesTablesSettings,
    ReproduceCounts,
    ReproducedModel,
    ReproducedTable,
    ReproduceResult,
)
from geobias.audits.study import RunOptions, Study
from geobias.errors import InputError
from geobias.models.scorer import Scorer

MISSING = "not available here"
Loaded = TypeVar("Loaded")
Answers = TypeVar("Answers")


@dataclass(frozen=True)
class PaperDesign:
    """Tables of a paper."""

    tables: tuple[PublishedTable, ...]
    replacements: dict[str, str]  # by published model
    settings: HerbSettings | NamesTablesSettings = field(repr=False)

    def has(self, *numbers: str) -> bool:
        """Whether any of these tables is wanted."""
        return any(table.number in numbers for table in self.tables)


Design = TypeVar("Design", bound=PaperDesign)


class PaperStudy(Study[Scorer, Answers, ReproduceResult], Generic[Design, Answers]):
    """Tables of a paper, measured with the published models or those in their place."""

    audit = "reproduce"

    def __init__(self, design: Design, options: RunOptions) -> None:
        super().__init__(options)
        self.design = design
        self.models: list[ReproducedModel] = []
        self.missing: list[str] = []
        self.work: Counter[str] = Counter()

    def settings(self) -> HerbSettings | NamesTablesSettings:
        return self.design.settings

    def load(self, device: str, dtype: str) -> list[Scorer]:
        from geobias.models.pretrained import resolve_device, resolve_dtype  # torch only where models are loaded

        resolve_dtype(dtype, resolve_device(device))  # a wrong device is not a missing model
        return []  # `ask` loads the models one by one: they need not fit into memory together

    def load_model(self, published: str, loader: Callable[..., Loaded]) -> Loaded | None:
        """The model; None where it is not available. A replacement that cannot be loaded is the user's error."""
        replacement = self.design.replacements.get(published)
        try:
            return loader(replacement or published, device=self.options.device, dtype=self.options.dtype)
        except InputError:
            if replacement is not None:
                raise
            if published not in self.missing:
                self.missing.append(published)
            return None

    def record(self, published: str, scorer: Scorer, work: Mapping[str, int] | None = None) -> None:
        """Record a scored model and its number of texts."""
        self.used_parts[scorer.identity().name] = list(scorer.fast_parts)
        model = ReproducedModel(**vars(scorer.identity()), published=published)
        if model not in self.models:
            self.models.append(model)
        self.work.update(work or {})

    def measure(self, answers: Answers) -> ReproduceResult:
        """The result; InputError where every model that the tables need is missing."""
        tables, notes = self.measure_tables(answers), self.notes()
        if self.missing and not self.models:
            raise InputError(
                f"These models are needed and {MISSING}: {', '.join(self.missing)}. Add a folder for each "
                f"(--model {self.missing[0]}=FOLDER), or download them to the Hugging Face cache."
            )
        if self.missing:
            notes.append(f"Models {MISSING}, so without a measured number: {', '.join(self.missing)}.")
        if self.design.replacements:
            pairs = ", ".join(f"{local} for {published}" for published, local in self.design.replacements.items())
            notes.append(f"Standing in for published models: {pairs}. They are not the paper's.")
        measured = [form.measured for table in tables for form in table.forms]
        counts = ReproduceCounts(
            tables=len(tables),
            published_numbers=sum(len(table.rows) * len(table.columns) for table in tables),
            measured_numbers=sum(value is not None for rows in measured for row in rows for value in row),
            models_not_available=self.missing,
        )
        return ReproduceResult(
            settings=self.design.settings,
            models=self.models,
            counts=counts,
            tables=tables,
            notes=notes,
            work=dict(self.work),
        )

    @abstractmethod
    def measure_tables(self, answers: Answers) -> list[ReproducedTable]:
        """Every table of the design."""

    @abstractmethod
    def notes(self) -> list[str]:
        """On all tables together."""
