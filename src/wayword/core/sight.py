"""Sight: pictures of what an actor sees, drawn from the true state of its world.

With ``--set eyes=pictures`` or ``both``, a dataset with a :class:`Painter` shows its worlds to
agents as pictures. An agent finds them in its toolkit::

    for label, image in self.toolkit.eyes.look():
        ...                                     # "ahead", an Image for the model

Nothing is drawn before an agent looks. The record holds hashes of pixels in place of pictures:
replaying an episode draws them again.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import UsageError
from wayword.core.geometry import Floats, relative
from wayword.core.marks import Mark, draw_marks
from wayword.core.model import Image
from wayword.core.perceiver import Perceiver, Percept
from wayword.core.world import World

Mode = Literal["words", "pictures", "both"]
Control = Literal["", "blank", "elsewhere"]
SMALLEST = 32
"""Minimum columns and rows of a picture: below, no object has a shape."""
GRAY = 128
"""Each channel of a blank picture."""
PLACES = 8
"""Most other places whose pictures are shown in place of the actor's."""
LARGEST = 2048
"""Maximum columns and rows of a picture: models scale larger ones down."""
PARTS = 12
"""Parts of a turn, one picture each, for agents that look direction by direction. Source:
DiscussNav (Long et al. 2024), section III-C."""
PART_WIDTH = 60.0
"""Field of view of such a picture in degrees: neighbors overlap, so that nothing is cut in half.
Source: the default camera of Matterport3D's simulator."""


@dataclass(frozen=True, slots=True)
class EyesSettings:
    """How a run sees.

    ``eyes``: the world is described in ``words``, shown in ``pictures``, or ``both``.
    ``picture_size``: columns and rows of a picture, ``480x360``. ``picture_control``
    shows ``blank`` pictures, or those of a place ``elsewhere``, in place of what the
    actor sees. ``picture_history``: number of earlier looks whose pictures stay in an
    agent's conversation. Raises ``UsageError`` for a size that no model reads.
    """

    eyes: Mode = "words"
    picture_size: str = "480x360"
    picture_control: Control = ""
    picture_history: int = 0

    def __post_init__(self) -> None:
        columns, _, rows = self.picture_size.partition("x")
        sides = [int(side) for side in (columns, rows) if side.isdecimal()]
        if len(sides) != 2 or not all(SMALLEST <= side <= LARGEST for side in sides):
            raise UsageError(
                f"picture_size must be COLUMNSxROWS, each from {SMALLEST} to {LARGEST}, such as "
                f"480x360, got {self.picture_size!r}"
            )
        if self.picture_history < 0:
            raise UsageError(
                f"picture_history must be 0 or more, got {self.picture_history}"
            )

    @property
    def size(self) -> tuple[int, int]:
        """(rows, columns)."""
        columns, _, rows = self.picture_size.partition("x")
        return int(rows), int(columns)


@dataclass(frozen=True, slots=True)
class PictureView:
    """A direction in which an actor looks: its ``label`` in prompts, absolute ``heading``,
    ``elevation`` (up positive) and horizontal field of view ``width``, in degrees."""

    label: str
    heading: float
    elevation: float
    width: float


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """A picture: ``color`` (rows, columns, 3) from 0 to 255, ``depth`` (rows, columns) in metres
    along the camera's axis, inf for the sky, and ``ids`` (rows, columns), the object's number, 0
    for the building. A map seen from above has no ``depth``: it is inf everywhere."""

    color: NDArray[np.uint8]
    depth: Floats
    ids: NDArray[np.int32]


class Painter(ABC):
    """Draws what the actors of a dataset's worlds see.

    ``has_marks``: actions name objects, which have :meth:`marks`. ``has_depth``: frames
    have depths.
    """

    has_marks: bool = False
    has_depth: bool = True

    @property
    @abstractmethod
    def name(self) -> str:
        """Identifies its looks: painters with the same name draw the same pixels."""

    @abstractmethod
    def views(self, world: World, actor: str) -> Sequence[PictureView]:
        """Return the views that together show what the world's rules let the actor see."""

    def around(self, world: World, actor: str) -> Sequence[PictureView]:
        """Return the views of a full turn, for agents that turn before they choose."""
        return self.views(world, actor)

    @abstractmethod
    def frame(
        self, world: World, actor: str, view: PictureView, size: tuple[int, int]
    ) -> Frame:
        """Draw one view. ``size`` is (rows, columns)."""

    def marks(self, world: World, actor: str) -> Mapping[int, Mark]:
        """Return the marks of the objects that the actor's actions can name.

        By the numbers in ``Frame.ids``. Empty where actions name no objects.
        """
        return {}

    def kinds(self, world: World) -> Mapping[int, str]:
        """Return the kinds of objects in words, by the numbers in ``Frame.ids``.

        Empty if they are not known.
        """
        return {}


