"""Requests with pictures behind a stub: what servers and their limits need."""

from __future__ import annotations

import base64
import io
from typing import Any

import pytest

from helpers.looking import answering, text_of
from wayword.core.model import Image, Message, PictureTokens
from wayword.models.middleware.budget import PICTURE_MARGIN, rough_tokens
from wayword.runs.plan import Plan
from wayword.runs.running import run

pillow = pytest.importorskip("PIL.Image")
pytest.importorskip("minigrid")
STEPS = 6
HISTORY = 2


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The requests of an episode whose model looks at its latest three pictures."""
    settings: dict[str, Any] = {
        "dataset": {"levels": "GoToLocalS8N7", "episodes": 1, "actions": "high"},
        "eyes": "pictures",
        "picture_size": "112x112",
        "picture_history": HISTORY,
    }
    out = tmp_path_factory.mktemp("run")
    with answering(["nonsense"]) as server:
        settings["model"] = {"base_url": server.address}
        run(
            Plan(
                "react",
                "grounding",
                "openai:looker",
                settings,
                max_steps=STEPS,
                out=out,
            )
        )
    assert len(server.asked) == STEPS
    return server.asked


def parts_of(body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The roles and parts of messages with several parts."""
    return [
        (message["role"], part)
        for message in body["messages"]
        if not isinstance(message["content"], str)
        for part in message["content"]
    ]


def test_addresses_are_one_line_and_name_the_type_of_their_bytes(
    requests: list[dict[str, Any]],
) -> None:
    for body in requests:
        for role, part in parts_of(body):
            assert role == "user"
            if part["type"] == "text":
                assert part["text"]
                continue
            head, _, data = part["image_url"]["url"].partition(",")
            assert head == "data:image/png;base64"
            assert data
            assert not any(character.isspace() for character in data)
            picture = pillow.open(io.BytesIO(base64.b64decode(data, validate=True)))
            # No transparency, which servers fill with a color of their own.
            assert (picture.format, picture.mode) == ("PNG", "RGB")


def test_no_more_pictures_than_the_history_keeps(
    requests: list[dict[str, Any]],
) -> None:
    counts = [
        sum(part["type"] == "image_url" for _, part in parts_of(body))
        for body in requests
    ]
    assert counts == [min(number, 1 + HISTORY) for number in range(1, STEPS + 1)]
    for body, count in zip(requests, counts, strict=True):
        assert text_of(body).count("image 1: ") == count


def test_a_large_picture_is_counted_by_its_size() -> None:
    # The header of a file of 1 MB, which is 1.4 million characters of base64.
    header = b"\x89PNG\r\n\x1a\n" + bytes(8) + (480).to_bytes(4, "big")
    data = header + (360).to_bytes(4, "big") + bytes(1_000_000)
    message = Message("user", "Where?", (Image(data, "image/png"),))
    tokens = rough_tokens([message], PictureTokens(side=28))
    assert 234 <= tokens <= PICTURE_MARGIN * 234 + 20
