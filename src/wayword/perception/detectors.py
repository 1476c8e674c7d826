"""Detectors: a view in, named things and a grounding score for a phrase out.

    >>> detector_called("glip").name
    'simulated:glip'
    >>> detector_called("owlv2:google/owlv2-base-patch16-ensemble").name
    'owlv2:google/owlv2-base-patch16-ensemble'

A name of the form ``KIND:WEIGHTS`` is a network (see ``opening``): :class:`EyeDetector` shows it
the view's picture. Any other is a :class:`SimulatedDetector`, which reads what is truly in view
through a bounded quality, stated in numbers: see :class:`Quality`. Its presets ``clip``, ``owl``
and ``glip`` are *stand-ins*: they order as the networks of the same names do in LGX's Table III
and are not measurements of them.

Errors are seeded and belong to what is looked at: a lamp that is taken for a mug from a place is
taken for it again from there, in any run of the seed. Source of the roles: LGX (Dorbala et al.
2024, section III), where YOLO lists objects, BLIP captions views and GLIP grounds the target.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import math
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from wayword.core.errors import UsageError, suggest
from wayword.core.model import Image
from wayword.core.perceiver import Box, Detection, GroundedRegion, Perceiver, Picture
from wayword.perception.networks import indoor_words
from wayword.perception.opening import EYES, open_eye
from wayword.perception.panorama import direction, encode, read
from wayword.worlds.objectnav.observation import Shown, View


@dataclass(frozen=True, slots=True)
class Quality:
    """What a simulated detector gets right, in numbers.

    *Recall.* A thing is noticed with the probability ``recall`` x exp(-d / ``far``) x a / (a +
    ``small``), d being its distance in metres and a its visible size in degrees (the root of
    visible width x height x fraction). ``false_alarms`` is the chance that a view holds one object
    more than there is. *Grounding.* A noticed region that the phrase truly fits scores ``match``,
    less ``fade`` a metre, with the deviation ``spread``; one that it does not fit scores ``other``
    with ``other_spread``; and one that shares a word with the phrase ``related`` more. The share
    ``steady`` of the variance belongs to the thing, from wherever it is seen, the rest to the place
    that it is seen from. Scores are cut to 0 … 1.
    """

    recall: float = 1.0
    far: float = math.inf
    small: float = 0.0
    false_alarms: float = 0.0
    match: float = 1.0
    fade: float = 0.0
    spread: float = 0.0
    other: float = 0.0
    other_spread: float = 0.0
    related: float = 0.0
    steady: float = 0.8

    def __post_init__(self) -> None:
        for name in ("recall", "false_alarms", "match", "other", "steady"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"detector: {name} must lie in 0 to 1")
        for name in ("small", "fade", "spread", "other_spread", "related"):
            if not getattr(self, name) >= 0:
                raise UsageError(f"detector: {name} must not be negative")
        if not self.far > 0:
            raise UsageError("detector: far must be above 0")


PRESETS: dict[str, Quality] = {
    "perfect": Quality(),
    "glip": Quality(0.95, 12.0, 1.5, 0.03, 0.92, 0.02, 0.09, 0.44, 0.17, 0.12),
    "owl": Quality(0.90, 10.0, 2.0, 0.04, 0.90, 0.03, 0.10, 0.45, 0.185, 0.12),
    "clip": Quality(0.85, 8.0, 4.0, 0.06, 0.86, 0.04, 0.13, 0.48, 0.20, 0.12),
    "yolo": Quality(0.92, 12.0, 1.5, 0.03, 0.93, 0.03, 0.08, 0.40, 0.13, 0.12),
}
"""Stand-ins with the names of the networks whose place they take. ``glip`` grounds for LGX and GoW,
``owl`` for OWL-CoW, ``clip`` for CoW; ``yolo`` lists objects."""
PHANTOMS = ("chair", "box", "bottle", "lamp", "book", "bag", "plant", "shelf")
"""What false alarms are taken for."""


class SimulatedDetector(Perceiver):
    """Reads what is truly in view, with the errors that its quality states.

    The same seed, thing and place give the same error. ``heed`` is the least score of a detection.
    """

    def __init__(
        self, quality: Quality, seed: int = 0, name: str = "custom", heed: float = 0.0
    ) -> None:
        self.name = f"simulated:{name}"
        self.quality, self._seed, self._heed = quality, seed, heed

    def detect(self, view: View) -> list[Detection]:
        """What is noticed, under its own type's name; false alarms under the name of a phantom."""
        found = [
            Detection(
                thing.kind.replace("_", " "),
                thing.bearing,
                thing.away,
                self._score(self.quality.match, self.quality.spread, thing, view, "detect"),
                thing.width,
            )
            for thing in self._truth(view)
            if self._noticed(thing, view)
        ]
        found += self._phantoms(view)
        kept = [one for one in found if one.score >= self._heed]
        return sorted(kept, key=lambda one: (one.distance or 0.0, one.bearing))

    def ground(self, view: View, phrase: str) -> GroundedRegion | None:
        """The noticed thing that scores best for the phrase."""
        q, best = self.quality, None
        for thing in self._truth(view):
            if not self._noticed(thing, view):
                continue
            if fits(phrase, thing):
                score = self._score(q.match, q.spread, thing, view, phrase)
            else:
                middle = min(1.0, q.other + (q.related if related(phrase, thing) else 0.0))
                score = self._score(middle, q.other_spread, thing, view, phrase)
            if best is None or score > best.score:
                best = GroundedRegion(score, thing.bearing, thing.away)
        return best

    def check_view(self, view: View) -> None:
        """Raise ``UsageError`` where nobody knows what is truly in such a view."""
        self._truth(view)

    def _truth(self, view: View) -> Sequence[Shown]:
        if view.shown is None:
            raise UsageError(
                f"{self.name} reads what a simulation knows to be in view, and nothing knows that "
                "of a real camera; name a network that looks at its pictures (owlv2:WEIGHTS): "
                "--set grounding=… for searchers, scene=… for lgx as well, tags=… for discussnav"
            )
        return view.shown

    def _score(self, middle: float, spread: float, thing: Shown, view: View, about: str) -> float:
        """A draw about ``middle``, less what distance costs, cut to 0 … 1."""
        own = self._normal(about, thing.id)
        here = self._normal(about, thing.id, *_spot(view))
        steady = self.quality.steady
        noise = spread * (math.sqrt(steady) * own + math.sqrt(1 - steady) * here)
        return min(1.0, max(0.0, middle - self.quality.fade * thing.away + noise))

    def _noticed(self, thing: Shown, view: View) -> bool:
        q = self.quality
        size = math.sqrt(max(0.0, thing.width * thing.height * thing.fraction))
        chance = q.recall * math.exp(-thing.distance / q.far)
        chance *= size / (size + q.small) if q.small else 1.0
        return self._uniform("notice", thing.id, *_spot(view)) < chance

    def _phantoms(self, view: View) -> list[Detection]:
        spot = (*_spot(view), f"{view.heading:.0f}")
        if self._uniform("phantom", *spot) >= self.quality.false_alarms:
            return []
        kind = PHANTOMS[int(self._uniform("kind", *spot) * len(PHANTOMS))]
        bearing = (self._uniform("bearing", *spot) - 0.5) * view.field_of_view
        score = 0.5 + 0.4 * self._uniform("score", *spot)
        return [Detection(kind, round(bearing, 1), None, score)]

    def _uniform(self, *about: str) -> float:
        """A number in [0, 1) that depends on the seed and what it is about, on every machine."""
        text = "/".join((str(self._seed), *about))
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest()) / 2**56

    def _normal(self, *about: str) -> float:
        """A standard normal number likewise (Box and Muller)."""
        radius = math.sqrt(-2 * math.log(1 - self._uniform(*about, "r")))
        return radius * math.cos(2 * math.pi * self._uniform(*about, "t"))


