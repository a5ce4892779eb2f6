"""Measure whether the context of a span tells people from things, as a further test of doubtful spans (not bundled).

    python -m recipes.entities.context_check DATA CORPORA TWEETS [--masked]

DATA holds the tweet corpora and `names_by_country.tsv.gz`, CORPORA the pieces of Wikipedia; TWEETS is the folder
`finder/` that `tweets.py` writes. A logistic regression reads the hidden states of the bundled language model at a
span; with `--masked` the span is one [MASK], so that the name itself is not read. The finder's card has the results.

Examples from Wikipedia: the subject of an article, in sentences of that article. The first sentence tells
whether it is a person ("was a Polish painter") or a thing ("is a 1977 film"). Examples are used as written and with a
name of a random country in their place, people and things alike, and only where the bundled finder marks a
person. Then the gold spans of the train parts of the tweets, and the finder's wrong spans there.

Shown is what a threshold drops of the spans that the finder marks and the rules keep in the dev part of the marked
texts, and in btc.dev, wnut.dev and wnut.test, by which it is chosen; the same in the held-out marked texts, by which
nothing is chosen; then how much recall it costs by country, as in `evaluate_spans.py`.
"""

from __future__ import annotations

import argparse
import lzma
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from transformers import AutoModelForMaskedLM, AutoTokenizer

from geobias.models.finders import load_finder
from geobias.models.sources import embedded_folder
from geobias.texts.doubtful_spans import sort_spans
from geobias.texts.people import Span
from geobias.world.gazetteer import Gazetteer, load_gazetteer
from recipes.entities import tweets
from recipes.entities.augment import Names, other_person, read_names, replace
from recipes.entities.evaluate import COUNTRIES
from recipes.entities.evaluate_spans import Find, overlaps, read_marked
from recipes.entities.train import read_rows

LAYERS = (4, 8)  # whose hidden states are read
CONTEXT = 160  # characters before and after a span
BATCH_CONTEXTS = 64
LOST = (0.01, 0.02)  # shares of the people that a threshold may drop
SENTENCE_BREAK = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"])")
SUBJECT = re.compile(r"[A-Z][\w'’.-]+(?: [A-Z\d][\w'’.-]*){0,4}")
VERB = re.compile(r"\b(?:is|was|are|were)\b (.{0,80})")
LIFE_DATES = re.compile(r"\([^()]*?(?:born|\d{3,4}\s*[–-]|[A-Z][a-z]+ \d{1,2}, \d{4}|\d{1,2} [A-Z][a-z]+ \d{3,4})")
FICTION = re.compile(r"\b(?:fictional|character|protagonist)\b")
OCCUPATIONS = re.compile(
    r"\b(?:act(?:or|ress)|politician|singer|writer|author|poet|player|footballer|philosopher|king|queen|emperor|composer|"
    r"musician|painter|scientist|mathematician|physicist|general|president|director|journalist|novelist|bishop|"
    r"character|comedian|economist|chemist|engineer|lawyer|judge|leader|officer|pope|architect|guitarist|rapper|"
    r"wrestler|boxer|driver|cricketer|historian|inventor|explorer|theologian|prince|princess|protagonist|superhero|"
    r"monarch|producer|host|model|artist|drummer|songwriter|businessman|criminal|activist|scholar|astronaut|statesman|"
    r"minister|dictator|revolutionary|soldier|priest|monk|murderer|ruler|entrepreneur|playwright|screenwriter|"
    r"filmmaker|designer|programmer|dancer|violinist|pianist|conductor|sculptor|man|woman)\b"
)
PLACES = "city|town|village|county|river|island|mountain|lake|region|district"
THINGS = re.compile(
    rf"\b(?:({PLACES})|film|movie|novel|book|album|song|band|series|game|play|opera|magazine|newspaper|company|show|"
    r"musical|comics?|brand|team|club|party|university|school|ship|software|group|store|poem|television|computer|"
    r"corporation|franchise|program(?:me)?|car|aircraft|manufacturer)\b"
)
MOST = {"person": 8, "thing": 25, "place": 5}  # sentences of one article
SUBSTITUTED = {"person": 4000, "thing": 5000, "place": 1000}  # examples with another name
AS_WRITTEN = {"person": 3500, "thing": 2300, "place": 500}
WEIGHT_TWEET, WEIGHT_WRONG_SPAN = 2.0, 6.0  # of a gold span of a tweet, and of a wrong span of the finder
BATCH = 1000
PENALTY = 0.001  # inverse of the strength of regularisation
OTHER_ENTITIES = ("ORG", "corporation", "group", "product", "creative-work")


