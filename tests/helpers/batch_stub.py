"""Batch interfaces of providers on loopback, which keep the books of what they bill.

A batch is processed, and billed, when it is made: it is paid for whether its answers are read or
not. ``expire`` of the requests are left out, as if the batch had expired; ``fail`` end with an
error. ``lose`` breaks the connection after a batch was made, ``garble`` answers with this text
instead, and ``on_request`` is called with each
method and route, and can kill the client at that moment.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs

from helpers.loopback import Server
from wayword.models.scripted import smallest

PRICE = {"input": 2.0, "cached": 0.2, "output": 8.0}
"""US dollars per million tokens, of which batches cost one half."""
KEY = "stub-key-5161"
CACHED = 16
"""Tokens of each prompt that the prefix cache held."""
_PIECE = re.compile(r"[A-Za-z]{1,9}|[0-9]{1,3}|[^A-Za-z0-9\s]")


@dataclass
class Books:
    """What the provider has billed, and how it behaves."""

    form: str = "openai"
    address: str = ""
    dollars: float = 0.0
    processed: list[str] = field(default_factory=list)
    """Custom IDs of the requests that were billed."""
    batches: list[int] = field(default_factory=list)
    """Requests of each batch."""
    polls: int = 1
    """Looks at a batch until it has ended."""
    expire: int = 0
    fail: int = 0
    lose: int = 0
    garble: str = ""
    away: int = 0
    """Requests about a batch that are answered by 503."""
    unknown: str = ""
    """A field of the body that is refused, request by request."""
    refuse: str = ""
    """Code of the error of the next batch, none of whose requests is processed."""
    on_request: Callable[[str, str], None] = lambda method, route: None
    gone: int = 0
    """For the first batches, by number, all looks at them are answered by ``denial``."""
    gone_files: int = 0
    """The same for the first reads of results, by number."""
    denial: tuple[int, Any] = (404, {"error": {"message": "No batch found"}})
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    bodies: list[dict[str, Any]] = field(default_factory=list)


class _Rule(Exception):
    """A refusal by the provider's rules."""


class _Gone(Exception):
    """A batch or a file that the provider does not have."""


def _tokens(value: Any) -> int:
    return len(_PIECE.findall(json.dumps(value)))


def _text(body: Mapping[str, Any]) -> str:
    """The answer to a request: bound by its schema, else a word."""
    bound = body.get("response_format", {}).get("json_schema", {}).get("schema")
    if bound is None:
        return "forward"
    return json.dumps(smallest(bound))


