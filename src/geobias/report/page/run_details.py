"""How a run was made: everything needed to repeat it, and all that it left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from geobias.report.page.blocks import Section
from geobias.report.results import AuditResult, to_json
from geobias.report.runs import RunDescription

LONGEST_VALUE = 400  # characters


@dataclass(frozen=True)
class RunAccount:
    """One run at the end of the page."""

    result: AuditResult
    description: RunDescription
    section: Section

    @property
    def title(self) -> str:
        return self.section.title

    @property
    def command(self) -> str | None:
        return self.description.command

    @property
    def notes(self) -> list[str]:
        return list(self.section.notes)

    @property
    def tables(self) -> dict[str, list[tuple[str, str]]]:
        """Settings, models, counts, time and versions, each as names and values."""
        results = to_json(self.result)
        models = {
            f"{model.name}, {model.score}": {  # one model may be asked in two ways
                key: value
                for key, value in to_json(model).items()
                if key not in ("name", "score") and value is not None
            }
            for model in self.result.model_identities
        }
        parts: dict[str, Mapping[str, Any]] = {
            "Settings": {key: value for key, value in results["settings"].items() if value is not None},
            "Models": models,
            "Counts": results.get("counts", {}),
            "Run": {"finished": self.description.finished, "seconds": self.description.seconds},
            "Versions": results["versions"],
        }
        return {name: [(key, _format(value)) for key, value in part.items()] for name, part in parts.items() if part}


def _format(value: Any) -> str:
    if isinstance(value, Mapping):
        text = ", ".join(f"{key} {_format(each)}" for key, each in value.items())
    elif isinstance(value, list):
        text = ", ".join(map(_format, value)) or "none"
    elif isinstance(value, int) and not isinstance(value, bool):
        text = f"{value:,}"
    else:
        text = "none" if value is None else str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]} …"
