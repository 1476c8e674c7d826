"""What is new in a prompt, and where the rest of it was said before.

A prompt repeats most of the one before. A page that held each of them whole would grow with the
square of the steps; so a long passage that an earlier prompt has too is a reference to it, which
the page's script fills in on demand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from wayword.core.geometry import relative
from wayword.core.model import Image, Prompt
from wayword.core.perceiver import Percept
from wayword.viewer.figures import depth_fan, dial, side
from wayword.viewer.letters import Letters
from wayword.viewer.markup import Html, join, tag

FOLD = 6
"""Shared passages of so many lines are folded away."""
_HEAD = 64
_MOST = 1500
"""Longer differences are taken as new all through, rather than compared line by line."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage: ``new``, or ``same`` as in an earlier prompt, or ``folded``.

    A folded one has no text; it is ``count`` lines from line ``start`` (from 0) of the same block
    of call ``call``.
    """

    kind: Literal["new", "same", "folded"]
    text: str = ""
    call: int = 0
    start: int = 0
    count: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """One message; a raw text prompt is a single block without a role."""

    role: str
    pieces: tuple[Piece, ...]
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class _Earlier:
    number: int
    blocks: tuple[tuple[str, tuple[str, ...]], ...]


class PromptHistory:
    """The prompts of one episode, in the order of its calls, each compared with its forerunner."""

    def __init__(self) -> None:
        self._latest: dict[tuple[str, str], _Earlier] = {}
        self._count = 0

    def add(self, role: str, prompt: Prompt) -> tuple[Block, ...]:
        """The prompt's blocks; ``role`` is that of the model it went to."""
        said = _blocks(prompt)
        lines = tuple((who, tuple(split_lines(text))) for who, text, _ in said)
        key = (role, said[0][1][:_HEAD] if said else "")
        before = self._latest.get(key)
        self._latest[key] = _Earlier(self._count, lines)
        self._count += 1
        return tuple(
            Block(who, tuple(_pieces(new, _base(before, at, who), before)), images)
            for at, ((who, new), (_, _, images)) in enumerate(zip(lines, said, strict=True))
        )


