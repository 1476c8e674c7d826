"""AI2-THOR itself as a finding world: the real pictures, depth and physics of RoboTHOR's scenes.

    wayword run lgx --on robothor:train --set dataset.simulator=thor --set grounding=owlv2:WEIGHTS

It needs the package ``ai2thor`` (5.0.0) and its Unity build, which that package downloads when it
first starts. Frames: THOR has y up, and rotation.y counts degrees clockwise from +z; here x is
THOR's x, y is THOR's z, and the heading is rotation.y.

Written against the documented event metadata and tested on events in that format, not on Unity.
Inferred, as the documentation leaves it open: the depth image measures along the camera's axis (as
Unity's depth buffer does), and ``fieldOfView`` is the camera's height in degrees (as Unity's is).

Source: ai2thor.allenai.org, "Environment State", "Navigation" and the RoboTHOR API reference;
RoboTHOR (Deitke et al. 2020): the LoCoBot, steps of 0.25 m, 79 degrees of view.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from wayword.core.episode import Episode, Json
from wayword.core.errors import DataError, UsageError
from wayword.core.geometry import absolute, bearing, relative
from wayword.worlds.household.builder import type_name
from wayword.worlds.objectnav.base import Moved, Odometer, start_of
from wayword.worlds.objectnav.observation import DepthImage, Shown, View, from_camera, sighting
from wayword.worlds.objectnav.simulated import STEP, TURN
from wayword.worlds.objectnav.world import ObjectNavWorld

SURFACES = frozenset({"Floor", "Wall", "Ceiling"})
"""Types of THOR's objects that are no things."""
WIDE, HIGH = 640, 480
BOX = ("center", "size")
Frame = np.ndarray[Any, np.dtype[np.uint8]]

Start = Callable[..., Any]
"""What makes a controller of keyword arguments: ``ai2thor.controller.Controller``, or a recorded
one in tests."""


@dataclass(frozen=True)
class ThorCamera:
    """``field_of_view`` is the picture's width in degrees, ``reach`` how far depth is used and
    ``sight`` how far a thing counts as in view (metres)."""

    field_of_view: float = 79.0
    reach: float = 5.0
    sight: float = 10.0

    def __post_init__(self) -> None:
        if not 10 <= self.field_of_view <= 150:
            raise UsageError("thor: field_of_view lies in 10 to 150 degrees")

    @property
    def height(self) -> float:
        """The picture's height in degrees, which THOR asks for."""
        half = math.tan(math.radians(self.field_of_view) / 2) * HIGH / WIDE
        return 2 * math.degrees(math.atan(half))


def check_installed() -> None:
    """Raises ``UsageError`` without the package."""
    if find_spec("ai2thor") is None:
        raise UsageError(
            "AI2-THOR is not installed: pip install ai2thor==5.0.0 (its Unity build is downloaded "
            "at the first start, and needs a display or a GPU)"
        )


def launch(**options: Any) -> Any:
    """AI2-THOR's own controller. Raises ``UsageError`` without the package."""
    check_installed()
    return import_module("ai2thor.controller").Controller(**options)


