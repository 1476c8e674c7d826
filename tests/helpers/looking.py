"""Requests with pictures, and what the world draws at each of them."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.loopback import Loopback, chat, serving
from wayword.core.dataset import of_ids
from wayword.core.game import Game
from wayword.core.sight import Eyes
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder


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