def split_lines(text: str) -> list[str]:
    """Lines with their newlines; only ``\\n`` ends a line, as in the page's script."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _blocks(prompt: Prompt) -> list[tuple[str, str, tuple[Image, ...]]]:
    if isinstance(prompt, str):
        return [("", prompt, ())]
    return [(message.role, message.content, message.images) for message in prompt]


def _base(before: _Earlier | None, at: int, role: str) -> tuple[str, ...] | None:
    if before is None or at >= len(before.blocks) or before.blocks[at][0] != role:
        return None
    return before.blocks[at][1]


def _pieces(
    new: Sequence[str], base: Sequence[str] | None, before: _Earlier | None
) -> Iterator[Piece]:
    if base is None or before is None:
        yield Piece("new", "".join(new))
        return
    for same, start, end, there in _runs(base, new):
        text = "".join(new[start:end])
        if same and end - start >= FOLD:
            yield Piece("folded", "", before.number, there, end - start)
        else:
            yield Piece("same" if same else "new", text)


def _runs(base: Sequence[str], new: Sequence[str]) -> Iterator[tuple[bool, int, int, int]]:
    """Whether shared, from and to in ``new``, and from where in ``base``."""
    head = _shared(base, new)
    tail = _shared(base[head:][::-1], new[head:][::-1])
    if head:
        yield True, 0, head, 0
    middle, other = new[head : len(new) - tail], base[head : len(base) - tail]
    if len(middle) + len(other) > _MOST:
        yield False, head, head + len(middle), 0
    else:
        for kind, a0, _, b0, b1 in SequenceMatcher(None, other, middle, False).get_opcodes():
            if b1 > b0:
                yield kind == "equal", head + b0, head + b1, head + a0
    if tail:
        yield True, len(new) - tail, len(new), len(base) - tail


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        count += 1
    return count


# Observations, places, feedback and notes as facts: any JSON values, laid out to be read.

_FOLDED = 12
"""Names in a list from which it is folded away."""
_DEEPEST = 5
_LONG = 120
_WINDS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")


def observation(seen: Any, taken: str, letters: Letters) -> Html:
    """What an actor perceived; ``taken`` is the place it went to then, to be marked."""
    held = as_mapping(seen)
    around = _ways(held)
    rest = {key: value for key, value in held.items() if not _elsewhere(key, value)}
    if "walls" in rest:
        rest["walls"] = _walls(rest["walls"])
    dialled = dial(around, taken, letters) if around else None
    return tag("div", dialled, tag("div", facts(rest), _way_table(held, taken)), class_="seen")


def _elsewhere(key: str, value: Any) -> bool:
    """What the page shows in another form, or once for all steps; a level gaze is nothing new."""
    return key in ("neighbors", "angles", "scene", "actor", "messages", "image") or (
        key == "elevation" and value == 0
    )


def _walls(walls: Any) -> Any:
    """Steps to the walls of a grid ahead, to the left and to the right, None beyond the view, in
    words; anything else that a run folder may hold, as it is."""
    if not isinstance(walls, list | tuple) or len(walls) != 3:
        return walls
    if not all(steps is None or isinstance(steps, int) for steps in walls):
        return walls
    sides = zip(walls, ("ahead", "left", "right"), strict=True)
    seen = [f"{way} {n} {'step' if n == 1 else 'steps'}" for n, way in sides if n is not None]
    return ", ".join(seen) or "none in view"


def things_in(held: Mapping[str, Any]) -> list[str]:
    """The names of what an observation lists, each once; none in worlds of places alone."""
    listed = next((held[k] for k in ("objects", "things", "shown") if held.get(k)), ())
    names = []
    for thing in listed if isinstance(listed, list | tuple) else ():
        told = as_mapping(thing)
        parts = [told.get("colour"), told.get("name") or told.get("kind") or told.get("type")]
        names.append(" ".join(str(part) for part in parts if part))
    return list(dict.fromkeys(name for name in names if name))


def as_mapping(seen: Any) -> Mapping[str, Any]:
    """An observation by its fields; one read from a run folder is a mapping already."""
    if isinstance(seen, Mapping):
        return seen
    if is_dataclass(seen) and not isinstance(seen, type):
        return {each.name: getattr(seen, each.name) for each in fields(seen)}
    return {"observation": seen}


def facts(value: Any, depth: int = 0) -> Html | None:
    """Names and values; nothing for an empty mapping. Anything else is a value without a name."""
    if not isinstance(value, Mapping):
        return tag("div", shown(value, "", depth)) if value else None
    rows = [
        tag("div", tag("dt", str(key).replace("_", " ")), tag("dd", shown(each, str(key), depth)))
        for key, each in value.items()
        if key != "type" and each is not None and each != "" and not _empty(each)
    ]
    return tag("dl", *rows, class_="facts") if rows else None


def shown(value: Any, name: str = "", depth: int = 0) -> Html | str:
    """One value: text, number, list, table or facts again."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(value, name)
    if isinstance(value, str):
        if not value:
            return ""
        long = len(value) > _LONG or "\n" in value
        return tag("pre", value, class_="said") if long else tag("bdi", value)
    if depth >= _DEEPEST:
        return tag("pre", json.dumps(value, ensure_ascii=False, default=str), class_="said")
    if isinstance(value, Mapping):
        if len(value) > _FOLDED and all(isinstance(each, Mapping) for each in value.values()):
            return _many(value, depth)
        fan = depth_fan(value) if value.get("type") == "DepthImage" else None
        return fan or facts(value, depth + 1) or "–"
    if isinstance(value, Sequence):
        return _listed(value, depth)
    return str(value)


def percept(found: Percept) -> Html:
    """What a perceiver has to say of a place, direction by direction."""
    rows = [
        tag(
            "tr",
            tag("th", _wind(part.heading), scope="row"),
            tag("td", part.caption),
            tag("td", ", ".join(_sighting(s.name, s.distance) for s in part.sightings)),
        )
        for part in found.sectors
    ]
    summary = tag("p", found.summary) if found.summary else None
    return tag("div", summary, tag("table", tag("tbody", *rows), class_="small"), class_="scroll")


def _sighting(name: str, distance: float | None) -> str:
    return name if distance is None else f"{name} ({distance:.1f} m)"


def _empty(value: Any) -> bool:
    return isinstance(value, list | tuple | dict) and not value


