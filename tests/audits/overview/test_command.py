"""`geobias audit` as a user types it, and `geobias.audit`."""

from __future__ import annotations

import json
import sys
import webbrowser
from pathlib import Path

import pytest
import skops.io
import transformers
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import geobias
from geobias.audits import pages
from geobias.audits.overview import design
from geobias.models.kinds import find_tasks
from tests.conftest import Run, build_small_model, save_random_model, spell

MODELS = """
def likely(texts):
    return [-len(text) / 8 - sum(text.encode()) % 7 for text in texts]

def judge(texts):
    good = [0.3 + sum(text.encode()) % 41 / 100 for text in texts]
    return [{"negative": 1 - p, "positive": p} for p in good]

def label(texts):
    return ["positive" if len(text) % 2 else "negative" for text in texts]

def share(texts):
    return [0.7 for _ in texts]

def broken(texts):
    raise ValueError("no weights")
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Functions and texts in the folder where the command is run, and audits of a few countries and words."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(MODELS, encoding="utf-8")
    (tmp_path / "words.txt").write_text("kind\nhonest\nlazy\n", encoding="utf-8")
    names = [f"Mary Smith and John Brown met on day {spell(i)}." for i in range(8)]
    (tmp_path / "reviews.csv").write_text("body,stars\n" + "\n".join(f"{text},3" for text in names), encoding="utf-8")
    (tmp_path / "nobody.txt").write_text(
        "".join(f"it rained on the {spell(i)} side\n" for i in range(8)), encoding="utf-8"
    )
    for options in (design.REGIONS, design.NAMES, design.DOWNSTREAM):
        monkeypatch.setitem(options, "countries", "FR,DE,NG,KE")
    monkeypatch.setitem(design.REGIONS, "words", "words.txt")
    monkeypatch.setitem(design.NAMES, "draws", 2)
    monkeypatch.setitem(design.DOWNSTREAM, "limit", 6)
    monkeypatch.setattr(design, "NAMED_TWEETS", 4)
    monkeypatch.delitem(sys.modules, "own", raising=False)
    return tmp_path


@pytest.fixture
def blank_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts take most of the time of a small run, and one test draws them."""
    monkeypatch.setattr(pages, "render_page", lambda runs: "<html></html>")


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small random classifier of Hugging Face."""
    folder = tmp_path_factory.mktemp("classifier")
    base = build_small_model("bert", tmp_path_factory.mktemp("base"))
    config = transformers.AutoConfig.from_pretrained(base, id2label={0: "negative", 1: "positive"})
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    return save_random_model(transformers.AutoModelForSequenceClassification, config, tokenizer, folder)


def runs(folder: str) -> list[str]:
    return [entry["path"] for entry in json.loads(Path(folder, "index.json").read_text(encoding="utf-8"))["runs"]]


@pytest.mark.usefixtures("blank_pages")
def test_the_bundled_models_get_every_audit(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = run("audit", "--out", "here")
    assert code == 0, err
    lines = out.splitlines()
    assert len(lines) <= 30 and max(map(len, lines)) <= 80
    assert "Names: 4 of the first 4 texts name people; 4 countries, 2 draws." in out
    assert "Downstream: the first 6 texts" in out and "Page: here/report.html" in out.splitlines()[-2:]
    assert runs("here") == ["regions", "names", "downstream"]
    results = {path: json.loads((here / "here" / path / "results.json").read_text()) for path in runs("here")}
    assert len(results["names"]["classifiers"]) == 4 and len(results["downstream"]["classifiers"]) == 1


@pytest.mark.usefixtures("blank_pages")
def test_each_kind_of_model_gets_what_fits(
    run: Run, here: Path, small_models: dict[str, Path], classifier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert find_tasks(small_models["bert"], has_labels=True) == ("language model",)  # a masked LM cannot be prompted
    assert find_tasks(small_models["t5"]) == ("language model",)
    assert find_tasks(small_models["gpt2"], has_labels=True) == ("language model", "classifier")
    assert find_tasks(str(classifier)) == ("classifier",)
    code, out, err = run("audit", small_models["bert"], small_models["gpt2"], classifier, "own:judge", classifier,
                         "--texts", "reviews.csv", "--column", "body", "--out", "here")  # fmt: skip
    assert code == 0, err
    assert "Names: 8 of the first 8 texts name people" in out and len(out.splitlines()) <= 40
    bert, gpt2, *classified = runs("here")
    assert bert.startswith("regions/") and gpt2.startswith("regions/") and bert != gpt2
    assert classified == ["names", "downstream"]
    names = json.loads((here / "here/names/results.json").read_text())
    assert [each["model"] for each in names["classifiers"]] == [str(classifier), "own:judge"]
    assert names["settings"]["texts"]["source"] == "reviews.csv"


@pytest.mark.usefixtures("blank_pages")
def test_labels_make_a_classifier_of_a_language_model(run: Run, here: Path, small_models: dict[str, Path]) -> None:
    code, _, err = run("audit", small_models["gpt2"], "--labels", "negative=lazy,positive=kind", "--out", "here")
    assert code == 0, err
    assert runs("here") == ["regions", "names", "downstream"]
    code, _, err = run("audit", "own:label", "--labels", "negative,positive", "--out", "labels")
    assert code == 0 and runs("labels") == ["names", "downstream"], err


@pytest.mark.usefixtures("blank_pages")
def test_texts_that_name_nobody_are_audited_without_names(run: Run, here: Path) -> None:
    code, out, err = run("audit", "own:judge", "--texts", "nobody.txt", "--out", "here")
    assert code == 0, err
    assert runs("here") == ["downstream"]
    code, shown, err = run("audit", "own:judge", "--texts", "nobody.txt", "--out", "here", "--json")  # the same again
    assert code == 0 and [each["audit"] for each in json.loads(shown)["runs"]] == ["downstream"], err
    code, _, err = run("audit", "own:likely", "--out", "here")
    assert code == 2 and "other settings" in err
    assert "Names: skipped. None of the 8 texts of nobody.txt names a person." in out


def test_a_scikit_learn_file_is_a_classifier(tmp_path: Path) -> None:
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression()).fit(["good day", "bad day"], ["good", "bad"])
    skops.io.dump(pipeline, tmp_path / "model.skops")
    assert find_tasks(tmp_path / "model.skops") == find_tasks(pipeline) == ("classifier",)


@pytest.mark.usefixtures("blank_pages")
def test_of_many_texts_those_that_name_people_are_found(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(design, "NAMED_TEXTS", 2)
    texts = ["it rained", "Mary Smith met John Brown.", "it snowed", "John Brown left.", "Mary Smith stayed."]
    overview = geobias.audit("own:judge", texts)
    assert "Names: 2 of the first 4 texts name people" in overview.scope[0]
    assert overview.results["names"].settings.texts.count == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nobody/no-such-model",), "There is no model"),
        (("own:likely", "./no-such-folder"), "There is no model folder"),
        (("own:likely", "own:nothing"), "There is no 'nothing'"),
        (("own:share",), "returned 0.7 for a text, which is neither a log-likelihood"),
        (("own:broken",), "no weights"),
        (("absent.skops",), "cannot be read"),
        (("model.pkl",), "is a pickle"),
        (("embedded/entities",), "Use `geobias find`"),
        (("own:judge", "--texts", "reviews.csv"), "body, stars"),
        (("own:judge", "--texts", "absent.csv"), "does not exist"),
        (("own:judge", "--column", "body"), "--column needs --texts"),
        (("own:likely", "--texts", "reviews.csv"), "--texts is only for classifiers"),
        (("own:likely", "--labels", "a,b"), "--labels is only for generative language models"),
        (("--labels", "a,b"), "--labels is only for generative language models"),
        (("own:judge", "--out", "own.py"), "is a file"),
    ],
)
def test_bad_input_is_one_line_before_anything_runs(
    run: Run, here: Path, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = run("audit", *arguments, *(() if "--out" in arguments else ("--out", "here")))
    assert code == 2 and message in err and err.count("\n") == 1, err
    assert out == "" and not Path("here").exists()


def test_a_model_without_a_usable_head_is_named(run: Run, here: Path, small_models: dict[str, Path]) -> None:
    config = json.loads((small_models["bert"] / "config.json").read_text())
    for head, message in (
        ("BertForTokenClassification", "`geobias find` audits token classifiers"),
        ("BertModel", "BertModel"),
    ):
        Path(head).mkdir()
        Path(head, "config.json").write_text(json.dumps(config | {"architectures": [head]}))
        code, _, err = run("audit", f"./{head}", "--out", "here")
        assert code == 2 and message in err and "cannot be audited" in err and not Path("here").exists()


def test_the_plan_is_of_all_audits_together(run: Run, here: Path, small_models: dict[str, Path]) -> None:
    code, out, err = run("audit", small_models["bert"], small_models["gpt2"], "own:judge", "--plan")
    assert code == 0, err
    plan = " ".join(out.split())
    assert plan.count("regions: ") == 2 and "names: own:judge" in plan and "downstream: own:judge" in plan
    assert "Total: at most" in plan and "is detected with 80 % power" in plan and not Path("runs").exists()


def test_the_python_function(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sys.path.insert(0, str(here))
    try:
        from own import judge, likely  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(here))
    overview = geobias.audit([likely, judge], ["Mary Smith met John Brown."] * 2, out="here")
    assert list(overview.results) == ["regions", "names", "downstream"]
    assert overview.results["names"].audit == "names"
    assert overview.findings == [each for result in overview.results.values() for each in result.findings]
    page = Path("here/report.html").read_text(encoding="utf-8")
    assert all(f'class="evidence" id="{audit}"' in page for audit in overview.results)
    assert repr(overview) == overview.summary() and "Page: " in overview.summary()
    assert overview._repr_html_().startswith("<div>")
    opened: list[str] = []

    def open_address(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", open_address)
    overview.open()
    assert opened[0].endswith("here/report.html")
    with pytest.raises(geobias.InputError, match="was not saved"):
        geobias.audit(judge, ["Mary Smith met John Brown."]).open()
    with pytest.raises(geobias.InputError, match="texts of one language"):
        geobias.audit(judge, {"en": ["Mary"], "fr": ["Marie"]})
