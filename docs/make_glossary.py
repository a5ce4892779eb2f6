"""`docs/glossary.md`: the terms of the output, from `geobias.report.glossary`.

    python docs/make_glossary.py          # or: make docs

A test compares the file with `render_glossary()`.
"""

from __future__ import annotations

from pathlib import Path

from geobias.report.glossary import TERMS, TOPICS, Term

FILE = Path(__file__).with_name("glossary.md")
HEAD = f"""\
# Glossary

Every technical term of the terminal, the page, results.json and the commands: {len(TERMS)} terms. The same entries are
on the command line:

```
geobias explain C_w
```

On the page of a run, underlined terms show their definition.
"""


def render_glossary() -> str:
    """The whole page."""
    parts = [HEAD]
    for topic, terms in TOPICS.items():
        parts.append(f"## {topic}\n")
        parts += [_render_term(term) for term in sorted(terms, key=lambda term: term.id)]
    return "\n".join(parts)


def _render_term(term: Term) -> str:
    forms = f" ({', '.join(map(_escape, term.aliases))})" if term.aliases else ""
    text = " ".join(filter(None, (term.definition, term.note)))
    return f'<a id="{term.id}"></a>**{_escape(term.name)}**{forms}: {_escape(text)}\n'


def _escape(text: str) -> str:
    """Underscores, stars and angle brackets as they are; code in backticks keeps them."""
    pieces = text.split("`")
    for position in range(0, len(pieces), 2):
        for character in "_*<":
            pieces[position] = pieces[position].replace(character, f"\\{character}")
    return "`".join(pieces)


if __name__ == "__main__":
    FILE.write_text(render_glossary(), encoding="utf-8")
