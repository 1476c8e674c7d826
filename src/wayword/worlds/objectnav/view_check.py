"""Agreement of views with the motions between them: sides of the depth image, the unit of its
distances, and bearings of the objects that a base's own detector found.

Surroundings may show none of it: a room that looks the same to both sides fits a mirrored image.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable

import numpy as np

from wayword.core.geometry import Floats, relative
from wayword.worlds.objectnav.observation import View

AHEAD = 8.0
"""Directions of depth that are straight towards a point, degrees to each side."""
EVEN = 0.15
"""Maximum difference between distances straight ahead of one flat surface, metres."""
SAME_DEPTH = 0.05
"""Median difference of two depth images that show the same directions, metres."""
OTHER_DEPTH = 0.2
"""Median difference above which two depth images show other directions, metres."""
STILL = 0.1
"""Metres between two views that were taken at one place."""
TURN = 10.0
"""Degrees of a turn, from which the images before and after it tell left from right."""
DRIVES = (0.4, 3.0)
"""Metres between two views that show a common surface, at different distances."""
ASIDE = 45.0
"""Degrees between the headings of two views that show a common surface."""
SCALES = 2.0 ** (np.arange(-12, 13) / 5)
"""(S,) true metres for a measured one that are tried; the middle one is 1, and 2 is one."""
RIGHT = 0.1
"""Metres by which the surfaces of two views may differ if their scale is right."""
OTHER_UNIT = 1.6
"""Least factor, or one over it, of a wrong scale. Correct depth fits a nearer one by chance, as on
both sides of a partition; feet, halves and doubles differ by more."""
ALIKE = 1.3
"""Factor between scales that are one; those that people who walk by seem to show differ more."""
MOST_CONTRADICTIONS = 3
"""Turns in a row that fit mirrored depth only, at which they end an episode; of objects, turns that
no bearing follows, less those that one does."""
MOST_OFF = 20.0
"""Maximum error of an object's bearing after a turn, degrees."""
SAME_OBJECT = 0.3
"""Maximum difference between the distances of one object before and after a turn, metres."""
LEAST_LEAD = 6
"""Pairs of views with a wrong scale, less those without, at which they end an episode. A correct
base has some by chance, even in a row, but a wrong one hardly any that agree."""
LEAST_DIRECTIONS = 5
"""Directions that two views must have in common."""


class ViewCheck:
    """Compares each view of a run with earlier ones."""

    def __init__(self) -> None:
        # The last views: a whole circle of them, and the one before
        self._views: deque[View] = deque(maxlen=14)
        self._mirrored = 0  # pairs of views in a row that fit mirrored depth only
        self._unturned = 0  # turns that no bearing followed, less those that one did
        self._scales: deque[float] = deque(maxlen=LEAST_LEAD)  # last wrong ones
        self._lead = 0  # pairs that fit another unit only, less those that do not

    def problem(self, view: View) -> str:
        """Return what a view and earlier ones show to be wrong with the views; else empty."""
        earlier = tuple(self._views)
        self._views.append(view)
        if not earlier:
            return ""
        before = earlier[-1]
        turned = relative(view.heading, before.heading)
        is_turn = _metres(before, view) <= STILL
        if is_turn and abs(turned) >= TURN:
            mirrored = is_mirrored(before, view, turned)
            if mirrored is not None:
                self._mirrored = self._mirrored + 1 if mirrored else 0
        # A smaller turn is within the error of bearings that do not follow it.
        if is_turn and abs(turned) > MOST_OFF:
            problems = bearing_problems(before, view, turned)
            if problems:
                self._unturned += 1 if all(problems) else -1
            if self._unturned >= MOST_CONTRADICTIONS:
                return problems[0]
        if self._mirrored >= MOST_CONTRADICTIONS:
            return (
                f"has a mirrored depth image, as {MOST_CONTRADICTIONS} turns show: bearings of "
                "depth columns are positive to the right"
            )
        return self._scale_problem(earlier, view)

    def _scale_problem(self, earlier: Iterable[View], view: View) -> str:
        """Return the problem of a depth image that shows another scale than the poses."""

        def aside(other: View) -> float:
            """Degrees between the headings."""
            return abs(relative(other.heading, view.heading))

        low, high = DRIVES
        apart = [one for one in earlier if low < _metres(one, view) < high]
        before = min(apart, key=aside, default=view)
        if before is view or aside(before) > ASIDE:
            return ""
        scale = wrong_scale(before, view)
        if scale is None:
            return ""
        is_wrong = max(scale, 1 / scale) >= OTHER_UNIT
        self._lead += 1 if is_wrong else -1
        if is_wrong:
            self._scales.append(scale)
        if self._lead < LEAST_LEAD or max(self._scales) > ALIKE * min(self._scales):
            return ""
        return (
            f"measures about {1 / scale:.2g} times the metres between poses, as "
            f"{LEAST_LEAD} drives show: depth and poses are in metres"
        )


def _metres(one: View, other: View) -> float:
    """Return the metres between the places of two views."""
    return math.dist((one.x, one.y), (other.x, other.y))


