"""Searches with ``eyes``: each request shows what the world draws, and no word names an object."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from helpers.looking import drawn, pictures_of, text_of
from helpers.loopback import Loopback, chat, serving
from wayword.core.errors import UsageError
from wayword.core.sight import pixel_hash
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.runs.verify import verify

pytestmark = pytest.mark.usefixtures("shared_data")
AGENTS = {
    "lgx": {"turns": 2, "grounding_threshold": 0.99},
    "frontier_llm": {"grounding_threshold": 0.99},
}
"""Agent -> settings by which it seldom sees its target, and so has to ask."""
STEPS = {"lgx": 13, "frontier_llm": 18}
"""Agent -> steps within which it asks."""


def plan(agent: str, address: str, out: Path, **more: Any) -> Plan:
    tree = {
        "model": {"base_url": address},
        "dataset": {"homes": 1, "episodes": 1, "rooms": 4},
        **AGENTS[agent],
        **more,
    }
    if more.get("eyes", "words") != "words":
        tree.setdefault("picture_size", "96x72")
    return Plan(
        agent,
        "apartments:paintable",
        "openai:looker",
        tree,
        max_steps=STEPS[agent],
        out=out,
        retries=0,
    )


@contextmanager
def choosing() -> Iterator[Loopback]:
    """A server that takes the second direction, object or frontier that a request lists."""

    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        text = text_of(body)
        listed = re.search(
            r"one of: (.*), and nothing else|around it: (.*?)\. To", text
        )
        if listed is None:
            return 200, chat("2")
        return 200, chat((listed[1] or listed[2]).split(", ")[1])

    with serving(answer) as server:
        yield server


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("mode", ["pictures", "both"])
def test_each_request_shows_what_the_world_draws(
    tmp_path: Path, agent: str, mode: str
) -> None:
    with choosing() as server:
        chosen = plan(agent, server.address, tmp_path, eyes=mode)
        outcome = run(chosen).outcome
    assert (outcome.finished, outcome.failed, outcome.unusable) == (1, 0, "")
    sent = []
    for body in server.asked:
        shown = pictures_of(body)
        assert len(shown) == 6
        assert all(picture.shape == (72, 96, 3) for picture in shown)
        sent.append([pixel_hash(picture) for picture in shown])
    assert sent
    assert sorted(sent) == sorted(drawn(tmp_path, chosen, turning=True))
    assert [each for _, each in verify(RunFolder.read(tmp_path))] == [""]


@pytest.mark.parametrize("agent", AGENTS)
def test_pictures_replace_the_names_of_objects(tmp_path: Path, agent: str) -> None:
    named = re.compile(r"\b(?:bed|sofa|fridge|dresser|toilet|shelf|counter top|desk)\b")
    found = {}
    for mode in ("words", "pictures", "both"):
        with choosing() as server:
            run(plan(agent, server.address, tmp_path / mode, eyes=mode))
        found[mode] = [text_of(body) for body in server.asked]
    assert any(named.search(text) for text in found["words"])
    assert any(named.search(text) for text in found["both"])
    assert found["pictures"]
    assert not [text for text in found["pictures"] if named.search(text)]
    assert not [text for text in found["words"] if "image" in text]


@pytest.mark.parametrize(
    ("agent", "settings"),
    [("lgx", {"prompt": "captions"}), ("frontier_llm", {"decoding": "choose"})],
)
def test_settings_of_words_are_refused_with_pictures(
    tmp_path: Path, agent: str, settings: dict[str, str]
) -> None:
    with choosing() as server, pytest.raises(UsageError, match="eyes=pictures"):
        run(plan(agent, server.address, tmp_path, eyes="pictures", **settings))
