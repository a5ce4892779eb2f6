"""Scenarios with known effects: simulated answers of a classifier to renamed texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from geobias.measures.crossed_variance import NameUnits

NAMES = 60  # in each list: men's, women's and last names
FEMALE_SHARE = 0.375  # of draws: a quarter of texts name a woman, a quarter somebody whose gender is not known

NameEffects = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def normal_effects(spread: float) -> NameEffects:
    return lambda rng, shape: rng.normal(0, spread, shape)


NORMAL = normal_effects(2.0)


def heavy_tailed_effects(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Student's t with 3 degrees of freedom, of standard deviation 2."""
    return 2 * rng.standard_t(3, shape) / np.sqrt(3)


def few_large_effects(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """One name in twenty is disliked by 20 points; the mean is 0."""
    return np.where(rng.random(shape) < 0.05, -20.0, 0.0) + 1.0


@dataclass(frozen=True)
class World:
    """Standard deviations of effects in points of Delta, and the effect planted on the first country."""

    name: str
    name_effects: NameEffects = NORMAL
    text_by_country: float = 0.5
    text_by_name: float = 0.0
    text: float = 5.0
    noise: float = 3.0
    planted: float = 0.0
    planted_on: str = "all"  # all answers, "women" (women's names) or "negative texts"
    saturated: bool = False  # answers near -100 or 100: effects are on the scale of logits

    def truth(self, countries: int) -> np.ndarray:
        share = {"all": 1.0, "women": FEMALE_SHARE, "negative texts": 0.5}[self.planted_on]
        return np.where(np.arange(countries) == 0, share * self.planted, 0.0)


WORLDS = [
    World("names have no effect", normal_effects(0.0)),
    World("normal name effects"),
    World("heavy-tailed name effects", heavy_tailed_effects),
    World("few names with large effects", few_large_effects),
    World("text x country, no mean effect", text_by_country=5.0),
    World("text x name", text_by_name=4.0),
    # CrossedVariance.variance_components of the bundled classifiers: 60 to 100 tweets, 17 countries, 4 to 8 draws.
    World("as measured: bundled sentiment", normal_effects(4.0), 1.9, text=14.6, noise=8.0),
    World("as measured: bundled hate", normal_effects(0.8), 1.4, text=3.6, noise=2.6),
    World("as measured: bundled offensive", normal_effects(1.4), 1.0, text=2.6, noise=1.8),
    World("as measured: bundled emotion", normal_effects(4.4), 4.2, text=11.3, noise=8.7),
    World("saturated classifier", normal_effects(0.3), 0.3, text=6.0, noise=0.3, saturated=True),
    World("planted: one country, 3 points", planted=3.0),
    World("planted: women of one country, 6 points", planted=6.0, planted_on="women"),
    World("planted: negative texts, 6 points", planted=6.0, planted_on="negative texts"),
]


class Layout:
    """Which names the versions of each text show; names are drawn from lists of 60.

    A quarter of the texts shows a man's first name, a quarter a woman's, a quarter a man's first and last name, and a
    quarter first and last names of men and women in turn. No name returns in a text before the list is used up.
    """

    def __init__(self, texts: int, countries: int, draws: int, rng: np.random.Generator) -> None:
        self.shape = shape = (texts, countries, draws)
        order = np.argsort(rng.random((3, texts, countries, NAMES)), axis=-1)
        text_kind = rng.integers(0, 4, texts)[:, None]
        draw = np.arange(draws)
        in_turn = (rng.integers(0, 2, texts)[:, None] + draw) % 2
        gender = np.select([text_kind == 1, text_kind == 2], [1, in_turn], 0)
        position = np.where(text_kind == 2, draw // 2, draw) % NAMES
        self.gender, position = (np.broadcast_to(each[:, None, :], shape) for each in (gender, position))
        text, self.country = np.arange(texts)[:, None, None], np.arange(countries)[None, :, None]
        self.first = order[self.gender, text, self.country, position]
        self.last = order[2, text, self.country, np.broadcast_to(draw % NAMES, shape)]
        self.has_last = np.broadcast_to((text_kind >= 2)[:, :, None], shape)

    @property
    def units(self) -> NameUnits:
        per_kind = self.shape[1] * NAMES
        answer = np.arange(self.first.size).reshape(self.shape)
        first_unit = self.gender * per_kind + self.country * NAMES + self.first
        last_unit = 2 * per_kind + self.country * NAMES + self.last
        return NameUnits(
            np.concatenate([answer.ravel(), answer[self.has_last]]),
            np.concatenate([first_unit.ravel(), last_unit[self.has_last]]),
            np.repeat(np.arange(3), per_kind),
        )

    def draw_answers(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """texts x countries x draws of answers minus those to the originals."""
        texts, countries, draws = self.shape
        effects = world.name_effects(rng, (3, countries, NAMES))
        last_effects = np.where(self.has_last, effects[2, self.country, self.last], 0)
        values = effects[self.gender, self.country, self.first] + last_effects
        if world.text_by_name:
            # A text shows no first name twice in so few draws: each answer has its own effect.
            assert draws <= NAMES
            values = values + rng.normal(0, world.text_by_name, self.shape)
        text_effect = rng.normal(0, world.text, (texts, 1, 1))
        is_planted = {"all": True, "women": self.gender == 1, "negative texts": text_effect < 0}[world.planted_on]
        values = values + np.where((self.country == 0) & is_planted, world.planted, 0.0)
        values = values + rng.normal(0, world.text_by_country, (texts, countries, 1))
        values = values + rng.normal(0, world.noise, self.shape)
        if world.saturated:
            return np.asarray(100 * (np.tanh(text_effect + values) - np.tanh(text_effect)))
        return np.asarray(values + text_effect)


def draw_answers(
    world: World, texts: int, countries: int, draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, NameUnits]:
    """Answers to texts that are drawn anew, and the names that they show."""
    layout = Layout(texts, countries, draws, rng)
    return layout.draw_answers(world, rng), layout.units
