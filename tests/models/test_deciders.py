"""Deciders: log P of answers against brute force over spellings, and functions that decide by known rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.models.answers import (
    CHOICE_ANSWERS,
    NUMBER_ANSWERS,
    YES_NO_ANSWERS,
    AnswerSet,
    Decisions,
    is_refusal,
)
from geobias.models.fast import leave_out
from geobias.models.load import load, load_decider
from geobias.models.prompted import LMDecider

SHORT = AnswerSet("yes_no", ("kind", "lazy"), "Q")  # words and a prompt that small tokenizers can read
TEXTS = ["Is France?", "Is Nigeria?", "Is the fox?", "Is Nigeria?"]
CHAT = "{% for message in messages %}<s>{{ message.role }}: {{ message.content }}</s>{% endfor %}<s>answer:"


def forms(word: str) -> list[str]:
    return [space + form for space in (" ", "") for form in (word, word.capitalize(), word.upper())]


def token_sequences(lm: Any, word: str) -> set[tuple[int, ...]]:
    """The distinct tokens of a word's spellings, without those that have unknown letters."""
    sequences = {tuple(lm.tokenizer(form, add_special_tokens=False)["input_ids"]) for form in forms(word)}
    return {sequence for sequence in sequences if lm.tokenizer.unk_token_id not in sequence}


def causal_log_p(lm: Any, before: str, word: str) -> float:
    """log of the sum of P over the distinct token sequences of a word's spellings that continue the prompt."""
    prompt = lm.tokenizer(before, add_special_tokens=False)["input_ids"]
    sequences = set()
    for form in forms(word):
        ids = lm.tokenizer(before + form, add_special_tokens=False)["input_ids"]
        if ids[: len(prompt)] == prompt:
            sequences.add(tuple(ids[len(prompt) :]))
    total = 0.0
    for sequence in sequences:
        ids = [*prompt, *sequence]
        with torch.no_grad():
            table = torch.log_softmax(lm.model(torch.tensor([ids])).logits[0].double(), -1)
        total += float(np.exp(sum(float(table[i - 1, ids[i]]) for i in range(len(prompt), len(ids)))))
    return float(np.log(total))


@pytest.fixture(scope="module")
def gpt2(small_models: dict[str, Path]) -> Any:
    return load(small_models["gpt2"])


def test_causal_answers_equal_brute_force_over_spellings(gpt2: Any) -> None:
    rows = LMDecider(gpt2, SHORT).score(TEXTS)
    for row, text in zip(rows, TEXTS, strict=True):
        before = f"<|endoftext|>Q\n\n{text}\nAnswer:"
        np.testing.assert_allclose(row[2:], [causal_log_p(gpt2, before, word) for word in SHORT.words], atol=1e-5)
    assert (rows[:, :2] == 0).all()


def test_a_chat_model_gets_a_system_prompt_and_a_message(small_models: dict[str, Path]) -> None:
    lm: Any = load(small_models["llama"])
    lm.tokenizer.chat_template = CHAT
    row = LMDecider(lm, SHORT, system="Be fair.").score(["Is it?"])[0]
    before = "<s>system: Be fair.</s><s>user: Q\n\nIs it?</s><s>answer:"
    np.testing.assert_allclose(row[2:], [causal_log_p(lm, before, word) for word in SHORT.words], atol=1e-5)
    lm.tokenizer.chat_template = "{% if messages[0].role == 'system' %}{{ raise_exception('none') }}{% endif %}" + CHAT
    row = LMDecider(lm, SHORT, system="Be fair.").score(["Is it?"])[0]
    before = "<s>user: Be fair.\n\nQ\n\nIs it?</s><s>answer:"
    np.testing.assert_allclose(row[2:], [causal_log_p(lm, before, word) for word in SHORT.words], atol=1e-5)


