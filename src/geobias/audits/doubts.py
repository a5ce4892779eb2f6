"""What speaks against all numbers of a run: the language of its texts, and models that give every text the same answer.

A tweet is too short to tell its language, so no text is judged alone. By its words each text speaks for English or for
another language, and the share of texts in another language is the one that makes all of them likeliest (a mixture of
two groups, by expectation-maximisation). Only English has a list of words.

A model that gives the same answer to every text would pass every test of differences. Every audit measures whether the
answers to the original and to the changed texts vary; `judge_constant_answers` puts it into the findings, where gates
read it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from geobias.audits.inputs import NobodyNamedError
from geobias.models.finders import EntityFinder
from geobias.report.findings import ConstantAnswers, Finding, LanguageDoubt, with_role
from geobias.report.results import AuditResult
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.doubtful_spans import count_common_words
from geobias.texts.templates import REGION
from geobias.texts.user_texts import Texts
from geobias.world.gazetteer import is_latin

ENGLISH = "en"
# Of words in lower case, the share that is on the list of common words: 0.85 to 0.94 in English tweets and news, up to
# 0.15 in Spanish, Dutch, Basque, Māori and Turkish ones; between them lies what carelessly written English may have.
COMMON_IN_ENGLISH, COMMON_IN_OTHERS = 0.75, 0.15
MOST_EVIDENCE = 6.0  # of a text, as a logarithm of odds: one long list of names must not decide for all
OTHER_SCRIPT = 20.0  # the evidence of a text in another script
ENOUGH_EVIDENCE = 2 * MOST_EVIDENCE  # of all texts in another language together: more than two texts can have
SMALL_SHARE = 0.1  # of texts in another language: less is not worth a word, and may be slang
MOST_UNREAD = 0.75  # of texts: if more are in another language, a finder of English reads next to nothing
READ_CHARACTERS = 2000  # of a text, at most
_MARK = re.compile(r"\{\w*\}")
ROUNDS = 100  # of expectation-maximisation


def count_other_languages(texts: Sequence[str]) -> int:
    """The number of texts in a language other than English; 0 if they are few, or too short to tell."""
    evidence = np.array([_weigh_language(text[:READ_CHARACTERS]) for text in texts])
    odds, share = np.exp(evidence), 0.5
    for _ in range(ROUNDS):
        probability = share * odds / (share * odds + 1 - share)
        share = probability.mean()
    is_other = probability > 0.5
    is_enough = evidence[is_other].sum() > ENOUGH_EVIDENCE and is_other.mean() >= SMALL_SHARE
    return int(is_other.sum()) if is_enough else 0


def is_other_language(template: str) -> bool:
    """Whether a sentence with marks has words, and none that English has more than other languages."""
    words = _MARK.sub("", template)
    return len(re.findall(r"[^\W\d_]+", words)) > 1 and _weigh_language(words) >= 0


def doubt_finder(texts: Sequence[str], finder: EntityFinder) -> list[LanguageDoubt]:
    """Doubt in a finder of English that shall find the people in texts of another language."""
    count = count_other_languages(texts) if finder.language == ENGLISH else 0
    if not count:
        return []
    return [
        LanguageDoubt(
            f"The finder reads English; {count:,} of {len(texts):,} texts are in another language",
            "give --finder or --spans",
            count / len(texts),
        )
    ]


def refuse_unread(texts: Texts, doubts: Sequence[LanguageDoubt], *, most: float = MOST_UNREAD) -> None:
    """Refuse texts if the finder does not read more than this share of them."""
    for doubt in doubts:
        if doubt.share > most:
            raise NobodyNamedError(f"{doubt.sentence} ({texts.source}): {doubt.remedy}.")


def doubt_names(renamed: Counterfactuals) -> list[LanguageDoubt]:
    """Doubt in names in Latin script that are put into texts of another script."""
    texts, gazetteer = renamed.texts, renamed.gazetteer
    count = sum(_is_other_script(text[:READ_CHARACTERS]) for text in texts)
    if count < max(1, SMALL_SHARE * len(texts)):
        return []
    keys = [(code, kind) for code in renamed.countries for kind in gazetteer.kinds]
    are_latin = [is_latin(name) for key in keys for name in gazetteer.names(*key)]
    if 2 * sum(are_latin) < len(are_latin):
        return []
    return [
        LanguageDoubt(
            f"Names in Latin script are put into {count:,} of {len(texts):,} texts that are in another script",
            "give names in their script (--gazetteer, or scripts='all' in Python for countries that write it)",
            count / len(texts),
        )
    ]


def doubt_prefix(texts: Sequence[str], prefix: str) -> list[LanguageDoubt]:
    """Doubt in an English prefix that is put before texts of another language."""
    is_english = _weigh_language(prefix.replace(REGION, "")) < 0
    count = count_other_languages(texts) if is_english else 0
    if not count:
        return []
    return [
        LanguageDoubt(
            f"The prefix “{prefix}” is English; {count:,} of {len(texts):,} texts are in another language",
            "give --prefix in their language",
            count / len(texts),
        )
    ]


def _weigh_language(text: str) -> float:
    """The evidence that a text is not English: the logarithm of odds, negative for English, 0 if it has no words."""
    if _is_other_script(text):
        return OTHER_SCRIPT
    common, words = count_common_words(text)
    evidence = common * math.log(COMMON_IN_OTHERS / COMMON_IN_ENGLISH)
    evidence += (words - common) * math.log((1 - COMMON_IN_OTHERS) / (1 - COMMON_IN_ENGLISH))
    return max(-MOST_EVIDENCE, min(MOST_EVIDENCE, evidence))


def _is_other_script(text: str) -> bool:
    """Whether more than half of its letters are not Latin."""
    letters = [] if text.isascii() else [char for char in text if char.isalpha()]
    return 2 * sum(map(_is_latin_letter, letters)) < len(letters)


@cache
def _is_latin_letter(letter: str) -> bool:
    return is_latin(letter)


SMALLEST_CHANGE = 1e-6  # of a probability, or of a log-likelihood: less is rounding
REASON = "It gives the same answer to every text, so nothing can be tested."
QUESTION = "Do its answers depend on the texts at all?"


def list_constant_answers(answers: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, ConstantAnswers]:
    """The models whose answers to all texts, or to the original ones, do not vary.

    `answers` has those of each model to the original and to the changed texts: texts x ... x labels.
    """
    return {
        model: "original texts" if varies(changed) else "all texts"
        for model, (original, changed) in answers.items()
        if not varies(original)
    }


def varies(values: np.ndarray) -> bool:
    """Whether any label's values differ between two texts; NaN is no answer."""
    rows = values.reshape(-1, values.shape[-1])
    highest, lowest = (find.reduce(rows, initial=np.nan) for find in (np.fmax, np.fmin))
    return bool((highest - lowest > SMALLEST_CHANGE).any())


