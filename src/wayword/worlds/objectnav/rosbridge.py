"""A connection that speaks rosbridge's JSON protocol, and reconnects.

A thread reads continuously, so that the latest message of each topic is available. Everything else
happens in the caller's thread, with a time limit on each wait. Nothing is queued while the
connection is down: a goal that could not be sent is never sent later.

Source: rosbridge v2 protocol, ROSBRIDGE_PROTOCOL.md of RobotWebTools/rosbridge_suite, branch ros2.
"""

from __future__ import annotations

import json
import logging
import secrets
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from wayword.core.episode import Json, JsonObject
from wayword.core.errors import UsageError, WaywordError, needing
from wayword.core.files import READER_ERRORS
from wayword.core.loopback import is_loopback
from wayword.core.shapes import parse_untrusted
from wayword.core.visible import single_line, visible

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

MAX_MESSAGE_BYTES = 32 * 2**20  # a camera image is well below it
MOST_ERRORS = 16  # a bridge may send any number
MOST_FRAGMENTED = 16  # messages that arrive in fragments at the same time
# Seconds between attempts to connect, doubled each time
FIRST_WAIT, LONGEST_WAIT = (
    0.1,
    5.0,
)
# A server that starts up, before a first connection; a wrong port refuses for ever.
REFUSED_SECONDS = 3.0
# Interval of pings, which reveal a dead network; time limit
PING_SECONDS, PONG_SECONDS = (
    1.0,
    3.0,
)
SILENT = logging.Logger("websockets", logging.CRITICAL + 1)
"""The library logs a traceback of each break, of which the caller gets one line."""
HEARTBEAT_SECONDS = 0.2  # a fifth of the robot's watchdog timeout
SUCCEEDED, CANCELLED, ABORTED = 4, 5, 6  # ROS's ``GoalStatus``
UNEXPLAINED_CODES = frozenset(
    {
        # no reason, which a preempted goal has, or an unknown one
        *(0, 100, 200, 300, 600, 700, 9000),
        # a plugin, a transform or a behavior tree is missing, or time ran out
        *(101, 102, 107, 201, 202, 207, 301, 302, 601, 602, 701, 702),
        *(9001, 9002, 9003),
    }
)
"""Error codes of Nav2 that name no obstacle. Source: the ``.action`` files of ``nav2_msgs``, branch
main. Before Jazzy, results had no code."""
# Codes outside are those of other servers, of which nothing is known
FIRST_CODE, LAST_CODE = 100, 9999


class RobotError(WaywordError):
    """Raised if a robot cannot be reached or does not answer. Ends the episode."""


class LinkLost(Exception):
    """Raised if the connection breaks during a wait."""


