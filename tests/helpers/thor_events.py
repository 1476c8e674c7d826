"""AI2-THOR's controller and its events, in the documented format, over a simulated base.

What is recorded here is the format: ``event.metadata`` with ``agent``, ``cameraPosition``,
``objects`` (``visible``, ``distance``, ``axisAlignedBoundingBox`` …), ``lastActionSuccess`` and
``errorMessage``; ``event.frame`` and ``event.depth_frame``. The simulated base says what is there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from wayword.core.episode import Episode
from wayword.worlds.objectnav.observation import Camera
from wayword.worlds.objectnav.simulated import SimulatedBase, SimulatedScene

HIGH, WIDE = 96, 128
"""Smaller than THOR's 480 by 640, of the same shape."""
UP = 0.9009995460510254
"""Where THOR has the middle of the LoCoBot's body, metres above the floor."""


class Event:
    """An event; its depth is worked out when it is looked at."""

    def __init__(self, metadata: dict[str, Any], depth: Callable[[], Any]) -> None:
        self.metadata = metadata
        self._depth = depth
        self.frame = np.full((HIGH, WIDE, 3), 7, np.uint8)

    @cached_property
    def depth_frame(self) -> Any:
        return self._depth()


class Controller:
    """Stands in for ``ai2thor.controller.Controller``: ``reset``, ``step``, ``stop``."""

    def __init__(self, place: SimulatedScene, scene: str, **options: Any) -> None:
        self.options = options
        self.actions = list[str]()
        self.stopped = False
        self._base = SimulatedBase(place, Camera(sight=options["visibilityDistance"]))
        self._scene = scene
        self.horizon = 0.0

    def reset(self, scene: str) -> Any:
        self._scene = scene
        ground = self._base.place.ground
        free = np.argwhere(ground.free)[0]
        x = ground.x + free[1] * ground.spacing
        y = ground.y + free[0] * ground.spacing
        self._put(x, y, 0.0)
        return self._said("Initialize")

    def step(self, action: str, **arguments: Any) -> Any:
        assert not self.stopped
        self.actions.append(action)
        if action in ("RotateRight", "RotateLeft"):
            sign = 1 if action == "RotateRight" else -1
            self._base.rotate(sign * arguments["degrees"])
        elif action == "MoveAhead":
            return self._ahead(arguments["moveMagnitude"])
        elif action == "Teleport":
            at = arguments["position"]
            turned = arguments["rotation"]
            if not self._base.place.ground.at(at["x"], at["z"]):
                return self._said(action, "Collided with: structure while teleporting")
            self._put(at["x"], at["z"], turned["y"])
            self.horizon = arguments["horizon"]
        return self._said(action)

    def stop(self) -> None:
        self.stopped = True

    def _put(self, x: float, y: float, heading: float) -> None:
        start = {"x": float(x), "y": float(y), "heading": heading}
        self._base.start(Episode("thor", "Be there.", self._scene, start))

    def _ahead(self, metres: float) -> Any:
        """THOR's agent goes the whole step or stays."""
        here = self._base.pose()
        angle = math.radians(here["heading"])
        x = here["x"] + metres * math.sin(angle)
        y = here["y"] + metres * math.cos(angle)
        if not self._base.place.ground.clear((here["x"], here["y"]), (x, y)):
            return self._said(
                "MoveAhead", "structure is blocking Agent 0 from moving by (0, 0, 0.25)"
            )
        self._put(x, y, here["heading"])
        return self._said("MoveAhead")

    def _said(self, action: str, error: str = "") -> Any:
        here = self._base.pose()
        eye = self._base.camera.eye
        at = {"x": here["x"], "y": UP, "z": here["y"]}
        turned = {"x": 0.0, "y": here["heading"], "z": 0.0}
        metadata = {
            "agent": {
                "name": "agent",
                "position": at,
                "rotation": turned,
                "cameraHorizon": self.horizon,
            },
            "cameraPosition": {**at, "y": eye},
            "sceneName": self._scene,
            "lastAction": action,
            "lastActionSuccess": not error,
            "errorMessage": error,
            "objects": self._objects(at),
        }
        return Event(metadata, lambda: self._depth(here))

    def _objects(self, at: dict[str, float]) -> list[dict[str, Any]]:
        seen = {shown.id for shown in self._base.capture().shown}
        found: list[dict[str, Any]] = [
            {"objectType": "Floor", "objectId": "Floor|0", "visible": True}
        ]
        for obj in self._base.place.surfaces.objects:
            center = {"x": obj.x, "y": obj.bottom + obj.height / 2, "z": obj.y}
            size = {"x": obj.width, "y": obj.height, "z": obj.depth}
            found.append(
                {
                    "objectId": obj.id,
                    "objectType": obj.type.title().replace("_", ""),
                    "name": obj.id,
                    "visible": obj.id in seen,
                    "distance": math.dist((at["x"], at["z"]), (obj.x, obj.y)),
                    "position": center,
                    "rotation": {"x": 0.0, "y": 0.0, "z": 0.0},
                    "axisAlignedBoundingBox": {
                        "center": center,
                        "size": size,
                        "cornerPoints": [],
                    },
                }
            )
        return found

    def _depth(self, here: Mapping[str, Any]) -> Any:
        """Metres along the camera's axis; ``fieldOfView`` is the picture's height."""
        eye = self._base.camera.eye
        focal = HIGH / 2 / math.tan(math.radians(self.options["fieldOfView"]) / 2)
        right = (np.arange(WIDE) + 0.5 - WIDE / 2) / focal
        up = (HIGH / 2 - np.arange(HIGH) - 0.5) / focal
        angle = math.radians(here["heading"])
        east = math.sin(angle) + right * math.cos(angle)
        north = math.cos(angle) - right * math.sin(angle)
        across = np.stack([east, north], axis=-1)
        away = np.linalg.norm(across, axis=1)
        slopes = up[:, None] / away
        eye_at = np.array((here["x"], here["y"], eye))
        surfaces = self._base.place.surfaces
        metres = surfaces.ranges(eye_at, across / away[:, None], slopes, 50.0)
        planar = np.where(
            np.isfinite(metres), metres / np.hypot(slopes, 1.0) / away, 0.0
        )
        return planar.astype(np.float32)
