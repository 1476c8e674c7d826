"""As much of ``rclpy`` as a small node needs, for tests without ROS."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest


class Node:
    """A node whose timers run when the test says so. ``called`` lists the services it called. As in
    ROS, names without a slash before them are in the node's ``namespace``."""

    namespace = "/"

    def __init__(self, name: str) -> None:
        self.name = name
        self.listeners: dict[str, Callable[[Any], None]] = {}
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.called: list[str] = []
        self.warnings: list[str] = []

    def declare_parameter(self, name: str, value: Any) -> Any:
        return Having(value=value)

    def create_subscription(
        self, kind: type, topic: str, listener: Callable[[Any], None], depth: int
    ) -> None:
        self.listeners[self._absolute(topic)] = listener

    def create_timer(self, seconds: float, work: Callable[[], None]) -> None:
        self.timers.append((seconds, work))

    def create_client(self, kind: type, service: str) -> Any:
        name = self._absolute(service)
        return Having(call_async=lambda request: self.called.append(name))

    def _absolute(self, name: str) -> str:
        return name if name.startswith("/") else self.namespace + name

    def get_logger(self) -> Any:
        return Having(warning=self.warnings.append)


class Having:
    """An object with these attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make ``rclpy`` and the messages of the watchdog importable."""
    empty = type("Empty", (), {})
    cancel = type("CancelGoal", (), {"Request": type("R", (), {})})
    contents: dict[str, dict[str, Any]] = {
        "rclpy": {},
        "rclpy.node": {"Node": Node},
        "std_msgs": {},
        "std_msgs.msg": {"Empty": empty},
        "action_msgs": {},
        "action_msgs.srv": {"CancelGoal": cancel},
    }
    for name, attributes in contents.items():
        module = ModuleType(name)
        module.__dict__.update(attributes)
        monkeypatch.setitem(sys.modules, name, module)
