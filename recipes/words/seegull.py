"""Pack SeeGULL's stereotypes of nationalities into the file that ships in the package.

    python -m recipes.words.seegull ../shared src/geobias/world/data

SHARED holds `data/seegull/stereotypes_global_v2.csv.gz`. OUT receives `seegull.tsv.xz`: a line per attribute and
country. The script prints counts only: the attributes are offensive.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import lzma
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from geobias.world.countries import load_country_names
from geobias.world.places import demonym_adjective, plural_demonym

VOTES = ("region_stereo", "region_nonstereo", "NA_stereo", "NA_nonstereo")
RATINGS = ("Annotation1", "Annotation2", "Annotation3")
HEADER = "attribute\tcode\tregion_stereo\tregion_nonstereo\tna_stereo\tna_nonstereo\toffensiveness\n"

# Identities that the file of demonyms spells in another way.
OTHER_SPELLINGS = {
    "Barundi": "BI",
    "Beninois": "BJ",
    "Bermudan": "BM",
    "Botswana": "BW",
    "Cabo Verdean": "CV",
    "Christmas Island": "CX",
    "Cocos Island": "CC",
    "Comorans": "KM",
    "Gibraltar": "GI",
    "Guernsey": "GG",
    "Laos": "LA",
    "Liechtensteiner": "LI",
    "Luxembourg": "LU",
    "Madagascan": "MG",
    "Myanmar": "MM",
    "Nepalese": "NP",
    "Netherlanders": "NL",
    "Philippine": "PH",
    "Saudi Arabian": "SA",
    "Singapore": "SG",
    "Slovakians": "SK",
    "Timorese": "TL",
    "United KingdomUK": "GB",
    "United States": "US",
}
# Parts of a country.
LEFT_OUT = {"English", "Herzegovinian", "Northern Irish", "Scottish", "Welsh", "Zanzibari"}


def list_identities() -> dict[str, str]:
    """The codes of countries by what SeeGULL calls their people."""
    demonyms = {
        name: code
        for code in load_country_names()
        for name in (demonym_adjective(code), plural_demonym(code))
        if name is not None
    }
    return demonyms | OTHER_SPELLINGS


def pack(rows: Iterable[dict[str, str]]) -> tuple[str, Counter[str]]:
    """Return the file's text, and how many rows of each identity were left out."""
    codes = list_identities()
    left_out: Counter[str] = Counter()
    votes: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * len(VOTES))
    ratings: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        if row["identity"] in LEFT_OUT:
            left_out[row["identity"]] += 1
            continue
        # Two names of one country ("Nepali", "Nepalese") are one country: their votes are added.
        pair = row["attribute"], codes[row["identity"]]
        votes[pair] = [total + int(row[column]) for total, column in zip(votes[pair], VOTES, strict=True)]
        # Not the source's mean: it is 0 where nobody rated the attribute, and wrong in 99 other rows.
        ratings[pair] += [float(row[column]) for column in RATINGS if row[column]]
    lines = [
        "\t".join(
            [*pair, *map(str, votes[pair]), f"{sum(values) / len(values):.3g}" if (values := ratings[pair]) else ""]
        )
        for pair in sorted(votes)
    ]
    return HEADER + "".join(f"{line}\n" for line in lines), left_out


def main() -> None:
    parser = argparse.ArgumentParser(description="Pack SeeGULL's stereotypes of nationalities.")
    parser.add_argument("shared", type=Path, metavar="SHARED")
    parser.add_argument("out", type=Path, metavar="OUT")
    arguments = parser.parse_args()
    source = arguments.shared / "data" / "seegull" / "stereotypes_global_v2.csv.gz"
    with gzip.open(source, "rt", encoding="utf-8", newline="") as file:
        text, left_out = pack(csv.DictReader(file))
    (arguments.out / "seegull.tsv.xz").write_bytes(lzma.compress(text.encode(), preset=9))
    print(f"{text.count(chr(10)) - 1} pairs; left out: {dict(left_out)}")


if __name__ == "__main__":
    main()
