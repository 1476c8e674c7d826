"""From a prompt and its sampling to the body of a request.

Source: https://platform.openai.com/docs/api-reference/chat and the servers' own extensions
(llama.cpp ``tools/server/README.md``; vLLM, "Structured Outputs").
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from wayword.core.episode import Json
from wayword.core.errors import ModelError, UsageError
from wayword.core.model import Message, Prompt, Sampling, user
from wayword.models.parts.decoding import (
    form_in_words,
    llamacpp_form,
    longest,
    tightened,
    without_lengths,
)
from wayword.models.servers.profile import Profile

# Settings of ``openai:``, shared by the modules that build and read requests.


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How to reach a server, and what it understands.

    ``base_url`` is the address up to ``/v1``; without it ``$OPENAI_BASE_URL``, else OpenAI's own.
    ``key_env`` names the environment variable that holds the key; a key itself is never a
    setting. ``timeout`` is in seconds, for a
    whole call.

    ``profile`` says what the model takes, where its name does not: an entry of the shipped table
    (``reasoning``), a YAML file of the same form, or single traits (``profile.stop=false``); see
    ``models/profiles.yaml``. What the server then refuses is left out for the rest of the run.
    ``thinking`` is the tokens a reasoning model may think beside the answer's own limit; without
    it, the profile's.

    ``dialect`` says how answers are constrained: ``openai`` (``response_format``), ``llamacpp``
    (``json_schema`` and ``grammar``) or ``vllm`` (``structured_outputs``). Grammars need one of
    the last two. ``text_as`` sends raw text to the ``completion`` route or as one user
    ``message``; ``auto`` does the first where the profile has that route.

    ``choose`` is ``logprobs`` (rank by the server's ``top_logprobs`` likeliest tokens) or
    ``constrained`` (let the model write one of the options: a winner, no ranking); ``auto`` ranks
    where the server gives log-probabilities. ``one_sample_a_call`` is for servers that ignore
    ``n``. ``omit`` names request fields to leave out; ``extra`` adds fields (``reasoning_effort``,
    say), and its ``extra_headers`` go into the request's head.
    """

    base_url: str = ""
    key_env: str = "OPENAI_API_KEY"
    timeout: float = 600.0
    dialect: Literal["openai", "llamacpp", "vllm"] = "openai"
    text_as: Literal["auto", "completion", "message"] = "auto"
    choose: Literal["auto", "logprobs", "constrained"] = "auto"
    top_logprobs: int = 20
    one_sample_a_call: bool = False
    omit: tuple[str, ...] = ()
    extra: Mapping[str, Json] = field(default_factory=dict)
    profile: str | Mapping[str, Json] = ""
    thinking: int | None = None

    def __post_init__(self) -> None:
        if self.timeout <= 0 or (self.thinking or 0) < 0:
            raise UsageError("openai: timeout must be above 0, and thinking 0 or more")


ANSWER = "answer"
"""The field that wraps a choice where a server knows JSON schemas only."""

HEADERS = "extra_headers"
"""The entry of ``extra`` that is sent in a request's head."""


