"""Requests with pictures, and what the world draws at each of them."""

from __future__ import annotations

import base64
import io
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.loopback import Loopback, chat, serving
from wayword.core.action import Action
from wayword.core.dataset import of_ids
from wayword.core.game import Game
from wayword.core.sight import Eyes
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.worlds.household.world import HouseholdWorld

POSES = 3  # of each home
ENOUGH = 40  # pixels of 480 x 360 that show an object
LARGE = 200  # pixels of what cannot be overlooked


def pictures_of(body: dict[str, Any]) -> list[np.ndarray[Any, Any]]:
    """The pictures of a request, decoded."""
    pillow = pytest.importorskip("PIL.Image")
    decoded = []
    for message in body["messages"]:
        if isinstance(message["content"], str):
            continue
        for part in message["content"]:
            if part["type"] == "image_url":
                _, _, data = part["image_url"]["url"].partition(";base64,")
                picture = pillow.open(io.BytesIO(base64.b64decode(data)))
                decoded.append(np.asarray(picture.convert("RGB")))
    return decoded


def text_of(body: dict[str, Any]) -> str:
    """The text of a request."""
    texts = []
    for message in body["messages"]:
        content = message["content"]
        if isinstance(content, str):
            texts.append(content)
        else:
            texts += [part["text"] for part in content if part["type"] == "text"]
    return "\n".join(texts)


def drawn(path: Path, eyes_plan: Plan, turning: bool = False) -> list[list[str]]:
    """The hashes that the world draws at each step of a run with a model call, in order.
    ``turning``: of a full turn."""
    dataset = open_dataset(eyes_plan)
    painter = dataset.painter()
    assert painter is not None
    assert dataset.eyes is not None
    found = []
    for record in RunFolder.read(path).records():
        (task,) = of_ids(dataset.tasks, {record.episode_id}).values()
        game = Game(dataset.world(task.episode), task.episode)
        for step in record.trajectory.steps:
            eyes = Eyes(dataset.eyes, painter, game.world, "agent", turning)
            found += [eyes.hashes() for _ in step.calls]
            game.act("agent", step.decision)
    return found


@contextmanager
def answering(actions: Sequence[str]) -> Iterator[Loopback]:
    """A server that answers with these actions in turn, with a thought."""
    number = count()

    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        action = actions[next(number) % len(actions)]
        return 200, chat(f'{{"thought": "on", "action": "{action}"}}')

    with serving(answer) as server:
        yield server


def walk(world: HouseholdWorld, rng: random.Random) -> None:
    """Go to some room, and turn and step away from its middle."""
    world.step("agent", Action("go_explore", (rng.choice(world.layout.rooms),)))
    for _ in range(rng.randrange(1, 4)):
        verb = rng.choice(["pan_left", "move_ahead", "turn_left"])
        world.step("agent", Action(verb))


def pixels(eyes: Eyes) -> Counter[int]:
    """Object number -> its pixels in the picture that shows it best."""
    best: Counter[int] = Counter()
    for _, frame in eyes.frames():
        shown, counts = np.unique(frame.ids, return_counts=True)
        for number, area in zip(shown.tolist(), counts.tolist(), strict=True):
            best[number] = max(best[number], area)
    return best


def compared(
    worlds: Iterable[tuple[HouseholdWorld, Eyes]], poses: int = POSES
) -> tuple[Counter[str], Counter[str]]:
    """Counts by kind: all that words name, and what is in no picture."""
    named: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    rng = random.Random(0)
    for world, eyes in worlds:
        for number in range(poses):
            if number:
                walk(world, rng)
            shown = pixels(eyes)
            house = world.house
            me = house.actors["agent"]
            entities = house.entities
            for i in range(entities.first_actor):
                if i in me.view.entities:
                    named[entities.type(i)] += 1
                    missing[entities.type(i)] += shown[i + 1] < ENOUGH
                # Words end at the view's depth, and pictures do not.
                elif i not in me.hands and house.distance(me, i) <= 6.0:
                    named["not in sight"] += 1
                    missing["not in sight"] += shown[i + 1] >= LARGE
    return named, missing
