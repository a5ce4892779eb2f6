"""`geobias.audit_regions`: the audit as a Python function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geobias.audits.plan import Served
    from geobias.audits.regions.result import RegionsResult
    from geobias.models.language_model import LanguageModel
    from geobias.models.scorer import Scorer
    from geobias.world.regions import RegionTree
    from geobias.world.words import Word


def audit_regions(
    model: str | Path | Callable[[list[str]], Any] | Scorer | LanguageModel | Served | None = None,
    *,
    score: str | None = None,
    cities: int | str = 5,
    continents: str | Sequence[str] = (),
    countries: str | Sequence[str] = (),
    tree: str | Path | RegionTree | None = None,
    words: str | Path | Sequence[str | Word] | None = None,
    templates: str | Sequence[str] = "People in {region} are {description}.",
    placebo: bool = True,
    paraphrases: int = 4,
    subject: str = "region",
    known: bool = False,
    device: str = "auto",
    dtype: str = "auto",
    ray: str | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> RegionsResult:
    """Measure how differently a language model describes the people of the world's regions.

    The model scores every sentence "People in REGION are WORD.". A region's score (C_w) says how much these scores
    differ between its sub-regions (HERB, Li et al. 2022). The result describes the model, not people.

    Parameters
    ----------
    model : str, Path, callable or object, optional
        Language model: a Hugging Face id, a folder, a GGUF file, package.module:function or a server's model as
        http://localhost:8000/v1#my-model; a command takes several. In Python also a function from a list of texts to
        log-likelihoods, a fill-mask or text-generation pipeline of transformers, a model from `load`, a `ServedLM` in
        place of an address, or any `Scorer`. Default: the bundled model.
    score : str, optional
        Score of a sentence; a command takes several: aul,conditional. "conditional" is the log-likelihood of the word
        given the rest of the sentence. Masked models also have "aul" (HERB's), "aula", "pll" and "pll-word"; causal
        models "mean" and "sum"; encoder-decoders "aul", "mean" and "sum". A function or a scorer has only its own.
        Default: conditional.
    cities : int or str, default 5
        Each country's N largest cities; 0 for none, or "all".
    continents : str or list of str, optional
        Use only these continents, by code or name: EU,Africa. Default: all six.
    countries : str or list of str, optional
        Use only these countries, by code or name: FR,DEU,Nigeria. Default: all.
    tree : str, Path or RegionTree, optional
        Your own regions: CSV with id, name, parent and, optionally, in_sentence ("the Highlands"). Default: the world.
    words : str, Path or list of str, optional
        Your own words: one per line, or CSV with word, topic, substitute, valence. In Python also a list. Default: the
        112 words of HERB.
    templates : str or list of str, default "People in {region} are {description}."
        Sentence to score; repeat it to average over several. In Python a list of them.
    placebo : bool, default True
        Whether to score 60 invented and 60 known places too, which associations are tested against.
    paraphrases : int, default 4
        Paraphrases of the sentence, for associations of regions and words; 0 for none, at most 14.
    subject : {"region", "demonym", "both"}, default "region"
        Whom the paraphrases are about: people in Kenya, Kenyans, or both.
    known : bool, default False
        Whether to compare the model's associations with all stereotypes that people know (SeeGULL): about 150,000 more
        sentences.
    device : str, default "auto"
        Device: auto (a GPU if there is one), cpu, cuda, cuda:1, ...
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
    RegionsResult
        `findings` has the conclusions, `region(name)` the scores of one region, `to_frame()` a row for each region and
        measure, and `open()` opens the page of a saved run.

    Raises
    ------
    InputError
        If an option or the model cannot be used. The message says what to do.
    GeobiasError
        If a model, a server or a cluster fails while the audit runs.

    Examples
    --------
    >>> import geobias
    >>> result = geobias.audit_regions(cities=0, countries=["FR", "DE", "NG", "KE"], words=["kind", "poor", "smart"])
    >>> [region.name for region in result.regions[:3]]
    ['Earth', 'Africa', 'Europe']
    >>> result.region("Africa").c_w_balanced.value >= 0
    True

    >>> result = geobias.audit_regions("gpt2", score="conditional", placebo=True, out="runs/gpt2")  # doctest: +SKIP
    """
    from geobias.audits.regions.design import design_regions
    from geobias.audits.regions.study import RegionsStudy
    from geobias.audits.study import RunOptions, execute

    design = design_regions(
        cities=cities,
        continents=continents,
        countries=countries,
        tree=tree,
        words=words,
        templates=templates,
        placebo=placebo,
        paraphrases=paraphrases,
        subject=subject,
        known=known,
    )
    return execute(RegionsStudy(design, model, score, RunOptions(device, dtype, ray, out, progress)))
