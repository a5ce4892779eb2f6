"""The names audit as an evaluator of MLflow: `mlflow.models.evaluate(..., evaluators="geobias")`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mlflow.models.evaluation import EvaluationResult, ModelEvaluator

from geobias.audits.names.audit import audit_names
from geobias.audits.reports import list_summary_numbers
from geobias.errors import InputError
from geobias.integrations.mlflow import list_metrics, log_run
from geobias.models.answers import make_prompt
from geobias.models.functions import FunctionClassifier


class NamesEvaluator(ModelEvaluator):  # type: ignore[misc]
    """Rename the people in the texts of a dataset and measure how the model's answers change.

    `evaluator_config` takes the options of `geobias.audit_names`, such as `countries`, `draws` and `labels`; it must
    have `column`, the column of texts. The model gets a frame with that column and returns what a function classifier
    may return: labels, or probabilities by label.
    """

    @classmethod
    def can_evaluate(cls, *, model_type: str, evaluator_config: Mapping[str, Any], **kwargs: Any) -> bool:
        """Only with a column of texts: MLflow asks every installed evaluator unless the user names one."""
        return "column" in (evaluator_config or {})

    def evaluate(
        self,
        *,
        model_type: str,
        dataset: Any,
        run_id: str,
        evaluator_config: Mapping[str, Any],
        model: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Run the audit, log it to the active run, and return its metrics."""
        import pandas as pd

        options = {"progress": False, **evaluator_config}
        column, features = options["column"], dataset.features_data
        if model is None:
            raise InputError("The evaluator of geobias needs a model: renamed texts have no predictions yet.")
        if column not in features:
            raise InputError(
                f"The dataset has no column {column!r}. Its columns: {', '.join(map(str, features))}. Name one in "
                "evaluator_config."
            )

        def predict(texts: list[str]) -> Any:
            return model.predict(pd.DataFrame({column: texts}))

        labels = make_prompt(options["labels"]).labels if options.get("labels") else None
        classifier = FunctionClassifier(predict, name="model", label_set=labels)
        with TemporaryDirectory() as folder:
            result = audit_names(classifier, features, **{"out": Path(folder, "names"), **options})
            log_run(result)
        metrics = dict(metric for number in list_summary_numbers(result) for metric in list_metrics(number))
        return EvaluationResult(metrics=metrics, artifacts={}, run_id=run_id)