def wrong_scale(before: View, after: View) -> float | None:
    """Return true metres for a measured one, by surfaces that two views from different places
    show; 1 if the images agree as they are, None if they do not tell."""
    far = _farthest(before, before.depth.reach)
    near = _farthest(after, after.depth.reach)
    # What is at the reach may be farther.
    far = np.where(far < before.depth.reach - EVEN, far, np.nan)
    is_surface = near < after.depth.reach - EVEN
    if is_surface.sum() < LEAST_DIRECTIONS:
        return None

    # (S, C) places of the later view's surfaces, as seen from the place of the earlier one
    headings = np.radians(np.array(after.depth.bearings) + after.heading)[is_surface]
    metres = SCALES[:, None] * near[is_surface]
    x = after.x - before.x + metres * np.sin(headings)
    y = after.y - before.y + metres * np.cos(headings)
    off = (np.degrees(np.arctan2(x, y)) - before.heading + 180.0) % 360.0 - 180.0
    measured = np.interp(off, before.depth.bearings, far, left=np.nan, right=np.nan)
    errors = np.abs(SCALES[:, None] * measured - np.hypot(x, y))

    is_known = (~np.isnan(errors)).sum(axis=1) >= LEAST_DIRECTIONS
    typical = np.full(len(SCALES), np.inf)
    typical[is_known] = np.nanmedian(errors[is_known], axis=1)
    error = typical[len(SCALES) // 2]
    best = int(typical.argmin())
    if error < RIGHT:
        return 1.0
    if np.isfinite(error) and error > OTHER_DEPTH and typical[best] < SAME_DEPTH:
        return float(SCALES[best])
    return None


def is_mirrored(before: View, after: View, degrees: float) -> bool | None:
    """True if two views fit only a mirrored depth image, given that the second faces ``degrees`` to
    the right of the first; None if they fit both, or neither."""
    # after a turn to the right, objects on the right are ahead
    shifted = _difference(before, after, degrees)
    mirrored = _difference(before, after, -degrees)
    if shifted is None or mirrored is None:
        return None
    if mirrored < SAME_DEPTH and shifted > OTHER_DEPTH:
        return True
    if shifted < OTHER_DEPTH < mirrored:
        return False
    return None


def bearing_problems(before: View, after: View, degrees: float) -> list[str]:
    """Return for each object that two views show how its bearings contradict a turn to the right by
    some degrees between them; empty texts for those that follow it.

    Two objects of one name are told apart by their distance.
    """
    problems = []
    for first in before.shown or ():
        same = [
            second
            for second in after.shown or ()
            if second.id == first.id and abs(second.away - first.away) <= SAME_OBJECT
        ]
        if not same:
            continue  # out of view
        expected = relative(first.bearing - degrees, 0.0)
        second = min(same, key=lambda one: abs(relative(one.bearing, expected)))
        problem = ""
        if abs(relative(second.bearing, expected)) > MOST_OFF:
            problem = (
                f"shows {first.words!r} at {first.bearing:.3g} deg, and after a turn by "
                f"{degrees:.3g} deg at {second.bearing:.3g}, not near {expected:.3g}: bearings are "
                "degrees to the right of the camera"
            )
        problems.append(problem)
    return problems


def wall_ahead(view: View) -> float | None:
    """Return metres to what is straight ahead; None if it is not flat, or not within reach."""
    bearings = np.abs(np.array(view.depth.bearings))
    ahead = _farthest(view, view.depth.reach)[bearings <= max(AHEAD, bearings.min())]
    if np.isnan(ahead).any() or ahead.max() - ahead.min() > EVEN:
        return None
    if ahead.max() >= view.depth.reach - EVEN:
        return None
    return float(np.median(ahead))


def _difference(before: View, after: View, degrees: float) -> float | None:
    """Return the median difference (metres) of two views' depths in the same directions, given that
    the second faces ``degrees`` to the right of the first.

    None if both measured fewer than three of the same directions.
    """
    reach = min(before.depth.reach, after.depth.reach)
    first = _farthest(before, reach)
    second = _farthest(after, reach)
    # Both in the frame of the first view, whose directions are interpolated.
    first_bearings = np.array(before.depth.bearings)
    second_bearings = np.array(after.depth.bearings) + degrees
    known = ~np.isnan(first)
    if not known.any():
        return None
    differences = np.abs(
        np.interp(
            second_bearings,
            first_bearings[known],
            first[known],
            left=np.nan,
            right=np.nan,
        )
        - second
    )
    differences = differences[~np.isnan(differences)]
    return float(np.median(differences)) if len(differences) >= 3 else None


def _farthest(view: View, reach: float) -> Floats:
    """Return (C,) the farthest that a view measured in each direction, up to ``reach`` (metres):
    what is behind low obstacles. NaN where it measured nothing, which is no distance."""
    metres = np.where(view.depth.measured(), view.depth.metres(), -np.inf)
    farthest = np.minimum(metres.max(axis=0), reach)
    return np.where(np.isneginf(farthest), np.nan, farthest)
