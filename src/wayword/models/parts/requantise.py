"""Q4_1 weights rewritten as Q8_0, which llama.cpp multiplies nearly twice as fast on a CPU.

A Q4_1 block is 32 weights ``d * q + m`` (two half floats, 16 bytes of nibbles: the low ones are
weights 0–15, the high ones 16–31); a Q8_0 block is 32 weights ``d * q`` (a half float, 32 signed
bytes). The new file is larger and its rounding adds an error of at most 1/254 of a block's largest
weight, so it is a file of its own, never a silent replacement.

Source: ggml ``docs/gguf.md`` and ``ggml-common.h`` (block_q4_1, block_q8_0)
"""

from __future__ import annotations

import os
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import DataError, UsageError
from wayword.core.files import cache_folder
from wayword.models.parts.weights import Weights

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

    Raises ``UsageError`` where the folder cannot be written.
    """
    target = cache_folder() / "models" / f"{weights.name}-{weights.sha256[:12]}-q8_0.gguf"
    if not target.is_file():
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
