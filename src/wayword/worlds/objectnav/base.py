"""The interface of robots that agents search with, and the actions of a search.

Searchers need three motions: capture a picture with depth, turn in place, and go straight to a
point. A real robot needs one adapter class; :class:`~wayword.worlds.objectnav.world.ObjectNavWorld`
turns any base into a world.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

from wayword.core.action import STOP, Action
from wayword.core.blame import finite, place_of
from wayword.core.episode import Episode, Json, JsonObject
from wayword.core.errors import DataError
from wayword.core.geometry import absolute, relative
from wayword.core.starts import check_start
from wayword.worlds.objectnav.observation import DepthImage, Shown, View

STATUSES = ("ok", "blocked", "refused", "cancelled", "lost")
UNMEASURED_SECONDS = 2.0
"""Wait for a view that measured something: a camera starts with black frames."""
EYE_HEIGHTS = (0.05, 3.0)  # metres above the floor
FIELDS_OF_VIEW = (10.0, 360.0)  # degrees; radians are below
SHOWN_ASIDE = (
    10.0  # degrees beyond the picture's edge at which a detector may see a center
)
SAME_PLACE = (0.1, 5.0)
"""Maximum difference between a view's pose and ``pose()``, metres and degrees."""
IN_RADIANS = 0.1
"""Maximum difference between a number and another one's radians."""
SHOWN_METRES = 50.0  # no detector of a robot measures farther objects
SHOWN_REACHES = 10.0  # of its depth sensor, beyond which it measures none either


@dataclass(frozen=True, slots=True)
class MotionResult:
    """The result of a motion over ``metres``.

    ``status`` is ``"ok"``, ``"blocked"`` by an obstacle, ``"refused"`` if the base
    declined to move, ``"cancelled"`` if someone or something other than an obstacle
    ended it, or ``"lost"`` if its connection broke. ``reason`` says more in words,
    empty if there is nothing to say.
    """

    status: str = "ok"
    metres: float = 0.0
    reason: str = ""


# Rules that ``check_base`` and each run check. Each returns the problem, which follows the method's
# name; empty without one.


def motion_problem(moved: Any) -> str:
    """Return what is wrong with the result of a motion."""
    if not isinstance(moved, MotionResult):
        return f"must return a MotionResult, got {moved!r:.60}"
    if moved.status not in STATUSES:
        known = ", ".join(STATUSES)
        return f"returned the unknown status {moved.status!r}; must be one of {known}"
    if not _is_finite(moved.metres):
        return f"returned {moved.metres!r} metres; must be a finite number{_remedy(moved.metres)}"
    if moved.metres < 0:
        return f"returned {moved.metres:g} metres; must be the length of the way, not negative"
    reason: Any = moved.reason
    if not isinstance(reason, str):
        return f"returned the reason {reason!r:.60}; must be text"
    return ""


def pose_problem(pose: Any) -> str:
    """Return what is wrong with a pose: finite metres, and degrees in [0, 360)."""
    if not isinstance(pose, Mapping):
        return f"must return a dict with x, y, heading, got {pose!r:.60}"
    for name in ("x", "y", "heading"):
        if not _is_finite(pose.get(name)):
            value = pose.get(name)
            remedy = _remedy(value)
            return f"must have a finite number {name!r}, got {value!r:.60}{remedy}"
    if not 0 <= pose["heading"] < 360:
        return f"must have a heading in [0, 360), got {pose['heading']}"
    return _json_problem(pose)


def report_problem(report: Any) -> str:
    """Return what is wrong with a report: metres traveled, and other JSON values."""
    if not isinstance(report, Mapping):
        return f"must return a dict with metres, got {report!r:.60}"
    if not _is_finite(report.get("metres")):
        value = report.get("metres")
        return f"must have a finite number 'metres', got {value!r:.60}{_remedy(value)}"
    return _json_problem(report)


