"""Request bodies for servers with an OpenAI-compatible API.

Source: https://platform.openai.com/docs/api-reference/chat and the servers' own extensions
(llama.cpp ``tools/server/README.md``; vLLM, "Structured Outputs").
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import urlsplit

from wayword.core.episode import Json
from wayword.core.errors import ModelError, UsageError
from wayword.core.model import (
    ASSUMED,
    Message,
    PictureTokens,
    Prompt,
    Sampling,
    estimated_tokens,
    user,
)
from wayword.models.parts import calling, decoding
from wayword.models.servers.profile import Profile


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of ``openai:``: the server's address, and the features that it supports.

    ``base_url`` is the address up to ``/v1``; the default is ``$OPENAI_BASE_URL``, else OpenAI's
    own. ``key_env`` names the environment variable that holds the key; a key itself is never a
    setting. ``timeout`` is in seconds, for one call.

    ``tier`` is OpenAI's ``service_tier``: ``flex`` costs half and is slower (15 minutes a call);
    while the server has no capacity for it, the run waits. DashScope has another address for it
    (``HELD``), which holds a call for up to an hour. With ``batch``, calls are sent as
    batches of the provider, which cost half and take up to 24 hours; ``batch`` is the form of its
    interface, by default that of its address, else OpenAI's.

    ``cache`` asks for the provider's prefix cache: with a ``key`` for each episode, or by ``marks``
    in the prompt; ``auto`` uses what the address is known to support, ``off`` nothing.

    ``profile`` describes the fields that the model supports, if its name does not: an entry of the
    shipped table (``reasoning``), a YAML file of the same form, or single traits
    (``profile.stop=false``); see ``models/profiles.yaml``. Fields that the server refuses are left
    out for the rest of the run. ``thinking`` is the number of reasoning tokens allowed on top of
    the answer's limit; default: the profile's.

    ``dialect`` is the form of constraints: ``openai`` (``response_format``), ``llamacpp``
    (``json_schema`` and ``grammar``) or ``vllm`` (``structured_outputs``). Grammars need one of
    the last two. ``text_as`` sends raw text to the ``completion`` route or as one user
    ``message``; ``auto`` uses the completion route if the profile has it.

    ``choose`` is ``logprobs`` (rank options by the server's ``top_logprobs`` most likely tokens) or
    ``constrained`` (the model writes one of the options: a winner without a ranking); ``auto``
    ranks if the server returns log-probabilities. ``omit`` names request fields to leave out;
    ``extra`` adds fields such as ``reasoning_effort``, and its entry ``extra_headers`` adds HTTP
    headers.
    """

    base_url: str = ""
    key_env: str = "OPENAI_API_KEY"
    timeout: float = 600.0
    tier: Literal["", "flex", "batch"] = ""
    batch: Literal["auto", "openai", "anthropic", "gemini", "mistral"] = "auto"
    cache: Literal["auto", "key", "marks", "off"] = "auto"
    dialect: Literal["openai", "llamacpp", "vllm"] = "openai"
    text_as: Literal["auto", "completion", "message"] = "auto"
    choose: Literal["auto", "logprobs", "constrained"] = "auto"
    top_logprobs: int = 20
    omit: tuple[str, ...] = ()
    extra: Mapping[str, Json] = field(default_factory=dict)
    profile: str | Mapping[str, Json] = ""
    thinking: int | None = None

    @property
    def seconds(self) -> float:
        """The time limit of one call."""
        if is_held(self.base_url):
            return max(self.timeout, HELD_SECONDS)
        if self.tier == "flex":
            return max(self.timeout, FLEX_SECONDS)
        return self.timeout

    def __post_init__(self) -> None:
        if self.timeout <= 0 or (self.thinking or 0) < 0:
            raise UsageError("openai: timeout must be above 0, and thinking at least 0")


# Of one call: https://developers.openai.com/api/docs/guides/flex-processing
FLEX_SECONDS = 900.0

# Host -> the host at which calls cost half, and are held until there is capacity, up to an hour:
# https://help.aliyun.com/zh/model-studio/openai-compatible-batch-chat
HELD = {"dashscope.aliyuncs.com": "batch.dashscope.aliyuncs.com"}
HELD_SECONDS = 3600.0


def is_held(address: str) -> bool:
    """True for an address at which all calls are of the flex tier."""
    return urlsplit(address).hostname in HELD.values()


def held_address(address: str) -> str:
    """Return the address at which a provider's calls are held; the address itself without one."""
    host = urlsplit(address).hostname or ""
    return address.replace(host, HELD.get(host, host), 1)


# Field that holds a choice, for servers that support JSON schemas only
ANSWER = "answer"

