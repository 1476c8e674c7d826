"""A survey: every view of a layout seen by the given eyes, and nothing asked twice.

Answers are kept in one file by content: a panorama's bytes, how the view is cut, the network's name
and the question. A survey that was broken off goes on where it stopped, and a second one touches no
network.

Source: NavGPT (Zhou et al. 2024), section 3.2: captions of every view; detections whose box centre
gives the heading and whose depth there gives the distance.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from wayword.core.episode import Json
from wayword.core.geometry import absolute, relative
from wayword.core.perceiver import Box, Floats, Perceiver, Picture
from wayword.models.middleware.cache import AnswerCache, digest
from wayword.perception.panorama import ViewLayout, direction, view

SAME = 8.0
"""Two boxes of one name this near in heading (degrees) are one thing, seen in two views."""


@dataclass(frozen=True, slots=True)
class SightedThing:
    """A thing seen: heading (degrees from the picture's own middle), metres if depth was known."""

    name: str
    heading: float
    elevation: float
    score: float
    distance: float | None = None


@dataclass(frozen=True, slots=True)
class SurveyedView:
    """One view and what was made of it; ``boxes`` are in the view's own pixels."""

    heading: float
    elevation: float
    caption: str
    boxes: tuple[Box, ...]
    distances: tuple[float | None, ...]
    tags: tuple[str, ...] = ()


@dataclass(slots=True)
class Memory:
    """Answers by content, on disk. ``asked`` counts the pictures a network really saw."""

    cache: AnswerCache | None = None
    batch: int = 16
    asked: int = field(default=0, init=False)

    async def answers(
        self,
        question: str,
        views: Views,
        ask: Callable[[Sequence[Picture]], Awaitable[Sequence[Json]]],
    ) -> list[Json]:
        """An answer a view: kept ones, and the rest asked in batches and kept at once.

        Only views that are asked about are cut out of their panorama.
        """
        keys = [digest([question, content]) for content in views.contents]
        known: dict[str, Json] = {}
        for key in keys:
            if self.cache is not None and (found := self.cache.get(key)) is not None:
                known[key] = found
        missing = [number for number, key in enumerate(keys) if key not in known]
        for some in (missing[i : i + self.batch] for i in range(0, len(missing), self.batch)):
            given = await ask([views[number] for number in some])
            self.asked += len(some)
            for number, answer in zip(some, given, strict=True):
                known[keys[number]] = answer
                if self.cache is not None:
                    self.cache.put(keys[number], answer)
        return [known[key] for key in keys]


class Views:
    """The views of a layout in one panorama, cut when they are first looked at."""

    def __init__(self, panorama: Picture, layout: ViewLayout) -> None:
        self._panorama, self._layout = panorama, layout
        self.towards = list(layout.views())
        self._cut: dict[int, Picture] = {}
        whole = hashlib.sha256(str(panorama.shape).encode() + panorama.tobytes()).hexdigest()
        frame = f"{layout.width:g} {layout.size}"
        self.contents = [f"{whole} {h:g} {e:g} {frame}" for h, e in self.towards]
        """What each view shows, told by the panorama's bytes and how it is cut."""

    def __len__(self) -> int:
        return len(self.towards)

    def __getitem__(self, number: int) -> Picture:
        if number not in self._cut:
            layout = self._layout
            towards = self.towards[number]
            self._cut[number] = view(self._panorama, *towards, layout.width, layout.size)
        return self._cut[number]


@dataclass(frozen=True, slots=True)
class Surveyor:
    """Looks at places with a layout and the eyes it has; any of them may be missing."""

    layout: ViewLayout
    captioner: Perceiver | None = None
    detector: Perceiver | None = None
    depth: Perceiver | None = None
    tagger: Perceiver | None = None
    memory: Memory = field(default_factory=Memory)

    async def look(self, panorama: Picture) -> list[SurveyedView]:
        """Every view of an equirectangular picture, in the layout's order."""
        views = Views(panorama, self.layout)
        captions: list[Json] = [""] * len(views)
        tags: list[Json] = [[] for _ in views.contents]
        found: list[Json] = [[] for _ in views.contents]
        if (eye := self.captioner) is not None:
            captions = await self.memory.answers(f"captions {eye.name}", views, eye.captions)
        if (eye := self.detector) is not None:
            depth = self.depth.name if self.depth else ""
            question = f"boxes {eye.name} {depth}"
            found = await self.memory.answers(question, views, partial(self._detected, eye))
        if (eye := self.tagger) is not None:
            tags = await self.memory.answers(f"tags {eye.name}", views, eye.tags)
        seen = zip(views.towards, captions, found, tags, strict=True)
        return [
            SurveyedView(
                *towards, caption, tuple(Box(*row[:6]) for row in rows),
                tuple(row[6] for row in rows), tuple(tagged),
            )
            for towards, caption, rows, tagged in seen
        ]  # fmt: skip

    async def _detected(self, detector: Perceiver, views: Sequence[Picture]) -> Sequence[Json]:
        """Boxes as rows: name, score, four edges, distance at the center or None."""
        boxes = await detector.boxes(views)
        depths = await self.depth.depths(views) if self.depth else [None] * len(views)
        return [
            [
                [b.name, b.score, b.left, b.top, b.right, b.bottom, _distance(b, depth)]
                for b in found
            ]
            for found, depth in zip(boxes, depths, strict=True)
        ]


def things(
    looks: Iterable[SurveyedView], layout: ViewLayout, within: float = 3.0
) -> list[SightedThing]:
    """What all views found, each thing once, the surest first, and tags after what has a box.

    A tag has the heading of its view's middle. Things known to be farther than ``within`` metres
    are left out; those of unknown distance stay.
    """
    found: list[SightedThing] = []
    for look in looks:
        towards = look.heading, look.elevation
        for box, distance in zip(look.boxes, look.distances, strict=True):
            heading, rise = direction(*box.centre, towards, layout.width, layout.size)
            if distance is None or distance <= within:
                found.append(SightedThing(box.name, absolute(heading), rise, box.score, distance))
        found += [
            SightedThing(tag, absolute(look.heading), look.elevation, 0.0) for tag in look.tags
        ]
    found.sort(key=lambda thing: -thing.score)
    kept: list[SightedThing] = []
    for thing in found:
        if not any(_same(thing, other) for other in kept):
            kept.append(thing)
    return kept


def _same(one: SightedThing, other: SightedThing) -> bool:
    near = abs(relative(one.heading, other.heading)) < SAME
    level = abs(one.elevation - other.elevation) < 2 * SAME or one.score == 0.0
    return one.name == other.name and near and level


def _distance(box: Box, depth: Floats | None) -> float | None:
    """Metres at the box's centre, from a map along the camera's axis."""
    if depth is None:
        return None
    rows, columns = depth.shape
    row, column = box.centre
    at = depth[min(max(int(row), 0), rows - 1), min(max(int(column), 0), columns - 1)]
    return round(float(at), 3)
