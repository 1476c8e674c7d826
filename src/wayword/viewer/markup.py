"""HTML that cannot be broken by what it shows: every text is escaped unless it was made here.

    >>> tag("p", "1 < 2 & ", tag("b", "so"), class_="note")
    '<p class="note">1 &lt; 2 &amp; <b>so</b></p>'

A page carries its style and its script inside, and a Content-Security-Policy that allows these two
by their SHA-256 and nothing else: no other script runs and nothing is fetched, whatever a text
holds (W3C, Content Security Policy Level 3, section 6.7). A served page may ask its own server.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files

from wayword.core.episode import Json


class Html(str):
    """Text that is markup already: made by ``tag``, never by a caller."""

    __slots__ = ()


Child = str | None
"""``Html`` is taken as it is, other text is escaped, None is left out."""

_VOID = frozenset({"meta", "br", "img", "input", "link", "hr"})

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
"""Control characters, marks that turn the direction of writing, and halves of surrogate pairs."""


def visible(text: str) -> str:
    """The text with its invisible characters shown: ``\\0`` as ``␀``, U+202E as ``⟨U+202E⟩``."""
    return _HIDDEN.sub(_shown, text)


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return f"⟨U+{code:04X}⟩"


def tag(name: str, /, *children: Child, **attributes: str | float | bool | None) -> Html:
    """An element. ``class_`` and ``for_`` are ``class`` and ``for``; ``data_step`` ``data-step``.

    An attribute that is None or False is left out, and one that is True has no value.
    """
    opened = "".join(
        _attribute(key, value)
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID:
        return Html(f"<{name}{opened}>")
    return Html(f"<{name}{opened}>{join(children)}</{name}>")


def join(children: Iterable[Child], between: str = "") -> Html:
    """Several children as one."""
    return Html(between.join([_escaped(child) for child in children if child is not None]))


def _escaped(child: str) -> str:
    return child if isinstance(child, Html) else _safe(str(child))


def _safe(text: str) -> str:
    return _short(text) if len(text) < _SHORT else html.escape(visible(text), quote=True)


_SHORT = 80


@lru_cache(maxsize=4_000)
def _short(text: str) -> str:
    """Kept, as a page says the same few names thousands of times: half of the time it takes."""
    return html.escape(visible(text), quote=True)


@lru_cache(maxsize=500)
def _named(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _attribute(key: str, value: str | float | bool) -> str:
    name = _named(key)
    if value is True:
        return f" {name}"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f' {name}="{_safe(text)}"'


def data(name: str, value: Json) -> Html:
    """JSON for the page's script, as an element that no text in it can end."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Html(f'<script type="application/json" id="{name}">{safe}</script>')


def page(title: str, body: Html, script: str, served: bool = False) -> str:
    """A whole document with the shipped style and the shipped script of that name."""
    style, code = _static("page.css"), _static(f"{script}.js")
    code = _static("maps.js") + code if "<svg" in body or script in ("play", "live") else code
    own = "form-action 'self'; connect-src 'self'" if served else "form-action 'none'"
    policy = (
        f"default-src 'none'; script-src '{_digest(code)}'; style-src '{_digest(style)}'; "
        f"img-src data:; base-uri 'none'; {own}"
    )
    head = join(
        [
            tag("meta", charset="utf-8"),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="referrer", content="no-referrer"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", title),
            Html(f"<style>{style}</style>"),
        ],
        "\n",
    )
    end = Html(f"<script>{code}</script>")
    whole = tag(
        "html", Html("\n"), tag("head", head), Html("\n"), tag("body", body, end), lang="en"
    )
    return f"<!doctype html>\n{whole}\n"


@cache
def _static(name: str) -> str:
    return (files("wayword.viewer") / "static" / name).read_text(encoding="utf-8")


@cache
def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
