"""verifiers' own runner, against a server on loopback that learns from what it is paid."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import verifiers as vf

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
        told = [str(message["content"]) for message in messages if message["role"] == "user"]
        if len(told) == 1:
            return "go_explore[studio]"
        if len(told) > 2:
            return "stop"
        task = self.task(told[0])
        objects = sorted({word.strip(",.()") for word in told[1].split() if "_1" in word})
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

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = learner.answer(body["messages"])
            choice = {"index": 0, "message": {"role": "assistant", "content": said},
                      "finish_reason": "stop"}  # fmt: skip
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            answer = {"id": "x", "object": "chat.completion", "created": 0, "model": "table",
                      "choices": [choice], "usage": usage}  # fmt: skip
            data = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *given: Any) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield learner, f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()


def test_its_runner_pays_and_a_policy_learns_from_it(
    served: tuple[Learner, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    learner, url = served
    monkeypatch.setenv("WAYWORD_TEST_KEY", "none")
    env = load_environment("grounding_homes:generated_train", count=8, max_turns=4, **OPTIONS)
    client = vf.ClientConfig(api_base_url=url, api_key_var="WAYWORD_TEST_KEY")
    curve = []
    for _ in range(8):
        found = env.evaluate_sync(client, "table", num_examples=8, rollouts_per_example=4)
        outputs = found["outputs"]
        for one in outputs:
            learner.learn([*one["prompt"], *one["completion"]], float(one["reward"]))
        curve.append(sum(float(one["reward"]) for one in outputs) / len(outputs))
    print("success a round:", [round(value, 2) for value in curve])  # noqa: T201 - the curve is kept
    assert curve[-1] > curve[0] + 0.3


def test_it_is_evaluated_on_episodes_that_it_is_not_trained_on() -> None:
    options = {"settings": {**OPTIONS["settings"], "homes": 6, "episodes": 6}}
    env = load_environment("grounding_homes:generated_train", 4, 4, eval_count=2, **options)
    train, held_out = (
        {row["info"]["episode"] for row in rows}
        for rows in (env.get_dataset(), env.get_eval_dataset())
    )
    assert (len(train), len(held_out)) == (4, 2)
    assert not train & held_out
