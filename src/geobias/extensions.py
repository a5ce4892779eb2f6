"""Names that other installed packages add: scorers, finders and audits, declared as entry points.

    [project.entry-points."geobias.scorers"]
    loudness = "my_package:score"          # then: geobias names loudness

A scorer or a finder is imported when its name is used; an audit whenever the command line starts, which needs its
options.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

SCORERS, FINDERS, AUDITS = "geobias.scorers", "geobias.finders", "geobias.audits"


@cache
def list_extensions(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name, sorted; of a name that several packages declare the last of them."""
    return {
        point.name: point for point in sorted(entry_points(group=group), key=lambda point: (point.name, point.value))
    }


def is_extension(group: str, name: str) -> bool:
    return name in list_extensions(group)


def find_extension(group: str, name: str) -> str:
    """Where the object of this name is, as module:attribute."""
    point = list_extensions(group)[name]
    return f"{point.module}:{point.attr}"
