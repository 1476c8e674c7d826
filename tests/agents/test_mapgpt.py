"""MapGPT: the map, the plan that is carried on, and players who read nothing but the prompt."""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import Mapping
from typing import Any

import pytest

from helpers import honest_player as honest
from helpers.playing import Scripted, play
from wayword.agents.mapgpt.agent import MapGPT, MapGPTSettings
from wayword.core.action import Decision, Rejection
from wayword.core.model import Completion, Prompt, Sampling, Usage
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.datasets.houses import Houses
from wayword.metrics.scoring import score

FREE = MapGPTSettings(decoding="free", context=100_000)


def answer_text(action: str, plan: str = "on to the lamp") -> str:
    return json.dumps({"thought": "This way.", "plan": plan, "action": action})


def last_texts(trajectory: Trajectory) -> list[str]:
    return [str(step.calls[-1].prompt[-1].content) for step in trajectory.steps]  # type: ignore[union-attr]


def test_actions_by_numbered_places_walk_to_the_goal() -> None:
    model = Scripted(
        [
            answer_text("goto[place 1]"),
            answer_text("goto[place 3]"),
            answer_text("stop"),
        ]
    )
    trajectory = play(MapGPT, MapGPTSettings(), {"main": model})
    assert [place["viewpoint"] for place in trajectory.visited("agent")] == [
        "s",
        "b",
        "c",
        "c",
    ]
    assert trajectory.ended == "stopped"
    assert trajectory.steps[0].decision.thought == "This way. on to the lamp"


def test_the_plan_is_carried_on_until_it_is_revised() -> None:
    answers = [
        answer_text("goto[place 1]", "first b"),
        answer_text("goto[place 3]", ""),
        answer_text("stop"),
    ]
    shown = last_texts(play(MapGPT, MapGPTSettings(), {"main": Scripted(answers)}))
    plans = [re.findall(r"plan from the previous step: (.*)", text) for text in shown]
    assert plans == [["none yet"], ["first b"], ["first b"]]


def test_a_free_plan_ends_where_the_action_begins() -> None:
    answer = "Thought: on\nPlan: place 1,\nthen right\nAction: goto[place 1]"
    shown = last_texts(play(MapGPT, FREE, {"main": Scripted([answer, "Action: stop"])}))
    assert "Your plan from the previous step: place 1, then right\n" in shown[1]


def test_map_and_plan_can_be_left_out() -> None:
    settings = MapGPTSettings(map=False, plan=False)
    answers = [
        '{"thought": "", "action": "goto[place 1]"}',
        '{"thought": "", "action": "stop"}',
    ]
    played = play(MapGPT, settings, {"main": Scripted(answers)})
    prompts = [str(call.prompt) for call in played.calls()]
    assert played.ended == "stopped"
    for prompt in prompts:
        assert not re.search(r"(?i)leads to|not visited|\bplan\b", prompt)
    schema = next(iter(played.calls())).sampling.json_schema  # type: ignore[union-attr]
    assert schema is not None
    assert list(schema["required"]) == ["thought", "action"]


def test_a_place_of_an_earlier_step_is_named_as_such() -> None:
    model = Scripted(
        [
            answer_text("goto[place 1]"),
            answer_text("goto[place 3]"),
            answer_text("goto[place 4]"),
        ]
        * 2
    )
    played = play(MapGPT, MapGPTSettings(), {"main": model})
    refused = played.steps[2].decision
    assert isinstance(refused, Rejection)
    assert "goto[place 4] was possible earlier" in refused.reason
    assert "3. no legal action, you stayed: goto[place 4]" in last_texts(played)[3]


# Honest players: what the prompt does not hold, they do not know.


class Reader(honest.Honest):
    """A player of walks who reads MapGPT's prompts: the instruction, and the newest observation."""

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        text = str(prompt[-1].content).replace("place ", "place_")  # type: ignore[union-attr]
        if self._play is None:
            self._play = honest.route(
                "", text.partition("\n")[0].removeprefix("Instruction: ")
            )
            next(self._play)
        self.said.append(next(_turns(self._play, text)))
        action = self.said[-1].replace("place_", "place ")
        return Completion(
            (f"Thought: on\nPlan: on\nAction: {action}",), ("stop",), Usage(1, 1)
        )


def _turns(player: honest.Play, text: str) -> honest.Play:
    try:
        yield player.send(text.rpartition("You are at")[2])
    except StopIteration:
        yield "stop"


class Explorer(honest.Honest):
    """A player without memory: goes to the nearest place not visited, by the prompt's map, until
    what the instruction names last is near; without a map, to the place of the highest number."""

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        text = str(prompt[-1].content)  # type: ignore[union-attr]
        self.said.append(explore(text))
        return Completion(
            (f"Thought: on\nAction: {self.said[-1]}",), ("stop",), Usage(1, 1)
        )


def explore(text: str) -> str:
    """The next action on the way to the nearest place not visited; stop at the goal."""
    goal = text.partition("\n")[0].rpartition(" the ")[2].rstrip(".")
    around = text.rpartition("You are at place ")[2]
    near = re.findall(rf"\b{goal} \([^()]*?(\d+\.\d) m\)", around)
    if any(float(metres) < 2.0 for metres in near):
        return "stop"
    here = int(re.match(r"\d+", around).group())  # type: ignore[union-attr]
    links = {
        int(place): [*map(int, listed.split(", "))]
        for place, listed in re.findall(
            r"(?m)^place (\d+) \(.*\) leads to: ([\d, ]+)$", text
        )
    }
    if not links:
        listed = re.findall(r"goto\[place (\d+)", around)
        return f"goto[place {max(map(int, listed))}]"
    queue = deque([here])
    first_steps = {here: here}
    while queue:
        place = queue.popleft()
        if place not in links:
            return f"goto[place {first_steps[place]}]"
        for after in links[place]:
            if after not in first_steps:
                first_steps[after] = after if place == here else first_steps[place]
                queue.append(after)
    return "stop"


def walk(
    number: int, model: honest.Honest, settings: MapGPTSettings
) -> Mapping[str, Any]:
    """The scores of an episode of the generated houses."""
    dataset = Houses(settings=Houses.Settings())
    task = dataset.tasks[number]
    build = Setup(
        dataset,
        lambda toolkit, _: MapGPT(settings, toolkit),
        {"main": model},
        max_steps=60,
    )
    played = asyncio.run(rollout(task, build))
    assert played.ended in ("stopped", "step_limit"), played.error
    refused = [
        step.decision
        for step in played.steps
        if not isinstance(step.decision, Decision)
    ]
    assert not refused, refused
    return {
        **score(dataset, [(task, played)])[0],
        "instruction": task.episode.instruction,
    }


@pytest.mark.parametrize("number", [8, 12, 15])
def test_a_walk_by_its_instructions_clauses(number: int) -> None:
    scores = walk(number, model := Reader(honest.route), FREE)
    assert scores["sr"] == 1.0, (scores["instruction"], model.said)


def test_the_map_leads_back_to_places_left_aside() -> None:
    """Of the first ten episodes, those that a player without memory solves."""
    without = MapGPTSettings(decoding="free", map=False)
    solved, lost = (
        sum(walk(n, Explorer(honest.route), settings)["sr"] for n in range(10))
        for settings in (FREE, without)
    )
    assert (solved, lost) == (7, 3)
