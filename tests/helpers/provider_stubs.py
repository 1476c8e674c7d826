"""Servers on loopback that each follow the rules of one provider, as rows of a table.

A rule looks at a request and returns a refusal in the provider's form, or None. What no rule
refuses is answered legally, in the provider's form of answers and counts. ``Provider.dropped`` of a
finished run names fields that were left out without a refusal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from helpers.loopback import Loopback, serving
from helpers.reasoning_stub import answer_to, worded
from wayword.models.scripted import smallest

Body = dict[str, Any]
Reply = tuple[int, Any]
Rule = Callable[[str, Body], Reply | None]
CHARACTERS_PER_TOKEN = 4


def _openai(text: str, param: str | None = None, code: str | None = None) -> Any:
    return {"error": {"message": text, "type": "invalid", "param": param, "code": code}}


def _string(text: str, *_: object) -> Any:
    return {"error": text}


def _flat(text: str, *_: object) -> Any:
    return {"code": "Client specified an invalid argument", "error": text}


def _google(text: str, *_: object) -> Any:
    return [{"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}]


def _plain(text: str, *_: object) -> Any:
    return {"object": "error", "message": text, "type": "BadRequestError", "code": 400}


def _anthropic(text: str, *_: object) -> Any:
    return {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": text},
    }


def _detail(text: str, param: str | None = None, *_: object) -> Any:
    row = {"type": "extra_forbidden", "loc": ["body", param], "msg": text, "input": 1}
    return {"object": "error", "message": {"detail": [row]}}


def unknown(*names: str, text: str, form: Any, status: int = 400) -> Rule:
    """Refuse each of these fields."""

    def rule(route: str, body: Body) -> Reply | None:
        for name in names:
            if name in body:
                return status, form(text.format(name=name), name, None)
        return None

    return rule


def alternating(text: str, form: Any) -> Rule:
    """Refuse two messages of one role in a row, after system messages."""

    def rule(route: str, body: Body) -> Reply | None:
        roles = [message["role"] for message in body.get("messages", ())]
        sender_of = [role for role in roles if role != "system"]
        if any(map(str.__eq__, sender_of, sender_of[1:])):
            return 400, form(text, None, None)
        return None

    return rule


def above(name: str, most: float, text: str, form: Any, status: int = 400) -> Rule:
    """Refuse values of a field that are above ``most``."""

    def rule(route: str, body: Body) -> Reply | None:
        if float(body.get(name, 0)) > most:
            return status, form(text.format(value=body[name], most=most), name, None)
        return None

    return rule


def window(most: int, text: str, form: Any, status: int = 400) -> Rule:
    """Refuse prompt and answer that are longer than the window together."""

    def rule(route: str, body: Body) -> Reply | None:
        prompt = _prompt_tokens(body)
        count = int(body.get("max_completion_tokens") or body.get("max_tokens") or 16)
        if prompt + count <= most:
            return None
        slots = {"most": most, "prompt": prompt, "asked": count, "all": prompt + count}
        return status, form(text.format(**slots), None, None)

    return rule


def no_system(text: str, form: Any, status: int = 400) -> Rule:
    """Refuse a message from the system."""

    def rule(route: str, body: Body) -> Reply | None:
        roles = [message["role"] for message in body.get("messages", [])]
        return (status, form(text, None, None)) if "system" in roles else None

    return rule


def no_schema(text: str, form: Any, status: int = 400) -> Rule:
    """Refuse JSON schemas, and take JSON of any form."""

    def rule(route: str, body: Body) -> Reply | None:
        kind = body.get("response_format", {}).get("type")
        return (status, form(text, None, None)) if kind == "json_schema" else None

    return rule


def no_lengths(text: str, form: Any) -> Rule:
    """Refuse lengths in a schema."""

    def rule(route: str, body: Body) -> Reply | None:
        has_lengths = "maxLength" in json.dumps(body.get("response_format", {}))
        return (400, form(text, "response_format", None)) if has_lengths else None

    return rule


def chat_only(text: str, form: Any, status: int = 404) -> Rule:
    """Refuse raw text."""

    def rule(route: str, body: Body) -> Reply | None:
        is_chat = route.endswith("/chat/completions")
        return None if is_chat else (status, form(text, None, None))

    return rule


def zero_temperature(text: str, form: Any, status: int) -> Rule:
    """Refuse the temperature 0 by its value."""

    def rule(route: str, body: Body) -> Reply | None:
        return (status, form(text)) if body.get("temperature") == 0 else None

    return rule


@dataclass(frozen=True)
class Provider:
    """A provider's rules, in the order in which it applies them.

    ``fields``: those that a rule may refuse, which alone may be missing in later requests.
    ``listed``: the description of the model at ``/models``. ``wrap``: the form of an answer.
    ``logprobs``: the server returns log-probabilities where they are requested.
    """

    name: str
    rules: tuple[Rule, ...]
    fields: frozenset[str] = frozenset()
    model: str = "some-new-model"
    listed: Mapping[str, Any] = field(default_factory=dict)
    wrap: Callable[[dict[str, Any], str], None] = lambda answer, text: None
    logprobs: bool = False


def _channels(answer: dict[str, Any], text: str) -> None:
    content = "<|channel|>analysis<|message|>I might look.<|end|><|start|>assistant"
    content += f"<|channel|>final<|message|>{text}<|return|>"
    answer["choices"][0]["message"]["content"] = content


def _thought_parts(answer: dict[str, Any], text: str) -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    parts = [thought, {"type": "text", "text": text}]
    answer["choices"][0]["message"]["content"] = parts


def _reasoning(answer: dict[str, Any], text: str) -> None:
    answer["choices"][0]["message"]["reasoning_content"] = "Let me see."


def _uncounted(answer: dict[str, Any], text: str) -> None:
    answer["usage"] = None


def _tagged(answer: dict[str, Any], text: str) -> None:
    answer["choices"][0]["message"]["content"] = f"<think>hm</think>\n{text}<|im_end|>"


LOGPROBS = frozenset({"logprobs", "top_logprobs"})
SCHEMA = frozenset({"response_format"})

PROVIDERS = (
    Provider(
        "vllm",
        (
            window(
                1800,
                "'max_tokens' or 'max_completion_tokens' is too large: {asked}. "
                "This model's maximum context length is {most} tokens and your "
                "request has {prompt} input tokens ({asked} > {most} - {prompt}).",
                _openai,
            ),
            above(
                "top_logprobs",
                5,
                "Requested sample logprobs of {value}, which is greater than max "
                "allowed: {most:g}",
                _plain,
            ),
        ),
        logprobs=True,
        wrap=_tagged,
    ),
    Provider(
        "sglang",
        (
            window(
                2000,
                "Requested token count exceeds the model's maximum context length "
                "of {most} tokens. You requested a total of {all} tokens: {prompt} "
                "tokens from the input messages and {asked} tokens for the "
                "completion.",
                _plain,
            ),
            unknown(
                "logprobs",
                text="{name} is not supported with this speculative algorithm",
                form=_plain,
            ),
        ),
        LOGPROBS,
        wrap=_reasoning,
    ),
    Provider(
        "tgi",
        (
            zero_temperature(
                "Input validation error: `temperature` must be strictly positive",
                _string,
                422,
            ),
            window(
                1800,
                "Input validation error: `inputs` tokens + `max_new_tokens` must be"
                " <= {most}. Given: {prompt} `inputs` tokens and {asked} "
                "`max_new_tokens`",
                _string,
                422,
            ),
        ),
        frozenset({"temperature"}),
    ),
    Provider(
        "llama.cpp",
        (
            no_system(
                "System role not supported: raise_exception in the chat template",
                _openai,
                500,
            ),
            above("n", 1, "Only one completion choice is allowed", _openai),
        ),
        listed={"meta": {"n_ctx": 8192}},
        wrap=_channels,
    ),
    Provider(
        "ollama",
        (chat_only("404 page not found", lambda text, *_: text.encode()),),
        wrap=_tagged,
    ),
    Provider(
        "lm studio",
        (
            no_system("Only user and assistant roles are supported!", _string),
            no_schema(
                "'response_format.type' json_schema is not supported by this engine",
                _string,
            ),
        ),
        SCHEMA,
    ),
    Provider(
        "openai",
        (
            chat_only(
                "This is a chat model and not supported in the v1/completions "
                "endpoint.",
                _openai,
            ),
            unknown(
                "max_tokens",
                text="Unsupported parameter: '{name}' is not supported with this model. "
                "Use 'max_completion_tokens' instead.",
                form=_openai,
            ),
            unknown(
                "temperature",
                "top_p",
                "stop",
                "logprobs",
                "n",
                text="Unsupported parameter: '{name}' is not supported with this model.",
                form=_openai,
            ),
            no_lengths(
                "In context=('properties', 'thought'), 'maxLength' is not permitted.",
                _openai,
            ),
        ),
        frozenset({"max_tokens", "temperature", "top_p", "stop", "n"}) | LOGPROBS,
        wrap=_reasoning,
    ),
    Provider(
        "azure",
        (
            chat_only(
                "The completion operation does not work with the specified model",
                _openai,
                400,
            ),
            unknown(
                "temperature",
                text="Unsupported value: '{name}' does not support 0.0 with this model. "
                "Only the default (1) value is supported.",
                form=_openai,
            ),
            unknown(
                "max_tokens",
                "stop",
                "logprobs",
                text="Unsupported parameter: '{name}' is not supported with this model.",
                form=_openai,
            ),
        ),
        frozenset({"max_tokens", "temperature", "stop"}) | LOGPROBS,
    ),
    Provider(
        "anthropic",
        (
            chat_only("Not Found", _anthropic),
            above(
                "max_tokens",
                8192,
                "max_tokens: {value} > {most:g}, which is the maximum allowed "
                "number of output tokens for this model",
                _anthropic,
            ),
            unknown(
                "response_format",
                text="{name}: Extra inputs are not permitted",
                form=_anthropic,
            ),
            unknown(
                "temperature",
                text="`{name}` is deprecated for this model.",
                form=_anthropic,
            ),
        ),
        frozenset({"response_format", "temperature"}),
    ),
    Provider(
        "gemini",
        (
            chat_only("", lambda text, *_: b""),
            unknown(
                "logprobs",
                "seed",
                "n",
                text='Invalid JSON payload received. Unknown name "{name}": Cannot find '
                "field.",
                form=_google,
            ),
            no_lengths(
                "The specified schema produces a constraint that has too many "
                "states for serving: maxLength",
                _google,
            ),
        ),
        LOGPROBS | {"seed", "n"},
        wrap=_uncounted,
    ),
    Provider(
        "mistral",
        (
            chat_only("no Route matched with those values", _plain),
            unknown(
                "logprobs",
                "seed",
                "n",
                text="Extra inputs are not permitted",
                form=_detail,
                status=422,
            ),
        ),
        LOGPROBS | {"seed", "n"},
        wrap=_thought_parts,
    ),
    Provider(
        "deepseek",
        (
            chat_only(
                "completions api is only available when using beta api", _openai, 400
            ),
            above(
                "max_tokens",
                300,
                "Invalid max_tokens value, the valid range of max_tokens is [1, "
                "{most:g}]",
                _openai,
            ),
            no_schema("This response_format type is unavailable now", _openai),
        ),
        SCHEMA,
        wrap=_reasoning,
    ),
    Provider(
        "dashscope",
        (
            chat_only("Unsupported model for this route", _openai, 404),
            above(
                "max_tokens",
                300,
                "Range of max_tokens should be [1, {most:g}]",
                _openai,
            ),
            unknown(
                "logprobs",
                text="<400> InternalError: parameter.{name} is not supported by this "
                "model",
                form=_openai,
            ),
        ),
        LOGPROBS,
    ),
    Provider(
        "groq",
        (
            chat_only("Unknown request URL: POST /v1/completions", _openai),
            unknown("logprobs", text="property '{name}' is unsupported", form=_openai),
            above("n", 1, "'n' : number must be at most 1", _openai),
            above(
                "max_tokens",
                300,
                "`max_tokens` must be less than or equal to `{most:g}`, the maximum"
                " value for `max_tokens` is less than the `context_window` for this"
                " model",
                _openai,
            ),
        ),
        LOGPROBS,
        wrap=_reasoning,
    ),
    Provider(
        "openrouter",
        (
            chat_only(
                "<!DOCTYPE html><html></html>", lambda text, *_: text.encode(), 200
            ),
            window(
                1800,
                "This endpoint's maximum context length is {most} tokens. However, "
                "you requested about {all} tokens ({prompt} of text input, {asked} "
                "in the output).",
                _openai,
            ),
            unknown(
                "seed",
                text="No endpoints found that support the parameter: {name}",
                form=_openai,
                status=404,
            ),
        ),
        frozenset({"seed"}),
        listed={"context_length": 8192},
    ),
    Provider(
        "dynamo",
        (
            unknown(
                "top_logprobs",
                text="Validation: unknown field `{name}`, expected one of `model`, "
                "`messages`",
                form=_string,
            ),
            window(
                2000,
                "Input is too long: prompt and max_tokens exceed the model's "
                "context length of {most}",
                _string,
                500,
            ),
        ),
        LOGPROBS,
    ),
    Provider(
        "xai",
        (
            chat_only("Not found", _flat, 404),
            unknown(
                "stop",
                "logprobs",
                "seed",
                text="Model grok does not support parameter {name}.",
                form=_flat,
            ),
        ),
        LOGPROBS | {"stop", "seed"},
        wrap=_reasoning,
    ),
    Provider(
        "cerebras",
        (
            chat_only("Not found", _plain, 404),
            unknown(
                "logprobs",
                text="body.{name}: property 'body.{name}' is unsupported",
                form=_plain,
            ),
            no_lengths("Unsupported JSON schema fields: {'maxLength'}", _plain),
        ),
        LOGPROBS,
    ),
    Provider(
        "moonshot",
        (
            chat_only("url.not_found", _openai, 404),
            unknown(
                "temperature",
                text="invalid {name}: only 0.6 is allowed for this model",
                form=_openai,
            ),
            window(
                1800,
                "Invalid request: Your request exceeded model token limit: {most} "
                "(requested: {all})",
                _openai,
            ),
        ),
        frozenset({"temperature"}),
    ),
    Provider(
        "bedrock's gateway",
        (
            chat_only("Not Found", _string, 404),
            no_system("This model doesn't support system prompts.", _string),
            above(
                "max_tokens",
                300,
                "The maximum tokens you requested exceeds the model limit of {most:g}. "
                "Try again with a maximum tokens value that is lower than {most:g}.",
                _string,
            ),
            unknown(
                "stop",
                text="This model doesn't support the stopSequences field. Remove "
                "stopSequences and try again.",
                form=_string,
            ),
        ),
        frozenset({"stop"}),
    ),
    Provider(
        "databricks",
        (
            chat_only("Path must match", _string, 404),
            above(
                "max_tokens",
                300,
                "Bad request: desc = max_tokens ({value}) cannot exceed {most:g}. Please "
                "reduce the length of max output tokens generated.",
                _string,
            ),
            unknown("seed", text='json: unknown field "{name}"', form=_string),
        ),
        frozenset({"seed"}),
    ),
    Provider(
        "perplexity",
        (
            chat_only("Not Found", _openai, 404),
            alternating(
                "After the (optional) system message(s), user and assistant roles "
                "should be alternating.",
                _openai,
            ),
            unknown("logprobs", text="{name} is not yet supported", form=_openai),
        ),
        LOGPROBS,
    ),
)


def _prompt_tokens(body: Body) -> int:
    texts = [str(message["content"]) for message in body.get("messages", [])]
    return len("".join([*texts, str(body.get("prompt", ""))])) // CHARACTERS_PER_TOKEN


@contextmanager
def provider(rules: Provider) -> Iterator[Loopback]:
    """The server, under way."""

    def answer(route: str, body: Body, headers: dict[str, str]) -> Reply:
        for rule in rules.rules:
            if (refused := rule(route, body)) is not None:
                return refused
        return 200, _answered(rules, route, body)

    listed = {"object": "list", "data": [{"id": rules.model, **rules.listed}]}
    with serving(answer, listed) as server:
        yield server


def _answered(rules: Provider, route: str, body: Body) -> dict[str, Any]:
    is_chat = route.endswith("/chat/completions")
    text = _legal(body) if is_chat else _next_line(str(body["prompt"]))
    choice: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
    if is_chat:
        choice["message"] = {"role": "assistant", "content": text}
    else:
        choice["text"] = text
    if rules.logprobs and body.get("logprobs"):
        first = text if is_chat else re.findall(r"\s*\S+", text)[0]
        top = [{"token": first, "logprob": -0.1}]
        choice["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
    usage = {"prompt_tokens": _prompt_tokens(body), "completion_tokens": 20}
    answer = {"choices": [choice] * int(body.get("n", 1)), "usage": usage}
    if is_chat:
        rules.wrap(answer, text)
    return answer


def _legal(body: Body) -> str:
    """A legal answer, also where the form is only described in the prompt."""
    prompt = str(body["messages"][-1]["content"])
    listed = re.search(
        r"exactly one of these lines and nothing else:\n- (.+)|one of them:\n(.+)",
        prompt,
    )
    if listed and "response_format" not in body:
        return listed[1] or listed[2]
    described = re.search(r"(?m)^(\{.*\"properties\".*\})\s*$", prompt)
    if described and "json_schema" not in str(body.get("response_format")):
        return json.dumps(worded(smallest(json.loads(described[1]))))
    return answer_to(body)


def _next_line(prompt: str) -> str:
    return " forward\n" if prompt.rstrip().endswith(".") else " I go on.\n"
