"""Detectors: objects in a camera view, and the region that matches a phrase best.

    >>> detector_called("glip").name
    'simulated:glip'
    >>> detector_called("owlv2:google/owlv2-base-patch16-ensemble").name
    'owlv2:google/owlv2-base-patch16-ensemble'

A name ``KIND:WEIGHTS`` is a network (see ``networks``), which :class:`EyeDetector` runs on the
view's picture. Any other name is a :class:`SimulatedDetector`: the objects truly in view, with
simulated errors (:class:`Quality`). Its presets ``clip``, ``owl`` and ``glip`` are *stand-ins*:
they rank like the networks of these names in LGX's Table III, but are not measurements of them.

Errors are seeded per object and place: a lamp mistaken for a mug from one place is mistaken again
from there, in every run with the seed. The roles are from LGX (Dorbala et al. 2024, section III),
in which YOLO lists objects, BLIP captions views and GLIP grounds the target.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Gt, Le

from wayword.core.errors import UsageError, suggest
from wayword.core.model import Image
from wayword.core.perceiver import Box, Detection, GroundedRegion, Perceiver, Picture
from wayword.core.visible import join_words, spaced, with_article
from wayword.perception.networks import EYES, LEAST_SCORES, indoor_words, open_eye
from wayword.perception.panorama import direction, encode, read
from wayword.settings import make
from wayword.worlds.objectnav.observation import Shown, View

Share = Annotated[float, Ge(0), Le(1)]
AtLeastZero = Annotated[float, Ge(0)]


@dataclass(frozen=True)
class Quality:
    """Error model of a simulated detector.

    *Recall.* An object is detected with probability ``recall`` x exp(-d / ``far``) x a / (a +
    ``small``), where d is its distance in metres and a its visible size in degrees (square root of
    width x height x visible fraction). ``false_alarms`` is the probability of one phantom object
    per view. *Grounding.* The score of a detected object that matches the phrase has mean
    ``match`` and standard deviation ``spread``. Other objects have mean ``other``, plus
    ``related`` if they share a word with the phrase, and deviation ``other_spread``. All means fall
    by ``fade`` per metre. A share ``steady`` of the variance is constant per object; the rest
    depends on the viewpoint. Scores are clipped to 0 … 1.
    """

    recall: Share = 1.0
    far: Annotated[float, Gt(0)] = math.inf
    small: AtLeastZero = 0.0
    false_alarms: Share = 0.0
    match: Share = 1.0
    fade: AtLeastZero = 0.0
    spread: AtLeastZero = 0.0
    other: Share = 0.0
    other_spread: AtLeastZero = 0.0
    related: AtLeastZero = 0.0
    steady: Share = 0.8


PRESETS: dict[str, Quality] = {
    "perfect": Quality(),
    "glip": Quality(
        recall=0.95,
        far=12.0,
        small=1.5,
        false_alarms=0.03,
        match=0.92,
        fade=0.02,
        spread=0.09,
        other=0.44,
        other_spread=0.17,
        related=0.12,
    ),
    "owl": Quality(
        recall=0.90,
        far=10.0,
        small=2.0,
        false_alarms=0.04,
        match=0.90,
        fade=0.03,
        spread=0.10,
        other=0.45,
        other_spread=0.185,
        related=0.12,
    ),
    "clip": Quality(
        recall=0.85,
        far=8.0,
        small=4.0,
        false_alarms=0.06,
        match=0.86,
        fade=0.04,
        spread=0.13,
        other=0.48,
        other_spread=0.20,
        related=0.12,
    ),
    "yolo": Quality(
        recall=0.92,
        far=12.0,
        small=1.5,
        false_alarms=0.03,
        match=0.93,
        fade=0.03,
        spread=0.08,
        other=0.40,
        other_spread=0.13,
        related=0.12,
    ),
}
"""Stand-ins named after the networks they replace. ``glip`` grounds for LGX and GoW, ``owl`` for
OWL-CoW, ``clip`` for CoW; ``yolo`` lists objects."""
# Objects that any room may have, so that a false alarm is never absurd.
PHANTOMS = (
    "chair",
    "box",
    "bottle",
    "lamp",
    "book",
    "bag",
    "plant",
    "shelf",
)
"""Names of false alarms."""


WITHOUT_ERROR = "detects without error: an upper bound for detectors"
OF_ROBOT = "reads what the robot's own detector found, with its errors"
"""Caveats of the perfect detector in a simulation, and on a robot."""


class SimulatedDetector(Perceiver):
    """Reports the objects truly in view, with simulated errors.

    Errors depend on ``seed``, object and place alone, false alarms on ``seed``, place and heading:
    the same view gives the same reports.
    """

    def __init__(
        self,
        quality: Quality,
        seed: int = 0,
        name: str = "custom",
    ) -> None:
        self.quality = quality
        self._seed = seed
        self.name = f"simulated:{name}"
        caveat = f"{self.name} {WITHOUT_ERROR}"
        if quality != PRESETS["perfect"]:
            caveat = (
                f"{self.name} is a simulation, not a network: recall {quality.recall:g} before "
                f"distance and size, {quality.false_alarms:.0%} of views with a false alarm; a "
                "perfect detector (`perfect`) gives the upper bound"
            )
        self.caveats = (caveat,)

    def detect(self, view: View) -> list[Detection]:
        """Return the objects that the detector notices in a view, by the distance of their centers.

        A false alarm has no distance and comes first.
        """
        quality = self.quality
        detections = []
        for obj in self._true_objects(view):
            if self._is_noticed(obj, view):
                # An object matches its own name.
                score = self._score(
                    quality.match,
                    quality.spread,
                    obj,
                    view,
                    topic="detect",
                )
                name = spaced(obj.kind)
                detections.append(
                    Detection(
                        name,
                        obj.bearing,
                        obj.away,
                        score,
                        obj.width,
                    )
                )
        # Rounded to whole degrees: looks that differ by rounding alone fail in the same way.
        key = (*_cell(view), f"{round(view.heading) % 360}")
        if self._uniform("phantom", *key) < quality.false_alarms:
            kind = PHANTOMS[int(self._uniform("kind", *key) * len(PHANTOMS))]
            bearing = (self._uniform("bearing", *key) - 0.5) * view.field_of_view
            # 0.5 to 0.9, by choice, not by measurement: 0.7 on average, about what ``glip`` gives
            # an object at 10 m.
            score = 0.5 + 0.4 * self._uniform("score", *key)
            detections.append(
                Detection(
                    kind,
                    round(bearing, 1),
                    None,
                    score,
                )
            )
        # Of equal distances, from left to right.
        return sorted(detections, key=lambda each: (each.distance or 0.0, each.bearing))

    def ground(self, view: View, phrase: str) -> GroundedRegion | None:
        """Return the detected object with the highest score for the phrase.

        None if no object is detected. It may be another object than the phrase names:
        callers compare the score with their threshold.
        """
        quality = self.quality
        best = None
        for obj in self._true_objects(view):
            if not self._is_noticed(obj, view):
                continue
            mean = quality.match
            spread = quality.spread
            # Other objects get scores of their own, so that a wrong one can win.
            if not fits(phrase, obj):
                mean = quality.other
                spread = quality.other_spread
                # An object that shares a word with the phrase, as "mug" of two mugs, scores higher.
                words = set(_normalize(f"{obj.words} {obj.kind}").split())
                if not words.isdisjoint(_normalize(phrase).split()):
                    mean += quality.related
            score = self._score(
                min(1.0, mean),
                spread,
                obj,
                view,
                phrase,
            )
            # Of equal scores the nearest object wins, as objects come nearest first.
            if best is None or score > best.score:
                best = GroundedRegion(score, obj.bearing, obj.away)
        return best

    def load_weights(self) -> None:
        """Raise ``UsageError``: a robot has no ground truth to add errors to. Without errors, the
        detector reads what the robot's own one found."""
        if self.quality != PRESETS["perfect"]:
            raise UsageError(self._refusal)

    def check_view(self, view: View) -> None:
        """Raise ``UsageError`` for a view without ground truth."""
        self._true_objects(view)

    @property
    def _refusal(self) -> str:
        """Why a real robot cannot have it, and what to set instead."""
        return (
            f"{self.name} needs the ground truth of a simulation, which a real camera lacks; "
            "choose a network that sees pictures (owlv2:WEIGHTS), or perfect for what a base of "
            "your own shows: --set grounding=… for searchers, also scene=… for lgx, tags=… for "
            "discussnav"
        )

    def _true_objects(self, view: View) -> Sequence[Shown]:
        """Return the objects in a view. Raises ``UsageError`` for the view of a real camera."""
        # A real camera leaves it out; an empty view of a simulation is an empty tuple.
        if view.shown is None:
            raise UsageError(self._refusal)
        return view.shown

    def _score(
        self,
        mean: float,
        spread: float,
        obj: Shown,
        view: View,
        topic: str,
    ) -> float:
        """Draw a score around ``mean`` with deviation ``spread``, clipped to 0 … 1.

        The mean falls with the distance of the object's center. ``topic`` makes the draw of one
        question independent of others.
        """
        # Variances of independent numbers add up: ``steady`` of the object, the rest of the cell.
        steady = self.quality.steady
        by_object = math.sqrt(steady) * self._normal(topic, obj.id)
        by_place = math.sqrt(1 - steady) * self._normal(topic, obj.id, *_cell(view))
        noise = spread * (by_object + by_place)
        return min(1.0, max(0.0, mean - self.quality.fade * obj.away + noise))

    def _is_noticed(self, obj: Shown, view: View) -> bool:
        """True if an object in view is detected, see ``Quality``."""
        quality = self.quality
        # The root of an area in square degrees is an angle.
        size = math.sqrt(max(0.0, obj.width * obj.height * obj.fraction))
        chance = quality.recall * math.exp(-obj.distance / quality.far)
        if quality.small:
            chance *= size / (size + quality.small)
        return self._uniform("notice", obj.id, *_cell(view)) < chance

    def _uniform(self, *topic: str) -> float:
        """Return a number in [0, 1) from the seed and the topic, the same on every machine."""
        text = "/".join((str(self._seed), *topic))
        # Seven bytes: 56 bits, of which a float keeps 53.
        digest = hashlib.blake2b(text.encode(), digest_size=7).digest()
        return int.from_bytes(digest) / 2**56

    def _normal(self, *topic: str) -> float:
        """Return a standard normal number from seed and topic (Box-Muller)."""
        radius = math.sqrt(-2 * math.log(1 - self._uniform(*topic, "r")))
        return radius * math.cos(2 * math.pi * self._uniform(*topic, "t"))


