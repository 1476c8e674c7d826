"""A game of ALFWorld in a process of its own, asked in lines of JSON.

    python -m wayword.worlds.alfworld.engine

TextWorld and its planner keep state in their process, and leave memory behind with each game, so a
world talks to them through a pipe. A request is one of

    {"game": {…}}                   begin a game: the content of a ``game.tw-pddl`` file
    {"command": "go to fridge 1"}   carry out a command

The answer has ``text``, ``commands`` (those that are possible now) and ``won``. A failure is
``{"error": …}``.

Source: ALFWorld (Shridhar et al. 2021), the wrappers of its ``AlfredTWEnv``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any


class TextWorldEngine:
    """TextWorld's PDDL environment with ALFWorld's names of objects, one game at a time."""

    def __init__(self) -> None:
        from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
        from textworld import EnvInfos
        from textworld.envs import PddlEnv

        infos = EnvInfos(won=True, admissible_commands=True)
        # Objects are numbered in their usual order, as in evaluations.
        self._env = AlfredDemangler(PddlEnv(infos), shuffle=False)

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Begin a game, or carry out a command."""
        if "game" in request:
            self._env.load(request["game"])
            return _shown(self._env.reset())
        state, _, _ = self._env.step(request["command"])
        return _shown(state)


def _shown(state: Mapping[str, Any]) -> dict[str, Any]:
    """What a player gets of a state."""
    return {
        "text": str(state["feedback"]).strip(),
        "commands": sorted(state["admissible_commands"]),
        "won": bool(state["won"]),
    }


def main() -> None:
    """Answer requests until the input ends."""
    # What libraries print goes to standard error, so that it cannot stand among the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    engine = TextWorldEngine()
    for line in sys.stdin:
        try:
            answer = engine.answer(json.loads(line))
        # Any error of a library, on a file that no one here wrote, is an answer.
        except Exception as error:  # noqa: BLE001
            answer = {"error": f"{type(error).__name__}: {error}"[:2000]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
