"""AI2-THOR itself as an object-search world: real pictures, depth and physics of RoboTHOR's scenes.

    wayword run lgx --on robothor:train --set dataset.simulator=thor --set grounding=owlv2:WEIGHTS

It needs the package ``ai2thor`` (5.0.0), which downloads its Unity build on first launch. Here x is
THOR's x, y is THOR's z, and the heading is rotation.y. Tested on events in the documented format,
not on Unity. Assumed: the depth image measures along the camera's axis, and ``fieldOfView`` is the
vertical angle in degrees.

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
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le

from wayword.core.episode import Episode, JsonObject
from wayword.core.errors import DataError, UsageError
from wayword.core.geometry import absolute, bearing, relative
from wayword.core.visible import single_line, spaced
from wayword.settings import Checked
from wayword.worlds.household.builder import type_name
from wayword.worlds.objectnav.base import MotionResult, Odometer, parse_start
from wayword.worlds.objectnav.observation import Shown, View, from_camera, sighting
from wayword.worlds.objectnav.simulated import STEP, TURN

BUILDING_TYPES = frozenset({"Floor", "Wall", "Ceiling"})  # parts of the building
# Pixels of pictures and depth images.
PICTURE_WIDTH = 640
PICTURE_HEIGHT = 480
CONTROLLER_OPTIONS: JsonObject = {
    "agentMode": "locobot",
    "width": PICTURE_WIDTH,
    "height": PICTURE_HEIGHT,
    "gridSize": STEP,
    "snapToGrid": False,
    "rotateStepDegrees": TURN,
    "movementGaussianSigma": 0.0,
    "rotateGaussianSigma": 0.0,
    "renderDepthImage": True,
}
"""Controller options: RoboTHOR's body, without noise."""
StartController = Callable[..., Any]
"""Creates a controller from keyword arguments: ``ai2thor.controller.Controller``, or a recorded one
in tests."""


@dataclass(frozen=True)
class ThorCamera(Checked):
    """Camera settings of AI2-THOR.

    ``field_of_view`` is horizontal, in degrees; ``reach`` is the maximum range of depth
    and ``sight`` the maximum distance at which objects count as in view, in metres.
    """

    field_of_view: Annotated[float, Ge(10), Le(150)] = 79.0
    reach: float = 5.0
    sight: float = 10.0

    @property
    def height(self) -> float:
        """Vertical field of view in degrees, as required by THOR."""
        half = (
            math.tan(math.radians(self.field_of_view) / 2)
            * PICTURE_HEIGHT
            / PICTURE_WIDTH
        )
        return 2 * math.degrees(math.atan(half))


def check_installed() -> None:
    """Raise ``UsageError`` if AI2-THOR is not installed."""
    if find_spec("ai2thor") is None:
        remedy = "its first start downloads Unity, and it needs a display or GPU"
        raise UsageError(
            f"AI2-THOR is not installed: pip install ai2thor==5.0.0 ({remedy})"
        )


def launch(**options: Any) -> Any:
    """Launch AI2-THOR's controller. Raises ``UsageError`` if it is not installed."""
    check_installed()
    return import_module("ai2thor.controller").Controller(**options)


