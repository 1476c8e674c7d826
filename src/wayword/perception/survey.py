"""Survey: the answers of networks for every view of a layout, each computed once.

Answers are cached in one file by the panorama's bytes, the view's direction and size, the network's
name and the question: an interrupted survey resumes, and a repeated one calls no network.

Source: NavGPT (Zhou et al. 2024), section 3.2: captions of every view; detections whose box center
gives the heading and whose depth there gives the distance.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from wayword.core.episode import Json
from wayword.core.geometry import absolute, relative
from wayword.core.perceiver import Box, Perceiver, Picture
from wayword.models.middleware.cache import AnswerCache, digest
from wayword.perception.panorama import ViewLayout, direction, view

# A box moves by a few degrees between overlapping views; chosen without measurement.
SAME_DEG = 8.0
"""Boxes with the same name and a smaller difference in heading (degrees) are one object."""


@dataclass(frozen=True, slots=True)
class SightedObject:
    """An object in a panorama: heading in degrees from the picture's middle, distance in metres."""

    name: str
    heading: float
    elevation: float
    score: float
    distance: float | None = None


@dataclass(frozen=True, slots=True)
class SurveyedView:
    """A view and the answers about it; ``boxes`` are in the view's own pixels."""

    heading: float
    elevation: float
    caption: str
    boxes: tuple[Box, ...]
    distances: tuple[float | None, ...]
    tags: tuple[str, ...] = ()


@dataclass
class Memory:
    """Disk cache by content. ``requests`` counts the pictures passed to a network."""

    cache: AnswerCache | None = None
    batch: int = 16
    requests: int = field(default=0, init=False)

    async def answers(
        self,
        question: str,
        views: Views,
        ask: Callable[[Sequence[Picture]], Awaitable[Sequence[Json]]],
    ) -> list[Json]:
        """Return one answer per view: from the cache, the rest in batches that are cached at once.
        Only views that are not cached are cut from their panorama."""
        # The key holds question and content, so a changed network or size is asked again.
        keys = [digest([question, content]) for content in views.contents]
        cached: dict[str, Json] = dict.fromkeys(keys)
        if self.cache is not None:
            cached = {key: self.cache.get(key) for key in keys}
        missing = [number for number, key in enumerate(keys) if cached[key] is None]
        for start in range(0, len(missing), self.batch):
            # Batches bound the memory, and each is stored before the next: an
            # interrupted survey loses one.
            batch = missing[start : start + self.batch]
            answers = await ask([views[number] for number in batch])
            self.requests += len(batch)
            for number, answer in zip(batch, answers, strict=True):
                cached[keys[number]] = answer
                if self.cache is not None:
                    self.cache.put(keys[number], answer)
        return [cached[key] for key in keys]


class Views:
    """The views of a layout in one panorama, each cut at first access."""

    def __init__(self, panorama: Picture, layout: ViewLayout) -> None:
        self._panorama = panorama
        self._layout = layout
        self.towards = list(layout.views())
        self._cut_views: dict[int, Picture] = {}
        # The shape too: pictures of other sides may have the same bytes.
        shape = str(panorama.shape).encode()
        # The bytes, not the path: a copied picture is known.
        content = hashlib.sha256(shape + panorama.tobytes()).hexdigest()
        frame = f"{layout.width:g} {layout.size}"
        self.contents = [f"{content} {h:g} {e:g} {frame}" for h, e in self.towards]
        """Cache key of each view: the panorama's checksum, the direction and the size."""

    def __len__(self) -> int:
        return len(self.towards)

    def __getitem__(self, number: int) -> Picture:
        # Cut only if an answer is missing: a cached survey cuts no view.
        if number not in self._cut_views:
            heading, elevation = self.towards[number]
            layout = self._layout
            self._cut_views[number] = view(
                self._panorama,
                heading,
                elevation,
                layout.width,
                layout.size,
            )
        return self._cut_views[number]