HEADERS = "extra_headers"  # entry of ``extra`` with HTTP headers


@dataclass(frozen=True, slots=True)
class Request:
    """A request: its route and body, and the data needed to read the reply.

    ``prompt`` is the prompt as sent, with added text. ``limit`` is the maximum number of tokens of
    a sample, ``thinking`` the part of it for reasoning. ``wrapped`` answers have the form
    ``{"answer": …}``. ``options`` is what may be written, which some servers do not enforce;
    ``stops`` are applied locally.
    ``calls`` are the tools that were offered: with ``worded``, in the prompt only. ``pictures``:
    how the model counts them.
    """

    route: str
    body: dict[str, Json]
    prompt: Prompt
    limit: int
    thinking: int = 0
    wrapped: bool = False
    options: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()
    unsent: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    worded: bool = False
    pictures: PictureTokens = ASSUMED

    @property
    def chat(self) -> bool:
        return self.route == "/chat/completions"

    @property
    def shape(self) -> tuple[str, ...]:
        """Route and field names: a server refuses or accepts all requests of one shape."""
        schema = self.body.get("response_format") or {}
        return (self.route, str(schema.get("type", "")), *sorted(self.body))

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of what a server may refuse; ``lengths`` are those in the schema. Fields of
        messages are those that a server itself has added."""
        names = [n for n in self.body if n not in ("model", "messages", "prompt")]
        if re.search('"(?:max|min)(?:Length|Items)"', self.form):
            names.append("lengths")
        for message in self.body.get("messages", ()):
            names += [name for name in message if name not in _MESSAGE_FIELDS]
        return tuple(dict.fromkeys(names))

    @property
    def samples(self) -> int:
        return int(self.body.get("n", 1))

    @property
    def form(self) -> str:
        """The schema in the body, whose tokens count as part of the prompt; else empty."""
        schema = self.body.get("response_format") or self.body.get("tools")
        return json.dumps(schema) if schema else ""


@dataclass(frozen=True, slots=True)
class CacheUse:
    """How a request uses the provider's prefix cache: by a ``key``, which sends requests with the
    same prefix to the same machine, or by ``marks``, each at the end of a prefix of at least so
    many tokens.

    Source: https://developers.openai.com/api/docs/guides/prompt-caching and
    https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    """

    key: str = ""
    marks: int = 0


_MARK: Json = {"type": "ephemeral"}


def _mark(
    messages: list[dict[str, Json]], prompt: Sequence[Message], least: int
) -> None:
    """Mark the ends of prefixes that later requests share, if they are long enough for the cache:
    the system message, and the last message of a chat, which the next request extends. A single
    question is not extended: writing it would only cost more."""
    ends = []
    if prompt[0].role == "system":
        ends.append(0)
    if any(message.role == "assistant" for message in prompt):
        ends.append(len(prompt) - 1)
    # A system message may have been put before the user's.
    shift = len(prompt) - len(messages)
    for end in ends:
        message = messages[max(0, end - shift)]
        if estimated_tokens(prompt[: end + 1]) < least or not message["content"]:
            continue
        parts = message["content"]
        if isinstance(parts, str):
            parts = [{"type": "text", "text": parts}]
        *earlier, last = parts
        message["content"] = [*earlier, {**last, "cache_control": _MARK}]


_MESSAGE_FIELDS = ("role", "content", "tool_calls", "tool_call_id", "name")
_VALUES: Mapping[str, float | None] = {"temperature": None, "top_p": 1.0, "seed": None}
"""Fields of a sampling -> the value that needs no field in the body."""
_FORMS = ("json_schema", "grammar", "choices")
_DIALECT_FIELDS = frozenset({"json_schema", "grammar", "structured_outputs"})
LEAST_ROOM = 64  # tokens of an answer: with less, the prompt is too long
_MARGIN = 1.2  # estimates of a prompt's tokens are rarely lower than the count by more


def request(
    model: str,
    prompt: Prompt,
    sampling: Sampling,
    settings: ServerSettings,
    profile: Profile,
    cache: CacheUse | None = None,
) -> Request:
    """Return the request for a call. Raises ``ModelError`` if the server cannot fulfill it."""
    tools = sampling.tools
    # Raw text has no place for tools, and some servers take none.
    is_worded = bool(tools) and not (profile.tools and not isinstance(prompt, str))
    if is_worded:
        messages = [user(prompt)] if isinstance(prompt, str) else prompt
        prompt, sampling = calling.in_words(messages, sampling)
    forms = [name for name in _FORMS if getattr(sampling, name) is not None]
    in_words = ""
    if not _can_constrain(settings, profile):
        in_words = decoding.describe_form(sampling)
    prompt = _as_sent(prompt, sampling, in_words, settings, profile)
    chat = not isinstance(prompt, str)
    body: dict[str, Json] = {"model": model}
    if isinstance(prompt, str):
        body["prompt"] = prompt
    else:
        body["messages"] = _messages(prompt, profile)
    limit_name = profile.limit if chat else "max_tokens"
    body[limit_name] = limit = _limit(prompt, sampling, settings, profile)
    body |= _sampling_fields(sampling, chat, settings, profile)
    constraint: dict[str, Json] = {}
    if forms and not in_words:
        constraint = _constraint(sampling, chat, settings, profile)
    elif sampling.json_schema is not None and profile.schema == "json_object":
        constraint = {"response_format": {"type": "json_object"}}
    if sampling.tools:
        body |= _tool_fields(sampling, profile)
    if settings.tier == "flex" and not is_held(settings.base_url):
        body["service_tier"] = settings.tier
    if cache is not None and cache.key and chat:
        body["prompt_cache_key"] = cache.key
    if cache is not None and cache.marks and not isinstance(prompt, str):
        _mark(body["messages"], prompt, cache.marks)
    # The user's fields come after all others, so that they win.
    body |= constraint | dict(settings.extra)
    for name in {HEADERS, *settings.omit, *profile.without} & body.keys():
        del body[name]
    # Values outside a range that the server has stated become the nearest allowed.
    for limits, nearest in ((profile.least, max), (profile.most, min)):
        for name in body.keys() & limits.keys():
            body[name] = nearest(body[name], limits[name])
    # A constraint counts as sent only if no part of it was left out above.
    is_constrained = not in_words and constraint.keys() <= body.keys()
    unsent = _unsent(sampling, body, is_constrained)
    # The caller asked for tools, not for the schema that replaces them in words.
    if is_worded:
        unsent = [*(name for name in unsent if name != "json_schema"), "tools"]
    is_wrapped = bool({"response_format", "tools"} & constraint.keys())
    sent_stops = sampling.stop if sampling.choices else body.get("stop", ())
    return Request(
        route="/chat/completions" if chat else "/completions",
        body=body,
        prompt=prompt,
        limit=limit,
        thinking=max(0, limit - sampling.max_tokens),
        wrapped=is_wrapped and "choices" in forms,
        options=sampling.choices or (),
        stops=tuple(stop for stop in sampling.stop if stop not in sent_stops),
        unsent=tuple(unsent),
        calls=tuple(tool.name for tool in tools),
        worded=is_worded,
        pictures=profile.pictures,
    )


def _unsent(
    sampling: Sampling, body: Mapping[str, Json], is_constrained: bool
) -> list[str]:
    """Return the names of what the caller has set and the body does not say."""
    names = [
        name
        for name, usual in _VALUES.items()
        if getattr(sampling, name) not in (usual, body.get(name))
    ]
    if is_constrained:
        return names
    return [*names, *(form for form in _FORMS if getattr(sampling, form) is not None)]


def _tool_fields(sampling: Sampling, profile: Profile) -> dict[str, Json]:
    """Return the fields that offer tools, of which the model must call one."""
    tools: Json = [calling.tool_field(tool) for tool in sampling.tools]
    if not profile.max_length:
        tools = decoding.without_lengths(tools)
    fields: dict[str, Json] = {"tools": tools, "tool_choice": "required"}
    if not sampling.parallel_calls:
        fields["parallel_tool_calls"] = False
    return fields


def _can_constrain(settings: ServerSettings, profile: Profile) -> bool:
    if settings.dialect == "openai":
        return profile.schema in ("json_schema", "tool_call")
    return not _DIALECT_FIELDS & {*profile.without}


def _as_sent(
    prompt: Prompt,
    sampling: Sampling,
    in_words: str,
    settings: ServerSettings,
    profile: Profile,
) -> Prompt:
    """Return the prompt for its route, with the constraint in words if the server has none."""
    if isinstance(prompt, str):
        as_text = settings.text_as == "completion"
        if settings.text_as == "auto":
            # OpenAI's completion route supports no constraints
            is_free = not (sampling.json_schema or sampling.choices)
            is_free = is_free or settings.dialect != "openai"
            as_text = profile.completions and is_free
        if as_text:
            return prompt
        prompt = [decoding.as_message(prompt, sampling)]
    *earlier, last = prompt
    if last.content.endswith(in_words):  # the caller may have stated them already
        return prompt
    return [*earlier, replace(last, content=last.content + in_words)]


def _limit(
    prompt: Prompt, sampling: Sampling, settings: ServerSettings, profile: Profile
) -> int:
    """Return the maximum tokens of the answer: with those for reasoning, as far as the window and
    the model have room for them."""
    answer = sampling.max_tokens
    if sampling.choices:
        answer = max(answer, decoding.longest(sampling.choices))
    total = answer
    if not isinstance(prompt, str):
        thinking = settings.thinking
        total += profile.thinking if thinking is None else thinking
    if profile.output:
        total = min(total, profile.output)
    if profile.window:
        read = estimated_tokens(prompt, profile.pictures)
        room = profile.window - math.ceil(_MARGIN * read)
        total = min(total, max(room, LEAST_ROOM))
    return total


def _messages(prompt: Sequence[Message], profile: Profile) -> list[dict[str, Json]]:
    """Return the conversation; the system message is merged into the user's if it must be."""
    if not profile.system and prompt[0].role == "system":
        first, *others = prompt
        if others:
            second, *rest = others
            both = replace(second, content=f"{first.content}\n\n{second.content}")
            prompt = [both, *rest]
        else:  # alone, it is what the user says
            prompt = [replace(first, role="user")]
    messages: list[dict[str, Json]] = []
    for message in prompt:
        if message.images and not profile.images:
            remedy = "use another model, or --set model.profile.images=true if it can"
            raise ModelError(f"this model cannot see pictures; {remedy}", fatal=True)
        if message.calls or message.role == "tool":
            messages.append(calling.wire_message(message, profile.verbatim))
        else:
            messages.append({"role": message.role, "content": message.parts})
    return messages


