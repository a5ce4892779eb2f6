"""Pack CheckList's names by country, and how often an English text has each of them, into the file that ships.

    python -m recipes.names.make ../shared src/geobias/world/data

SHARED holds `data/names_by_country.tsv.gz` (country, kind, rank, name) and `corpora/wikipedia-*.txt.xz`. OUT receives
`names.tsv.xz`: a line per country and kind, with all names in order of rank, and their counts. The names stay as they
are in the source; `geobias.world.gazetteer` cleans them when it reads them, so that what was cleaned can be seen there.
It is the cleaned name that is counted, in its own case: "Will" at the beginning of a sentence counts, "will" does not.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import lzma
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from geobias.world.countries import load_country_names
from geobias.world.gazetteer import clean_name

# Countries that GeoNames calls by another name; why Congo is CD stands in the README beside the data.
OTHER_NAMES = {
    "Cape Verde": "CV",
    "Congo": "CD",
    "Czech Republic": "CZ",
    "East Timor": "TL",
    "Federated States of Micronesia": "FM",
    "São Tomé and Príncipe": "ST",
    "The Bahamas": "BS",
    "The Gambia": "GM",
    "Vatican City": "VA",
    "the Netherlands": "NL",
}
NO_CODE = {"Orange Free State"}
LETTERS = re.compile(r"[^\W\d_]+")

Names = dict[tuple[str, str], list[str]]  # by country and kind


def read_names(rows: csv.DictReader[str]) -> Names:
    names: Names = defaultdict(list)
    for row in rows:
        listed = names[row["country"].replace("_", " "), row["kind"]]
        listed.append(row["name"])
        if int(row["rank"]) != len(listed) or "|" in row["name"]:
            raise SystemExit(f"The rank is not the position, or the name holds a bar: {row}")
    return names


def count_names(names: Iterable[str], lines: Iterable[str]) -> Counter[str]:
    """How often each name is a word of the lines, or several words in a row."""
    single, longer = set[str](), defaultdict[str, list[str]](list)
    for name in names:
        words = LETTERS.findall(name)
        if [name] == words:
            single.add(name)
        elif words:
            longer[words[0]].append(name)
    counts = Counter[str]()
    for line in lines:
        for match in LETTERS.finditer(line):
            word = match[0]
            if word in single:
                counts[word] += 1
            for name in longer.get(word, ()):
                # What precedes the first word belongs to the name, too: an apostrophe, say.
                start = match.start() - name.index(word)
                end = start + len(name)
                if start >= 0 and line.startswith(name, start) and not line[end : end + 1].isalpha():
                    counts[name] += 1
    return counts


def pack(names: Names, counts: Counter[str]) -> str:
    known = load_country_names()
    codes = {name: code for code, name in known.items()} | OTHER_NAMES | dict.fromkeys(NO_CODE, "")
    lines = [
        (
            code := codes[country],
            known.get(code, country),
            kind,
            "|".join(listed),
            "|".join(str(counts[clean_name(name, kind)]) for name in listed),
        )
        for (country, kind), listed in names.items()
    ]
    header = ("code", "country", "kind", "names", "counts")
    return "".join("\t".join(line) + "\n" for line in [header, *sorted(lines)])


def read_lines(corpora: Path) -> Iterator[str]:
    for piece in sorted(corpora.glob("wikipedia-*.txt.xz")):
        with lzma.open(piece, "rt", encoding="utf-8") as file:
            yield from file


def main() -> None:
    parser = argparse.ArgumentParser(description="Pack the names by country.")
    parser.add_argument("shared", type=Path, metavar="SHARED")
    parser.add_argument("out", type=Path, metavar="OUT")
    arguments = parser.parse_args()
    with gzip.open(arguments.shared / "data" / "names_by_country.tsv.gz", "rt", encoding="utf-8", newline="") as file:
        names = read_names(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    cleaned = {clean_name(name, kind) for (_, kind), listed in names.items() for name in listed}
    text = pack(names, count_names(cleaned, read_lines(arguments.shared / "corpora")))
    # No time in the header of the archive: the same names give the same bytes.
    (arguments.out / "names.tsv.xz").write_bytes(lzma.compress(text.encode(), preset=9))


if __name__ == "__main__":
    main()