def detector_named(name: str, seed: int = 0, **changes: float) -> SimulatedDetector:
    """A preset, some of its numbers changed: ``detector_named("glip", recall=0.8)``.

    Raises ``UsageError`` for another name or number.
    """
    if name not in PRESETS:
        raise UsageError(f"no detector is called {name!r}; {suggest(name, list(PRESETS))}")
    known = list(Quality.__dataclass_fields__)
    for key in changes:
        if key not in known:
            raise UsageError(f"detector: no number {key!r}; {suggest(key, known)}")
    told = "".join(f",{key}={value:g}" for key, value in sorted(changes.items()))
    return SimulatedDetector(replace(PRESETS[name], **changes), seed, name + told)


def fits(phrase: str, thing: Shown) -> bool:
    """Whether a phrase truly names a thing: its words, or its type where it has no others.

    Compounds may be written apart: a "basketball" is a ``basket_ball``.
    """
    return _joined(phrase) in (_joined(thing.words), _joined(thing.kind))


def related(phrase: str, thing: Shown) -> bool:
    """Whether phrase and thing share a word (``"cat-shaped mug"`` and another mug)."""
    words = set(_plain(thing.words).split()) | set(_plain(thing.kind).split())
    return bool(words & set(_plain(phrase).split()))


def caption(detections: Sequence[Detection], most: int = 4) -> str:
    """A sentence for one direction, made of what was detected there: the largest first.

    >>> caption([Detection("sofa", 0, 2.0, 0.9, 40), Detection("lamp", 9, 2.0, 0.9, 5)])
    'a sofa and a lamp'
    """
    ranked = sorted(detections, key=lambda one: -one.width)
    names = list(dict.fromkeys(one.name for one in ranked))[:most]
    told = [f"{'an' if name[0] in 'aeiou' else 'a'} {name}" for name in names]
    if not told:
        return "an empty wall"
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


