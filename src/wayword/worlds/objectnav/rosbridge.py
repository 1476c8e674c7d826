"""Link: a connection that speaks rosbridge's JSON protocol, and finds its way back when it breaks.

A thread reads all the time, so that the latest message of each topic is at hand however long the
agent thinks. Everything else happens in the caller's thread and waits at most as long as it is
told. Nothing is queued while the connection is down: a goal that could not be sent is never sent
later.

Source: rosbridge v2 protocol, ROSBRIDGE_PROTOCOL.md of RobotWebTools/rosbridge_suite, branch ros2.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from wayword.core.episode import Json
from wayword.core.errors import UsageError, WaywordError, needing
from wayword.core.loopback import is_loopback

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

BIGGEST = 32 * 2**20
"""Bytes of a message; a camera image is well below it."""
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
"""Seconds between attempts to connect: the wait doubles from the first to the longest."""


class RobotError(WaywordError):
    """A robot that cannot be reached or says what nobody understands. Ends the episode."""


class LinkLost(Exception):
    """The connection broke while something was waited for."""


@dataclass(frozen=True, slots=True)
class ActionResult:
    """An action's result. ``accepted`` is False where the goal was turned down (``values`` is then
    the reason); ``status`` is ROS's ``GoalStatus``."""

    accepted: bool
    status: int
    values: Json


@dataclass(frozen=True, slots=True)
class Arrived:
    """A topic's latest message, and when it came (``time.monotonic``)."""

    message: Mapping[str, Json]
    at: float


