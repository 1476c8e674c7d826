"""Short names for places whose names are ids, and room on a map for a label.

    >>> letters = Letters()
    >>> letters.learn("c8a5e64ee1ad43ae9a2e1dd33df5a4ba")
    >>> letters.of("c8a5e64ee1ad43ae9a2e1dd33df5a4ba"), letters.of("kitchen")
    ('A', 'kitchen')

A page gives each place one letter and uses it everywhere: on the map, at the compass, on the cards
and in prompts. The id stays in the document as the text that is copied and as the title.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wayword.viewer.markup import Html, join, tag

_SHORT_NAME = 3
"""Characters up to which the name of a place stands for itself."""
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ID = re.compile(r"(?=[\w-]*\d)[\w-]{4,}|[\w-]{20,}")
"""A name with a digit, or a long one: what nobody reads as a word."""


_LETTER = 7.4, 12.5
"""Width of a letter on a map and height of its line, in the drawing's units."""


Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in a drawing's units."""


def box(x: float, y: float, wide: float, high: float) -> Box:
    """A box around its middle."""
    return x - wide / 2, y - high / 2, x + wide / 2, y + high / 2


@dataclass(slots=True)
class LabelSpace:
    """What is taken on a drawing so many units wide, and where labels still fit."""

    wide: float
    taken: list[Box]

    def beside(
        self, text: str, x: float, y: float, size: tuple[float, float], gap: float = 9.0
    ) -> tuple[float, float] | None:
        """The middle of a label beside a mark, which is taken then; None where there is no room.

        ``size`` is the width of a character and the height of a line.
        """
        wide, high = size[0] * len(text) + 4, size[1]
        aside = wide / 2 + gap - 3
        for dx, dy in (
            (0, -gap), (0, gap + 4), (aside, 2), (-aside, 2),
            (aside, -gap), (-aside, -gap), (aside, gap + 2), (-aside, gap + 2),
        ):  # fmt: skip
            left, top, right, low = label = box(x + dx, y + dy, wide, high)
            if left >= 0 and right <= self.wide and top >= 0 and not any(
                right > a and c > left and low > b and d > top for a, b, c, d in self.taken
            ):  # fmt: skip
                self.taken.append(label)
                return round(x + dx, 1), round(y + dy + 3.5, 1)
        return None


class Letters:
    """Letters of places: A … Z, A2 … Z2, in the order in which the places are learnt."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    @staticmethod
    def of_ids(places: Sequence[str]) -> Letters:
        """Letters for those of some places whose names are ids; others go by their names."""
        letters = Letters()
        for place in places:
            if _ID.fullmatch(place):
                letters.learn(place)
        return letters

    def learn(self, place: str) -> None:
        """Give a place its letter, where it has none and is in need of one."""
        if len(place) > _SHORT_NAME and place not in self.known:
            turn, letter = divmod(len(self.known), len(_LETTERS))
            self.known[place] = f"{_LETTERS[letter]}{turn + 1 if turn else ''}"

    def of(self, name: str) -> str:
        """The letter of a place that has one, else the name."""
        return self.known.get(name, name)

    def title(self, name: str) -> str:
        """``B, 545da9c1…`` for a place with a letter, else the name."""
        return f"{self.known[name]}, {name}" if name in self.known else name

    def put(self, text: str) -> Html:
        """The text with letters for the places that have one."""
        if not self.known:
            return join([text])
        names = re.compile("|".join(map(re.escape, self.known)))
        parts: list[str] = []
        end = 0
        for match in names.finditer(text):
            parts += [text[end : match.start()], self._letter(match[0])]
            end = match.end()
        return join([*parts, text[end:]])

    def _letter(self, name: str) -> Html:
        return tag("b", self.known[name], class_="letter", title=name)

    def over(self, markup: Html) -> Html:
        """Markup in which each id in a text is shown as its letter; titles and attributes keep it.

        The id stays the text of its element, so that what is copied is what was recorded.
        """
        lengths = sorted({len(name) for name in self.known if _ID.fullmatch(name)})
        if not lengths:
            return markup
        ids = "|".join(rf"[\w-]{{{length}}}" for length in lengths)
        pieces = re.compile(rf"<title>[^<]*</title>|<[^>]*>|(?<![\w-])(?:{ids})(?![\w-])")
        shown = {
            name: str(tag("abbr", name, class_="letter", title=name, data_letter=letter))
            for name, letter in self.known.items()
        }
        return Html(pieces.sub(lambda found: shown.get(found[0], found[0]), markup))

    def drawn(self, spots: Mapping[str, tuple[float, float, float]], room: LabelSpace) -> Html:
        """The letters beside their places on a map, as far as there is room.

        ``spots`` has for each place its middle and how far a label must keep from it.
        """
        room.taken += [box(x, y, 6, 6) for x, y, _ in spots.values()]
        parts = []
        for name, (x, y, gap) in spots.items():
            middle = room.beside(self.known[name], x, y, _LETTER, gap)
            if middle:
                title = tag("title", self.title(name))
                at = dict(zip("xy", middle, strict=True))
                parts.append(tag("text", title, self.known[name], **at, class_="placeletter"))
        return tag("g", *parts)
