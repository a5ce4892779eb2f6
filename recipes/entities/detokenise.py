"""Write tokens as people write text: spaces, contractions, quotes, handles and faces put back.

The rules look at a word and its neighbours only, and each returns whether two words touch. They undo what the
tokenisers of the Broad Twitter Corpus and WNUT-17 did; `tweets.py` uses them.
"""

from __future__ import annotations

import html
import re

LINK = re.compile(r"(?:https?|ttps?|tps?)://[^\s”\"“’‘)\]]*|https?$|www\.\S+")
HANDLE = re.compile(r"@\w+")
# After a lone "@" these mean the word "at": "@ the game", "@ 7 pm".
AT_WORDS = set("the a an my your our his her their this that work home school me".split())
AT_WORDS |= {str(hour) for hour in range(1, 13)}
CLITIC = re.compile(r"(?:n['’]t|['’](?:s|m|d|re|ve|ll|em))", re.I)
CLITIC_TAIL = {"s", "t", "m", "d", "re", "ve", "ll"}
BEFORE_APOSTROPHE = set("b c d g l m o y ma".split())  # c'mon, D'Angelo, g'day, O'Neill, y'all, ma'am
FACE_EYES, FACE_MOUTHS = {":", ";", "="}, {")", "(", "D", "P", "p", "3", "O", "o", "|", "\\", "]", "["}
CLOSERS = re.compile(r"\.+|[!?]+|[,;:%)\]}…”»！？。、，]|''")
HYPHENED = set("year years year-old day week month hour minute night time mile man".split())  # "4-day"
OPENERS = set("( [ { “ ‘ « ¿ ¡".split())
TOGGLES = re.compile(r"[\"'*~_]{1,3}")
DOMAIN = re.compile(r"(?:com|org|net|ca|uk|dk|ie|co|au|nz|ly|tv)$")
EMOJI = re.compile(r"[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f\u200d\u2764]+")

Token = tuple[str, int | None]  # the text, and the number of the entity it belongs to (None: of none)


def is_handle(tokens: list[Token], i: int) -> bool:
    """Is the lone "@" at i the start of a handle, rather than the word "at"?"""
    if i + 1 >= len(tokens) or not re.match(r"\w+\.?$", tokens[i + 1][0]):
        return False
    if i and tokens[i - 1][0] in {"RT", "via", "by"}:
        return True
    entity, following = tokens[i + 1][1], tokens[i + 2][1] if i + 2 < len(tokens) else None
    place_of_two_words = tokens[i][1] is None and entity is not None and entity == following
    return not place_of_two_words and tokens[i + 1][0].lower() not in AT_WORDS


def merge(tokens: list[Token]) -> list[Token]:
    """Join what the tokeniser split inside a word: handles, hashtags, links, faces, "..." and HTML entities.

    Handles, hashtags and links lose their entity: they are never names.
    """
    words = [word for word, _ in tokens]
    out: list[Token] = []
    i = 0
    while i < len(tokens):
        word, entity = tokens[i]
        following = words[i + 1] if i + 1 < len(words) else ""
        step = 1
        if word == "'\"'":
            word = '"'
        elif word == "&" and following in {"amp", "gt", "lt"} and words[i + 2 : i + 3] == [";"]:
            word, step = html.unescape(f"&{following};"), 3
        elif word == "@" and is_handle(tokens, i):
            word, entity, step = "@user" + "." * following.endswith("."), None, 2
            while words[i + step : i + step + 1] == ["_"]:  # a handle split at its underscores
                step += 2
        elif word == "#" and re.match(r"\w", following):
            word, entity, step = "#" + following, None, 2
        elif re.search(r"https?$", word) and following.startswith("://"):
            word, entity, step = re.sub(r"https?$", " http", word).strip(), None, 2
        elif word in {"http", "https"} and following == ":":  # a link cut off
            word, entity, step = "http", None, 2 + (words[i + 2 : i + 3] in (["/"], ["…"]))
        elif word == "<" and following == "3":
            word, step = "<3", 2
        elif word in FACE_EYES and (face := read_face(words, i)):
            word, step = face, len(face)
        elif word in {".", "*", "~", "-", ">", "<"}:
            while words[i + step : i + step + 1] == [word] and step < 3:
                step += 1
            word *= step
        else:
            word = html.unescape(word)
            plain = HANDLE.sub("@user", LINK.sub(lambda link: "http" + "." * link[0].endswith("."), word))
            if plain != word or word.startswith("#"):
                word, entity = plain, None
        out.append((word, entity))
        i += step
    return out