@dataclass(frozen=True)
class Surveyor:
    """Runs networks on the views of a layout; each network is optional."""

    layout: ViewLayout
    captioner: Perceiver | None = None
    detector: Perceiver | None = None
    depth: Perceiver | None = None
    tagger: Perceiver | None = None
    memory: Memory = field(default_factory=Memory)

    async def look(self, panorama: Picture) -> list[SurveyedView]:
        """Return the answers about every view of a panorama, in the order of the layout."""
        views = Views(panorama, self.layout)
        captions: list[Json] = [""] * len(views)
        tags: list[Json] = [[] for _ in views.contents]
        boxes: list[Json] = [[] for _ in views.contents]
        # The name is part of the question, so networks never share answers.
        if (eye := self.captioner) is not None:
            captions = await self.memory.answers(
                f"captions {eye.name}",
                views,
                eye.captions,
            )
        if (eye := self.detector) is not None:
            # Depth decides the distances, so it is part of the question, too.
            depth = self.depth.name if self.depth else ""
            question = f"boxes {eye.name} {depth}"
            boxes = await self.memory.answers(
                question,
                views,
                partial(self._detect, eye),
            )
        if (eye := self.tagger) is not None:
            tags = await self.memory.answers(f"tags {eye.name}", views, eye.tags)
        surveyed = []
        for number, (heading, elevation) in enumerate(views.towards):
            rows = boxes[number]  # the six fields of a box, then its distance
            look = SurveyedView(
                heading,
                elevation,
                captions[number],
                tuple(Box(*row[:6]) for row in rows),
                tuple(row[6] for row in rows),
                tuple(tags[number]),
            )
            surveyed.append(look)
        return surveyed

    async def _detect(
        self,
        detector: Perceiver,
        views: Sequence[Picture],
    ) -> Sequence[Json]:
        """Return boxes as rows: name, score, four edges, and metres along the camera's axis at the
        center, or None."""
        detected = await detector.boxes(views)
        depths: Sequence[Any] = [None] * len(views)
        if self.depth:
            depths = await self.depth.depths(views)
        answers = list[Json]()
        for boxes, depth in zip(detected, depths, strict=True):
            rows = list[Json]()
            for box in boxes:
                metres = None
                if depth is not None:
                    # The center of a box may be just outside the picture.
                    limits = np.array(depth.shape) - 1
                    row, column = np.clip(box.center, 0, limits).astype(int)
                    metres = round(float(depth[row, column]), 3)
                edges = (box.left, box.top, box.right, box.bottom)
                rows.append([box.name, box.score, *edges, metres])
            answers.append(rows)
        return answers


def merge(
    looks: Iterable[SurveyedView],
    layout: ViewLayout,
    within: float = 3.0,
) -> list[SightedObject]:
    """Return the objects of all views without duplicates: boxes by falling score, then tags, which
    have the heading of their view's middle. Objects farther than ``within`` metres are left out;
    those of unknown distance are kept."""
    sights: list[SightedObject] = []
    for look in looks:
        towards = (look.heading, look.elevation)
        for box, distance in zip(look.boxes, look.distances, strict=True):
            # Unknown distances are kept: a detector without depth would find nothing.
            if distance is not None and distance > within:
                continue
            heading, elevation = direction(
                *box.center,
                towards,
                layout.width,
                layout.size,
            )
            sight = SightedObject(
                box.name,
                absolute(heading),
                elevation,
                box.score,
                distance,
            )
            sights.append(sight)
        for tag in look.tags:
            heading = absolute(look.heading)
            sights.append(SightedObject(tag, heading, look.elevation, TAG_SCORE))

    # By falling score: the first sight of an object is its best.
    unique: list[SightedObject] = []
    for sight in sorted(sights, key=lambda sight: -sight.score):
        if not any(_is_same(sight, other) for other in unique):
            unique.append(sight)
    return unique


def _is_same(sight: SightedObject, other: SightedObject) -> bool:
    """True if a sight shows the same object as another one of a higher score."""
    if sight.name != other.name:
        return False
    # Twice the tolerance in elevation; chosen without measurement.
    if abs(relative(sight.heading, other.heading)) >= SAME_DEG:
        return False
    # A tag has no elevation of its own: only that of its view.
    is_tag = sight.score == TAG_SCORE
    return is_tag or abs(sight.elevation - other.elevation) < 2 * SAME_DEG


TAG_SCORE = 0.0
"""Score of a tag: below every box, so that a box of the same name has priority."""