class Example(NamedTuple):
    text: str
    span: Span
    is_person: bool
    weight: float = 1.0


def read_articles(corpora: Path) -> Iterator[list[str]]:
    """The paragraphs of every article; the first is its title."""
    for file in sorted(corpora.glob("wikipedia-*.txt.xz")):
        with lzma.open(file, "rt", encoding="utf-8") as lines:
            yield from (article.split("\n") for article in lines.read().split("\n\n"))


def classify_subject(paragraphs: list[str]) -> tuple[str, str] | None:
    """The subject of an article and its kind ("person", "thing", "place"); None if the first sentence does not tell."""
    subject = re.sub(r"\s*\(.*?\)$", "", paragraphs[0].strip()).split(", ")[0]
    lead = SENTENCE_BREAK.split(paragraphs[1])[0] if len(paragraphs) > 2 else ""
    verb = VERB.search(lead)
    if verb is None or not SUBJECT.fullmatch(subject) or subject.startswith(("The ", "List ")):
        return None
    occupation, thing = OCCUPATIONS.search(verb[1]), THINGS.search(verb[1])
    if occupation and (LIFE_DATES.search(lead[: verb.start()]) or FICTION.search(verb[1])):
        return subject, "person"
    if thing and (occupation is None or thing.start() < occupation.start()):
        return subject, "place" if thing[1] else "thing"
    return None


def list_mentions(paragraphs: list[str], subject: str, kind: str, rng: random.Random) -> Iterator[tuple[str, Span]]:
    """Sentences that name the subject, a person also by one name; quotation marks around it are removed."""
    words = subject.split()
    forms = {subject} | ({words[0], words[-1]} if kind == "person" else set())
    pattern = "|".join(re.escape(form) for form in sorted(forms, key=lambda form: (-len(form), form)) if len(form) > 2)
    mention = re.compile(rf"(?<![\w'-])(?<![A-Z]\w\s)(?:{pattern})(?![\w-]|\s[A-Z])")
    sentences = [part for paragraph in paragraphs[2:] for part in SENTENCE_BREAK.split(paragraph)]
    rng.shuffle(sentences)
    left = MOST[kind]
    for sentence in sentences:
        matches = list(mention.finditer(sentence)) if pattern and left and 20 < len(sentence) < 260 else []
        if matches:
            left -= 1
            start, end = rng.choice(matches).span()
            if sentence[start - 1 : start] == sentence[end : end + 1] == '"':
                sentence = sentence[: start - 1] + sentence[start:end] + sentence[end + 1 :]
                start, end = start - 1, end - 1
            yield sentence, (start, end)


def draw_name(names: Names, rng: random.Random) -> str:
    """A first name, a last name or both, of a random country."""
    country = names[rng.choice(sorted(names))]
    first, last = rng.choice(country["first"]), rng.choice(country["last"])
    return rng.choices([first, last, f"{first} {last}"], [0.36, 0.24, 0.4])[0]


