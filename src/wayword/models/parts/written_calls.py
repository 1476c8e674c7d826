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
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from wayword.core.episode import Json
from wayword.models.parts.decoding import is_quoted

_PREFIX = r"(?:\w{1,20}[:_]|[|｜‖]{1,2}DSML[|｜‖]{1,2}\s?)?"  # of a tag
_SEPARATOR = "<[|｜]tool[▁_ ]sep[|｜]>"
_NO_VERB = (
    "(?:final_?)?(?:answer|response|output|result|action|act|choice|goal|observation|input"
    r"|arg\w*|param\w*)"
)
"""Tags that stand around an argument and are no verb."""
FLAT_ARGUMENTS = str.split(
    "object item target receptacle container destination location place room direction message text"
)
"""Keys of arguments, in the order in which actions take them:
``{"action": "put", "object": "mug_1", "receptacle": "shelf_1"}``."""
_JSON = ""  # instead of the pattern of an argument
_KEYWORDS = r"(?P<body>[^()]{0,2000})"
_KEYWORD = r"(?P<key>\w+)\s*=\s*[\"']?(?P<value>[^\"',]*)"
_NAME = r"(?:functions?\.)?(?P<name>[\w.-]{1,80})"
_TAG = "(?P<tag>invoke|function|function_call|tool|tool_call|tool_use|action)"
_LAST = (
    r"\s*(?:</[^<>]{1,40}>\s*)?"
    rf"(?:\Z|(?=<{_PREFIX}(?:tool_?calls?|calls|function_calls|invoke|function|tool)\b))"
)
"""The end of a text, or another call, after the last argument: a model may forget the inner end."""
_TAGGED = (
    rf"<(?:{_PREFIX}(?:parameter|param|argument|arg)(?:\s+(?:name|key))?\s?=\s?[\"']?)?"
    r"(?P<key>[\w-]+)[^<>]*>(?P<value>[^<]*)(?:</|\Z)"
)
"""An argument in tags: ``<parameter=object>``, ``<parameter name="object">`` or ``<object>``."""


@dataclass(frozen=True)
class WrittenCall:
    """A call between two positions of a text."""

    start: int
    end: int
    name: str
    arguments: Json