def _sampling_fields(
    sampling: Sampling, chat: bool, settings: ServerSettings, profile: Profile
) -> dict[str, Json]:
    """Return the fields of a request for sampling, without those that the profile lacks.

    A server that has refused a field, or the number of its values, is not sent it
    again.
    """
    body: dict[str, Json] = {}
    if profile.temperature:
        body["temperature"] = sampling.temperature
        if sampling.top_p != 1.0:
            body["top_p"] = sampling.top_p
    # An option may contain a stop text, which would cut it off.
    if sampling.stop and profile.stop and not sampling.choices:
        body["stop"] = list(sampling.stop[: profile.stop])
    if sampling.n > 1:
        body["n"] = sampling.n
    if sampling.seed is not None and profile.seed:
        body["seed"] = sampling.seed
    if alternatives := min(sampling.logprobs, profile.logprobs):
        in_chat = {"logprobs": True, "top_logprobs": alternatives}
        body |= in_chat if chat else {"logprobs": alternatives}
    if settings.dialect == "llamacpp":
        # llama.cpp's default samplers would change the model's distribution
        body |= {"top_k": 0, "min_p": 0.0, "cache_prompt": True}
    return body


def _constraint(
    sampling: Sampling, chat: bool, settings: ServerSettings, profile: Profile
) -> dict[str, Json]:
    """Return the fields that constrain the answer, in the server's dialect."""
    schema = sampling.json_schema
    options = sampling.choices
    if options is not None and not options:
        raise ModelError("choices must contain at least one answer")
    if settings.dialect == "llamacpp":
        return decoding.llamacpp_form(sampling)
    # OpenAI's API has no list of answers: an object with an enum replaces it.
    if options is not None and settings.dialect == "openai":
        field = {"type": "string", "enum": list(options)}
        schema = {"type": "object", "properties": {ANSWER: field}, "required": [ANSWER]}
    closed = decoding.close_schema(schema or {}, guidance=False)
    if settings.dialect == "vllm":
        form: Json = {"choice": list(options or ())}
        if options is None:
            form = {"grammar": sampling.grammar} if schema is None else {"json": closed}
        return {"structured_outputs": form}
    if schema is None or not chat:
        feature = "grammars" if schema is None else "constraints on raw text"
        raise ModelError(
            f"OpenAI's API does not support {feature}; for a llama.cpp or vLLM server, set the "
            f"model's setting 'dialect'",
            fatal=True,
        )
    if not profile.max_length:
        closed = decoding.without_lengths(closed)
    return _response_format(closed, profile)


def _response_format(schema: Mapping[str, Json], profile: Profile) -> dict[str, Json]:
    """Return a response format with the schema, or a tool that must be called. Strict mode needs
    all keys of the schema to be required."""
    if profile.schema == "tool_call":
        tool = {
            "name": ANSWER,
            "description": "Give the answer.",
            "parameters": dict(schema),
        }
        called = {"type": "function", "function": {"name": ANSWER}}
        return {
            "tools": [{"type": "function", "function": tool}],
            "tool_choice": called,
        }
    strict = set(schema.get("properties", {})) == set(schema.get("required", ()))
    form = {"name": ANSWER, "schema": dict(schema), "strict": strict}
    return {"response_format": {"type": "json_schema", "json_schema": form}}
