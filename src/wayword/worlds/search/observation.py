"""View: what one capture shows."""

from __future__ import annotations

from dataclasses import dataclass, field

from wayword.core.world import Observation
from wayword.worlds.search.camera import DepthImage


@dataclass(frozen=True, slots=True)
class Shown:
    """A thing that is truly in a view, for simulated detectors and judges.

    ``kind`` is its type (``alarm_clock``) and ``words`` how a person would call it
    (``"cat-shaped mug"``). ``bearing`` is relative (degrees, right positive), of its middle;
    ``elevation`` likewise, up positive. ``distance`` is the metres along the floor to the nearest
    point of its box, ``away`` those to its middle. ``width`` and ``height`` are degrees it takes in
    the view, ``fraction`` the visible share of it, above 0.
    """

    id: str
    kind: str
    words: str
    bearing: float
    elevation: float
    distance: float
    away: float
    width: float
    height: float
    fraction: float


@dataclass(frozen=True, slots=True)
class View(Observation):
    """One capture of a base: where it stands by its own reckoning, and what its camera gives.

    ``x`` and ``y`` are metres, ``heading`` degrees clockwise from north. ``eye`` is the camera's
    height and ``field_of_view`` its width in degrees. ``depth`` is the depth image. ``image`` is
    an encoded picture where there is a real camera (PNG or JPEG), and ``shown`` what is truly in
    view where there is a simulation: both are for detectors
    (:mod:`wayword.perception.detecting`); agents decide on what their detector tells them.
    """

    scene: str
    x: float
    y: float
    heading: float
    eye: float
    field_of_view: float
    depth: DepthImage
    shown: tuple[Shown, ...] = ()
    image: bytes = field(default=b"", repr=False)
