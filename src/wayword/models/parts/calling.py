r"""Tool calls in OpenAI's form, and in words for models without them.

    >>> calls_in('Sure: {"tool": "look", "arguments": {"direction": "left"}}', ["look"])
    (ToolCall(id='', name='look', arguments='{"direction": "left"}'),)

Models without tool calls get the functions as text, write a call as a JSON object, and read its
result as the user's next message. Models that were offered tools may write a call as text, too, in
the form of their training, where the server does not parse it.

Source: https://platform.openai.com/docs/guides/function-calling. The forms of chat templates are in
:mod:`~wayword.models.parts.written_calls`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from html import unescape
from typing import Any

from wayword.core.episode import Json, JsonObject
from wayword.core.model import Message, Sampling, Tool, ToolCall, user
from wayword.models.parts.decoding import is_quoted, json_values
from wayword.models.parts.written_calls import own_turn, written_calls

# Results of calls, and calls, in OpenAI's form.


def tool_field(tool: Tool) -> dict[str, Json]:
    """Return a tool as an entry of the request field ``tools``."""
    function: dict[str, Json] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    return {"type": "function", "function": function}


def wire_message(message: Message, verbatim: bool = False) -> dict[str, Json]:
    """Return a message without pictures in OpenAI's form.

    With ``verbatim``, the assistant's as the server sent it.
    """
    if verbatim and message.verbatim:
        sent: dict[str, Json] = json.loads(message.verbatim)
        return sent
    wire: dict[str, Json] = {"role": message.role, "content": message.content}
    if message.calls:
        wire["tool_calls"] = [_wire_call(call) for call in message.calls]
        # Servers refuse an empty text next to calls, but accept that there is none.
        wire["content"] = message.content or None
    if message.role == "tool":
        wire["tool_call_id"] = message.call_id
        # Gemini's layer refuses a result without the function's name.
        wire["name"] = message.tool
    return wire


def _wire_call(call: ToolCall) -> JsonObject:
    """Return a call as an entry of a message's ``tool_calls``."""
    function = {"name": call.name, "arguments": _as_object(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _as_object(arguments: str) -> str:
    """Return arguments as the JSON object that servers expect of a conversation.

    Without an object in them it is empty: many servers parse the arguments of earlier calls, and
    refuse each later request if they cannot.
    """
    with suppress(ValueError, RecursionError):
        if isinstance(json.loads(arguments), dict):
            return arguments
    objects = (value for value, _, _ in json_values(arguments, "{", bool))
    return json.dumps(next(objects, {}), ensure_ascii=False)


def read_calls(
    message: JsonObject, prompt: Sequence[Message], names: Collection[str] = ()
) -> tuple[tuple[ToolCall, ...], str]:
    """Return the tool calls of a server's message, and the message as JSON text, to be sent back.

    Both are the server's own, with three changes. Each call is in OpenAI's form, under the
    offered one of ``names``; in the message, its arguments are an object. An ID that is missing,
    or was used before in the conversation, is replaced by a new one, because each result must name
    its call. Fields without a value are left out: some servers send fields that they refuse to
    read.
    """
    used = {call.id for sent in prompt for call in sent.calls}
    calls = []
    entries = []
    for entry in _listed_calls(message):
        # OpenAI's form, those of its custom tools and of others, or the name and arguments alone
        function = next(filter(None, map(entry.get, _CALL_OBJECTS)), entry)
        if not isinstance(function, Mapping) or not function.get("name"):
            continue
        call_id = entry.get("id")
        if not isinstance(call_id, str) or not call_id or call_id in used:
            call_id = _unused_id(used)
        used.add(call_id)
        arguments = next((function[k] for k in _ARGUMENT_KEYS if k in function), None)
        if not isinstance(arguments, str):
            # Ollama's own form: an object instead of its text.
            arguments = json.dumps(arguments or {}, ensure_ascii=False)
        arguments = _NO_ARGUMENTS.sub("", arguments)
        # GLM's tags, which a server took for a part of the name
        for written in written_calls(f"<tool_call>{function['name']}</tool_call>"):
            if written.arguments and arguments in ("", "{}"):
                arguments = json.dumps(written.arguments, ensure_ascii=False)
        name = _offered(_LEFT_IN_NAMES.sub("", str(function["name"])), names)
        arguments = _bare(arguments, name)
        calls.append(ToolCall(call_id, name, arguments))
        own = {key: value for key, value in entry.items() if key not in _CALL_KEYS}
        changed = {
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": _as_object(arguments)},
        }
        entries.append({**own, **changed})
    if not calls:
        return (), ""
    empty: tuple[Any, ...] = (None, [], {}, "")
    kept = {
        name: value
        for name, value in message.items()
        if name == "content" or value not in empty
    }
    # The older form of a call, and calls among the parts, are in tool_calls now.
    for name in _LISTS:
        kept.pop(name, None)
    if isinstance(kept.get("content"), list):
        kept["content"] = [
            part for part in kept["content"] if part not in _parts(message)
        ]
    kept = {"role": "assistant", "content": None, **kept, "tool_calls": entries}
    return tuple(calls), json.dumps(kept, ensure_ascii=False)


# Fields of a message with calls, and those of a call with its name and arguments
_LISTS = ("tool_calls", "toolCalls", "function_call")
_CALL_OBJECTS = ("function", "custom")
_CALL_KEYS = (*_CALL_OBJECTS, "name", "arguments", "args", "input", "parameters")
_PART_TYPES = ("tool_use", "tool_call", "function_call")
_NO_ARGUMENTS = re.compile(r"^\s*(?:\{\}\s*(?=\{)|null\s*$)")
"""An empty object before the arguments, with which gateways begin a stream, and ``null``."""
_LEFT_IN_NAMES = re.compile(
    r"^(?:.*\bfunctions?\.|default_api[.:]|[\s`'\"]+)|(?:\(\))?(?::\d+)?(?:<.*)?[\s`'\"]*$",
    re.DOTALL,
)
"""Parts of a model's own format that servers leave in the names of functions."""


def _offered(name: str, names: Collection[str]) -> str:
    """Return the offered name that differs in case or punctuation alone, else the name itself."""
    if name in names:
        return name
    alike = [each for each in names if _letters(each) == _letters(name)]
    return alike[0] if len(alike) == 1 else name


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())


_DEEPEST = 5  # objects around the arguments of a call
_LEAKED = (
    # Gemma's marks of quotes, whole or half: inside the quotes of JSON, and instead of them
    (re.compile(r'<\|\\"\|>?(?:\\")?'), ""),
    (re.compile(r'<\|"\|>'), '"'),
    # The last tags of the call, at the end of a text
    (
        re.compile(
            r"(?:</(?:payload|content|parameters?|arg_value|arguments?|function|invoke|tool_call)>"
            r'(?:\\n|\s)*)+(?="\s*[,}])'
        ),
        "",
    ),
)
"""Signs of a model's own format that servers leave in the arguments of functions."""


def _bare(arguments: str, name: str) -> str:
    """Return the arguments of a call without what models put around them.

    Such as a list of one, an object whose only field is called ``arguments``, or the whole call.
    Arguments without any of these, and texts that are no JSON, are returned as they are.
    """
    bare = arguments
    for sign, quote in _LEAKED:
        bare = sign.sub(quote, bare)
    arguments = bare
    # Some servers escape the whole text as in HTML.
    if '"' not in bare:
        bare = unescape(bare)
    for depth in range(_DEEPEST):
        try:
            inner = _inside(json.loads(bare), name)
        except (ValueError, RecursionError):
            break
        if depth == 0:
            arguments = bare
        if inner is None:
            return bare
        bare = (
            inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False)
        )
    return arguments


