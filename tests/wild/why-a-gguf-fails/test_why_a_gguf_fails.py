"""Why a GGUF file cannot be loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from wayword.core.errors import UsageError
from wayword.models.parts.llamacpp import EngineSettings, start_server
from wayword.models.parts.weights import located


@pytest.mark.parametrize("kind", ["cut", "ended"])
def test_an_incomplete_file_says_so(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "m.gguf"
    full = located("smollm2").read_bytes()
    path.write_bytes(full[:60_000_000] if kind == "cut" else b"GGUF\x03\x00\x00\x00")
    with pytest.raises(UsageError, match=r"the file is incomplete \(.* bytes\)"):
        start_server(path, EngineSettings(context=256), "key")


def test_a_process_that_dies_while_loading_lacks_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from wayword.models.parts import llamacpp

    def died(*_: object, **__: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.CompletedProcess([sys.executable], -11, b"", b"")

    monkeypatch.setattr(llamacpp.subprocess, "run", died)
    assert "the weights need 93 MiB" in llamacpp._why_not_loaded(located("smollm2"))
