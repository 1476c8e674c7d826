"""HTML that its content cannot break: all text is escaped unless it was generated here.

    render("run.html", run=run)                       # a template of templates/, autoescaped
    >>> Html("<p>{} {}</p>").format("1 < 2 &", Html("<b>so</b>"))
    Html('<p>1 &lt; 2 &amp; <b>so</b></p>')

A page carries its style and its script inside, and a Content-Security-Policy that allows these two
by their SHA-256 and nothing else (W3C, Content Security Policy Level 3, section 6.7). A served page
may contact its own server.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Self, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from wayword.core.episode import Json
from wayword.core.visible import visible

F = TypeVar("F", bound=Callable[..., Any])


class Html(Markup):
    """Text that is markup, from a template or the code; ``format`` escapes its arguments."""

    __slots__ = ()

    @classmethod
    def escape(cls, value: Any, /) -> Self:
        """Escape a value; markup is unchanged, None empty, and invisible characters are shown."""
        if hasattr(value, "__html__"):
            return cls(value)
        if value is None:
            return cls("")
        text = str(value)
        if len(text) < _SHORT:
            return cls(_short(text))
        return cls(_escaped(text))


_SHORT = 80  # characters of a text that may be a name


def _escaped(text: str) -> str:
    """Return a text as markup: quotes are escaped as well, for attributes."""
    return html.escape(visible(text), quote=True)


# A page repeats the same few names thousands of times: the cache halves the time of a page.
_short = lru_cache(maxsize=4_000)(_escaped)


def data(name: str, value: Json) -> Html:
    """Return JSON for the page's script, in an element that no text in it can close.

    ``name`` is the id of the element. Raises ``ValueError`` for NaN, which JSON lacks.
    """
    # ASCII: independent of the page's encoding; lone surrogates cannot be encoded otherwise.
    text = json.dumps(
        value,
        ensure_ascii=True,
        allow_nan=False,
        separators=(",", ":"),
    )
    # As \u escapes, since HTML would read `</script` and `<!--`
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e")
    safe = safe.replace("&", "\\u0026")
    return Html(f'<script type="application/json" id="{name}">{safe}</script>')


_TEMPLATES = Environment(
    loader=PackageLoader("wayword.viewer"),
    autoescape=True,
    finalize=Html.escape,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,  # a misspelled name raises, it does not vanish
    auto_reload=False,
)
# Templates receive markup as Html only. With this filter, text could skip the escaping.
del _TEMPLATES.filters["safe"]


def template_function(function: F) -> F:
    """Make a function callable in every template by its name, and a filter.

    The name is global to all templates, so it must be unique in the viewer.
    """
    name = function.__name__
    _TEMPLATES.globals[name] = function
    _TEMPLATES.filters[name] = function
    return function


template_function(data)

_BEFORE_UNIT = re.compile(r"(?<=\d) (?=k?m\b)")


@template_function
def unbroken(sentence: str) -> str:
    """Return a sentence whose lengths no line break can cut: ``0.25 m`` with a no-break space."""
    return _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", sentence)


def render(template: str, **context: Any) -> Html:
    """Render a template of ``templates/`` with these values.

    Raises ``jinja2.UndefinedError`` if the template uses a value that is not given.
    """
    return Html(_TEMPLATES.get_template(template).render(context))


def macro(template: str, name: str) -> Callable[..., Html]:
    """Return a macro of a template as a function; the template is loaded at its first call."""

    def call(*values: Any, **named: Any) -> Html:
        module = _TEMPLATES.get_template(template).module
        return Html(getattr(module, name)(*values, **named))

    return call


def page(template: str, script: str, served: bool = False, **context: Any) -> str:
    """Return a whole document with the shipped style and the shipped script ``script``.

    The other values are the template's. A ``served`` page may contact its server and
    send forms to it; a written one may contact nothing.
    """
    style = _static("page.css")
    # Inline, so that a page is one file that works from a folder and in a mail.
    code = _static("maps.js") + _static(f"{script}.js")
    if served:
        allowed = "form-action 'self'; connect-src 'self'"
    else:
        allowed = "form-action 'none'"
    # Nothing but the shipped script and style runs, even if markup slipped through an escape.
    policy = (
        f"default-src 'none'; script-src '{_digest(code)}'; style-src '{_digest(style)}'; "
        f"img-src data:; base-uri 'none'; {allowed}"
    )
    shipped = {
        "policy": policy,
        "style": Html(style),
        "code": Html(code),
        "served": served,
    }
    return render(template, **shipped, **context)


@cache
def _static(name: str) -> str:
    """Return a shipped file of ``static/``."""
    return (files("wayword.viewer") / "static" / name).read_text(encoding="utf-8")


@cache
def _digest(text: str) -> str:
    """Return the SHA-256 of a text in the form of a Content-Security-Policy source."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


