"""Tokens of a text with the benchmark's tokenizers, compared with the real ones: `python -m bench.speed.tokens`.

The real ones are in blingfire (`pip install blingfire`), which holds vocabularies and fetches nothing. GPT-2's has no
token before a text; the benchmark's has one, and so it is counted for both.
"""

from __future__ import annotations

from pathlib import Path

import blingfire
import transformers

from bench.speed.models import folder_of
from bench.speed.work import WORKS, prepare_texts

REAL = {
    "bert": ("bert_base_tok", 2),
    "xlmr": ("xlm_roberta_base", 2),
    "gpt2": ("gpt2", 1),
}  # and what it adds to a text
LONGEST = 512
EVERY = 97  # of the template sentences, of which there are 138,000


def main() -> None:
    parts = prepare_texts()
    for name, (file, added_tokens) in REAL.items():
        model = blingfire.load_model(str(Path(blingfire.__file__).with_name(f"{file}.bin")))
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder_of(name, parts))
        for work in WORKS[:3]:
            texts = parts.texts(work)
            sample = [texts[i] for i in range(0, len(texts), EVERY if work == "aul" else 1)]
            real_ids = [blingfire.text_to_ids(model, text, LONGEST, 0, True) for text in sample]
            real = added_tokens + sum(map(len, real_ids)) / len(sample)
            bench = sum(map(len, tokenizer(sample)["input_ids"])) / len(sample)
            print(f"{name:5} {work:9} real {real:6.2f}  here {bench:6.2f}  {bench / real - 1:+.1%}")


if __name__ == "__main__":
    main()