def test_masked_answers_equal_brute_force(small_models: dict[str, Path]) -> None:
    lm: Any = load(small_models["bert"])
    rows = LMDecider(lm, SHORT).score(TEXTS)
    for row, text in zip(rows, TEXTS, strict=True):
        for value, word in zip(row[2:], SHORT.words, strict=True):
            prompt, total = f"Q\n\n{text}\nAnswer:", 0.0
            start = len(lm.tokenizer(prompt)["input_ids"]) - 1
            for sequence in token_sequences(lm, word):
                tail = lm.tokenizer(".", add_special_tokens=False)["input_ids"] + [lm.tokenizer.sep_token_id]
                log_p = 0.0
                for done, token in enumerate(sequence):
                    masks = [lm.mask] * (len(sequence) - done)
                    ids = [*lm.tokenizer(prompt)["input_ids"][:-1], *sequence[:done], *masks, *tail]
                    with torch.no_grad():
                        table = torch.log_softmax(lm.model(torch.tensor([ids])).logits[0].double(), -1)
                    log_p += float(table[start + done, token])
                total += np.exp(log_p)
            assert value == pytest.approx(np.log(total), abs=1e-5)


def test_sequence_to_sequence_answers_equal_brute_force(small_models: dict[str, Path]) -> None:
    lm: Any = load(small_models["t5"])
    rows = LMDecider(lm, SHORT).score(TEXTS)
    for row, text in zip(rows, TEXTS, strict=True):
        read = torch.tensor([lm.tokenizer(f"Q\n\n{text}\nAnswer:")["input_ids"]])
        for value, word in zip(row[2:], SHORT.words, strict=True):
            total = 0.0
            for sequence in token_sequences(lm, word):
                decoder = torch.tensor([[lm.start, *sequence[:-1]]])
                with torch.no_grad():
                    logits = lm.model(input_ids=read, decoder_input_ids=decoder).logits[0].double()
                table = torch.log_softmax(logits, -1)
                total += float(np.exp(sum(float(table[i, token]) for i, token in enumerate(sequence))))
            assert value == pytest.approx(np.log(total), abs=1e-5)


def test_batches_order_and_shared_beginnings_change_nothing(gpt2: Any, small_models: dict[str, Path]) -> None:
    decider = LMDecider(gpt2, SHORT)
    texts = [f"Is {place} {end}?" for place in ("France", "Nigeria") for end in ("kind", "lazy", "loyal", "honest")]
    rows = decider.score(texts)
    np.testing.assert_allclose(decider.score(texts[::-1])[::-1], rows, atol=1e-5)
    np.testing.assert_allclose(np.vstack([decider.score([text]) for text in texts]), rows, atol=1e-5)
    with leave_out("shared_prefixes"):
        plain = LMDecider(load(small_models["gpt2"]), SHORT).score(texts)
    assert "shared_prefixes" in decider.fast_parts
    np.testing.assert_allclose(plain, rows, atol=1e-5)


def test_what_a_language_model_cannot_do_is_refused(gpt2: Any, small_models: dict[str, Path]) -> None:
    with pytest.raises(InputError, match=r"tokens longer than .* can read"):
        LMDecider(gpt2, SHORT).score(["Is it? " * 40])
    with pytest.raises(InputError, match="with the same tokens, or cannot write them"):
        LMDecider(load(small_models["bert"]), AnswerSet("yes_no", ("%%", "&&"), "Q"))
    with pytest.raises(InputError, match="Load it once for each kind"):
        load_decider(LMDecider(gpt2, SHORT), CHOICE_ANSWERS)
    with pytest.raises(InputError, match="not a language model"):
        load_decider(3, SHORT)


def test_the_store_keeps_decisions_by_prompt(gpt2: Any) -> None:
    plain, fair = LMDecider(gpt2, SHORT), LMDecider(gpt2, SHORT, system="Be fair.")
    assert (
        plain.fingerprint != fair.fingerprint != LMDecider(gpt2, AnswerSet("yes_no", ("kind", "lazy"), "R")).fingerprint
    )
    assert ask(plain, TEXTS).scored == 3 and ask(plain, TEXTS).scored == 0
    assert ask(fair, TEXTS).scored == 3
    identity = fair.identity()
    assert identity.prompt is not None and identity.prompt["system"] == "Be fair."


def decide(function: Any, texts: list[str], answers: AnswerSet = YES_NO_ANSWERS) -> Decisions:
    return Decisions(answers, ask(load_decider(function, answers), texts).scores)


