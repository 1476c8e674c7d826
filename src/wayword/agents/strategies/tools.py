"""tools: a navigator that looks, remembers, measures and acts by tool calls.

    wayword run tools --on houses --model openai:gpt-5-mini

Each turn ends with a call of ``act`` or ``stop``. Before it, the model may ask for information:
``look`` describes the view in one direction, ``recall`` lists what was seen of an object and where,
``measure`` gives direction and distance of something in view. In worlds with a view all around,
the messages describe only what is ahead, so that the model decides what to read. Worlds whose views
have no directions offer neither ``look`` nor ``measure``.

Models without tool calls get the functions as text, and answer with a JSON object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge

from wayword.agents.answers import Reply, StrategyAnswer
from wayword.agents.legal import Legal
from wayword.agents.prompting import Conversation
from wayword.agents.strategies.strategy import Strategy, StrategySettings, json_object
from wayword.core.action import ActionSpace
from wayword.core.agent import Toolkit
from wayword.core.episode import Episode, Json, JsonObject
from wayword.core.model import Tool, ToolCall
from wayword.core.visible import single_line
from wayword.core.world import Observation
from wayword.verbalize.generic import ViewPart

AROUND = "around"  # the direction that stands for all of them
MOST_RECALLED = 8  # lines of a recollection, the latest
RECALLED_LENGTH = 300  # characters of such a line
NAME_LENGTH = 60  # characters of a name that a result repeats
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class ToolsSettings(StrategySettings):
    """Settings of ``tools``, in addition to those of every strategy.

    ``calls``: most calls for information in a turn. ``view``: ``ahead`` describes only
    what is ahead where the world's view is one all around, as ``changes`` elsewhere.
    ``decoding``: ``tools``, or ``constrained`` to write the same calls as JSON, for a
    comparison.
    """

    calls: Annotated[int, Ge(0)] = 4
    view: Literal["ahead", "changes", "full"] = "ahead"  # type: ignore[assignment]
    decoding: Literal["tools", "constrained"] = "tools"


class Tools(Strategy):
    """Looks, remembers, measures and acts by tool calls, in any world."""

    recipe = "react"
    has_eyes = False  # results of tools hold no pictures
    Settings = ToolsSettings
    small_model: ClassVar[Mapping[str, Json]] = {"menu": "all", "thought_length": 200}

    def __init__(self, settings: ToolsSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self._settings: ToolsSettings = settings
        self._most_calls = settings.calls
        self._view_parts: Sequence[ViewPart] = ()
        self._place = ""
        self._seen: list[tuple[str, str]] = []  # place, and a line about it

    async def begin(self, episode: Episode) -> None:
        """Reset for the episode: nothing has been seen."""
        await super().begin(episode)
        self._seen = []

    def _chat(self, observation: Observation, space: ActionSpace) -> Conversation:
        """Write the next message, of what is ahead alone if the settings say so."""
        chat = super()._chat(observation, space)
        voice = self._verbalizer
        self._view_parts = ()
        if voice.view_parts is not None:
            self._view_parts = voice.view_parts(observation, self._toolkit.perceiver)
        place = voice.self_state(observation)[0].place
        self._place = f"step {self._steps.taken + 1}"
        if place:
            self._place += f", at {place}"
        # The message of the base class shows all directions, also those not looked at.
        shown = self._in_view
        if self._only_ahead:
            shown = self._look(voice.directions[0])
            described = "\n".join(filter(None, [shown, self._exits_elsewhere()]))
            self._message_text = self._message_text.replace(self._in_view, described)
        self._remember(shown)
        return chat

    @property
    def _only_ahead(self) -> bool:
        """True if messages describe only what is ahead, in a world with a view all around."""
        return self._settings.view == "ahead" and self._verbalizer.sees_around

    def _exits_elsewhere(self) -> str:
        """Return how many exits lead to the sides and back; empty if there are none."""
        counts = []
        for direction in self._verbalizer.directions[1:]:
            exits = [
                s for s in self._view_parts if s.is_exit and s.direction == direction
            ]
            if exits:
                counts.append(f"{direction} {len(exits)}")
        if not counts:
            return ""
        return self._prompts.fill("ways_elsewhere", ways=", ".join(counts))

    def _remember(self, text: str) -> None:
        """Keep the lines of a text with the present place, each once, for ``recall``."""
        for line in text.splitlines():
            if (self._place, line) not in self._seen:
                self._seen.append((self._place, line))

    # Functions.

    def _form_text(self, space: ActionSpace, actions: str) -> str:
        """Return how to answer: by the functions, of which some only inform."""
        return self._prompts.fill(
            "answer_functions", most=self._most_calls, limit=self._steps.limit
        )

    async def _answered(
        self, chat: Conversation, shown: ActionSpace, length: int, legal: Legal
    ) -> tuple[Reply, StrategyAnswer]:
        """Ask for calls, also with ``decoding=constrained``, which requests them as JSON."""
        return await self._answered_by_calls(chat, shown, length, legal)

    def _functions(
        self, shown: ActionSpace, length: int, constrained: bool
    ) -> list[Tool]:
        """Return ``act`` and ``stop``, and the functions that inform, as far as the
        world has them.
        """
        (act,) = super()._functions(shown, length, constrained)
        tools = [Tool("act", self._prompts["act_function"], act.parameters)]
        tools.append(self._tool("stop", **self._stop_fields(shown)))
        if not self._most_calls:
            return tools
        directions = [*self._verbalizer.directions, AROUND]
        if self._verbalizer.view_parts is not None:
            about = self._prompts["look_direction"]
            direction = {"type": "string", "enum": directions, "description": about}
            tools.append(self._tool("look", direction=direction))
            name = {"type": "string", "description": self._prompts["measure_name"]}
            tools.append(self._tool("measure", name=name))
        name = {"type": "string", "description": self._prompts["recall_name"]}
        tools.append(self._tool("recall", name=name))
        return tools

    def _stop_fields(self, space: ActionSpace) -> JsonObject:
        """Return the parameters of ``stop``: a thought, and an answer if the task is a question."""
        thought = {"type": "string", "description": self._prompts["stop_thought"]}
        fields: dict[str, Json] = {"thought": thought}
        if "stop" in space.open_verbs:
            fields["argument"] = {"type": "string", "description": "the answer"}
        return fields

    def _tool(self, function: str, **fields: Json) -> Tool:
        """Return a function of the page with these parameters, all of them required."""
        parameters: dict[str, Json] = {
            "type": "object",
            "properties": fields,
            "required": list(fields),
        }
        return Tool(function, self._prompts[f"{function}_function"], parameters)

    def _as_answer(self, call: ToolCall, arguments: str) -> str:
        """Return the arguments as an answer of the recipe; ``stop`` becomes its action."""
        if call.name != "stop":
            return arguments
        fields = json_object(arguments) or {}
        return json.dumps({**fields, "action": "stop"})

    def _information(self, call: ToolCall) -> str | None:
        """Return the result of ``look``, ``recall`` or ``measure``; None for other calls.

        Unusable arguments have a result as well, which says how to call the function.
        """
        if call.name not in ("look", "recall", "measure"):
            return None
        fields = json_object(call.arguments)
        value = None
        if fields is not None:
            # The one field that each of them has.
            value = fields.get("direction", fields.get("name"))
        if not isinstance(value, str) or not value.strip():
            return self._prompts.fill("bad_arguments", function=call.name)
        value = single_line(value, NAME_LENGTH)
        if call.name == "recall":
            return self._recall(value)
        if call.name == "measure":
            return self._measure(value)
        direction = value.lower()
        directions = [*self._verbalizer.directions, AROUND]
        if direction not in directions:
            listed = ", ".join(directions)
            return self._prompts.fill(
                "unknown_direction", direction=value, directions=listed
            )
        seen = self._in_view
        if direction != AROUND:
            seen = self._look(direction)
        self._remember(seen)
        return seen or self._prompts["nothing_there"]

    def _look(self, direction: str) -> str:
        """Return the lines on what is in a direction; empty if there is nothing."""
        lines = [
            s.text for s in self._view_parts if s.text and s.direction == direction
        ]
        return "\n".join(lines)

    def _measure(self, name: str) -> str:
        """Return direction and distance of what is in view under a name.

        A name is matched by its words: ``table`` finds ``coffee table``.
        """
        name_words = set(_WORD.findall(name.lower()))
        lines = []
        for part in self._view_parts:
            words = set(_WORD.findall(part.name.lower()))
            if part.measure and name_words and name_words <= words:
                lines.append(f"{part.name}: {part.measure}")
        return "\n".join(dict.fromkeys(lines)) or self._prompts.fill(
            "not_in_view", name=name
        )

    def _recall(self, name: str) -> str:
        """Return what was seen of a name and where, the latest ``MOST_RECALLED`` lines."""
        name_words = set(_WORD.findall(name.lower()))
        lines = []
        for place, line in self._seen:
            if name_words and name_words <= set(_WORD.findall(line.lower())):
                lines.append(f"{place}: {line[:RECALLED_LENGTH]}")
        return "\n".join(lines[-MOST_RECALLED:]) or self._prompts.fill(
            "not_recalled", name=name
        )


agent = Tools
