"""The checksum of a class in a notebook: what its functions do, not where they are written."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from wayword.core import registry
from wayword.core.agent import Agent
from wayword.runs.identity import source_checksum

FIRST = """
class Mine(Agent):
    def act(self):
        return self.look() + 1

    def look(self):
        words = [word for word in self.words if word in {"left", "right"}]
        return len(words)
"""


def checksum(monkeypatch: pytest.MonkeyPatch, source: str) -> str:
    """The checksum of the class that a cell defines."""
    names = {"Agent": Agent}
    exec(compile(source, "<cell>", "exec"), names)
    monkeypatch.setitem(registry.CLASSES, ("agent", "mine"), names["Mine"])
    return source_checksum("agent", "mine")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self.look() + 1", "self.find() + 1"),
        ("self.look() + 1", "self.look() + 2"),
        ("self.look() + 1", "self.look() - 1"),
        ("self.words", "self.names"),
        ('"right"}', '"up"}'),
        ("word in {", "word not in {"),
    ],
)
def test_a_changed_name_constant_or_operation_is_another_class(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    assert old in FIRST
    changed = checksum(monkeypatch, FIRST.replace(old, new))
    assert changed != checksum(monkeypatch, FIRST)


def test_a_class_has_one_checksum_in_every_process() -> None:
    # Sets of texts have another order in each process.
    script = (
        f"from wayword.core import registry\nfrom wayword.core.agent import Agent\n{FIRST}\n"
        "from wayword.runs.identity import source_checksum\n"
        "registry.CLASSES['agent', 'mine'] = Mine\nprint(source_checksum('agent', 'mine'))"
    ).replace('{"left", "right"}', '{"left", "right", "up", "down", "back"}')
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(found) == 1


def test_lines_and_comments_are_no_part_of_a_class(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moved = "# Mine.\n\n\n" + FIRST.replace(
        "        return", "\n        # a\n        return"
    )
    assert checksum(monkeypatch, moved) == checksum(monkeypatch, FIRST)


def test_functions_that_a_class_inherits_are_part_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inherited = FIRST.replace("class Mine(", "class Base(")
    inherited += "\n\nclass Mine(Base):\n    def end(self):\n        return 0\n"
    changed = checksum(monkeypatch, inherited.replace("+ 1", "+ 2"))
    assert changed != checksum(monkeypatch, inherited)
