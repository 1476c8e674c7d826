"""A server on loopback with the rules of a reasoning model of 2026.

It takes chat alone and refuses, naming the parameter, what such models refuse; it thinks 1,000
tokens before every answer, and has nothing to say where the limit leaves no room for it; it puts
JSON into a fence after a sentence of prose. What it answers is legal and simple: the first value
that a schema allows, else the first thing to do that the prompt lists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from helpers.loopback import Loopback, chat, refusal, serving
from wayword.core.action import Decision
from wayword.core.model import Completion
from wayword.core.rollout import Outcome
from wayword.models.scripted import smallest
from wayword.runs.record import RunFolder

THINKING = 1000
"""Tokens that are spent on thought before an answer."""
MODEL = "some-new-model"
REFUSED = ("temperature", "top_p", "stop", "max_tokens", "logprobs", "top_logprobs")
"""In the order in which they are looked at: a request is refused for one of them at a time."""
CHARACTERS_PER_TOKEN = 3


@contextmanager
def reasoning(refused: Sequence[str] = REFUSED) -> Iterator[Loopback]:
    """The server, under way. ``refused`` gives the order in which parameters are refused."""

    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        if not route.endswith("/chat/completions"):
            words = (
                "This is a chat model and not supported in the v1/completions endpoint."
            )
            return 400, refusal(words, "model", "unsupported_endpoint")
        for name in refused:
            if name in body:
                words = (
                    f"Unsupported parameter: '{name}' is not supported with this model."
                )
                return 400, refusal(words, name, "unsupported_parameter")
        if "max_completion_tokens" not in body:
            words = "Missing required parameter: 'max_completion_tokens'."
            return 400, refusal(
                words, "max_completion_tokens", "missing_required_parameter"
            )
        return 200, _answered(body, len(server.asked))

    with serving(answer, {"object": "list", "data": [{"id": MODEL}]}) as server:
        yield server


def thought(number: int) -> str:
    """What is thought before the answer to the request of that number; never said twice."""
    return f"Secret deliberation {number:05d}: the answer is in the list."


def _answered(body: dict[str, Any], number: int) -> dict[str, Any]:
    text = answer_to(body)
    written = THINKING + len(text) // CHARACTERS_PER_TOKEN + 1
    allowed = int(body["max_completion_tokens"])
    cut = allowed < written
    answer = chat("" if cut else text, reasoning_content=thought(number))
    answer["choices"][0]["finish_reason"] = "length" if cut else "stop"
    read = sum(len(str(message["content"])) for message in body["messages"])
    answer["usage"] = {
        "prompt_tokens": read // CHARACTERS_PER_TOKEN,
        "completion_tokens": min(allowed, written),
        "completion_tokens_details": {"reasoning_tokens": min(allowed, THINKING)},
    }
    return answer


def answer_to(body: dict[str, Any]) -> str:
    """The answer to a request: bound by its schema, or in the words its prompt asks for."""
    bound = body.get("response_format", {}).get("json_schema", {}).get("schema")
    if bound is not None:
        filled = json.dumps(bound).replace(
            '"type": "array"', '"type": "array", "minItems": 1'
        )
        value = json.dumps(
            worded(smallest(json.loads(filled))), indent=1, ensure_ascii=False
        )
        return f"Here is my answer in the form you asked for:\n\n```json\n{value}\n```"
    prompts = [str(message["content"]) for message in body["messages"]]
    if body.get("tools") and not isinstance(body.get("tool_choice"), dict):
        return _labelled("Action: ", prompts[0])  # it may call none
    return _free("\n".join(prompts[:1]), prompts[-1])


def worded(value: Any) -> Any:
    """A schema's smallest value with words in its empty texts."""
    if isinstance(value, dict):
        return {key: worded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [worded(inner) for inner in value]
    return value or "I go on." if isinstance(value, str) else value


# What must hold of every run.


def check(server: Loopback, out: Path, outcome: Outcome) -> None:
    """What must hold of every run behind a reasoning model."""
    assert (outcome.finished, outcome.failed, outcome.unusable) == (2, 0, ""), outcome
    assert server.refused <= 2, server.routes
    found = [record.trajectory for record in RunFolder.read(out).records()]
    decisions = [step.decision for one in found for step in one.steps]
    lost = [d if not isinstance(d, Decision) else d.fallback_for for d in decisions]
    assert not [refusal for refusal in lost if refusal], lost
    calls = [call for one in found for call in one.calls()]
    assert calls
    for call in calls:
        assert call.answer is not None, call.error
        assert call.answer.usage.reasoning >= THINKING
        if isinstance(call.answer, Completion):
            assert "length" not in call.answer.finish
            assert any(
                "Secret deliberation" in reply for reply in call.answer.reasoning
            )
    advice = {note.kind for one in found for note in one.notes()}
    assert not advice & {"expert_failed", "predictions_dropped"}
    sent = json.dumps(server.asked)
    assert not [n for n in range(len(server.asked)) if thought(n) in sent]


# Free answers, in the words of each agent's prompts.


def _free(first: str, last: str) -> str:
    if found := re.findall(r"Navigable Viewpoints: \{'(\w+)'", last):  # NavGPT
        return f'Thought: I go on.\nAction: action_maker\nAction Input: "{found[-1]}"'
    # DiscussNav
    if found := re.findall(r"Directions that can be moved in: (\d+)", last):
        return f"Thought: I go on.\nPrediction: {found[-1]}"
    form = re.split(r"(?:ANSWER|Answer)[^\n]* form[^\n]*:\n", first)
    if len(form) > 1:  # labels, each on a line
        return "\n".join(
            _labelled(line, first) for line in form[-1].split("\n\n")[0].splitlines()
        )
    # VELMA, after the forms: other prompts may end with a number and a period, too
    if found := re.findall(r"(\d+)\.(?=\s*(?:\n\n\(The text breaks off|$))", last):
        return f"{found[-1]}. forward"
    return "I go on."


def _labelled(line: str, text: str) -> str:
    label, colon, _ = line.partition(":")
    if not colon:
        return re.sub(r"^(\d+\.).*", r"\1 Go on.", line)
    if label == "Action":
        listed = re.findall(r"^(\w+): ", text.partition("\nACTIONS")[2], re.MULTILINE)
        return f"Action: {listed[0]}"
    return f"{label}: I go on." if colon and line != f"{label}:" else line
