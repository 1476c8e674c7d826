"""Errors of a lock that do not say that another process holds it."""

from __future__ import annotations

import errno
import fcntl
from pathlib import Path

import pytest

from wayword.runs.json_lines import Appender


@pytest.mark.parametrize(
    ("code", "is_free"),
    [
        ("ENOSYS", True),
        ("ENOLCK", True),
        ("EOPNOTSUPP", True),
        ("EBADF", True),
        ("ESTALE", True),
        ("EINVAL", True),
        ("EIO", True),
        ("EWOULDBLOCK", False),
        ("EDEADLK", False),
        ("EACCES", False),
    ],
)
def test_only_a_lock_that_is_held_refuses(
    code: str, is_free: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(getattr(errno, code), "no lock")

    monkeypatch.setattr(fcntl, "flock", refuse)
    file = Appender(tmp_path / "lines")
    assert file.lock() == is_free
    file.close()
