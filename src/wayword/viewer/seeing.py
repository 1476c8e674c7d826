"""Observations, places, feedback and notes as facts: any JSON values, laid out to be read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from wayword.core.angles import relative
from wayword.core.perceiver import Percept
from wayword.viewer.maps import dial, side
from wayword.viewer.markup import Html, join, tag

_DEEPEST = 5
_LONG = 120
_WINDS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")


def observation(seen: Any, taken: str) -> Html:
    """What an actor perceived; ``taken`` is the place it went to then, to be marked."""
    held = as_mapping(seen)
    around = _ways(held)
    rest = {key: value for key, value in held.items() if not _elsewhere(key, value)}
    dialled = dial(around, taken) if around else None
    return tag("div", dialled, tag("div", facts(rest), _way_table(held, taken)), class_="seen")


def _elsewhere(key: str, value: Any) -> bool:
    """What the page shows in another form, or once for all steps; a level gaze is nothing new."""
    return key in ("ways", "angles", "scene", "actor", "messages") or (
        key == "elevation" and value == 0
    )


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
        long = len(value) > _LONG or "\n" in value
        return tag("pre", value, class_="said") if long else tag("bdi", value)
    if depth >= _DEEPEST:
        return tag("pre", json.dumps(value, ensure_ascii=False, default=str), class_="said")
    if isinstance(value, Mapping):
        return facts(value, depth + 1) or "–"
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
        return tag("bdi", ", ".join(str(item) for item in value))
    return tag("ul", *(tag("li", shown(item, "", depth + 1)) for item in value))


def _table(rows: Sequence[Mapping[str, Any]], depth: int) -> Html:
    keys = [k for k in dict.fromkeys(str(key) for row in rows for key in row) if k != "type"]
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
    if isinstance(facing, int | float) and isinstance(held.get("ways"), list | tuple):
        found = [as_mapping(way) for way in held["ways"]]
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
    ways = held.get("ways")
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
