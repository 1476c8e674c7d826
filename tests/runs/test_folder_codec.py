"""A trajectory comes back from its JSON as it went in, and growing prompts take linear space."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.recorded import Seen, growing, prompt, trajectories, value, walk
from wayword.core.errors import RecordingError
from wayword.core.model import Completion, Message, system, user
from wayword.core.perceiver import Percept, Sector, Sighting
from wayword.core.trajectory import ModelCall, Trajectory
from wayword.runs.codec import from_json, to_json
from wayword.runs.compact import PromptReader, PromptWriter, common_prefix
from wayword.runs.jsonl import dump, plain, restore


class Colour(Enum):
    RED = "red"


class Size(IntEnum):
    LARGE = 3


class Word(StrEnum):
    DOOR = "door"


@dataclass(frozen=True)
class Kind:
    type: str


def through_text(written: Any) -> Any:
    return json.loads(dump(written))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trajectories)
def test_a_trajectory_comes_back_equal(told: Trajectory) -> None:
    assert from_json(through_text(to_json(told))) == told


@given(value)
def test_a_value_comes_back_equal_and_of_the_same_type(held: Any) -> None:
    back = restore(through_text(plain(held)))
    assert back == held
    assert type(back) is type(held)


def test_a_typed_observation_comes_back_as_a_mapping_with_its_type() -> None:
    step = from_json(to_json(walk("e").trajectory)).steps[0]
    assert step.observation == {"type": "Seen", "place": "p0", "ways": [["p0", 0.5]]}
    assert to_json(from_json(to_json(walk("e").trajectory))) == to_json(walk("e").trajectory)


@pytest.mark.parametrize(
    ("held", "written"),
    [
        (np.float32(0.5), 0.5),
        (np.float64(0.5), 0.5),
        (np.int16(3), 3),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.array([1.0, np.nan]), [1.0, {"$float": "nan"}]),
        (np.array(["a", None], dtype=object), ["a", None]),
        ((1, (2,)), [1, [2]]),
        ({3, 1, 2}, [1, 2, 3]),
        (range(2), [0, 1]),
        (OrderedDict(a=1), {"a": 1}),
        (Colour.RED, "red"),
        (Size.LARGE, 3),
        ({Word.DOOR: 1}, {"door": 1}),
        (Path("a/b"), "a/b"),
        (Seen("p", ()), {"type": "Seen", "place": "p", "ways": []}),
        (Kind("x"), {"type": "Kind", "type_": "x"}),
        (-math.inf, {"$float": "-inf"}),
        (b"\x00", {"$bytes": "AA=="}),
        ({1: "a"}, {"$map": [[1, "a"]]}),
        ({"$float": "nan"}, {"$$float": "nan"}),
    ],
)
def test_other_types_have_one_plain_form(held: Any, written: Any) -> None:
    got = plain(held)
    assert got == written
    assert type(got) is type(written)
    assert through_text(got) == written


def test_nan_stays_nan() -> None:
    assert math.isnan(restore(through_text(plain({"ne": math.nan})))["ne"])


def test_what_has_no_plain_form_is_named() -> None:
    with pytest.raises(RecordingError, match=r"'builtins\.object' cannot be recorded; make it of"):
        plain({"a": [object()]})


@pytest.mark.parametrize(
    "damaged",
    [
        {},
        {"episode_id": "e"},
        {**to_json(walk("e").trajectory), "steps": [{}]},
        {**to_json(walk("e").trajectory), "start": {"$float": "x"}},
        {**to_json(walk("e").trajectory), "steps": None},
    ],
)
def test_what_is_no_trajectory_is_refused(damaged: Any) -> None:
    with pytest.raises(RecordingError, match="is no trajectory"):
        from_json(damaged)


@pytest.mark.parametrize("number", [-1, 1, 99])
def test_a_prompt_that_continues_a_later_call_is_refused(number: int) -> None:
    written = to_json(growing(["x" * 100, "x" * 100 + "y"]))
    written["steps"][1]["calls"][0]["prompt"]["from"] = number
    with pytest.raises(RecordingError, match=f"a prompt continues call {number}"):
        from_json(written)


def test_a_percept_read_again_is_written_once() -> None:
    told, caption = walk("e", 3).trajectory, "a hall with a red door"
    for step in told.steps:
        step.percept = Percept((Sector(0.0, 45.0, caption, (Sighting("door", 12.0),)),))
    written = through_text(to_json(told))
    assert [step["percept"] for step in written["steps"]] == [
        {"summary": "", "sectors": [[0.0, 45.0, caption, [["door", 12.0]]]]},
        *(0, 0),
    ]
    assert from_json(written).steps[2].percept == told.steps[2].percept
    written["steps"][1]["percept"] = 1
    with pytest.raises(RecordingError, match="repeats percept 1, which does not come before"):
        from_json(written)


@given(st.lists(prompt, max_size=8))
def test_prompts_come_back_whole_in_any_order(prompts: list[Any]) -> None:
    writer, reader = PromptWriter(), PromptReader()
    assert [reader.read(through_text(writer.write(p))) for p in prompts] == prompts


@given(st.text("ab", max_size=8), st.text("ab", max_size=8))
def test_the_common_prefix_is_the_longest(one: str, other: str) -> None:
    n = common_prefix(one, other)
    assert one[:n] == other[:n]
    assert one[n : n + 1] != other[n : n + 1] or n == len(one) == len(other)


def history(step: int) -> str:
    return "You are in a house. " * 40 + "".join(f"Step {s}: went on. " * 20 for s in range(step))


def conversation(step: int) -> tuple[Message, ...]:
    turns = [user(f"Observation {s}: " + "a door, " * 60) for s in range(step)]
    return (system("Find the kitchen. " * 40), *turns)


@pytest.mark.parametrize(
    "grow", [history, conversation, lambda n: (system("Go."), user(history(n)))]
)
def test_forty_growing_prompts_take_linear_space(grow: Any) -> None:
    told = growing([grow(step) for step in range(40)])
    written = dump(to_json(told))
    whole = sum(
        len(p) if isinstance(p, str) else sum(len(m.content) for m in p) for p in prompts(told)
    )
    assert len(written) < 0.12 * whole
    assert from_json(json.loads(written)).steps[39].calls == told.steps[39].calls


def prompts(told: Trajectory) -> list[Any]:
    return [call.prompt for call in told.calls()]


def test_prompts_of_two_templates_share_with_their_own_kind() -> None:
    summary = "Summarize what was seen at this step in one sentence, please. " * 4
    told = growing([history(1), summary + "a", history(2), summary + "b"])
    written = [step["calls"][0]["prompt"] for step in to_json(told)["steps"]]
    assert [w["from"] for w in written[2:]] == [0, 1]
    assert written[3] == {"from": 1, "shared": len(summary), "text": "b"}


def test_a_failed_call_keeps_its_error_and_has_no_answer() -> None:
    told = walk("e").trajectory
    told.opening_calls.append(ModelCall("main", "hello", None, None, "server said 500"))
    assert from_json(to_json(told)).opening_calls == told.opening_calls


def test_a_record_of_format_1_reads_the_same_for_ever() -> None:
    """Pins the written form: a change that breaks old folders must raise the format's number."""
    written = to_json(growing(["Where to?"] * 1))
    assert written == {
        "episode_id": "grown",
        "ended": "stopped",
        "seconds": 0.0,
        "start": {"agent": {"place": "p0"}},
        "steps": [
            {
                "actor": "agent",
                "observation": {"type": "Seen", "place": "p0", "ways": [["p0", 0.5]]},
                "decision": {"action": "goto", "arguments": ["p1"]},
                "feedback": {"status": "ok", "details": {"heading": 90.0}},
                "pose": {"place": "p1"},
                "seconds": 0.0,
                "calls": [
                    {
                        "role": "main",
                        "prompt": "Where to?",
                        "answer": {
                            "texts": ["goto[p1]"],
                            "finish": ["stop"],
                            "seconds": 0.0,
                            "usage": {"prompt": 10, "completion": 3, "reused": 0},
                        },
                        "sampling": {
                            "temperature": 0.0,
                            "top_p": 1.0,
                            "max_tokens": 512,
                            "n": 1,
                            "logprobs": 0,
                        },
                    }
                ],
            }
        ],
        "state": {"at": "p1"},
    }
    answer = from_json(written).steps[0].calls[0].answer
    assert isinstance(answer, Completion)
    assert answer.text == "goto[p1]"


def test_names_that_earlier_versions_wrote_are_read_as_todays() -> None:
    written = to_json(growing(["Where to?"]))
    step = written["steps"][0]
    step["where"] = step.pop("pose")
    step["observation"] = {"type": "IndoorObservation", "viewpoint": "p0", "ways": []}
    read = from_json(written).steps[0]
    assert read.pose == {"place": "p1"}
    assert read.observation == {"type": "IndoorObservation", "viewpoint": "p0", "neighbors": []}
    step["observation"] = {"type": "RoomsObservation", "room": "hall"}
    assert from_json(written).steps[0].observation["type"] == "HouseholdObservation"
