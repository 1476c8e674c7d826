"""Batches of Anthropic's Messages API, whose requests and replies are translated.

Source: https://platform.claude.com/docs/en/build-with-claude/batch-processing and
https://platform.claude.com/docs/en/api/messages
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from wayword.core.episode import Json
from wayword.core.errors import ModelError
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
    lines_of,
    picture_of,
    read_json,
)
from wayword.models.servers.connection import Connection, Missing
from wayword.models.servers.requests import Request


class AnthropicForm(OpenAIForm):
    """Batches of Anthropic's Messages API; requests and replies are translated."""

    most = 100_000
    route = "/messages/batches"
    state = "processing_status"
    after = "after_id"

    def __init__(self) -> None:
        # First requests that were looked for, and batches without them, whose results are long.
        self._other_batches: set[tuple[str, str]] = set()

    def headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}

    async def submit(
        self, server: Connection, batch: str, requests: Mapping[str, Request]
    ) -> str:
        rows = [
            {"custom_id": name, "params": messages_request(each.body)}
            for name, each in requests.items()
        ]
        return id_of(await read_json(server, "POST", self.route, {"requests": rows}))

    async def find(
        self,
        server: Connection,
        batch: str,
        names: Sequence[str],
        known: Sequence[str],
    ) -> str | None:
        """Return the ID of the batch with these requests, where the reply with its ID was lost.

        None if it was not made. ``batch`` is unused, as batches have no name of ours: a lost one is
        known by the custom IDs of its results, which can be read once it has ended.

        Raises a retryable ``ModelError`` if it is not found while a batch of equal size has not
        ended, so that the caller asks again. That batch may be another run's, which is waited for
        nonetheless: to send the requests again would cost as much as the lost batch.
        """
        may_be_working = False
        async for job in self.jobs(server):
            # Another program's batch may lack anything, and must not end the search.
            counts = mapping(job, "request_counts").values()
            size = sum(each for each in counts if isinstance(each, int))
            job_id = field(job, "id")
            if not job_id or job_id in known or size != len(names):
                continue
            pair = (names[0], str(job_id))
            if pair in self._other_batches:
                continue
            if self.state_of(job) != "ended":
                may_be_working = True
                continue
            # Results are gone 29 days after their batch was made.
            with suppress(Missing):
                results = await self.results(server, job)
                # Custom IDs hash content and episode, so one identifies the batch.
                if names[0] in [each.name for each in results]:
                    return id_of(job)
            self._other_batches.add(pair)
        if may_be_working:
            problem = "a batch that may be this run's has not ended"
            raise ModelError(problem, retryable=True)
        return None

    async def results(self, server: Connection, job: Json) -> list[Result]:
        route = f"{self.route}/{id_of(job)}/results"
        content = await server.exchange("GET", route)
        return [_messages_result(line) for line in lines_of(content)]


_SAMPLING = ("temperature", "top_p", "top_k", "metadata", "thinking", "output_config")
"""Fields that have the same name there."""
_THOUGHTS = ("thinking", "redacted_thinking")
"""Blocks of reasoning, which go back with their signatures."""
_STATUSES = {"invalid_request_error": 400, "not_found_error": 404}
"""Status by the type of an error; all others are the server's, and may be tried again."""


def messages_request(body: Mapping[str, Any]) -> dict[str, Json]:
    """Return a chat request as one of the Messages API."""
    params: dict[str, Json] = {"model": body["model"], "max_tokens": limit_of(body)}
    params |= {name: body[name] for name in _SAMPLING if name in body}
    # A stop sequence of white space alone is refused, with its request.
    if stops := [each for each in body.get("stop") or () if each.strip()]:
        params["stop_sequences"] = stops
    rules, messages = conversation(body, "assistant", "content", _content)
    if rules:
        params["system"] = rules
    params["messages"] = messages
    if tools := declared(body, "input_schema"):
        params["tools"] = tools
        choice = body.get("tool_choice")
        if isinstance(choice, Mapping):
            chosen = {"type": "tool", "name": choice["function"]["name"]}
        else:
            chosen = {"type": "any"}
        if body.get("parallel_tool_calls") is False:
            chosen["disable_parallel_tool_use"] = True
        params["tool_choice"] = chosen
    return params


def _content(message: Mapping[str, Any]) -> list[Json]:
    """Return the content blocks of a message."""
    if message["role"] == "tool":
        result = {"type": "tool_result", "tool_use_id": message["tool_call_id"]}
        return [{**result, "content": message["content"]}]
    blocks = _parts(message.get("content"))
    for call in message.get("tool_calls") or ():
        called = {"id": call["id"], "name": call["function"]["name"]}
        blocks.append({"type": "tool_use", **called, "input": arguments_of(call)})
    return blocks


def _parts(content: Json) -> list[Json]:
    """Return a content in OpenAI's form as blocks: its text, and pictures in it. Thoughts are
    blocks of Anthropic's already; an empty text, which it refuses, and other parts are left out."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    blocks: list[Json] = []
    for part in content or ():
        if part["type"] == "image_url":
            kind, data = picture_of(part)
            source = {"type": "base64", "media_type": kind, "data": data}
            blocks.append({"type": "image", "source": source})
        elif part.get("text") or part["type"] in _THOUGHTS:
            blocks.append(part)
    return blocks


def _messages_result(line: Json) -> Result:
    """Return a line of Anthropic's results."""
    name = str(field(line, "custom_id"))
    result = mapping(line, "result")
    kind = result.get("type")
    if kind == "succeeded":
        return Result(name, 200, chat_reply(mapping(result, "message")))
    if kind == "errored":
        error = result.get("error")
        inner = field(error, "error") or error
        return Result(name, _STATUSES.get(str(field(inner, "type")), 500), error)
    return Result(name, NOT_PROCESSED, {"message": f"the request was {kind}"})


def chat_reply(message: Mapping[str, Any]) -> dict[str, Json]:
    """Return a message of the Messages API as a reply of the chat API."""
    blocks = as_list(message.get("content"))
    calls = [
        call_of(field(each, "name"), field(each, "input"), id=field(each, "id"))
        for each in blocks
        if field(each, "type") == "tool_use"
    ]
    written: dict[str, Json] = {"role": "assistant"}
    shown = ("text", *_THOUGHTS)
    written["content"] = [each for each in blocks if field(each, "type") in shown]
    if calls:
        written["tool_calls"] = calls
    choice = {"message": written, "finish_reason": message.get("stop_reason")}
    return {"choices": [choice], "usage": message.get("usage")}
