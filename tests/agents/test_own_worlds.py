"""Worlds of users: nothing but the prompt names their actions, and it names all of them."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable

import pytest

from helpers.small_cave import WORDS, Caves
from wayword.agents.legal import Legal, Refusal
from wayword.agents.pages import Prompts
from wayword.agents.strategies import agents as strategies
from wayword.agents.strategies import strategy
from wayword.agents.strategies.briefing import possible_actions
from wayword.agents.strategies.strategy import Strategy
from wayword.agents.strategies.tools import Tools
from wayword.core.action import STOP, Action, ActionSpace
from wayword.core.agent import Agent, Toolkit
from wayword.core.model import Message, Prompt, Sampling
from wayword.core.rollout import Setup, rollout
from wayword.envs.environment import make
from wayword.models.scripted import ScriptedModel
from wayword.verbalize import generic


class CavePlayer:
    """Reads the newest message as a person would, and knows nothing else of the world: it takes
    what can be taken, explores by the least visited door, comes back, speaks and stops."""

    def __init__(self) -> None:
        self.visits: Counter[str] = Counter()
        self.has_lamp = False
        self.spoke = False

    def action(self, text: str) -> str:
        """Return the next action, as the message lists it."""
        (listed,) = re.findall(r"^Possible actions: (.*)\.$", text, re.MULTILINE)
        actions = re.findall(r"[a-z]+(?:\[[^\]]*\]| \(argument: text\))?", listed)
        if "take[lamp]" in actions:
            self.has_lamp = True
            return "take[lamp]"
        if self.has_lamp and self.spoke:
            return "stop"
        for spoken in ("say[text]", "say (argument: text)"):
            if self.has_lamp and spoken in actions:
                self.spoke = True
                return spoken.replace("text]", f"{WORDS}]").removesuffix(
                    " (argument: text)"
                )
        doors = [each for each in actions if each.startswith("go[")]
        door = min(doors, key=lambda each: self.visits[each])
        self.visits[door] += 1
        return door

    def answer(self, prompt: Prompt, sampling: Sampling) -> str:
        """Answer in the form that is requested: labeled lines, JSON, or a call in JSON."""
        last = prompt[-1]
        assert isinstance(last, Message)
        action = self.action(last.content)
        if sampling.json_schema is None:
            return f"Thought: on.\nAction: {action}"
        argument = WORDS if action == "say" else ""
        return json.dumps({"thought": "on", "action": action, "argument": argument})


AGENTS: dict[str, Callable[..., Agent]] = {**strategies.agents, "tools": Tools}


@pytest.mark.parametrize("decoding", ["constrained", "free"])
@pytest.mark.parametrize("name", AGENTS)
def test_an_honest_player_wins_a_world_whose_actions_change(
    name: str, decoding: str
) -> None:
    dataset = Caves()
    made = AGENTS[name]
    settings = made.Settings(decoding=decoding)  # type: ignore[attr-defined]

    def build(toolkit: Toolkit, actor: str) -> Agent:
        return made(settings, toolkit)

    model = ScriptedModel(answers=CavePlayer().answer)
    setup = Setup(dataset, build, {"main": model, "reflection": model}, max_steps=12)
    played = asyncio.run(rollout(dataset.tasks[0], setup))
    assert not played.error
    assert dataset.succeeded(dataset.tasks[0], played), played.steps


def test_verbs_with_arguments_are_shown_as_such_before_the_first_step() -> None:
    env = make("cave", dataset=Caves(), include=("rules",))
    _, info = env.reset()
    rules = str(info["rules"])
    assert "in brackets\ngo[…]\nstop\nsay[text]\nEach observation lists all" in rules


def test_the_text_of_an_environment_lists_the_actions_of_each_step() -> None:
    env = make("cave", dataset=Caves())
    text, _ = env.reset()
    assert "Possible actions: go[tower], go[old cellar], stop, say[text]." in str(text)


def test_a_rejection_names_the_actions_as_they_are_written() -> None:
    rooms = [Action("go", (str(n),)) for n in range(3)]
    refused = Legal(ActionSpace((*rooms, STOP), open_verbs=("say",))).read("fly")
    assert isinstance(refused, Refusal)
    written = "go[0], go[1], go[2], stop, say[what you say]"
    assert refused.reason == f"there is no action 'fly'; the actions are: {written}"


def test_a_rejection_with_many_actions_names_one_of_each_verb() -> None:
    rooms = [Action("go", (str(n),)) for n in range(300)]
    refused = Legal(ActionSpace((*rooms, STOP))).read("fly")
    assert isinstance(refused, Refusal)
    assert refused.reason.endswith("the actions are: go[0], stop")


def test_of_many_actions_each_verb_is_listed() -> None:
    rooms = [Action("go", (f"room {number}",)) for number in range(1000)]
    space = ActionSpace((*rooms, Action("take", ("lamp",)), STOP))
    prompts = Prompts(strategy.__file__, page=Strategy.page)
    text = possible_actions(prompts, generic.PLAIN, space)
    assert text.endswith("go[room 197], take[lamp], stop, and 802 more.")
