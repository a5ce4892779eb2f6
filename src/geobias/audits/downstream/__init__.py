"""The downstream audit: how a classifier judges the same texts, said to come from one region after another.

`audits/registry.py` finds its functions by name: `list_findings`, `make_report`, `list_gate_numbers`, `compare_runs`.
The command and its help are made from the signature and the docstring in `audit.py`.
"""