_FORMS = (
    # Qwen3-Coder, Seed; a model may write the name as it writes those of arguments
    (
        "</",
        rf"<(?:function|parameter(?=[^<>]*>\s*<parameter=))\s?=\s?[\"']?{_NAME}[\"']?>(?P<body>.{{0,4000}}?)"
        rf"(?:</\w{{0,20}}(?:function|tool_call|function_invocation)>|(?<=</parameter>){_LAST})",
        _TAGGED,
    ),
    # MiniMax, with arguments as attributes
    (
        "name=",
        rf"<{_PREFIX}{_TAG}\s+name=[\"']{_NAME}[\"']"
        r"(?P<body>(?:\s+[\w-]{1,80}=(?:\"[^\"<>]{0,400}\"|'[^'<>]{0,400}'))+)\s*"
        rf"(?:/>|>\s*</{_PREFIX}(?P=tag)>)",
        r"(?<![\w-])(?!(?:(?:tool_?)?(?:call_|use_)?)?(?:id|type)=)"
        r"(?P<key>[\w-]+)=([\"'])(?P<value>.*?)\2",
    ),
    # MiniMax, Anthropic, DeepSeek 3.2 and 4, and models that imitate them
    (
        "name=",
        rf"<{_PREFIX}{_TAG}\s+name=[\"']{_NAME}[\"'][^<>/]{{0,80}}"
        rf"(?:/>|>(?P<body>.{{0,4000}}?)(?:</{_PREFIX}(?P=tag)>|(?<=parameter>){_LAST}))",
        _TAGGED,
    ),
    # The name in a tag of its own
    (
        ">",
        rf"<{_PREFIX}{_TAG}>\s*<(?:\w+_)?(?:name|verb)>\s*{_NAME}\s*</(?:\w+_)?(?:name|verb)>"
        rf"(?P<body>.{{0,4000}}?)</{_PREFIX}(?P=tag)>",
        _TAGGED,
    ),
    (
        "name>",
        rf"(?:<(?:{_PREFIX}{_TAG}|use_mcp_tool)>\s*)?(?:<server_name>[^<>]{{0,80}}</server_name>\s*)?"
        rf"<(?:\w+_)?name>\s*{_NAME}\s*</(?:\w+_)?name>\s*<\w+>(?=\s*\{{)",
        _JSON,
    ),
    (
        "</action>",
        rf"<action>\s*{_NAME}\s*</action>\s*(?P<body>(?:<(?!th|reason)\w+>[^<]*</\w+>\s*)+)",
        _TAGGED,
    ),
    # Clients whose tags are the names themselves: Cline, Roo
    (
        "</",
        rf"<(?P<name>(?!{_NO_VERB}\b)[a-z]\w{{1,30}})>\s*"
        rf"(?P<body>(?:<(?P<key>{'|'.join(FLAT_ARGUMENTS)})>[^<]*</(?P=key)>\s*)+)</(?P=name)>"
        # A state or a memory of this form is followed by the answer.
        r"(?=\s*(?:<[a-z]|\Z))",
        _TAGGED,
    ),
    # GLM, LongCat; a call without arguments is the name alone
    (
        "tool_call>",
        rf"<{_PREFIX}tool_call>\s*{_NAME}\s*(?:<tool_sep>\s*)?(?P<body>(?:<\w{{0,20}}arg_key>.{{0,4000}}?)?)(?:</{_PREFIX}tool_call>|(?<=arg_value>){_LAST})",
        r"<\w{0,20}arg_key>(?P<key>.*?)</\w{0,20}arg_key>\s*<\w{0,20}arg_value>(?P<value>.*?)</",
    ),
    (
        "call>",
        rf"<{_PREFIX}tool_?call>\s*{_NAME}\s+(?:```json\s*)?(?=\{{)",
        _JSON,
    ),
    # Gemma, in its forms with and without marks around the call and its values
    (
        "call:",
        rf"\bcall:(?:\w{{1,80}}:)?{_NAME}[({{](?P<body>[^(){{}}]{{0,2000}})[)}}]",
        r"(?P<key>[\w-]+)[\"']?\s*[:=]\s*(?:\[\s*(?=[^,\[\]]*\]))?(?:<\|\"\|>|<escape>|[\"'])?"
        r"(?P<value>\[[^\[\]]*\]|[^<\"',\]]*)",
    ),
    # Python calls that are printed (Gemini), or called by a method (Llama 3.1)
    ("print(", rf"\bprint\((?:default_api\.)?{_NAME}\({_KEYWORDS}\)\)", _KEYWORD),
    ("python_tag", rf"<\|python_tag\|>\s*{_NAME}\.call\({_KEYWORDS}\)", _KEYWORD),
    # ChatGLM3: a name, and a function of this name alone
    (
        "tool_call(",
        rf"(?:\A|(?<=\n))\s?{_NAME}\s*```python\s+tool_call\({_KEYWORDS}\)\s*```",
        _KEYWORD,
    ),
    # Llama 3.1, also as it is written without the sign at the end
    ("<function", rf"<function[=(]{_NAME}\)?>?(?=\s*\{{)", _JSON),
    # Mistral; the marks of gpt-oss are brought into this form as well
    (
        "[TOOL_CALLS]",
        rf"\[TOOL_CALLS\]\s*{_NAME}(?:\[CALL_ID\]\w+)?(?:\[ARGS\]|(?=\{{))",
        _JSON,
    ),
    # gpt-oss, without the marks of its channels
    ("to=functions.", rf"\bto={_NAME}\s[^{{\n]{{0,40}}\n?(?=\{{)", _JSON),
    # Kimi, without its marks
    ("functions.", rf"\bfunctions\.{_NAME}:\d+\s*(?=\{{)", _JSON),
    # Kimi, also with underscores in place of the signs in its IDs
    (
        "tool_call_argument_begin",
        r"(?:<\|tool_call_begin\|>\s*)?functions_(?P<name>[\w.-]{1,80})_\d+\s*"
        r"<\|tool_call_argument_begin\|>",
        _JSON,
    ),
    (
        "tool_call_argument_begin",
        rf"(?:<\|tool_call_begin\|>\s*)?{_NAME}(?::\d+)?\s*<\|tool_call_argument_begin\|>",
        _JSON,
    ),
    # DeepSeek, in its versions
    (
        "sep",
        rf"<[|｜]tool[▁_ ]call[▁_ ]begin[|｜]>"
        rf"(?:function{_SEPARATOR})?{_NAME}(?:{_SEPARATOR}|\s*```json)",
        _JSON,
    ),
    # Solar
    (
        "tool_call:args",
        rf"(?:<\|tool_call:begin\|>\w*)?<\|tool_call:name\|>\s*{_NAME}\s*<\|tool_call:args\|>",
        _JSON,
    ),
    # Apertus
    ("tools_prefix", rf"<\|tools_prefix\|>\[\{{\"{_NAME}\":\s*(?=\{{)", _JSON),
    # Functionary
    (">>>", rf">>>{_NAME}\n(?=\{{)", _JSON),
    # MiniMax, with arrows as in Ruby
    (
        "[TOOL_CALL]",
        rf"\[TOOL_CALL\]\s*\{{\s*tool\s*=>\s*[\"']{_NAME}[\"'],\s*args\s*=>\s*\{{(?P<body>[^{{}}]{{0,4000}})\}}\s*\}}\s*\[/TOOL_CALL\]",
        r"--(?P<key>[\w-]+)\s+[\"']?(?P<value>[^\"'\n]*)",
    ),
    # GLM-4, whose template has no marks: a name on a line, and then JSON
    (
        "\n{",
        rf"(?:\A|(?<=\n)|(?<=<\|assistant\|>))(?!(?:action|answer|json|output|response|result)\b)(?=[a-z]){_NAME}\n"
        r"(?=\{(?![^{}]*\"(?:action|name|thought)\"))",
        _JSON,
    ),
    # Qwen-Agent
    ("✿ARGS✿", rf"✿FUNCTION✿: ?{_NAME}\s*✿ARGS✿: ?", _JSON),
)
"""A text without which there is no such call; the call with the groups ``name`` and ``body``, and
each argument in the body with the groups ``key`` and ``value``; or the head of a call whose
arguments follow as a JSON object."""
_FRAME = re.compile(
    rf"</?{_PREFIX}(?:tool_?calls?|calls|invoke|function_calls|tool_use|tool)>|</(?:arguments|function|parameter)>"
    r"|<\|tool_call>|<tool_call\|>|<(?:start|end)_function_call>|function call<\|role_sep\|>"
    r"|<\|(?:/?tool_calls?|tool_call:end|tool_calls?_(?:section_)?(?:begin|end)|plugin"
    r"|python_(?:tag|start|end)|action_(?:start|end)|END_ACTION|tools_suffix"
    r"|START_ACTION|tool_call_start)\|>|(?:function)?<｜tool[\w▁ ]+｜>|(?<=\})\s*```(?=\s*<｜)"
)
"""What stands around calls, and has no meaning of its own."""
_RESULT = re.compile(
    r"<(?:tool_response|tool_result|function_results?)>|<｜tool▁outputs?▁begin｜>|\[TOOL_RESULTS\]"
    r"|<\|START_TOOL_RESULT\|>|<\|observation\|>|```tool_outputs?"
)
"""The beginning of a turn with the result of a call."""


