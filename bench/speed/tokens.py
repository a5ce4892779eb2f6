"""Tokens of a text with the benchmark's tokenizers, beside the real ones: `python -m bench.speed.tokens`.

The real ones are in blingfire (`pip install blingfire`), which holds vocabularies and fetches nothing. GPT-2's has no
token before a text; the benchmark's has one, and so it is counted for both.
"""

from __future__ import annotations

from pathlib import Path

import blingfire
import transformers

from bench.speed.models import folder_of
from bench.speed.work import WORKS, prepared

REAL = {
    "bert": ("bert_base_tok", 2),
    "xlmr": ("xlm_roberta_base", 2),
    "gpt2": ("gpt2", 1),
}  # and what it adds to a text
LONGEST = 512
EVERY = 97  # of the template sentences, of which there are 138,000


def main() -> None:
    parts = prepared()
    for name, (file, added) in REAL.items():
        model = blingfire.load_model(str(Path(blingfire.__file__).with_name(f"{file}.bin")))
        own = transformers.AutoTokenizer.from_pretrained(folder_of(name, parts))
        for work in WORKS[:3]:
            texts = parts.texts(work)
            some = [texts[i] for i in range(0, len(texts), EVERY if work == "aul" else 1)]
            real = sum(added + len(blingfire.text_to_ids(model, text, LONGEST, 0, True)) for text in some)
            ours = sum(map(len, own(some)["input_ids"]))
            print(
                f"{name:5} {work:9} real {real / len(some):6.2f}  here {ours / len(some):6.2f}  {ours / real - 1:+.1%}"
            )


if __name__ == "__main__":
    main()