def view_ahead(painter: Painter, world: World, actor: str) -> PictureView:
    """Return the view in which an actor looks ahead."""
    views = [*painter.views(world, actor), *painter.around(world, actor)]
    # A map from above has one view, of another name.
    return next((view for view in views if view.label == "ahead"), views[0])


@dataclass(frozen=True, slots=True)
class Eyes:
    """The eyes of one actor in an episode. ``is_turning``: they show a full turn; ``has_parts``: in
    ``PARTS`` directions, clockwise from the one ahead; ``is_ahead``: they show that one alone."""

    settings: EyesSettings
    painter: Painter
    world: World
    actor: str
    is_turning: bool = False
    has_parts: bool = False
    is_ahead: bool = False

    def turning(self) -> Eyes:
        """Return the eyes of the same actor in a full turn."""
        return replace(self, is_turning=True)

    def in_parts(self) -> Eyes:
        """Return the eyes of the same actor in a full turn, direction by direction."""
        return replace(self, has_parts=True)

    @property
    def reads_words(self) -> bool:
        """True if the agent also reads the world in words."""
        return self.settings.eyes == "both"

    @property
    def marks(self) -> dict[str, str]:
        """Names of objects in actions -> the numbers that stand for them in prompts. Empty if the
        agent reads the names in words."""
        if self.reads_words:
            return {}
        marks = self.painter.marks(self.world, self.actor).values()
        return {mark.name: str(mark.number) for mark in marks}

    def views(self) -> Sequence[PictureView]:
        """Return the directions of the actor's pictures."""
        if self.is_ahead:
            return [view_ahead(self.painter, self.world, self.actor)]
        if self.has_parts:
            ahead = self.painter.around(self.world, self.actor)[0]
            step = 360.0 / PARTS
            return [
                PictureView(
                    f"direction {number + 1}",
                    (ahead.heading + step * number) % 360.0,
                    ahead.elevation,
                    PART_WIDTH,
                )
                for number in range(PARTS)
            ]
        if self.is_turning:
            return self.painter.around(self.world, self.actor)
        return self.painter.views(self.world, self.actor)

    def look(self) -> list[tuple[str, Image]]:
        """Draw the actor's views, each with its label."""
        return [(view.label, to_image(frame.color)) for view, frame in self.frames()]

    def toward(self, heading: float) -> Image:
        """Draw the view nearest to an absolute ``heading`` in degrees."""
        views = self.views()
        view = min(views, key=lambda each: abs(relative(each.heading, heading)))
        return to_image(self._draw(view).color)

    def hashes(self) -> list[str]:
        """Draw the actor's views and return the hashes of their pixels."""
        return [pixel_hash(frame.color) for _, frame in self.frames()]

    def frames(self) -> list[tuple[PictureView, Frame]]:
        """Draw the actor's views with their depths and object numbers.

        Objects have marks if actions name them and the agent reads no words.
        """
        return [(view, self._draw(view)) for view in self.views()]

    def _draw(self, view: PictureView) -> Frame:
        """Draw a view, with marks if there are any."""
        size = self.settings.size
        frame = self.painter.frame(self.world, self.actor, view, size)
        if not self.reads_words:
            marks = self.painter.marks(self.world, self.actor)
            draw_marks(frame.color, frame.ids, marks)
        return frame


class BlankPainter(Painter):
    """Gray pictures of the size and number of another painter's, whose marks it keeps.

    A model that plays as well with them does not look.
    """

    control: ClassVar[Control] = "blank"

    def __init__(self, inner: Painter) -> None:
        self.inner = inner
        self.has_marks = inner.has_marks
        self.has_depth = inner.has_depth

    @property
    def name(self) -> str:
        return f"{self.control}:{self.inner.name}"

    def views(self, world: World, actor: str) -> Sequence[PictureView]:
        return self.inner.views(world, actor)

    def around(self, world: World, actor: str) -> Sequence[PictureView]:
        return self.inner.around(world, actor)

    def marks(self, world: World, actor: str) -> Mapping[int, Mark]:
        return self.inner.marks(world, actor)

    def frame(
        self, world: World, actor: str, view: PictureView, size: tuple[int, int]
    ) -> Frame:
        color = np.full((*size, 3), GRAY, np.uint8)
        return Frame(color, np.full(size, np.inf), np.zeros(size, np.int32))


