"""The text of a direction, as in NavGPT's prompts."""

from __future__ import annotations

from functools import partial

from wayword.agents.navgpt import agent
from wayword.agents.pages import Prompts

write_direction = partial(Prompts(agent.__file__).fill, "direction")