class Link:
    """A connection to a rosbridge server.

    ``url`` is ``ws://`` on this machine or ``wss://`` anywhere; ``plain`` permits ``ws://`` to
    another machine. ``token`` is sent as a bearer token, for a proxy in front of the bridge.
    ``patience`` is the time limit in seconds for connecting, all attempts together.
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        patience: float = 30.0,
        plain: bool = False,
    ) -> None:
        check_url(url, plain)
        self.url = url
        self._token = token
        self._patience = patience
        self.reconnections = 0
        self._opened = False
        """True after the first connection since a close: later ones count as reconnections."""
        self._was_open = False
        """True after the first connection ever: a robot that was there comes back."""
        self._connection: ClientConnection | None = None
        """None while the connection is down."""
        self.listener: Callable[[str, JsonObject], None] = lambda topic, message: None
        """Called with each message and its topic, in the reading thread."""
        self._topics: dict[str, dict[str, Json]] = {}
        """Topic -> the message that sets it up, sent again after each reconnection."""
        self.heartbeat = ""
        """Topic on which an empty message is published while connected; empty for none."""
        self.server_errors: deque[str] = deque(maxlen=MOST_ERRORS)
        """Errors that the bridge sent on this connection, the last one at the end."""
        self._latest: dict[str, tuple[JsonObject, float]] = {}
        """Topic -> its last message, and when it was received."""
        self._pending: set[str] = set()
        """Requests that wait for an answer. Any other answer is dropped."""
        self.malformed: dict[str, str] = {}
        """Topic -> problem of the first message that could not be read."""
        self._answers: dict[str, JsonObject] = {}
        """Request -> its answer, until it is fetched."""
        self._fragments: dict[str, dict[int, str]] = {}
        """Message id -> its fragments, by number."""
        self._with_feedback: set[str] = set()
        """Requests about which the bridge has sent anything: it has received them."""
        self._interruption: str | None = None
        """None: no wait is to end. A reason ends a wait even if what it waits for is there; an
        empty one only if it is not."""
        self._changed = threading.Condition()
        """Held while the reading thread stores a message, and while another waits for one."""

    @property
    def connected(self) -> bool:
        """True while there is a connection."""
        return self._connection is not None

    def subscribe(
        self,
        topic: str,
        kind: str,
        throttle: int = 0,
        queue: int = 1,
    ) -> None:
        """Receive a topic of that ROS type from the next connection on.

        At most a message every ``throttle`` milliseconds, with a queue of ``queue``
        messages.
        """
        self._topics[topic] = {"op": "subscribe", "topic": topic, "type": kind,
                               "throttle_rate": throttle, "queue_length": queue}  # fmt: skip

    def advertise(self, topic: str, kind: str) -> None:
        """Announce a topic of that ROS type from the next connection on."""
        self._topics[topic] = {"op": "advertise", "topic": topic, "type": kind}

    def publish(self, topic: str, message: JsonObject) -> None:
        """Send a message on an advertised topic. Raises ``LinkLost``."""
        self._send({"op": "publish", "topic": topic, "msg": message})

    def open(self) -> None:
        """Connect, unless already connected. Raises ``RobotError``."""
        if self.connected:
            return
        start = time.monotonic()
        seconds = self._patience
        wait = FIRST_WAIT
        while problem := self._attempt(max(0.1, start + seconds - time.monotonic())):
            if not self._was_open and problem.startswith(
                ConnectionRefusedError.__name__
            ):
                seconds = min(REFUSED_SECONDS, self._patience)
            if time.monotonic() + wait > start + seconds:
                problem = f"no rosbridge at {self.url} within {seconds:g} s ({problem})"
                # An address that answered before is correct.
                if self._opened:
                    broke = "the connection broke and could not be reopened"
                    raise RobotError(f"{broke}: {problem}; restart rosbridge_server")
                raise RobotError(
                    f"{problem}; start rosbridge_server or correct the address"
                )
            self.pause(wait)
            wait = min(2 * wait, LONGEST_WAIT)
        self.reconnections += self._opened
        self._opened = True
        self._was_open = True

    def close(self) -> None:
        """Disconnect; ``open`` connects again."""
        connection = self._connection
        self._connection = None
        self._opened = False
        if connection is not None:
            connection.close()

    def latest(
        self,
        after: Mapping[str, float],
        timeout: float,
    ) -> dict[str, JsonObject]:
        """Return the latest message of each topic, received after a time (``time.monotonic``).
        Raises ``LinkLost``, and ``TimeoutError`` if a topic is silent for ``timeout`` seconds."""

        def missing() -> str:
            """Name the topics without a message since the given times."""
            latest = self._latest
            return ", ".join(
                t for t, at in after.items() if t not in latest or latest[t][1] < at
            )

        self.wait(missing, timeout)
        return {topic: self._latest[topic][0] for topic in after}

    def wait(self, missing: Callable[[], str], timeout: float) -> None:
        """Wait until ``missing`` returns an empty string. Raises ``LinkLost``, ``TimeoutError``
        with that string and the server's last error, and ``InterruptedError``."""
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    not missing()
                    or not self.connected
                    or self._interruption is not None
                ),
                timeout,
            )
            silent = missing()
            if self._interruption or (self._interruption is not None and silent):
                raise InterruptedError(self._interruption)
            if silent and not self.connected:
                raise LinkLost
            if silent:
                if self.server_errors:
                    error = f" (rosbridge: {self.server_errors[-1]})"
                else:
                    error = ""
                raise TimeoutError(silent + error)

    def pause(
        self,
        timeout: float | None,
        until: Callable[[], bool] = lambda: False,
    ) -> None:
        """Wait for some seconds, or until a condition. Raises ``InterruptedError``."""
        with self._changed:
            self._changed.wait_for(
                lambda: until() or self._interruption is not None, timeout
            )
            if self._interruption is not None:
                raise InterruptedError(self._interruption)

    def goal(
        self,
        action: str,
        kind: str,
        args: JsonObject,
        timeout: float,
    ) -> tuple[str, str]:
        """Send an action goal and wait for its result: a motion's status and the reason for it. The
        status ``aborted`` names no obstacle: there may have been one.

        Raises ``LinkLost``; ``TimeoutError`` after cancelling a goal that takes too long, with true
        if the action sent feedback; ``InterruptedError`` after cancelling an interrupted one.
        """
        if self._interruption is not None:
            raise InterruptedError(self._interruption)
        with self._request() as request_id:
            header = {"id": request_id, "action": action}
            self._send({"op": "send_action_goal", **header, "action_type": kind,
                        "feedback": True, "args": args})  # fmt: skip
            try:
                answer = self._answer(request_id, action, timeout)
            except TimeoutError:
                self._send({"op": "cancel_action_goal", **header})
                raise TimeoutError(request_id in self._with_feedback) from None
            except (InterruptedError, KeyboardInterrupt):
                self.clear_interrupt()
                with suppress(LinkLost):
                    self._send({"op": "cancel_action_goal", **header})
                raise
        status = answer.get("status")
        values = answer.get("values")
        # Bridges of ROS 2 Humble send the status next to the action's own result.
        if status is None and isinstance(values, dict):
            status = values.get("status")
            values = values.get("result", values)
        # The status decides, where the two differ. Their types do: 4 or "4", true, 1 or "true".
        if isinstance(status, str) and status.isdecimal():
            status = int(status)
        if status == SUCCEEDED:
            return "ok", ""
        if str(answer.get("result", True)).lower() not in ("true", "1"):
            return "refused", str(values or "the goal was rejected")[:200]
        if status == CANCELLED:
            return "cancelled", "cancelled by another client or an operator"
        result = values if isinstance(values, dict) else {}
        reason = "aborted" if status == ABORTED else f"ended with status {status}"
        if message := result.get("error_msg"):
            reason = f"{reason}: {message}"[:200]
        code = result.get("error_code")
        is_known = isinstance(code, int) and FIRST_CODE <= code <= LAST_CODE
        is_unexplained = not is_known or code in UNEXPLAINED_CODES
        return "aborted" if is_unexplained else "blocked", reason

    def call(
        self,
        service: str,
        kind: str,
        args: JsonObject,
        timeout: float,
    ) -> JsonObject:
        """Call a service. Raises ``LinkLost`` and ``TimeoutError``."""
        return self.call_all([service], kind, args, timeout)[0]

    def call_all(
        self,
        services: Sequence[str],
        kind: str,
        args: JsonObject,
        timeout: float,
    ) -> list[JsonObject]:
        """Call services of a type. All calls are sent before the first answer is awaited: none is
        left out if a second Ctrl-C ends the wait. Raises ``LinkLost`` and ``TimeoutError``."""
        with ExitStack() as requests:
            calls = [(requests.enter_context(self._request()), s) for s in services]
            for request_id, service in calls:
                self._send({"op": "call_service", "id": request_id, "service": service,
                            "type": kind, "args": args})  # fmt: skip
            return [self._answer(*each, timeout) for each in calls]

    @contextmanager
    def _request(self) -> Iterator[str]:
        """The id of a new request, whose answer is kept until the end of the ``with`` block."""
        request_id = f"wayword:{secrets.token_hex(6)}"
        self._pending.add(request_id)
        try:
            yield request_id
        finally:
            with self._changed:
                self._pending.discard(request_id)
                self._answers.pop(request_id, None)
                self._with_feedback.discard(request_id)

    def interrupt(self, reason: str = "") -> None:
        """End the current or next wait with ``InterruptedError``, from a handler or listener."""
        with self._changed:
            self._interruption = reason
            self._changed.notify_all()

    def clear_interrupt(self) -> None:
        """Forget an interruption that has not ended a wait yet."""
        self._interruption = None

    def _attempt(self, timeout: float) -> str:
        """Connect once, within ``timeout`` seconds. Return the problem; empty without one.

        A new connection starts without the messages of the last one, subscribes and advertises
        again, and has two threads: one that reads, one that sends the heartbeat.
        """
        client, errors = _websockets()
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else None
        connecting: Future[ClientConnection] = Future()

        def connect() -> None:
            """Connect, and wake the thread that waits for it."""
            try:
                opened = client.connect(
                    self.url, additional_headers=headers, open_timeout=timeout, close_timeout=1.0,
                    max_size=MAX_MESSAGE_BYTES, proxy=None, ping_interval=PING_SECONDS,
                    ping_timeout=PONG_SECONDS, logger=SILENT,
                )  # fmt: skip
            except Exception as error:  # noqa: BLE001 - raised in the waiting thread
                connecting.set_exception(error)
            else:
                # It outlives this function, so `with` cannot be used: `_read` closes it.
                connecting.set_result(opened.__enter__())
            with self._changed:
                self._changed.notify_all()

        # In a thread of its own, since nothing else interrupts a connection attempt.
        name = "wayword-robot"
        threading.Thread(target=connect, name=name, daemon=True).start()
        try:
            self.pause(None, connecting.done)
        except BaseException:
            connecting.add_done_callback(_close_unused)
            raise
        try:
            connection = connecting.result()
        except (OSError, errors.WebSocketException, TimeoutError) as error:
            return f"{type(error).__name__}: {error}".splitlines()[0]
        # Answers of an earlier connection belong to no request of this one.
        with self._changed:
            self._connection = connection
            self._latest.clear()
            self._answers.clear()
            self._fragments.clear()
            self.server_errors.clear()
        args = (connection,)
        threading.Thread(target=self._read, args=args, name=name, daemon=True).start()
        try:
            for message in self._topics.values():
                self._send(message)
        except LinkLost:
            return "it closed the connection immediately"
        threading.Thread(target=self._beat, args=args, name=name, daemon=True).start()
        return ""

    def _beat(self, connection: ClientConnection) -> None:
        """Publish the heartbeat for as long as this connection lives."""
        with suppress(LinkLost):
            while self._connection is connection:
                if self.heartbeat:
                    self.publish(self.heartbeat, {})
                time.sleep(HEARTBEAT_SECONDS)

    def _read(self, connection: ClientConnection) -> None:
        """Store messages of a connection until it ends, then wake those that wait."""
        _, errors = _websockets()
        try:
            for text in connection:
                self._store_message(text)
        except errors.WebSocketException:
            pass  # the waiting thread sees that the connection is closed
        finally:
            with self._changed:
                if self._connection is connection:
                    self._connection = None
                self._changed.notify_all()
            connection.close()

    def _store_message(self, text: str | bytes) -> None:
        """Store a message's content, and wake the threads that wait for it.

        ``text`` is what the bridge sent: the content of a topic, a result, feedback, an error, or a
        fragment of one of these. Anything outside the protocol is ignored. An error in the listener
        is reported and does not end the reading.
        """
        message: Json = None
        with suppress(ValueError):
            message = parse_untrusted(text)
        if isinstance(text, bytes) or (
            isinstance(message, dict) and message.get("op") == "png"
        ):
            self.server_errors.append(
                "it sends compressed messages, which were not requested"
            )
        elif isinstance(message, dict) and message.get("op") == "fragment":
            if whole := self._joined(message):
                self._store_message(whole)
        elif isinstance(message, dict):
            with self._changed:
                op = message.get("op")
                request_id = message.get("id")
                content = message.get("msg")
                topic = str(message.get("topic"))
                if op == "publish" and topic in self._topics:
                    if not isinstance(content, dict):
                        expected = f"must be a message with fields, got {content!r:.80}"
                        self._warn(topic, TypeError(expected))
                        return
                    self._latest[topic] = content, time.monotonic()
                    try:
                        self.listener(topic, content)
                    except (WaywordError, *READER_ERRORS) as error:
                        # the next message may be intact, so the reader goes on
                        self._warn(topic, error)
                elif op == "status" and message.get("level") == "error":
                    self.server_errors.append(str(content)[:200])
                elif not isinstance(request_id, str) or request_id not in self._pending:
                    return  # an answer to another client, or to a request that was given up
                elif op in ("action_result", "service_response"):
                    self._answers[request_id] = message
                elif op == "action_feedback":
                    self._with_feedback.add(request_id)
                self._changed.notify_all()

    def _joined(self, fragment: JsonObject) -> str:
        """Return the message whose last missing fragment this is, else an empty text. A bridge with
        ``fragment_size`` sends large messages in several."""
        message_id = str(fragment.get("id"))
        number = fragment.get("num")
        total = fragment.get("total")
        data = fragment.get("data")
        if not (
            isinstance(number, int)
            and isinstance(total, int | float)
            and isinstance(data, str)
            and 0 <= number < total <= MAX_MESSAGE_BYTES
        ):
            return ""
        parts = self._fragments.setdefault(message_id, {})
        parts[number] = data
        if len(parts) == int(total):
            del self._fragments[message_id]
            return "".join(parts[each] for each in sorted(parts))
        # Messages with a lost fragment never end: the oldest makes room.
        if len(self._fragments) > MOST_FRAGMENTED or (
            sum(map(len, parts.values())) > MAX_MESSAGE_BYTES
        ):
            self._fragments.pop(next(iter(self._fragments)))
        return ""

    def _warn(self, topic: str, error: Exception) -> None:
        """Print the first problem of a topic's messages."""
        if topic not in self.malformed:
            self.malformed[topic] = single_line(error, 200)
            line = f"robot: a message on {topic} is ignored: {self.malformed[topic]}"
            sys.stderr.write(f"{visible(line)}\n")

    def _answer(
        self,
        request_id: str,
        name: str,
        timeout: float,
    ) -> JsonObject:
        """Wait for the answer to a request, and return it; ``name`` names it in errors."""
        self.wait(lambda: "" if request_id in self._answers else name, timeout)
        return self._answers[request_id]

    def _send(self, message: JsonObject) -> None:
        """Send a message. Raises ``LinkLost`` without a connection."""
        _, errors = _websockets()
        connection = self._connection
        if connection is None:
            raise LinkLost
        try:
            connection.send(json.dumps(message))
        except errors.WebSocketException as error:
            raise LinkLost from error


