"""Create observation files in NavGPT's layout from a folder of panoramas.

    observations_list_summarized/SCAN.json        place -> one sentence per direction
    observations_summarized/SCAN_summarized.json  place -> a summary
    objects_list/SCAN.json                        place -> one dict of objects per direction
    boxes/PLACE.jpg                               all views of a place with their objects

Each direction has several views (up, level, down). A language model merges their captions and
summarizes the place; without a model, the captions are joined.

Source: NavGPT (Zhou et al. 2024), section 3.2, whose data has one file of each kind per scan.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wayword.agents.pages import Prompts
from wayword.agents.prompting import ask_all
from wayword.core.blocking import blocking
from wayword.core.errors import DataError, UsageError, suggest
from wayword.core.files import make_parent, read_json
from wayword.core.geometry import absolute, sector
from wayword.core.model import Model, Sampling, user
from wayword.core.perceiver import Picture
from wayword.core.visible import single_line
from wayword.datasets.tour import Tour, TourSettings
from wayword.models.middleware.cache import AnswerCache
from wayword.perception import panorama
from wayword.perception.networks import Kind, open_detector, open_eye
from wayword.perception.survey import (
    Memory,
    SightedObject,
    SurveyedView,
    Surveyor,
    merge,
)
from wayword.runs.json_lines import unusable, write_atomically
from wayword.runs.opening import open_models
from wayword.runs.plan import Plan

MAX_TEXT = 600  # characters of a model's sentence
TILE = 240  # width of a view on a contact sheet, in pixels
DIRECTIONS = (6, 8, 12)
"""Numbers of directions that observation files can have."""
Objects = dict[str, dict[str, float | None]]
"""Heading (degrees) and distance (metres) of each object, by label."""


@dataclass(frozen=True)
class Perceiving:
    """Pictures, the networks that describe them, and the output folder.

    ``norths`` is a JSON file that maps places to the heading (degrees) of the picture's center, by
    default that of the tour, or 0. ``phrases`` are prompts of an open-vocabulary detector. Objects
    farther away than ``within`` (metres) are left out.

    The pictures of a tour (``pictures/`` next to a ``tour.json``) are named after its places, other
    pictures after their files.
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
            raise UsageError("perceive: add --captioner, --detector or --tagger")
        if self.depth and not self.detector:
            raise UsageError("perceive: --depth needs a --detector; add one")
        if self.batch < 1:
            raise UsageError(f"perceive: batch must be at least 1, got {self.batch}")


@dataclass(frozen=True)
class PerceiveResult:
    """Counts of a survey; ``computed`` counts network outputs that were not cached."""

    places: int
    views: int
    computed: int
    objects: int


def perceive(
    plan: Perceiving,
    on_place: Callable[[str, int, int], None],
) -> PerceiveResult:
    """Describe all pictures in the folder and write the files.

    Outputs are cached in ``out/answers.sqlite``, so that the same command resumes. ``on_place`` is
    called for each place with its name, its number and the total. Raises ``UsageError``,
    ``DataError`` or ``RecordingError``.
    """
    layout = panorama.layout(plan.layout)
    if len(layout.headings) not in DIRECTIONS:
        problem = f"layout {plan.layout} does not cover all directions"
        raise UsageError(f"perceive: {problem}; use another, such as navgpt24")
    pictures, norths = _pictures(plan)
    with closing(AnswerCache(plan.out / "answers.sqlite")) as cache:
        memory = Memory(cache, plan.batch)
        return blocking(_perceive(plan, layout, pictures, norths, memory, on_place))


