"""NavGPT: what it asks, what counts as an answer, and that prompts only grow."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.golden import check_golden
from helpers.navgpt_page import write_direction
from helpers.playing import Scripted, play
from helpers.small_house import SmallHouse
from wayword.agents.navgpt.agent import NavGPT, NavGPTSettings
from wayword.core.action import Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Task
from wayword.core.errors import ModelError, UsageError
from wayword.core.model import Completion, Message, Prompt, Sampling
from wayword.core.perceiver import Percept, Sector
from wayword.core.recording import Continued
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.runs.opening import open_agent, open_dataset
from wayword.runs.plan import Plan
from wayword.settings import make
from wayword.verbalize import indoor
from wayword.worlds.indoor.graph import Neighbor
from wayword.worlds.indoor.world import IndoorObservation

GOLDEN = Path(__file__).parent.parent / "golden"
FREE = NavGPTSettings(decoding="free")


def go(place: str, thought: str = "This way.") -> str:
    return f'{thought}\nAction: action_maker\nAction Input: "{place}"'


def answer_text(place: str, thought: str = "This way.") -> str:
    return json.dumps(
        {"thought": thought, "arrived": place == "finish", "action": place}
    )


STOP = "I have arrived.\nFinal Answer: Finished!"


def test_free_answers_walk_to_the_goal() -> None:
    model = Scripted([go("b"), go("c"), STOP])
    trajectory = play(NavGPT, FREE, {"main": model})
    assert [place["viewpoint"] for place in trajectory.visited("agent")] == [
        "s",
        "b",
        "c",
        "c",
    ]
    assert trajectory.ended == "stopped"
    assert [step.decision.thought for step in trajectory.steps] == [
        "This way.",
        "This way.",
        "I have arrived.",
    ]


def test_constrained_answers_walk_to_the_goal() -> None:
    model = Scripted([answer_text("b"), answer_text("c"), answer_text("finish")])
    trajectory = play(NavGPT, NavGPTSettings(), {"main": model})
    assert trajectory.visited("agent")[-1]["viewpoint"] == "c"
    assert trajectory.ended == "stopped"


def test_the_constraint_lists_exactly_the_legal_ids() -> None:
    offered = []

    def answer(prompt: object, sampling: object) -> str:
        offered.append(sampling.json_schema["properties"]["action"]["enum"])  # type: ignore[attr-defined]
        return answer_text("b" if len(offered) == 1 else "finish")

    play(NavGPT, NavGPTSettings(), {"main": Scripted(answer)})
    assert offered == [["b"], ["d", "c", "s", "a"]]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        (go("d"), "unknown"),  # exists elsewhere in the scan, but was never seen
        (go("bb"), "unknown"),
        (go("b or c"), "unknown"),
        ("Action Input: not b", "no_action"),
        ("Final Answer: b", "several_actions"),
        ("Final Answer: I have not arrived.", "no_action"),
        (go("b") + "\nAction: goto[b]", "several_actions"),
        (go(""), "empty"),
        (go("b") + "\n" + go("b"), "several_actions"),
        (go("b") + "\nFinal Answer: Finished!", "several_actions"),
        ("I shall walk to the kitchen and wait.", "no_action"),
        ("noise " * 20_000, "too_long"),
        ("../../etc/passwd\nAction: rm\nAction Input: ../../etc/passwd", "unknown"),
    ],
)
def test_what_is_no_legal_move_is_a_rejection_with_feedback(
    answer: str, kind: str
) -> None:
    model = Scripted([answer, STOP])
    trajectory = play(NavGPT, FREE, {"main": model})
    first = trajectory.steps[0]
    assert isinstance(first.decision, Rejection)
    assert first.decision.kind == kind
    assert first.pose["viewpoint"] == "s"
    assert first.feedback.status == "rejected"
    assert first.decision.reason in model.prompts[1]
    assert len(model.prompts[1]) < len(model.prompts[0]) + 1500


def test_a_place_seen_before_but_out_of_reach_is_called_illegal() -> None:
    model = Scripted([go("b"), go("a"), go("c"), STOP])
    trajectory = play(NavGPT, FREE, {"main": model})
    third = trajectory.steps[2].decision
    assert isinstance(third, Rejection)
    assert third.kind == "illegal"
    assert trajectory.steps[2].pose["viewpoint"] == "a"


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "b or else",
        '{"action": "d"}',
        '{"arrived": false}',
        "Arrived: false\nArrived: true\nAction: b",
        '{"thought": "x"}',
        '["b"]',
        '{"action": "b',
        "[" * 8000,
    ],
)
def test_a_backend_that_ignores_the_constraint_is_rejected_too(answer: str) -> None:
    trajectory = play(
        NavGPT, NavGPTSettings(), {"main": Scripted([answer, answer_text("finish")])}
    )
    assert isinstance(trajectory.steps[0].decision, Rejection)
    assert trajectory.steps[0].pose["viewpoint"] == "s"


def test_prompts_only_grow_up_to_the_current_observation() -> None:
    model = Scripted([go("b"), go("nowhere"), go("d"), go("b"), go("c"), STOP])
    play(NavGPT, FREE, {"main": model})
    for shorter, longer in zip(model.prompts, model.prompts[1:], strict=False):
        past = shorter[: shorter.rindex("Observation: ")]
        assert longer.startswith(past)


def test_history_over_the_budget_drops_full_steps_and_says_so() -> None:
    there_and_back = [go("b"), go("s")] * 5
    model = Scripted(there_and_back)
    settings = NavGPTSettings(decoding="free", context=480)
    trajectory = play(NavGPT, settings, {"main": model}, max_steps=10)
    notes = [note for step in trajectory.steps for note in step.notes]
    assert {note.kind for note in notes} == {"history_dropped"}
    assert "steps are not shown.)" in model.prompts[-1]
    assert model.prompts[-1].count("You navigate a building") == 1
    assert all(isinstance(step.decision, Decision) for step in trajectory.steps)


def test_summaries_can_be_written_online_by_a_model_of_their_own() -> None:
    main = Scripted([go("b"), STOP])
    summary = Scripted(["small hall with a lamp."])
    settings = NavGPTSettings(decoding="free", summaries="online")
    trajectory = play(NavGPT, settings, {"main": main, "summary": summary})
    assert (
        "The scene from the viewpoint is a small hall with a lamp." in main.prompts[1]
    )
    assert [call.role for call in trajectory.steps[0].calls] == ["main", "summary"]


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ("\nhall.", ": The scene from the viewpoint is a hall."),
        (
            "<think>\nA door.\n</think>\n\nhall",
            ": The scene from the viewpoint is a hall",
        ),
        ("hall\nUser: next", ": The scene from the viewpoint is a hall"),
        ("An attic.", ": The scene from the viewpoint is an attic."),
        (
            "The scene from the viewpoint is dark.",
            ": The scene from the viewpoint is dark.",
        ),
        (" \n", ""),
    ],
)
def test_an_online_summary_is_a_whole_sentence_or_noted_as_empty(
    answer: str, line: str
) -> None:
    main = Scripted([go("b"), STOP])
    settings = NavGPTSettings(decoding="free", summaries="online")
    summary = Scripted([answer])
    trajectory = play(NavGPT, settings, {"main": main, "summary": summary})
    assert f'Current viewpoint "s"{line}\n' in main.prompts[1]
    kinds = {note.kind for note in trajectory.steps[0].notes}
    assert kinds == (set() if line else {"summary_empty"})


def test_a_scene_is_not_summarized_again_after_a_rejected_answer() -> None:
    main = Scripted([go("nowhere"), go("b"), STOP])
    summary = Scripted(["small hall.", "kitchen."])
    settings = NavGPTSettings(decoding="free", summaries="online")
    trajectory = play(NavGPT, settings, {"main": main, "summary": summary})
    roles = [[call.role for call in step.calls] for step in trajectory.steps]
    assert roles[:2] == [["main", "summary"], ["main"]]
    assert "The scene from the viewpoint is a small hall." in main.prompts[2]


@pytest.mark.parametrize("decoding", ["constrained", "numbered"])
def test_without_history_prompts_hold_no_earlier_step(decoding: Any) -> None:
    for history in (True, False):
        if decoding == "constrained":
            answers = ["b", "c", "finish"]
        else:
            answers = ["1", "1", "finish"]
        model = Scripted(
            [answer_text(answer, f"Thought {n}.") for n, answer in enumerate(answers)]
        )
        play(
            NavGPT, NavGPTSettings(decoding=decoding, history=history), {"main": model}
        )
        assert ("Thought 0." in model.prompts[-1]) == history


def test_ablations_leave_out_what_they_name() -> None:
    def shown(**changes: bool) -> str:
        model = Scripted([go("b"), STOP])
        settings = NavGPTSettings(decoding="free", **changes)  # type: ignore[arg-type]
        play(NavGPT, settings, {"main": model})
        return model.prompts[1]

    assert "'lamp': 'right 80.00, 1.25m'" in shown()
    assert "'lamp': 'right 80.00'" in shown(distances=False)
    assert "lamp" not in shown(objects=False)
    assert "b to the east" not in shown(captions=False)


def test_sub_instructions_are_reported_in_their_order() -> None:
    house = SmallHouse()
    first = house.tasks[0]
    extra = {"sub_instructions": ["go ahead", "turn right"]}
    task = Task(replace(first.episode, extra=extra), first.reference)
    model = Scripted([STOP])
    setup = Setup(house, lambda toolkit, actor: NavGPT(FREE, toolkit), {"main": model})
    played = asyncio.run(rollout(task, setup))
    assert (
        "Instruction: Go ahead and turn right.\n1. go ahead\n2. turn right\n"
        in model.prompts[0]
    )
    assert played.noted("clauses") == [
        {"texts": ["go ahead", "turn right"], "begins": []}
    ]


def test_the_sub_instruction_that_a_thought_names_is_marked_and_no_other() -> None:
    house = SmallHouse()
    first = house.tasks[0]
    extra = {"sub_instructions": ["go ahead past the sofa", "turn right"]}
    task = Task(replace(first.episode, extra=extra), first.reference)
    thoughts = ("I go ahead past the sofa.", "Now sub-instruction 2.", "Nothing said.")
    answers = [f'Thought: {each}\nAction: action_maker\nAction Input: "{to}"'
               for each, to in zip(thoughts, "bab", strict=False)]  # fmt: skip
    setup = Setup(
        house,
        lambda toolkit, actor: NavGPT(FREE, toolkit),
        {"main": Scripted([*answers, STOP])},
    )
    played = asyncio.run(rollout(task, setup))
    numbers = [note.details["number"] for step in played.steps for note in step.notes
               if note.kind == "followed"]  # fmt: skip
    assert numbers == [1, 2, 0, 0], "0: its thought does not say"


def test_own_prompts_replace_the_shipped_ones(tmp_path: Path) -> None:
    (tmp_path / "principle.txt").write_text("Follow me.")
    model = Scripted([STOP])
    play(
        NavGPT, NavGPTSettings(decoding="free", prompts=str(tmp_path)), {"main": model}
    )
    assert "Follow me." in model.prompts[0]
    assert "You navigate a building" not in model.prompts[0]


def test_an_unknown_slot_in_an_own_prompt_ends_the_run_with_its_name(
    tmp_path: Path,
) -> None:
    (tmp_path / "begin.txt").write_text("Go: {instructions}")
    settings = NavGPTSettings(prompts=str(tmp_path))
    with pytest.raises(
        UsageError, match=r"begin\.txt has unknown slots \['instructions'\]"
    ):
        play(NavGPT, settings, {"main": Scripted([STOP])})


def test_a_misspelt_file_of_an_own_prompt_is_refused(tmp_path: Path) -> None:
    (tmp_path / "princple.txt").write_text("Follow me.")
    settings = NavGPTSettings(prompts=str(tmp_path))
    with pytest.raises(UsageError, match="did you mean 'principle'"):
        play(NavGPT, settings, {"main": Scripted([STOP])})


def test_a_prompt_edited_between_two_runs_is_read_again(tmp_path: Path) -> None:
    text = tmp_path / "principle.txt"
    settings = NavGPTSettings(prompts=str(tmp_path))
    for words in ("First words.", "Second words."):
        text.write_text(words)
        os.utime(text, ns=(0, len(words)))
        model = Scripted([STOP])
        play(NavGPT, settings, {"main": model})
        assert words in model.prompts[0]


@pytest.mark.parametrize(
    "wrong", [{"context": -1}, {"max_tokens": -1}, {"temperature": -1.0}]
)
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="navgpt"):
        make(NavGPTSettings, wrong, "navgpt")


def test_a_failed_answer_takes_the_question_next_to_it_along() -> None:
    cancelled = []

    class Broken(Scripted):
        async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
            await asyncio.sleep(0.01)
            raise ModelError("the server is gone")

    class Slow(Scripted):
        async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
            try:
                await asyncio.sleep(5)
            except asyncio.CancelledError:
                cancelled.append(True)
                raise
            return Completion(("late",))

    settings = NavGPTSettings(summaries="online")
    trajectory = play(NavGPT, settings, {"main": Broken([]), "summary": Slow([])})
    assert trajectory.ended == "failed"
    assert trajectory.error == "the server is gone"
    assert cancelled


def test_the_second_prompt_is_the_golden_one() -> None:
    model = Scripted([go("b", "The hall lies ahead."), STOP])
    play(NavGPT, FREE, {"main": model})
    check_golden(GOLDEN / "navgpt_free_step2.txt", model.prompts[1] + "\n")


def test_constrained_prompts_know_no_tool() -> None:
    model = Scripted([answer_text("b"), answer_text("c"), answer_text("finish")])
    play(NavGPT, NavGPTSettings(), {"main": model})
    for word in ("action_maker", "Action Input", "Final Answer"):
        assert word not in model.prompts[-1]
    assert 'Moved to: "b"' in model.prompts[-1]


def test_a_wrong_way_may_be_gone_back() -> None:
    model = Scripted([STOP])
    play(NavGPT, FREE, {"main": model})
    assert "After a wrong turn, go back." in model.prompts[0]
    assert "do not go back" not in model.prompts[0]


def test_without_objects_none_are_spoken_of() -> None:
    model = Scripted([STOP])
    play(NavGPT, replace(FREE, objects=False), {"main": model})
    for words in ("objects within 3 meters", "Objects in 3m"):
        assert words not in model.prompts[0]
    model = Scripted([STOP])
    play(NavGPT, FREE, {"main": model})
    assert "objects within 3 meters" in model.prompts[0]


def test_summaries_are_queried_without_ids_and_kept_to_a_sentence() -> None:
    summary = Scripted(["hall with a door. It is large."])
    model = Scripted([go("b"), STOP])
    play(NavGPT, replace(FREE, summaries="online"), {"main": model, "summary": summary})
    assert "Navigable" not in summary.prompts[0]
    assert "The scene from the viewpoint is a hall with a door.\n" in model.prompts[1]
    assert "It is large" not in model.prompts[1]


def test_a_steep_way_is_reported_to_lead_up_or_down() -> None:
    assert [indoor.slope(degrees) for degrees in (30.0, -25.0, 5.0)] == [
        "up 30",
        "down 25",
        "",
    ]
    way = Neighbor("top", 0.0, 28.0, 2.0)
    seen = IndoorObservation("small", "s", 0.0, 0.0, (way,))
    percept = Percept(tuple(Sector(45.0 * n, 45.0, "") for n in range(8)))
    text = indoor.observation(seen, percept, write_direction)
    assert "{'top': 'right 0.00, up 28, 2.00m'}" in text
    flat = indoor.Detail(slopes=False)
    assert "{'top': 'right 0.00, 2.00m'}" in indoor.observation(
        seen, percept, write_direction, flat
    )
    numbered = indoor.numbered_exits([way], 0.0, percept, flat, ())
    assert numbered == "1. front, 2 m"


def test_slopes_are_explained_only_where_they_are_shown() -> None:
    for slopes in (True, False):
        model = Scripted([STOP])
        play(NavGPT, replace(FREE, slopes=slopes), {"main": model})
        assert ("means stairs or a ramp" in model.prompts[0]) == slopes


NUMBERED = NavGPTSettings(decoding="numbered")


def number(chosen: int, thought: str = "This way.", arrived: bool = False) -> str:
    return json.dumps({"thought": thought, "arrived": arrived, "action": str(chosen)})


def chats(answers: list[str], **changes: Any) -> tuple[Trajectory, list[Prompt]]:
    """An episode with numbered exits, and its prompts."""
    requests: list[Prompt] = []

    def answer(prompt: Prompt, sampling: Sampling) -> str:
        requests.append(prompt)
        return answers[min(len(requests), len(answers)) - 1]

    settings = replace(NUMBERED, **changes)
    return play(
        NavGPT, settings, {"main": Scripted(answer)}, max_steps=len(answers)
    ), requests


def test_numbers_walk_to_the_goal() -> None:
    played, requests = chats([number(1), number(2), number(1, "Done.", arrived=True)])
    assert [place["viewpoint"] for place in played.visited("agent")] == [
        "s",
        "b",
        "c",
        "c",
    ]
    assert played.ended == "stopped"
    assert played.steps[-1].decision.thought == "Done."
    assert "2. right, 2 m: b to the east; near lamp" in str(requests[1][-1])


def test_the_schema_of_numbers_has_one_for_each_exit_and_a_short_thought() -> None:
    offered = []

    def answer(prompt: Prompt, sampling: Sampling) -> str:
        assert sampling.json_schema is not None
        offered.append(sampling.json_schema["properties"])
        return number(1, arrived=len(offered) == 2)

    play(NavGPT, NUMBERED, {"main": Scripted(answer)})
    assert [each["action"]["enum"] for each in offered] == [["1"], ["1", "2", "3", "4"]]
    assert offered[0]["thought"]["maxLength"] == 50


def test_a_chat_with_numbers_only_grows_and_repeats_answers_to_the_letter() -> None:
    answers = [
        number(1),
        '{"thought": "?",  "arrived": false, "action": "9"}',
        number(2),
    ]
    _, requests = chats([*answers, number(1, arrived=True)])
    for shorter, longer, answer in zip(requests, requests[1:], answers, strict=False):
        assert list(longer[: len(shorter)]) == list(shorter)
        assert longer[len(shorter)] == Message("assistant", answer)
        assert len(longer) == len(shorter) + 2


@pytest.mark.parametrize(
    "answer", ["", number(9), number(0), '{"arrived": false}', "1 or 2", "b"]
)
def test_what_is_no_number_of_the_list_is_a_rejection_with_feedback(
    answer: str,
) -> None:
    played, requests = chats([answer, number(1, arrived=True)])
    first = played.steps[0].decision
    assert isinstance(first, Rejection)
    assert played.steps[0].pose["viewpoint"] == "s"
    assert first.reason in str(requests[1][-1])


def test_visited_places_and_exits_in_one_direction_are_marked() -> None:
    percept = Percept(
        tuple(Sector(45.0 * n, 45.0, f"The scene depicts wall {n}.") for n in range(8))
    )
    exits = (Neighbor("far", 85.0, 0.0, 4.2), Neighbor("top", 95.0, 30.0, 1.8))
    seen = IndoorObservation("small", "s", 0.0, 0.0, exits)
    near_first = indoor.sort_clockwise(seen)
    listed = indoor.numbered_exits(near_first, 0.0, percept, indoor.Detail(), {"far"})
    assert listed == "1. right, up, 2 m: wall 2\n2. right, 4 m, visited: as 1"
    plain = indoor.numbered_exits(
        near_first, 0.0, percept, indoor.Detail(captions=False), ()
    )
    assert plain.startswith("1. right, up, 2 m\n")


def test_a_chat_over_the_budget_drops_full_steps_and_says_so() -> None:
    played, requests = chats([number(1), number(3)] * 6, context=750)
    assert {note.kind for step in played.steps for note in step.notes} == {
        "history_dropped"
    }
    assert "steps are not shown.)" in str(requests[-1][1])
    assert str(requests[-1]).count("Instruction: ") == 1


def test_steps_of_another_agent_enter_the_chat_as_answers() -> None:
    house = SmallHouse()
    requests: list[Prompt] = []

    def answer(prompt: Prompt, sampling: Sampling) -> str:
        requests.append(prompt)
        return number(1, arrived=True)

    def setup(agent: Callable[[Toolkit, str], Agent], answers: Any) -> Setup:
        return Setup(house, agent, {"main": Scripted(answers)})

    task = house.tasks[0]
    free = setup(lambda toolkit, actor: NavGPT(FREE, toolkit), [go("b"), go("c"), STOP])
    before = asyncio.run(rollout(task, free))
    mine = setup(lambda toolkit, actor: NavGPT(NUMBERED, toolkit), answer)
    continued = replace(mine, continued={task.episode.id: Continued(before.steps[:2])})
    asyncio.run(rollout(task, continued))
    messages = [
        message.content for message in requests[0] if message.role == "assistant"
    ]
    assert messages == [
        '{"thought":"This way.","arrived":false,"action":"1"}',
        '{"thought":"This way.","arrived":false,"action":"2"}',
    ]


def test_numbers_are_the_default_of_small_local_models_alone(tmp_path: Path) -> None:
    def decoding(model: str, **given: str) -> str:
        plan = Plan("navgpt", "houses", model, given)
        return str(open_agent(plan, open_dataset(plan)).settings.decoding)

    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF")
    assert [decoding(model) for model in ("local:smollm2", f"local:{own}")] == [
        "numbered"
    ] * 2
    assert decoding("local:smollm2", decoding="free") == "free"
    assert [decoding(m) for m in ("openai:gpt-5", "scripted:first")] == [
        "constrained"
    ] * 2
    os.truncate(own, 2_000_000_000)
    assert decoding(f"local:{own}") == "constrained"
    os.truncate(own, 4)
    own.with_suffix(".json").write_text(
        '{"agent": "navgpt", "settings": {"captions": true}}'
    )
    assert decoding(f"local:{own}") == "constrained", (
        "trained with what was the default"
    )
