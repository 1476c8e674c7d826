"""verifiers' own runner on our taskset and environment, with a served policy as its model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from policies import served_policy

from wayword.envs import make

RUNNER = Path(sys.executable).parent / "vf-eval"
CONFIG = """
model = "scripted"
push = false
[client]
base_url = "{url}"
api_key_var = "WAYWORD_TEST_KEY"
[env.taskset]
id = "wayword-env"
dataset = "{dataset}"
count = {count}
first = {first}
max_turns = 30
{more}
[env.player.runtime]
type = "subprocess"
"""


def evaluated(folder: Path, **fields: Any) -> list[dict[str, Any]]:
    """The traces that the runner wrote, in the order of their tasks."""
    config = folder / "eval.toml"
    config.write_text(CONFIG.format(**{"more": "", **fields}))
    environment = {**os.environ, "WAYWORD_TEST_KEY": "none", "HOME": str(folder)}
    done = subprocess.run(
        [str(RUNNER), "@", str(config)], capture_output=True, text=True, timeout=600,
        cwd=folder, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (file,) = folder.rglob("traces.jsonl")
    episodes = [json.loads(line) for line in file.read_text().splitlines()]
    assert [episode["errors"] for episode in episodes] == [[]] * len(episodes)
    traces = [trace for episode in episodes for trace in episode["traces"]]
    return sorted(traces, key=lambda trace: int(trace["task"]["data"]["idx"]))


class Expert:
    """A policy that plays each chat's actions again and asks the expert for the next one."""

    def __init__(self, dataset: str) -> None:
        self.env = make(dataset, include=["expert_action"], max_steps=30)
        self.episodes = {
            str(self.env.reset(episode=number)[0]): number
            for number in range(len(self.env.tasks))
        }

    def answer(self, messages: list[dict[str, Any]]) -> str:
        texts = [message["content"] for message in messages]
        (start,) = [i for i, one in enumerate(messages) if one["role"] == "user"][:1]
        env = self.env.clone()
        _, info = env.reset(episode=self.episodes[texts[start]])
        for message in messages:
            if message["role"] == "assistant":
                *_, info = env.step(message["content"])
        return str(info["expert_action"])


def test_its_runner_pays_an_expert_in_full(tmp_path: Path) -> None:
    with served_policy(Expert("houses:train").answer) as url:
        traces = evaluated(tmp_path, url=url, dataset="houses:train", count=3, first=0)
    assert [trace["rewards"]["reward"]["score"] for trace in traces] == [1.0] * 3
    assert [trace["metrics"]["success"] for trace in traces] == [1.0] * 3
    assert [trace["metrics"]["rejected"] for trace in traces] == [0.0] * 3
    assert min(trace["metrics"]["steps"] for trace in traces) > 1


def test_answers_that_are_no_action_are_counted_and_paid_nothing(
    tmp_path: Path,
) -> None:
    def policy(messages: list[dict[str, Any]]) -> str:
        return "I wonder." if len(messages) < 5 else "stop"

    with served_policy(policy) as url:
        traces = evaluated(tmp_path, url=url, dataset="two_phase", count=2, first=1)
    tasks = make("two_phase").tasks[1:3]
    assert [trace["task"]["data"]["id"] for trace in traces] == [
        task.episode.id for task in tasks
    ]
    for trace in traces:
        assert trace["rewards"]["reward"]["score"] == 0.0
        assert (trace["metrics"]["rejected"], trace["metrics"]["steps"]) == (2.0, 3.0)


def test_messages_hold_the_pictures_that_come_with_an_observation(
    tmp_path: Path,
) -> None:
    shown: list[list[str]] = []

    def policy(messages: list[dict[str, Any]]) -> str:
        content = messages[-1]["content"]
        shown.append([part["type"] for part in content])
        return "look" if len(messages) < 4 else "stop"

    more = 'eyes = "pictures"\npicture_size = "64x48"'
    with served_policy(policy) as url:
        evaluated(
            tmp_path, url=url, dataset="houses:train", count=1, first=0, more=more
        )
    assert shown == [["text"] + ["image_url"] * 4] * len(shown)
    assert len(shown) >= 2


def test_the_taskset_holds_out_later_episodes() -> None:
    verifiers = pytest.importorskip("wayword.envs.verifiers")

    def chosen(first: int, count: int) -> list[str]:
        config = verifiers.WaywordConfig(
            id="wayword-env", dataset="houses:train", first=first, count=count
        )
        return [task.key for task in verifiers.WaywordTaskset(config)]

    assert len({*chosen(0, 4), *chosen(4, 3)}) == 7
