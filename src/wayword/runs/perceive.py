"""From a folder of panoramas to observation files in NavGPT's layout.

    observations_list_summarized/SCAN.json        place -> a sentence a direction
    observations_summarized/SCAN_summarized.json  place -> what the place is
    objects_list/SCAN.json                        place -> a dict a direction of things found
    boxes/PLACE.jpg, index.html                   every view with what was found, for people

Source: NavGPT (Zhou et al. 2024), section 3.2, whose own pack is one file of each kind a scan.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from wayword.agents.prompting import Prompts, everyone
from wayword.core.errors import DataError, RecordingError, UsageError
from wayword.core.files import read_json
from wayword.core.geometry import absolute, sector
from wayword.core.model import Model, Sampling, user
from wayword.core.perceiver import Picture
from wayword.datasets.tour import Tour, TourSettings
from wayword.models.middleware.cache import AnswerCache
from wayword.perception import panorama
from wayword.perception import panorama as pictures
from wayword.perception.opening import Kind, open_detector, open_eye
from wayword.perception.panorama import ViewLayout, view
from wayword.perception.survey import Memory, SightedThing, SurveyedView, Surveyor, things
from wayword.runs.active import open_models
from wayword.runs.plan import Plan

# Describing a place: captions of its views merged to a sentence a direction, and one for it all.
#
#     wayword perceive pictures --captioner hf-caption:FOLDER --model local:smollm2 --out seen
#
# The views of one direction lie above each other (up, level, down); a language model merges what
# they say. Without a model the captions are joined as they are, and the place has no summary.
#
# Source: NavGPT (Zhou et al. 2024), section 3.2.

LONGEST = 600
"""Characters of a sentence that are kept."""


class Describer:
    """Merges captions and sums places up, by a model where there is one."""

    def __init__(self, model: Model | None, prompts: str = "") -> None:
        self._model = model
        self._prompts = Prompts(__file__, prompts, "prompts/describing")

    @property
    def name(self) -> str:
        return self._model.name if self._model else "captions joined"

    async def directions(
        self, captions: Sequence[Sequence[str]], things: Sequence[Sequence[str]]
    ) -> list[str]:
        """A sentence for each direction, all asked at once; ``captions`` from the top down."""
        pairs = zip(captions, things, strict=True)
        return await everyone([self._direction(said, seen) for said, seen in pairs])

    async def place(self, sentences: Mapping[str, str]) -> str:
        """What the place is, completing ``The scene from the viewpoint is a``; empty for none."""
        if self._model is None:
            return ""
        listed = "\n".join(f"{name}: {text}" for name, text in sentences.items() if text)
        return await self._written("place", listed) if listed else ""

    async def _direction(self, captions: Sequence[str], things: Sequence[str]) -> str:
        said = list(dict.fromkeys(" ".join(text.split()) for text in captions if text.strip()))
        if not said and things:
            said = [f"There is {', '.join(things)}."]
        if self._model is None or len(said) < 2:
            return " ".join(said)
        return await self._written("direction", "\n".join(said)) or " ".join(said)

    async def _written(self, prompt: str, captions: str) -> str:
        if self._model is None:
            return ""
        asked = [user(self._prompts.fill(prompt, captions=captions))]
        sampling = Sampling(max_tokens=120, stop=("\n\n",))
        text = (await self._model.complete(asked, sampling)).text
        return " ".join(text.split())[:LONGEST]


# What was seen, for people: a sheet of all views with their boxes, and a page of places.

TILE = 240
"""The width of a view on a contact sheet, pixels."""

Row = tuple[str, Sequence[str], Sequence[Mapping[str, Mapping[str, float | None]]], str]
"""Place, a sentence a direction, things by direction, summary."""


def sheet(panorama: Picture, looks: Sequence[SurveyedView], layout: ViewLayout) -> bytes:
    """All views of a place as one JPEG: a column a direction, a row an elevation."""
    rows, columns = layout.size
    scale = TILE / columns
    size = (round(rows * scale), TILE)
    count = len(layout.elevations)
    made = np.zeros((count * size[0], len(layout.headings) * TILE, 3), np.uint8)
    boxes: list[tuple[str, float, float, float, float]] = []
    for number, look in enumerate(looks):
        top, left = number % count * size[0], number // count * TILE
        shown = view(panorama, look.heading, look.elevation, layout.width, size)
        made[top : top + size[0], left : left + TILE] = shown
        for box in look.boxes:
            label = f"{box.name} {box.score:.2f}"
            at = (box.left, box.top, box.right, box.bottom)
            x1, y1, x2, y2 = (value * scale for value in at)
            boxes.append((label, left + x1, top + y1, left + x2, top + y2))
    return pictures.outlined(made, boxes).data


def page(layout: str, places: Sequence[Row]) -> str:
    """A self-contained page beside the sheets. All text is data, and escaped."""
    parts = [
        "<!doctype html><meta charset=utf-8><title>What was seen</title>",
        "<style>body{font:15px/1.5 system-ui;margin:2em auto;max-width:72em;padding:0 1em}"
        "img{max-width:100%}ol{padding-left:1.5em}small{color:#666}</style>",
        f"<h1>What was seen</h1><p>{len(places)} places, layout {escape(layout)}</p>",
    ]
    for name, sentences, seen_there, summary in places:
        parts.append(f"<h2>{escape(name)}</h2><p>{escape(summary)}</p>")
        parts.append(f'<img loading=lazy alt="" src="boxes/{escape(name, quote=True)}.jpg"><ol>')
        for sentence, seen in zip(sentences, seen_there, strict=True):
            listed = ", ".join(seen) or "nothing found"
            parts.append(f"<li>{escape(sentence)} <small>{escape(listed)}</small>")
        parts.append("</ol>")
    return "\n".join(parts)


DIRECTIONS = (6, 8, 12)
"""Numbers of directions that observation files can have."""


@dataclass(frozen=True, slots=True)
class Perceiving:
    """What to look at, with which eyes, and where to write it.

    ``norths`` is a JSON file, place -> the heading (degrees) that the picture's middle column
    faces; without it what a tour says, else 0. ``phrases`` are what an open-vocabulary detector
    looks for. ``within`` leaves out things known to be farther (metres).

    The pictures of a tour (``pictures/`` beside a ``tour.json``) are those of its places, and are
    written under the places' names; other pictures under their own.
    """

    folder: Path
    out: Path
    layout: str = "navgpt24"
    captioner: str = ""
    detector: str = ""
    depth: str = ""
    tagger: str = ""
    phrases: tuple[str, ...] = ()
    model: str = ""
    scan: str = "tour"
    norths: Path | None = None
    within: float = 3.0
    batch: int = 16
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.captioner and not self.detector and not self.tagger:
            raise UsageError("perceive: give a --captioner, a --detector or a --tagger")
        if self.depth and not self.detector:
            raise UsageError("perceive: --depth measures what a --detector finds; give one")
        if self.batch < 1:
            raise UsageError(f"perceive: batch must be at least 1, not {self.batch}")


@dataclass(frozen=True, slots=True)
class PerceivedPlace:
    """One place seen: a sentence and things for each direction, and what it is in short."""

    name: str
    sentences: list[str]
    things: list[dict[str, dict[str, float | None]]]
    summary: str


@dataclass(frozen=True, slots=True)
class PerceiveResult:
    """What came of it; ``asked`` counts the views a network really looked at."""

    places: int
    views: int
    asked: int
    found: int


def perceive(plan: Perceiving, on_place: Callable[[str, int, int], None]) -> PerceiveResult:
    """Look at every picture of the folder and write the files.

    Whatever was worked out is kept under ``out/answers.sqlite``: the same command goes on where it
    stopped, and once done touches no network. ``on_place`` is told of each place that is done,
    with its number and how many there are. Raises ``UsageError``, ``DataError``,
    ``RecordingError``.
    """
    chosen = panorama.layout(plan.layout)
    if len(chosen.headings) not in DIRECTIONS:
        raise UsageError(f"layout {plan.layout} looks ahead only; observation files look around")
    listed, norths = _listed(plan)
    with closing(AnswerCache(plan.out / "answers.sqlite")) as kept:
        memory = Memory(kept, plan.batch)
        return asyncio.run(_perceive(plan, chosen, listed, norths, memory, on_place))


async def _perceive(
    plan: Perceiving,
    chosen: panorama.ViewLayout,
    listed: Mapping[str, Path],
    norths: Mapping[str, float],
    memory: Memory,
    on_place: Callable[[str, int, int], None],
) -> PerceiveResult:
    opened: list[Model] = []

    def model(name: str) -> Model:
        asked = Plan("perceive", "tour", name, cache=plan.out / "texts.sqlite")
        opened.extend(open_models(asked, {"main": (name, plan.settings)}).values())
        return opened[-1]

    def eye(kind: Kind, name: str) -> Any:
        return open_eye(kind, name, model) if name else None

    surveyor = Surveyor(
        chosen,
        eye("captioner", plan.captioner),
        open_detector(plan.detector, plan.phrases) if plan.detector else None,
        eye("depth", plan.depth),
        eye("tagger", plan.tagger),
        memory,
    )
    describer = Describer(model(plan.model) if plan.model else None)
    places: list[PerceivedPlace] = []
    found = 0
    try:
        for number, (name, path) in enumerate(listed.items(), 1):
            before = memory.asked
            looks = await surveyor.look(panorama.kept(path))
            seen = things(looks, chosen, plan.within)
            found += len(seen)
            places.append(await _place(name, looks, seen, chosen, describer, norths.get(name, 0.0)))
            shown = plan.out / "boxes" / f"{name}.jpg"
            if memory.asked > before or not shown.is_file():
                _written(shown, sheet(panorama.kept(path), looks, chosen))
            on_place(name, number, len(listed))
    finally:
        for each in opened:
            await each.aclose()
    _write(plan, places)
    return PerceiveResult(len(places), len(listed) * len(list(chosen.views())), memory.asked, found)


async def _place(
    name: str,
    looks: Sequence[SurveyedView],
    seen: Sequence[SightedThing],
    chosen: panorama.ViewLayout,
    describer: Describer,
    north: float,
) -> PerceivedPlace:
    """Directions run clockwise from north; the layout's views from the picture's middle.

    The nearest view stands for a direction where the picture does not face north.
    """
    count, rows = len(chosen.headings), len(chosen.elevations)
    groups: list[list[str]] = [[] for _ in range(count)]
    for start in range(0, len(looks), rows):
        at = sector(absolute(looks[start].heading + north), count)
        groups[at] = [look.caption for look in looks[start : start + rows]]
    around: list[dict[str, dict[str, float | None]]] = [{} for _ in range(count)]
    for thing in seen:
        heading = absolute(thing.heading + north)
        group = around[sector(heading, count)]
        label = thing.name if thing.name not in group else f"{thing.name} {len(group) + 1}"
        group[label] = {"heading": round(heading, 2), "distance": thing.distance}
    sentences = await describer.directions(groups, [list(group) for group in around])
    told = {f"{360 * i // count}°": text for i, text in enumerate(sentences)}
    return PerceivedPlace(name, sentences, around, await describer.place(told))


def _listed(plan: Perceiving) -> tuple[Mapping[str, Path], Mapping[str, float]]:
    """Place -> its picture, and place -> the heading that its middle faces. Raises ``DataError``
    where a tour names a picture that is not there."""
    given = {} if plan.norths is None else read_json(plan.norths)
    if plan.norths is not None and not isinstance(given, dict):
        raise DataError(plan.norths, "", "is not an object of place: heading in degrees")
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            field = f"field {name!r}"
            raise DataError(plan.norths or name, field, f"is no heading in degrees: {value!r}")
    given, beside = {k: float(v) for k, v in given.items()}, plan.folder.parent / "tour.json"
    there = panorama.listed(plan.folder)
    if plan.folder.name != "pictures" or not beside.is_file():
        return there, given
    places = Tour("all", None, TourSettings(str(beside.parent))).places
    listed = {name: plan.folder / str(place["picture"]) for name, place in places.items()}
    for name, path in listed.items():
        if not path.is_file():
            raise DataError(beside, f"place {name!r}", f"its picture {path} is not there")
    norths = {name: float(place.get("north", 0.0)) for name, place in places.items()}
    return listed, {**norths, **given}


def _write(plan: Perceiving, places: Sequence[PerceivedPlace]) -> None:
    files: dict[str, Any] = {
        f"observations_list_summarized/{plan.scan}.json": {p.name: p.sentences for p in places},
        f"observations_summarized/{plan.scan}_summarized.json": {p.name: p.summary for p in places},
        f"objects_list/{plan.scan}.json": {p.name: p.things for p in places},
    }
    for name, content in files.items():
        text = json.dumps(content, ensure_ascii=False, indent=1)
        _written(plan.out / name, text.encode())
    rows = [(p.name, p.sentences, p.things, p.summary) for p in places]
    _written(plan.out / "index.html", page(plan.layout, rows).encode())


def _written(path: Path, content: bytes) -> None:
    """Whole or not at all."""
    partial = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be written: {error.strerror}") from error