def _spot(view: View) -> tuple[str, str]:
    """Where a view was taken, to a quarter of a metre: errors stay while a body stays."""
    return f"{round(view.x * 4)}", f"{round(view.y * 4)}"


def _plain(text: str) -> str:
    return " ".join(text.lower().replace("_", " ").replace("-", " ").split())


def _joined(text: str) -> str:
    return _plain(text).replace(" ", "")


# A network behind a camera: boxes in the view's picture, as detections and groundings.
#
# The bearing of a box follows from its place in the picture and the camera's field of view, its
# distance from the depth image where that covers it.

MIDDLE = 0.5
"""Share of a box's width and height whose depth counts: its edges show what is behind."""
Answer = TypeVar("Answer")


def detector_called(name: str, seed: int = 0, **changes: float) -> Perceiver:
    """The detector of that name: a network with a colon in it, a simulated one without.

    Networks are loaded when they first look. Raises ``UsageError``.
    """
    if ":" not in name:
        return detector_named(name, seed, **changes)
    if changes:
        raise UsageError(f"{name} is a network: its quality is what it is, not a setting")
    return EyeDetector(name)


class EyeDetector(Perceiver):
    """A detector or grounder of the ``perception`` package that looks at ``View.image``.

    A grounder (``owlv2``, ``groundingdino``) lists what is around by looking for ``names``, the
    shipped list of indoor things unless others are given; a detector (``detr``, ``ssd``) grounds a
    phrase in the boxes whose own name is in it.
    """

    def __init__(self, name: str, names: Sequence[str] = ()) -> None:
        self._family = name.partition(":")[0]
        known = [*EYES["grounder"], *EYES["detector"]]
        if self._family not in known:
            raise UsageError(f"no detector is called {name!r}; {suggest(self._family, known)}")
        self.name, self._names = name, tuple(names)

    def detect(self, view: View) -> list[Detection]:
        """The things found, nearest first, those of unknown distance last."""
        found = [self._detection(view, box) for box in self._boxes(view, self._vocabulary())]
        far = math.inf
        return sorted(found, key=lambda one: far if one.distance is None else one.distance)

    def ground(self, view: View, phrase: str) -> GroundedRegion | None:
        """The surest box for the phrase."""
        boxes = self._boxes(view, (phrase,))
        if not self._grounds:
            wanted = set(phrase.lower().replace("-", " ").split())
            boxes = [box for box in boxes if set(box.name.lower().split()) <= wanted]
        if not boxes:
            return None
        best = self._detection(view, max(boxes, key=lambda box: box.score))
        return GroundedRegion(best.score, best.bearing, best.distance)

    def check_view(self, view: View) -> None:
        """Raise ``UsageError`` where there is no picture to look at."""
        if not view.image:
            raise UsageError(f"{self.name} looks at pictures, and there are none here")

    @property
    def _grounds(self) -> bool:
        return self._family in EYES["grounder"]

    def _vocabulary(self) -> Sequence[str]:
        return self._names or (indoor_words() if self._grounds else ())

    def _boxes(self, view: View, phrases: Sequence[str]) -> list[Box]:
        self.check_view(view)
        picture = pixels(view.image)
        found: list[list[Box]]
        if self._grounds:
            found = _now(_eye("grounder", self.name).find([picture], list(phrases)))
        else:
            found = _now(_eye("detector", self.name).boxes([picture]))
        return found[0]

    def _detection(self, view: View, box: Box) -> Detection:
        size = pixels(view.image).shape[:2]
        row, column = box.centre
        edges = [_angle(view, row, edge, size)[0] for edge in (box.left, box.right)]
        bearing, elevation = sum(edges) / 2, _angle(view, row, column, size)[1]
        high = _angle(view, box.top, column, size)[1] - _angle(view, box.bottom, column, size)[1]
        wide = edges[1] - edges[0]
        distance = distance_at(view, bearing, elevation, MIDDLE * wide, MIDDLE * high)
        return Detection(box.name, round(bearing, 2), distance, box.score, round(wide, 2))


