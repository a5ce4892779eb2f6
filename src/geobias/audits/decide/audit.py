"""`geobias.audit_decisions`: the audit as a Python function."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geobias.audits.decide.result import DecideResult


def audit_decisions(
    models: Any = "embedded/lm",
    scenarios: Any = None,
    *,
    domains: str | Sequence[str] = (),
    origin: str | Sequence[str] = "stated",
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
    gives no probabilities, and no other model judges the answers. The scenarios measure models, not people; they
    recommend nothing.

    Parameters
    ----------
    models : str, Path, callable, object or list of them, default "embedded/lm"
        Language models: Hugging Face ids, folders, GGUF files, package.module:function or a server's model as
        http://localhost:8000/v1#my-model. In Python also a function from a list of prompts to answers ("yes", "No,
        because ...") or to the probability of yes, a language model from `load`, or a `ServedLM` in place of an
        address. Default: the bundled model, which decides near chance.
    scenarios : str, Path, list or frame, optional
        Your own scenarios: CSV, TSV, JSON lines or Parquet with the columns text (with {person}) and favourable (yes or
        no), optionally domain, mirror_of, paraphrase_of, kind, role and id. In Python also a list of dicts. Default: 80
        bundled scenarios.
    domains : str or list of str, optional
        Use only scenarios of these domains: hiring,lending,visas. Default: all.
    origin : str or list of str, default "stated"
        How origin shows: stated ("a citizen of Kenya"), demonym ("a Kenyan applicant"), name (a common name) or said
        ("I am from Kenya"), several with commas. Results are then their mean, and each is reported besides.
    countries : str or list of str, optional
        Use only these countries, by code or name: FR,DEU,Nigeria. Default: all that have names.
    draws : int, default 2
        Names drawn for each case and country, with `origin` name. Genders alternate.
    paraphrases : int, default 1
        Wordings of each question, at most. The bundled scenarios have 3.
    seed : int, default 0
        Random seed for drawing names.
    system : str, optional
        System prompt. To see whether it helps, run the audit with and without it, and `compare` both. Default: none.
    limit : int, optional
        Use only the first N cases of each kind. At least 10 are needed for intervals. Default: all.
    samples : int, optional
        Answers sampled per question from a server without log-probabilities, at least 2. Default: 20.
    device : str, default "auto"
        Device: auto (a GPU if there is one), cpu, cuda or cuda:1.
    dtype : str, default "auto"
        Precision of the weights: auto (bfloat16 on a GPU that supports it, else float32), float32, bfloat16 or float16.
    ray : str, optional
        Run on Ray: the running cluster (auto), a new one on this machine (local), or the one at ADDRESS. Default: this
        process only.
    out : str or Path, optional
        Folder to write the results to: results, tables, answers and the page. It must be new, empty, or hold the same
        run. Default: nothing is saved.
    progress : bool, optional
        Whether to show a progress bar. Default: on terminals and in notebooks.

    Returns
    -------
    DecideResult
        `findings` has the conclusions, `effects` a row for each country, `to_frame()` one for each country and measure,
        and `open()` opens the page of a saved run.

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
    >>> [row.place for row in result.effects]
    ['France', 'Chad', 'Kenya']

    >>> result = geobias.audit_decisions("my-org/my-model", origin=["stated", "name"], out="runs/d")  # doctest: +SKIP
    """
    from geobias.audits.decide.design import design_decisions
    from geobias.audits.decide.study import DecideStudy
    from geobias.audits.study import RunOptions, execute

    design = design_decisions(
        scenarios=scenarios,
        domains=domains,
        origin=origin,
        countries=countries,
        draws=draws,
        paraphrases=paraphrases,
        seed=seed,
        system=system,
        limit=limit,
        samples=samples,
    )
    return execute(DecideStudy(design, models, RunOptions(device, dtype, ray, out, progress)))
