"""Texts in another language than the finder or the prefix: told over all of them, never for English ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import geobias
from geobias.audits.doubts import count_other_languages, is_other_language
from geobias.errors import InputError
from geobias.report.findings import with_role
from geobias.texts.user_texts import sample_texts
from tests.conftest import Run, spell
from tests.models.mitigated.planted import has_name_of

SPANISH = [
    "Ayer compré un teléfono en la tienda de la esquina y hoy ya no funciona.",
    "La camarera fue muy amable y la comida estaba riquísima.",
    "Nunca contestaron a mis mensajes, no lo recomiendo a nadie.",
    "Buenísimo, volveré pronto.",
    "El hotel queda lejos de la playa pero el desayuno es excelente.",
    "Qué partido, vaya gol en el último minuto 😂 #fútbol",
    "@user no puedo más con este calor",
    "Mi hermana dice que la película le gustó mucho más que el libro.",
]
OTHERS = {
    "es": SPANISH,
    "fr": [
        "La livraison a pris trois semaines et personne ne répond au téléphone.",
        "Très bon restaurant, nous reviendrons avec les enfants.",
        "Je ne comprends pas pourquoi tout le monde aime ce film.",
    ],
    "de": [
        "Das Zimmer war sauber, aber leider viel zu laut.",
        "Der Verkäufer war sehr freundlich und hat uns alles erklärt.",
        "Nach zwei Tagen ging die Lampe kaputt, das Geld sehe ich wohl nie wieder.",
    ],
    "da": [
        "Maden var kold og vi ventede næsten en time på regningen.",
        "Jeg er meget glad for min nye cykel, den kører rigtig godt.",
        "Min bror synes at filmen var alt for lang.",
    ],
    "id": [
        "Makanannya enak sekali tetapi tempatnya agak jauh dari kota.",
        "Barang sudah sampai dengan selamat, terima kasih banyak.",
        "Saya kecewa karena pesanan datang terlambat dan rusak.",
    ],
    "sw": [
        "Chakula kilikuwa kitamu sana na wahudumu walikuwa wakarimu.",
        "Simu yangu iliharibika baada ya siku mbili tu.",
        "Sitarudi tena katika hoteli hii kwa sababu ni chafu.",
    ],
    "ar": ["كان الفندق نظيفا والطعام لذيذا.", "لم يصل الطلب حتى الآن."],
    "ja": ["部屋はとてもきれいでした。", "もう二度と買いません。"],
    "ru": ["Очень вкусно, обязательно придём ещё раз."],
}
ENGLISH = {
    "reviews": [
        "Great phone!",
        "Broke after two days.",
        "Would buy again",
        "meh",
        "5/5",
        "Mary was kind and helped me.",
    ],
    "shouted": ["BEST PHONE EVER", "DO NOT BUY THIS", "I WANT MY MONEY BACK"],
    "headlines": ["Stocks Fall As Fed Raises Rates", "Merkel Meets Trump In Berlin", "Kenya Wins In Eldoret"],
    "slang": [
        "omg lol kev ur sooo funnyyyy",
        "gonna b l8 2nite luv u mary xx",
        "smh bruh",
        "#blessed #mood @user",
        "🔥🔥",
    ],
    "names": ["John Smith", "Ngozi met Priya Sharma.", "Kowalski and Wójcik, Warszawa", "Ahmed Khan, Lahore"],
    "nothing": ["", "???", "12 34", "http://a.b/c"],
}


@pytest.mark.parametrize("size", [10, 30, 100, 10_000])
def test_it_is_silent_on_the_bundled_tweets(size: int) -> None:
    texts = sample_texts().texts
    assert not any(count_other_languages(texts[start : start + size]) for start in range(0, len(texts), size))


@pytest.mark.parametrize("texts", [*ENGLISH.values(), [text for texts in ENGLISH.values() for text in texts]])
def test_it_is_silent_on_english(texts: list[str]) -> None:
    assert count_other_languages(texts) == 0


@pytest.mark.parametrize("language", OTHERS)
def test_other_languages_are_counted(language: str) -> None:
    texts = OTHERS[language]
    assert count_other_languages(texts) == len(texts)
    assert (
        count_other_languages([*texts * 4, "👍", "#1"]) == 4 * len(texts) + 2
    )  # what has no word is as the others are


def test_the_texts_of_a_mixed_set_are_counted() -> None:
    english = list(sample_texts().texts[:40])
    for count in (8, 24, 40):
        assert count_other_languages(english + (SPANISH * 5)[:count]) == pytest.approx(count, abs=2)
    assert count_other_languages([*english, SPANISH[0]]) == 0  # one in forty may be anything


def judge(text_depends: Callable[[str], bool]) -> Any:
    """A classifier of English and of any other text that takes 0.2 off where `text_depends`."""

    def classify(texts: list[str]) -> np.ndarray:
        good = np.array([0.4 + 0.01 * (len(text) % 7) - 0.2 * text_depends(text) for text in texts])
        return np.column_stack([1 - good, good])

    classify.labels = ["negative", "positive"]  # type: ignore[attr-defined]
    return classify


dislike_poles = judge(lambda text: has_name_of(text.replace("قال", "met").replace("قابل", "met"), "PL"))
dislike_poland = judge(lambda text: "Poland" in text)
TEMPLATES = {
    "English": "Today number {} of all my friends met {} at work.",
    "Spanish": "Ayer el amigo número {} de mi hermana saludó a quien met {} at en la calle.",
    "Arabic": "قال صديقي رقم {} اليوم في العمل إنه met {} at السوق القديم في وسط المدينة",
}


def repeat(texts: list[str], times: int) -> list[str]:
    """Texts that are no copies of one another, which an audit would leave out: each ends with more marks."""
    return [f"{text} {'.' * n}" for n, text in enumerate(texts * times)]


def rows_with_spans(language: str, count: int = 24) -> list[dict[str, Any]]:
    texts = [TEMPLATES[language].format(spell(n), "Mary Smith") for n in range(count)]
    return [{"text": text, "spans": [[text.index("Mary"), text.index("Smith") + 5]]} for text in texts]


@pytest.mark.parametrize("texts", [repeat(OTHERS["ar"], 16), repeat(SPANISH, 4)])
def test_a_finder_of_english_is_not_asked_of_other_texts(texts: list[str]) -> None:
    message = "reads English; 32 of 32 texts are in another language .*give --finder or --spans"
    with pytest.raises(InputError, match=message):
        geobias.audit_names(dislike_poles, texts=texts, countries="PL,FR")
    with pytest.raises(InputError, match=message):
        geobias.mitigate(dislike_poles, texts=texts, method="blind", countries="PL,FR")
    with pytest.raises(InputError, match=message):  # nobody found by the finder that the user insists on
        geobias.audit_names(dislike_poles, texts=repeat(OTHERS["ar"], 16), finder="embedded/entities")


def test_the_command_says_so_in_one_line(run: Run, tmp_path: Any) -> None:
    (tmp_path / "ar.txt").write_text("\n".join(repeat(OTHERS["ar"], 16)), encoding="utf-8")
    code, _, err = run("names", "embedded/sentiment", "--texts", "ar.txt", "--out", "here")
    assert code == 2 and err.count("\n") == 1 and "32 of 32 texts" in err and not (tmp_path / "here").exists()


def audit_names(rows: Any, **options: Any) -> geobias.NamesResult:
    countries = ("PL", "FR", "IT", "DE", "ES", "TR")
    return geobias.audit_names(dislike_poles, texts=rows, countries=countries, draws=6, **options)


@pytest.mark.parametrize(("language", "is_doubted"), [("English", False), ("Spanish", False), ("Arabic", True)])
def test_latin_names_in_texts_of_another_script(language: str, is_doubted: bool) -> None:
    result = audit_names(rows_with_spans(language), spans="spans")
    cautions = " ".join(finding.sentence for finding in with_role(result.findings, "caution"))
    assert ("Latin script are put into 24 of 24 texts" in cautions) is is_doubted
    assert "The finder reads English" not in cautions  # spans were given
    (answer,) = with_role(result.findings, "overall")
    assert answer.evidence == ("suggestive" if is_doubted else "clear")
    assert is_doubted or any(finding.evidence == "clear" for finding in result.findings)
    assert not (is_doubted and any(finding.evidence == "clear" for finding in result.findings))


def test_a_finder_of_english_in_some_other_texts() -> None:
    english = [row["text"] for row in rows_with_spans("English", 24)]
    assert with_role(audit_names(english).findings, "overall")[0].evidence == "clear"
    result = audit_names([*english, *SPANISH])
    (answer,) = with_role(result.findings, "overall")
    assert answer.evidence == "suggestive" and result.language_doubts[0].share == 0.25
    assert "8 of 32 texts are in another language" in with_role(result.findings, "caution")[0].sentence


@pytest.mark.parametrize(
    ("texts", "prefix", "is_doubted"),
    [
        (repeat(ENGLISH["reviews"], 4), None, False),
        (repeat(SPANISH, 3), None, True),
        (repeat(SPANISH, 3), ["Soy de {region}.", "Vivo en {region}.", "Vengo de {region} para esto."], False),
        (repeat(OTHERS["ar"], 12), None, True),
    ],
)
def test_an_english_prefix_before_texts_of_another_language(
    texts: list[str], prefix: list[str] | None, is_doubted: bool
) -> None:
    countries = "PL,FR,IT,DE,ES,TR,MX,CA"
    result = geobias.audit_downstream(dislike_poland, texts=texts, prefix=prefix, countries=countries)
    (answer,) = with_role(result.findings, "overall")
    assert answer.subject == "Poland" and answer.evidence == ("suggestive" if is_doubted else "clear")
    cautions = [finding.sentence for finding in with_role(result.findings, "caution")]
    assert any("24 of 24 texts are in another language" in sentence for sentence in cautions) is is_doubted


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("People in {region} are {description}.", False),
        ("In {region}, most people {description}.", False),
        ("{region}: {description}", False),  # no sentence to tell
        ("Les gens de {region} sont {description}.", True),
        ("Die Menschen in {region} sind {description}.", True),
        ("Ludzie w {region} są {description}.", True),
    ],
)
def test_the_language_of_a_template(template: str, expected: bool) -> None:
    assert is_other_language(template) == expected
