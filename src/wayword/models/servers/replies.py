"""Replies of servers: their JSON, whatever is put around it, and the errors in it.

A reply is an answer, an error, or neither. Gateways put it into an envelope or a stream, and some
send an error with the status of an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress

from wayword.core.episode import Json
from wayword.core.files import paired
from wayword.models.servers import answers
from wayword.models.servers.answers import as_list, field, mapping

# Comments that keep a connection alive, and the marks of a stream with one event.
_BEFORE = re.compile(r"\s*(?:(?::|event:|id:|retry:).*\s+)*(?:data:\s*)?")
# What proxies write before an error that they put into the text of an answer
_ERROR_HEAD = re.compile(r"(?:(?:\w{1,20} )?error|错误)[^{}\n]{0,40}|", re.IGNORECASE)
# A gateway's own name before words of an error: "[Gateway] Upstream returned an empty response."
_NAMED_ERROR = re.compile(
    r"\s*\[\w{1,30}(?: error\] ?|\] (?=upstream (?:error|returned an?|request|stream)\b))"
    r"([^\n]{1,500})\s*",
    re.IGNORECASE,
)
# Some servers leave line breaks in their texts.
_DECODER = json.JSONDecoder(strict=False)
# Fields in which gateways put a reply
_ENVELOPES = ("data", "result", "response", "body")


def reply_in(text: str) -> Json:
    """Return the JSON of a reply, out of the envelope of a gateway; None if there is no JSON."""
    reply = _json_in(text)
    if field(reply, "choices"):
        return reply
    # The gateway's own error has more to say than one that it passes on.
    wanted = ("choices",) if field(reply, "error") else ("choices", "error")
    inside = (
        each for each in _inside(reply) if any(field(each, name) for name in wanted)
    )
    return next(inside, reply)


def _json_in(text: str) -> Json:
    """Return the JSON of a text, None if it has none.

    A complete answer or error is read with whatever a gateway puts around it: comments, the marks
    of a stream, a page. A stream of several parts is none.
    """
    start = 0
    if frame := _BEFORE.match(text):
        start = frame.end()
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return _late_error(text)
    value = paired(text, value)
    rest = text[end:].strip("\0 \r\n\t")
    if not (text[:start].strip() or rest):
        return value
    is_part = "delta" in next(iter(as_list(field(value, "choices"))), {})
    has_more = rest.removeprefix("data:").lstrip().startswith("{")
    is_one = bool(field(value, "choices") or field(value, "error"))
    return value if is_one and not (is_part or has_more) else _late_error(text)


def _late_error(text: str) -> Json:
    """Return the error in a stream, or after an answer that was cut off; None without one."""
    # Texts may have other line breaks, as U+2028.
    for line in text.replace("\r", "\n").split("\n"):
        with suppress(ValueError, RecursionError):
            value = _DECODER.decode(line.removeprefix("data:"))
            if field(value, "error") or field(value, "object") == "error":
                return paired(text, value)
    return None


def _inside(reply: Json) -> Iterator[Json]:
    """Yield the values in which gateways put a reply: fields, a list of one, or a text."""
    values = [mapping(reply, name) or field(reply, name) for name in _ENVELOPES]
    if isinstance(reply, list):
        values = reply
    elif isinstance(reply, str):
        values = [reply]
    for value in values:
        yield _json_in(value) if isinstance(value, str) else value


def error_in(reply: Json, status: int, prompt: str = "") -> Json:
    """Return the error in a reply to a prompt, None if it is an answer.

    Routers send errors with the status 200, or inside a choice; some only as the finish
    reason of their own server.
    """
    if status >= 300 or not isinstance(reply, dict):
        return reply
    first = next(iter(as_list(reply.get("choices"))), None)
    if not isinstance(first, dict):
        return reply.get("error") or reply
    native = {"finish_reason": first.get("native_finish_reason")}
    failed = "error" in map(answers.finish_of, (first, native))
    # An empty message for which the server counts no token: the model did not answer.
    if mapping(reply, "usage").get("total_tokens") == 0:
        message = mapping(first, "message") or mapping(first, "delta")
        values = {**message, "role": ""}.values()
        failed = failed or not any([first.get("text"), *values])
    worded = _error_as_answer(first)
    # A model that repeats an error of its world or tool has answered.
    if worded is not None and str(field(worded, "message")) in prompt:
        worded = None
    for error in (reply.get("error"), first.get("error"), worded):
        # Some gateways send the fields of an error, all of them empty, with each answer.
        if any(error.values()) if isinstance(error, dict) else error:
            return error
    if failed:
        return {"message": "the answer ended with an error", "code": 500}
    return None


def _error_as_answer(choice: Json) -> Json:
    """Return the error that is the whole text of an answer, with its status; None without one."""
    text = field(mapping(choice, "message"), "content")
    if not isinstance(text, str):
        return None
    if named := _NAMED_ERROR.fullmatch(text):
        return {"message": named[1].strip(), "code": 502}
    head = _ERROR_HEAD.match(text)
    if head is not None and text.endswith("}"):
        with suppress(ValueError, RecursionError):
            value = _DECODER.decode(text[head.end() :])
            error = mapping(value, "error")
            if len(value) == 1 and error.get("message") and code_of(error):
                return error
    return None


def is_of_interface(text: str) -> bool:
    """True if a reply begins as those of this interface do, also one that is cut off or empty."""
    return text.lstrip()[:1] in ("", "{", "[")


def code_of(error: Json) -> int:
    """Return the status that an error names, 0 if there is none."""
    inner = field(error, "error") or error
    codes = (str(field(inner, name)) for name in ("code", "status", "status_code"))
    return next((int(code) for code in codes if re.fullmatch(r"[45]\d\d", code)), 0)
