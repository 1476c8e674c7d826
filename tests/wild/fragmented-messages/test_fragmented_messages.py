"""Messages in fragments, and compressed ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wayword.worlds.objectnav.rosbridge import Link

MESSAGE = {"op": "publish", "topic": "/scan", "msg": {"ranges": [1.0, 2.5], "n": "é"}}


def fragments(message_id: str, pieces: int) -> list[dict[str, Any]]:
    text = json.dumps(MESSAGE)
    size = -(-len(text) // pieces)
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    return [
        {
            "op": "fragment",
            "id": message_id,
            "data": part,
            "num": i,
            "total": len(parts),
        }
        for i, part in enumerate(parts)
    ]


@pytest.fixture
def link() -> Link:
    link = Link("ws://127.0.0.1:1")
    link.subscribe("/scan", "sensor_msgs/msg/LaserScan")
    link._connection = object()  # type: ignore[assignment]
    return link


def feed(link: Link, *messages: object) -> None:
    for message in messages:
        link._store_message(json.dumps(message))


def latest(link: Link) -> object:
    return link.latest({"/scan": 0.0}, 0.01)["/scan"]


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 0, 2, 1]])
def test_fragments_are_joined(link: Link, order: list[int]) -> None:
    parts = fragments("a", 4)
    others = fragments("b", 3)
    feed(link, others[0])
    feed(link, *(parts[i] for i in order))
    assert latest(link) == MESSAGE["msg"]


def test_missing_and_invalid_fragments_are_ignored(link: Link) -> None:
    first, *others = fragments("a", 4)
    feed(link, first, *others[:-1], {**first, "num": "x"}, {**first, "num": 9})
    feed(link, {**first, "data": None}, {"op": "fragment"})
    with pytest.raises(TimeoutError, match="/scan"):
        latest(link)
    for number in range(100):
        feed(link, {**first, "id": str(number)})
    assert len(link._fragments) <= 16


@pytest.mark.parametrize(
    "text", [b"\xa2\x62op", '{"op": "png", "data": "iVBORw0KGgo="}']
)
def test_compressed_messages_are_named(link: Link, text: str | bytes) -> None:
    link._store_message(text)
    with pytest.raises(TimeoutError, match="compressed messages"):
        latest(link)
