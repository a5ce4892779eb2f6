"""What fields say of themselves: the string literals below them, in the JSON Schema and in `help()`."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Any

SECTION = re.compile(r"\n[A-Z][a-z ]+\n-{4,}\n")  # the heading of a numpydoc section
NOT_SAVED = re.compile(r"^Annotated\[(.*), \*NOT_SAVED\]$")
ATTRIBUTES = "\nAttributes\n----------\n"


def describe_fields(kind: type[Any]) -> dict[str, str]:
    """The string literals below the fields of a dataclass and its bases."""
    descriptions = {}
    for base in filter(is_dataclass, reversed(kind.__mro__)):
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        for node, below in pairwise(ast.iter_child_nodes(definition)):
            match node, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    descriptions[name] = inspect.cleandoc(text)
    return descriptions


class FieldDocs:
    """The `__doc__` of a class of results: its docstring, and a section "Attributes" of its fields and properties.

    The section is made when somebody reads it: parsing the sources takes longer than a command may take to start.
    """

    def __init__(self, docstring: str | None) -> None:
        self.docstring = inspect.cleandoc(docstring or "")

    def __get__(self, instance: object, kind: type[Any]) -> str:
        if ATTRIBUTES in self.docstring or "__match_args__" not in vars(kind):  # the dataclass is not made yet
            return self.docstring
        descriptions = describe_fields(kind)
        types = {each.name: NOT_SAVED.sub(r"\1", str(each.type)) for each in fields(kind)}
        entries: list[tuple[str, Any, str]] = [(name, types[name], descriptions.get(name, "")) for name in types]
        members = [item for base in kind.__mro__[:-1] for item in vars(base).items()]
        for name, member in dict(reversed(members)).items():  # `inspect.getmembers` would read this docstring, too
            if isinstance(member, property) and member.__doc__ and member.fget and not name.startswith("_"):
                entries.append((name, member.fget.__annotations__.get("return", ""), member.__doc__))
        lines = [f"{name} : {kind}\n{textwrap.indent(text, ' ' * 4)}" for name, kind, text in entries]
        first = SECTION.search(self.docstring)
        end = first.start() if first else len(self.docstring)
        return f"{self.docstring[:end].rstrip()}\n{ATTRIBUTES}" + "\n".join(lines) + f"\n{self.docstring[end:]}"
