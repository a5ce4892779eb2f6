"""How a classifier is mitigated: models are made, saved, scored with held-out names, and timed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.find.answers import Outcome, judge_mentions
from geobias.audits.labels import find_label_tones, read_true_labels
from geobias.audits.mitigate.design import NEED_LABELS, AlignmentDesign, Method, MitigateDesign
from geobias.audits.mitigate.measure import (
    LanguageAnswers,
    MethodAnswers,
    MitigateAnswers,
    ModelAnswers,
    adjust_language_models,
    compare_language_models,
    describe_language_model,
    measure_mitigation,
    recommend_language_model,
)
from geobias.audits.mitigate.result import ORIGINAL, MitigateResult, MitigateSettings
from geobias.audits.regions.audit import audit_regions
from geobias.audits.regions.result import RegionsResult
from geobias.audits.study import Answers, Models, RunOptions, Study
from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.models.finders import PERSON, Entity
from geobias.models.huggingface import HuggingFaceClassifier
from geobias.models.kinds import find_tasks
from geobias.models.load import load_classifier
from geobias.models.mitigated import MitigatedClassifier
from geobias.models.saved_wrappers import describe_wrapper, list_names_to_allow, write_settings
from geobias.models.scorer import Classifier, Scorer
from geobias.models.sources import PICKLES, SKOPS, is_function_name
from geobias.models.wrappers import AveragingClassifier, BlindClassifier
from geobias.report.run_folder import MODELS, RunFolder
from geobias.report.runs import place_for

TRAINING_TEMPLATES = 3


def check_methods(methods: Sequence[Method], model: Any, *, label: str | None, has_train: bool) -> None:
    """Refuse to train without labels, or what a name shows to be no Hugging Face model; nothing is loaded."""
    for method in methods:
        if method.name in NEED_LABELS and label is None:
            raise InputError(f"--method {method.label} is trained on true labels. Name their column with --label.")
    if has_train and all(method.is_wrapper for method in methods):
        raise InputError("--train has texts to train on, but no --method is trained. Remove it, or add augment.")
    if not isinstance(model, str | Path):
        refuse_training(methods, getattr(model, "name", f"A {type(model).__name__}"))
    name = str(model)
    is_other_file = name.lower().endswith((SKOPS, *PICKLES)) and not Path(name).expanduser().is_dir()
    if "://" in name or is_other_file or is_function_name(name):
        refuse_training(methods, name)


def refuse_training(methods: Sequence[Method], model: str) -> None:
    """For what is no Hugging Face model."""
    for method in methods:
        if not method.is_wrapper:
            raise InputError(
                f"{model} cannot be trained with {method.label}: only a Hugging Face classifier, given by its id or "
                "folder, can. Use blind or average:8."
            )


def require_folder(methods: Sequence[Method], out: Any) -> None:
    for method in methods:
        if out is None and not method.is_wrapper:
            raise InputError(f"--method {method.label} trains a model. Name a folder for it with --out.")


def check_language_model(model: Any, methods: Sequence[Method]) -> None:
    """Refuse what `align` is not for: classifiers, and methods for them."""
    for method in methods:
        if method.name != "align":
            raise InputError(f"--method {method.label} is for classifiers, align for language models. Use one kind.")
    if not isinstance(model, str | Path) or is_function_name(str(model)):
        raise InputError(f"--method {methods[0].label} trains a language model: give its Hugging Face id or folder.")
    if find_tasks(model) != ("language model",):
        raise InputError(f"{model} is a classifier. --method align is for language models: use augment or pair.")


class TrainingStudy(Study[Models, Answers, MitigateResult]):
    """A study that leaves models in the folder of its run, which no other process can write meanwhile."""

    audit = "mitigate"

    @property
    def models(self) -> Path:
        """The folder of the models."""
        assert self.options.out is not None
        return place_for(self.options.out) / MODELS

    @contextmanager
    def open_folder(self) -> Iterator[RunFolder | None]:
        with super().open_folder() as folder:
            if folder is None:
                yield None
                return
            with folder.hold(MODELS):
                yield folder


class MitigateStudy(TrainingStudy[Classifier, MitigateAnswers]):
    """One classifier and what every method makes of it, on the same texts with the same held-out names."""

    def __init__(self, design: MitigateDesign, model: Any, options: RunOptions) -> None:
        super().__init__(options, design)
        self.source = str(model) if isinstance(model, str | Path) else None
        # What is no name is wrapped at once, which costs nothing; a name is loaded when the study runs.
        self.model = self.source or load_classifier(model)

    def settings(self) -> MitigateSettings:
        return self.design.settings_for(self.model if isinstance(self.model, str) else self.model.name)

    def load(self, device: str, dtype: str) -> list[Classifier]:
        classifier = load_classifier(self.model, allow=self.options.allow, device=device, dtype=dtype)
        classifier.learn_labels(self.design.texts.texts)
        if not isinstance(classifier, HuggingFaceClassifier):  # before anything is scored
            refuse_training(self.design.methods, classifier.name)
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
            threshold=0.5 if classifier.multi_label else None,
            positive=positive,
            negative=negative,
            truth=truth,
            before=before,
            methods=methods,
            finder_hits=self._judge_renamed() if has_wrapper else None,
            original_hits=self._judge_originals() if has_wrapper else None,
            notes=list(dict.fromkeys(all_notes)),
        )

    def measure(self, answers: MitigateAnswers) -> MitigateResult:
        return measure_mitigation(self.design, answers)

    def _apply(self, method: Method, classifier: Classifier, notes: list[str]) -> MethodAnswers:
        """Make the model of a method, score it, and measure what it costs."""
        model, folder, allow, texts_per_text = classifier, f"{MODELS}/{method.subfolder}", list[str](), 1.0
        if method.is_wrapper:
            model = wrapper = self._wrap(method, classifier)
            is_saved = self.options.out is not None and self._save(wrapper, self.models / method.subfolder, notes)
            allow = list_names_to_allow(self.models / method.subfolder) if is_saved else []
            folder = folder if is_saved else ""
            texts = self.design.texts.texts
            reading = zip(texts, self.design.reader.read(texts), strict=True)
            versions = [len(wrapper.list_versions(text, people)) if people else 1 for text, (people, _) in reading]
            texts_per_text = float(np.mean(versions))
        else:
            model = self._train(method, classifier)
        answers = self._score(model, len(classifier.labels))
        return MethodAnswers(method, answers, folder or None, texts_per_text, allow)

    def _wrap(self, method: Method, classifier: Classifier) -> MitigatedClassifier:
        wrapper: MitigatedClassifier = BlindClassifier(classifier, self.design.reader)
        if method.strength is not None:
            copies, seed = int(method.strength), self.design.seed
            wrapper = AveragingClassifier(classifier, copies, self.design.reader, seed=seed)
        wrapper.source = self.source
        return wrapper

    def _save(self, wrapper: MitigatedClassifier, folder: Path, notes: list[str]) -> bool:
        """Save a wrapper, so that it can be loaded by name; a note says so if that is impossible."""
        notes += wrapper.notes
        try:
            write_settings(describe_wrapper(wrapper), folder)
        except InputError as error:
            notes.append(str(error))
            return False
        return True

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
            self.models / method.subfolder,
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

    def _judge_renamed(self) -> np.ndarray:
        """mentions x countries x draws: whether the finder marks each name of the renamed texts with the right ends."""
        texts, countries, draws = self.design.counterfactuals.shape
        render = self.design.counterfactuals.render
        blocks = []
        for i in range(texts):
            hits = self._judge([render(i, c, d) for c in range(countries) for d in range(draws)])
            blocks.append(np.array(hits).reshape(countries, draws, -1).transpose(2, 0, 1))
        return np.concatenate(blocks)

    def _judge_originals(self) -> np.ndarray | None:
        """Whether the finder marks each name that the user marked in the original texts; None if nobody marked any."""
        texts = self.design.texts
        if texts.spans is None:
            return None
        marked = [(text, spans) for text, spans in zip(texts.texts, texts.spans, strict=True) if spans]
        return np.concatenate([np.array(hits) for hits in self._judge(marked)])

    def _judge(self, texts: Sequence[tuple[str, Any]]) -> list[list[bool]]:
        """Whether the finder marks each of the spans of these texts."""
        hits = []
        for (text, spans), (people, _) in zip(texts, self.design.reader.read([text for text, _ in texts]), strict=True):
            entities = [Entity(each.start, each.end, PERSON) for person in people for each in person.mentions]
            hits.append([outcome == Outcome.RECALL for outcome in judge_mentions(text, spans, entities)])
        return hits


class LanguageStudy(TrainingStudy[Scorer, list[LanguageAnswers]]):
    """The original language model and what every method makes of it. All models are kept in the folder of the run."""

    def __init__(self, design: AlignmentDesign, model: str, options: RunOptions) -> None:
        super().__init__(options, design)
        self.model = model

    def settings(self) -> MitigateSettings:
        return self.design.settings_for(self.model)

    def ask(self, scorers: Sequence[Scorer]) -> list[LanguageAnswers]:
        """Each model is made and loaded when its turn comes, since all of them may not fit into memory."""
        folders = [self._train(method) for method in self.design.methods]
        names = [ORIGINAL, *(method.subfolder for method in self.design.methods)]
        return [self._audit(model, name) for model, name in zip([self.model, *map(str, folders)], names, strict=True)]

    def measure(self, answers: list[LanguageAnswers]) -> MitigateResult:
        before, *others = answers
        pairs = zip(self.design.methods, others, strict=True)
        rows = adjust_language_models([compare_language_models(method, before, after) for method, after in pairs])
        return MitigateResult(
            settings=self.settings(),
            models=[each.audit.model for each in answers],
            counts=self.design.count(),
            language_models=[describe_language_model(ORIGINAL, before), *rows],
            recommended=recommend_language_model(rows),
            work={"models": len(answers)},
        )

    def _train(self, method: Method) -> Path:
        """Train a method's model, or resume its training."""
        from geobias.models.training.alignment import AlignmentSettings, align_language_model  # imports torch

        train, options = self.design.split.train, self.options
        strength = AlignmentSettings.strength if method.strength is None else method.strength
        return align_language_model(
            self.model,
            AlignmentSettings(strength, self.design.epochs, seed=self.design.seed),
            regions=[region.in_sentence for region in train.regions],
            words=[word.word for word in train.words],
            templates=train.templates[:TRAINING_TEMPLATES],
            replay_texts=list(self.design.replay.texts),
            out=self.models / method.subfolder,
            device=options.device,
            progress=options.progress,
        )

    def _audit(self, model: str, name: str) -> LanguageAnswers:
        from geobias.models.training.word_scores import pseudo_perplexity, share_of_capitals_known  # imports torch

        held_out, options = self.design.split.held_out, self.options
        audit = audit_regions(
            model,
            cities=0,
            countries=[region.id for region in held_out.regions],
            words=list(held_out.words),
            templates=held_out.templates[0],
            placebo=False,
            paraphrases=0,
            device=options.device,
            out=self.models / f"audit-{name}",
            progress=options.progress,
        )
        assert isinstance(audit, RegionsResult)  # of one model
        return LanguageAnswers(
            audit,
            pseudo_perplexity(model, self.design.test_texts.texts, device=options.device),
            share_of_capitals_known(model, device=options.device),
        )
