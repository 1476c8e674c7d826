"""Probe: what a model can name in the schematic pictures, and at which size.

    wayword probe openai:gpt-5-mini
    wayword probe openai:gpt-5-mini --on household --crops 400

Objects are cut out of pictures of a dataset's episodes, and the model is asked which of ten kinds
each one is. A model that cannot name an object cannot find it either, whatever it plans: read this
table before a score with ``eyes=pictures``.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wayword.agents.answers import ask, read_pick
from wayword.core.action import Rejection
from wayword.core.blocking import blocking
from wayword.core.dataset import Dataset
from wayword.core.errors import BudgetExhausted, UsageError
from wayword.core.files import make_parent
from wayword.core.model import Image, Message, Model
from wayword.core.sight import Frame, to_image
from wayword.metrics.intervals import Interval, rate_interval
from wayword.models.middleware.budget import Account
from wayword.runs.opening import open_dataset, open_models
from wayword.runs.plan import Plan

ACTOR = "agent"
OPTIONS = 10
"""Kinds to choose from: chance is one in ten."""
SIZE = (360, 480)
"""Rows and columns of the pictures that crops are cut from: the default of ``eyes``."""
MARGIN = 0.3
"""Surroundings of a crop, as a share of the object's extent on each side."""
SMALLEST = 40
"""Pixels of an object that is asked for; smaller ones count as unseen in the tests, too."""
SIZES = (200, 800, 3_200)
"""Bounds in pixels between the rows of the table by size."""
MOST_TOKENS = 24  # of an answer: a kind's name
QUESTION = (
    "The image is cut out of a schematic picture of a home: objects are boxes, tubes and balls in "
    "the colors of their parts. Which of these is the object in its middle: {options}? Answer with "
    "one of them alone."
)


@dataclass(frozen=True)
class Crop:
    """An object cut out of a picture: its ``kind``, its ``pixels``, the ``options`` to choose from
    in order, and the ``image``."""

    kind: str
    pixels: int
    options: tuple[str, ...]
    image: Image


@dataclass(frozen=True)
class Answered:
    """A crop's kind and pixels, the ``answer``, empty for none of the options, and if it is
    right."""

    kind: str
    pixels: int
    answer: str

    @property
    def is_right(self) -> bool:
        return self.answer == self.kind


@dataclass(frozen=True)
class Probing:
    """What to ask of which model. Raises ``UsageError`` where it is used with a dataset that draws
    no pictures, or that does not know its objects' kinds."""

    model: str
    on: str = "houses"
    crops: int = 200
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    max_dollars: float | None = None
    cache: Path | None = None
    out: Path | None = None
    """File for the answers, a line of JSON each, written as they come."""


def probe(plan: Probing) -> list[Answered]:
    """Ask a model for the kind of each crop; fewer are answered if the budget ends."""
    return blocking(_probe(plan))


async def _probe(plan: Probing) -> list[Answered]:
    crops = list(draw_crops(plan.on, plan.crops, plan.seed))
    # Before the first answer is paid for.
    if plan.out is not None:
        if plan.out.exists():
            raise UsageError(f"{plan.out} exists; name another file for the answers")
        make_parent(plan.out)
        plan.out.touch()
    options = Plan("mapgpt", plan.on, plan.model, cache=plan.cache)
    account = Account(None, plan.max_dollars)
    chosen = {"main": (plan.model, plan.settings)}
    model = open_models(options, chosen, account)["main"]
    answered = []

    async def answer(crop: Crop) -> None:
        account.begin()
        answered.append(await _ask(model, crop))
        account.end(complete=True)
        if plan.out is not None:
            write(plan.out, answered[-1])

    # Questions are independent, so that all of them are one batch.
    at_once = 1
    if plan.settings.get("tier") == "batch":
        at_once = len(crops)
        if plan.out is not None:
            model.keep_in(Path(f"{plan.out}.batches.sqlite"))
    try:
        for start in range(0, len(crops), at_once):
            asked = map(answer, crops[start : start + at_once])
            # All are waited for, as each is paid.
            for problem in await asyncio.gather(*asked, return_exceptions=True):
                if problem is not None:
                    raise problem
    except BudgetExhausted:
        pass  # the table says how many were answered
    finally:
        await model.aclose()
    return answered


async def _ask(model: Model, crop: Crop) -> Answered:
    text = QUESTION.format(options=", ".join(crop.options))
    question = Message("user", text, (crop.image,))
    reply = await ask(model, [question], crop.options, "constrained", MOST_TOKENS)
    picked = read_pick(reply, crop.options)
    answer = "" if isinstance(picked, Rejection) else picked
    return Answered(crop.kind, crop.pixels, answer)