def read_wikipedia(corpora: Path, names: Names, find: Find, rng: random.Random) -> list[Example]:
    written: dict[str, list[Example]] = {kind: [] for kind in MOST}
    substituted: dict[str, list[Example]] = {kind: [] for kind in MOST}
    for paragraphs in read_articles(corpora):
        subject = classify_subject(paragraphs)
        for text, (start, end) in list_mentions(paragraphs, *subject, rng) if subject else ():
            kind, name = subject[1], draw_name(names, rng)
            written[kind].append(Example(text, (start, end), kind == "person"))
            renamed = text[:start] + name + text[end:]
            substituted[kind].append(Example(renamed, (start, start + len(name)), kind == "person"))
    training_examples = []
    for examples, most in ((written, AS_WRITTEN), (substituted, SUBSTITUTED)):
        for kind, of_kind in examples.items():
            rng.shuffle(of_kind)
            training_examples += keep_marked(of_kind, find, most[kind])
    return training_examples


def keep_marked(examples: list[Example], find: Find, most: int) -> list[Example]:
    """Those that the finder marks as people, up to a number."""
    marked: list[Example] = []
    for start in range(0, len(examples), BATCH):
        batch = examples[start : start + BATCH] if len(marked) < most else []
        rows = find([example.text for example in batch])
        marked += [example for example, spans in zip(batch, rows, strict=True) if overlaps(example.span, spans)]
    return marked[:most]


def read_tweets(data: Path, folder: Path, split: str, find: Find) -> list[Example]:
    """The gold entities of a part, and what the finder wrongly marks as a person."""
    known = {row["text"] for row in read_rows(folder / f"{split}.jsonl")}
    kinds = tweets.KINDS | dict.fromkeys(OTHER_ENTITIES, "others")
    rows = [tweets.convert(*tweet, Counter(), kinds) for tweet in tweets.read_conll(data / tweets.FILES[split])]
    rows = [row for row in rows if row["text"] in known]  # not the copies of other parts
    examples = []
    for row, spans in zip(rows, find([row["text"] for row in rows]), strict=True):
        for kind in ("persons", "places", "others"):
            examples += [Example(row["text"], tuple(span), kind == "persons", WEIGHT_TWEET) for span in row[kind]]
        wrong = [span for span in spans if not overlaps(span, row["persons"])]
        examples += [Example(row["text"], span, False, WEIGHT_WRONG_SPAN) for span in wrong]
    return examples


def list_clear_spans(rows: list[dict], find: Find, gazetteer: Gazetteer) -> list[Example]:
    """The finder's spans that the rules keep, and whether they are people."""
    return [
        Example(row["text"], span, overlaps(span, row["persons"]))
        for row, spans in zip(rows, find([row["text"] for row in rows]), strict=True)
        for span in sort_spans(row["text"], spans, gazetteer)[0]
    ]


def read_states(places: Sequence[tuple[str, Span]], *, masked: bool) -> np.ndarray:
    """spans x (layers x width): the mean hidden states of the bundled language model at the tokens of each span.

    NaN, which no threshold drops, for spans with characters that the model does not know.
    """
    folder = embedded_folder() / "lm"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForMaskedLM.from_pretrained(folder).base_model.eval()
    contexts = []
    for text, (start, end) in places:
        name = tokenizer.mask_token if masked else text[start:end]
        before = text[max(start - CONTEXT, 0) : start]
        contexts.append((before + name + text[end : end + CONTEXT], len(before), len(before) + len(name)))
    states = np.full((len(places), len(LAYERS) * model.config.hidden_size), np.nan)
    order = sorted(range(len(places)), key=lambda n: len(contexts[n][0]))
    for begin in range(0, len(order), BATCH_CONTEXTS):
        batch = order[begin : begin + BATCH_CONTEXTS]
        inputs = tokenizer(
            [contexts[n][0] for n in batch],
            padding=True,
            truncation=True,
            max_length=model.config.max_position_embeddings,
            return_tensors="pt",
        )
        with torch.inference_mode():
            layers = model(**inputs, output_hidden_states=True).hidden_states
        hidden = torch.cat([layers[layer] for layer in LAYERS], dim=-1).numpy()
        for row, n in enumerate(batch):
            _, start, end = contexts[n]
            encoding = inputs.encodings[row]
            inside = [k for k, (a, b) in enumerate(encoding.offsets) if a < end and start < b]
            if inside and tokenizer.unk_token_id not in [encoding.ids[k] for k in inside]:
                states[n] = hidden[row, inside].mean(axis=0)
    return states