def fits(phrase: str, obj: Shown) -> bool:
    """True if a phrase names an object, by its description or type.

    Word breaks are ignored: a "basketball" is a ``basket_ball``.
    """
    return same_name(phrase, obj.words) or same_name(phrase, obj.kind)


def same_name(phrase: str, name: str) -> bool:
    """True if a phrase is a name but for its word breaks."""
    return _unbroken(phrase) == _unbroken(name)


def caption(detections: Sequence[Detection]) -> str:
    """Return a caption for one direction from its detected objects, the largest first.

    >>> caption([Detection("sofa", 0, 2.0, 0.9, 40), Detection("lamp", 9, 2.0, 0.9, 5)])
    'a sofa and a lamp'
    """
    # By width: what fills the view is what a person would mention.
    ranked = sorted(detections, key=lambda detection: -detection.width)
    # Four at most: a caption is a sentence.
    names = list(dict.fromkeys(detection.name for detection in ranked))[:4]
    return join_words([with_article(name) for name in names]) or "an empty wall"


def _cell(view: View) -> tuple[str, str]:
    """Return the cell of 0.25 m from which a view was taken: errors are the same within it."""
    return f"{round(view.x * 4)}", f"{round(view.y * 4)}"


def _normalize(text: str) -> str:
    """Return a name in lower case with blanks between its words."""
    return " ".join(text.lower().replace("_", " ").replace("-", " ").split())


