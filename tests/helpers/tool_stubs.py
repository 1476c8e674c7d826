"""Servers on loopback that call tools, each by the rules of one provider, as rows of a table.

All check the conversation as providers do: every call is answered, once, by its ID, right after the
message that made it. A row adds rules of its own, and the form of its messages. What to call is
decided by an honest player, which reads the messages and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from helpers.honest_player import Play
from helpers.loopback import Loopback, serving

Body = dict[str, Any]
Call = tuple[str, dict[str, Any]]
KNOWN = {"role", "content", "tool_calls", "tool_call_id", "name"}


class Refusal(Exception):
    """A status and an error body."""

    def __init__(self, text: str, status: int = 400, **more: Any) -> None:
        super().__init__(text)
        self.status = status
        self.body = {
            "error": {"message": text, "type": "invalid_request_error", **more}
        }


Rule = Callable[["ToolServer", Body], None]


def needs_option(text: str, status: int = 400) -> Rule:
    """A server or a model without tool calls."""

    def rule(server: ToolServer, body: Body) -> None:
        if "tools" in body:
            raise Refusal(text, status)

    return rule


def no_forced_choice(text: str) -> Rule:
    """A model that thinks may not be made to call."""

    def rule(server: ToolServer, body: Body) -> None:
        if body.get("tool_choice") not in (None, "auto"):
            raise Refusal(text)

    return rule


def goes_back(name: str, text: str) -> Rule:
    """The messages that the server sent come back with a field of its own."""

    def rule(server: ToolServer, body: Body) -> None:
        for message in body["messages"]:
            if message.get("tool_calls") and not message.get(name):
                raise Refusal(text)

    return rule


def signed(server: ToolServer, body: Body) -> None:
    """Gemini: each call comes back with the signature that it was sent with."""
    for number, message in enumerate(body["messages"]):
        for call in message.get("tool_calls") or ():
            extra = call.get("extra_content", {}).get("google", {})
            signature = extra.get("thought_signature")
            if signature != server.signatures.get(call["function"]["arguments"]):
                name = call["function"]["name"]
                raise Refusal(
                    "Function call is missing a thought_signature in functionCall parts. "
                    f"Additional data, function call `default_api:{name}`, position {number}."
                )
        if message["role"] == "tool" and not message.get("name"):
            raise Refusal("function_response.name: Name cannot be empty.")
    for tool in body.get("tools", ()):
        if "additionalProperties" in json.dumps(tool):
            raise Refusal('Unknown name "additionalProperties" at tools[0]')


def strict_messages(text: str, known: set[str] = KNOWN) -> Rule:
    """No field in messages but those of the specification."""

    def rule(server: ToolServer, body: Body) -> None:
        for message in body["messages"]:
            for name in message.keys() - known:
                raise Refusal(text.format(name=name))

    return rule


def no_empty_text(server: ToolServer, body: Body) -> None:
    """Anthropic: no message has an empty text."""
    for number, message in enumerate(body["messages"]):
        if message["content"] == "":
            raise Refusal(f"messages.{number}: text content blocks must be non-empty")


def nine_letters(server: ToolServer, body: Body) -> None:
    """Mistral: IDs are nine letters and digits."""
    for message in body["messages"]:
        for call in message.get("tool_calls") or ():
            if not re.fullmatch("[a-zA-Z0-9]{9}", call["id"]):
                raise Refusal(
                    f"Tool call id was {call['id']} but must be a-z, A-Z, 0-9, with a "
                    "length of 9."
                )


def without(name: str, text: str) -> Rule:
    def rule(server: ToolServer, body: Body) -> None:
        if name in body:
            raise Refusal(text, param=name)

    return rule


@dataclass
class ToolServer:
    """A provider. ``shape`` changes an answer's message into its form."""

    name: str
    rules: tuple[Rule, ...] = ()
    shape: Callable[[ToolServer, dict[str, Any]], None] = lambda server, message: None
    model: str = "some-model"
    extra: Mapping[str, Any] = field(default_factory=dict)
    falls_back: bool = False
    signatures: dict[str, str] = field(default_factory=dict)
    count: int = 0


def check(body: Body) -> None:
    """Every call is answered once, right after its message; IDs are unique; roles are in order."""
    used: set[str] = set()
    open_calls: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                raise Refusal("tool message does not follow a call of its tool_call_id")
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            raise Refusal(
                "An assistant message with 'tool_calls' must be followed by tool messages "
                f"responding to each 'tool_call_id': {open_calls}"
            )
        open_calls = [call["id"] for call in message.get("tool_calls") or ()]
        if (
            not all(open_calls)
            or used & {*open_calls}
            or len({*open_calls}) < len(open_calls)
        ):
            raise Refusal("`tool_use` ids must be unique")
        used |= {*open_calls}
    if open_calls:
        raise Refusal("a call is not answered")


class Caller:
    """An honest player that calls tools: it looks around before each act, if it can look."""

    def __init__(self, script: Callable[[str, str], Play]) -> None:
        self._script = script
        self._play: Play | None = None
        self._looked = False

    def next(self, body: Body) -> Call:
        messages = body["messages"]
        texts = [str(message["content"]) for message in messages]
        if self._play is None:
            task = texts[1].split("Task: ", 1)[1].split("\n\nObservation: ")[0]
            self._play = self._script(texts[0], task)
            next(self._play)
        offered = json.dumps(body.get("tools", "")) + texts[0]
        if "look: " in offered or '"look"' in offered:
            self._looked = not self._looked
            if self._looked:
                return "look", {"direction": "around"}
        # The results of calls that were not carried out may follow it.
        told = [text for text in texts if not text.startswith("Not carried out")]
        latest = told[-1]
        try:
            action = self._play.send(latest.rpartition("Observation: ")[2])
        except StopIteration:
            action = "stop"
        return "act", {"thought": "on", "action": action}


