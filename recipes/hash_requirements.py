"""Write requirements-container.txt: what geobias needs, in the versions of constraints.txt, with the hash of each file.

    make hashes        # with the Python of the Dockerfile, on Linux x86-64

With these hashes pip installs the files that were chosen here and no others, whatever an index offers later. They are
of wheels for one Python and platform, those of the container and of the release's build. `make audit` does not use
them: pip refuses editable installs with hashes. torch is left out with what only its GPU builds need: the container has
the CPU build, from another index.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1]
FILE = PROJECT / "requirements-container.txt"
LEFT_OUT = re.compile("torch|triton|(nvidia|cuda)-.*")
HEADING = "# Versions and hashes for Python {}.{} on Linux x86-64, without torch: written by `make hashes`.\n"


def main() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    requirements = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    options = ["--dry-run", "--quiet", "--ignore-installed", "--only-binary=:all:", "--report", "-"]
    command = [sys.executable, "-m", "pip", "install", *options, "--constraint", str(PROJECT / "constraints.txt")]
    report = subprocess.run([*command, *requirements], check=True, stdout=subprocess.PIPE).stdout
    lines = []
    for item in json.loads(report)["install"]:
        name = re.sub("[-_.]+", "-", item["metadata"]["name"]).lower()
        if not LEFT_OUT.fullmatch(name):
            digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
            lines.append(f"{name}=={item['metadata']['version']} --hash=sha256:{digest}\n")
    FILE.write_text(HEADING.format(*sys.version_info) + "".join(sorted(lines)), encoding="utf-8")


if __name__ == "__main__":
    main()