def view_problem(view: Any) -> str:
    """Return what is wrong with a view: its place, and rows and columns of its depth."""
    if not isinstance(view, View):
        return f"must return a View, got {view!r:.60}"
    place = {"x": view.x, "y": view.y, "heading": view.heading}
    if problem := pose_problem(place):
        return problem
    image: Any = view.image
    if not isinstance(image, bytes):
        return f"must have an encoded picture (bytes) as image, got {image!r:.60}"
    low, high = EYE_HEIGHTS
    if not _is_finite(view.eye) or not low <= view.eye <= high:
        return f"must have an eye between {low:g} and {high:g} m above the floor, got {view.eye!r}"
    low, high = FIELDS_OF_VIEW
    if not _is_finite(view.field_of_view) or not low <= view.field_of_view <= high:
        return (
            f"must have a field_of_view between {low:g} and {high:g} degrees, got "
            f"{view.field_of_view!r}: is it in radians?"
        )
    depth: Any = view.depth
    if not isinstance(depth, DepthImage):
        return (
            f"must have a DepthImage as depth, got a {type(depth).__name__}: from_camera and "
            "from_laser of wayword.worlds.objectnav.observation make one of metres"
        )
    if problem := _shown_problem(view):
        return problem
    if depth.metres().shape != (len(depth.elevations), len(depth.bearings)):
        return "must have a depth image with a row for each elevation, a column for each bearing"
    if list(depth.bearings) != sorted(depth.bearings):
        return "must have depth columns from left to right"
    if min(depth.elevations) >= 0:
        return "must have depth rows that look down: without them no floor is ever seen"
    return ""


def _shown_problem(view: View) -> str:
    """Return what is wrong with the objects that a base's own detector saw in a view."""
    shown: Any = view.shown
    if shown is not None and not isinstance(shown, tuple):
        return f"must have a tuple of Shown as shown, or None, got {shown!r:.60}"
    widest = view.field_of_view / 2 + SHOWN_ASIDE
    farthest = max(SHOWN_METRES, SHOWN_REACHES * view.depth.reach)
    for one in shown or ():
        if not isinstance(one, Shown):
            return f"must have only Shown in shown, got {one!r:.60}"
        numbers = (one.bearing, one.elevation, one.distance, one.away)
        if not all(map(_is_finite, numbers)):
            return f"must have finite bearings and distances in shown, got {one!r:.120}"
        if abs(one.bearing) > widest:
            return (
                f"shows {one.words!r} at {one.bearing:g} deg, outside its field_of_view of "
                f"{view.field_of_view:g} deg: bearings are relative to the camera"
            )
        if min(one.distance, one.away) < 0 or max(one.distance, one.away) > farthest:
            return (
                f"shows {one.words!r} {one.distance:g} m away: is it in metres? Depth reaches "
                f"{view.depth.reach:g} m"
            )
    return ""


def unmeasured_problem(view: View) -> str:
    """Return the problem of a view that measured no distance at all."""
    if view.depth.measured().any():
        return ""
    return "must measure something; every distance is 0, negative or NaN"


def place_problem(
    view: View, pose: Mapping[str, Any], tolerance: tuple[float, float] = SAME_PLACE
) -> str:
    """Return how a view's place contradicts the pose at the same moment; empty if it is within the
    tolerance (metres, degrees)."""
    metres, degrees = tolerance
    off = math.dist((view.x, view.y), (pose["x"], pose["y"]))
    if off > metres:
        return f"and pose() must agree; they are {off:.2f} m apart"
    turned = abs(relative(view.heading, pose["heading"]))
    if turned <= degrees:
        return ""
    problem = f"and pose() must agree; their headings are {turned:.0f} deg apart"
    headings = (view.heading, pose["heading"])
    for one, other in (headings, headings[::-1]):
        if abs(math.radians(one) - other) < IN_RADIANS:
            return f"{problem}: is one in radians?"
    return problem


def methods_problem(base: object) -> str:
    """Return which methods of :class:`Base` an object lacks, or which one has other arguments."""
    absent = [name for name in METHODS if not callable(getattr(base, name, None))]
    if absent:
        return f"lacks methods: {', '.join(absent)}"
    for name, parameters in METHODS.items():
        method = getattr(base, name)
        try:
            signature = inspect.signature(method)
            signature.bind(*parameters)
        except TypeError:
            given = f"{name}{signature} ({place_of(method)})"
            return f"must have {name}({', '.join(parameters)}), got {given}"
        except ValueError:
            continue  # a method in another language has no signature
    return ""


