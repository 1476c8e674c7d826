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


REASONS = {
    "CLIP cannot be used as main model, use it with --mmproj instead": "projector",
    "unknown model architecture: ''": "file with weights",
    "unknown model architecture: 'new9'": "update xllamacpp",
    "error loading model hyperparameters: key not found in model: llama.context_length": (
        "adapter (LoRA)"
    ),
    "missing tensor 'token_embd.weight'": "adapter (LoRA)",
    "illegal split file idx: 1 (file: m), model must be loaded with the first split": (
        "-00001-of-"
    ),
    "llama_model_loader: failed to load GGUF split from m-00002-of-00013.gguf": (
        "all of its parts"
    ),
}


@pytest.mark.parametrize("reason", REASONS)
def test_a_file_that_is_no_model_says_which_one_to_name(
    reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wayword.models.parts import llamacpp

    log = f"0.02 E llama_model_load: error loading model: {reason}\n".encode()

    def refused(*_: object, **__: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.CompletedProcess([sys.executable], 1, b"", log)

    monkeypatch.setattr(llamacpp.subprocess, "run", refused)
    line = llamacpp._why_not_loaded(located("smollm2"))
    assert reason in line
    assert REASONS[reason] in line
