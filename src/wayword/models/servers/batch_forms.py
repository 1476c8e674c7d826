"""Batch interfaces of providers: how requests are sent together, and their answers read.

A form sends requests, and reads back pairs of custom IDs and results, in the form of the chat API:
the status 200 with a reply, a status from 300 with an error, or one of two for requests without a
reply. Of all four providers, a batch costs half, ends within 24 hours, and bills only requests with
a reply.

Sources: https://developers.openai.com/api/docs/guides/batch,
https://platform.claude.com/docs/en/build-with-claude/batch-processing,
https://ai.google.dev/gemini-api/docs/batch-api, https://docs.mistral.ai/capabilities/batch
"""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from wayword.core.episode import Json
from wayword.core.errors import Lost, ModelError
from wayword.core.secrets import redacted
from wayword.models.servers.answers import as_list, field, mapping
from wayword.models.servers.connection import Connection, Missing
from wayword.models.servers.refusals import read
from wayword.models.servers.requests import Request

NOT_PROCESSED = 0
"""Status of a request that expired, or was canceled, before its turn: it is not billed."""
LOST = -1
"""Status of a request that may have been processed and billed, and whose result is gone."""
_PASSING = frozenset({"no credit", "wrong key", "wrong address", "overloaded"})
PAGE = 100
"""Batches of a page of a list: the most that all four providers allow."""
MOST_PAGES = 10
"""Pages in which a lost batch is looked for: lists are newest first, and may have no end."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one request of a batch: its custom ID, HTTP status and JSON."""

    name: str
    status: int
    reply: Json

    @property
    def is_failure(self) -> bool:
        """True if the same request may have another result: later, or with credit or a key."""
        if 200 <= self.status < 300:
            return False
        if self.status < 200 or self.status >= 500:
            return True
        return read(self.status, self.reply, ()).kind in _PASSING


