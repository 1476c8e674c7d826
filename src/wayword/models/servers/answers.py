"""Parsing of server replies: samples, token counts and log-probabilities.

Any field may be missing or malformed. Supports chat and text completions, both of OpenAI's formats
of log-probabilities, and llama.cpp's.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any

from wayword.core.errors import ModelError
from wayword.core.model import (
    PRICED_TIERS,
    Completion,
    TokenLogprob,
    ToolCall,
    Usage,
    estimated_tokens,
)
from wayword.core.secrets import redacted
from wayword.models.parts.calling import calls_in, read_calls
from wayword.models.parts.decoding import cut, json_values, matched, split_thought
from wayword.models.parts.written_calls import as_objects
from wayword.models.servers.requests import ANSWER, Request

# Per call: a larger count is a server's error, and would use up any budget
_MAX_TOKENS = 10**9
# Characters at the end of a thought in which a call is looked for
_LONGEST_CALL = 4_000
# Longer texts are estimated from this many characters, for speed
_ESTIMATED_CHARACTERS = 10_000


def choices(answer: object) -> list[Mapping[str, Any]]:
    """Return the samples of a reply. Raises a retryable ``ModelError`` if there are none."""
    listed = field(answer, "choices")
    if isinstance(listed, dict):
        listed = [listed]
    rows = [row for row in as_list(listed) if row is not None]
    if not rows or not all(isinstance(row, dict) for row in rows):
        shown = redacted(json.dumps(answer, default=str))[:120]
        raise ModelError(f"the server's reply has no choices: {shown}", retryable=True)
    # They may be listed in the order in which they ended.
    return sorted(rows, key=lambda row: next(iter(_counts([row], "index")), 0))


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample: its text, the reasoning before it, the finish reason, and tool calls.

    ``verbatim`` is the message that holds the calls, as it must be sent back.
    """

    text: str
    reasoning: str = ""
    finish: str = ""
    calls: tuple[ToolCall, ...] = ()
    verbatim: str = ""

    @property
    def written(self) -> str:
        """The text and the calls, which are tokens of the answer alike."""
        return "".join([self.text, *map(str, self.calls)])


_FINISHES = {
    "stop": """eos eos_token end_turn stop_sequence stop_token complete completed finish
        stop_criteria_met null none""",
    "length": """max_tokens max_completion_tokens max_output_tokens max_output max_length
        model_length model_context_window_exceeded error_limit time_limit token_limit
        context_length max_new_tokens maximum_tokens not_finished incomplete
        context_length_exceeded context_window_exceeded""",
    "tool_calls": "tool_use tool_call function_call function_calls",
    "content_filter": """safety recitation prohibited_content refusal sensitive blocklist spii
        image_safety image_prohibited_content image_recitation model_armor error_toxic
        content_filtered guardrail_intervened""",
    "error": """network_error insufficient_system_resource abort aborted cancelled canceled
        malformed_function_call unexpected_tool_call malformed_tool_use too_many_tool_calls
        missing_thought_signature malformed_model_output malformed_response""",
}
"""Finish reasons of the chat API, or ``error`` -> those of others, in words with underscores."""
_FINISH = {name: ours for ours, names in _FINISHES.items() for name in names.split()}
_NEW_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|[\s-]+")


def finish_of(choice: Mapping[str, Any]) -> str:
    """Return a choice's finish reason: the chat API's, else the server's own in lower case.

    Gateways write it as a name, as an object with a type, as ``FinishReason.MAX_TOKENS``, or after
    a kind, as in ``content_filter: RECITATION``.
    """
    for name in ("finish_reason", "finishReason", "stop_reason"):
        reason = field(choice.get(name), "type") or choice.get(name)
        if isinstance(reason, str) and reason:
            parts = re.split(r"[.:]\s*", reason.strip(" .:\n"))
            names = [_NEW_WORD.sub("_", part).lower() for part in reversed(parts)]
            names = [each.removeprefix("finish_reason_") for each in names]
            # The kind, where a server's own word follows it
            own = next((n for n in names if n in _FINISH or n in _FINISHES), names[0])
            return _FINISH.get(own, own)
    return ""


def name_limit(reply: object, request: Request) -> None:
    """Give a reply's only answer the reason ``length`` if it has as many tokens as it may have.

    Some servers and gateways call every end a natural one.
    """
    count = _first([mapping(reply, "usage")], "completion_tokens", "output_tokens")
    rows = as_list(field(reply, "choices"))
    if count != request.limit or len(rows) != 1 or not isinstance(rows[0], dict):
        return
    # Any reason but those that say what else has ended it
    if finish_of(rows[0]) not in ("tool_calls", "content_filter", "error"):
        rows[0]["finish_reason"] = "length"


