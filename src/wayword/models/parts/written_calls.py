r"""Tool calls that a model wrote as text, as one JSON object each.

    >>> as_objects("<function=goto><parameter=object>mug_1</parameter></function>")
    '\n{"name": "goto", "arguments": {"object": "mug_1"}}\n'
    >>> as_objects("Go left.")
    'Go left.'

Models that are trained on tools write a call in the form of their chat template, also where no
tool was offered. A server without a parser for that template leaves the call in the text. The
forms are those of the published templates; each is one row of a table below.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass

from wayword.core.episode import Json

_PREFIX = r"(?:\w{1,20}[:_]|｜DSML｜)?"  # of a tag
_JSON = ""  # instead of the pattern of an argument
_KEYWORDS = r"(?P<body>[^()]{0,2000})"
_KEYWORD = r"(?P<key>\w+)\s*=\s*[\"']?(?P<value>[^\"',]*)"
_NAME = r"(?:functions?\.)?(?P<name>[\w.-]{1,80})"


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call between two positions of a text."""

    start: int
    end: int
    name: str
    arguments: Json


_FORMS = (
    # Qwen3-Coder
    (
        rf"<function={_NAME}>(?P<body>.{{0,4000}}?)</function>",
        r"<parameter=(?P<key>[\w-]+)>(?P<value>.*?)</parameter>",
    ),
    # MiniMax, Anthropic, DeepSeek 3.2
    (
        rf'<{_PREFIX}invoke name="{_NAME}">(?P<body>.{{0,4000}}?)</{_PREFIX}invoke>',
        rf'<{_PREFIX}parameter name="(?P<key>[\w-]+)"[^<>]*>(?P<value>.*?)</{_PREFIX}parameter>',
    ),
    # GLM, LongCat; a call without arguments is the name alone
    (
        rf"<{_PREFIX}tool_call>\s*{_NAME}\s*(?P<body>(?:<\w{{0,20}}arg_key>.{{0,4000}}?)?)</{_PREFIX}tool_call>",
        r"<\w{0,20}arg_key>(?P<key>.*?)</\w{0,20}arg_key>\s*<\w{0,20}arg_value>(?P<value>.*?)</",
    ),
    # Gemma, in its forms with and without marks around the call and its values
    (
        rf"\bcall:(?:\w{{1,80}}:)?{_NAME}[({{](?P<body>[^(){{}}]{{0,2000}})[)}}]",
        r"(?P<key>[\w-]+)\s*[:=]\s*(?:<\|\"\|>|<escape>|[\"'])?(?P<value>[^<\"',]*)",
    ),
    # Python calls that are printed (Gemini), or called by a method (Llama 3.1)
    (rf"\bprint\((?:default_api\.)?{_NAME}\({_KEYWORDS}\)\)", _KEYWORD),
    (rf"<\|python_tag\|>\s*{_NAME}\.call\({_KEYWORDS}\)", _KEYWORD),
    # Llama 3.1
    (rf"<function={_NAME}>(?=\s*\{{)", _JSON),
    # Mistral; the marks of gpt-oss are brought into this form as well
    (rf"\[TOOL_CALLS\]\s*{_NAME}(?:\[CALL_ID\]\w+)?\[ARGS\]", _JSON),
    # gpt-oss, without the marks of its channels
    (rf"\bto={_NAME}\s[^{{\n]{{0,40}}\n?(?=\{{)", _JSON),
    # Kimi
    (
        rf"(?:<\|tool_call_begin\|>\s*)?{_NAME}(?::\d+)?\s*<\|tool_call_argument_begin\|>",
        _JSON,
    ),
    # DeepSeek, in its two versions
    (rf"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{_NAME}\s*```json", _JSON),
    (rf"<｜tool▁call▁begin｜>{_NAME}<｜tool▁sep｜>", _JSON),
    # Functionary
    (rf">>>{_NAME}\n(?=\{{)", _JSON),
    # Qwen-Agent
    (rf"✿FUNCTION✿: ?{_NAME}\s*✿ARGS✿: ?", _JSON),
    # Chat pages that describe tools in the prompt
    (rf"<tool_use>\s*<name>{_NAME}</name>\s*<arguments>", _JSON),
)
"""A call with the groups ``name`` and ``body``, and each argument in the body with the groups
``key`` and ``value``; or the head of a call whose arguments follow as a JSON object."""
_FRAME = re.compile(
    rf"</?{_PREFIX}(?:tool_calls?|function_calls|tool_use)>|</arguments>|</function>|<\|tool_call>|<tool_call\|>"
    rf"|<(?:start|end)_function_call>|<\|tool_calls?_(?:section_)?(?:begin|end)\|>"
    r"|<\|/?tool_call\|>|<\|(?:plugin|python_tag|action_start|START_ACTION|tool_call_start)\|>"
    r"|<｜tool▁calls?▁(?:begin|end)｜>|(?<=\})\s*```(?=\s*<｜)"
)
"""What stands around calls, and has no meaning of its own."""
_SIGNS = (
    "<function=",
    "invoke name=",
    "tool_call",
    "[ARGS]",
    "to=functions.",
    "tool▁call",
    "<tool_use>",
    "call:",
    "print(",
    "python_tag",
    ">>>",
    "✿ARGS✿",
)
"""Texts without any of these have no written call."""
_DECODER = json.JSONDecoder(strict=False)
_PATTERNS = tuple(
    (re.compile(rf"{call}\s*", re.DOTALL), re.compile(argument, re.DOTALL))
    for call, argument in _FORMS
)


def written_calls(text: str) -> list[WrittenCall]:
    """Return the calls in a text, in order. A call that ends before it is complete is none."""
    if not any(sign in text for sign in _SIGNS):
        return []
    found = []
    for call, argument in _PATTERNS:
        for match in call.finditer(text):
            with suppress(ValueError, RecursionError):
                found.append(_read(match, argument))
    calls: list[WrittenCall] = []
    for each in sorted(found, key=lambda call: (call.start, call.end)):
        # Nothing inside another call is one.
        if not calls or each.start >= calls[-1].end:
            calls.append(each)
    return calls


def as_objects(text: str) -> str:
    """Return a text with each written call as a JSON object on a line of its own, and other text as
    it is."""
    pieces = []
    end = 0
    for call in written_calls(text):
        named = {"name": call.name, "arguments": call.arguments}
        pieces += [text[end : call.start], json.dumps(named, ensure_ascii=False)]
        end = call.end
    return _FRAME.sub("", "\n".join([*pieces, text[end:]]))


def _read(match: re.Match[str], argument: re.Pattern[str]) -> WrittenCall:
    """Return the call of a match. Raises ``ValueError`` if its arguments are no JSON."""
    end = match.end()
    if argument.pattern == _JSON:
        arguments, end = _DECODER.raw_decode(match.string, end)
    else:
        found = argument.finditer(match["body"])
        arguments = {each["key"]: each["value"].strip() for each in found}
    return WrittenCall(match.start(), end, match["name"], arguments)
