"""One cache for several runs: an answer is used again only for the very model that gave it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import Loopback, chat, serving
from helpers.run_folders import records
from wayword.runs import Plan, run

SMALL = {"houses": 1, "episodes": 2, "rooms": 6}


def _thinking(words: str) -> Any:
    """Answers free prompts with a thought and no action."""
    return lambda route, body, headers: (200, chat(f"Thought: {words}"))


def _run(out: Path, model: str, **settings: Any) -> list[str]:
    """The answers of a run of two episodes with the cache next to its folder."""
    tree = {"dataset": SMALL, "decoding": "free", "model": settings}
    plan = Plan(
        "navgpt", "houses", model, tree,
        limit=2, max_steps=2, concurrency=1, out=out, cache=out.parent / "cache.db",
    )  # fmt: skip
    run(plan)
    return [call.answer.text for one in records(out) for call in one.trajectory.calls()]  # type: ignore[union-attr]


def test_the_same_name_at_another_address_is_queried_itself(tmp_path: Path) -> None:
    with serving(_thinking("first")) as first, serving(_thinking("second")) as second:

        def answers(out: str, server: Loopback) -> list[str]:
            return _run(tmp_path / out, "openai:m", base_url=server.address)

        assert set(answers("a", first)) == {"Thought: first"}
        assert set(answers("b", second)) == {"Thought: second"}
        posts = len(first.asked), len(second.asked)
        assert posts[0] == posts[1] > 0
        assert set(answers("c", first)) == {"Thought: first"}
        assert set(answers("d", second)) == {"Thought: second"}
        assert (len(first.asked), len(second.asked)) == posts, "answered from the cache"


@pytest.mark.parametrize(
    "settings",
    [
        {"extra": {"top_k": 3}},
        {"dialect": "vllm"},
        {"omit": ["stop"]},
        {"thinking": 64},
    ],
    ids=str,
)
def test_the_same_server_with_another_setting_is_queried_again(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    with serving(_thinking("hm")) as server:
        _run(tmp_path / "a", "openai:m", base_url=server.address)
        posts = len(server.asked)
        _run(tmp_path / "b", "openai:m", base_url=server.address, **settings)
        assert len(server.asked) == 2 * posts > 0


def test_another_name_at_the_same_address_is_queried_itself(tmp_path: Path) -> None:
    with serving(_thinking("hm")) as server:
        _run(tmp_path / "a", "openai:m", base_url=server.address)
        posts = len(server.asked)
        _run(tmp_path / "b", "openai:n", base_url=server.address)
        assert [body["model"] for body in server.asked] == ["m"] * posts + ["n"] * posts


def test_a_script_with_another_seed_gives_its_own_answers(tmp_path: Path) -> None:
    noise = [_run(tmp_path / str(seed), "scripted:noise", seed=seed) for seed in (1, 2)]
    assert noise[0] != noise[1]
    assert _run(tmp_path / "again", "scripted:noise", seed=1) == noise[0]
