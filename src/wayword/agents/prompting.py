"""Prompt texts: files beside the agents, with ``{slots}``, replaceable by a user's own folder."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from wayword.core.errors import UsageError

_SLOT = re.compile(r"\{([a-z_]+)\}")


class Prompts:
    """The texts of one agent: ``Prompts("navgpt")["principle"]``.

    ``folder`` (the setting ``prompts=DIR``) replaces any text by the file of the same name in it.
    """

    def __init__(self, agent: str, folder: str = "") -> None:
        self._agent, self._folder = agent, folder

    def __getitem__(self, name: str) -> str:
        return _text(self._agent, self._folder, name)

    def fill(self, name: str, **slots: str) -> str:
        """The text with its slots filled in one pass, so that a value is never read as a slot."""
        text = self[name]
        missing = set(_SLOT.findall(text)) - set(slots)
        if missing:
            raise UsageError(
                f"prompt {self._agent}/{name}.txt has unknown slots {sorted(missing)}; "
                f"there are: {', '.join(sorted(slots))}"
            )
        return _SLOT.sub(lambda match: slots[match.group(1)], text)


@lru_cache(maxsize=256)
def _text(agent: str, folder: str, name: str) -> str:
    own = Path(folder) / f"{name}.txt"
    if folder and not Path(folder).is_dir():
        raise UsageError(f"prompts={folder}: no such folder")
    if folder and own.is_file():
        return own.read_text(encoding="utf-8").strip("\n")
    shipped = files("wayword.agents") / "prompts" / agent / f"{name}.txt"
    return shipped.read_text(encoding="utf-8").strip("\n")
