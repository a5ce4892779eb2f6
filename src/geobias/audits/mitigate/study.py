"""How a classifier is mitigated: models are made, saved, scored with held-out names, and timed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.find.answers import Outcome, judge_mentions
from geobias.audits.labels import find_label_tones, read_true_labels
from geobias.audits.mitigate.design import Method, MitigateDesign
from geobias.audits.mitigate.measure import MethodAnswers, MitigateAnswers, ModelAnswers, measure_mitigation
from geobias.audits.mitigate.result import MitigateResult, MitigateSettings
from geobias.audits.study import RunOptions, Study
from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.models.finders import PERSON, Entity
from geobias.models.huggingface import HuggingFaceClassifier
from geobias.models.load import load_classifier
from geobias.models.mitigated import MitigatedClassifier
from geobias.models.saved_wrappers import describe_wrapper, list_names_to_allow, write_settings
from geobias.models.scorer import Classifier
from geobias.models.wrappers import AveragingClassifier, BlindClassifier
from geobias.report.run_folder import MODELS, RunFolder
from geobias.report.runs import place_for

TIMED_TEXTS = 200  # of which the time is measured
REPEATS = 3  # of which the fastest counts: other programs slow down single ones
SHORTEST_SECONDS = 0.02  # for all timed texts: a shorter time says nothing


class MitigateStudy(Study[Classifier, MitigateAnswers, MitigateResult]):
    """One classifier and what every method makes of it, on the same texts with the same held-out names."""

    audit = "mitigate"

    def __init__(self, design: MitigateDesign, model: Any, options: RunOptions) -> None:
        super().__init__(options)
        self.design = design
        self.source = str(model) if isinstance(model, str | Path) else None
        # What is no name is wrapped at once, which costs nothing; a name is loaded when the study runs.
        self.model = self.source or load_classifier(model)
        training = [method.label for method in design.methods if not method.is_wrapper]
        if training and self.source is None:
            raise InputError(
                f"{self.model_name} cannot be trained with {training[0]}: only a Hugging Face classifier, given by its "
                "id or folder, can. Use blind or average:8."
            )
        if training and options.out is None:
            raise InputError(f"--method {training[0]} trains a model. Name a folder for it with --out.")

    @property
    def model_name(self) -> str:
        return self.model if isinstance(self.model, str) else self.model.name

    @property
    def _run_folder(self) -> Path:
        assert self.options.out is not None
        return place_for(self.options.out)

    def settings(self) -> MitigateSettings:
        return self.design.settings_for(self.model_name)

    @contextmanager
    def open_folder(self) -> Iterator[RunFolder | None]:
        """Also keeps other processes from writing the models of this run."""
        with super().open_folder() as folder:
            if folder is None:
                yield None
                return
            with folder.hold(MODELS):
                yield folder

    def load(self, device: str, dtype: str) -> list[Classifier]:
        classifier = load_classifier(self.model, allow=self.options.allow, device=device, dtype=dtype)
        classifier.learn_labels(self.design.texts.texts)
        for method in self.design.methods:  # before anything is scored
            if not method.is_wrapper and not isinstance(classifier, HuggingFaceClassifier):
                raise InputError(
                    f"{classifier.name} cannot be trained with {method.label}: it is no Hugging Face classifier. Use "
                    "blind or average:8."
                )
        return [classifier]

    def ask(self, scorers: Sequence[Classifier]) -> MitigateAnswers:
        (classifier,) = scorers
        design, labels = self.design, tuple(classifier.labels)
        truth, notes = read_true_labels(design.texts, classifier.name, labels, several_fit=classifier.multi_label)
        positive, negative = find_label_tones(classifier.name, labels, design.positive, design.negative)
        if not positive or not negative:
            raise InputError(
                f"Which labels of {classifier.name} are positive and negative is not known ({', '.join(labels)}). Name "
                "them with --positive and --negative."
            )
        all_notes = [*classifier.notes, *notes]
        before = self._score(classifier, len(labels))
        methods = [self._apply(method, classifier, all_notes) for method in design.methods]
        has_wrapper = any(method.is_wrapper for method in design.methods)
        return MitigateAnswers(
            labels=labels,
            multi_label=classifier.multi_label,
            positive=positive,
            negative=negative,
            truth=truth,
            before=before,
            methods=methods,
            finder_hits=self._judge_finder() if has_wrapper else None,
            notes=list(dict.fromkeys(all_notes)),
            original_hits=self._judge_originals() if has_wrapper else None,
        )

    def measure(self, answers: MitigateAnswers) -> MitigateResult:
        return measure_mitigation(self.design, answers)

    def _apply(self, method: Method, classifier: Classifier, notes: list[str]) -> MethodAnswers:
        """Make the model of a method, score it, and measure what it costs."""
        model: Classifier
        if method.is_wrapper:
            model = wrapper = self._wrap(method, classifier)
            notes += wrapper.notes
            folder = self._save(wrapper, method.subfolder, notes)
            allow = list_names_to_allow(self._run_folder / folder) if folder else []
            texts = self.design.texts.texts
            reading = zip(texts, self.design.reader.read(texts), strict=True)
            versions = [len(wrapper.list_versions(text, people)) if people else 1 for text, (people, _) in reading]
            texts_per_text = float(np.mean(versions))
        else:
            folder = f"{MODELS}/{method.subfolder}"
            model, texts_per_text, allow = self._train(method, classifier), 1.0, []
        answers = self._score(model, len(classifier.labels))
        return MethodAnswers(method, answers, folder, texts_per_text, self._time(classifier, model), allow)

    def _wrap(self, method: Method, classifier: Classifier) -> MitigatedClassifier:
        wrapper: MitigatedClassifier
        if method.strength is None:
            wrapper = BlindClassifier(classifier, self.design.reader)
        else:
            copies, seed = int(method.strength), self.design.seed
            wrapper = AveragingClassifier(classifier, copies, self.design.reader, seed=seed)
        wrapper.source = self.source
        return wrapper

    def _save(self, wrapper: MitigatedClassifier, name: str, notes: list[str]) -> str | None:
        """Save a wrapper in the folder of the run, so that it can be loaded by name; say so if that is impossible."""
        if self.options.out is None:
            return None
        folder = self._run_folder / MODELS / name
        try:
            settings = describe_wrapper(wrapper)
        except InputError as error:
            notes.append(str(error))
            return None
        write_settings(settings, folder)
        return f"{MODELS}/{name}"

    def _train(self, method: Method, classifier: Classifier) -> Classifier:
        """Train the model of a method, or resume its training, in the folder of the run."""
        from geobias.models.training.mitigation import train_mitigated  # imports torch

        design, options = self.design, self.options
        assert design.train is not None and design.train_counterfactuals is not None
        assert self.source is not None
        truth, _ = read_true_labels(design.train, classifier.name, classifier.labels, several_fit=False)
        folder = train_mitigated(
            method.name,
            method.strength,
            self.source,
            design.train.texts,
            [] if truth is None else truth.argmax(axis=1).tolist(),
            list(classifier.labels),
            design.train_counterfactuals,
            self._run_folder / MODELS / method.subfolder,
            epochs=design.epochs,
            seed=design.seed,
            device=options.device,
            progress=options.progress,
        )
        name = f"{classifier.name} ({method.label})"
        return HuggingFaceClassifier.from_pretrained(name, str(folder), device=options.device, dtype=options.dtype)

    def _score(self, classifier: Classifier, labels: int) -> ModelAnswers:
        design, progress = self.design, self.options.progress
        original = ask(classifier, design.texts.texts, label=classifier.name, progress=progress)
        renamed = ask(classifier, design.counterfactuals, label=classifier.name, progress=progress)
        self.used_parts[classifier.name] = list(classifier.fast_parts)
        return ModelAnswers(
            model=classifier.identity(),
            original=original.scores[:, :labels],
            renamed=renamed.scores[:, :labels].reshape(*design.counterfactuals.shape, labels),
            text_count=original.scored + renamed.scored,
        )

    def _judge_finder(self) -> np.ndarray:
        """mentions x countries x draws: whether the finder marks each name of the renamed texts with the right ends."""
        counterfactuals = self.design.counterfactuals
        texts, countries, draws = counterfactuals.shape
        blocks = []
        for i in range(texts):
            rendered = [counterfactuals.render(i, c, d) for c in range(countries) for d in range(draws)]
            outcomes = self._judge_texts(rendered)
            blocks.append(np.array(outcomes).reshape(countries, draws, -1).transpose(2, 0, 1) == Outcome.RECALL)
        return np.concatenate(blocks)

    def _judge_originals(self) -> np.ndarray | None:
        """Whether the finder marks each name that the user marked in the original texts; None if nobody marked any."""
        texts = self.design.texts
        if texts.spans is None:
            return None
        marked = [(text, spans) for text, spans in zip(texts.texts, texts.spans, strict=True) if spans]
        return np.concatenate([np.array(each) == Outcome.RECALL for each in self._judge_texts(marked)])

    def _judge_texts(self, texts: Sequence[tuple[str, Any]]) -> list[Any]:
        """The outcome of each of these spans."""
        reading = self.design.reader.read([text for text, _ in texts])
        return [
            judge_mentions(
                text,
                spans,
                [Entity(each.start, each.end, PERSON) for person in read.people for each in person.mentions],
            )
            for (text, spans), read in zip(texts, reading, strict=True)
        ]

    def _time(self, classifier: Classifier, model: Classifier) -> float | None:
        """Time per text, divided by that of the original model; None for servers, and if it is too short to measure."""
        if classifier.paid:
            return None
        texts = list(dict.fromkeys(self.design.texts.texts))[:TIMED_TEXTS]
        seconds: dict[int, list[float]] = {0: [], 1: []}
        for _ in range(REPEATS):
            for k, each in enumerate((classifier, model)):
                self.design.reader.forget()  # finding people is part of the cost
                start = time.perf_counter()
                each.score(texts)
                seconds[k].append(time.perf_counter() - start)
        plain, mitigated = min(seconds[0]), min(seconds[1])
        return mitigated / plain if plain > SHORTEST_SECONDS else None
