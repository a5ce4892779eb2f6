from __future__ import annotations

import pytest

from recipes.words.seegull import pack


def make_row(identity: str, votes: str, ratings: str = "") -> dict[str, str]:
    numbers = dict(zip(("region_stereo", "region_nonstereo", "NA_stereo", "NA_nonstereo"), votes, strict=True))
    cells = ratings.split(",") if ratings else ["", "", ""]
    annotations = {f"Annotation{number}": cell for number, cell in enumerate(cells, 1)}
    return {"identity": identity, "attribute": "tall", "mean offensiveness_score": "0"} | numbers | annotations


def test_the_recipe_adds_names_of_one_country_and_leaves_out_parts() -> None:
    rows = [
        make_row("Nepali", "1203", "4,4,-1"),
        make_row("Nepalese", "3021", "1,1,1"),
        make_row("Scottish", "1111"),
        make_row("Netherlanders", "0312"),
    ]
    text, left_out = pack(rows)
    assert text.splitlines()[1:] == ["tall\tNL\t0\t3\t1\t2\t", "tall\tNP\t4\t2\t2\t4\t1.67"]
    assert left_out == {"Scottish": 1}
    with pytest.raises(KeyError, match="Atlantean"):
        pack([make_row("Atlantean", "1111")])
