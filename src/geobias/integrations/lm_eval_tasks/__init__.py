"""Tasks for lm-evaluation-harness, which takes this folder as `--include_path`.

`python -m geobias.integrations.lm_eval_tasks` prints the folder.
"""
