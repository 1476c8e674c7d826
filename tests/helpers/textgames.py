"""An engine of a few lines in place of TextWorld's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Fridge:
    """A game of one place and one apple: it is won when the apple is taken."""

    def __init__(self) -> None:
        self.requests: list[Mapping[str, Any]] = []
        self._is_there = False

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request."""
        self.requests.append(request)
        command = request.get("command", "")
        if "game" in request:
            self._is_there = False
        elif command == "go to fridge 1":
            self._is_there = True
        commands = ["go to fridge 1", "inventory"]
        if self._is_there:
            commands.append("take apple 1 from fridge 1")
        won = command.startswith("take")
        return {"text": f"{command}.", "commands": commands, "won": won}