def test_a_function_that_decides_by_a_rule() -> None:
    decisions = decide(
        lambda prompts: ["Yes, it is." if "Chad" in text else "NO" for text in prompts], ["Chad?", "Togo?"]
    )
    assert decisions.shares.tolist() == [[1, 0], [0, 1]] and decisions.answered.tolist() == [1, 1]
    np.testing.assert_allclose(decisions.log_odds, [np.log(3), -np.log(3)])
    exact = decide(lambda prompts: [{"no": 0.2, "Yes": 0.6}] * len(prompts), ["Chad?"])
    np.testing.assert_allclose([exact.log_odds[0], exact.answered[0], exact.shares[0, 0]], [np.log(3), 0.8, 0.75])
    np.testing.assert_allclose(decide(lambda prompts: [0.25] * len(prompts), ["Chad?"]).shares, [[0.25, 0.75]])


def test_functions_that_always_agree_refuse_or_talk_nonsense() -> None:
    texts = ["Chad?", "Togo?"]
    agreeable = decide(lambda prompts: ["Yes"] * len(prompts), texts)
    assert (agreeable.log_odds > 0).all() and (agreeable.refusals == 0).all()
    refusing = decide(lambda prompts: ["I'm sorry, but I can't help with that."] * len(prompts), texts)
    assert (refusing.answered == 0).all() and (refusing.refusals == 1).all() and (refusing.log_odds == 0).all()
    assert np.isnan(refusing.shares).all()
    nonsense = decide(lambda prompts: ["Yesterday, bananas"] * len(prompts), texts)
    assert (nonsense.answered == 0).all() and (nonsense.refusals == 0).all()


def test_a_function_sees_instruction_system_prompt_and_text() -> None:
    prompts: list[str] = []

    def answer(texts: list[str]) -> list[str]:
        prompts.extend(texts)
        return ["no"] * len(texts)

    load_decider(answer, YES_NO_ANSWERS, system="Be fair.").score(["Is it?"])
    assert prompts[-1] == "Be fair.\n\nAnswer the question with yes or no.\n\nIs it?"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"yes": 0.9, "no": 0.3}, "sum to at most 1"),
        (-0.5, "at least 0"),
        ([-0.5, 1.5], "at least 0"),
        ([0.1, 0.2, 0.3], "Return one for each of yes, no"),
        (None, "Return words or probabilities"),
    ],
)
def test_bad_answers_of_functions(row: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_decider(lambda prompts: [row] * len(prompts), YES_NO_ANSWERS)


def test_numbers_have_an_expected_value() -> None:
    decisions = decide(lambda prompts: [{"2": 0.3, "8": 0.1}] * len(prompts), ["How many?"], NUMBER_ANSWERS)
    assert decisions.expected_number == pytest.approx([3.5]) and decisions.answered == pytest.approx([0.4])
    with pytest.raises(InputError, match="Return one for each of 1, 2, 3"):
        load_decider(lambda prompts: [0.5] * len(prompts), NUMBER_ANSWERS)
    words = decide(lambda prompts: ["7 weeks"] * len(prompts), ["How many?"], NUMBER_ANSWERS)
    assert words.expected_number.tolist() == [7.0]


@pytest.mark.parametrize(
    ("text", "answers", "choice"),
    [
        (" **Yes**, gladly", YES_NO_ANSWERS, 0),
        ("no.", YES_NO_ANSWERS, 1),
        ("Not at all", YES_NO_ANSWERS, None),
        ("", YES_NO_ANSWERS, None),
        ("(B)", CHOICE_ANSWERS, 1),
        ("A citizen of Chad", CHOICE_ANSWERS, None),
        ("A.", CHOICE_ANSWERS, 0),
        ("10 weeks", NUMBER_ANSWERS, None),
    ],
)
def test_answers_in_words(text: str, answers: AnswerSet, choice: int | None) -> None:
    assert answers.parse(text) == choice


def test_refusals_in_words() -> None:
    assert is_refusal("As an AI, I do not decide.") and is_refusal("I can’t say.")
    assert not is_refusal("It depends on the income.")


def test_log_odds_of_samples_and_of_exact_probabilities() -> None:
    counts = Decisions(YES_NO_ANSWERS, np.array([[10, 1, *np.log([0.6, 0.3])], [0, 0, *np.log([0.6, 0.4])]]))
    np.testing.assert_allclose(counts.log_odds, [np.log(6.5 / 3.5), np.log(1.5)])