def fit_regression(states: np.ndarray, examples: list[Example]) -> tuple[np.ndarray, float]:
    """Weights and intercept of the logistic regression, for states that are not standardised."""
    known = ~np.isnan(states[:, 0])
    is_person = np.array([example.is_person for example in examples])[known]
    scaler = StandardScaler().fit(states[known])
    regression = LogisticRegression(C=PENALTY, max_iter=1000)
    regression.fit(scaler.transform(states[known]), is_person, np.array([e.weight for e in examples])[known])
    weights = regression.coef_[0] / scaler.scale_
    return weights, float(regression.intercept_[0] - weights @ scaler.mean_)


def rename_people(rows: list[dict], country: dict[str, list[str]], seed: int) -> list[dict]:
    """The same tweets with names of one country, as in `evaluate_spans.py`."""
    rng = random.Random(seed)
    return [
        replace(row, {(s, e): other_person(row["text"][s:e], country, rng) for s, e in row["persons"]}) for row in rows
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for path in ("data", "corpora", "tweets"):
        parser.add_argument(path, type=Path)
    parser.add_argument("--masked", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    find, gazetteer = load_finder(), load_gazetteer()
    examples = read_wikipedia(args.corpora, read_names(args.data, held_out=False), find, random.Random(args.seed))
    for split in ("btc.train", "wnut.train"):
        examples += read_tweets(args.data, args.tweets, split, find)

    def read(spans: list[Example]) -> np.ndarray:
        return read_states([(example.text, example.span) for example in spans], masked=args.masked)

    weights, intercept = fit_regression(read(examples), examples)
    rows = {split: read_rows(args.tweets / f"{split}.jsonl") for split in ("btc.dev", "wnut.dev", "wnut.test")}
    marked = list_clear_spans(read_marked("dev"), find, gazetteer)
    corpora = list_clear_spans([row for split in rows.values() for row in split], find, gazetteer)
    held_out = list_clear_spans(read_marked("test"), find, gazetteer)
    log_odds = [read(spans) @ weights + intercept for spans in (marked, corpora, held_out)]
    is_person = [np.array([example.is_person for example in spans]) for spans in (marked, corpora, held_out)]
    thresholds = np.nanquantile(np.concatenate(log_odds[:2])[np.concatenate(is_person[:2])], LOST)
    print("| people dropped, of all | texts | people dropped | others dropped |\n|---|---|---|---|")
    for lost, threshold in zip(LOST, thresholds, strict=True):
        for texts, values, people in zip(
            ("marked, dev", "corpora", "marked, held out"), log_odds, is_person, strict=True
        ):
            counts = [f"{(values[which] < threshold).sum()} of {which.sum()}" for which in (people, ~people)]
            print(f"| {lost:.0%} | {texts} | {' | '.join(counts)} |", flush=True)

    named = [row for row in rows["btc.dev"] + rows["wnut.dev"] if row["persons"]][:500]
    names = read_names(args.data, held_out=True)
    print(f"\n| country | {' | '.join(f'points of recall lost at {lost:.0%}' for lost in LOST)} |\n|---|---|---|")
    for country in COUNTRIES:
        renamed = rename_people(named, names[country], args.seed)
        people = [example for example in list_clear_spans(renamed, find, gazetteer) if example.is_person]
        people_lost = ((read(people) @ weights + intercept)[:, None] < thresholds).sum(axis=0)
        persons = sum(len(row["persons"]) for row in renamed)
        print(f"| {country} | {' | '.join(f'{100 * lost / persons:.1f}' for lost in people_lost)} |", flush=True)


if __name__ == "__main__":
    main()
