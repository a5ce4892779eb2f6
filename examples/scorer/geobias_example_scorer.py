"""A scorer: `geobias names shouting` audits it like a bundled classifier."""


def classify(texts):
    """Return the probability of each label for each text: the share of upper-case letters."""
    return [{"shouting": share, "calm": 1 - share} for share in map(_share_of_capitals, texts)]


classify.fingerprint = "1"  # keeps the scores for later runs; change it with the function


def _share_of_capitals(text):
    letters = [letter for letter in text if letter.isalpha()]
    return sum(map(str.isupper, letters)) / max(len(letters), 1)