_ALPHABET = "ABCDEFGHIJKLMNOPQRTUVWXYZ"  # without S, which marks the start
_ID = re.compile(r"(?=[\w-]*\d)[\w-]{4,}|[0-9a-f]{6,}|[\w-]{20,}")
"""A name with a digit, a hexadecimal number or a long name: not read as a word."""


class Letters:
    """Short names of places whose names are ids: A … Z without S, A2 …, in order of first use.

        >>> letters = Letters()
        >>> letters.assign("c8a5e64ee1ad43ae9a2e1dd33df5a4ba")
        >>> letters.of("c8a5e64ee1ad43ae9a2e1dd33df5a4ba"), letters.of("kitchen")
        ('A', 'kitchen')

    A page uses the same letter for a place everywhere: on the map, the compass, the cards and in
    prompts.
    """

    def __init__(self, by_place: Mapping[str, str] = MappingProxyType({})) -> None:
        self.by_place = dict(by_place)

    @staticmethod
    def of_ids(places: Sequence[str]) -> Letters:
        """Assign letters to places in their order."""
        letters = Letters()
        for place in places:
            letters.assign(place)
        return letters

    def assign(self, place: str) -> None:
        """Give a place the next letter, unless it has one or its name can be read as a word."""
        if place not in self.by_place and _ID.fullmatch(place):
            rounds, number = divmod(len(self.by_place), len(_ALPHABET))
            letter = _ALPHABET[number]
            if rounds:  # A2 follows Z
                letter += str(rounds + 1)
            self.by_place[place] = letter

    def of(self, name: str) -> str:
        """Return the letter of a place if it has one, else its name."""
        return self.by_place.get(name, name)

    def title(self, name: str) -> str:
        """Return ``B, 545da9c1…`` for a place with a letter, else the name."""
        if name not in self.by_place:
            return name
        return f"{self.by_place[name]}, {name}"

    def put(self, text: str) -> Html:
        """Return a text as markup, with letters for ids."""
        return self.over(Html.escape(text))

    def over(self, markup: Html) -> Html:
        """Return markup that shows each id in a text as its letter.

        The id stays the text of its element, so that a copy contains it; titles and
        attributes are unchanged.
        """
        # Ids are found by their length: an alternation of thousands of ids would be slow.
        lengths = sorted({len(name) for name in self.by_place})
        if not lengths:
            return markup
        ids = "|".join(rf"[\w-]{{{length}}}" for length in lengths)
        pieces = re.compile(
            rf"<title>[^<]*</title>|<[^>]*>|(?<![\w-])(?:{ids})(?![\w-])"
        )
        abbr = Html('<abbr class="letter" title="{0}" data-letter="{1}">{0}</abbr>')
        shown = {}
        for name, letter in self.by_place.items():
            shown[name] = str(abbr.format(name, letter))

        def lettered(match: re.Match[str]) -> str:
            # A tag or a title is no name, so it stays.
            return shown.get(match[0], match[0])

        return Html(pieces.sub(lettered, markup))