_REASONING = (
    *("reasoning_content", "reasoning", "thinking", "thought", "thoughts"),
    *("reasoning_text", "reasoning_details", "thinking_blocks", "thinking_content"),
)
"""Fields of a message with its reasoning."""
_THOUGHTS = (
    *("thinking", "reasoning", "redacted_thinking", "reasoning_content"),
    *("reasoning_text", "summary_text"),
)
"""Types of the parts of a content that are reasoning."""
_THOUGHT_FIELDS = ("reasoningContent", "reasoning_content", "reasoningText")
"""Fields of such parts with their text, of servers whose parts have no type."""


def sample(choice: Mapping[str, Any], request: Request) -> Sample:
    """Return a sample: its text unwrapped, matched with the options and cut at stop sequences."""
    # Some servers answer in the form of a stream, or of the other route.
    message = mapping(choice, "message") or mapping(choice, "delta")
    text = _text(choice.get("text"))
    reasoning = ""
    calls: tuple[ToolCall, ...] = ()
    verbatim = ""
    if not request.chat:
        text = text or _text(message.get("content"))
        # Some servers repeat the prompt.
        text = text.removeprefix(str(request.prompt))
    else:
        content = message.get("content")
        parts = content if isinstance(content, list) else [content]
        thoughts = [*filter(_is_thought, parts)]
        answer = _text([part for part in parts if part not in thoughts])
        if request.form and not isinstance(request.prompt, str):
            calls, verbatim = read_calls(message, request.prompt, request.calls)
        if calls and not request.calls:  # a schema that was sent, or taken, as a tool
            if len(calls) == 1:
                answer = answer or calls[0].arguments
            calls = ()
            verbatim = ""
        answer = answer or _text(message.get("refusal")) or text
        text, inline = split_thought(redacted(answer))
        # Reasoning as parts of the content, else in the first field that has some, else in
        # the text itself.
        listed = [thoughts, *(message[name] for name in _REASONING if name in message)]
        reasoning = next(filter(None, map(_text, listed)), inline)
        if not (text.strip() or calls or finish_of(choice) == "length"):
            reasoning, text = _split_answer(reasoning, request)
    text = redacted(text)
    if request.worded:
        calls = calls_in(text, request.calls)
    if request.wrapped:
        text = _unwrap(text)
    if request.options:
        text = matched(text, request.options) or text
    text, finish = cut(text, finish_of(choice), request.stops)
    return Sample(text, redacted(reasoning), finish, calls, verbatim)


def _is_thought(part: object) -> bool:
    """True for a part of a content that is reasoning."""
    if field(part, "type") in _THOUGHTS:
        return True
    # Gemini's own form, and not the field of an answer
    if isinstance(field(part, "text"), str):
        return field(part, "thought") is True
    return any(field(part, name) for name in _THOUGHT_FIELDS)


def _split_answer(thought: str, request: Request) -> tuple[str, str]:
    """Return a thought that nothing follows, without the answer in it, and this answer.

    A server that looks for the end of a thought takes the whole text for one if there is no such
    end. A text that is an object or an option alone is no thought, and a call at its end is meant.
    """
    # The end of a thought within it: what follows is the answer.
    answer, inner = split_thought(f"<think>{thought}")
    if answer:
        return inner, answer
    whole = thought.strip()
    if whole in request.options:
        return "", whole
    tail = as_objects(whole[-_LONGEST_CALL:]).strip()
    start = len(tail)
    for _, begin, end in reversed([*json_values(tail, "{", bool)]):
        if tail[end:start].strip():
            break
        start = begin
    if start == 0 and len(whole) <= _LONGEST_CALL:
        return "", whole
    if not calls_in(tail[start:], request.calls):
        return thought, ""
    return whole[:-_LONGEST_CALL] + tail[:start], tail[start:]


def _text(value: object) -> str:
    """Return a field's text, which may be in the parts of a list."""
    if isinstance(value, list):
        return "".join(map(_text, value))
    if isinstance(value, dict):
        names = ("text", "content", "thinking", "summary", "value", "refusal")
        text = "".join(_text(value.get(name)) for name in names)
        if not text:
            text = "".join(_text(value.get(name)) for name in _THOUGHT_FIELDS)
        # the value itself, of a server that has parsed the answer
        is_answer = not text and value and "type" not in value
        return json.dumps(value, ensure_ascii=False) if is_answer else text
    if type(value) in (int, float):
        return json.dumps(value)
    return value if isinstance(value, str) else ""