@dataclass(frozen=True, slots=True)
class Request:
    """A route, a body, and how the answer is read.

    ``prompt`` is what the body holds, added words included; ``limit`` the tokens that a sample may
    take, and ``thinking`` those of it that may be thoughts. ``wrapped`` answers come as
    ``{"answer": …}``; ``options`` were asked for in words only; ``stops`` are the stop sequences to
    cut at here. ``unsent`` names what of the sampling the body does not carry:
    ``Completion.unsent``.
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

    @property
    def chat(self) -> bool:
        return self.route == "/chat/completions"

    @property
    def shape(self) -> tuple[str, ...]:
        """The route and the fields: requests of one shape are refused or taken alike."""
        schema = self.body.get("response_format") or {}
        return (self.route, str(schema.get("type", "")), *sorted(self.body))

    @property
    def samples(self) -> int:
        return int(self.body.get("n", 1))

    @property
    def form(self) -> str:
        """The schema that the body carries, which servers count with the prompt; else empty."""
        found = self.body.get("response_format") or self.body.get("tools")
        return json.dumps(found) if found else ""

    def with_samples(self, n: int, seed: int | None) -> Request:
        """The same request for ``n`` samples."""
        body = {key: value for key, value in self.body.items() if key not in ("n", "seed")}
        if n > 1:
            body["n"] = n
        if seed is not None and "seed" in self.body:
            body["seed"] = seed
        return replace(self, body=body)


def request(
    model: str, prompt: Prompt, sampling: Sampling, settings: ServerSettings, profile: Profile
) -> Request:
    """The request for a call. Raises ``ModelError`` for what the server cannot be asked for."""
    held = settings.dialect != "openai" or profile.schema in ("json_schema", "tool_call")
    plain = "" if held else form_in_words(sampling)
    if isinstance(prompt, str) and not _as_text(sampling, settings, profile):
        prompt = [user(prompt)]
    if plain and not isinstance(prompt, str):
        prompt = [*prompt[:-1], replace(prompt[-1], content=prompt[-1].content + plain)]
    chat = not isinstance(prompt, str)
    body: dict[str, Json] = {"model": model}
    if isinstance(prompt, str):
        body["prompt"] = prompt
    else:
        body["messages"] = [_message(m, profile) for m in _told(prompt, profile)]
    body |= _sampled(sampling, chat, settings, profile)
    constraint = {} if plain else _constraint(sampling, chat, settings, profile)
    if plain and sampling.json_schema is not None and profile.schema == "json_object":
        constraint = {"response_format": {"type": "json_object"}}
    options = (sampling.choices or ()) if plain else ()
    fields = {"response_format", "tools"} & constraint.keys()
    wrapped = bool(fields) and sampling.choices is not None
    extra = {name: value for name, value in settings.extra.items() if name != HEADERS}
    body |= constraint | extra
    for name in (*settings.omit, *profile.without):
        body.pop(name, None)
    kept = body.get("stop") or []
    stops = () if sampling.choices else tuple(s for s in sampling.stop if s not in kept)
    bound = bool(constraint) and not plain and constraint.keys() <= body.keys()
    route = "/chat/completions" if chat else "/completions"
    unsent = _unsent(sampling, body, bound)
    limit = _limit(sampling.max_tokens, chat, settings, profile)
    thinking = max(0, limit - sampling.max_tokens)
    return Request(route, body, prompt, limit, thinking, wrapped, options, stops, unsent)


_FORMS = ("json_schema", "grammar", "choices")


def _unsent(sampling: Sampling, body: Mapping[str, Json], bound: bool) -> tuple[str, ...]:
    """What of the sampling a body does not carry; ``bound``: it carries the form."""
    usual, values = Sampling(), ("top_p", "seed")
    asked = [n for n in (*values, *_FORMS) if getattr(sampling, n) != getattr(usual, n)]
    sent = [n for n in ("temperature", *values) if n in body and body[n] == getattr(sampling, n)]
    carried = {*sent, *(_FORMS if bound else ())}
    return tuple(name for name in ("temperature", *asked) if name not in carried)


def _as_text(sampling: Sampling, settings: ServerSettings, profile: Profile) -> bool:
    """Whether raw text goes to the completions route."""
    if settings.text_as != "auto":
        return settings.text_as == "completion"
    bound = sampling.choices is not None or sampling.json_schema is not None
    return profile.completions and not (bound and settings.dialect == "openai")


def _told(prompt: Sequence[Message], profile: Profile) -> Sequence[Message]:
    """The conversation, what the system says put before the user's words where it must be."""
    if profile.system or prompt[0].role != "system" or len(prompt) < 2:
        return prompt
    first, second, *rest = prompt
    return [replace(second, content=f"{first.content}\n\n{second.content}"), *rest]


def _sampled(
    sampling: Sampling, chat: bool, settings: ServerSettings, profile: Profile
) -> dict[str, Json]:
    body: dict[str, Json] = {}
    if profile.temperature:
        body["temperature"] = sampling.temperature
        if sampling.top_p != 1.0:
            body["top_p"] = sampling.top_p
    body[_limit_name(chat, profile)] = _limit(sampling.max_tokens, chat, settings, profile)
    if sampling.stop and profile.stop:
        body["stop"] = list(sampling.stop[: profile.stop])
    if sampling.n > 1:
        body["n"] = sampling.n
    if sampling.seed is not None and profile.seed:
        body["seed"] = sampling.seed
    alternatives = min(sampling.logprobs, profile.logprobs)
    if alternatives and chat:
        body |= {"logprobs": True, "top_logprobs": alternatives}
    elif alternatives:
        body["logprobs"] = alternatives
    if settings.dialect == "llamacpp":
        # its own default samplers would bend the model's distribution
        body |= {"top_k": 0, "min_p": 0.0, "cache_prompt": True}
    return body