def _unbroken(text: str) -> str:
    """Return a name in lower case without word breaks."""
    return _normalize(text).replace(" ", "")


# A network on a camera: boxes in the view's picture become detections and groundings.
#
# The bearing of a box is computed from its position in the picture and the camera's field of view,
# its distance from the depth image where that covers the box.

INNER = 0.5  # share of a box's width and height used for depth: its edges show the background


NETWORKS = (*EYES["grounder"], *EYES["detector"])
"""Families of the networks that detect objects in pictures."""


def detector_listing() -> str:
    """Return the names of detectors, with what each is."""
    rows = ["detectors"]
    for name in sorted(PRESETS):
        about = "Simulated, from ground truth, without errors."
        if name != "perfect":
            about = f"Simulated stand-in for {name}: ground truth with errors."
        rows.append(f"  {name:<22} {about}")
    for name in sorted(NETWORKS):
        about = "Network on pictures, as of a robot."
        rows.append(f"  {name + ':WEIGHTS':<22} {about}")
    return "\n".join(rows)


def detector_called(name: str, seed: int = 0, **changes: float) -> Perceiver:
    """Return the detector of that name: a network if it contains a colon, else a preset of a
    simulated one, with changed parameters (``recall=0.8``).

    Networks are loaded at first use. Raises ``UsageError`` for an unknown name or parameter.
    """
    # Names of networks hold a colon, names of presets never do.
    if ":" in name or name in NETWORKS:
        if changes:
            raise UsageError(
                f"{name} is a network: only simulated detectors have a quality"
            )
        return EyeDetector(name)
    if name.endswith(".py"):
        raise UsageError(
            f"{name}: a detector of your own is part of a robot's base, which fills View.shown: "
            "--set dataset.base=FILE --set grounding=perfect"
        )
    if name not in PRESETS:
        raise UsageError(
            f"no detector is called {name!r}; simulated: {', '.join(sorted(PRESETS))}; for "
            f"pictures, as of a robot, NAME:WEIGHTS with NAME {', '.join(sorted(NETWORKS))}"
        )
    quality = make(Quality, {**asdict(PRESETS[name]), **changes}, "detector")
    # Sorted, so that equal detectors have equal names in records.
    suffix = "".join(
        f",{key}={_number_text(value)}" for key, value in sorted(changes.items())
    )
    return SimulatedDetector(quality, seed, name + suffix)


