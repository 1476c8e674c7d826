"""A server on loopback that plays competently: the expert's actions, after a usual thought.

It counts tokens as the library estimates them, so that what a run then costs is known to be what a
model would cost that walks and thinks like this.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from helpers.loopback import Answerer, chat
from wayword.core.model import estimated_tokens, user

THOUGHT = (
    "I passed the sofa, and the doorway to the office is ahead of me, so I go on as I was told. "
    "The instruction then asks for the second door on the left, which is not in view yet, and the "
    "hallway seems to lead there."
)
SCENE = (
    "There is a wooden door that stands open, with a small table and a brass lamp beside it, and a "
    "framed picture on the white wall. Behind the door the floor goes on into a larger room."
)
LINE = "Go ahead past the sofa"
KNOWN = "about ten words on what is known of it by now"


def expert(plans: Mapping[str, Sequence[str]]) -> Answerer:
    """``plans``: instruction -> actions, the stop included."""

    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        prompt_text = "\n".join(message["content"] for message in body["messages"])
        # VELMA's examples come before
        latest = prompt_text.rpartition("Navigation Instructions:")[2]
        plan = next((plan for texts, plan in plans.items() if texts in latest), ())
        form = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
        fields = form.get("properties", {})
        made = {k: _value(k, v, plan, body["messages"]) for k, v in fields.items()}
        texts = chat(text := json.dumps(made) if made else SCENE)
        texts["choices"] *= body.get("n", 1)
        prompt = [user(message["content"]) for message in body["messages"]]
        written = estimated_tokens(text) * len(texts["choices"])
        texts["usage"] = {
            "prompt_tokens": estimated_tokens(prompt),
            "completion_tokens": written,
        }
        return 200, texts

    return answer


def _value(name: str, form: Any, plan: Sequence[str], messages: Sequence[Any]) -> Any:
    latest = messages[-1]["content"]
    if name in ("action", "answer"):
        # VELMA's next one
        numbers = re.findall(r"(\d+)\.(?=\s*(?:\n\n\(The text|$))", latest)
        gone = sum(message["role"] == "assistant" for message in messages)
        return plan[min(int(numbers[-1]) - 1 if numbers else gone, len(plan) - 1)]
    if name == "prediction":
        return form["enum"][0]
    if name == "arrived":  # DiscussNav: its walk is told step by step
        return len(re.findall(r"\[Step \d+\]", latest)) >= len(plan) - 1
    if form["type"] == "object":
        return dict.fromkeys(form["properties"], KNOWN)
    if form["type"] == "array":
        return [LINE] * 2
    return THOUGHT if name != "argument" else ""
