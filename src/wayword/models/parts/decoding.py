"""Constrained decoding and parsing of answers: JSON schemas, lists of options, reasoning text.

Schemas are closed here: without ``additionalProperties: false`` a small model invents keys forever,
and without the whitespace rule it repeats blanks inside the JSON.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from html import unescape
from itertools import islice, takewhile
from typing import Any
from unicodedata import normalize

from wayword.core.episode import Json, JsonObject
from wayword.core.errors import ModelError
from wayword.core.model import Choice, Completion, Message, Sampling, user

_LONE_ESCAPE = re.compile(
    r"\\u(?:d[89ab]..(?!\\ud[c-f])|(?<!\\ud[89ab]..\\u)d[c-f]..)", re.I
)
"""A lone surrogate as a JSON escape, which hides in ASCII."""
_MOST_BRACKETS = 30  # brackets that are tried as the beginning of a JSON value
_LENIENT = json.JSONDecoder(strict=False)
_OPENS_DIALECT = re.compile(r"\[|\{\s*(?://[^\n]*\s*)?(?:['\"“„«\\]|\w+\s*:)")
_LONGEST_DIALECT = 8_000  # characters that are parsed, as of an answer
_REPAIRS = tuple(
    (re.compile(pattern, re.MULTILINE), replacement)
    for pattern, replacement in (
        (r",(?=\s*[}\]])", ""),
        (r"//[^\n\"]*$|/\*[^\"]{0,200}?\*/", ""),
        (r"(?<=[\[\]{},:\s])\\n|\\n(?=\s*[}\]])", " "),
        (r"([{,]\s*)([A-Za-z_]\w*)(?=\s*:)", r'\1"\2"'),
        (r'„([^"„“”]*)"', r"'\1'"),
        ("[“”„«»]", '"'),
        (r'\\+(?=")', ""),
        (r'"\s*[，、]\s*(?=")', '",'),
        (r'(?<=\w[\[(])"([^"\[\]()]*)"(?=[\])])', r"'\1'"),
        (r'"[ \t]*\n\s*"(?=\w+"\s*:)', '",\n"'),
        (r'([^\s{\[,:\\]\s*)"(?!\s*[,:}\]])', r"\1\""),
    )
)
"""What models write that is no JSON: a comma after the last entry, comments, line breaks that are
escaped outside of texts, keys without quotes, curly quotes, escaped quotes around texts, commas of
Chinese, quotes around the argument of a call, no comma at a line's end, quotes inside a text."""


_BACKSLASH = re.compile(r"(?<!\\)(\\)(?![\\'\"abfnrtvxuUN0-7\n])")


def json_values(
    text: str,
    bracket: str,
    fits: Callable[[Any], object],
    decoder: json.JSONDecoder = _LENIENT,
) -> Iterator[tuple[Any, int, int]]:
    """Yield each outermost JSON value that begins with a bracket and fits, its start and end. The
    limit on attempts bounds the time for text that is full of brackets.

    A value may also be written as in Python, or in one of the dialects that are repaired.
    """
    text = _LONE_ESCAPE.sub(r"\\ufffd", text)
    end = 0
    for _ in range(_MOST_BRACKETS):
        start = text.find(bracket, end)
        if start < 0:
            return
        end = start + 1
        with suppress(ValueError, TypeError, RecursionError, MemoryError):
            value, after = _decoded(text, start, decoder)
            if fits(value):
                yield value, start, after
                end = after


def _decoded(text: str, start: int, decoder: json.JSONDecoder) -> tuple[Any, int]:
    """Return the value that begins at ``start``, and its end. Raises ``ValueError`` and others of
    the decoders if there is none."""
    # A text may itself look like something to repair, so only what is no JSON is repaired.
    with suppress(ValueError):
        return decoder.raw_decode(text, start)
    longest = text[start : start + _LONGEST_DIALECT]
    if not _OPENS_DIALECT.match(longest):
        raise ValueError("no JSON")
    ends = re.finditer("}" if longest[0] == "{" else "]", longest)
    for closing in islice(ends, _MOST_BRACKETS):
        for repaired in _dialects(longest[: closing.end()]):
            with suppress(ValueError):
                return decoder.decode(repaired), start + closing.end()
    raise ValueError("neither JSON nor one of its dialects")


