"""From a prompt and its sampling to the body of a request.

Source: https://platform.openai.com/docs/api-reference/chat and the servers' own extensions
(llama.cpp ``tools/server/README.md``; vLLM, "Structured Outputs").
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from wayword.core.episode import Json
from wayword.core.errors import ModelError
from wayword.core.model import Message, Prompt, Sampling, user
from wayword.models.parts.options import choice_grammar, longest, tightened

# Settings of ``openai:``, shared by the modules that build and read requests.


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How to reach a server, and what it understands.

    ``base_url`` is the address up to ``/v1``; without it ``$OPENAI_BASE_URL``, else OpenAI's own.
    ``key_env`` names the environment variable that holds the key; a key itself is never a
    setting. ``timeout`` is in seconds.

    ``dialect`` says how answers are constrained: ``openai`` (``response_format``), ``llamacpp``
    (``json_schema`` and ``grammar``) or ``vllm`` (``structured_outputs``). Grammars, and
    constraints on raw text, need one of the last two. ``text_as="message"`` sends raw text as one
    user message, for servers without a completions route.

    ``choose`` is ``logprobs`` (rank by the server's ``top_logprobs`` likeliest tokens) or
    ``constrained`` (let the model write one of the options: a winner, no ranking).
    ``one_sample_a_call`` is for servers that refuse ``n``. ``omit`` names request fields that a
    server refuses (``temperature``, say); ``extra`` adds fields (``reasoning_effort``, say).
    """

    base_url: str = ""
    key_env: str = "OPENAI_API_KEY"
    timeout: float = 600.0
    dialect: Literal["openai", "llamacpp", "vllm"] = "openai"
    text_as: Literal["completion", "message"] = "completion"
    choose: Literal["logprobs", "constrained"] = "logprobs"
    top_logprobs: int = 20
    one_sample_a_call: bool = False
    omit: tuple[str, ...] = ()
    extra: Mapping[str, Json] = field(default_factory=dict)


ANSWER = "answer"
"""The field that wraps a choice where a server knows JSON schemas only."""


@dataclass(frozen=True, slots=True)
class Request:
    """A route, a body, and whether the answer comes wrapped as ``{"answer": …}``."""

    route: str
    body: dict[str, Json]
    wrapped: bool = False

    @property
    def chat(self) -> bool:
        return self.route == "/chat/completions"

    def with_samples(self, n: int, seed: int | None) -> Request:
        """The same request for ``n`` samples."""
        body = {key: value for key, value in self.body.items() if key not in ("n", "seed")}
        if n > 1:
            body["n"] = n
        if seed is not None and "seed" in self.body:
            body["seed"] = seed
        return Request(self.route, body, self.wrapped)


def request(model: str, prompt: Prompt, sampling: Sampling, settings: ServerSettings) -> Request:
    """The request for a call. Raises ``ModelError`` for what the dialect cannot ask for."""
    if isinstance(prompt, str) and settings.text_as == "message":
        prompt = [user(prompt)]
    chat = not isinstance(prompt, str)
    body: dict[str, Json] = {"model": model, "temperature": sampling.temperature}
    if isinstance(prompt, str):
        body["prompt"] = prompt
    else:
        body["messages"] = [_message(message) for message in prompt]
    _sampled(body, sampling, chat, settings)
    constraint = _constraint(sampling, chat, settings)
    wrapped = "response_format" in constraint and sampling.choices is not None
    body |= constraint | dict(settings.extra)
    for name in settings.omit:
        body.pop(name, None)
    return Request("/chat/completions" if chat else "/completions", body, wrapped)


def _sampled(
    body: dict[str, Json], sampling: Sampling, chat: bool, settings: ServerSettings
) -> None:
    body[_limit_name(chat, settings)] = sampling.max_tokens
    if sampling.top_p != 1.0:
        body["top_p"] = sampling.top_p
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if sampling.n > 1:
        body["n"] = sampling.n
    if sampling.seed is not None:
        body["seed"] = sampling.seed
    if sampling.logprobs and chat:
        body |= {"logprobs": True, "top_logprobs": sampling.logprobs}
    elif sampling.logprobs:
        body["logprobs"] = sampling.logprobs
    if settings.dialect == "llamacpp":
        # its own default samplers would bend the model's distribution
        body |= {"top_k": 0, "min_p": 0.0, "cache_prompt": True}


def _limit_name(chat: bool, settings: ServerSettings) -> str:
    """OpenAI's own chat models refuse ``max_tokens``; other servers may not know the new name."""
    hosted = not settings.base_url or "api.openai.com" in settings.base_url
    return "max_completion_tokens" if chat and hosted else "max_tokens"


def _message(message: Message) -> dict[str, Json]:
    if not message.images:
        return {"role": message.role, "content": message.content}
    parts: list[dict[str, Json]] = [{"type": "text", "text": message.content}]
    for image in message.images:
        data = base64.b64encode(image.data).decode()
        url = f"data:{image.media_type};base64,{data}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return {"role": message.role, "content": parts}


def _constraint(sampling: Sampling, chat: bool, settings: ServerSettings) -> dict[str, Json]:
    if sampling.choices is not None and not sampling.choices:
        raise ModelError("choices must name at least one answer")
    if sampling.json_schema is None and sampling.grammar is None and sampling.choices is None:
        return {}
    if settings.dialect == "llamacpp":
        return _llamacpp(sampling, chat, settings)
    if settings.dialect == "vllm":
        return _vllm(sampling)
    return _openai(sampling, chat)


def _llamacpp(sampling: Sampling, chat: bool, settings: ServerSettings) -> dict[str, Json]:
    if sampling.json_schema is not None:
        return {"json_schema": tightened(sampling.json_schema)}
    if sampling.choices is not None:
        limit = {_limit_name(chat, settings): longest(sampling.choices)}
        return {"grammar": choice_grammar(sampling.choices), "stop": [], **limit}
    return {"grammar": sampling.grammar}


def _vllm(sampling: Sampling) -> dict[str, Json]:
    if sampling.json_schema is not None:
        schema = tightened(sampling.json_schema, guidance=False)
        return {"structured_outputs": {"json": schema}}
    if sampling.choices is not None:
        return {"structured_outputs": {"choice": list(sampling.choices)}, "stop": []}
    return {"structured_outputs": {"grammar": sampling.grammar}}


def _openai(sampling: Sampling, chat: bool) -> dict[str, Json]:
    if sampling.grammar is not None or not chat:
        what = "grammars" if sampling.grammar is not None else "constraints on raw text"
        raise ModelError(
            f"{what} are not part of OpenAI's interface; for a llama.cpp or vLLM server give "
            f"the model's setting 'dialect'"
        )
    if sampling.choices is not None:
        field = {"type": "string", "enum": list(sampling.choices)}
        schema: Mapping[str, Any] = {"type": "object", "properties": {ANSWER: field}}
        schema = tightened({**schema, "required": [ANSWER]}, guidance=False)
        return {"response_format": _format(schema), "stop": []}
    return {"response_format": _format(tightened(sampling.json_schema or {}, guidance=False))}


def _format(schema: Mapping[str, Json]) -> dict[str, Json]:
    """``strict`` only where the schema is one that strict mode takes: every key required."""
    strict = set(schema.get("properties", {})) == set(schema.get("required", ()))
    wanted = {"name": "answer", "schema": dict(schema), "strict": strict}
    return {"type": "json_schema", "json_schema": wanted}