def _single(pairs: Iterable[tuple[str, Json]]) -> dict[str, Json]:
    """Return arguments by name. Raises ``ValueError`` for one with two values."""
    arguments: dict[str, Json] = {}
    for name, value in pairs:
        if arguments.setdefault(name, value) != value:
            raise ValueError(f"{name} has two values")
    return arguments


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_single)
_PATTERNS = tuple(
    (sign, re.compile(rf"{call}\s*", re.DOTALL), re.compile(argument, re.DOTALL))
    for sign, call, argument in _FORMS
)


def written_calls(text: str) -> list[WrittenCall]:
    """Return the calls in a text, in order. A call that ends before it is complete is none, and
    neither is one that a sentence quotes."""
    found = []
    for sign, call, argument in _PATTERNS:
        for match in call.finditer(text) if sign in text else ():
            with suppress(ValueError, RecursionError):
                found.append(_read(match, argument))
    calls: list[WrittenCall] = []
    for each in sorted(found, key=lambda call: (call.start, call.end)):
        # Nothing inside another call is one.
        if not calls or each.start >= calls[-1].end:
            calls.append(each)
    # In a text of JSON, as in the thought of an answer, it is mentioned.
    if calls and text.lstrip().startswith("{"):
        with suppress(ValueError, RecursionError):
            _DECODER.decode(text)
            return []
    return [call for call in calls if not is_quoted(text, call.start)]


def own_turn(text: str) -> str:
    """Return a text without the result of its call, which the model invents, and what follows."""
    own = _RESULT.split(text, maxsplit=1)[0]
    return own if own.strip() else text


def as_objects(text: str) -> str:
    """Return a text with each written call as a JSON object on a line of its own, and other text as
    it is."""
    text = own_turn(text)
    pieces = []
    end = 0
    for call in written_calls(text):
        named = {"name": call.name, "arguments": call.arguments}
        pieces += [text[end : call.start], json.dumps(named, ensure_ascii=False)]
        end = call.end
    # A special token ends a line; a tag may stand in a sentence that quotes it.
    return _FRAME.sub(
        lambda frame: "\n" if frame[0][1] in "|｜" else "",
        "\n".join([*pieces, text[end:]]),
    )


def _read(match: re.Match[str], argument: re.Pattern[str]) -> WrittenCall:
    """Return the call of a match. Raises ``ValueError`` if its arguments are no JSON."""
    end = match.end()
    if argument.pattern == _JSON:
        arguments, end = _DECODER.raw_decode(match.string, end)
    elif (match["body"] or "").lstrip().startswith("{"):  # JSON in place of tags
        arguments = _DECODER.decode(match["body"])
    else:
        # Without its end, a call would take the arguments of the next one.
        if match["body"] and match.re.search(match.string, match.start("body"), end):
            raise ValueError("another call within its arguments")
        found = argument.finditer(match["body"] or "")
        arguments = _single((each["key"], each["value"].strip()) for each in found)
    return WrittenCall(match.start(), end, match["name"], arguments)