class ThorBase:
    """The LoCoBot in a scene of AI2-THOR. ``start_unity`` makes the controller, once an episode
    begins; ``stop`` shuts it down.

    Motions are noiseless. The camera keeps the tilt that the episode starts with (``horizon``,
    degrees down): 30 in all published ones. What is truly in view is what THOR calls
    ``visible`` within ``sight``; it does not say how much of a thing can be seen. ``words`` is what
    things are called, by id; or by type, where ids are not known beforehand, and such a thing
    goes by its type instead of its id.
    """

    def __init__(
        self,
        camera: ThorCamera | None = None,
        start_unity: Start = launch,
        words: Mapping[str, str] | None = None,
    ) -> None:
        self.camera, self._start_unity = camera or ThorCamera(), start_unity
        self._words = words or {}
        self._controller: Any = None
        self._event: Any = None
        self._done = Odometer()

    def start(self, episode: Episode) -> None:
        x, y, heading, horizon = start_of(episode)
        if self._controller is None:
            self._controller = self._start_unity(scene=episode.scene, **self._options())
        self._event = self._controller.reset(scene=episode.scene)
        up = self._metadata("agent", "position", "y")
        place = {"x": x, "y": up, "z": y}
        turned = {"x": 0.0, "y": heading, "z": 0.0}
        self._do("Teleport", position=place, rotation=turned, horizon=horizon)
        if refused := self._refusal():
            where = f"in scene {episode.scene}, field 'start'"
            raise DataError(f"episode {episode.id}", where, refused)
        self._done = Odometer()

    def capture(self) -> View:
        x, y, heading = self._place()
        camera = self.camera
        eye = float(self._metadata("cameraPosition", "y"))
        tilt = -float(self._metadata("agent", "cameraHorizon"))  # THOR's horizon is down
        depth = self._depth(tilt)
        image = _encoded(np.asarray(self._event.frame, np.uint8))
        name, field = str(self._metadata("sceneName")), camera.field_of_view
        return View(name, x, y, heading, eye, field, depth, self._shown(eye), image)

    def rotate(self, degrees: float) -> Moved:
        self._done.turns += math.ceil(abs(degrees) / TURN - 1e-9)
        if abs(degrees) > 1e-6:
            self._do("RotateRight" if degrees > 0 else "RotateLeft", degrees=abs(degrees))
        refused = self._refusal()
        return Moved("blocked", 0.0, refused) if refused else Moved()

    def go_to(self, x: float, y: float) -> Moved:
        """Face the point and go there in steps of 0.25 m, until one fails."""
        here_x, here_y, heading = self._place()
        away = math.dist((here_x, here_y), (x, y))
        if away < 1e-6:
            return Moved()
        way = bearing((here_x, here_y), (x, y))
        turned = self.rotate(relative(way, heading))
        if turned.status != "ok":
            return turned
        refused = ""
        for step in _steps(away):
            self._done.moves += 1
            self._do("MoveAhead", moveMagnitude=step)
            if refused := self._refusal():
                self._done.bumps += 1
                break
        end_x, end_y, _ = self._place()
        gone = math.dist((here_x, here_y), (end_x, end_y))
        self._done.metres += gone
        return Moved("blocked" if refused else "ok", round(gone, 4), refused)

    def pose(self) -> Mapping[str, Json]:
        x, y, heading = self._place()
        return {"x": x, "y": y, "heading": heading}

    def report(self) -> Mapping[str, Json]:
        shown = self._shown(float(self._metadata("cameraPosition", "y")))
        return self._done.report(shown)

    def stop(self) -> None:
        """Say ``Done`` and shut Unity down; the last event is kept."""
        if self._controller is not None:
            self._do("Done")
            self._controller.stop()
            self._controller = None

    def _options(self) -> dict[str, Any]:
        return {
            "agentMode": "locobot",
            "width": WIDE,
            "height": HIGH,
            "fieldOfView": self.camera.height,
            "visibilityDistance": self.camera.sight,
            "gridSize": STEP,
            "snapToGrid": False,
            "rotateStepDegrees": TURN,
            "movementGaussianSigma": 0.0,
            "rotateGaussianSigma": 0.0,
            "renderDepthImage": True,
        }

    def _do(self, action: str, **arguments: Any) -> None:
        if self._controller is None:
            raise UsageError("AI2-THOR has been shut down; start an episode first")
        self._event = self._controller.step(action=action, **arguments)

    def _refusal(self) -> str:
        """Why the last action failed; empty where it did not."""
        if self._metadata("lastActionSuccess"):
            return ""
        told = " ".join(str(self._event.metadata.get("errorMessage", "")).split())
        return told[:200] or "the action failed"

    def _metadata(self, *keys: str) -> Any:
        """A value of the last event's metadata. Raises ``DataError`` where it is not there."""
        if self._event is None:
            raise UsageError("AI2-THOR: no episode has been started")
        found = self._event.metadata
        for key in keys:
            if not isinstance(found, Mapping) or key not in found:
                raise DataError(
                    "AI2-THOR", f"event.metadata, field {'.'.join(keys)!r}", "is missing"
                )
            found = found[key]
        return found

    def _place(self) -> tuple[float, float, float]:
        at, turned = self._metadata("agent", "position"), self._metadata("agent", "rotation")
        return round(at["x"], 6), round(at["z"], 6), absolute(round(float(turned["y"]), 6))

    def _depth(self, tilt: float) -> DepthImage:
        frame = self._event.depth_frame
        if frame is None:
            raise DataError("AI2-THOR", "event.depth_frame", "is missing", "renderDepthImage=True")
        metres = np.asarray(frame, np.float64)
        return from_camera(metres, self.camera.field_of_view, self.camera.reach, tilt=tilt)

    def _shown(self, eye: float) -> tuple[Shown, ...]:
        place = self._place()
        things = [
            self._thing(record, place, eye)
            for record in self._metadata("objects")
            if record["visible"] and record["objectType"] not in SURFACES
        ]
        return tuple(sorted(things, key=lambda one: (one.distance, one.id)))

    def _thing(
        self, record: Mapping[str, Any], at: tuple[float, float, float], eye: float
    ) -> Shown:
        """An object of the metadata as seen from a place (x, y, heading)."""
        box = record["axisAlignedBoundingBox"]
        (x, up, y), (wide, high, deep) = ([float(box[k][c]) for c in "xyz"] for k in BOX)
        name, label = str(record["objectId"]), str(record["objectType"])
        kind = type_name(label)
        words = kind.replace("_", " ")
        key = name if name in self._words else label
        if key in self._words:
            name, words = key, self._words[key]
        return sighting(name, kind, words, (x, y, wide, deep, up - high / 2, high), at, eye)


class ThorWorld(ObjectNavWorld):
    """Searches in AI2-THOR: the finding world over a :class:`ThorBase`.

    Dataset ``robothor`` makes it with ``simulator=thor``. What is missing is said in one line, once
    an episode starts.
    """

    def __init__(self, base: ThorBase | None = None) -> None:
        super().__init__(base or ThorBase())


def _steps(away: float) -> list[float]:
    """A way as steps of 0.25 m and one shorter one."""
    whole = int(away / STEP + 1e-6)
    rest = away - whole * STEP
    return [STEP] * whole + ([rest] if rest > 1e-3 else [])


def _encoded(frame: Frame) -> bytes:
    """A picture as JPEG, a tenth of a PNG in every record; AI2-THOR brings pillow along."""
    buffer = io.BytesIO()
    pillow: Any = import_module("PIL.Image")
    pillow.fromarray(frame).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


world = ThorWorld