def _dialects(text: str) -> Iterator[str]:
    """Yield a text with one repair more each time, and as JSON if it is a Python literal."""
    repaired = text
    for pattern, replacement in _REPAIRS:
        repaired = pattern.sub(replacement, repaired)
        yield repaired
    with suppress(SyntaxError):
        # A literal of texts, numbers and containers: no name is looked up, nothing runs.
        # Python warns of a backslash without a meaning, or refuses it, as its user has set.
        yield json.dumps(ast.literal_eval(_BACKSLASH.sub(r"\1\1", text)))


_QUOTES = r"[ \t`'\"“”‘’(),;]*"
_SENTENCE_BEFORE = re.compile(rf"\w{_QUOTES}\Z")
_SENTENCE_AFTER = re.compile(rf"[>\]}}]{_QUOTES}[^\W\d_A-Z][^<\[{{>\]}}]*\Z")


def is_quoted(text: str, start: int) -> bool:
    """True for a call within a sentence, which is not meant: words lead to the first call of its
    line without a colon or an end, and continue in lower case after the last one.

    >>> is_quoted('I wrote {"action": "stop"} before.', 8), is_quoted('I do: {"action": "stop"}', 6)
    (True, False)
    """
    begin = text.rfind("\n", 0, start) + 1
    line = text[begin:].split("\n", 1)[0]
    before = re.split(r"[<\[{]", line[: start - begin])[0]
    is_within = _SENTENCE_BEFORE.search(before) and _SENTENCE_AFTER.search(line)
    return is_within is not None


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def close_schema(schema: JsonObject, *, guidance: bool = True) -> dict[str, Json]:
    """Return the schema with objects closed to other keys, and without free white space.

    Existing keys are kept. ``guidance`` adds the ``x-guidance`` rule of llama.cpp's decoder; hosted
    servers reject keys they do not know.
    """
    closed: dict[str, Json] = _close_objects(schema)
    if guidance:
        closed.setdefault("x-guidance", {"whitespace_flexible": False})
    return closed


def _close_objects(node: Any, names: bool = False) -> Any:
    """Close the objects of a schema. With ``names``, the keys are property names, not keywords."""
    if isinstance(node, Mapping):
        inner = {
            key: _close_objects(
                value, key in ("properties", "$defs", "definitions") and not names
            )
            if names or key not in ("enum", "const", "default", "examples")
            else value
            for key, value in node.items()
        }
        if not names and ("properties" in inner or inner.get("type") == "object"):
            inner.setdefault("additionalProperties", False)
        return inner
    if isinstance(node, list | tuple):
        return [_close_objects(item) for item in node]
    return node


_LENGTHS = frozenset({"maxLength", "minLength", "maxItems", "minItems"})


def without_lengths(schema: Any) -> Any:
    """Return a schema without length limits, for servers that do not support them. Properties with
    such a name are kept."""
    if isinstance(schema, Mapping):
        lengths = {k for k, v in schema.items() if k in _LENGTHS and isinstance(v, int)}
        return {k: without_lengths(v) for k, v in schema.items() if k not in lengths}
    if isinstance(schema, list):
        return [without_lengths(item) for item in schema]
    return schema


def llamacpp_form(sampling: Sampling) -> dict[str, Json]:
    """Return llama.cpp's request fields for the constraint of ``sampling``; choices become a GBNF
    grammar. Raises ``ModelError`` for an empty list of choices."""
    if sampling.json_schema is not None:
        return {"json_schema": close_schema(sampling.json_schema)}
    if sampling.choices is not None:
        if not sampling.choices:
            raise ModelError("choices must contain at least one answer")
        escaped = {ord(sign): text for sign, text in _ESCAPES.items()}
        for sign in set("".join(sampling.choices)):
            if not sign.isprintable():
                escaped.setdefault(ord(sign), f"\\U{ord(sign):08X}")
        quoted = (f'"{choice.translate(escaped)}"' for choice in sampling.choices)
        return {"grammar": f"root ::= {' | '.join(quoted)}", "stop": []}
    if sampling.grammar is not None:
        return {"grammar": sampling.grammar}
    return {}