def _unwrap(text: str) -> str:
    """Return the value of ``{"answer": …}``, which may be inside prose or a code fence.

    A text without such an object, or with two that differ, is unchanged: the agent
    rejects it.
    """

    def has_answer(value: object) -> bool:
        return isinstance(field(value, ANSWER), str)

    found = json_values(text, "{", has_answer)
    values: set[str] = {value[ANSWER] for value, _, _ in found}
    if len(values) != 1:
        return text
    return values.pop()


_SMALLER = re.compile("mini|nano|lite|small|tiny|flash|fast|haiku")


def other_model(reply: object, model: str) -> str:
    """Return the name of the model in a reply, if it is another one than ``model``; else "".

    Servers add or leave out a vendor, a date and a tag. A model that is called smaller is another.
    """
    name = field(reply, "model")
    if not isinstance(name, str) or not name:
        return ""
    names = []
    for each in (model, name):
        last = re.split(r"[/\\]", each.lower().rstrip("/"))[-1]
        short = re.split("[:@]", last)[0].removesuffix(".gguf").removesuffix("-latest")
        names.append(re.sub(r"[\W_]", "", short))
    short, long = sorted(names, key=len)
    is_same = short in long and not _SMALLER.search(long.replace(short, "", 1))
    return "" if is_same else name[:80]


def usage(answer: object, request: Request, estimate: Callable[[], Usage]) -> Usage:
    """Return the billed tokens of a reply: the server's counts, else an upper ``estimate``.

    Some servers count reasoning only in ``total_tokens``: tokens there that are neither
    prompt nor completion are added to the completion. An impossible count of cached
    tokens, which are cheaper, is ignored.
    """
    counts = _whole_counts(mapping(answer, "usage"))
    prompt, reused, written, written_hour = _prompt_tokens(counts)
    completion = _first([counts], *_COMPLETION)
    reasoning = _reasoning(counts)
    samples: list[Sample] = []
    if not completion or reasoning is None:
        # without readable samples, the whole reply is estimated
        with suppress(
            ModelError, TypeError, AttributeError, ValueError, RecursionError
        ):
            samples = [sample(choice, request) for choice in choices(answer)]
    thoughts = sum(_tokens(each.reasoning) for each in samples)
    texts = sum(_tokens(each.written) for each in samples)
    total = _first([counts], "total_tokens") or 0
    # An answer of no tokens is not counted, unless the total counts it.
    is_uncounted = completion == 0 and texts > 0 and total <= prompt
    estimated = not prompt or completion is None or is_uncounted
    if estimated:
        cap = estimate()
        prompt = max(prompt, cap.prompt)
        # Hidden reasoning may be as long as the request allows.
        is_shown = samples and (thoughts or not request.thinking)
        likely = thoughts + texts if is_shown else cap.completion
        # The server may have counted the answer alone, and more than its text.
        completion = max(completion or 0, likely)
    completion = completion or 0
    uncounted = total - prompt - completion
    if uncounted > 0:
        completion += uncounted
    elif reasoning and reasoning > completion:
        completion += reasoning
    if reasoning is None:
        reasoning = thoughts
    if reused > prompt:
        reused = 0
    written = min(written, prompt - reused)
    # The tier by which a reply is billed; empty for the usual one.
    stated = field(answer, "service_tier") or field(counts, "service_tier")
    # Vertex AI: ON_DEMAND_FLEX
    google = mapping(mapping(counts, "extra_properties"), "google")
    tier = str(stated or google.get("traffic_type")).lower().removeprefix("on_demand_")
    if tier not in PRICED_TIERS:
        tier = ""
    return Usage(
        prompt,
        completion,
        reused,
        reasoning=min(reasoning, completion),
        estimated=estimated,
        written=written,
        written_hour=min(written_hour, written),
        tier=tier,
    )


_COMPLETION = ("completion_tokens", "output_tokens")
_DETAILS = ("prompt_tokens_details", "input_tokens_details", "prompt_token_details")
_REUSED = (
    *("cached_tokens", "cache_read_input_tokens", "cache_read_tokens"),
    *("prompt_cache_hit_tokens", "num_cached_tokens"),
)
_WRITTEN = (
    *("cache_write_tokens", "cache_creation_input_tokens", "cache_creation_tokens"),
    "cache_write_input_tokens",
)
_BESIDES = ("cache_read_input_tokens", *_WRITTEN)
"""Parts of the prompt that Anthropic reports next to the count of the rest."""
_ADDED_UP = (
    *("input_tokens", "output_tokens"),
    *("cache_read_input_tokens", "cache_creation_input_tokens"),
)
_LIFETIMES = ("cache_creation", "cache_creation_token_details")
_SHORT = "ephemeral_5m_input_tokens"
_HOUR = "ephemeral_1h_input_tokens"


