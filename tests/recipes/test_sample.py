"""The sample of tweets: words that were marked as people are gone, and nothing else."""

from __future__ import annotations

from geobias.texts.user_texts import sample_texts
from recipes.entities.sample import NOT_NAMES, drop_words


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
    assert ("btc.dev.0604", "Ella") in people and ("btc.test.0178", "Jim Madden") in people
