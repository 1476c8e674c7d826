"""verifiers' own runner, against a server on loopback that learns from what it is paid."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import verifiers as vf
from policies import served_policy

from wayword.envs.verifiers import load_environment

OPTIONS: dict[str, Any] = {
    "settings": {"rooms": 1, "homes": 8, "episodes": 8, "kind": "pick_up",
                 "actions": ["go_explore", "go_grab", "stop"]},
}  # fmt: skip


class Learner:
    """A policy in a table: what each command was worth in a task; it tries what it has not.

    Rollouts of a task take the best commands in turn, so that the order in which the server's
    threads ask decides nothing.
    """

    def __init__(self) -> None:
        self.paid: dict[tuple[str, str], float] = {}
        self.asked: Counter[str] = Counter()
        self.lock = threading.Lock()

    def answer(self, messages: list[dict[str, Any]]) -> str:
        told = [
            str(message["content"]) for message in messages if message["role"] == "user"
        ]
        if len(told) == 1:
            return "go_explore[studio]"
        if len(told) > 2:
            return "stop"
        task = self.task(told[0])
        objects = sorted(
            {word.strip(",.()") for word in told[1].split() if "_1" in word}
        )
        worth = {each: self.paid.get((task, each), 0.0) for each in objects}
        best = [each for each in objects if worth[each] == max(worth.values())]
        with self.lock:
            self.asked[task] += 1
            return f"go_grab[{best[self.asked[task] % len(best)]}]"

    def learn(self, messages: list[Any], reward: float) -> None:
        texts = [str(dict(message)["content"]) for message in messages]
        grabbed = next((text for text in texts if text.startswith("go_grab[")), "")
        task = self.task(next(text for text in texts if text.startswith("Task:")))
        key = task, grabbed.removeprefix("go_grab[").rstrip("]")
        self.paid[key] = 1.0 if reward else -1.0

    @staticmethod
    def task(told: str) -> str:
        return told.splitlines()[0]


@pytest.fixture
def served() -> Iterator[tuple[Learner, str]]:
    learner = Learner()
    with served_policy(learner.answer) as url:
        yield learner, url


def test_its_runner_pays_and_a_policy_learns_from_it(
    served: tuple[Learner, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    learner, url = served
    monkeypatch.setenv("WAYWORD_TEST_KEY", "none")
    env = load_environment(
        "grounding_homes:generated_train", count=8, max_turns=4, **OPTIONS
    )
    client = vf.ClientConfig(api_base_url=url, api_key_var="WAYWORD_TEST_KEY")
    curve = []
    for _ in range(8):
        found = env.evaluate_sync(
            client, "table", num_examples=8, rollouts_per_example=4
        )
        outputs = found["outputs"]
        for one in outputs:
            learner.learn([*one["prompt"], *one["completion"]], float(one["reward"]))
        curve.append(sum(float(one["reward"]) for one in outputs) / len(outputs))
    print("success a round:", [round(value, 2) for value in curve])  # noqa: T201 - the curve is kept
    assert curve[-1] > curve[0] + 0.3


def test_it_is_evaluated_on_episodes_that_it_is_not_trained_on() -> None:
    options = {"settings": {**OPTIONS["settings"], "homes": 6, "episodes": 6}}
    env = load_environment(
        "grounding_homes:generated_train", 4, 4, eval_count=2, **options
    )
    train, held_out = (
        {row["info"]["episode"] for row in rows}
        for rows in (env.get_dataset(), env.get_eval_dataset())
    )
    assert (len(train), len(held_out)) == (4, 2)
    assert not train & held_out
