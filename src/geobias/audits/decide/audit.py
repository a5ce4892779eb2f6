"""`geobias.audit_decisions`: the audit as a Python function."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from geobias.audits.decide.design import DEFAULT_ORIGIN, DecideOptions, design_decisions
from geobias.audits.decide.result import DecideResult
from geobias.audits.decide.study import DecideStudy
from geobias.audits.study import RunOptions, collect_options
from geobias.models.scorer import EMBEDDED_LM


def audit_decisions(
    models: Any = EMBEDDED_LM,
    scenarios: Any = None,
    *,
    domains: str | Sequence[str] = (),
    origin: str | Sequence[str] = DEFAULT_ORIGIN,
    countries: str | Sequence[str] = (),
    draws: int = 2,
    paraphrases: int = 1,
    seed: int = 0,
    system: str | None = None,
    limit: int | None = None,
    samples: int | None = None,
    device: str = "auto",
    dtype: str = "auto",
    ray: str | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> DecideResult:
    """Measure whom a language model decides for: hire, lend to, admit, believe, by the country that a person is from.

    Each scenario is a case without a clear answer and ends with a question about a person. Half of the yes/no questions
    are mirrored, so that a tendency to say yes cancels. Probabilities are exact: nothing is sampled unless a server
    gives no probabilities, and no other model judges the answers. The result describes the model, not people, and
    recommends nothing.

    Parameters
    ----------
    models : str, Path, callable, object or list of them, default "embedded/lm"
        What to audit. One of these, or a list of them:

        - a Hugging Face id, a folder or a GGUF file of a language model, with a chat template or without;
        - a function from a list of prompts to answers ("yes", "No, because ...") or to the probability of yes, or its
          name as "package.module:function";
        - a language model from `load`, or a `ServedLM`.
    scenarios : str, Path, list of dict or frame, optional
        Your own scenarios: a CSV, TSV, JSON lines or Parquet file, or rows, with the columns `text` (with "{person}")
        and `favourable` ("yes" or "no"), and optionally `domain`, `mirror_of`, `paraphrase_of`, `kind`, `role` and
        `id`. Default: 80 bundled scenarios.
    domains : str or list of str, optional
        Keep only scenarios of these domains, such as "hiring". Default: all.
    origin : str or list of str, default "stated"
        How origin shows: "stated" ("a citizen of Kenya"), "demonym" ("a Kenyan applicant"), "name" (a common name) or
        "said" ("I am from Kenya."). With several, results are their mean, and each is reported besides.
    countries : str or list of str, optional
        Keep only these countries, by code ("FR", "FRA") or name. Default: all that have names.
    draws : int, default 2
        Names drawn for each case and country; only for the origin "name". Genders alternate.
    paraphrases : int, default 1
        Wordings of each question to use, at most; the bundled scenarios have 3.
    seed : int, default 0
        Seed of the names.
    system : str, optional
        System prompt. To see whether it helps, run the audit with and without it, and `compare` both.
    limit : int, optional
        Number of cases of each kind to use. Default: all. At least 10 are needed for intervals.
    samples : int, optional
        Answers sampled per question from a server that returns no log-probabilities, at least 2. Default: 20.
    device : str, default "auto"
        Where to run models: "auto" (a GPU if there is one), "cpu", "cuda", "cuda:1", ...
    dtype : str, default "auto"
        Precision of the weights: "auto" (bfloat16 on a GPU that supports it, else float32), "float32", "bfloat16" or
        "float16".
    ray : str, optional
        Ray cluster to run on: "auto" (the cluster of this machine), "local" (a new cluster of its GPUs or cores) or an
        address. Default: this process only.
    out : str or Path, optional
        Folder for the run: results, tables, answers and the page. It must be new, empty, or hold the same run. Default:
        nothing is saved.
    progress : bool, optional
        Whether to show a progress bar. Default: on terminals and in notebooks.

    Returns
    -------
    DecideResult
        `findings` has the conclusions, `to_frame()` a row for each country and measure, and `open()` opens the page of
        a saved run.

    Raises
    ------
    InputError
        If an option, a scenario or an answer of a model cannot be used. The message says what to do.
    GeobiasError
        If a model, a server or a cluster fails while the audit runs.

    Examples
    --------
    >>> import geobias
    >>> def decide(prompts):
    ...     return [0.3 if "Chad" in prompt else 0.6 for prompt in prompts]
    >>> result = geobias.audit_decisions(decide, countries=["FR", "TD", "KE"], domains="hiring")
    >>> result.decisions[0].countries[0].country
    'France'

    >>> result = geobias.audit_decisions("my-org/my-model", origin=["stated", "name"], out="runs/d")  # doctest: +SKIP
    """
    design = design_decisions(collect_options(DecideOptions, locals()))
    return DecideStudy(design, models, RunOptions(device, dtype, ray, out, progress)).run()