def read_face(words: list[str], i: int) -> str:
    """The face (":)", ";-)", ":D") that starts at i, or ""; a bracket that has its partner is no face."""
    nose = words[i + 1] if words[i + 1 : i + 2] in (["-"], ["'"]) else ""
    mouth = "".join(words[i + 1 + len(nose) : i + 2 + len(nose)])
    before, after = words[:i], words[i + 2 + len(nose) :]
    if mouth not in FACE_MOUTHS or (words[i] == "=" and mouth not in "()D\\"):
        return ""
    if mouth in ")]" and before.count("(") + before.count("[") > before.count(")") + before.count("]"):
        return ""
    if mouth in "([" and (")" in after or "]" in after):
        return ""
    if mouth.isalnum() and after and re.match(r"[\w'.:%]", after[0]) and not after[0].startswith("http"):
        return ""
    return words[i] + nose + mouth


def join(words: list[str]) -> tuple[str, list[int]]:
    """Write the words with spaces where people put them; returns the text and each word's start."""
    text, starts = "", []
    opened: set[str] = set()
    glue = True  # whether the next word follows without a space
    for i, word in enumerate(words):
        before, after = words[i - 1] if i else "", words[i + 1] if i + 1 < len(words) else ""
        left, right = sticks_left(words, i), sticks_right(words, i)
        if TOGGLES.fullmatch(word) and not (left or right):
            unpaired = word == "'" and word not in opened and words[i:].count("'") % 2 == 1
            apostrophe = unpaired and before[-1:].isalpha()  # "the fans ' song"
            left = word in opened or apostrophe
            right = not left
            if not apostrophe:
                opened ^= {word}
        elif word in {"“", "”"}:  # one end is often typed straight
            opened = opened | {'"'} if word == "“" else opened - {'"'}
        elif re.match(r"[\"'*][^\W\d_]", word) and not CLITIC.fullmatch(word):
            opened.add(word[0])
        elif word[-1] in "\"'*" and word[0].isalnum():
            opened.discard(word[-1])
        text += "" if glue or left else " "
        starts.append(len(text))
        text += word
        glue = right and bool(after)
    return text, starts


def sticks_left(words: list[str], i: int) -> bool:
    """Does this word follow its predecessor without a space?"""
    word, before = words[i], words[i - 1] if i else ""
    after = words[i + 1] if i + 1 < len(words) else ""
    wordlike = before[-1:].isalnum()
    if (before.lower(), word.lower()) in {("gon", "na"), ("wan", "na"), ("got", "ta"), ("-", ">")}:
        return True
    if CLOSERS.fullmatch(word):
        return True
    if CLITIC.fullmatch(word) or word == "'d":
        return wordlike
    if word in {"'", "’"} and wordlike:
        return word == "’" or after.lower() in CLITIC_TAIL or before.lower() in BEFORE_APOSTROPHE
    if word == "n" and after in {"'", "’"} and words[i + 2 : i + 3] == ["t"]:
        return True
    if word == "/" and wordlike and after[:1].isalnum() and not before.startswith("http"):
        return after != "via"
    if word in {"-", "–"} and before.isdigit():
        return after.isdigit() or after in HYPHENED
    return bool(EMOJI.fullmatch(word) and (EMOJI.fullmatch(before) or "\ufe0f" in word))


def sticks_right(words: list[str], i: int) -> bool:
    """Does the next word follow this one without a space?"""
    word, before = words[i], words[i - 1] if i else ""
    after = words[i + 1] if i + 1 < len(words) else ""
    later = words[i + 2] if i + 2 < len(words) else ""
    if word in OPENERS or (word in {"$", "£", "€", "#"} and re.match(r"\d|[A-Z]+$", after)):
        return True
    if word in {"'", "’"} and before[-1:].isalnum():
        return after.lower() in CLITIC_TAIL or (before.lower() in BEFORE_APOSTROPHE and after[:1].isalpha())
    if word == "n" and after in {"'", "’"} and later == "t":
        return True
    if word in {"/", "-", "–"}:
        return sticks_left(words, i)
    if word in {".", ":"} and before.isdigit() and after.isdigit():
        return True
    if word == "," and before.isdigit() and re.fullmatch(r"\d{3}", after):
        return True
    if word == "." and len(before) == 1 and before.isalpha():
        return len(after) == 1 and after.isalpha() and later == "."  # U.S., E.G.
    if word == "." and before[-1:].isalpha() and after[:1].islower():
        return bool(DOMAIN.match(after)) or before.lower() == "www"
    if word == "." and not before:
        return after == "@user"
    return bool(re.fullmatch(r"\w+-", word) and after[:1].isalnum())  # Ex- + President
