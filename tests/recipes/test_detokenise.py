"""The rules that put spaces back, on real token sequences of the corpora (handles changed)."""

from collections import Counter

import pytest

from recipes.entities.detokenise import join, merge
from recipes.entities.tweets import convert

CASES = [
    ("My dad thinks I ca n't hear him . . .", "My dad thinks I can't hear him..."),
    ("wo n ' t be playing . Glad she ' s safe", "won't be playing. Glad she's safe"),
    ("RT @ someone : @ other_one was so scares", "RT @user: @user was so scares"),
    (". @ someone tells @ other about it", ".@user tells @user about it"),
    ("About 98 . 2 % of $ 104 , for 6 , 814 , 823 now", "About 98.2% of $104, for 6,814,823 now"),
    ("loses 6 - 3 , 6 - 0 at 1 : 15 PM", "loses 6-3, 6-0 at 1:15 PM"),
    ("he '\"' never '\"' said ' it is fine ' to me", "he \"never\" said 'it is fine' to me"),
    ("Super Eagles ' Commitment", "Super Eagles' Commitment"),
    ("14 days till my birthday : )", "14 days till my birthday :)"),
    ("( lyric countdown pic # 8 coming ) ! Love", "(lyric countdown pic #8 coming)! Love"),
    ("River Foyle @ the bridge http://t.co/abc", "River Foyle @ the bridge http"),
    ("Hostageshttp ://t.co/x seen", "Hostages http seen"),
    ("In today 's Irish News : Ex- Dub Jason", "In today's Irish News: Ex-Dub Jason"),
    ("Cena / Ryder / Kane again http://t.co/x / via @ someone", "Cena/Ryder/Kane again http / via @user"),
    ("A . A . Milne and Mr . Plott of the U . S .", "A.A. Milne and Mr. Plott of the U.S."),
    ("& gt ; PSG tell Inter & amp ; Juve", "> PSG tell Inter & Juve"),
    ("It ’ s what you ’ d do , y ' all", "It’s what you’d do, y'all"),
    ("😂 😂 love it ! ! ! gon na go ?", "😂😂 love it!!! gonna go?"),
    ("O ' Neill has * really * gone", "O'Neill has *really* gone"),
]


@pytest.mark.parametrize(("tokens", "natural"), CASES)
def test_spaces(tokens: str, natural: str) -> None:
    text, starts = join([word for word, _ in merge([(word, None) for word in tokens.split()])])
    assert text == natural
    assert starts == sorted(starts)


def test_spans_skip_handles_and_trim_possessives() -> None:
    words = ["@", "someone", "President", "Obama", "'s", "talk", "on", "#Obama", "in", "Lagos"]
    tags = ["B-PER", "B-PER", "B-PER", "I-PER", "I-PER", "O", "O", "B-PER", "O", "B-LOC"]
    counts: Counter[str] = Counter()
    row = convert(words, tags, counts)
    assert row["text"] == "@user President Obama's talk on #Obama in Lagos"
    assert [row["text"][s:e] for s, e in row["persons"]] == ["President Obama"]
    assert [row["text"][s:e] for s, e in row["places"]] == ["Lagos"]
    assert counts["persons: handle, hashtag or link"] == 2