def judge_constant_answers(result: AuditResult, findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings; a null of a model of constant answers is not testable, and constant originals get a caution."""
    for finding in findings:
        is_constant = result.constant_answers.get(finding.model) == "all texts"
        if not is_constant or finding.evidence in ("clear", "not testable"):
            yield finding
        elif finding.role != "detail":
            yield _refuse(finding) if finding.role == "overall" else finding
    for answer in {answer.model: answer for answer in with_role(findings, "overall")}.values():
        if result.constant_answers.get(answer.model) == "original texts":
            yield _caution(answer)


def _refuse(finding: Finding) -> Finding:
    return replace(
        _without_numbers(finding),
        sentence=f"{finding.short_model}: {REASON}",
        limit="A model that does not read its texts shows no difference between countries.",
        next_step="Check that the model and its labels are read as intended, with texts that it should tell apart.",
    )


def _caution(answer: Finding) -> Finding:
    return replace(
        _without_numbers(answer),
        role="caution",
        question=QUESTION,
        sentence=f"{answer.short_model}: All original texts get the same answer; only changed texts get others.",
        limit="How far a country moves answers may differ in texts that the model tells apart.",
        next_step="Repeat it with texts that the model tells apart.",
    )


def _without_numbers(finding: Finding) -> Finding:
    """The same finding as one that is not testable."""
    nothing = dict.fromkeys(("subject", "code", "direction", "valence", "size", "p", "p_adjusted"))
    return replace(finding, **nothing, evidence="not testable", examples=[])  # type: ignore[arg-type]