def _number_text(value: float) -> str:
    """Return a number in short, with all digits where a short form would be another number."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


TARGET_THRESHOLD = 0.85
"""Score from which an object counts as the target: LGX's, for GLIP, which the simulated detectors
follow."""


def target_threshold(name: str) -> float:
    """Return the score from which an object counts as the target, with the detector of a name: by
    default the paper's, or the least score of a network with another scale."""
    return LEAST_SCORES.get(name.partition(":")[0], TARGET_THRESHOLD)


_eye: Any = lru_cache(maxsize=4)(open_eye)  # networks, loaded once per process


class EyeDetector(Perceiver):
    """A detection or grounding network on ``View.image``.

    A grounder (``owlv2``, ``groundingdino``) detects objects by grounding the shipped list of
    indoor words; a detector (``detr``, ``ssd``) grounds a phrase by the class names it contains.
    """

    def __init__(self, name: str) -> None:
        family = name.partition(":")[0]
        if family not in NETWORKS:
            raise UsageError(
                f"no detector is called {name!r}; {suggest(family, NETWORKS)}"
            )
        if not name.partition(":")[2]:
            raise UsageError(
                f"{family}: add a folder of weights or a name: {family}:NAME"
            )
        self.name = name
        self._is_grounder = family in EYES["grounder"]

    def load_weights(self) -> None:
        """Load the network now, not at the first view. Raises ``UsageError`` if it
        cannot be loaded.
        """
        _eye("grounder" if self._is_grounder else "detector", self.name)

    def detect(self, view: View) -> list[Detection]:
        """Return the detected objects, nearest first; those of unknown distance last."""
        names = indoor_words() if self._is_grounder else ()
        detections = [self._detection(view, box) for box in self._boxes(view, names)]
        return sorted(
            detections, key=lambda d: math.inf if d.distance is None else d.distance
        )

    def ground(self, view: View, phrase: str) -> GroundedRegion | None:
        """Return the box with the highest score for the phrase, None if there is none."""
        boxes = self._boxes(view, (phrase,))
        if not self._is_grounder:
            words = set(phrase.lower().replace("-", " ").split())
            boxes = [box for box in boxes if set(box.name.lower().split()) <= words]
        if not boxes:
            return None
        best = self._detection(view, max(boxes, key=lambda box: box.score))
        return GroundedRegion(best.score, best.bearing, best.distance)

    def check_view(self, view: View) -> None:
        """Raise ``UsageError`` for a view without a picture."""
        if not view.image:
            raise UsageError(f"{self.name} needs a picture, and this view has none")

    def _boxes(self, view: View, phrases: Sequence[str]) -> list[Box]:
        """Return the boxes of a view's picture; a grounder finds those of the phrases."""
        self.check_view(view)
        pictures = [pixels(view.image)]
        if self._is_grounder:
            answer = _eye("grounder", self.name).find(pictures, list(phrases))
        else:
            answer = _eye("detector", self.name).boxes(pictures)
        # In a thread: agents call their detectors inside an event loop.
        with ThreadPoolExecutor(1) as thread:
            boxes: list[list[Box]] = thread.submit(asyncio.run, answer).result()
        return boxes[0]

    def _detection(self, view: View, box: Box) -> Detection:
        """Convert a box in a view's picture to a detection."""
        size = pixels(view.image).shape[:2]
        row, column = box.center

        def angles(row: float, column: float) -> tuple[float, float]:
            """Return bearing and elevation of a point; pixel centers are at half coordinates."""
            return direction(
                row - 0.5,
                column - 0.5,
                (0.0, 0.0),
                view.field_of_view,
                size,
            )

        left = angles(row, box.left)[0]
        right = angles(row, box.right)[0]
        bearing = (left + right) / 2
        elevation = angles(row, column)[1]
        height = angles(box.top, column)[1] - angles(box.bottom, column)[1]
        width = right - left
        distance = distance_at(
            view,
            bearing,
            elevation,
            INNER * width,
            INNER * height,
        )
        return Detection(
            box.name,
            round(bearing, 2),
            distance,
            box.score,
            round(width, 2),
        )