def _is_finite(value: Any) -> bool:
    """True for a finite number that JSON can hold."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value)


def _remedy(value: Any) -> str:
    """Return what to do about a number of numpy, which JSON does not have; else empty."""
    is_number = finite(value) is not None and not isinstance(value, bool)
    return "; write float(…)" if is_number else ""


def _json_problem(values: Mapping[str, Any]) -> str:
    """Return why values cannot be recorded."""
    try:
        json.dumps(dict(values), allow_nan=False)
    except (TypeError, ValueError) as error:
        return f"must hold JSON values: {error}"
    return ""


def parse_start(episode: Episode) -> tuple[float, float, float, float]:
    """Return x, y, heading, horizon (degrees down) of an episode's start. Raises ``DataError``."""
    check_start(episode, ("x", "y"), ("heading", "horizon"))
    start = episode.start
    try:
        heading = float(start.get("heading", 0.0))
        horizon = float(start.get("horizon", 0.0))
        return float(start["x"]), float(start["y"]), absolute(heading), horizon
    except (KeyError, TypeError, ValueError) as error:
        problem = "must have numbers x and y, and may have heading and horizon"
        raise DataError(f"episode {episode.id}", "field 'start'", problem) from error


@dataclass(slots=True)
class Odometer:
    """Counts since the start of an episode: ``metres`` traveled, steps of 0.25 m, turns of 30
    degrees, and motions blocked by an obstacle (``bumps``)."""

    metres: float = 0.0
    moves: int = 0
    turns: int = 0
    bumps: int = 0

    def report(self, shown: Iterable[Shown]) -> dict[str, Json]:
        """Return the counts and the objects truly in view, in the format for judges."""
        in_view = [
            {
                "id": obj.id,
                "kind": obj.kind,
                "distance": obj.distance,
                "fraction": obj.fraction,
            }
            for obj in shown
        ]
        return {**asdict(self), "metres": round(self.metres, 4), "in_view": in_view}


@runtime_checkable
class Base(Protocol):
    """A body with a camera. Methods block until the motion is finished."""

    def start(self, episode: Episode) -> None:
        """Prepare for an episode; a simulated base is placed at its start. Raises ``DataError``."""

    def capture(self) -> View:
        """Return the camera's current view, without moving."""

    def rotate(self, degrees: float) -> MotionResult:
        """Turn in place; positive is to the right."""

    def go_to(self, x: float, y: float) -> MotionResult:
        """Face a point (metres) and go there, straight or along a route of the base's planner."""

    def pose(self) -> JsonObject:
        """Return ``x``, ``y`` (metres) and ``heading`` (degrees), as estimated by the base."""

    def report(self) -> JsonObject:
        """Return other data for judges: metres traveled, motions, and objects truly in view."""

    def stop(self) -> None:
        """Stop moving at the end of the search."""


METHODS: Mapping[str, tuple[str, ...]] = {
    "start": ("episode",),
    "capture": (),
    "rotate": ("degrees",),
    "go_to": ("x", "y"),
    "pose": (),
    "report": (),
    "stop": (),
}
"""Method of a base -> its arguments."""

# Actions: ``rotate[degrees]`` turns in place (right positive), ``goto[x, y]`` faces a point and
# goes there in a straight line (metres), ``move_ahead`` goes one step of 0.25 m.

MOVE_AHEAD = Action("move_ahead")
LISTED_MOTIONS = (
    MOVE_AHEAD,
    Action("rotate", ("-30",)),
    Action("rotate", ("30",)),
    STOP,
)
"""The listed choices; any other well-formed ``rotate`` and ``goto`` is accepted as well."""
_NUMBER = r"-?[0-9]+(\.[0-9]+)?"
MOTION_PATTERNS = (rf"rotate\[{_NUMBER}\]", rf"goto\[{_NUMBER}, {_NUMBER}\]")
MAX_NUMBER = 1000.0  # larger coordinates and turns are a model's mistakes, not goals


def rotate(degrees: float) -> Action:
    """Turn in place, positive to the right; formatted to 0.01 degrees."""
    return Action("rotate", (f"{degrees:.2f}".rstrip("0").rstrip("."),))


def goto(x: float, y: float) -> Action:
    """Go to a point in a straight line; formatted to the millimetre."""
    return Action("goto", (f"{x:.3f}", f"{y:.3f}"))


def parse_numbers(action: Action) -> tuple[float, ...] | None:
    """Return the arguments of a ``rotate`` or ``goto``; None if they do not fit the verb."""
    if len(action.arguments) != {"rotate": 1, "goto": 2}.get(action.name, -1):
        return None
    try:
        values = tuple(map(float, action.arguments))
    except (TypeError, ValueError):
        return None
    if all(math.isfinite(n) and abs(n) <= MAX_NUMBER for n in values):
        return values
    return None


def is_motion(action: Action) -> bool:
    """True if the action is a listed motion or any other well-formed one."""
    return action in LISTED_MOTIONS or parse_numbers(action) is not None
