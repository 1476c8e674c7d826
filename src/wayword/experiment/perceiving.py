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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wayword.agents.describing import Describer
from wayword.core.angles import absolute, sector
from wayword.core.errors import DataError, RecordingError, UsageError
from wayword.core.files import read_json
from wayword.core.model import Model
from wayword.experiment.models import open_models
from wayword.experiment.plan import Plan
from wayword.experiment.sheets import page, sheet
from wayword.models.wrapping.cache import AnswerCache
from wayword.perception import layouts, pictures
from wayword.perception.opening import Kind, open_detector, open_eye
from wayword.perception.survey import Found, Look, Memory, Surveyor, things

DIRECTIONS = (6, 8, 12)
"""Numbers of directions that observation files can have."""


@dataclass(frozen=True, slots=True)
class Perceiving:
    """What to look at, with which eyes, and where to write it.

    ``norths`` is a JSON file, place -> the heading (degrees) that the picture's middle column
    faces; 0 for all without it. ``phrases`` are what an
    open-vocabulary detector looks for. ``within`` leaves out things known to be farther (metres).
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
class Place:
    """One place seen: a sentence and things for each direction, and what it is in short."""

    name: str
    sentences: list[str]
    things: list[dict[str, dict[str, float | None]]]
    summary: str


@dataclass(frozen=True, slots=True)
class Perceived:
    """What came of it; ``asked`` counts the views a network really looked at."""

    places: int
    views: int
    asked: int
    found: int


def perceive(plan: Perceiving, on_place: Callable[[str, int, int], None]) -> Perceived:
    """Look at every picture of the folder and write the files.

    Whatever was worked out is kept under ``out/answers.sqlite``: the same command goes on where it
    stopped, and once done touches no network. ``on_place`` is told of each place that is done,
    with its number and how many there are. Raises ``UsageError``, ``DataError``,
    ``RecordingError``.
    """
    chosen = layouts.layout(plan.layout)
    if len(chosen.headings) not in DIRECTIONS:
        raise UsageError(f"layout {plan.layout} looks ahead only; observation files look around")
    return asyncio.run(_perceive(plan, chosen, on_place))


async def _perceive(
    plan: Perceiving, chosen: layouts.Layout, on_place: Callable[[str, int, int], None]
) -> Perceived:
    listed, norths = pictures.listed(plan.folder), _norths(plan.norths)
    opened: list[Model] = []

    def model(name: str) -> Model:
        asked = Plan("perceive", "tour", name, cache=plan.out / "texts.sqlite")
        opened.extend(open_models(asked, {"main": (name, plan.settings)}).values())
        return opened[-1]

    def eye(kind: Kind, name: str) -> Any:
        return open_eye(kind, name, model) if name else None

    memory = Memory(AnswerCache(plan.out / "answers.sqlite"), plan.batch)
    surveyor = Surveyor(
        chosen,
        eye("captioner", plan.captioner),
        open_detector(plan.detector, plan.phrases) if plan.detector else None,
        eye("depth", plan.depth),
        eye("tagger", plan.tagger),
        memory,
    )
    describer = Describer(model(plan.model) if plan.model else None)
    places: list[Place] = []
    found = 0
    try:
        for number, (name, path) in enumerate(listed.items(), 1):
            before = memory.asked
            looks = await surveyor.look(pictures.kept(path))
            seen = things(looks, chosen, plan.within)
            found += len(seen)
            places.append(await _place(name, looks, seen, chosen, describer, norths.get(name, 0.0)))
            shown = plan.out / "boxes" / f"{name}.jpg"
            if memory.asked > before or not shown.is_file():
                _written(shown, sheet(pictures.kept(path), looks, chosen))
            on_place(name, number, len(listed))
    finally:
        for each in opened:
            await each.aclose()
    _write(plan, places)
    return Perceived(len(places), len(listed) * len(list(chosen.views())), memory.asked, found)


async def _place(
    name: str,
    looks: Sequence[Look],
    seen: Sequence[Found],
    chosen: layouts.Layout,
    describer: Describer,
    north: float,
) -> Place:
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
    return Place(name, sentences, around, await describer.place(told))


def _norths(path: Path | None) -> Mapping[str, float]:
    if path is None:
        return {}
    given = read_json(path)
    if not isinstance(given, dict):
        raise DataError(path, "", "is not an object of place: heading in degrees")
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise DataError(path, f"field {name!r}", f"is no heading in degrees: {value!r}")
    return {name: float(value) for name, value in given.items()}


def _write(plan: Perceiving, places: Sequence[Place]) -> None:
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