def distance_at(
    view: View,
    bearing: float,
    elevation: float,
    width: float = 0.0,
    height: float = 0.0,
) -> float | None:
    """Return the median floor distance (metres) in a window of the depth image around a direction.

    Bearing, elevation and the window's size are degrees. None without depth there.
    """
    depth = view.depth
    if not depth.bearings or not depth.elevations:
        return None
    bearings = np.array(depth.bearings)
    elevations = np.array(depth.elevations)
    # Some depth cameras have a smaller field of view than the picture.
    if abs(bearings - bearing).min() > max(3.0, width):
        return None

    def window(angles: Any, middle: float, size: float) -> Any:
        """Return the indices of the angles in a window, at least that of the nearest one."""
        offsets = np.abs(angles - middle)
        indices = np.flatnonzero(offsets <= size / 2)
        return indices if len(indices) else np.array([int(offsets.argmin())])

    # Depth is measured along the ray; the cosine gives its part along the floor.
    columns = window(bearings, bearing, width)
    rows = window(elevations, elevation, height)
    along_ray = depth.metres()[rows][:, columns]
    floor = along_ray * np.cos(np.radians(elevations[rows]))[:, None]
    measured = floor[np.isfinite(floor)]
    if not len(measured):
        return None
    return round(float(np.median(measured)), 3)


@lru_cache(maxsize=4)
def pixels(image: bytes) -> Picture:
    """Return a picture as an array. Raises ``DataError``, or ``UsageError`` without pillow."""
    return read(io.BytesIO(image), "camera")


def middle_of(image: bytes, field_of_view: float, width: float) -> Image:
    """Return the middle ``width`` degrees of a picture with a ``field_of_view``, for a message."""
    picture = pixels(image)
    columns = picture.shape[1]
    share = math.tan(math.radians(min(width, field_of_view) / 2))
    share /= math.tan(math.radians(field_of_view / 2))
    span = max(1, round(columns * share))
    left = (columns - span) // 2
    return encode(np.ascontiguousarray(picture[:, left : left + span]))
