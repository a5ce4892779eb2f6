"""Names that other installed packages add: scorers, finders and audits, declared as entry points.

    [project.entry-points."geobias.scorers"]
    loudness = "my_package:score"          # then: geobias names loudness

A scorer or a finder is imported when its name is used; an audit whenever the command line starts, which needs its
options.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from geobias.errors import InputError

SCORERS, FINDERS, AUDITS = "geobias.scorers", "geobias.finders", "geobias.audits"


@cache
def list_extensions(group: str) -> dict[str, list[EntryPoint]]:
    """The entry points of a group by name, sorted; a name that two packages declare has two."""
    points: dict[str, list[EntryPoint]] = {}
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, point.value)):
        points.setdefault(point.name, []).append(point)
    return points


def is_extension(group: str, name: str) -> bool:
    return name in list_extensions(group)


def find_extension(group: str, name: str) -> str:
    """Where the object of this name is, as module:attribute; refuse a name of several packages."""
    places = {f"{point.module}:{point.attr}": package_name(point) for point in list_extensions(group)[name]}
    if len(places) > 1:
        raise InputError(
            f"Several packages declare {name!r} in {group}: {', '.join(places.values())}. Uninstall all but one."
        )
    return next(iter(places))


def package_name(point: EntryPoint) -> str:
    """The package that declares an entry point, with its version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.module