class ThorBase:
    """The LoCoBot in an AI2-THOR scene. ``start_unity`` creates the controller at the first
    episode; ``stop`` closes it.

    The camera keeps the episode's initial tilt (``horizon``, degrees down). Objects count as truly
    in view if THOR calls them ``visible`` within ``sight``. ``words`` names objects by id, or by
    type if ids are not known in advance: then views and reports have the type instead of the id.
    """

    def __init__(
        self,
        camera: ThorCamera | None = None,
        start_unity: StartController = launch,
        words: Mapping[str, str] | None = None,
    ) -> None:
        self.camera = camera or ThorCamera()
        self._start_unity = start_unity
        self._words = words or {}
        self._controller: Any = None
        self._event: Any = None
        self._counts = Odometer()

    def start(self, episode: Episode) -> None:
        """Load the scene and teleport the body. Raises ``DataError`` if THOR refuses the pose."""
        x, y, heading, horizon = parse_start(episode)
        if self._controller is None:
            self._controller = self._start_unity(
                scene=episode.scene,
                # Unity's field of view is the vertical angle.
                fieldOfView=self.camera.height,
                visibilityDistance=self.camera.sight,
                **CONTROLLER_OPTIONS,
            )
        self._event = self._controller.reset(scene=episode.scene)
        # In Unity, y points up; the body's height is that in the loaded scene.
        up = self._metadata("agent", "position", "y")
        position = {"x": x, "y": up, "z": y}
        rotation = {"x": 0.0, "y": heading, "z": 0.0}
        self._do(
            "Teleport",
            position=position,
            rotation=rotation,
            horizon=horizon,
        )
        if error := self._last_error():
            where = f"in scene {episode.scene}, field 'start'"
            raise DataError(f"episode {episode.id}", where, error)
        self._counts = Odometer()

    def capture(self) -> View:
        """Return the view of the last event: depth, picture as JPEG, and the visible objects.

        Raises ``DataError`` if the event lacks a field or the depth image.
        """
        eye = float(self._metadata("cameraPosition", "y"))
        # THOR's horizon is positive down
        tilt = -float(self._metadata("agent", "cameraHorizon"))
        camera = self.camera
        frame = self._event.depth_frame
        if frame is None:
            raise DataError(
                "AI2-THOR",
                "event.depth_frame",
                "is missing",
                "renderDepthImage=True",
            )
        metres = np.asarray(frame, np.float64)
        depth = from_camera(
            metres,
            camera.field_of_view,
            camera.reach,
            tilt=tilt,
        )
        # A JPEG record is a tenth of a PNG; ai2thor requires pillow
        buffer = io.BytesIO()
        pillow: Any = import_module("PIL.Image")
        pillow.fromarray(np.asarray(self._event.frame, np.uint8)).save(
            buffer,
            "JPEG",
            quality=90,
        )
        at = str(self._metadata("sceneName")), *self._place()
        return View(
            *at,
            eye,
            camera.field_of_view,
            depth,
            self._shown(eye),
            buffer.getvalue(),
        )

    def rotate(self, degrees: float) -> MotionResult:
        """Turn in place by degrees, positive to the right; ``blocked`` with THOR's own reason."""
        self._counts.turns += math.ceil(abs(degrees) / TURN - 1e-9)
        if abs(degrees) > 1e-6:
            action = "RotateRight" if degrees > 0 else "RotateLeft"
            self._do(action, degrees=abs(degrees))
        error = self._last_error()
        return MotionResult("blocked", 0.0, error) if error else MotionResult()

    def go_to(self, x: float, y: float) -> MotionResult:
        """Face the point and go there in steps of 0.25 m, until one fails."""
        *start, heading = self._place()
        distance = math.dist(start, (x, y))
        if distance < 1e-6:
            return MotionResult()
        towards = bearing((start[0], start[1]), (x, y))
        result = self.rotate(relative(towards, heading))
        if result.status != "ok":
            return result
        full_steps = int(distance / STEP + 1e-6)
        error = ""
        rest = distance - full_steps * STEP
        for step in [STEP] * full_steps + ([rest] if rest > 1e-3 else []):
            self._counts.moves += 1
            self._do("MoveAhead", moveMagnitude=step)
            if error := self._last_error():
                self._counts.bumps += 1
                break
        # Measured, since the last of the steps may have failed.
        traveled = math.dist(start, self._place()[:2])
        self._counts.metres += traveled
        return MotionResult(
            "blocked" if error else "ok",
            round(traveled, 4),
            error,
        )

    def pose(self) -> JsonObject:
        """Return x and y (metres) and heading (degrees) of the body's true position."""
        x, y, heading = self._place()
        return {"x": x, "y": y, "heading": heading}

    def report(self) -> JsonObject:
        """Return the counts of motions, and the objects that THOR calls visible."""
        return self._counts.report(
            self._shown(float(self._metadata("cameraPosition", "y")))
        )

    def stop(self) -> None:
        """Send ``Done`` and stop Unity; the last event is kept."""
        if self._controller is not None:
            self._do("Done")
            self._controller.stop()
            self._controller = None

    def _do(self, action: str, **arguments: Any) -> None:
        """Carry out an action of AI2-THOR. Raises ``UsageError`` before the start of an episode."""
        if self._controller is None:
            raise UsageError("AI2-THOR is not running: start an episode first")
        self._event = self._controller.step(action=action, **arguments)

    def _last_error(self) -> str:
        """Return why the last action failed, in one line; empty if it succeeded."""
        if self._metadata("lastActionSuccess"):
            return ""
        error = single_line(self._event.metadata.get("errorMessage", ""))
        return error[:200] or "the action failed"

    def _metadata(self, *keys: str) -> Any:
        """Return a value of the last event's metadata. Raises ``DataError`` if it is missing."""
        if self._event is None:
            raise UsageError("AI2-THOR has no episode: start one first")
        value = self._event.metadata
        for key in keys:
            if not isinstance(value, Mapping) or key not in value:
                where = f"event.metadata, field {'.'.join(keys)!r}"
                raise DataError("AI2-THOR", where, "is missing")
            value = value[key]
        return value

    def _place(self) -> tuple[float, float, float]:
        """Return x and y of the body in metres, and its heading in degrees. AI2-THOR's z is y
        here."""
        position = self._metadata("agent", "position")
        turned = self._metadata("agent", "rotation")
        heading = absolute(round(float(turned["y"]), 6))
        return round(position["x"], 6), round(position["z"], 6), heading

    def _shown(self, eye: float) -> tuple[Shown, ...]:
        """Return the objects that THOR calls visible, nearest first, without parts of
        the building.
        """
        place = self._place()
        shown = []
        for record in self._metadata("objects"):
            if not record["visible"] or record["objectType"] in BUILDING_TYPES:
                continue
            bounds = record["axisAlignedBoundingBox"]
            x, up, y = (float(bounds["center"][c]) for c in "xyz")
            width, height, depth = (float(bounds["size"][c]) for c in "xyz")
            name = str(record["objectId"])
            label = str(record["objectType"])
            kind = type_name(label)
            words = spaced(kind)
            key = name if name in self._words else label
            if key in self._words:
                name = key
                words = self._words[key]
            box = x, y, width, depth, up - height / 2, height
            shown.append(sighting(name, kind, words, box, place, eye))
        return tuple(sorted(shown, key=lambda one: (one.distance, one.id)))