class OpenAIForm:
    """Batches of OpenAI: an uploaded file of requests, and files of replies and of errors."""

    most = 50_000
    """Requests in a batch."""
    # OpenAI accepts files of 200 MB, Mistral and Anthropic more.
    most_bytes = 100_000_000
    route = "/batches"
    files = ("output_file_id", "error_file_id")
    state = "status"
    # Names of the fields of a list, and of a batch's metadata that has our name.
    id = "id"
    own_name = "wayword"
    listed = "data"
    page_size = "limit"
    after = "after"

    def headers(self, key: str) -> dict[str, str]:
        """Return headers with the key, if it is not the bearer's."""
        return {}

    async def submit(
        self, server: Connection, batch: str, requests: Mapping[str, Request]
    ) -> str:
        """Send the requests, by custom ID, as a batch with our name for it. Returns its ID."""
        lines = [json.dumps(self.line(n, each)) for n, each in requests.items()]
        file = await self.upload(server, batch, "\n".join(lines).encode())
        first = next(iter(requests.values()))
        job = self.job(batch, file, f"/v1{first.route}", str(first.body["model"]))
        return id_of(await read_json(server, "POST", self.route, job))

    async def find(
        self,
        server: Connection,
        batch: str,
        names: Sequence[str],
        known: Sequence[str],
    ) -> str | None:
        """Return the ID of a batch with our name, None if it was not made. ``names`` are the custom
        IDs of its requests, ``known`` the IDs of other batches."""
        async for job in self.jobs(server):
            if mapping(job, "metadata").get(self.own_name) == batch:
                return id_of(job, self.id)
        return None

    async def jobs(self, server: Connection) -> AsyncIterator[Json]:
        """Yield the batches of the provider, page by page, at most ``MOST_PAGES``."""
        cursor = ""
        for number in range(1, MOST_PAGES + 1):
            route = f"{self.list_route()}?{self.page_size}={PAGE}{cursor}"
            page = await read_json(server, "GET", route)
            jobs = as_list(field(page, self.listed))
            for job in jobs:
                yield job
            following = self.next_page(page, jobs, number)
            if not jobs or not following:
                return
            cursor = f"&{self.after}={quote(following, safe='')}"

    def list_route(self) -> str:
        """Return the route of the list of batches."""
        return self.route

    def next_page(self, page: Json, jobs: Sequence[Json], number: int) -> str:
        """Return the cursor of the page after this one, empty after the last; ``number`` pages were
        read."""
        return id_of(jobs[-1]) if jobs and field(page, "has_more") else ""

    async def poll(self, server: Connection, job_id: str) -> Json | None:
        """Return the provider's record of a batch that has ended, else None. Raises ``Missing`` for
        a reply that is no such record, as of a batch that was deleted."""
        job = await read_json(server, "GET", self.job_route(job_id))
        state = self.state_of(job)
        if not state:
            shown = redacted(json.dumps(job))[:200]
            raise Missing(f"the reply about the batch {job_id} has no state: {shown}")
        if state in _ALL_PROCESSED | _CUT_SHORT:
            return job
        return None

    def job_route(self, job_id: str) -> str:
        """Return the route of a batch."""
        return f"{self.route}/{job_id}"

    def state_of(self, job: Json) -> str:
        """Return the state of a batch in lower case, empty if there is none."""
        return str(field(job, self.state) or "").lower()

    def without_result(self, job: Json) -> int:
        """Return the status of requests that an ended batch has no result for."""
        if self.state_of(job) in _CUT_SHORT:
            return NOT_PROCESSED
        return LOST

    async def results(self, server: Connection, job: Json) -> list[Result]:
        """Return the results of a batch that has ended."""
        found: list[Result] = []
        for name in self.files:
            if file := field(job, name):
                found += map(_result, lines_of(await self.download(server, str(file))))
        return found

    def refusal(self, job: Json) -> ModelError | None:
        """Return the error of a batch none of whose requests was processed, because it was refused
        as it stands; None if it was not."""
        listed = field(job, "errors")
        problems = as_list(field(listed, "data")) or as_list(listed)
        if not problems:
            return None
        reasons = "; ".join(str(field(each, "message")) for each in problems[:3])
        # The queue of a model holds a number of tokens, and empties with time.
        is_full = "limit" in str(field(problems[0], "code"))
        return ModelError(
            f"the batch was refused: {redacted(reasons)[:300]}",
            retryable=is_full,
            away=is_full,
            fatal=not is_full,
        )

    def line(self, name: str, request: Request) -> Json:
        """Return a request as a line of the file."""
        url = f"/v1{request.route}"
        return {
            "custom_id": name,
            "method": "POST",
            "url": url,
            "body": request.body,
        }

    def job(self, batch: str, file: str, endpoint: str, model: str) -> Json:
        """Return the body that makes a batch of an uploaded file."""
        return {
            "input_file_id": file,
            "endpoint": endpoint,
            "completion_window": "24h",
            "metadata": {"wayword": batch},
        }

    async def upload(self, server: Connection, batch: str, content: bytes) -> str:
        """Upload a file of requests. Returns its ID."""
        border = secrets.token_hex(16)
        disposition = f"--{border}\r\nContent-Disposition: form-data; name="
        parts = [
            f'{disposition}"purpose"\r\n\r\nbatch\r\n',
            f'{disposition}"file"; filename="{batch}.jsonl"\r\n',
            "Content-Type: application/jsonl\r\n\r\n",
        ]
        body = "".join(parts).encode() + content + f"\r\n--{border}--\r\n".encode()
        headers = {"Content-Type": f"multipart/form-data; boundary={border}"}
        return id_of(await read_json(server, "POST", "/files", body, headers))

    async def download(self, server: Connection, file: str) -> bytes:
        return await server.exchange("GET", f"/files/{file}/content")


# States of the four providers, and of servers with OpenAI's interface that spell them otherwise.
_ALL_PROCESSED = frozenset({"completed", "succeeded", "success", "ended"})
_CUT_SHORT = frozenset(
    {
        *("failed", "expired", "cancelled", "canceled", "timeout_exceeded"),
        "partially_succeeded",
    }
)


class MistralForm(OpenAIForm):
    """Batches of Mistral: as OpenAI's, under other names."""

    route = "/batch/jobs"
    files = ("output_file", "error_file")
    page_size = "page_size"
    after = "page"

    def job(self, batch: str, file: str, endpoint: str, model: str) -> Json:
        return {
            "input_files": [file],
            "endpoint": endpoint,
            "model": model,
            "timeout_hours": 24,
            "metadata": {"wayword": batch},
        }

    def next_page(self, page: Json, jobs: Sequence[Json], number: int) -> str:
        # Pages have numbers from 0, so the next one has that of the pages read.
        return str(number) if len(jobs) == PAGE else ""


