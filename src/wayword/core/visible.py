"""Text from elsewhere, made safe to show in a terminal or on a page, and lists in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
"""Control characters, marks that turn the direction of writing, and halves of surrogate pairs."""


def escaped(json_text: str) -> str:
    """JSON with these characters as escapes, so that it has the same values."""
    return _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text)


def visible(text: str) -> str:
    """Make invisible characters visible: ``\\0`` as ``␀``, U+202E as ``⟨U+202E⟩``."""

    def shown(match: re.Match[str]) -> str:
        """Return a control character as a visible symbol."""
        code = ord(match[0])
        return chr(0x2400 + code) if code < 0x20 else f"⟨U+{code:04X}⟩"

    return _HIDDEN.sub(shown, text)


def single_line(text: object, most: int | None = None) -> str:
    """Return a text, or an error's, in one line of at most ``most`` characters."""
    return " ".join(str(text).split())[:most]


_BREAKS = re.compile(r"[^\s/_-]*[\s/_-]*")
"""Parts of a text between which a line may end."""


def in_lines(text: str, fits: Callable[[str], bool]) -> str:
    """Return the text in lines that fit: broken at blanks and signs such as ``/``, or within a word
    that does not fit into a line.

    >>> in_lines("navgpt-houses-71e9019a", lambda line: len(line) <= 16)
    'navgpt-houses-\\n71e9019a'
    """
    # A word that is too wide for a line is broken wherever the line is full.
    parts: list[str] = []
    for part in _BREAKS.findall(text):
        if fits(part.rstrip()):
            parts.append(part)
        else:
            parts += part
    lines = [""]
    for part in parts:
        longer = lines[-1] + part
        if lines[-1] and not fits(longer.rstrip()):
            lines.append(part)
        else:
            lines[-1] = longer
    return "\n".join(line.rstrip() for line in lines)


def spaced(name: object) -> str:
    """Return a name in words: ``low level`` for ``low_level``."""
    return str(name).replace("_", " ")


def in_dollars(amount: float) -> str:
    """Return US dollars as text, with two digits where two decimals would show no cost.

    >>> in_dollars(1234.5), in_dollars(0.000042), in_dollars(0.0)
    ('$1,234.50', '$0.000042', '$0.00')
    """
    if 0.0 < amount < 0.01:
        return f"${Decimal(f'{amount:.2g}'):f}"
    return f"${amount:,.2f}"


_PLURALS = (
    (r"(?:s|x|ch|sh|ato)\Z", r"\g<0>es"),
    (r"fe\Z|(?<=l)f\Z", "ves"),
    (r"(?<=[^aeiou])y\Z", "ies"),
    (r"\Z", "s"),
)
"""End of a noun -> that of its plural; the first that fits."""


def plural(noun: str) -> str:
    """Return a noun in the plural: ``watches``, ``knives``, ``trajectories``."""
    singular, many = next(ends for ends in _PLURALS if re.search(ends[0], noun))
    return re.sub(singular, many, noun)


def count(number: int, noun: str) -> str:
    """``3 steps``, ``1 step``."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {plural(noun)}"


def with_article(words: str) -> str:
    """Return the words with ``a`` or ``an``: ``an oak bench``."""
    article = "an" if words[0].lower() in "aeiou" else "a"
    return f"{article} {words}"


def join_words(words: Sequence[str], last: str = "and") -> str:
    """Return the words as a list: ``a, b and c``; empty for none."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def comma_separated(text: str) -> list[str]:
    """Return the parts of a list that a user wrote: ``a, b`` is ``["a", "b"]``."""
    parts = map(str.strip, text.split(","))
    return list(filter(None, parts))
