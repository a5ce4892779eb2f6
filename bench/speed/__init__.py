"""Speed of geobias compared with common alternatives, on the same models and texts: `python -m bench.speed`.

| file | what |
|---|---|
| `work.py` | the texts of four kinds of work |
| `models.py` | random models of real sizes, with real tokenizers |
| `ways.py`, `ways_masked.py`, `ways_other.py` | each way of doing the work, ours and others' |
| `measure.py` | the machine's matrix rate, the work that a text needs, peak memory |
| `worker.py` | one row in its own process |
| `parts.py` | the speed-up by each part of the fast path |
| `results.py` | tables, and `bench/RESULTS.md` |
"""