async def _perceive(
    plan: Perceiving,
    layout: panorama.ViewLayout,
    pictures: Mapping[str, Path],
    norths: Mapping[str, float],
    memory: Memory,
    on_place: Callable[[str, int, int], None],
) -> PerceiveResult:
    """Describe every place, write the files, and close the opened models.

    ``pictures`` maps places to panoramas, ``norths`` to the heading (degrees) of their center, 0
    for those it lacks. The files of the scan are written at the end, contact sheets place by place.
    """
    opened: list[Model] = []

    def model(name: str) -> Model:
        """Open a chat model that describes pictures; it is closed with the others."""
        text_plan = Plan("perceive", "tour", name, cache=plan.out / "texts.sqlite")
        opened.extend(open_models(text_plan, {"main": (name, plan.settings)}).values())
        return opened[-1]

    def eye(kind: Kind, name: str) -> Any:
        """Return a network; None without a name."""
        return open_eye(kind, name, model) if name else None

    surveyor = Surveyor(
        layout,
        eye("captioner", plan.captioner),
        open_detector(plan.detector, plan.phrases) if plan.detector else None,
        eye("depth", plan.depth),
        eye("tagger", plan.tagger),
        memory,
    )
    describer = Describer(model(plan.model) if plan.model else None)
    sentences = dict[str, Any]()
    objects_of = dict[str, Any]()
    summaries = dict[str, str]()
    count = 0
    try:
        for number, (name, path) in enumerate(pictures.items(), 1):
            before = memory.requests
            looks = await surveyor.look(panorama.cached_read(path))
            objects = merge(looks, layout, plan.within)
            count += len(objects)
            north = norths.get(name, 0.0)
            described = await describer.place(looks, objects, layout, north)
            sentences[name], objects_of[name], summaries[name] = described
            # A sheet stays as it is if all of its answers were cached.
            boxes = plan.out / "boxes" / f"{name}.jpg"
            if memory.requests > before or not boxes.is_file():
                _write(boxes, sheet(panorama.cached_read(path), looks, layout))
            on_place(name, number, len(pictures))
    finally:
        for each in opened:
            await each.aclose()
    files: dict[str, Any] = {
        f"observations_list_summarized/{plan.scan}.json": sentences,
        f"observations_summarized/{plan.scan}_summarized.json": summaries,
        f"objects_list/{plan.scan}.json": objects_of,
    }
    for name, content in files.items():
        _write(
            plan.out / name,
            json.dumps(content, ensure_ascii=False, indent=1).encode(),
        )
    views = len(pictures) * len(list(layout.views()))
    return PerceiveResult(len(pictures), views, memory.requests, count)


def _pictures(plan: Perceiving) -> tuple[Mapping[str, Path], Mapping[str, float]]:
    """Picture and heading of its center for each place. Raises ``DataError`` for invalid headings,
    and if a picture of a tour is missing."""
    headings = {} if plan.norths is None else read_json(plan.norths)
    if plan.norths is not None and not isinstance(headings, dict):
        raise DataError(plan.norths, "", "must map places to headings in degrees")
    for name, value in headings.items():
        # In Python a bool is an int, but true is no heading.
        if isinstance(value, bool) or not isinstance(value, int | float):
            problem = f"must be a heading in degrees, got {value!r}"
            raise DataError(plan.norths or name, f"field {name!r}", problem)
    tour = plan.folder.parent / "tour.json"
    pictures = panorama.listed(plan.folder)
    norths: dict[str, float] = {}
    # The folder of a tour: its places, not its files, have the names.
    if plan.folder.name == "pictures" and tour.is_file():
        places = Tour("all", None, TourSettings(str(tour.parent))).places
        pictures = {
            name: plan.folder / str(place["picture"]) for name, place in places.items()
        }
        for name, path in pictures.items():
            if not path.is_file():
                raise DataError(
                    tour,
                    f"place {name!r}",
                    f"picture {path} does not exist",
                )
        norths = {name: float(p.get("north", 0.0)) for name, p in places.items()}
    # A heading of no place would silently leave a picture's at 0.
    for name, value in headings.items():
        if name not in pictures:
            problem = f"{name!r} is no place; {suggest(name, pictures)}"
            raise DataError(plan.norths or name, "", problem)
        norths[name] = float(value)
    return pictures, norths


