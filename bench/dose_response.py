"""Which number about associations rises with what was planted, and is silent where nothing was?

    python -m bench.dose_response docs/figures/dose_response.md            # the simulated worlds
    python -m bench.dose_response docs/figures/dose_response.md FOLDER     # the models of bench.dose_training

Simulated worlds have known content: names, wording, fame and, in some countries, words of their own. The dose is the
size of these, from nothing to the largest of a cell. The trained models are those of dose_training.py. Candidates:

- ratio: root mean square of countries, divided by that of invented places;
- halves: the covariance of two halves of the paraphrases, countries minus invented places, as a signed root in nats;
- beyond names, beyond fame: the signals of the audit (`measures/association_signal.py`), in nats;
- countries: how many stand out by themselves, at a family-wise error of 5 %;
- together: minus log10 of the p-value of all countries together (`compare_together`), which ends at 3.6;
- tail: root mean square of what is beyond the 99.5th percentile of invented and known places.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from bench.dose_worlds import CANDIDATES, Kinds, Verdict, World, draw, judge, run_world
from geobias.measures.association import associate
from geobias.world.countries import find_country, load_country_names, load_entries
from geobias.world.places import load_known_places

SEEDS, NULLS, POWER_RUNS = 5, 200, 50
DOSES = (0.0, 0.25, 0.5, 0.75, 1.0)
SUBSETS, SUBSET_SIZES = 10, (4, 6, 8, 12)
SHOWN = ("ratio", "halves", "beyond_names", "beyond_fame", "together", "tail")
TRAINED = "## The bundled model, trained"
CELLS = {  # countries x words of each: nats at the highest dose
    (5, 2): 4.0,
    (5, 10): 2.0,
    (5, 40): 1.0,
    (40, 2): 2.0,
    (40, 10): 1.0,
    (40, 40): 0.6,
}


def measure_cells() -> Iterator[dict[str, object]]:
    """Spearman of every candidate with the dose, and the power of the overall answer at the highest doses."""
    for cell, largest in CELLS.items():
        for tokens in (1.0, 1.4):
            world = World(planted=cell, many_tokens=tokens, fame=0.2)
            verdicts = [
                (dose, verdict)
                for k, dose in enumerate(DOSES)
                for verdict in run_world(replace(world, size=dose * largest), SEEDS, first=1000 * k)
            ]
            doses = [dose for dose, _ in verdicts]
            spearman = {
                name: float(stats.spearmanr(doses, [getattr(verdict, name) for _, verdict in verdicts])[0])
                for name in CANDIDATES
            }
            power = [
                share([each.country_clear for each in run_world(replace(world, size=dose * largest), POWER_RUNS)])
                for dose in DOSES
            ]
            yield {
                "countries x words": f"{cell[0]} x {cell[1]}",
                "nats": largest,
                "names": "many tokens" if tokens > 1 else "alike",
                **{f"Spearman {name}": value for name, value in spearman.items()},
                "called country, by dose": ", ".join(power),
            }


NULL_WORLDS = {
    "names and wording only": World(),
    "247 countries": World(countries=247),
    "12 countries": World(countries=12),
    "heavy tails": World(heavy=True),
    "noisier long names": World(many_tokens=1.4),
    "12 paraphrases": World(paraphrases=12),
    "fame, known places as famous": World(fame=0.3),
    "fame, known places half as famous": World(fame=0.3, fame_of_known=0.5),
    "fame, known places a tenth as famous": World(fame=0.3, fame_of_known=0.1),
}


def measure_fame() -> Iterator[dict[str, object]]:
    """How often each statement is made where there is nothing, or fame only, and where countries are planted, too."""
    planted = World(planted=(40, 10), size=0.8)
    power = {f"{name}; planted": replace(world, planted=planted.planted, size=planted.size)
             for name, world in NULL_WORLDS.items() if name.startswith("fame")}  # fmt: skip
    for name, world in {**NULL_WORLDS, **power}.items():
        overlaps, verdicts = [], []
        for seed in range(NULLS):
            totals, proxies, lengths = draw(world, seed)
            low, high = np.quantile(proxies[1][:, 0], (0.05, 0.95))
            overlaps.append(((low <= proxies[0][:, 0]) & (proxies[0][:, 0] <= high)).mean() >= 0.5)
            verdicts.append(judge(totals, proxies, lengths))
        told = np.array(overlaps)
        yield {
            "world": name,
            "ratio above 1": share([each.ratio_clear for each in verdicts]),
            "more than a name": share([each.names_clear for each in verdicts]),
            "more than fame": share([each.fame_clear for each in verdicts]),
            "countries together": share([each.together_clear for each in verdicts]),
            "a single country": share([each.stands_out for each in verdicts]),
            "fame can be told apart": share(told),
            "called country": share([each.country_clear and can for each, can in zip(verdicts, told, strict=True)]),
        }


def measure_wording() -> Iterator[dict[str, object]]:
    """The verdict with random subsets of the paraphrases of one world, the same for all sizes."""
    worlds = {
        "nothing": World(paraphrases=14),
        "heavy tails": World(paraphrases=14, heavy=True),
        "fame only": World(paraphrases=14, fame=0.3),
        "40 x 10 planted": World(paraphrases=14, planted=(40, 10), size=0.8, fame=0.2),
        "40 x 2 planted": World(paraphrases=14, planted=(40, 2), size=2.0, fame=0.2),
        "5 x 2 planted": World(paraphrases=14, planted=(5, 2), size=4.0, fame=0.2),
    }
    for name, world in worlds.items():
        for size in SUBSET_SIZES:
            verdicts = [verdict for seed in range(10) for verdict in judge_subsets(*draw(world, seed), size, seed=seed)]
            yield describe_subsets(name, size, verdicts)


def judge_subsets(
    totals: Kinds, proxies: list[np.ndarray], lengths: list[np.ndarray], size: int, *, seed: int
) -> list[Verdict]:
    rng, count = np.random.default_rng(seed), len(totals[0])
    subsets = [rng.choice(count, size, replace=False) for _ in range(SUBSETS if size < count else 1)]
    return [judge((totals[0][rows], totals[1][rows], totals[2][rows]), proxies, lengths) for rows in subsets]


def describe_subsets(name: str, size: int, verdicts: Sequence[Verdict]) -> dict[str, object]:
    return {
        "world": name,
        "paraphrases": size,
        "ratio": np.mean([each.ratio for each in verdicts]),
        "beyond names": np.mean([each.beyond_names for each in verdicts]),
        "beyond fame": np.mean([each.beyond_fame for each in verdicts]),
        "clear": share([each.country_clear for each in verdicts]),
        "less": share([each.reverse_clear for each in verdicts]),
    }


Scored = tuple[dict[str, Any], Kinds, list[np.ndarray], list[np.ndarray]]


def read_scores(folder: Path, pattern: str) -> Iterator[Scored]:
    """The files of dose_training.py: each, and its log-likelihoods, proxies of fame, tokens of names."""
    places = json.loads((folder / "places.json").read_text(encoding="utf-8"))
    countries, known = len(places["countries"]), len(places["known"])
    names, entries = load_country_names(), load_entries()
    codes = [find_country(name, names, "{country} is missing.") for name in places["countries"]]
    sizes = {place.name: place.population for place in load_known_places()}
    population = np.log([max(int(entries[code].population), 1000) for code in codes])
    known_population = np.log([sizes[name] for name in places["known"]])
    for file in sorted(folder.glob(pattern)):
        run = np.load(file)
        parts = np.split(np.arange(run["totals"].shape[1]), [countries, countries + known])
        bare = run["bare"] * run["tokens"]
        proxies = [
            np.column_stack([bare[rows], size])
            for rows, size in zip(parts, (population, known_population), strict=False)
        ]
        lengths = [run["tokens"][rows].astype(float) for rows in parts]
        totals = tuple(run["totals"][:, rows].astype(float) for rows in parts)
        yield {"file": file.stem, **dict(run.items())}, (totals[0], totals[1], totals[2]), proxies, lengths


def read_trained(folder: Path) -> Iterator[Scored]:
    """The trained models, and what was planted in each."""
    for run, totals, proxies, lengths in read_scores(folder, "*x*-*.npz"):
        about = {key: run[key].item() for key in ("countries", "words", "dose", "seed")}
        yield {**about, "planted": run["planted"]}, totals, proxies, lengths


def measure_trained(folder: Path) -> Iterator[dict[str, Any]]:
    """Every run with the first four paraphrases, the audit's."""
    for about, totals, proxies, lengths in read_trained(folder):
        planted = np.asarray(about.pop("planted"))
        first = (totals[0][:4], totals[1][:4], totals[2][:4])
        value = associate(first[0]).mean(axis=0)
        verdict = judge(first, proxies, lengths)
        kinds = {
            "more than a name": verdict.names_clear,
            "more than fame": verdict.fame_clear,
            "countries together": verdict.together_clear,
            "a single country": verdict.stands_out,
            "a pair": verdict.pair_clear,
        }
        yield {
            "countries x words": f"{about['countries']} x {about['words']}",
            "dose": about["dose"],
            "seed": about["seed"],
            "size": float(np.exp(value[planted].mean())),
            **{name.replace("_", " "): getattr(verdict, name) for name in SHOWN},
            "clear": ", ".join(name for name, is_clear in kinds.items() if is_clear) or "nothing",
        }


