"""Microsoft Presidio as a finder, by the function that docs/find.md gives; with `pip install '.[presidio]'`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import spacy

from tests.audits.find.finders import audit, get_shares

presidio = pytest.importorskip("presidio_analyzer")


def test_presidio_is_audited_as_the_pipeline_inside_it(tmp_path: Path) -> None:
    """Its spaCy pipeline marks every name of one country, Aland, and nothing else."""
    pipeline = spacy.blank("en")
    ruler: Any = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "PERSON", "pattern": [{"TEXT": {"REGEX": "^A"}, "OP": "+"}]}])
    pipeline.to_disk(tmp_path / "pipeline")
    model = {"lang_code": "en", "model_name": str(tmp_path / "pipeline")}
    engine = presidio.nlp_engine.SpacyNlpEngine(models=[model])
    analyzer = presidio.AnalyzerEngine(nlp_engine=engine)

    def find(texts: Sequence[str]) -> list[list[tuple[int, int, str]]]:
        results = (analyzer.analyze(text, language="en", entities=["PERSON"]) for text in texts)
        return [[(each.start, each.end, each.entity_type) for each in found] for found in results]

    result = audit(find, tmp_path)
    assert get_shares(result, "Aland")["recall"] == 1 and get_shares(result, "Bland")["recall"] == 0
