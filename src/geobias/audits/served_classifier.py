"""Classifiers behind a server, for the commands that ask classifiers: how they are asked, and how much is sent."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from geobias.audits.consent import Served, Workload, workload
from geobias.errors import InputError
from geobias.models.classifiers.prompted import Prompt, PromptedClassifier
from geobias.models.scorer import Classifier, probability_columns
from geobias.models.served.chat_classifier import ServedClassifier
from geobias.models.served.probe import NoLikelihoods
from geobias.models.served.served_lm import ServedLM


def served_classifier(served: Served, prompt: Prompt) -> Classifier:
    """By the likelihood of each label's whole word where the server gives it, else by how its answer begins."""
    endpoint = served.endpoint()
    lm = ServedLM(endpoint, begin=served.begin)
    try:
        _ = lm.source
    except NoLikelihoods:
        if prompt.calibrate:
            raise
        return ServedClassifier(endpoint, prompt.template, prompt.words)
    return PromptedClassifier(lm, prompt)


def classification(served: Served, prompt: Prompt, *blocks: Sequence[str]) -> Workload:
    """What it takes to classify these texts, at most: where a server gives likelihoods, every label is asked for."""
    endpoint = served.endpoint()
    known = PromptedClassifier(ServedLM(endpoint, begin=served.begin), prompt).known_fingerprints()
    if not prompt.calibrate:
        with suppress(InputError):  # words that begin alike can still be asked for as a whole
            known += ServedClassifier(endpoint, prompt.template, prompt.words).known_fingerprints()
    load, labels = Workload(0, 0), len(prompt.labels)
    for texts in blocks:
        columns = probability_columns(prompt.labels)
        one = workload(texts, columns, known, name=served.model, each=len(prompt.template))
        load += Workload(one.texts * labels, one.tokens * labels, one.known)
    return load
