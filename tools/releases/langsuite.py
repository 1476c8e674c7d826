"""Run LangSuitE's released chat agent on given answers and print its chats.

Reads clone, templates and games as JSON from stdin. A game has the task, the values of the agent's
body, the answers, and what is in view at the start and after each action: the world is a stand-in.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from stubs import Absent, replace_packages

PACKAGES = (
    *("matplotlib", "requests", "pettingzoo", "rich", "git", "traitlets", "shapely"),
    *(
        "plotly",
        "langchain",
        "langchain_core",
        "langchain_openai",
        "langchain_community",
    ),
    *("openai", "click", "gradio"),
)


WORLD = "langsuite.worlds.basic2d_v0.world"


class World:
    """Returns the recorded views, in order; every action succeeds."""

    def __init__(self, game: dict[str, Any]) -> None:
        self.agents = {"agent": SimpleNamespace(**game["body"])}
        self._views = list(game["views"])
        is_question = game["template"].startswith("iqa")
        self._stop_status = "success" if is_question else "default"

    def get_observation(self, name: str) -> str:
        return str(self._views[0])

    def step(self, name: str, action: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
        self._views.pop(0)
        is_stop = action["action"] == "Stop"
        status = self._stop_status if is_stop else "success.default"
        result = {"action": action["action"], "status": status, "reward": 0}
        return True, {**result, "degree": 90}

    def update(self) -> None:
        """Nothing moves on its own."""


class ScriptedModel:
    """Gives answers in order and keeps the chats; YES first."""

    def __init__(self, answers: list[str]) -> None:
        self._answers = ["YES", *answers]
        self.chats: list[list[dict[str, str]]] = []

    def __call__(self, messages: list[Any]) -> Any:
        self.chats.append(
            [{"role": each.role, "content": each.raw_content} for each in messages]
        )
        return self._answers[len(self.chats) - 1]


def install_overrides() -> None:
    """Import the package ``overrides`` as decorators that do nothing."""
    module = ModuleType("overrides")
    module.override = lambda method: method  # type: ignore[attr-defined]
    module.EnforceOverrides = object  # type: ignore[attr-defined]
    sys.modules["overrides"] = module


def chats(given: dict[str, Any]) -> list[list[Any]]:
    """The chats of each game, without the request for a YES."""
    sys.path.insert(0, given["clone"])
    replace_packages(*PACKAGES)
    install_overrides()
    # The world reads large files of assets when it is imported.
    sys.modules[WORLD] = Absent(WORLD)
    from langsuite.agents import chat_agent
    from langsuite.suit.env import LangSuiteEnv
    from langsuite.tasks.alfred_v0.message_handler import AlfredHandler
    from langsuite.tasks.iqa_v0.message_handler import IQAHandler
    from langsuite.tasks.rearrange_v0.message_handler import RerrangeHandler
    from langsuite.utils import template_utils

    handlers: dict[str, Callable[..., Any]] = {
        "alfred": lambda names: AlfredHandler("", None, None, names),
        "iqa": lambda names: IQAHandler("", None, names),
        "rearrange": lambda names: RerrangeHandler("", None, names),
    }
    chat_agent.create_llm_prompts = lambda messages: messages
    chat_agent.process_llm_responses = lambda text, name: [
        {"role": "assistant", "content": text}
    ]
    streams = []
    for game in given["games"]:
        path = Path(given["clone"]) / "templates" / game["template"]
        template = template_utils.split(json.loads(path.read_text()))
        if game["example"] != "default":
            template["example"]["default"] = template["example"][game["example"]]
        world = World(game)
        agent = chat_agent.ChatAgent(
            "agent", world, {"template": template, "from_user": True}
        )
        agent.from_user = False
        agent.llm = model = ScriptedModel(game["answers"])
        kind = game["template"].partition("/")[0]
        agent.setup({"parser": handlers[kind](game["actions"])}, None, None)
        env = LangSuiteEnv.__new__(LangSuiteEnv)
        env.world = world
        env.agents = {"agent": agent}
        env._terminated = {}
        env._truncated = {"agent": False}
        env._step_count = {"agent": 0}
        env._rewards = {}
        message = agent.init(game["task"], {})
        while len(model.chats) <= len(game["answers"]):
            message = env.step({"agent": message})[4].get("agent", "")
            if agent._ready_to_stop:
                break
        streams.append(model.chats[1:])
    return streams


if __name__ == "__main__":
    with redirect_stdout(sys.stderr):
        found = chats(json.load(sys.stdin))
    json.dump(found, sys.stdout)
