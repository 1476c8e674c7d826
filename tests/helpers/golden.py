"""Golden files: text that is held beside what the code makes now."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def check_golden(path: Path, text: str) -> None:
    """Fail unless the file holds this text.

    ``WAYWORD_WRITE_GOLDEN=1`` writes it instead. That run fails, too, so that no golden file is
    ever changed by a run that passes.
    """
    if os.environ.get("WAYWORD_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
        pytest.fail(
            f"{path.name} was written; read its diff, then run the tests as usual"
        )
    assert text == path.read_text(encoding="utf-8")
