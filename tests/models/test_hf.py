"""``hf:`` without its extra; with it, it is tested in ``tests/suites/vision/test_tiny_hf.py``."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from wayword.core.errors import UsageError, install_command
from wayword.models.parts.opening import open_model


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Any = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: None if name == "torch" else found(name),
    )
    with pytest.raises(UsageError, match="hf:a/b: torch is not installed") as caught:
        open_model("hf:a/b")
    assert install_command("hf") in str(caught.value)