def _close_unused(connecting: Future[ClientConnection]) -> None:
    """Close a connection that came after its caller had left."""
    if connecting.exception() is None:
        connecting.result().close()


def check_url(url: str, plain: bool) -> None:
    """Raise ``UsageError`` for an invalid address, and a remote one without encryption."""
    if "@" in url:
        raise UsageError(
            "robot: remove the password from the address; set $WAYWORD_ROBOT_TOKEN"
        )
    expected = f"robot: url must be an address like ws://127.0.0.1:9090, got {url!r}"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        # A port that is none, or half of an IPv6 address
        raise UsageError(f"{expected}: {error}") from None
    if parts.scheme not in ("ws", "wss") or not parts.hostname or port == 0:
        raise UsageError(expected)
    if parts.scheme == "ws" and not plain and not is_loopback(parts.hostname):
        problem = f"{parts.hostname} is another machine, and ws:// is not encrypted"
        raise UsageError(
            f"robot: {problem}; use wss:// or a tunnel, or --set dataset.plain=true"
        )


def _websockets() -> Sequence[Any]:
    """Import the client and errors of ``websockets``. Raises ``UsageError`` without the package."""
    with needing("robots need the package websockets", "ros"):
        from websockets import exceptions
        from websockets.sync import client
    return client, exceptions