@contextmanager
def calling(row: ToolServer, script: Callable[[str, str], Play]) -> Iterator[Loopback]:
    """A server by the rules of a row, whose model plays by a script."""
    caller = Caller(script)
    row.count = 0

    def answer(
        route: str, body: Body, headers: dict[str, str]
    ) -> tuple[int, dict[str, Any]]:
        try:
            for rule in row.rules:
                rule(row, body)
            check(body)
        except Refusal as refused:
            return refused.status, refused.body
        name, arguments = caller.next(body)
        row.count += 1
        message: dict[str, Any] = {"role": "assistant", "content": None}
        text = json.dumps(arguments)
        if "tools" in body:
            function = {"name": name, "arguments": text}
            call_id = f"call_{row.count:024x}"
            call = {"id": call_id, "type": "function", "function": function}
            message["tool_calls"] = [call]
            row.shape(row, message)
        else:
            message["content"] = json.dumps({"tool": name, "arguments": arguments})
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "finish_reason": finish, "message": message}
        usage = {"prompt_tokens": len(json.dumps(body)) // 4, "completion_tokens": 30}
        return 200, {"choices": [choice], "usage": usage}

    with serving(answer) as server:
        yield server


# Forms of messages.


def _nulls(server: ToolServer, message: dict[str, Any]) -> None:
    message |= {
        "refusal": None,
        "annotations": [],
        "audio": None,
        "function_call": None,
    }


def _signature(server: ToolServer, message: dict[str, Any]) -> None:
    for call in message["tool_calls"]:
        text = call["function"]["arguments"]
        signature = server.signatures.setdefault(text, f"sig{server.count}")
        call["extra_content"] = {"google": {"thought_signature": signature}}
        call["id"] = ""


def _twice(server: ToolServer, message: dict[str, Any]) -> None:
    """The same call again, although one was asked for."""
    (call,) = message["tool_calls"]
    message["content"] = ""
    message["tool_calls"].append({**call, "id": f"{call['id']}b"})


def _object(server: ToolServer, message: dict[str, Any]) -> None:
    message["content"] = ""
    for call in message["tool_calls"]:
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])


def _short_ids(server: ToolServer, message: dict[str, Any]) -> None:
    for call in message["tool_calls"]:
        call["id"] = f"a{server.count:08d}"


def _same_ids(server: ToolServer, message: dict[str, Any]) -> None:
    for call in message["tool_calls"]:
        call["id"] = "functions.act:0"


def _thinking(server: ToolServer, message: dict[str, Any]) -> None:
    message["reasoning_content"] = f"thought {server.count}"


def _reasoning(server: ToolServer, message: dict[str, Any]) -> None:
    message["reasoning"] = f"thought {server.count}"


def _hermes(server: ToolServer, message: dict[str, Any]) -> None:
    """A server without a parser for its model's calls."""
    calls = message.pop("tool_calls")
    shown = []
    for call in calls:
        function = call["function"]
        value = {**function, "arguments": json.loads(function["arguments"])}
        shown.append(f"<tool_call>\n{json.dumps(value)}\n</tool_call>")
    message["content"] = "\n".join(shown)


SERVERS = (
    ToolServer(
        "openai",
        (strict_messages("Additional properties are not allowed: '{name}'"),),
        _nulls,
    ),
    ToolServer("gemini", (signed,), _signature, model="gemini-3-pro"),
    ToolServer(
        "anthropic",
        (
            no_empty_text,
            no_forced_choice(
                "Thinking may not be enabled when tool_choice forces tool use."
            ),
        ),
        model="claude-sonnet-5",
    ),
    ToolServer("vllm", (), _twice),
    ToolServer(
        "vllm without a parser",
        (
            needs_option(
                '"auto" tool choice requires --enable-auto-tool-choice and '
                "--tool-call-parser to be set"
            ),
        ),
        falls_back=True,
    ),
    ToolServer(
        "llama.cpp without templates",
        (needs_option("tools param requires --jinja flag", 500),),
        falls_back=True,
    ),
    ToolServer(
        "ollama, a model without tools",
        (needs_option("registry.ollama.ai/library/gemma3:4b does not support tools"),),
        falls_back=True,
    ),
    ToolServer("ollama", (), _object),
    ToolServer("mistral", (nine_letters,), _short_ids),
    ToolServer(
        "deepseek",
        (
            no_forced_choice("Thinking mode does not support this tool_choice"),
            goes_back(
                "reasoning_content",
                "The `reasoning_content` in the thinking mode must be passed back to the API.",
            ),
        ),
        _thinking,
    ),
    ToolServer(
        "groq",
        (strict_messages("'messages.2' : property '{name}' is unsupported"),),
        _reasoning,
    ),
    ToolServer("moonshot", (), _same_ids),
    ToolServer("a server without a parser", (), _hermes),
    ToolServer(
        "o3",
        (
            without(
                "parallel_tool_calls",
                "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.",
            ),
        ),
    ),
    ToolServer(
        "openrouter",
        (needs_option("No endpoints found that support tool use.", 404),),
        falls_back=True,
    ),
)