def _whole_counts(counts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the counts of all that was sampled for a reply.

    Anthropic lists each sampling in ``iterations``. Its totals leave out those that summarized the
    conversation, which are billed; a gateway may have added them already.

    Source: https://platform.claude.com/docs/en/build-with-claude/compaction
    """
    entries = as_list(counts.get("iterations"))
    samplings = [entry for entry in entries if isinstance(entry, dict)]
    if not samplings:
        return counts
    whole = dict(counts)
    for name in _ADDED_UP:
        added = sum(_counts(samplings, name))
        whole[name] = max([added, *_counts([counts], name)])
    return whole


def _reasoning(counts: Mapping[str, Any]) -> int | None:
    """Return the tokens counted as reasoning."""
    details = [mapping(counts, f"{name}_details") for name in _COMPLETION]
    return _first([*details, counts], "reasoning_tokens")


def _prompt_tokens(counts: Mapping[str, Any]) -> tuple[int, int, int, int]:
    """Return the prompt's tokens (0 without a count), and parts of them.

    The parts are those read from the prefix cache, written to it, and written for an
    hour.

    OpenAI, and the gateways that follow it, report them in ``prompt_tokens_details``,
    as parts of ``prompt_tokens``. Anthropic reports them next to ``input_tokens``,
    which count the rest alone; gateways pass these fields on, next to either form of
    the prompt's count.

    Source: https://platform.openai.com/docs/api-reference/chat/object and
    https://platform.claude.com/docs/en/api/messages
    """
    details = [mapping(counts, name) for name in _DETAILS]
    places = [place for place in (*details, counts) if place]
    lifetimes = []
    for place in places:
        lifetimes += [mapping(place, name) for name in _LIFETIMES]
    # Fields repeat each other: the largest is the count.
    reused = max(_counts(places, *_REUSED), default=0)
    hour = max(_counts(lifetimes, _HOUR), default=0)
    short = max(_counts(lifetimes, _SHORT), default=0)
    written = max(*_counts(places, *_WRITTEN), short + hour, 0)
    prompt = _first([counts], "prompt_tokens") or 0
    is_own_form = not prompt
    if is_own_form:
        prompt = _first([counts], "input_tokens") or 0
    # a proxy that has renamed ``input_tokens`` only, or adds details: the parts do not fit into it
    is_over = bool(_counts([counts], *_BESIDES)) and reused + written > prompt
    is_rest = prompt > 0 and (is_over or (is_own_form and not any(details)))
    total = _first([counts], "total_tokens") or 0
    besides = total - prompt - (_first([counts], *_COMPLETION) or 0)
    if besides == reused + written and besides != _reasoning(counts):
        # a proxy whose total alone holds the parts
        is_rest = prompt > 0
    if is_rest:
        prompt += reused + written
    return prompt, reused, written, hour


def _tokens(text: str) -> int:
    """Return an upper estimate of a text's tokens, from its beginning if it is long."""
    if not text:
        return 0
    count = estimated_tokens(text[:_ESTIMATED_CHARACTERS])
    characters = max(len(text), _ESTIMATED_CHARACTERS)
    return upward(count * characters / _ESTIMATED_CHARACTERS)


def upward(tokens: float) -> int:
    """Return an estimate that is rarely too low: token estimates are off by up to 10%."""
    return math.ceil(1.2 * tokens)


def field(outer: object, name: str) -> Any:
    """Return the value of a field; None if there is none, or ``outer`` is no object."""
    # JSON's objects are dicts, and any other check takes ten times as long.
    return outer.get(name) if isinstance(outer, dict) else None


def mapping(outer: object, name: str) -> Mapping[str, Any]:
    """Return the object in a field; empty if there is none."""
    inner = field(outer, name)
    return inner if isinstance(inner, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return a list as it is, and no entries for any other value."""
    return value if isinstance(value, list) else []


def _counts(places: Sequence[Mapping[str, Any]], *names: str) -> list[int]:
    """Return the counts of tokens under these names, without impossible ones.

    In the order of the places, then of the names. Gateways that count characters send
    fractions, and some write numbers as texts.
    """
    counts = []
    for place, name in product(places, names):
        value: Any = place.get(name)
        if isinstance(value, str):
            with suppress(ValueError):
                value = float(value)
        # Not a bool, which is an ``int``
        if type(value) in (int, float) and 0 <= value < _MAX_TOKENS:
            counts.append(math.ceil(value))
    return counts


def _first(places: Sequence[Mapping[str, Any]], *names: str) -> int | None:
    """Return the first of these counts that is present."""
    return next(iter(_counts(places, *names)), None)


def logprobs(choice: Mapping[str, Any]) -> tuple[TokenLogprob, ...]:
    """Return a sample's tokens with their log-probabilities; empty if the server sends none.

    They end before a value that is no log-probability, such as NaN or 0.7: without it, the next
    token would be taken for the first one.
    """
    container = mapping(choice, "logprobs")
    rows: list[Sequence[Any]] = [
        (field(row, "token"), field(row, "logprob"), field(row, "top_logprobs"))
        for row in as_list(container.get("content"))
    ]
    # The completion route sends parallel lists instead of rows.
    if container.get("content") is None:
        tokens = as_list(container.get("tokens"))
        values = as_list(container.get("token_logprobs"))
        top = as_list(container.get("top_logprobs")) or [{}] * len(tokens)
        # The first token has no value.
        values = [0.0 if value is None else value for value in values]
        rows = list(zip(tokens, values, top, strict=False))
    listed = []
    for token, value, alternatives in rows:
        if not (isinstance(token, str) and _is_logprob(value)):
            break
        others = _alternatives(alternatives)
        listed.append(TokenLogprob(token, float(value), others))
    return tuple(listed)


def _alternatives(top: object) -> dict[str, float]:
    """Return the log-probability of each listed token, from a list or an object."""
    pairs = [(field(each, "token"), field(each, "logprob")) for each in as_list(top)]
    if isinstance(top, Mapping):
        pairs = [*top.items()]
    found: dict[str, float] = {}
    for token, value in pairs:
        if isinstance(token, str) and _is_logprob(value):
            # Several tokens may have the same text: the most likely one counts.
            found[token] = max(float(value), found.get(token, -math.inf))
    return found


def _is_logprob(value: object) -> bool:
    """True for a number of at most 0, allowing for rounding."""
    return type(value) in (int, float) and not math.isnan(value) and value < 1e-3  # type: ignore[arg-type, operator]


# Ranking options by a server's lists of most likely next tokens.
#
# Servers return tokens as text and give no access to the tokenizer. An option is therefore matched
# token by token: at each position, by the longest listed token with which its remaining text
# begins. On raw text this continues to its end (one short call per position, shared by options with
# the same beginning). A chat reply cannot be continued, so only its first token counts.

NextTokens = Callable[[str], Awaitable[Mapping[str, float]]]
"""A continuation of the prompt -> the most likely next tokens and their log-probabilities."""


class Unranked(ModelError):
    """Error: the server's lists of tokens do not distinguish the options.

    ``answer`` is the option that the model wrote instead, if it did.
    """

    def __init__(self, problem: str, answer: Completion | None = None) -> None:
        super().__init__(f"{problem}; set the model's setting choose=constrained")
        self.answer = answer


async def ranked(
    endings: Sequence[str], next_tokens: NextTokens, *, walk: bool
) -> tuple[float, ...]:
    """Return the log-probability of each ending.

    An ending whose next token is not listed gets the lowest listed value, an upper
    bound. With ``walk``, ``next_tokens`` is called at each position; without, once.
    Raises ``Unranked`` if no ending is listed, the server lists nothing, or (without
    ``walk``) two endings begin with the same token.
    """
    scores: dict[int, float] = {}
    unlisted_options: set[int] = set()
    # (common beginning of some endings, the rest of each, log-probability of the beginning)
    pending = [("", dict(enumerate(endings)), 0.0)]
    while pending:
        text, rests, score = pending.pop()
        tokens = await next_tokens(text)
        groups: dict[str, dict[int, str]] = {}
        for i, rest in rests.items():
            matches = [token for token in tokens if token and rest.startswith(token)]
            if matches:
                piece = max(matches, key=len)
                groups.setdefault(piece, {})[i] = rest[len(piece) :]
            else:
                # just below the lowest value, so that the last listed token wins a tie
                scores[i] = math.nextafter(score + min(tokens.values()), -math.inf)
                unlisted_options.add(i)
        for piece, members in groups.items():
            if not walk and len(members) > 1:
                raise Unranked(f"several options begin with the token {piece!r}")
            total = score + tokens[piece]
            unfinished = {}
            for i, rest in members.items():
                if rest and walk:
                    unfinished[i] = rest
                else:
                    scores[i] = total
            if unfinished:
                pending.append((text + piece, unfinished, total))
    if len(unlisted_options) == len(endings):
        raise Unranked("no option is among the server's most likely tokens")
    return tuple(scores[i] for i in range(len(endings)))
