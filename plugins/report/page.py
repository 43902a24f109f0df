"""The frame of every offline page: one file that loads nothing, light or dark as the reader's system is."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from .printable import one_line

LONGEST = 2_000
"""Characters of one string from outside that a page shows."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; font: 14px/1.45 system-ui, sans-serif }
body { max-width: 76rem; margin: 2rem auto; padding: 0 1rem }
h1, h2, h3, p { overflow-wrap: anywhere }
h1 { font-size: 1.25rem } h2 { font-size: 1.05rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100%; table-layout: fixed }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; overflow-wrap: anywhere }
th, td { border-bottom: 1px solid #8885 }
code, .d { font: 12px/1.5 ui-monospace, monospace } .d { opacity: .8 } .dim { opacity: .7 }
"""


def page(title: str, style: str, body: Iterable[str]) -> str:
    """The whole page; `body` is HTML, `title` is text from outside."""
    head = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        f"<title>{text(title)}</title><style>{_STYLE}{style}</style></head><body>",
        f"<h1>{text(title)}</h1>",
    ]
    return "\n".join([*head, *body, "</body></html>"]) + "\n"


def text(value: str) -> str:
    """One line of at most `LONGEST` characters, escaped for text and attribute alike."""
    return escape(one_line(value[:LONGEST]), quote=True)


def path_text(value: str) -> str:
    """The same for a path: where it is longer than its line, it breaks between folders and not inside a word."""
    return text(value).replace("/", "/<wbr>")