def draw_crops(on: str, count: int, seed: int = 0) -> Iterator[Crop]:
    """Yield crops of a dataset's objects, kinds in turn, each with nine other kinds drawn at
    random."""
    rng = random.Random(f"probe/{seed}")
    found = _by_kind(on, count)
    if len(found) < OPTIONS:
        raise UsageError(
            f"probe: {on} shows {len(found)} kinds of objects, and a question has {OPTIONS}; "
            "choose houses or household"
        )
    for crops in found.values():
        rng.shuffle(crops)
    # Sorted, as the draws must not depend on the order in which kinds were found.
    kinds = sorted(found)
    drawn = 0
    while drawn < count and any(found.values()):
        # Rare kinds are asked for as often as common ones, as long as there are any.
        for kind in kinds:
            if not found[kind] or drawn == count:
                continue
            pixels, image = found[kind].pop()
            others = rng.sample([each for each in kinds if each != kind], OPTIONS - 1)
            options = [kind, *others]
            rng.shuffle(options)
            yield Crop(kind, pixels, tuple(options), image)
            drawn += 1


def _by_kind(on: str, count: int) -> dict[str, list[tuple[int, Image]]]:
    """Return the pixels and pictures of objects by kind, at least twice as many as are asked
    for."""
    dataset = open_dataset(Plan("mapgpt", on))
    painter = dataset.painter()
    if painter is None:
        raise UsageError(f"probe: {on} draws no pictures; choose houses or household")
    found: dict[str, list[tuple[int, Image]]] = defaultdict(list)
    total = 0
    for task in _spread(dataset):
        world = dataset.world(task)
        world.reset(task)
        kinds = painter.kinds(world)
        # A painter without kinds for one scene has none for any other.
        if not kinds:
            break
        for view in painter.views(world, ACTOR):
            frame = painter.frame(world, ACTOR, view, SIZE)
            for kind, pixels, image in _objects(frame, kinds):
                found[kind].append((pixels, image))
                total += 1
        # Checked after a full scene, so that its last kinds are not cut off.
        if total >= 2 * count:
            break
    return dict(found)


def _spread(dataset: Dataset) -> Iterator[Any]:
    """Yield the episodes of a dataset, neighbors far apart: they may share a home."""
    tasks = dataset.tasks
    step = max(1, len(tasks) // 7)
    for first in range(step):
        for number in range(first, len(tasks), step):
            yield tasks[number].episode


def _objects(
    frame: Frame, kinds: Mapping[int, str]
) -> Iterator[tuple[str, int, Image]]:
    """Yield the kind, pixels and crop of each object in a picture that its edge does not cut."""
    shown, counts = np.unique(frame.ids, return_counts=True)
    height, width = frame.ids.shape
    for number, pixels in zip(shown.tolist(), counts.tolist(), strict=True):
        if number not in kinds or pixels < SMALLEST:
            continue
        rows, columns = np.nonzero(frame.ids == number)
        top, bottom = int(rows.min()), int(rows.max()) + 1
        left, right = int(columns.min()), int(columns.max()) + 1
        if top == 0 or left == 0 or bottom == height or right == width:
            continue
        above = round(MARGIN * (bottom - top)) + 1
        aside = round(MARGIN * (right - left)) + 1
        rows_cut = slice(max(0, top - above), bottom + above)
        columns_cut = slice(max(0, left - aside), right + aside)
        yield kinds[number], pixels, to_image(frame.color[rows_cut, columns_cut])


def size_of(pixels: int) -> str:
    """Return the row of the table by size that a number of pixels belongs to."""
    for bound in SIZES:
        if pixels < bound:
            return f"below {bound:,} pixels"
    return f"{SIZES[-1]:,} pixels or more"


def shares(
    answered: Sequence[Answered], key: Callable[[Answered], str]
) -> list[tuple[str, int, Interval]]:
    """Return a row for each value of a key: the number of crops, and the share that was named
    right, the best first."""
    groups: dict[str, list[float]] = defaultdict(list)
    for each in answered:
        groups[key(each)].append(float(each.is_right))
    rows = [
        (name, len(right), rate_interval(np.array(right)))
        for name, right in groups.items()
    ]
    return sorted(rows, key=lambda row: (-row[2].mean, row[0]))


def lines(answered: Sequence[Answered]) -> list[str]:
    """Return the table as text: all crops, by size, and by kind."""
    rows = [*shares(answered, lambda each: "all")]
    by_size = shares(answered, lambda each: size_of(each.pixels))
    bounds = [size_of(bound - 1) for bound in SIZES] + [size_of(SIZES[-1])]
    rows += sorted(by_size, key=lambda row: bounds.index(row[0]))
    rows += shares(answered, lambda each: each.kind)
    width = max(len(name) for name, _, _ in rows)
    found = []
    for name, count, share in rows:
        ends = f"[{100 * share.low:.0f}, {100 * share.high:.0f}]" if count > 1 else ""
        line = f"{name:<{width}}  {100 * share.mean:3.0f}%  of {count:3}  {ends}"
        found.append(line.rstrip())
    return [*found, f"chance: {100 // OPTIONS}%"]


def write(path: Path, answered: Answered) -> None:
    """Append one line of JSON."""
    row = {
        "kind": answered.kind,
        "pixels": answered.pixels,
        "answer": answered.answer,
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(row)}\n")
