"""The whole world: every city, country and continent with all words, from the first sentence to results.json.

    python -m bench.speed.world [--model bert] [--texts FILE] [--device cuda] [--dtype bfloat16] [--json OUT]

A random model of BERT base's size is loaded first; then the clock starts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from pathlib import Path

from bench.speed import work
from bench.speed.__main__ import command_line, machine, versions
from bench.speed.measure import matrix_rate, operations_for
from bench.speed.models import folder_of
from bench.speed.worker import wall
from geobias.audits.regions.answers import ask_regions
from geobias.audits.regions.audit import audit_regions
from geobias.audits.regions.measure import measure_regions
from geobias.audits.reports import write_files
from geobias.audits.study import prepare
from geobias.models.load import load_weights
from geobias.report.run_folder import write_json

SAMPLE = 20_000  # sentences whose tokens are counted, to know the work of all


def main() -> None:
    options = _options()
    parts = work.read(options.texts) if options.texts else work.prepare_texts()
    scorer = load_weights(str(folder_of(options.model, parts)), device=options.device, dtype=options.dtype).scorer(
        "aul"
    )
    scorer.score(["People in Chad are kind."] * 2)  # what is done once for a device
    rate = matrix_rate(options.device, options.dtype)
    design = prepare(audit_regions, cities="all").design
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        os.environ["GEOBIAS_CACHE"] = str(folder / "store")  # an empty one
        (folder / "tables").mkdir()
        start = time.perf_counter()
        answers = ask_regions(design, scorer, progress=True)
        answered_at = time.perf_counter()
        result = measure_regions(design, answers)
        write_json(folder / "results.json", result.to_dict())
        measured_at = time.perf_counter()
        write_files(folder, result)
        written_at = time.perf_counter()
    sentences = design.sentences(marked=False)
    step = max(1, len(sentences) // SAMPLE)
    cost = operations_for(
        "aul", folder_of(options.model, parts), [sentences[i] for i in range(0, len(sentences), step)]
    )
    summary = {
        "model": options.model,
        "device": options.device,
        "dtype": options.dtype,
        "sentences": len(sentences),
        "distinct": result.counts.distinct_sentences,
        "seconds_asked": answered_at - start,
        "seconds_to_results": measured_at - start,
        "seconds_to_tables": written_at - start,
        "share": float(cost.mean()) * result.counts.distinct_sentences / (answered_at - start) / rate,
        "peak_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    print(json.dumps(summary, indent=1))
    if options.json:
        run = {"machine": machine(options.device, None), "date": wall(), "versions": versions(), "tables": []}
        run |= {"command": command_line("bench.speed.world"), "world": summary}
        options.json.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.world", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", default="bert")
    parser.add_argument("--texts", type=Path, help="the texts from `python -m bench.speed.work FILE`")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
