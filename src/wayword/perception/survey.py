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

import numpy as np

from wayword.core.episode import Json
from wayword.core.geometry import absolute, relative
from wayword.core.perceiver import Box, Perceiver, Picture
from wayword.models.middleware.cache import AnswerCache, digest
from wayword.perception.panorama import ViewLayout, direction, view

# Boxes with the same name and a smaller difference in heading are one object
SAME_DEG = 8.0


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


@dataclass(slots=True)
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
        keys = [digest([question, content]) for content in views.contents]
        cached = {key: self.cache.get(key) if self.cache else None for key in keys}
        missing = [number for number, key in enumerate(keys) if cached[key] is None]
        for batch in (
            missing[i : i + self.batch] for i in range(0, len(missing), self.batch)
        ):
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
        content = hashlib.sha256(
            str(panorama.shape).encode() + panorama.tobytes()
        ).hexdigest()
        frame = f"{layout.width:g} {layout.size}"
        self.contents = [f"{content} {h:g} {e:g} {frame}" for h, e in self.towards]
        """Cache key of each view: the panorama's checksum, the direction and the size."""

    def __len__(self) -> int:
        return len(self.towards)

    def __getitem__(self, number: int) -> Picture:
        if number not in self._cut_views:
            frame = self._layout.width, self._layout.size
            self._cut_views[number] = view(
                self._panorama, *self.towards[number], *frame
            )
        return self._cut_views[number]


@dataclass(frozen=True, slots=True)
class Surveyor:
    """Runs networks on the views of a layout; each network is optional."""

    layout: ViewLayout
    captioner: Perceiver | None = None
    detector: Perceiver | None = None
    depth: Perceiver | None = None
    tagger: Perceiver | None = None
    memory: Memory = field(default_factory=Memory)

    async def look(self, panorama: Picture) -> list[SurveyedView]:
        views = Views(panorama, self.layout)
        captions: list[Json] = [""] * len(views)
        tags: list[Json] = [[] for _ in views.contents]
        boxes: list[Json] = [[] for _ in views.contents]
        if (eye := self.captioner) is not None:
            captions = await self.memory.answers(
                f"captions {eye.name}", views, eye.captions
            )
        if (eye := self.detector) is not None:
            depth = self.depth.name if self.depth else ""
            question = f"boxes {eye.name} {depth}"
            boxes = await self.memory.answers(
                question, views, partial(self._detect, eye)
            )
        if (eye := self.tagger) is not None:
            tags = await self.memory.answers(f"tags {eye.name}", views, eye.tags)
        surveyed = []
        for at, caption, rows, tagged in zip(
            views.towards, captions, boxes, tags, strict=True
        ):
            detected = (
                tuple(Box(*row[:6]) for row in rows),
                tuple(row[6] for row in rows),
            )
            surveyed.append(SurveyedView(*at, caption, *detected, tuple(tagged)))
        return surveyed

    async def _detect(
        self, detector: Perceiver, views: Sequence[Picture]
    ) -> Sequence[Json]:
        """Return boxes as rows: name, score, four edges, and metres along the camera's axis at the
        center, or None."""
        found = await detector.boxes(views)
        depths = await self.depth.depths(views) if self.depth else [None] * len(views)
        answers = list[Json]()
        for boxes, depth in zip(found, depths, strict=True):
            rows = list[Json]()
            for box in boxes:
                metres = None
                if depth is not None:
                    limits = np.array(depth.shape) - 1
                    metres = round(
                        float(depth[*np.clip(box.center, 0, limits).astype(int)]), 3
                    )
                edges = box.left, box.top, box.right, box.bottom
                rows.append([box.name, box.score, *edges, metres])
            answers.append(rows)
        return answers


def merge(
    looks: Iterable[SurveyedView], layout: ViewLayout, within: float = 3.0
) -> list[SightedObject]:
    """Return the objects of all views without duplicates: boxes by falling score, then tags, which
    have the heading of their view's middle. Objects farther than ``within`` metres are left out;
    those of unknown distance are kept."""
    sights: list[SightedObject] = []
    for look in looks:
        towards = look.heading, look.elevation
        for box, distance in zip(look.boxes, look.distances, strict=True):
            heading, rise = direction(*box.center, towards, layout.width, layout.size)
            if distance is None or distance <= within:
                sights.append(
                    SightedObject(
                        box.name, absolute(heading), rise, box.score, distance
                    )
                )
        heading = absolute(look.heading)
        sights += [
            SightedObject(tag, heading, look.elevation, 0.0) for tag in look.tags
        ]
    unique: list[SightedObject] = []
    for sight in sorted(sights, key=lambda each: -each.score):
        if not any(
            sight.name == other.name
            and abs(relative(sight.heading, other.heading)) < SAME_DEG
            and (
                abs(sight.elevation - other.elevation) < 2 * SAME_DEG
                or sight.score == 0.0
            )
            for other in unique
        ):
            unique.append(sight)
    return unique
