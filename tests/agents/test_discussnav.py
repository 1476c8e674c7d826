"""DiscussNav: whom it asks, in which order, and what it does when an expert fails."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from helpers.playing import flat, play
from helpers.small_house import SmallHouse, SmallPerceiver
from wayword.agents.discussnav.agent import DiscussNav, DiscussNavSettings
from wayword.agents.discussnav.directions import (
    Direction,
    SceneMemory,
    direction_number,
    directions_around,
    side_text,
)
from wayword.agents.discussnav.experts import (
    Opinion,
    group_opinions,
    match_actions,
    read_opinion,
)
from wayword.core.action import Rejection
from wayword.core.errors import ModelError, UsageError
from wayword.core.model import Choice, Completion, Image, Model, Prompt, Sampling, Usage
from wayword.core.trajectory import Trajectory
from wayword.metrics import accounting
from wayword.settings import make
from wayword.worlds.indoor.graph import Neighbor
from wayword.worlds.indoor.world import IndoorObservation

FREE = DiscussNavSettings(decoding="free", scene="recorded")
EXPERTS: dict[str, str] = {
    "decomposition": "Actions:\n1. Go ahead.\n2. Turn right.",
    "landmarks": "Check: right\nActions:\n1. Go ahead.\n2. Turn right.\n"
    "Landmarks:\n- lamp (furniture)\n- red carpet (colour)",
    "scene": "I see a lamp.",
    "summary": "Observation: a place\nThought: went on",
    "completion": "Thought: ok\nExecuted:\n1. Go ahead.\nIn progress:\n1. Turn right.\n"
    "Waiting: None",
    "fusion": "Thought: all of them say so",
    "testing": "Thought: the tester thinks so\nPrediction: 4",
}


class Clock:
    """When each call began and ended, in events: calls that overlap share a round trip."""

    def __init__(self) -> None:
        self.events = 0
        self.calls: list[tuple[int, int]] = []

    async def wait(self) -> None:
        """Take long enough for every call that does not depend on this one to begin."""
        self.events += 1
        began = self.events
        for _ in range(50):
            await asyncio.sleep(0)
        self.events += 1
        self.calls.append((began, self.events))

    def round_trips(self) -> int:
        """The most calls of which each began after the one before had ended."""
        count = 0
        until = 0
        for began, ended in sorted(self.calls, key=lambda call: call[1]):
            if began > until:
                count = count + 1
                until = ended
        return count


@dataclass
class Voice(Model):
    """Answers for one role, all samples from one list or function; keeps prompts and times."""

    answers: Sequence[str] | Callable[[int], Sequence[str]]
    seconds: float = 0.0
    clock: Clock | None = None
    name: str = "voice"
    prompts: list[str] = field(default_factory=list)
    asked: list[Prompt] = field(default_factory=list)
    wanted: list[Sampling] = field(default_factory=list)

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        self.prompts.append(flat(prompt))
        self.asked.append(prompt)
        self.wanted.append(sampling)
        number = len(self.prompts) - 1
        await asyncio.sleep(self.seconds)
        if self.clock:
            await self.clock.wait()
        texts = self.answers(number) if callable(self.answers) else self.answers
        shown = tuple(texts[i % len(texts)] for i in range(sampling.n))
        return Completion(shown, ("stop",) * sampling.n, Usage(10, 10))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        raise AssertionError("no choice is asked for here")

    async def aclose(self) -> None:
        """Nothing to close."""


def council(main: Any, **others: Any) -> dict[str, Voice]:
    """A voice for each expert, the main one given."""
    voices = {name: Voice([text]) for name, text in EXPERTS.items()}
    voices |= {
        name: v if isinstance(v, Voice) else Voice(v) for name, v in others.items()
    }
    return {**voices, "main": main if isinstance(main, Voice) else Voice(main)}


def go(direction: int | str) -> str:
    return f"Thought: towards {direction}.\nPrediction: {direction}"


def by_step(*steps: Sequence[str]) -> Callable[[int], Sequence[str]]:
    return lambda number: steps[min(number, len(steps) - 1)]


def notes(trajectory: Trajectory, kind: str) -> list[Mapping[str, Any]]:
    found = [
        *trajectory.opening_notes,
        *(n for step in trajectory.steps for n in step.notes),
    ]
    return [note.details for note in found if note.kind == kind]


def test_it_follows_its_experts_to_the_goal() -> None:
    voices = council(by_step([go(1)], [go(4)], [go("Stop")]))
    trajectory = play(DiscussNav, FREE, voices)
    assert [p["viewpoint"] for p in trajectory.visited("agent")] == ["s", "b", "c", "c"]
    assert trajectory.ended == "stopped"
    assert trajectory.steps[0].decision.thought == "towards 1."
    assert notes(trajectory, "expert_failed") == []
    assert accounting.measure(trajectory) == {"advice_lost": 0.0}
    assert notes(trajectory, "votes") == [
        {"direction 1": 5},
        {"direction 4": 5},
        {"stop": 5},
    ]
    # All samples agree at every step, so nobody is asked to fuse or to decide.
    assert voices["fusion"].prompts == voices["testing"].prompts == []
    assert voices["main"].wanted[0].n == 5
    assert voices["main"].wanted[0].temperature == 1.0
    assert all(
        voices[name].wanted[0].temperature == 0.0 for name in ("landmarks", "summary")
    )


@pytest.mark.parametrize(("actions", "moves"), [(2, 5), (6, 7)])
def test_the_released_walk_ends_after_five_moves_or_seven(
    actions: int, moves: int
) -> None:
    listed = "\n".join(f"{n}. Go ahead {n}." for n in range(1, actions + 1))
    back_and_forth = by_step(*([go(1)], [go(7)], *([[go(7)]] * 8)))
    voices = council(
        back_and_forth,
        decomposition=[f"Actions:\n{listed}"],
        landmarks=[f"Check: right\nActions:\n{listed}\nLandmarks:\n- lamp (furniture)"],
    )
    trajectory = play(DiscussNav, replace(FREE, moves="released"), voices)
    assert trajectory.ended == "stopped"
    assert len(trajectory.steps) == moves + 1
    assert len(voices["main"].prompts) == moves


def test_each_expert_hears_from_those_before_it() -> None:
    voices = council(by_step([go(1)], [go(4)], [go("Stop")]))
    play(DiscussNav, FREE, voices)
    assert "Go ahead and turn right." in voices["decomposition"].prompts[0]
    assert "1. Go ahead.\n2. Turn right." in voices["landmarks"].prompts[0]
    assert len(voices["decomposition"].prompts) == len(voices["landmarks"].prompts) == 1
    assert (
        "s to the north" in voices["summary"].prompts[0]
    )  # what was seen the way it went
    assert "towards 1." in voices["summary"].prompts[0]
    assert "[Step 1]" in voices["completion"].prompts[0]
    assert "red carpet (colour)" in voices["completion"].prompts[0]
    decision = voices["main"].prompts[1]
    assert "lamp (furniture); red carpet (colour)" in decision
    assert "Executed actions: Go ahead." in decision
    assert "Actions waiting to be executed: None" in decision
    assert "[Step 1] You went" in decision
    assert "Observation: a place Thought: went on" in decision
    # b's lamp lies 80° from north, and the agent faces north. The sentence was told with
    # direction 3, which the same recorded sector reaches into.
    assert re.search(r"Direction 4 \(90° to the right\): .*\[lamp\]", decision)
    assert decision.count("b to the east") == 1, (
        "neighbouring directions repeat no sentence"
    )
    assert re.search(r"Direction 7 \(behind; visited\)", decision), (
        "one has come from there"
    )
    assert "1. Go ahead.\n2. Turn right." in decision, (
        "the decomposition reaches the decider"
    )


def test_the_opening_estimate_says_that_all_is_still_to_come() -> None:
    voices = council(by_step([go("Stop")]))
    play(DiscussNav, FREE, voices)
    assert (
        "Actions waiting to be executed: Go ahead.; Turn right."
        in voices["main"].prompts[0]
    )
    assert voices["completion"].prompts == [], "nothing is done yet, so nobody is asked"


def test_the_trajectory_says_which_action_of_the_decomposition_is_followed() -> None:
    trajectory = play(
        DiscussNav, FREE, council(by_step([go(1)], [go(4)], [go("Stop")]))
    )
    assert notes(trajectory, "clauses") == [
        {"texts": ["Go ahead.", "Turn right."], "begins": []}
    ]
    texts = [(each["number"], each["done"]) for each in notes(trajectory, "followed")]
    assert texts == [(1, []), (2, [1]), (2, [1])]


@pytest.mark.parametrize(
    ("executed", "started", "waiting", "number", "done"),
    [
        (["Turn left"], [], ["Walk on", "Turn left"], 2, {1}),
        (["turn to the left", "then walk on"], ["turn left"], [], 3, {1, 2}),
        (["Turn left", "Walk on", "Turn left"], [], [], 3, {1, 2, 3}),
        (["something else"], [], [], 1, set()),
    ],
)
def test_an_action_is_reported_by_its_words_and_the_order(
    executed: list[str],
    started: list[str],
    waiting: list[str],
    number: int,
    done: set[int],
) -> None:
    found: dict[str, Any] = {
        "executed": executed,
        "in_progress": started,
        "waiting": waiting,
    }
    assert match_actions(["Turn left.", "Walk on.", "Turn left."], found) == (
        number,
        done,
    )


def test_without_completion_its_full_group_is_silent() -> None:
    voices = council(by_step([go(1)], [go(4)], [go("Stop")]))
    play(DiscussNav, replace(FREE, completion=False), voices)
    assert voices["completion"].prompts == voices["summary"].prompts == []
    last = voices["main"].prompts[-1]
    assert "Executed actions:" not in last
    assert "Estimated completion" not in last
    assert "[Step 2] You turned" in last, "the turns alone are told"
    assert "estimate" not in last, "what nobody makes is not spoken of"
    assert "within 3 meters" in last


def test_each_call_is_recorded_as_its_experts_also_where_all_share_one_model() -> None:
    def answer(number: int) -> Sequence[str]:
        texts = list(EXPERTS.values())
        return [[texts[0]], [texts[1]], [go(1)], [texts[3]], [texts[4]], [go("Stop")]][
            number
        ]

    trajectory = play(DiscussNav, FREE, {"main": Voice(answer)})
    roles = [call.role for call in trajectory.calls()]
    assert roles == [
        "decomposition",
        "landmarks",
        "main",
        "summary",
        "completion",
        "main",
    ]


def test_predictions_that_differ_are_fused_and_tested() -> None:
    votes = [go(1), go(4), go(4), go(1), go(10)]
    voices = council(by_step([go(1)], votes, [go("Stop")]))
    trajectory = play(DiscussNav, FREE, voices)
    assert trajectory.visited("agent")[2]["viewpoint"] == "c"  # the tester said 4
    assert trajectory.steps[1].decision.thought == "the tester thinks so"
    assert len(voices["fusion"].prompts) == 2  # the lone thought needs no fusing
    pairs = voices["testing"].prompts[0]
    assert "(1) Thought: all of them say so Prediction: 1" in pairs
    assert "(3) Thought: towards 10. Prediction: 10" in pairs
    assert "Direction 1 " in pairs
    assert "Direction 7 " not in pairs  # the scene of the directions in question alone


def test_constrained_predictions_offer_only_directions_with_a_way() -> None:
    def answer(number: int) -> Sequence[str]:
        given = {"thought": "on", "arrived": number == 1, "prediction": "1"}
        return [json.dumps(given)]

    main = Voice(answer)
    settings = DiscussNavSettings(samples=2, scene="asked")
    trajectory = play(DiscussNav, settings, council(main))
    offered = [w.json_schema["properties"]["prediction"]["enum"] for w in main.wanted]  # type: ignore[index]
    assert offered == [["1"], ["1", "4", "7", "10"]]
    assert trajectory.ended == "stopped"


@pytest.mark.parametrize(
    ("switch", "silent"),
    [
        ("analysis", ("decomposition", "landmarks")),
        ("completion", ("completion",)),
        ("testing", ("fusion", "testing")),
    ],
)
def test_an_ablation_is_one_switch(switch: str, silent: Sequence[str]) -> None:
    votes = by_step([go(1)], [go(4), go(4), go(4), go(10), go(10)], [go("Stop")])
    voices = council(votes)
    settings = DiscussNavSettings(decoding="free", **{switch: False})
    trajectory = play(DiscussNav, settings, voices)
    assert (
        trajectory.visited("agent")[-1]["viewpoint"] == "c"
    )  # most votes, or the tester
    assert all(voices[name].prompts == [] for name in silent)


def test_without_perception_nothing_is_seen() -> None:
    voices = council(by_step([go(1)], [go("Stop")]))
    play(DiscussNav, DiscussNavSettings(decoding="free", perception=False), voices)
    assert not any("to the north" in prompt for prompt in voices["main"].prompts)
    assert "Directions that can be moved in: 1, 4, 7, 10" in voices["main"].prompts[1]


@pytest.mark.parametrize("expert", sorted(set(EXPERTS) - {"scene"}))
@pytest.mark.parametrize("fault", ["nonsense", "late", "never"])
def test_an_expert_that_fails_is_noted_and_done_without(
    expert: str, fault: str
) -> None:
    def refuse(number: int) -> Sequence[str]:
        raise ModelError("the server went away")

    broken = {
        "nonsense": Voice(["bananas"]),
        "late": Voice(["Thought: too late"], seconds=5.0),
        "never": Voice(refuse),
    }[fault]
    votes = by_step([go(1)], [go(4), go(4), go(4), go(10), go(10)], [go("Stop")])
    settings = DiscussNavSettings(decoding="free", patience=0.05)
    trajectory = play(DiscussNav, settings, council(votes, **{expert: broken}))
    assert trajectory.ended == "stopped"
    failed = notes(trajectory, "expert_failed")
    assert {note["expert"] for note in failed} == {expert}
    assert all(note["recovery"] for note in failed)
    assert accounting.measure(trajectory) == {"advice_lost": len(failed)}
    assert trajectory.visited("agent")[-1]["viewpoint"] == "c"


def test_nonsense_among_the_predictions_is_counted() -> None:
    voices = council(by_step([go(1), "bananas", go(99), "", go(1)], [go("Stop")]))
    trajectory = play(DiscussNav, FREE, voices)
    assert trajectory.visited("agent")[1]["viewpoint"] == "b"
    (dropped,) = notes(trajectory, "predictions_dropped")
    assert (dropped["count"], dropped["of"]) == (3, 5)


def test_nothing_but_nonsense_is_a_rejection_that_is_fed_back() -> None:
    voices = council(by_step(["bananas"], [go(1)], [go("Stop")]))
    trajectory = play(DiscussNav, FREE, voices)
    assert isinstance(trajectory.steps[0].decision, Rejection)
    assert "Your last answer was no legal move" in voices["main"].prompts[1]
    assert "Your last answer" not in voices["main"].prompts[2]
    assert trajectory.visited("agent")[2]["viewpoint"] == "b"


def test_the_prediction_itself_must_come() -> None:
    def refuse(number: int) -> Sequence[str]:
        raise ModelError("the server went away")

    trajectory = play(DiscussNav, FREE, council(Voice(refuse)))
    assert trajectory.ended == "failed"
    assert "went away" in trajectory.error


def test_the_scene_expert_is_queried_by_type_in_all_directions_at_once() -> None:
    settings = DiscussNavSettings(decoding="free", scene="asked")
    voices = council(by_step([go(1)], [go("Stop")]))
    trajectory = play(DiscussNav, settings, voices, max_steps=1)
    prompts = voices["scene"].prompts
    assert len(prompts) == 12
    assert "What furniture can you see in direction 3?" in prompts[2]
    assert "What colour can you see in direction 3?" in prompts[2]
    assert not any("What lamp" in prompt for prompt in prompts)
    (source,) = notes(trajectory, "scene_expert")
    assert source["source"] == "a model that reads the recorded sentences"


class SmallCamera(SmallPerceiver):
    """A perceiver with pictures: their bytes say what was asked for."""

    def picture(
        self,
        scene: str,
        place: str,
        heading: float,
        width: float,
        elevation: float = 0.0,
    ) -> Image:
        return Image(f"{place} {heading:g} {width:g}".encode(), "image/png")


def test_pictures_are_shown_where_there_are_any(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SmallHouse, "perceiver", lambda self: SmallCamera())
    settings = DiscussNavSettings(decoding="free", scene="asked")
    voices = council(by_step([go(1)]))
    trajectory = play(DiscussNav, settings, voices, max_steps=1)
    shown = [m.images for prompt in voices["scene"].asked for m in prompt if m.images]  # type: ignore[union-attr]
    assert [image.data.decode() for (image,) in shown][:3] == [
        "s 0 30",
        "s 30 30",
        "s 60 30",
    ]
    assert notes(trajectory, "scene_expert")[0]["source"] == "a vision model"


def test_a_step_takes_few_round_trips_whatever_the_number_of_directions() -> None:
    clock = Clock()
    votes = by_step([go(1)], [go(1), go(4), go(4), go(1), go(10)])
    voices = council(votes)
    for voice in voices.values():
        voice.clock = clock
    settings = DiscussNavSettings(decoding="free", scene="asked")
    trajectory = play(DiscussNav, settings, voices, max_steps=2)
    assert [len(step.calls) for step in trajectory.steps] == [
        12 + 1,
        12 + 1 + 1 + 1 + 2 + 1,
    ]
    before = 2 + 2  # the analysis; the first step's scene and prediction
    assert clock.round_trips() == before + 5


def test_directions_are_numbered_clockwise_from_the_front() -> None:
    assert [side_text(n) for n in (1, 4, 7, 10)] == [
        "ahead",
        "90° to the right",
        "behind",
        "90° to the left",
    ]
    assert direction_number(80.0, 0.0) == 4
    assert direction_number(80.0, 80.0) == 1
    assert (
        direction_number(345.0, 0.0) == 1
    )  # a border belongs to the direction on its right
    house = SmallHouse()
    world = house.world(house.tasks[0].episode)
    world.reset(house.tasks[0].episode)
    world.step("agent", world.action_space("agent").listed[0])
    directions = directions_around(
        world.observe("agent"), SmallPerceiver().perceive("small", "b")
    )
    assert {d.id: str(d.action) for d in directions if d.action} == {
        1: "goto[d]",
        4: "goto[c]",
        7: "goto[s]",
        10: "goto[a]",
    }
    # A direction of 30° overlaps one or two of the recorded 45°.
    assert [len(d.captions) for d in directions] == [1, 2, 2] * 4


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Thought: x\nPrediction: 4", "4"),
        ("Thought: x\n**Prediction:** Direction 4", "4"),
        ('{"thought": "x", "arrived": false, "prediction": "4"}', "4"),
        ("Thought: x\nPrediction: Stop", "Stop"),
        ('{"thought": "x", "arrived": true, "prediction": "4"}', "Stop"),
        ("4", "4"),
        ("<think>1 or 4</think>Thought: x\n### Prediction\n4 (90° to the right)", "4"),
        ('Sure:\n```json\n{"thought": "x", "prediction": 4}\n```', "4"),
        ("Thought: x\nPrediction: 4 or 1", None),
        ("Thought: x\nPrediction: not 4", None),
        ("Thought: x\nPrediction: 5", None),
        ("Thought: x\nPrediction: 4\nPrediction: 1", None),
        ("I go to 4", None),
        ("{" * 8000, None),
        ("", None),
    ],
)
def test_reading_predictions(text: str, found: str | None) -> None:
    answer = read_opinion(text, ["1", "4"])
    assert (answer.choice if isinstance(answer, Opinion) else None) == found


def test_groups_are_ordered_by_votes_and_then_by_coming_first() -> None:
    opinions = [Opinion(c, "") for c in ("4", "1", "1", "10", "4", "7")]
    assert [group[0].choice for group in group_opinions(opinions)] == [
        "4",
        "1",
        "10",
        "7",
    ]


def test_bad_settings_are_refused() -> None:
    with pytest.raises(UsageError, match="samples"):
        make(DiscussNavSettings, {"samples": 0}, "discussnav")
    with pytest.raises(UsageError, match="patience"):
        make(DiscussNavSettings, {"patience": 0}, "discussnav")


def test_a_direction_whose_way_climbs_says_so() -> None:
    neighbors = (Neighbor("b", 0.0, 28.0, 2.0), Neighbor("c", 90.0, 4.0, 2.0))
    seen = IndoorObservation("small", "s", 0.0, 0.0, neighbors)
    directions = directions_around(seen, SmallPerceiver().perceive("small", "s"))
    assert [d.marks for d in directions if d.action] == [("leads up 28°",), ()]


@pytest.mark.parametrize("remembers", [True, False])
def test_scene_answers_of_a_visited_viewpoint_are_reused(remembers: bool) -> None:
    there_and_back = by_step([go(1)], [go(7)], [go("Stop")])
    settings = replace(FREE, scene="asked", scene_memory=remembers)
    voices = council(
        there_and_back, scene=lambda number: [f"Direction {number}: a lamp."]
    )
    trajectory = play(DiscussNav, settings, voices)
    visited = [pose["viewpoint"] for pose in trajectory.visited("agent")]
    assert visited[0] == visited[2] != visited[1]
    asks = [
        any(call.role == "scene" for call in step.calls) for step in trajectory.steps
    ]
    assert asks == [True, True, not remembers]


@pytest.mark.parametrize("rejected", [1, 2])
def test_after_a_rejected_answer_the_descriptions_in_use_still_hold(
    rejected: int,
) -> None:
    answers = by_step(*[["bananas"]] * rejected, [go(1)], [go("Stop")])
    settings = replace(FREE, scene="asked", scene_memory=False)
    trajectory = play(DiscussNav, settings, council(answers))
    asks = [
        any(call.role == "scene" for call in step.calls) for step in trajectory.steps
    ]
    assert asks == [True, *[False] * rejected, True]


def test_a_remembered_answer_speaks_of_the_direction_it_is_reused_for() -> None:
    memory = SceneMemory()
    memory.keep(
        "hall", Direction(1, 90.0, (), ()), "Direction 1: a lamp, as in direction 12."
    )
    same = Direction(7, 80.0, (), ())
    assert memory.find("hall", same) == "Direction 7: a lamp, as in direction 12."
    assert memory.find("hall", replace(same, heading=106.0)) is None
    assert memory.find("stairs", same) is None
    memory.keep("north", Direction(12, 350.0, (), ()), "Direction 12: a door.")
    ahead = Direction(1, 2.0, (), ())
    assert memory.find("north", ahead) == "Direction 1: a door.", "12° apart"
