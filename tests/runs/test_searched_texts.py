"""Every text that a record holds is found by the search, in each of its trials."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wayword.core.action import STOP, Decision, Rejection
from wayword.core.model import Choice, Completion, Message, ToolCall
from wayword.core.trajectory import ModelCall, Step, Trajectory
from wayword.core.world import Feedback
from wayword.runs import RunFolder
from wayword.runs.record import EpisodeRecord


def calls(place: str) -> list[ModelCall]:
    """Calls with every kind of prompt and answer, whose words name their place."""
    chat = [Message("system", f"{place}system"), Message("user", f"{place}user")]
    named = ToolCall("1", f"{place}tool", f'{{"to": "{place}argument"}}')
    return [
        ModelCall("main", f"{place}raw", Completion((f"{place}one", f"{place}two"))),
        ModelCall("main", chat, Completion(("",), calls=(named,))),
        ModelCall("main", chat, Choice((f"{place}left", f"{place}right"), (0.0, -1.0))),
        ModelCall("main", f"{place}lost", None),
    ]


def trial(number: int) -> Trajectory:
    name = f"trial{number}"
    decisions = (
        Decision(STOP, f"{name}thought"),
        Rejection("unknown", "no such exit", "go", f"{name}refused"),
    )
    steps = [
        Step("agent", {}, decision, Feedback(), {}, calls(f"{name}step"))
        for decision in decisions
    ]
    return Trajectory(
        "e",
        {"agent": {}},
        steps,
        opening_calls=calls(f"{name}opening"),
        closing_calls=calls(f"{name}closing"),
    )


def words() -> Iterator[str]:
    parts = [
        "system",
        "user",
        "tool",
        "argument",
        "raw",
        "one",
        "two",
        "left",
        "right",
        "lost",
    ]
    for number in (1, 2, 3):
        yield from (f"trial{number}thought", f"trial{number}refused")
        for place in ("step", "opening", "closing"):
            yield from (f"trial{number}{place}{part}" for part in parts)


def test_texts_of_all_trials_calls_and_kinds_of_answers_are_searched(
    tmp_path: Path,
) -> None:
    *earlier, last = map(trial, (1, 2, 3))
    last.earlier = earlier
    plain = Trajectory("other", {"agent": {}})
    with RunFolder.open(tmp_path, {"identity": {}, "family": "indoor"}) as folder:
        for record in (last, plain):
            folder.append(EpisodeRecord(record.episode_id, {"sr": 1.0}, record))
    index = RunFolder.read(tmp_path).index
    assert [word for word in words() if index.search(word) != ["e"]] == []
    assert index.search("trial4") == []
