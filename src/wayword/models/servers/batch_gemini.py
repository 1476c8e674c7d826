"""Batches of the Gemini API, whose requests and replies are translated.

Source: https://ai.google.dev/gemini-api/docs/batch-api and
https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wayword.core.episode import Json
from wayword.models.servers.answers import as_list, field, mapping
from wayword.models.servers.batch_forms import (
    NOT_PROCESSED,
    OpenAIForm,
    Result,
    arguments_of,
    call_of,
    conversation,
    declared,
    id_of,
    limit_of,
    picture_of,
    read_json,
)
from wayword.models.servers.connection import Connection
from wayword.models.servers.requests import Request


class GeminiForm(OpenAIForm):
    """Batches of the Gemini API, next to its layer of the chat API: requests are sent inline."""

    # Inline requests may have 20 MB; files may have more, by an interface of their own.
    most_bytes = 15_000_000
    id = "name"
    own_name = "displayName"
    listed = "operations"
    page_size = "pageSize"
    after = "pageToken"

    def headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    async def submit(
        self, server: Connection, batch: str, requests: Mapping[str, Request]
    ) -> str:
        rows = [
            {"request": content_request(each.body), "metadata": {"key": name}}
            for name, each in requests.items()
        ]
        first = next(iter(requests.values()))
        model = str(first.body["model"]).removeprefix("models/")
        inline = {"requests": {"requests": rows}}
        made = {"batch": {"display_name": batch, "input_config": inline}}
        route = f"../models/{model}:batchGenerateContent"
        return id_of(await read_json(server, "POST", route, made), self.id)

    def list_route(self) -> str:
        return "../batches"

    def next_page(self, page: Json, jobs: Sequence[Json], number: int) -> str:
        return str(field(page, "nextPageToken") or "")

    def job_route(self, job_id: str) -> str:
        return f"../{job_id}"

    def state_of(self, job: Json) -> str:
        # BATCH_STATE_EXPIRED, in other versions JOB_STATE_EXPIRED
        state = str(mapping(job, "metadata").get("state") or "").lower()
        if field(job, "done") and not state:
            state = "failed" if field(job, "error") else "succeeded"
        return state.rpartition("_state_")[2]

    async def results(self, server: Connection, job: Json) -> list[Result]:
        # Both of the places in which the documentation shows it.
        reply = mapping(job, "response") or mapping(mapping(job, "metadata"), "output")
        rows = mapping(reply, "inlinedResponses").get("inlinedResponses")
        return [_result(row) for row in as_list(rows)]


_INVALID = 3  # code of an invalid argument; all others may be tried again


def content_request(body: Mapping[str, Any]) -> dict[str, Json]:
    """Return a chat request as one of ``generateContent``."""
    rules, contents = conversation(body, "model", "parts", _parts)
    request: dict[str, Json] = {"contents": contents}
    if rules:
        request["systemInstruction"] = {"parts": rules}
    settings: dict[str, Json] = {"maxOutputTokens": limit_of(body)}
    for name, theirs in _SAMPLING.items():
        if name in body:
            settings[theirs] = body[name]
    form = mapping(body, "response_format")
    if form:
        settings["responseMimeType"] = "application/json"
    if schema := mapping(form, "json_schema").get("schema"):
        settings["responseJsonSchema"] = schema
    request["generationConfig"] = settings
    if tools := declared(body, "parametersJsonSchema"):
        request["tools"] = [{"functionDeclarations": tools}]
        request["toolConfig"] = {"functionCallingConfig": {"mode": "ANY"}}
    return request


_SAMPLING = {
    "temperature": "temperature",
    "top_p": "topP",
    "stop": "stopSequences",
    "seed": "seed",
    "n": "candidateCount",
}


def _parts(message: Mapping[str, Any]) -> list[Json]:
    """Return the parts of a message: texts, pictures, calls, or the result of a call."""
    content = message.get("content") or ""
    if message["role"] == "tool":
        result = {"name": message["name"], "response": {"result": content}}
        return [{"functionResponse": result}]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    parts: list[Json] = []
    for part in content:
        if part["type"] == "image_url":
            kind, data = picture_of(part)
            parts.append({"inlineData": {"mimeType": kind, "data": data}})
        # A message of calls alone has an empty text.
        elif part["text"]:
            parts.append({"text": part["text"]})
    for call in message.get("tool_calls") or ():
        called = {"name": call["function"]["name"], "args": arguments_of(call)}
        call_part: dict[str, Json] = {"functionCall": called}
        # Calls are refused without the signature that came with them.
        if signature := call.get(_SIGNATURE):
            call_part[_SIGNATURE] = signature
        parts.append(call_part)
    return parts


_SIGNATURE = "thoughtSignature"


def _result(row: Json) -> Result:
    """Return a row of a batch as a result: 200 with a reply of the chat API, else an error.

    Invalid requests get the status 400, failures of the server 500.
    """
    name = str(mapping(row, "metadata").get("key"))
    if response := mapping(row, "response"):
        return Result(name, 200, chat_reply(response))
    error = mapping(row, "error")
    if not error:
        return Result(name, NOT_PROCESSED, {"message": "the batch has no result"})
    status = 400 if error.get("code") == _INVALID else 500
    return Result(name, status, {"error": dict(error)})


def chat_reply(response: Mapping[str, Any]) -> dict[str, Json]:
    """Return a reply of ``generateContent`` as one of the chat API."""
    choices = []
    for index, candidate in enumerate(as_list(response.get("candidates"))):
        message: dict[str, Json] = {"role": "assistant", "content": ""}
        thoughts = ""
        calls = []
        for part in as_list(mapping(candidate, "content").get("parts")):
            if called := mapping(part, "functionCall"):
                call = call_of(called.get("name"), called.get("args"))
                if signature := field(part, _SIGNATURE):
                    call[_SIGNATURE] = signature
                calls.append(call)
            elif field(part, "thought"):
                thoughts += str(field(part, "text") or "")
            else:
                message["content"] += str(field(part, "text") or "")
        if thoughts:
            message["reasoning_content"] = thoughts
        if calls:
            message["tool_calls"] = calls
        finish = field(candidate, "finishReason")
        choices.append({"index": index, "message": message, "finish_reason": finish})
    # Gemini counts thoughts apart; in the chat API they are part of the answer.
    counts = mapping(response, "usageMetadata")
    thinking = counts.get("thoughtsTokenCount") or 0
    usage = {
        "prompt_tokens": counts.get("promptTokenCount"),
        "completion_tokens": (counts.get("candidatesTokenCount") or 0) + thinking,
        "prompt_tokens_details": {
            "cached_tokens": counts.get("cachedContentTokenCount") or 0
        },
        "completion_tokens_details": {"reasoning_tokens": thinking},
    }
    return {"choices": choices, "usage": usage}
