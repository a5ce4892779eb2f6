"""The files of a mitigation: CSV tables. The models are in models/, where they were made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from geobias.audits.mitigate.result import MitigateResult
from geobias.report.tables import write_csv


def write_files(folder: Path, result: MitigateResult) -> None:
    write_csv(folder / "tables" / "methods.csv", result.rows())
    if result.methods:
        write_csv(folder / "tables" / "countries.csv", _country_rows(result))


def _country_rows(result: MitigateResult) -> Iterator[dict[str, Any]]:
    for entry in result.methods:
        for country in entry.countries:
            row: dict[str, Any] = {"method": entry.method, "country": country.country, "code": country.code}
            for name, estimate in (("before", country.before), ("after", country.after), ("change", country.change)):
                row |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
            row["p_adjusted"] = country.change.p_adjusted
            if country.recall is not None:
                row |= {
                    "recall": country.recall.value,
                    "recall_low": country.recall.low,
                    "recall_high": country.recall.high,
                }
            yield row