class Describer:
    """Combines captions and objects into descriptions of places, with or without a model."""

    def __init__(self, model: Model | None) -> None:
        self._model = model
        self._prompts = Prompts(__file__, page="describing.jinja")

    async def place(
        self,
        looks: Sequence[SurveyedView],
        sighted: Sequence[SightedObject],
        layout: panorama.ViewLayout,
        north: float,
    ) -> tuple[list[str], list[Objects], str]:
        """A sentence and the objects of each direction, clockwise from north, and a summary. The
        views are relative to the picture's center; each direction gets the nearest view."""
        count = len(layout.headings)
        rows = len(layout.elevations)
        captions: list[list[str]] = [[] for _ in range(count)]
        # Views of a direction follow each other, one for each elevation.
        for start in range(0, len(looks), rows):
            at = sector(absolute(looks[start].heading + north), count)
            captions[at] = [look.caption for look in looks[start : start + rows]]
        objects: list[Objects] = [{} for _ in range(count)]
        for each in sighted:
            heading = absolute(each.heading + north)
            group = objects[sector(heading, count)]
            # Names are keys of the file, so that a second object needs a number.
            if each.name not in group:
                label = each.name
            else:
                label = f"{each.name} {len(group) + 1}"
            group[label] = {"heading": round(heading, 2), "distance": each.distance}
        pairs = zip(captions, objects, strict=True)
        sentences = await ask_all(
            [self._direction(texts, list(group)) for texts, group in pairs]
        )
        around = (
            f"{360 * i // count}°: {text}" for i, text in enumerate(sentences) if text
        )
        listed = "\n".join(around)
        # continues "The scene from the viewpoint is a"; agents read only the first sentence
        parts = dict.fromkeys(
            text.strip(". ").replace(". ", "; ") for text in sentences if text
        )
        summary = f"place with {'; '.join(parts)}"[:MAX_TEXT] if parts else ""
        if self._model is not None and listed:
            summary = await self._answer(self._model, "place", listed) or summary
        return sentences, objects, summary

    async def _direction(self, captions: Sequence[str], labels: Sequence[str]) -> str:
        """Return the text of a direction: captions, shortened by a model if long."""
        texts = list(
            dict.fromkeys(single_line(text) for text in captions if text.strip())
        )
        if not texts and labels:
            texts = [f"There is {', '.join(labels)}."]
        joined = " ".join(texts)
        if self._model is None or len(texts) < 2:
            return joined
        return await self._answer(self._model, "direction", "\n".join(texts)) or joined

    async def _answer(self, model: Model, prompt: str, captions: str) -> str:
        """Return a model's answer in one line."""
        messages = [user(self._prompts.fill(prompt, captions=captions))]
        sampling = Sampling(max_tokens=120, stop=("\n\n",))
        text = (await model.complete(messages, sampling)).text
        return single_line(text, MAX_TEXT)


def sheet(
    picture: Picture,
    looks: Sequence[SurveyedView],
    layout: panorama.ViewLayout,
) -> bytes:
    """Contact sheet of a place as JPEG: a column per direction, a row per elevation."""
    rows, columns = layout.size
    scale = TILE / columns
    size = (round(rows * scale), TILE)
    count = len(layout.elevations)
    tiles = np.zeros((count * size[0], len(layout.headings) * TILE, 3), np.uint8)
    boxes: list[tuple[str, float, float, float, float]] = []
    for number, look in enumerate(looks):
        # Views come column by column: every elevation of a heading, then the next.
        top = number % count * size[0]
        left = number // count * TILE
        shown = panorama.view(picture, look.heading, look.elevation, layout.width, size)
        tiles[top : top + size[0], left : left + TILE] = shown
        # Boxes are in pixels of the view, which is scaled to a tile.
        for box in look.boxes:
            x1, x2 = (left + scale * x for x in (box.left, box.right))
            y1, y2 = (top + scale * y for y in (box.top, box.bottom))
            boxes.append((f"{box.name} {box.score:.2f}", x1, y1, x2, y2))
    return panorama.outlined(tiles, boxes).data


def _write(path: Path, content: bytes) -> None:
    """Write a file. Raises ``RecordingError`` for a folder that cannot be written."""
    try:
        make_parent(path)
        write_atomically(path, content)
    except OSError as error:
        raise unusable(path, error, "give a writable folder") from error
