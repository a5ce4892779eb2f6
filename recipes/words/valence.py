"""Pack the ratings of single words of the VADER lexicon into the file that ships in the package.

    pip install vaderSentiment==3.3.2
    python -m recipes.words.valence src/geobias/world/data

OUT receives `valence.tsv.xz`: a word and its mean rating (-4 to 4) in each line. Emoticons, numbers and phrases are
left out: they describe nobody.
"""

from __future__ import annotations

import argparse
import lzma
import re
from importlib import metadata
from pathlib import Path

WORD = re.compile(r"[a-z]+(-[a-z]+)*")


def pack(lexicon: str) -> str:
    rows = (line.split("\t") for line in lexicon.splitlines())
    ratings = {row[0].lower(): float(row[1]) for row in rows if WORD.fullmatch(row[0].lower())}
    return "word\tvalence\n" + "".join(f"{word}\t{rating:g}\n" for word, rating in sorted(ratings.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description="Pack the ratings of words.")
    parser.add_argument("out", type=Path, metavar="OUT")
    out: Path = parser.parse_args().out
    package = metadata.distribution("vaderSentiment")
    lexicon = Path(str(package.locate_file("vaderSentiment/vader_lexicon.txt"))).read_text(encoding="utf-8")
    (out / "valence.tsv.xz").write_bytes(lzma.compress(pack(lexicon).encode(), preset=9))


if __name__ == "__main__":
    main()