def _number(value: float, name: str) -> str:
    if name in ("heading", "heading_before"):
        return f"{value:.0f}° {_wind(value)}"
    if isinstance(value, int):
        return str(value)
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return f"{text} m" if name == "distance" else f"{text}°" if name == "elevation" else text


def _wind(heading: float) -> str:
    return _WINDS[round(heading / 45) % 8] if abs(heading) < 1e6 else ""


def _listed(value: Sequence[Any], depth: int) -> Html | str:
    if value and all(isinstance(item, Mapping) for item in value):
        return _table(value, depth)
    if all(isinstance(item, str | int | float | bool) or item is None for item in value):
        listed = tag("bdi", ", ".join("–" if item is None else str(item) for item in value))
        if len(value) <= _FOLDED:
            return listed
        return tag("details", tag("summary", f"{len(value)} of them"), listed)
    return tag("ul", *(tag("li", shown(item, "", depth + 1)) for item in value))


def _many(named: Mapping[str, Any], depth: int) -> Html:
    """Things by name, folded away, as the state of a house holds a hundred of them: a row each,
    with what differs between them; a ``no`` is left out."""
    keys = dict.fromkeys(str(key) for each in named.values() for key in each)
    alike = {key for key in keys if len({repr(each.get(key)) for each in named.values()}) == 1}
    rows = [
        {"name": name, **{k: "" if v is False else v for k, v in each.items() if k not in alike}}
        for name, each in named.items()
    ]
    same = {key: next(iter(named.values()))[key] for key in keys if key in alike}
    told = tag("p", "of all of them: ", class_="dim") if same else None
    inside = (told, facts(same, depth + 1), _table(rows, depth))
    return tag("details", tag("summary", f"{len(named)} of them"), *inside)


def _table(rows: Sequence[Mapping[str, Any]], depth: int) -> Html:
    """A row each; columns in which nothing stands are left out."""
    filled = (str(k) for row in rows for k, v in row.items() if v not in ("", None) and v != [])
    there = set(filled)
    keys = [k for k in dict.fromkeys(str(key) for row in rows for key in row) if k in there]
    keys = [key for key in keys if key != "type"]
    head = tag("tr", *(tag("th", key.replace("_", " "), scope="col") for key in keys))
    body = [
        tag("tr", *(tag("td", shown(row.get(key, ""), key, depth + 1)) for key in keys))
        for row in rows
    ]
    table = tag("table", tag("thead", head), tag("tbody", *body), class_="small")
    return tag("div", table, class_="scroll")


def _ways(held: Mapping[str, Any]) -> list[tuple[float, str]]:
    """Relative heading and name of each way out, in worlds that have such."""
    facing = held.get("heading")
    if isinstance(facing, int | float) and isinstance(held.get("neighbors"), list | tuple):
        found = [as_mapping(way) for way in held["neighbors"]]
        return [
            (relative(way["heading"], facing), str(way.get("viewpoint", "")))
            for way in found
            if isinstance(way.get("heading"), int | float)
        ]
    angles = held.get("angles")
    listed = angles if isinstance(angles, list | tuple) else ()
    return [(float(angle), "") for angle in listed if isinstance(angle, int | float)]


def _way_table(held: Mapping[str, Any], taken: str) -> Html | None:
    """The ways in words, folded away: the dial beside shows them too."""
    ways = held.get("neighbors")
    facing = held.get("heading")
    if not isinstance(ways, list | tuple) or not isinstance(facing, int | float):
        angles = [side(angle) for angle, _ in _ways(held)]
        return tag("p", "ways: ", ", ".join(angles), class_="dim") if angles else None
    rows = []
    for way in map(as_mapping, ways):
        name, heading = str(way.get("viewpoint", "")), way.get("heading")
        turn = side(relative(heading, facing)) if isinstance(heading, int | float) else ""
        length = way.get("distance")
        far = f"{length:.2f} m" if isinstance(length, int | float) else ""
        cells = [tag("td", turn), tag("td", far, class_="n"), tag("td", tag("code", name))]
        rows.append(tag("tr", *cells, class_="taken" if name == taken else None))
    count = f"{len(rows)} way" if len(rows) == 1 else f"{len(rows)} ways"
    table = tag("table", tag("tbody", *rows), class_="small")
    return tag("details", tag("summary", count), join([table])) if rows else None