def distance_at(
    view: View, bearing: float, elevation: float, wide: float = 0.0, high: float = 0.0
) -> float | None:
    """Metres along the floor to what the depth image shows in a window (degrees) around a
    direction, the median of it; None where it shows nothing there."""
    depth = view.depth
    if not depth.bearings or not depth.elevations:
        return None
    across, up = np.array(depth.bearings), np.array(depth.elevations)
    if abs(across - bearing).min() > max(3.0, wide):
        return None
    columns, rows = _window(across, bearing, wide), _window(up, elevation, high)
    flat = depth.metres()[rows][:, columns] * np.cos(np.radians(up[rows]))[:, None]
    met = flat[np.isfinite(flat)]
    return round(float(np.median(met)), 3) if len(met) else None


@lru_cache(maxsize=4)
def pixels(image: bytes) -> Picture:
    """A camera's picture as an array. Raises ``DataError``, ``UsageError`` without pillow."""
    return read(io.BytesIO(image), "camera")


def middle_of(image: bytes, field_of_view: float, width: float) -> Image:
    """The middle of a picture, ``width`` degrees of its ``field_of_view``, for a message."""
    picture = pixels(image)
    columns = picture.shape[1]
    share = math.tan(math.radians(min(width, field_of_view) / 2))
    share /= math.tan(math.radians(field_of_view / 2))
    kept = max(1, round(columns * share))
    left = (columns - kept) // 2
    return encode(np.ascontiguousarray(picture[:, left : left + kept]))


@lru_cache(maxsize=4)
def _eye(kind: Any, name: str) -> Any:
    """The network, loaded once in a process."""
    return open_eye(kind, name)


def _now(answer: Coroutine[Any, Any, Answer]) -> Answer:
    """An eye's answer, waited for: agents ask their detectors in the midst of an event loop."""
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(asyncio.run, answer).result()


def _angle(view: View, row: float, column: float, size: Sequence[int]) -> tuple[float, float]:
    """Bearing and elevation of a point of the picture; a pixel's edge is half off its middle."""
    return direction(row - 0.5, column - 0.5, (0.0, 0.0), view.field_of_view, size)


def _window(angles: Any, middle: float, wide: float) -> Any:
    """The rows or columns within a window, the nearest one at least."""
    off = np.abs(angles - middle)
    inside = np.flatnonzero(off <= wide / 2)
    return inside if len(inside) else np.array([int(off.argmin())])