def _inside(value: Any, name: str) -> Any:
    """Return the arguments that a value contains; None if it is the arguments themselves."""
    others: dict[str, Any] = {}
    inner = value
    if isinstance(value, list) and len(value) == 1:
        inner = value[0]
    elif isinstance(value, Mapping):
        # All but the name of the call itself
        others = {k: v for k, v in value.items() if k not in _NAME_KEYS or v != name}
        around = [key for key in others if key in _WRAPPERS or key.startswith("$")]
        if len(around) != 1:
            return None
        inner = others.pop(around[0])
    if isinstance(inner, str) and inner.lstrip().startswith("{"):
        inner = json.loads(inner)
    # A field may stand next to those that are inside.
    if not isinstance(inner, Mapping) or inner.keys() & others.keys():
        return None
    return {**others, **inner}


def _listed_calls(message: JsonObject) -> list[JsonObject]:
    """Return the calls of a message: those listed, one in the form before lists, or parts of the
    content."""
    listed = next(filter(None, map(message.get, _LISTS)), None)
    if isinstance(listed, str):
        with suppress(ValueError, RecursionError):
            listed = json.loads(listed)
    if isinstance(listed, dict):
        listed = [listed]
    if not isinstance(listed, list):
        listed = _parts(message)
    return [entry for entry in listed if isinstance(entry, dict)]


def _parts(message: JsonObject) -> list[Any]:
    """Return the parts of a content that are calls."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return [p for p in parts if isinstance(p, dict) and p.get("type") in _PART_TYPES]


# Letters and digits of an ID: Mistral accepts no other length, and no other characters.
_ID_LENGTH = 9


def _unused_id(used: Collection[str]) -> str:
    """Return an ID that no call of the conversation has."""
    number = len(used)
    while True:
        number += 1
        call_id = f"call{number:0{_ID_LENGTH - 4}}"
        if call_id not in used:
            return call_id


# Calls in words.

_HEAD = """
FUNCTIONS
{listed}

