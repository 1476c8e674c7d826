"""Fields of a user's file of homes and tasks, and their checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar

import pydantic

from wayword.core.errors import DataError, suggest
from wayword.datasets.procedural import floorplans
from wayword.datasets.procedural.homes import furniture
from wayword.datasets.procedural.homes import home as plans
from wayword.datasets.procedural.homes.objects import OBJECTS
from wayword.worlds.household.entities import FLAGS
from wayword.worlds.household.scene import TEMPERATURES


def _parse_pair(value: Any) -> Any:
    """Return a list of two numbers as a tuple. Other types of entries are found by pydantic."""
    # A bool is an int to Python, and so to pydantic.
    if not isinstance(value, list) or len(value) != 2 or bool in map(type, value):
        raise ValueError(f"must be two numbers, as in [1.5, 2], got {value!r}")
    return tuple(value)


def _allowed_names(
    options: Iterable[str] | Callable[[], Iterable[str]],
) -> pydantic.AfterValidator:
    """Return a validator that accepts these names."""

    def check(value: str) -> str:
        """Raise ``ValueError`` with the nearest option for an unknown value."""
        names = list(options() if callable(options) else options)
        if value not in names:
            raise ValueError(f"there is no {value!r}; {suggest(value, names)}")
        return value

    return pydantic.AfterValidator(check)


SIDES = {"north": (0, 1), "east": (1, 0), "south": (0, -1), "west": (-1, 0)}
"""Side that furniture faces -> its direction (x east, y north)."""


def _standing_kinds() -> list[str]:
    """Return free-standing furniture kinds; a microwave, for example, comes with its counter."""
    part_kinds = set[str]()
    for spec in furniture.FURNITURE_KINDS.values():
        part_kinds.update(part.kind for part in spec.parts)
    return [kind for kind in furniture.FURNITURE_KINDS if kind not in part_kinds]


Text = Annotated[str, pydantic.StringConstraints(strip_whitespace=True, min_length=1)]
Number = Annotated[float, pydantic.Field(ge=-1000, le=1000)]
"""Metres or degrees."""
Spot = Annotated[
    tuple[Number, Number], pydantic.Strict(False), pydantic.BeforeValidator(_parse_pair)
]
"""``[x, y]`` in metres."""
Temperature = Annotated[str, _allowed_names(TEMPERATURES)]


class FileFields(pydantic.BaseModel):
    """Fields of a file, strictly typed. An empty field counts as omitted.

    ``example`` is quoted in errors. A field that does not exist is refused by its name.
    """

    model_config = pydantic.ConfigDict(
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        defer_build=True,  # an import builds no schema
    )
    example: ClassVar[str] = "instruction: Put a mug on the desk."

    @pydantic.model_validator(mode="before")
    @classmethod
    def _check_names(cls, values: Any) -> Any:
        """Name the field that does not exist, before pydantic complains about another."""
        if not isinstance(values, Mapping):
            raise ValueError(f"must have fields, as in {cls.example}, got {values!r}")
        for key in values:
            if key not in cls.model_fields:
                raise ValueError(
                    f"has no field {key!r}; {suggest(str(key), cls.model_fields)}"
                )
        return {key: value for key, value in values.items() if value is not None}


class HomeEntry(FileFields):
    """A generated home: the one of that ``seed`` and ``number``, with ``rooms`` rooms."""

    example = "home: {rooms: 4, seed: 7}"
    rooms: int = pydantic.Field(4, ge=plans.MIN_ROOMS, le=plans.MAX_ROOMS)
    seed: int = pydantic.Field(0, ge=0, le=10**9)
    number: int = pydantic.Field(0, ge=0, le=9999)


class PieceEntry(FileFields):
    """A piece of furniture.

    ``at`` is its center in metres from the room's south-west corner; without it the
    piece is placed. ``facing`` is the side that its front faces.
    """

    example = "{kind: desk, at: [2, 1]}"
    kind: Annotated[str, _allowed_names(_standing_kinds)]
    at: Spot | None = None
    facing: Annotated[str, _allowed_names(SIDES)] = "south"


class RoomEntry(FileFields):
    """A rectangular room with furniture; a piece may be given by its kind alone.

    ``at`` is its south-west corner, ``size`` its extents to the east and north, in metres.
    """

    example = "{name: kitchen, at: [0, 0], size: [4, 3], furniture: [fridge]}"
    name: Text
    at: Spot
    size: Spot
    furniture: list[PieceEntry] = []

    @pydantic.field_validator("size")
    @classmethod
    def _check_size(cls, size: tuple[float, float]) -> tuple[float, float]:
        """Raise ``ValueError`` for a room that is too small or too large to furnish."""
        if not all(1.5 <= side <= 30 for side in size):
            raise ValueError(
                f"must be 1.5 to 30 m per side, got {size[0]:g} x {size[1]:g}"
            )
        return size

    @pydantic.field_validator("furniture", mode="before")
    @classmethod
    def _parse_kinds(cls, pieces: Any) -> Any:
        """Accept a plain name for a piece without further fields."""
        if not isinstance(pieces, list):
            return pieces  # pydantic raises the error
        return [{"kind": each} if isinstance(each, str) else each for each in pieces]

    @property
    def plan(self) -> floorplans.PlanRoom:
        """Return the room of the floor plan; ``at`` is its south-west corner (metres)."""
        x, y = self.at
        width, depth = self.size
        return floorplans.PlanRoom(
            self.name,
            x,
            y,
            round(x + width, 4),
            round(y + depth, 4),
        )


class DoorEntry(FileFields):
    """A door between two rooms, in the middle of the wall that they share."""

    example = "{between: [kitchen, study], closed: true}"
    between: list[Text] = pydantic.Field(min_length=2, max_length=2)
    closed: bool = False


class ObjectEntry(FileFields):
    """A small object; goals refer to it by ``name``, or by its ``kind``.

    ``place`` is the kind of furniture that it is put on, in ``room`` if that is given.
    """

    example = "{kind: mug, place: counter_top}"
    kind: Annotated[str, _allowed_names(OBJECTS)]
    place: Text
    room: str = ""
    name: str = ""
    dirty: bool = False
    sliced: bool = False
    temperature: Temperature | None = None


class StartEntry(FileFields):
    """The agent's start: a room, or a point in metres, and a heading in degrees."""

    example = "start: {room: kitchen}"
    room: str = ""
    at: Spot | None = None
    heading: Number | None = None


