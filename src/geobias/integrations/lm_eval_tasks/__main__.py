"""Print the folder of the tasks, for `lm_eval --include_path`."""

from geobias.integrations.lm_eval_tasks import FOLDER

print(FOLDER)