async def read_json(
    server: Connection,
    method: str,
    route: str,
    body: Json = None,
    headers: Mapping[str, str] | None = None,
) -> Json:
    """Return the JSON of a reply.

    Raises ``ModelError``, also for a gateway's page in place of it: retryable and ``away``, as the
    server itself did not answer, and with ``lost`` if the request may have made something.
    """
    reply = await server.exchange(method, route, body, headers)
    try:
        return json.loads(reply)
    except ValueError:
        # Cut last: a part of a key would not be redacted.
        text = redacted(reply.decode(errors="replace"))[:120]
        problem = f"the server's reply about a batch is not JSON: {text!r}"
        lost: Lost = "cut off" if method == "POST" else ""
        raise ModelError(problem, retryable=True, away=True, lost=lost) from None


def id_of(job: Json, key: str = "id") -> str:
    """Return the ID of a batch or file. Raises ``ModelError`` with ``lost`` if there is none."""
    job_id = field(job, key)
    if not isinstance(job_id, str) or not job_id:
        problem = f"the server's reply about a batch has no id: {job!r:.120}"
        raise ModelError(problem, lost="cut off")
    return job_id


def lines_of(content: bytes) -> Iterator[Json]:
    """Yield the values of a file of JSON lines. Raises ``ValueError``."""
    for line in content.splitlines():
        if line.strip():
            yield json.loads(line)


# Parts of chat requests, for interfaces of another form.


def conversation(
    body: Mapping[str, Any],
    role: str,
    content: str,
    parts_of: Callable[[Mapping[str, Any]], list[Json]],
) -> tuple[list[Json], list[dict[str, Json]]]:
    """Return the parts of the system messages, and the other messages with their parts in a field
    ``content``. The assistant's role is ``role``, and all others are the user's."""
    rules: list[Json] = []
    messages: list[dict[str, Json]] = []
    for message in body["messages"]:
        if message["role"] == "system":
            rules += parts_of(message)
            continue
        speaker = role if message["role"] == "assistant" else "user"
        # Results of several calls are one message.
        if messages and messages[-1]["role"] == speaker:
            messages[-1][content] += parts_of(message)
        else:
            messages.append({"role": speaker, content: parts_of(message)})
    return rules, messages


def declared(body: Mapping[str, Any], schema: str) -> list[Json]:
    """Return the tools of a chat request, each with its parameters in a field ``schema``."""
    functions = [tool["function"] for tool in body.get("tools") or ()]
    return [
        {
            "name": each["name"],
            "description": each.get("description", ""),
            schema: each["parameters"],
        }
        for each in functions
    ]


def limit_of(body: Mapping[str, Any]) -> int:
    """Return the maximum tokens of the answer to a chat request."""
    return int(body.get("max_tokens") or body["max_completion_tokens"])


def picture_of(part: Mapping[str, Any]) -> tuple[str, str]:
    """Return the media type and base64 data of a part with a picture:
    ``data:image/png;base64,…``."""
    head, _, data = part["image_url"]["url"].partition(",")
    return head.removeprefix("data:").removesuffix(";base64"), data


def arguments_of(call: Mapping[str, Any]) -> Json:
    """Return the arguments of a tool call; none if the model wrote no JSON, which only the chat API
    can repeat."""
    try:
        return json.loads(call["function"]["arguments"])
    except ValueError:
        return {}


def call_of(name: Json, arguments: Json, **more: Json) -> dict[str, Json]:
    """Return a tool call in the form of the chat API."""
    text = json.dumps(arguments or {}, ensure_ascii=False)
    return {"type": "function", "function": {"name": name, "arguments": text}, **more}


def _result(line: Json) -> Result:
    """Return a line of OpenAI's files of results."""
    name = str(field(line, "custom_id"))
    response = mapping(line, "response")
    status = response.get("status_code")
    if not isinstance(status, int):
        return Result(name, NOT_PROCESSED, field(line, "error"))
    return Result(name, status, response.get("body"))