def _limit_name(chat: bool, profile: Profile) -> str:
    """The completions route never learnt the new name."""
    return profile.limit if chat else "max_tokens"


def _limit(answer: int, chat: bool, settings: ServerSettings, profile: Profile) -> int:
    """Tokens of thinking and answer together."""
    thinking = profile.thinking if settings.thinking is None else settings.thinking
    whole = answer + (thinking if chat else 0)
    return min(whole, profile.output) if profile.output else whole


def _message(message: Message, profile: Profile) -> dict[str, Json]:
    if not message.images:
        return {"role": message.role, "content": message.content}
    if not profile.images:
        remedy = "use another model, or --set model.profile.images=true if it does"
        raise ModelError(f"this model takes no pictures; {remedy}", fatal=True)
    pictures = [{"type": "image_url", "image_url": {"url": i.url}} for i in message.images]
    return {"role": message.role, "content": [{"type": "text", "text": message.content}, *pictures]}


def _constraint(
    sampling: Sampling, chat: bool, settings: ServerSettings, profile: Profile
) -> dict[str, Json]:
    if sampling.choices is not None and not sampling.choices:
        raise ModelError("choices must name at least one answer")
    if sampling.json_schema is None and sampling.grammar is None and sampling.choices is None:
        return {}
    if settings.dialect == "llamacpp":
        form = llamacpp_form(sampling)
        if sampling.choices:
            most = _limit(longest(sampling.choices), chat, settings, profile)
            form[_limit_name(chat, profile)] = most
        return form
    if settings.dialect == "vllm":
        return _vllm(sampling)
    return _openai(sampling, chat, profile)


def _vllm(sampling: Sampling) -> dict[str, Json]:
    if sampling.json_schema is not None:
        schema = tightened(sampling.json_schema, guidance=False)
        return {"structured_outputs": {"json": schema}}
    if sampling.choices is not None:
        return {"structured_outputs": {"choice": list(sampling.choices)}, "stop": []}
    return {"structured_outputs": {"grammar": sampling.grammar}}


def _openai(sampling: Sampling, chat: bool, profile: Profile) -> dict[str, Json]:
    if sampling.grammar is not None or not chat:
        what = "grammars" if sampling.grammar is not None else "constraints on raw text"
        raise ModelError(
            f"{what} are not part of OpenAI's interface; for a llama.cpp or vLLM server give "
            f"the model's setting 'dialect'",
            fatal=True,
        )
    unstopped: dict[str, Json] = {"stop": []} if profile.stop else {}
    if sampling.choices is not None:
        field = {"type": "string", "enum": list(sampling.choices)}
        schema: Mapping[str, Any] = {"type": "object", "properties": {ANSWER: field}}
        schema = tightened({**schema, "required": [ANSWER]}, guidance=False)
        return {**_held(schema, profile), **unstopped}
    wanted = tightened(sampling.json_schema or {}, guidance=False)
    if not profile.max_length:
        wanted = without_lengths(wanted)
    return _held(wanted, profile)


def _held(schema: Mapping[str, Json], profile: Profile) -> dict[str, Json]:
    """What holds an answer to a schema: a response format, or a tool that has to be called.

    ``strict`` only where the schema is one that strict mode takes: every key required.
    """
    strict = set(schema.get("properties", {})) == set(schema.get("required", ()))
    if profile.schema == "tool_call":
        tool = {"name": ANSWER, "description": "Give the answer.", "parameters": dict(schema)}
        called = {"type": "function", "function": {"name": ANSWER}}
        return {"tools": [{"type": "function", "function": tool}], "tool_choice": called}
    wanted = {"name": ANSWER, "schema": dict(schema), "strict": strict}
    return {"response_format": {"type": "json_schema", "json_schema": wanted}}