def longest(choices: Sequence[str]) -> int:
    """Return a token limit that fits every choice: a token has at least one byte."""
    return max(len(choice.encode()) for choice in choices) + 1


def describe_form(sampling: Sampling) -> str:
    """Return text that states the constraint in a prompt, for models that cannot enforce it."""
    if sampling.choices:
        listed = "\n".join(f"- {option}" for option in sampling.choices)
        return f"\n\nAnswer with exactly one of these lines and nothing else:\n{listed}"
    if sampling.json_schema is None:
        return ""
    text = json.dumps(sampling.json_schema, ensure_ascii=False)
    return f"\n\nAnswer with one JSON object and nothing else. Its schema:\n{text}"


def as_message(text: str, sampling: Sampling) -> Message:
    """Return raw text as a message for a chat model, which is asked to continue the text if the
    answer has no constraint."""
    is_free = not (sampling.choices or sampling.json_schema or sampling.grammar)
    return user(text + _CONTINUATION_REQUEST if is_free else text)


_CONTINUATION_REQUEST = (
    "\n\n(The text breaks off here. Continue it from exactly there, in its own form. Write only "
    "what comes next.)"
)
_PUNCTUATION = " \t\r\n\"'`*_.,;:!()[]{}-“”"
_LEAD_IN = re.compile(
    r"\W*(?:\d{1,3}\s*[.):])?(?:[\s*_]*[a-z][a-z ]{0,30}[*_]*:)?", re.IGNORECASE
)
"""A number or label before an option: ``5.``, ``Next action:``."""
_FENCE = re.compile(r"^\s*```\w*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL)


def matched(answer: str, options: Sequence[str]) -> str:
    r"""Return the option that a short answer names, ignoring case and punctuation; else empty.

    A code fence, a number and a label around it are ignored. After other text, the last line
    counts if no earlier line is an option: an answer that lists several options names none.

    >>> matched('**5. Turn left.**', ["turn left", "stop"]), matched("left or right", ["left"])
    ('turn left', '')
    >>> matched("Next action: left", ["left"]), matched("It is free.\n\nno", ["yes", "no"])
    ('left', 'no')
    >>> matched("no\nyes", ["yes", "no"])
    ''
    """
    if answer in options:
        return answer
    by_text: dict[str, list[str]] = {}
    for option in options:
        by_text.setdefault(option.strip(_PUNCTUATION).casefold(), []).append(option)
    # The answer without a fence, and without a number and a label that are no option themselves.
    inner = answer
    if fenced := _FENCE.match(answer):
        inner = fenced[1]
    rest = inner
    lead = _LEAD_IN.match(inner)
    if lead and lead[0].strip(_PUNCTUATION).casefold() not in by_text:
        rest = inner[lead.end() :]
    *before, last = [
        line.strip(_PUNCTUATION).casefold() for line in inner.strip().split("\n")
    ]
    if by_text.keys() & set(before):
        last = ""
    for text in (inner, rest, last):
        matches = by_text.get(text.strip(_PUNCTUATION).casefold(), [])
        if len(matches) == 1:
            return matches[0]
    return ""


def cut(text: str, finish: str, stops: Sequence[str]) -> tuple[str, str]:
    """Return the text before its first stop sequence, and the finish reason."""
    for stop in stops:
        head, stopped, _ = text.partition(stop)
        text = head
        finish = "stop" if stopped else finish
    return text, finish


NOTHING_WRITTEN = "(nothing; if reasoning used all tokens, raise model.thinking)"
UNPICKED_LOGPROB = -1000.0  # of the other options if only the winner is known


def picked(
    options: Sequence[str], answer: Completion, reasoning: Sequence[str]
) -> Choice:
    """Return the choice of a model that wrote one of the options, or another text."""
    text = answer.text
    values = tuple(0.0 if option == text else UNPICKED_LOGPROB for option in options)
    choice = Choice(tuple(options), values, answer.usage, seconds=answer.seconds)
    other = "" if text in options else text.strip() or NOTHING_WRITTEN
    return replace(choice, picked=True, reasoning=tuple(reasoning), other_text=other)


def check_options(options: Sequence[str]) -> tuple[str, ...]:
    """Return the options of ``choose``. Raises ``ModelError`` for no option or an empty one."""
    if not options or not all(option.strip() for option in options):
        raise ModelError("choose needs at least one option, and none may be empty")
    return tuple(options)


def prefix_length(lists: Iterable[Sequence[int]]) -> int:
    """Return the length of the common prefix of all lists."""
    return sum(
        1
        for _ in takewhile(
            lambda tokens: len({*tokens}) == 1, zip(*lists, strict=False)
        )
    )


# The boundary between a prompt and an option that is ranked as its continuation.
#
# Tokenizers join a blank to the word after it, so ``"5. "`` followed by ``"forward"`` would be
# tokens that occur in no text. The blank between them is therefore moved to the option: ``"5."`` +
# ``" forward"``.

_OPENERS = "([{<\"'`"


def continued(prompt: str, option: str) -> tuple[str, str]:
    """Return the prompt without trailing blanks, and the option with the blank between them.

    A missing blank is inserted if the prompt ends in a word or a closing sign:
    ``continued("5.", "left")`` and ``continued("5. ", "left")`` are both ``("5.", " left")``, while
    ``continued("(", "A")`` is ``("(", "A")``. An option that begins with white space keeps it.
    """
    base = prompt.rstrip(" ")
    gap = prompt[len(base) :]
    if gap or not base or base[-1].isspace() or base[-1] in _OPENERS:
        return base, gap + option
    if option[:1].isspace():
        return base, option
    return base, " " + option


# Control tokens of chat templates, which are text where a dataset or a player writes them.

BREAK = "\ufdd0"
"""A noncharacter that separates the parts of a text that are tokenized each on its own."""
_CANDIDATE = re.compile(r"<[^\s<>\[\]]{1,60}>|\[[^\s<>\[\]]{1,60}\]")
"""Texts with the form of control tokens: ``<|im_start|>``, ``</s>``, ``[INST]``."""


def without_surrogates(text: str) -> str:
    """Return the text without unpaired surrogates, which no request and no file can hold."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def broken(text: str, is_control: Callable[[str], bool]) -> str:
    """Return a text whose control tokens are broken after their first character, so that a
    tokenizer reads them as text, and without unpaired surrogates, which none can read."""
    text = without_surrogates(text)

    def broken_token(match: re.Match[str]) -> str:
        """Return a control token with a break inside, so that it is read as text."""
        token = match[0]
        return token[0] + BREAK + token[1:] if is_control(token) else token

    return _CANDIDATE.sub(broken_token, text.replace(BREAK, "\ufffd"))


# Reasoning text of a model, separated from its answer.

_CHANNEL = "<|channel|>"
_CHANNELS = tuple(
    (re.compile(pattern, re.DOTALL), replacement)
    for pattern, replacement in (
        # gpt-oss: channels, of which only `final` is the answer; some servers drop the marks.
        # A call of a function is an answer too: it is written as other models write theirs.
        # What follows it is none, but for another call; a function's own turn is invented.
        (r"<\|start\|>functions\..*", ""),
        (r"<\|call\|>", "<think>"),
        (r"(?:<\|end\|>)?(?:<\|start\|>\w*)?(?:\s{0,9}to=(?:functions\.)?(?!assistant)(\w+)\s{0,9})?<\|channel\|>\w+\s*"
         r"(?(1)|to=(?:functions\.)?(?!assistant)(\w+)).{0,80}?<\|message\|>",
         r"</think>[TOOL_CALLS]\1\2[ARGS]"),
        (r"(?:<\|end\|>)?(?:<\|start\|>\w*)?<\|channel\|>final.*?<\|message\|>", "</think>"),
        (r"(?:<\|end\|>)?(?:<\|start\|>\w*)?<\|channel\|>\w+.*?<\|message\|>", "<think>"),
    )
)  # fmt: skip
"""The marks of gpt-oss, which are looked for at every place of a text, and so only where one is."""
_MARKS = tuple(
    (re.compile(pattern, re.DOTALL), replacement)
    for pattern, replacement in (
        # Tags that are written twice as closed, or are empty
        (r"<(?:\\/|//+)", "</"),
        (r"<think(?:ing)?\s*/>", ""),
        # BALROG's tag of an action
        (r"<\|(?i:action)\|>((?:(?!<\|).)*?)(?:<(?:/\||\|/)(?i:action)\|>|<\|(?i:end)\|>|(?=<\|(?i:action))|\Z)",
         r"<action>\1</action>"),
        # Headers of the model's own turn
        (r"\A\s*(?:<\|(?:im_start|(?:start_)?header_(?:id|start))\|>assistant(?:<\|(?:end_)?header_(?:id|end)\|>)?\s"
         r"|<\|assistant\|>|<｜Assistant｜>|<start_of_turn>model\s"
         r"|assistant(?:\n\n|:\s)|Assistant:\s)", ""),
        (r"\A(?:assistant)?analysis(.*?)assistantfinal", r"<think>\1</think>"),
        (r"<\|channel>thought\s|<unused94>thought\s", "<think>"),  # Gemma, MedGemma
        (r"<channel\|>|<unused95>", "</think>"),
        ("◁(/?)think▷", r"<\1think>"),  # Kimi
        # Cohere, Solar, Apertus, MiniCPM
        (r"<\|(?:START_THINKING|begin_of_thought|think|inner_prefix|thought_start)\|>", "<think>"),
        (r"<\|(?:END_THINKING|end_of_thought|inner_suffix|thought_end)\|>", "</think>"),
        (r"<\|end\|><\|begin\|>assistant<\|content\|>", "</think>"),
        (r"\AHere is my thought process:(.*?)Here is my response:", r"<think>\1</think>"),
        (r"\[BEGIN FINAL RESPONSE\]", "</think>"),  # Apriel
        (r"\]<\]minimax\[>\[", ""),  # MiniMax, around each part of a call
        # Gateways and chat pages
        (r"&lt;(/?)think(?:ing)?&gt;", r"<\1think>"),
        (r'\A\s*<details type="reasoning"[^<>]{0,99}>(.*?)</details>', r"<think>\1</think>"),
        (r"\A\s*```(?:think\w*|thought|reasoning)\s(.*?)\n```", r"<think>\1</think>"),
        (r"\[END FINAL RESPONSE\]|<\|(?:START|END)_(?:RESPONSE|TEXT)\|>", ""),
        (r"<\|(?:begin|end)_of_(?:box|solution)\|>", ""),  # GLM
        # Ends of turns, which are no text; the lookbehind reads long runs of spaces only once
        (r"(?<!\s)(?:\s*(?:<\|(?:im_end|eot_id|eom_id|end\w*|return|END_OF_TURN_TOKEN)\|>"
         r"|<end_of_turn>|</s>|<｜end▁of▁sentence｜>))+\s*\Z", ""),
    )
)  # fmt: skip
"""Marks of models' own formats, which servers without a parser of them leave in the answer, and the
tag that stands for each."""
_SURROGATES = re.compile(
    r"(\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|\\ud[89a-f][0-9a-f]{2}", re.IGNORECASE
)
"""Escaped surrogates in a JSON answer: a pair, or an unpaired one, which no file can hold."""
_THINK_TAG = re.compile(
    r"<\s?(/?)\s?(?:\w{1,12}[:_])?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad)"
    r"(?:\s[^<>]{0,80})?>|\[(/?)THINK\]",
    re.I,
)
_ANSWER_TAG = re.compile(
    r"\s*<(answer|response|output|execute\w{0,12}|cmd|tool_code)>((?:(?!<\1>).)*)</\1>"
    r"(?:\s*<\1>\2</\1>)*\s*",
    re.I | re.DOTALL,
)
"""A tag around the whole answer: Hunyuan, Ernie, models trained in the manner of R1, and those that
were trained to run code. Two tags with other texts are two answers."""
_MARKED = re.compile(
    r"[<◁\\]|&lt;|```|\[(?:/?THINK|BEGIN|END)|ssistant|\AHere is my", re.I
)
"""A part of each mark and tag above: most answers have none, and need no further search."""


def split_thought(text: str) -> tuple[str, str]:
    """Return the answer, and the text in reasoning tags.

    >>> split_thought("<think>The lamp is left.</think>Go left.")
    ('Go left.', 'The lamp is left.')

    A block without its end tag extends to the end of the text; one without its start tag began in
    the prompt, as with some chat templates. Blocks do not nest, as a thought may quote a tag. Tags
    inside a JSON answer are part of its strings.
    """
    if not _MARKED.search(text):
        return text, ""
    text = _SURROGATES.sub(lambda found: found[1] or r"\ufffd", text)
    marks = _MARKS
    if _CHANNEL in text:
        marks = _CHANNELS + _MARKS
    for mark, stands_for in marks:
        text = mark.sub(stands_for, text)
    if text.lstrip().startswith("{"):
        return text, ""
    answer = list[str]()
    reasoning = list[str]()
    is_open = False
    end = 0
    for tag in _THINK_TAG.finditer(text):
        piece = text[end : tag.start()]
        end = tag.end()
        is_closing = "/" in tag.groups()
        if is_open:
            reasoning.append(piece)
        # The start tag was in the prompt: all text so far is part of the thought.
        elif is_closing:
            reasoning += filter(None, [*answer, piece])
            answer = []
        else:
            answer.append(piece)
        is_open = not is_closing
    if is_open:
        reasoning.append(text[end:])
    else:
        answer.append(text[end:])
    # Without tags, outer spaces stay: a continuation of raw text needs them.
    if end:
        text = "".join(answer).strip()
    if tagged := _ANSWER_TAG.fullmatch(text):
        text = tagged[2].strip()
    return text, "\n".join(reasoning).strip()


# Signs and markup of pages in place of plain text.

_TYPOGRAPHY: Mapping[int, str | int] = {
    # signs without a width: soft hyphens, marks of direction, joiners of words
    **dict.fromkeys(
        map(ord, "\u00ad\u200b\u200e\u200f\u202a\u202c\u2060\u2066\u2069\ufe0f\ufeff"),
        "",
    ),
    # the key around a digit: the two digits of a number have one each
    0x20E3: "",
    ord("🔟"): "10",
    **dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f\u3000"), " "),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2212"), "-"),
    # full-width, small and vertical forms; those between sentences are text, also of a message, and
    # the bar is part of the marks around calls
    **{
        code: normalize("NFKC", chr(code))
        for code in (0xFE13, *range(0xFE50, 0xFE6C), *range(0xFF01, 0xFF5F))
        if chr(code) not in "，！？；｜"
    },
    **str.maketrans("〖⟦❲〗⟧❳⟨❮⟩❯︰", "[[[]]]<<>>:"),
}
"""Signs in place of plain ones, which models use for the look of a text."""
_Replacement = str | Callable[[re.Match[str]], str]
_MARKUP: Sequence[tuple[str, _Replacement]] = (
    # A sign that is escaped as in Markdown: ``mug\\_1``. In JSON such an escape is an error.
    (r"(?<!\\)\\([_*#~\[\]{}()<>-])", r"\1"),
    # HTML, of pages and gateways
    (
        r"&(?:#x?[0-9a-f]{1,6}|[a-z]{2,8});",
        lambda sign: unescape(sign[0]),
    ),
    (r"<br\s*/?>", "\n"),
    (r"<!\[CDATA\[([\s\S]{0,4000}?)\]\]>", r"\1"),
    (r"</?(?:b|i|p|em|strong|code|pre|span|div)\b[^<>]{0,80}>", ""),
    # References to sources, of chat pages
    ("\ue200[^\ue201]{0,200}\ue201", ""),
)
"""Markup around words, and what stands in its place."""


def plain(text: str) -> str:
    """Return an answer without the typography and the markup of pages, which hide names.

    >>> plain("Action: <b>go\\u2011to</b>[mug\\\\_1]")
    'Action: go-to[mug_1]'
    """
    text = text.translate(_TYPOGRAPHY)
    for markup, replacement in _MARKUP:
        text = re.sub(markup, replacement, text, flags=re.IGNORECASE)
    return text
