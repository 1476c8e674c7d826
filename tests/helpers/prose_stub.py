"""A server on loopback that only chats: no schemas, no log-probabilities, no raw text, and prose.

It refuses what such servers do not know, and puts a legal answer into the words of a talkative
model: a sentence before it, bold labels, a numbered bold action, a fence. Each style comes in turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from helpers.loopback import Loopback, chat, refusal, serving
from helpers.reasoning_stub import answer_to, worded
from wayword.models.scripted import smallest

UNKNOWN = (
    "response_format",
    "tools",
    "tool_choice",
    "logprobs",
    "top_logprobs",
    "grammar",
)
STYLES = ("bold", "fenced", "sentence", "plain")


@contextmanager
def prose() -> Iterator[Loopback]:
    """The server, under way."""

    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        if not route.endswith("/chat/completions"):
            return 404, refusal("no such route")
        for name in UNKNOWN:
            if name in body:
                return 400, refusal(
                    f"Unknown parameter: '{name}'.", name, "unknown_parameter"
                )
        return 200, chat(talk(body, STYLES[len(server.asked) % len(STYLES)]))

    with serving(answer) as server:
        yield server


def talk(body: dict[str, Any], style: str) -> str:
    """A legal answer to the request, in the style of a model that likes to write."""
    prompt = str(body["messages"][-1]["content"])
    if found := re.search(
        r"exactly one of these lines and nothing else:\n(.+)", prompt, re.DOTALL
    ):
        return _decorated(found[1].splitlines()[0].removeprefix("- "), style)
    if "next?)" in prompt or "breaks off" in prompt:  # VELMA: the next numbered action
        number = re.findall(r"(\d+)\.(?=\s*\n\n\(The text breaks off)", prompt)
        return _decorated(f"{number[-1] if number else 1}. forward", style)
    if found := re.search(r"(?m)^(\{.*\"properties\".*\})\s*$", prompt):
        return _form_in_words(worded(smallest(json.loads(found[1]))), style)
    free = answer_to({"messages": body["messages"]})
    if style == "plain":
        return free
    labelled = re.sub(
        r"(?m)^(\w[\w ]*):", r"**\1:**" if style == "bold" else r"\1:", free
    )
    lead = "" if style == "bold" else "Let me think about this first.\n\n"
    return f"{lead}```\n{labelled}\n```" if style == "fenced" else f"{lead}{labelled}"


def _form_in_words(value: Any, style: str) -> str:
    """A filled-in form as JSON, or in bold labels by a model that forgot to write JSON."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    if style == "bold" and not any(isinstance(each, dict) for each in value.values()):
        pairs = [
            (key, each if isinstance(each, list) else [each])
            for key, each in value.items()
        ]
        return "\n".join(
            f"**{key.capitalize()}:** {' '.join(str(each) for each in values)}"
            for key, values in pairs
        )
    if style == "plain":
        return text
    lead = "Sure, I look around and decide.\n\n"
    if style == "sentence":
        return f"{lead}{text}"
    return f"{lead}```json\n{text}\n```\nDone."


def _decorated(choice: str, style: str) -> str:
    """One choice out of a list, as prose."""
    return {
        "bold": f"**{choice}**",
        "fenced": f"```\n{choice}\n```",
        "sentence": f"The way ahead is free, so I go on.\n\n{choice}",
        "plain": choice,
    }[style]
