"""How fast is geobias beside what people use today? One run, the same models and texts: `python -m bench.speed`.

| file | what |
|---|---|
| `work.py` | the texts of four kinds of work |
| `models.py` | random models of real sizes, with real tokenizers |
| `ways.py`, `ways_masked.py`, `ways_other.py` | each way of doing the work, ours and others' |
| `measure.py` | the machine's matrix rate, the work that a text needs, peak memory |
| `worker.py` | one row in a process of its own |
| `parts.py` | what each part of the fast path brings |
| `results.py` | tables, and `bench/RESULTS.md` |
"""
