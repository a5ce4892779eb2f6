"""The sample of tweets: words that were marked as people are gone, nothing else, and what ships is a random draw."""

from __future__ import annotations

from geobias.texts.user_texts import sample_texts
from recipes.entities.sample import BUNDLED, NOT_NAMES, draw_bundled, drop_words


def test_words_are_dropped_and_names_stay() -> None:
    tweet = {"id": "btc.dev.0604", "text": "Ella, righthererachel", "persons": [[0, 4], [6, 21]]}
    assert drop_words(tweet)["persons"] == [[0, 4]]
    assert drop_words({**tweet, "id": "btc.dev.0605"}) == {**tweet, "id": "btc.dev.0605"}


def test_the_bundled_tweets_have_no_such_word_as_a_person() -> None:
    tweets = sample_texts()
    assert tweets.spans is not None
    people = {
        (tweet, text[start:end])
        for tweet, text, spans in zip(tweets.ids, tweets.texts, tweets.spans, strict=True)
        for start, end in spans
    }
    assert len(NOT_NAMES) == 9 and not people & NOT_NAMES.keys()


def test_the_draw_keeps_the_order_and_takes_everywhere() -> None:
    tweets = [{"id": str(number)} for number in range(1874)]
    rows = [int(tweet["id"]) for tweet in draw_bundled(tweets)]
    assert len(rows) == len(set(rows)) == BUNDLED >= 600 and rows == sorted(rows)
    assert 0.35 < sum(row < 937 for row in rows) / BUNDLED < 0.65