class TaskEntry(FileFields):
    """A full task file; conditions in ``goal`` are read after the home is built.

    Exactly one of ``home`` and ``rooms`` is given. ``clutter`` adds the usual small
    objects: it multiplies the number of each type, 0 for none. ``accepted`` is the
    expert's mark.
    """

    instruction: Text
    name: Text | None = None
    home: HomeEntry | None = None
    rooms: list[RoomEntry] = pydantic.Field([], min_length=1, max_length=40)
    doors: list[DoorEntry] | None = None
    clutter: float = pydantic.Field(0.0, ge=0, le=50)
    objects: list[ObjectEntry] = []
    goal: list[Any] = []
    start: StartEntry | None = None
    rules: Text | None = None
    max_steps: int = pydantic.Field(500, ge=1, le=100_000)
    accepted: Any = None

    @pydantic.model_validator(mode="after")
    def _check_home(self) -> TaskEntry:
        """Raise ``ValueError`` unless the task has a home or rooms, and not both."""
        if bool(self.home) == bool(self.rooms):
            raise ValueError(
                "needs either a 'home' (generated) or 'rooms' (your own), not both"
            )
        return self


class OnObject(FileFields):
    """A condition on an object."""

    example = "inside: {object: mug, place: desk}"
    object: Text


def _on(base: type[Any] = OnObject, **fields: Any) -> Any:
    """Return a model with the fields of a condition, in addition to those of ``base``."""
    return pydantic.create_model("Condition", __base__=base, **fields)


# Fields that several conditions have
_FLAGS: Any = dict.fromkeys(FLAGS, (bool | None, None))
_WITH_STATES = _on(**_FLAGS, temperature=(Temperature | None, None))
_WITH_PLACE = _on(_WITH_STATES, place=(Text, ...), room=(str, ""))
_COUNT: Any = {"count": (int, pydantic.Field(1, ge=1))}
_WITHIN = _on(distance=(Number, 1.5))  # metres
CONDITIONS: Mapping[str, type[Any]] = {
    "inside": _on(_WITH_PLACE, **_COUNT),
    "has": _on(_WITH_STATES, **_COUNT),
    "stacked": _on(_WITH_PLACE, movable=(Text, ...)),
    "held": OnObject,
    "lit": _WITHIN,
    "near": _WITHIN,
    "next_to": _on(other=(Text, ...)),
}
"""Condition -> its fields."""
E = TypeVar("E", bound=FileFields)


class Record(NamedTuple):
    """A file and the record being read, such as ``room 2, furniture 1``, for errors."""

    path: Path
    record: str = ""

    def error(
        self,
        problem: str,
        remedy: str = "",
        field: str = "",
    ) -> DataError:
        """Return the error for the record or for one of its fields."""
        parts = [self.record, f"field {field!r}" if field else ""]
        return DataError(
            self.path,
            ", ".join(part for part in parts if part),
            problem,
            remedy,
        )

    def entry(self, model: type[E], values: Any) -> E:
        """Validate a record as an entry. Raises ``DataError`` for the first invalid field."""
        try:
            return model.model_validate(values)
        except pydantic.ValidationError as error:
            first = error.errors()[0]
        parts = [self.record]
        for key in first["loc"]:
            if isinstance(key, int):  # field 'rooms', 0 -> room 1
                last = parts[-1].removeprefix("field ").strip("'")
                parts[-1] = f"{last.removesuffix('s')} {key + 1}"
            else:
                parts.append(f"field {key!r}")
        problem = first["msg"].removeprefix("Value error, ")
        if first["type"] == "missing":
            problem = "is missing"
        elif first["type"] != "value_error":
            problem = (
                f"{problem.replace('Input should', 'must')}, got {first['input']!r}"
            )
        raise DataError(self.path, ", ".join(part for part in parts if part), problem)
