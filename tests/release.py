"""Install built files into empty environments of this Python and run a smoke audit in each.

    python3.14 tests/release.py dist/geobias-0.2.0-py3-none-any.whl dist/geobias-0.2.0.tar.gz

`make test-release` builds the files and does this for every Python in PYTHONS. Versions are those that pip chooses for
a user: set PIP_CONSTRAINT to fix some. No package but those that geobias needs is there.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

AUDITS = (
    "names embedded/sentiment --limit 30 --draws 4 --countries FR,KE,MA,ES",
    "regions --countries DE,ES,FR,GH,KE,NG --cities 0 --no-placebo --paraphrases 0",
)
PACKAGES = ("torch", "transformers", "numpy", "pandas", "spacy")
READ_VERSIONS = (
    f"from importlib.metadata import version as v\nprint(*(f'{{p}} {{v(p)}}' for p in {PACKAGES}), sep=', ')"
)


def check_file(file: Path) -> None:
    """Install one file into an empty environment, and check its commands and their exit codes."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        venv.create(folder / "environment", with_pip=True)
        binaries = folder / "environment" / ("Scripts" if os.name == "nt" else "bin")
        python = binaries / "python"
        run(folder, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", file)
        packages = run(folder, python, "-c", "import geobias; print(geobias.__path__[0])").strip()
        run(folder, python, "-W", "error", "-m", "compileall", "-q", "-f", packages)  # a SyntaxWarning is a failure
        geobias = binaries / "geobias"
        version = file.name.removesuffix(".tar.gz").split("-")[1]
        assert run(folder, geobias, "--version").split()[-1] == version
        assert "CC BY-SA 4.0" in run(folder, geobias, "explain", "models")
        for audit in AUDITS:
            name = audit.split()[0]
            run(folder, geobias, *audit.split(), "--out", name)
            results = json.loads((folder / name / "results.json").read_text(encoding="utf-8"))
            assert (folder / name / "report.html").is_file()
            print(f"  {results['findings'][0]['sentence']}")
        run(folder, geobias, "gate", "names", "--rule", "names.sentiment.delta.worst < 199")
        run(folder, geobias, "gate", "names", "--rule", "names.sentiment.delta.worst <= 0", code=1)
        run(folder, geobias, "names", "no/such/model", code=2)
        versions = run(folder, python, "-c", READ_VERSIONS).strip()
        print(f"Python {platform.python_version()}, {file.name}: passed ({versions})", flush=True)


def run(folder: Path, *command: str | Path, code: int = 0) -> str:
    """Run a command in a folder; return its standard output, or stop if its exit code is another."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV")  # nothing of the source tree
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {"GEOBIAS_CACHE": str(folder / "cache"), "HF_HUB_OFFLINE": "1"}
    finished = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if finished.returncode != code:
        sys.exit(f"{' '.join(map(str, command))}: exit code {finished.returncode}\n{finished.stdout}{finished.stderr}")
    return finished.stdout


if __name__ == "__main__":
    for name in sys.argv[1:]:
        check_file(Path(name).resolve())