class ElsewherePainter(BlankPainter):
    """Another painter's pictures of another place.

    It is one of ``others``, worlds at their start, which depends on where the actor is.
    Blank pictures if there is no other place.
    """

    control = "elsewhere"

    def __init__(self, inner: Painter, others: Sequence[World]) -> None:
        super().__init__(inner)
        self._others = others

    def frame(
        self, world: World, actor: str, view: PictureView, size: tuple[int, int]
    ) -> Frame:
        pose = world.pose(actor)
        elsewhere = [each for each in self._others if each.pose(actor) != pose]
        if not elsewhere:
            return super().frame(world, actor, view, size)
        # The same place always has the same picture, so that verification can draw it again.
        number = zlib.crc32(repr(sorted(pose.items())).encode()) % len(elsewhere)
        return self.inner.frame(elsewhere[number], actor, view, size)


def surround(heading: float, elevation: float) -> list[PictureView]:
    """Return four views of 90° that together show everything around an actor, which faces
    ``heading``."""
    labels = ("ahead", "right", "behind", "left")
    return [
        PictureView(label, (heading + 90.0 * quarter) % 360.0, elevation, 90.0)
        for quarter, label in enumerate(labels)
    ]


def pixel_hash(color: NDArray[np.uint8]) -> str:
    """Return the hash of a picture's size and pixels, 16 hex digits."""
    digest = hashlib.sha256(repr(color.shape).encode())
    digest.update(np.ascontiguousarray(color).tobytes())
    return digest.hexdigest()[:16]


def to_image(color: NDArray[np.uint8]) -> Image:
    """Return a drawn picture as an image for models, which the record keeps as its hash."""
    return Image(png(color), "image/png", pixel_hash(color))


def png(color: NDArray[np.uint8]) -> bytes:
    """Return a picture (rows, columns, 3) as a PNG file. Source: PNG (W3C, third edition).

    The file depends on the release of zlib: compare pixels, never files.
    """
    rows, columns = color.shape[:2]
    # Each row begins with its filter type, 0 for none.
    lines = np.zeros((rows, 1 + 3 * columns), np.uint8)
    lines[:, 1:] = color.reshape(rows, -1)
    # 8 bits per channel, truecolor, no interlacing.
    header = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    data = zlib.compress(lines.tobytes(), 6)
    chunks = _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def _chunk(name: bytes, data: bytes) -> bytes:
    """Return a chunk of a PNG file: length, name, data and checksum."""
    checksum = struct.pack(">I", zlib.crc32(name + data))
    return struct.pack(">I", len(data)) + name + data + checksum


class WordlessPerceiver(Perceiver):
    """Another perceiver without its words, for agents that see pictures: directions stay, with
    empty captions and no sightings."""

    def __init__(self, inner: Perceiver) -> None:
        self._inner = inner
        self.name = f"{inner.name}, no words"
        self.caveats = inner.caveats

    def perceive(self, scene: str, place: str) -> Percept:
        sectors = self._inner.perceive(scene, place).sectors
        wordless = [replace(part, caption="", sightings=()) for part in sectors]
        return Percept(tuple(wordless))


def with_eyes(base: Any, settings: EyesSettings) -> Any:
    """Return a dataset's class whose agents see by these settings, ``pictures`` or ``both``."""

    class Seeing(base):  # type: ignore[misc]
        eyes = settings

        def perceiver(self) -> Perceiver | None:
            inner: Perceiver | None = super().perceiver()
            if inner is None or settings.eyes == "both":
                return inner
            return WordlessPerceiver(inner)

        @cached_property
        def _elsewhere(self) -> list[World]:
            """Worlds of some episodes, spread over all, at their start."""
            tasks = self.tasks
            count = min(PLACES, len(tasks))
            worlds = []
            for number in range(count):
                episode = tasks[number * len(tasks) // count].episode
                world: World = self.world(episode)
                world.reset(episode)
                worlds.append(world)
            return worlds

        def painter(self) -> Painter | None:
            inner: Painter | None = super().painter()
            if inner is None or not settings.picture_control:
                return inner
            if settings.picture_control == "blank":
                return BlankPainter(inner)
            return ElsewherePainter(inner, self._elsewhere)

    # Messages and records name the dataset's class, however its agents see.
    Seeing.__name__ = base.__name__
    Seeing.__qualname__ = base.__qualname__
    return Seeing
