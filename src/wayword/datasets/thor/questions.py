"""The published questions of IQUAD: what is asked about, in which kitchen, and the right answer.

Of each line the kitchen, the type of question, what is asked for, the answer and the number that
seeds are kept; the sentences are this project's own.

Source: IQA (Gordon et al. 2018); ``iqa/questions`` of the data folder.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wayword.core.errors import DataError
from wayword.core.files import find, read_bytes
from wayword.datasets.homes.questions import CONTAINS, COUNTS, EXISTS, KINDS

UNSEEN = ("FloorPlan1", "FloorPlan2", "FloorPlan3", "FloorPlan4", "FloorPlan5")
"""The kitchens that are kept out of training; the files ask about 6 to 30."""
REDRAWN = "unseen_kitchens"
FOLDERS = {
    "train": "train",
    "val_seen": "val/seen_scenes",
    "val_unseen": "val/unseen_scenes",
    REDRAWN: "val/seen_scenes",
}
"""Split -> folder of its questions."""
SPLITS = tuple(FOLDERS)
NAMES = {EXISTS: "existence", CONTAINS: "contains", COUNTS: "counting"}

THINGS = {
    1: "Spoon", 2: "Potato", 3: "Fork", 4: "Plate", 5: "Egg", 6: "Tomato", 7: "Bowl",
    8: "Lettuce", 9: "Apple", 10: "Knife", 11: "Cup", 12: "Bread", 13: "Mug",
}  # fmt: skip
"""Number of the file -> object type. What it calls a container (11) is a cup in iTHOR."""
PLACES = {17: "GarbageCan", 18: "Microwave", 19: "Fridge", 20: "Cabinet", 21: ""}
"""... and of what it may be in; 21 is the room."""
FIELDS = ("scene_number", "seed", "answer", "object_id", "container_id")


@dataclass(frozen=True, slots=True)
class Asked:
    """One published question. ``thing`` and ``place`` are object types, ``place`` empty where the
    whole kitchen is meant; ``answer`` is yes, no or a number."""

    kind: str
    number: int
    scene: str
    seed: int
    thing: str
    place: str
    answer: str


def questions_path(folder: Path, split: str, kind: str) -> Path:
    """The file of a split and type of question. Raises ``DataError`` where it is not there."""
    name = f"iqa/questions/{FOLDERS[split]}/data_{NAMES[kind]}/combined.csv"
    try:
        return find(folder, name)
    except DataError:
        if split != "val_unseen":
            raise
        remedy = f"split {REDRAWN} asks other questions in the same kitchens"
        raise DataError(folder / name, "", "no such file (nor .gz)", remedy) from None


def read_questions(folder: Path, split: str, kinds: Sequence[str] = KINDS) -> list[Asked]:
    """The questions of a split, the types taking turns, each in its file's order.

    Raises ``DataError`` naming file, line and field.
    """
    columns = [_read(questions_path(folder, split, kind), split, kind) for kind in kinds]
    longest = max(map(len, columns))
    return [column[n] for n in range(longest) for column in columns if n < len(column)]


def _read(path: Path, split: str, kind: str) -> list[Asked]:
    try:
        text = read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(path, "", f"is no text ({error})", "fetch it again") from error
    rows = csv.reader(io.StringIO(text))
    head = next(rows, [])
    missing = [name for name in FIELDS if name not in head]
    if missing:
        raise DataError(path, f"column {missing[0]!r}", "is missing", "fetch it again")
    at = [head.index(name) for name in FIELDS]
    return [_asked(path, split, kind, number, row, at) for number, row in enumerate(rows)]


def _asked(
    path: Path, split: str, kind: str, number: int, row: list[str], at: Sequence[int]
) -> Asked:
    try:
        scene, seed, answer, thing, place = (row[column] for column in at)
        room = UNSEEN[number % len(UNSEEN)] if split == REDRAWN else f"FloorPlan{int(scene)}"
        said = str(int(answer)) if kind == COUNTS else {"True": "yes", "False": "no"}[answer]
        what, where = THINGS[int(thing)], PLACES[int(place)]
        return Asked(kind, number, room, int(seed), what, where, said)
    except (IndexError, KeyError, ValueError) as error:
        problem = f"is no question ({type(error).__name__}: {error})"
        raise DataError(path, f"line {number + 2}", problem, "fetch it again") from error