class Link:
    """One connection to a rosbridge server.

    ``url`` is ``ws://`` on this machine or ``wss://`` anywhere; plain ``ws://`` to another machine
    needs ``plain``. ``token`` is sent as a bearer token when connecting, for a proxy in front of
    the bridge. ``patience`` is how many seconds connecting may take, all attempts together.
    """

    def __init__(
        self, url: str, token: str = "", patience: float = 30.0, plain: bool = False
    ) -> None:
        check_url(url, plain)
        self.url, self._token, self._patience = url, token, patience
        self.reconnections = 0
        self._opened = False
        self._connection: ClientConnection | None = None
        self._topics: dict[str, tuple[str, int]] = {}
        self._latest: dict[str, Arrived] = {}
        self._answers: dict[str, Mapping[str, Json]] = {}
        self._alive: set[str] = set()
        self._interrupted = False
        self._changed = threading.Condition()

    @property
    def connected(self) -> bool:
        return self._connection is not None

    def subscribe(self, topic: str, kind: str, throttle: int = 0) -> None:
        """Receive a topic of that ROS type, a message every ``throttle`` milliseconds at most; now
        and after every reconnection."""
        self._topics[topic] = (kind, throttle)
        if self.connected:
            self._subscribe(topic)

    def open(self) -> None:
        """Connect, or connect again; nothing where it is connected. Raises ``RobotError``."""
        if self.connected:
            return
        until, wait = time.monotonic() + self._patience, FIRST_WAIT
        while True:
            problem = self._attempt(max(0.1, until - time.monotonic()))
            if not problem:
                break
            if time.monotonic() + wait > until:
                raise RobotError(
                    f"no rosbridge at {self.url} within {self._patience:g} s ({problem}); "
                    "is rosbridge_server running, and is this its address?"
                )
            time.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)
        self.reconnections += self._opened
        self._opened = True

    def close(self) -> None:
        """Hang up; ``open`` connects again."""
        connection, self._connection, self._opened = self._connection, None, False
        if connection is not None:
            connection.close()

    def latest(self, after: Mapping[str, float], within: float) -> dict[str, Mapping[str, Json]]:
        """The latest message of each topic that came after a time (``time.monotonic``).

        Raises ``LinkLost``, and ``TimeoutError`` where a topic is silent for so many seconds.
        """

        def missing() -> list[str]:
            held = self._latest
            return [t for t, then in after.items() if t not in held or held[t].at < then]

        with self._changed:
            self._wait(lambda: not missing(), within)
            if silent := missing():
                raise TimeoutError(", ".join(silent))
            return {topic: self._latest[topic].message for topic in after}

    def goal(self, action: str, kind: str, args: Mapping[str, Json], within: float) -> ActionResult:
        """Send an action goal and wait for its result.

        Raises ``LinkLost``; ``TimeoutError`` after it was cancelled for taking too long, its first
        argument saying whether the action had given feedback; and ``InterruptedError`` after it was
        cancelled because of ``interrupt``.
        """
        if self._interrupted:
            raise InterruptedError
        number = f"wayword:{secrets.token_hex(6)}"
        about = {"id": number, "action": action}
        self._send({"op": "send_action_goal", **about, "action_type": kind, "feedback": True,
                    "args": args})  # fmt: skip
        try:
            found = self._answer(number, within)
        except TimeoutError:
            self._send({"op": "cancel_action_goal", **about})
            raise TimeoutError(number in self._alive) from None
        except (InterruptedError, KeyboardInterrupt):
            self.calm()
            with suppress(LinkLost):
                self._send({"op": "cancel_action_goal", **about})
            raise
        status = found.get("status")
        return ActionResult(
            found.get("result") is True,
            status if isinstance(status, int) else 0,
            found.get("values"),
        )

    def call(
        self, service: str, kind: str, args: Mapping[str, Json], within: float
    ) -> Mapping[str, Json]:
        """Call a service. Raises ``LinkLost`` and ``TimeoutError``."""
        number = f"wayword:{secrets.token_hex(6)}"
        self._send({"op": "call_service", "id": number, "service": service, "type": kind,
                    "args": args})  # fmt: skip
        return self._answer(number, within)

    def interrupt(self) -> None:
        """End what is waited for now, or next, with ``InterruptedError``. For signal handlers."""
        with self._changed:
            self._interrupted = True
            self._changed.notify_all()

    def calm(self) -> None:
        """Take an interruption back, so that goals can be cancelled."""
        self._interrupted = False

    def _attempt(self, within: float) -> str:
        """Connect once; what went wrong, if anything did."""
        client, errors = _websockets()
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else None
        try:
            connecting = client.connect(
                self.url, additional_headers=headers, open_timeout=within, close_timeout=1.0,
                max_size=BIGGEST, proxy=None,
            )  # fmt: skip
            # It outlives this function, so `with` cannot be used: `_read` closes it.
            connection = connecting.__enter__()
        except (OSError, errors.WebSocketException, TimeoutError) as error:
            return f"{type(error).__name__}: {error}".splitlines()[0]
        with self._changed:
            self._connection = connection
            self._latest.clear()
            self._answers.clear()
        name = "wayword-robot"
        threading.Thread(target=self._read, args=(connection,), name=name, daemon=True).start()
        try:
            for topic in self._topics:
                self._subscribe(topic)
        except LinkLost:
            return "it hung up at once"
        return ""

    def _read(self, connection: ClientConnection) -> None:
        _, errors = _websockets()
        try:
            for text in connection:
                self._take(text)
        except errors.WebSocketException:
            pass  # the waiting side sees that the connection is gone
        finally:
            with self._changed:
                if self._connection is connection:
                    self._connection = None
                self._changed.notify_all()
            connection.close()

    def _take(self, text: str | bytes) -> None:
        """Store a message's content; ignore anything outside the protocol."""
        try:
            said = json.loads(text)
        except (ValueError, RecursionError):
            return
        if not isinstance(said, dict):
            return
        with self._changed:
            op, number, topic = said.get("op"), said.get("id"), said.get("topic")
            if op == "publish" and topic in self._topics and isinstance(said.get("msg"), dict):
                self._latest[topic] = Arrived(said["msg"], time.monotonic())
            elif op in ("action_result", "service_response") and isinstance(number, str):
                self._answers[number] = said
            elif op == "action_feedback" and isinstance(number, str):
                self._alive.add(number)
            self._changed.notify_all()

    def _answer(self, number: str, within: float) -> Mapping[str, Json]:
        with self._changed:
            self._wait(lambda: number in self._answers, within)
            if number not in self._answers:
                raise TimeoutError(number)
            return self._answers.pop(number)

    def _wait(self, there: Callable[[], bool], within: float) -> None:
        """Until it is there, time is up, or the connection is gone. The lock is held."""
        self._changed.wait_for(lambda: there() or not self.connected or self._interrupted, within)
        if there():
            return
        if not self.connected:
            raise LinkLost
        if self._interrupted:
            raise InterruptedError

    def _subscribe(self, topic: str) -> None:
        kind, throttle = self._topics[topic]
        self._send({"op": "subscribe", "topic": topic, "type": kind, "throttle_rate": throttle,
                    "queue_length": 1})  # fmt: skip

    def _send(self, message: Mapping[str, Json]) -> None:
        _, errors = _websockets()
        connection = self._connection
        if connection is None:
            raise LinkLost
        try:
            connection.send(json.dumps(message))
        except errors.WebSocketException as error:
            raise LinkLost from error


def check_url(url: str, plain: bool) -> None:
    """Raises ``UsageError`` for an address that is none, or that is neither here nor encrypted."""
    parts = urlsplit(url)
    if parts.scheme not in ("ws", "wss") or not parts.hostname:
        raise UsageError(f"robot: {url!r} is no address such as ws://127.0.0.1:9090")
    if parts.username or parts.password:
        raise UsageError("robot: no password in the address; set $WAYWORD_ROBOT_TOKEN")
    if parts.scheme == "ws" and not plain and not is_loopback(parts.hostname):
        raise UsageError(
            f"robot: {parts.hostname} is another machine, and ws:// is not encrypted: whoever can "
            "listen can drive. Use wss://, a tunnel, or say plain=true"
        )


def _websockets() -> Sequence[Any]:
    """The client and the errors of ``websockets``. Raises ``UsageError`` without the package."""
    with needing("robots need websockets", "ros"):
        from websockets import exceptions
        from websockets.sync import client
    return client, exceptions