def share(values: Sequence[bool] | np.ndarray) -> str:
    return f"{100 * np.mean(values):.0f} %"


def tabulate(rows: Sequence[dict[str, object]]) -> list[str]:
    if not rows:
        return ["Not measured."]
    cells = [[f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row.values()] for row in rows]
    lines = [" | ".join(rows[0]), "|".join(["---"] * len(rows[0])), *(" | ".join(row) for row in cells)]
    return [f"| {line} |" if "---" not in line else f"|{line}|" for line in lines]


def tabulate_trained(folder: Path) -> list[str]:
    """Every run; the rank correlations with the dose; the same verdict with random subsets of the paraphrases."""
    runs = list(measure_trained(folder))
    lines = tabulate(runs)
    for cell in sorted({run["countries x words"] for run in runs}):
        chosen = [run for run in runs if run["countries x words"] == cell]
        doses = [run["dose"] for run in chosen]
        names = [name.replace("_", " ") for name in SHOWN]
        found = {name: float(stats.spearmanr(doses, [run[name] for run in chosen])[0]) for name in names}
        shown = ", ".join(f"{name} {value:+.2f}" for name, value in found.items())
        lines += ["", f"Spearman with the dose, {cell}, {len(chosen)} runs: {shown}."]
    rows = []
    for about, totals, proxies, lengths in read_trained(folder):
        if about["seed"] == 0:
            name = f"{about['countries']} x {about['words']}, dose {about['dose']}"
            for size in SUBSET_SIZES:
                rows.append(describe_subsets(name, size, judge_subsets(totals, proxies, lengths, size, seed=0)))
    for run, totals, proxies, lengths in read_scores(folder, "models/*.npz"):
        for size in SUBSET_SIZES:
            verdicts = judge_subsets(totals, proxies, lengths, size, seed=0)
            rows.append(describe_subsets(f"{run['file']}, as it is", size, verdicts))
    caption = "Ten random subsets of the twelve paraphrases of one seed, and of real models as they are:"
    return [*lines, "", caption, "", *tabulate(rows)]


def main() -> None:
    file = Path(sys.argv[1])
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    simulated, _, trained = text.partition(TRAINED)
    if len(sys.argv) > 2:
        trained = "\n".join(["", "", *tabulate_trained(Path(sys.argv[2])), ""])
    else:
        lines = ["# Dose and response of associations", "", *(__doc__ or "").splitlines()[5:], ""]
        lines += ["## Simulated worlds: which number rises with the dose", "", *tabulate(list(measure_cells()))]
        lines += ["", "## Simulated worlds: names, fame and countries", "", *tabulate(list(measure_fame()))]
        lines += ["", "## Simulated worlds: subsets of paraphrases", "", *tabulate(list(measure_wording()))]
        simulated = "\n".join([*lines, "", ""])
    file.write_text(simulated + (TRAINED + trained if trained else ""), encoding="utf-8")


if __name__ == "__main__":
    main()