class _Provider:
    """The rules that all providers share, and OpenAI's."""

    path = "/v1"
    ended = "completed"
    expired = "expired"
    failed = "failed"
    batches = "/v1/batches"
    after = "after"
    files = ("output_file_id", "error_file_id")

    def __init__(self, books: Books) -> None:
        self.books = books
        self._ids = 0

    def handle(
        self, method: str, route: str, body: bytes, headers: Mapping[str, str]
    ) -> bytes:
        route, _, query = route.partition("?")
        if method == "POST" and route == "/v1/files":
            return self._upload(body, headers)
        if method == "POST" and route == self.batches:
            return self._make(json.loads(body))
        if route == self.batches:
            for job in self.books.jobs.values():
                job["looks"] += 1
            return json.dumps(self._list(parse_qs(query))).encode()
        if match := re.fullmatch(r"/v1/files/([\w-]+)/content", route):
            return self._content(match[1])
        if match := re.fullmatch(rf"{self.batches}/([\w-]+)", route):
            return self._look(match[1])
        raise _Rule(f"no such route: {method} {route}")

    def _newest_first(self) -> list[Any]:
        """All batches, as they are shown."""
        return [self._shown(job) for job in reversed(self.books.jobs.values())]

    def _list(self, query: Mapping[str, list[str]]) -> Any:
        """A page of batches, after the one with an ID."""
        jobs = self._newest_first()
        if after := query.get(self.after):
            names = [job["id"] for job in jobs]
            jobs = jobs[names.index(after[0]) + 1 :]
        size = int(query["limit"][0])
        page = {"object": "list", "data": jobs[:size], "has_more": len(jobs) > size}
        return {**page, "last_id": jobs[:size][-1]["id"] if jobs else None}

    def _look(self, name: str) -> bytes:
        """A batch as it is shown. Raises ``_Gone``."""
        job = self.books.jobs[name]
        if job["is_gone"]:
            raise _Gone
        job["looks"] += 1
        return json.dumps(self._shown(job)).encode()

    def _content(self, name: str) -> bytes:
        """A file of results. Raises ``_Gone``."""
        if self.books.gone_files > 0:
            self.books.gone_files -= 1
            raise _Gone
        return self.books.files[name]

    def _id(self, kind: str) -> str:
        self._ids += 1
        return f"{kind}-{self._ids}"

    def _upload(self, body: bytes, headers: Mapping[str, str]) -> bytes:
        _, _, border = headers["content-type"].partition("boundary=")
        parts = body.split(f"--{border}".encode())
        assert parts[0] == b""
        assert parts[-1].strip() == b"--"
        heads = [part.strip().partition(b"\r\n\r\n") for part in parts[1:-1]]
        values = {
            re.search(rb'name="(\w+)"', head)[1].decode(): text  # type: ignore[index]
            for head, _, text in heads
        }
        assert values["purpose"] == b"batch"
        name = self._id("file")
        self.books.files[name] = values["file"]
        return json.dumps({"id": name, "object": "file", "purpose": "batch"}).encode()

    def _lines(self, made: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The requests of a new batch. Raises ``_Rule``."""
        if made.get("completion_window") != "24h":
            raise _Rule("completion_window must be 24h")
        content = self.books.files[made["input_file_id"]]
        lines = [json.loads(line) for line in content.splitlines()]
        for line in lines:
            assert line.keys() == {"custom_id", "method", "url", "body"}
            assert (line["method"], line["url"]) == ("POST", made["endpoint"])
        assert len({line["body"]["model"] for line in lines}) == 1
        return lines

    def _make(self, made: dict[str, Any]) -> bytes:
        books = self.books
        lines = self._lines(made)
        assert len({line["custom_id"] for line in lines}) == len(lines)
        name = self._id("batch")
        job = books.jobs[name] = {
            "id": name,
            "metadata": made.get("metadata", {}),
            "looks": 0,
            "count": len(lines),
            "is_gone": len(books.batches) < books.gone,
        }
        if books.refuse:
            job["problem"] = books.refuse
            books.refuse = ""
            return json.dumps(self._shown(job)).encode()
        books.batches.append(len(lines))
        done: list[Any] = []
        errors: list[Any] = []
        for line in lines:
            if books.expire > 0 and len(lines) > 1 and line is not lines[0]:
                books.expire -= 1
                job["is_expired"] = True
                errors.append(self._unprocessed(line))
            elif books.fail > 0:
                books.fail -= 1
                errors.append(self._failed(line))
            elif books.unknown in line.get("body", {}):
                errors.append(self._refused(line))
            else:
                done.append(self._processed(line))
        # Results come in any order.
        self._store(job, done[::-1], errors)
        return json.dumps(self._shown(job)).encode()

    def _bill(
        self, line: Mapping[str, Any], body: Mapping[str, Any]
    ) -> tuple[str, Any]:
        """Process and bill a request: its answer, and its counts of tokens."""
        books = self.books
        text = _text(body)
        prompt = CACHED + _tokens(body["messages"])
        written = _tokens(text)
        price = PRICE
        dollars = (prompt - CACHED) * price["input"] + CACHED * price["cached"]
        books.dollars += 0.5 * (dollars + written * price["output"]) / 1e6
        books.processed.append(line["custom_id"])
        books.bodies.append(dict(body))
        return text, (prompt, written)

    def _processed(self, line: dict[str, Any]) -> Any:
        text, (prompt, written) = self._bill(line, line["body"])
        message = {"role": "assistant", "content": text}
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": written,
            "total_tokens": prompt + written,
            "prompt_tokens_details": {"cached_tokens": CACHED},
        }
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"choices": [choice], "usage": usage, "service_tier": "default"}
        response = {"status_code": 200, "request_id": "r", "body": body}
        return {"custom_id": line["custom_id"], "response": response, "error": None}

    def _unprocessed(self, line: dict[str, Any]) -> Any:
        error = {"code": "batch_expired", "message": "could not be executed in time"}
        return {"custom_id": line["custom_id"], "response": None, "error": error}

    def _failed(self, line: dict[str, Any]) -> Any:
        body = {"error": {"message": "the server had an error", "type": "server_error"}}
        response = {"status_code": 500, "request_id": "r", "body": body}
        return {"custom_id": line["custom_id"], "response": response, "error": None}

    def _refused(self, line: dict[str, Any]) -> Any:
        name = self.books.unknown
        line_of_error = f"Unrecognized request argument supplied: {name}"
        error = {"message": line_of_error, "type": "invalid_request_error"}
        response = {"status_code": 400, "body": {"error": error}}
        return {"custom_id": line["custom_id"], "response": response, "error": None}

    def _store(self, job: dict[str, Any], done: list[Any], errors: list[Any]) -> None:
        for field_name, lines in zip(self.files, (done, errors), strict=True):
            if lines:
                name = self._id("file")
                text = "".join(json.dumps(line) + "\n" for line in lines)
                self.books.files[name] = text.encode()
                job[field_name] = name

    def _shown(self, job: dict[str, Any]) -> Any:
        """A batch as the provider shows it: without its files until it has ended."""
        shown = {"id": job["id"], "object": "batch", "metadata": job["metadata"]}
        if job["looks"] <= self.books.polls:
            return {**shown, "status": "in_progress"}
        if job.get("problem"):
            problem = {"code": job["problem"], "message": "the queue is full"}
            errors = {"object": "list", "data": [problem]}
            return {**shown, "status": self.failed, "errors": errors}
        status = self.expired if job.get("is_expired") else self.ended
        found = {name: job.get(name) for name in self.files}
        return {**shown, "status": status, **found}


class _Mistral(_Provider):
    ended = "SUCCESS"
    expired = "TIMEOUT_EXCEEDED"
    failed = "FAILED"
    batches = "/v1/batch/jobs"
    files = ("output_file", "error_file")

    def _list(self, query: Mapping[str, list[str]]) -> Any:
        """A page of batches, by its number from 0."""
        jobs = self._newest_first()
        size = int(query["page_size"][0])
        start = size * int(query.get("page", ["0"])[0])
        return {"data": jobs[start : start + size], "total": len(jobs)}

    def _lines(self, made: Mapping[str, Any]) -> list[dict[str, Any]]:
        assert made["model"]
        assert made["endpoint"] == "/v1/chat/completions"
        (file,) = made["input_files"]
        return [json.loads(line) for line in self.books.files[file].splitlines()]


_MESSAGE_FIELDS = {
    *("model", "max_tokens", "messages", "system", "temperature", "top_p"),
    *("stop_sequences", "tools", "tool_choice"),
}


class _Anthropic(_Provider):
    batches = "/v1/messages/batches"
    after = "after_id"

    def handle(
        self, method: str, route: str, body: bytes, headers: Mapping[str, str]
    ) -> bytes:
        assert headers["anthropic-version"] == "2023-06-01"
        assert headers["x-api-key"] == KEY
        assert "authorization" not in headers
        if match := re.fullmatch(rf"{self.batches}/([\w-]+)/results", route):
            return self._content(self.books.jobs[match[1]]["results"])
        return super().handle(method, route, body, headers)

    def _lines(self, made: Mapping[str, Any]) -> list[dict[str, Any]]:
        for line in made["requests"]:
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", line["custom_id"])
            params = line["params"]
            assert params.keys() <= _MESSAGE_FIELDS
            assert params["max_tokens"] >= 1
            roles = [message["role"] for message in params["messages"]]
            assert roles[0] == "user"
            assert all(map(str.__ne__, roles, roles[1:]))
        return list(made["requests"])

    def _processed(self, line: dict[str, Any]) -> Any:
        text, (prompt, written) = self._bill(line, line["params"])
        usage = {
            "input_tokens": prompt - CACHED,
            "cache_read_input_tokens": CACHED,
            "cache_creation_input_tokens": 0,
            "output_tokens": written,
        }
        content: list[Any] = [{"type": "text", "text": text}]
        reason = "end_turn"
        if tools := line["params"].get("tools"):
            call = {"type": "tool_use", "id": "toolu_1", "name": tools[0]["name"]}
            content.append({**call, "input": {"at": "left"}})
            reason = "tool_use"
        message = {"type": "message", "role": "assistant", "content": content}
        message |= {"stop_reason": reason, "usage": usage}
        return self._result(line, "succeeded", message=message)

    def _unprocessed(self, line: dict[str, Any]) -> Any:
        return self._result(line, "expired")

    def _failed(self, line: dict[str, Any]) -> Any:
        error = {"type": "api_error", "message": "Internal server error"}
        return self._result(line, "errored", error={"type": "error", "error": error})

    def _result(self, line: dict[str, Any], kind: str, **more: Any) -> Any:
        return {"custom_id": line["custom_id"], "result": {"type": kind, **more}}

    def _store(self, job: dict[str, Any], done: list[Any], errors: list[Any]) -> None:
        name = job["results"] = self._id("file")
        lines = [json.dumps(line) for line in [*done, *errors]]
        self.books.files[name] = "\n".join(lines).encode()

    def _shown(self, job: dict[str, Any]) -> Any:
        status = "in_progress" if job["looks"] <= self.books.polls else "ended"
        counts = {"processing": 0, "succeeded": job["count"], "errored": 0}
        shown = {"id": job["id"], "type": "message_batch", "request_counts": counts}
        return {**shown, "processing_status": status}


class _Gemini(_Provider):
    path = "/v1beta/openai"
    batches = "/v1beta/models/m:batchGenerateContent"

    def handle(
        self, method: str, route: str, body: bytes, headers: Mapping[str, str]
    ) -> bytes:
        assert headers["x-goog-api-key"] == KEY
        assert "authorization" not in headers
        route, _, query = route.partition("?")
        if route == "/v1beta/batches":
            return json.dumps(self._list(parse_qs(query))).encode()
        if match := re.fullmatch(r"/v1beta/(batches/[\w-]+)", route):
            return self._look(match[1])
        assert (method, route) == ("POST", self.batches)
        return self._make(json.loads(body))

    def _list(self, query: Mapping[str, list[str]]) -> Any:
        """A page of batches; its token may have any signs."""
        jobs = self._newest_first()
        token = query.get("pageToken", [""])[0]
        start = int(token.rstrip("/+=&") or 0)
        end = start + int(query["pageSize"][0])
        page = {"operations": jobs[start:end]}
        if end < len(jobs):
            page["nextPageToken"] = f"{end}/+=&"
        return page

    def _id(self, kind: str) -> str:
        return f"batches/{super()._id(kind)}"

    def _lines(self, made: Mapping[str, Any]) -> list[dict[str, Any]]:
        batch = made["batch"]
        self._name = batch["display_name"]
        rows = batch["input_config"]["requests"]["requests"]
        for row in rows:
            request = row["request"]
            assert request.keys() <= {
                *("contents", "systemInstruction", "generationConfig"),
                *("tools", "toolConfig"),
            }
            roles = [content["role"] for content in request["contents"]]
            assert all(map(str.__ne__, roles, roles[1:]))
            assert set(roles) <= {"user", "model"}
        return [{**row, "custom_id": row["metadata"]["key"]} for row in rows]

    def _processed(self, line: dict[str, Any]) -> Any:
        request = line["request"]
        schema = request["generationConfig"].get("responseJsonSchema")
        form = {"json_schema": {"schema": schema}} if schema else {}
        body = {"messages": request["contents"], "response_format": form}
        text, (prompt, written) = self._bill(line, {**request, **body})
        part: dict[str, Any] = {"text": text}
        if request.get("tools"):
            name = request["tools"][0]["functionDeclarations"][0]["name"]
            part = {"functionCall": {"name": name, "args": {}}, "thoughtSignature": "s"}
        parts = [{"text": "Hm.", "thought": True}, part]
        candidate = {"content": {"role": "model", "parts": parts}}
        thoughts = min(3, written - 1)
        usage = {
            "promptTokenCount": prompt,
            "cachedContentTokenCount": CACHED,
            "candidatesTokenCount": written - thoughts,
            "thoughtsTokenCount": thoughts,
            "totalTokenCount": prompt + written,
        }
        candidate["finishReason"] = "STOP"
        return self._row(
            line, response={"candidates": [candidate], "usageMetadata": usage}
        )

    def _unprocessed(self, line: dict[str, Any]) -> Any:
        return None

    def _failed(self, line: dict[str, Any]) -> Any:
        return self._row(line, error={"code": 13, "message": "Internal error"})

    def _row(self, line: dict[str, Any], **more: Any) -> Any:
        return {"metadata": {"key": line["custom_id"]}, **more}

    def _store(self, job: dict[str, Any], done: list[Any], errors: list[Any]) -> None:
        job["rows"] = [*done, *(row for row in errors if row)]
        job["name"] = self._name

    def _shown(self, job: dict[str, Any]) -> Any:
        state = "BATCH_STATE_RUNNING"
        shown = {"name": job["id"], "metadata": {"displayName": job["name"]}}
        if job["looks"] > self.books.polls:
            state = "BATCH_STATE_SUCCEEDED"
            if job.get("is_expired"):
                state = "BATCH_STATE_EXPIRED"
            rows = {"inlinedResponses": {"inlinedResponses": job["rows"]}}
            shown |= {"done": True, "response": rows}
        shown["metadata"]["state"] = state
        return shown


_PROVIDERS = {
    "openai": _Provider,
    "mistral": _Mistral,
    "anthropic": _Anthropic,
    "gemini": _Gemini,
}


@contextmanager
def batching(form: str = "openai", **behavior: Any) -> Iterator[Books]:
    """A provider with a batch interface only: other requests are refused."""
    books = Books(form, **behavior)
    provider = _PROVIDERS[form](books)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self._handle("POST")

        def do_GET(self) -> None:
            self._handle("GET")

        def _handle(self, method: str) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            with lock:
                makes = method == "POST" and self.path == provider.batches
                try:
                    if books.away > 0 and not makes:
                        books.away -= 1
                        status, reply = 503, b"{}"
                    else:
                        status = 200
                        reply = provider.handle(method, self.path, body, headers)
                except _Gone:
                    status, denial = books.denial
                    reply = json.dumps(denial).encode()
                except (_Rule, AssertionError, KeyError) as error:
                    status = 400
                    problem = {"message": f"{type(error).__name__} {error}"}
                    reply = json.dumps({"error": problem}).encode()
                books.on_request(method, self.path)
                if makes and books.lose > 0:
                    books.lose -= 1
                    self.close_connection = True
                    return
                if makes and books.garble:
                    reply = books.garble.encode()
                    books.garble = ""
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *words: object) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    books.address = f"http://127.0.0.1:{server.server_address[1]}{provider.path}"
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}
    )
    thread.start()
    try:
        yield books
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