Answer with one JSON object that calls one of them, for example
{example}"""


def described(tools: Sequence[Tool]) -> str:
    """Return the functions and their arguments as text, with the form of a call."""
    lines = []
    for tool in tools:
        lines.append(f"{tool.name}: {tool.description}")
        for name, form in tool.parameters.get("properties", {}).items():
            about = str(form.get("description") or "")
            # The options of an action change from step to step; those of other fields are few.
            if "enum" in form and name != "action":
                about = f"{about} ({', '.join(map(str, form['enum']))})".strip()
            lines.append(f"  {name}: {about}".rstrip(": "))
    blank = dict.fromkeys(tools[0].parameters.get("properties", {}), "...")
    example: dict[str, Json] = {"tool": tools[0].name, "arguments": blank}
    if len(tools) > 1:
        example = {"call": example}  # as in the schema
    shown = json.dumps(example, ensure_ascii=False)
    return _HEAD.format(listed="\n".join(lines), example=shown)


def call_schema(tools: Sequence[Tool]) -> dict[str, Json]:
    """Return the JSON schema of a call in words."""
    forms: list[Json] = []
    for tool in tools:
        properties = {
            "tool": {"type": "string", "enum": [tool.name]},
            "arguments": dict(tool.parameters),
        }
        forms.append(object_schema(properties))
    if len(forms) == 1:
        only: dict[str, Json] = forms[0]
        return only
    # Strict schemas must not have their alternatives at the top.
    return object_schema({"call": {"anyOf": forms}})


def object_schema(properties: JsonObject) -> dict[str, Json]:
    """Return the schema of an object with exactly these properties, all required.

    Strict modes of servers accept no optional properties and no others.
    """
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def in_words(
    prompt: Sequence[Message], sampling: Sampling
) -> tuple[list[Message], Sampling]:
    """Return a conversation with tools as one without: functions at the end of the system message,
    calls as JSON objects, results as messages of the user. The schema of a call constrains the
    answer."""
    words: list[Message] = []
    for message in prompt:
        if message.role == "tool":
            message = user(message.content)
        elif message.calls:
            texts = [message.content, *map(_call_text, message.calls)]
            message = Message("assistant", "\n".join(filter(None, texts)))
        # Roles must alternate: the results of several calls are one message.
        if words and words[-1].role == message.role == "user":
            earlier = words[-1]
            content = f"{earlier.content}\n\n{message.content}"
            images = earlier.images + message.images
            words[-1] = replace(earlier, content=content, images=images)
        else:
            words.append(message)
    text = described(sampling.tools)
    schema = call_schema(sampling.tools)
    changed = replace(sampling, tools=(), parallel_calls=False, json_schema=schema)
    if words and words[0].role == "system":
        words[0] = replace(words[0], content=f"{words[0].content}\n{text}")
    else:
        words.insert(0, Message("system", text.strip()))
    return words, changed


def _call_text(call: ToolCall) -> str:
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        arguments = call.arguments
    return json.dumps({"tool": call.name, "arguments": arguments}, ensure_ascii=False)


_NAME_KEYS = ("tool", "name", "function", "tool_name", "recipient_name")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "tool_input")
_WRAPPERS = (*_ARGUMENT_KEYS, "params", "kwargs", "properties")
# ``look(direction="left")``, of Llama 4
_PYTHONIC = re.compile(
    r"\b([a-z_]\w{0,63})\(((?:\s*\w+\s*=\s*(?:\"[^\"]*\"|'[^']*')\s*,?)*)\)"
)
_KEYWORD = re.compile(r"(\w+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
MOST_READ = 20_000  # characters of a text that are searched for calls


def calls_in(text: str, names: Collection[str]) -> tuple[ToolCall, ...]:
    """Return the calls of the named tools that a text contains, without IDs. In the form of a chat
    template, a call may have another name: agents take a verb that is called as a function for its
    action."""
    text = own_turn(text[:MOST_READ])
    found = []
    for call in written_calls(text):
        name = _offered(call.name, names)
        arguments = _bare(json.dumps(call.arguments, ensure_ascii=False), name)
        found.append(ToolCall("", name, arguments))
    if found:
        return tuple(found)
    for value, start, _ in json_values(text, "{", lambda value: _named(value, names)):
        named = _named(value, names)
        # A call in quotes is an example that the model gives, not a call.
        if named and not is_quoted(text, start):
            found.append(ToolCall("", *named))
    if found:
        return tuple(found)
    # Python's form comes last, as prose contains it most easily.
    # For the same reason, one without arguments counts only if nothing else does.
    for name, keywords in _PYTHONIC.findall(text):
        if name in names and (keywords or not found):
            fields = {key: one or two for key, one, two in _KEYWORD.findall(keywords)}
            found.append(ToolCall("", name, json.dumps(fields, ensure_ascii=False)))
    return tuple(found)


def _named(value: Any, names: Collection[str]) -> tuple[str, str] | None:
    """Return the name and arguments of a call in any of the usual forms, None for others."""
    for outer in ("call", "function", "function_call", "tool_call"):
        if isinstance(value.get(outer), dict):
            value = value[outer]
    name = next((value[key] for key in _NAME_KEYS if key in value), None)
    if not isinstance(name, str):
        return None
    name = _offered(name.strip().removeprefix("functions."), names)
    if name not in names:
        return None
    arguments = next((value[key] for key in _ARGUMENT_KEYS if key in value), None)
    if arguments is None:
        # The arguments next to the name.
        arguments = {k: v for k, v in value.items() if k not in _NAME_KEYS}
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return name, _bare(arguments, name)
