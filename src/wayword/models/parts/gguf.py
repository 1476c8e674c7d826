"""GGUF files: the trained context length, and Q4_1 weights converted to Q8_0, which llama.cpp
multiplies nearly twice as fast on a CPU.

A Q4_1 block is 32 weights ``scale * q + least`` in 16 bytes of nibbles: the low nibbles are
weights 0-15, the high ones 16-31. A Q8_0 block is 32 weights ``step * q``. Rounding adds an error
of at most 1/254 of a block's largest weight, so the result is a separate file and never silently
replaces the original. The ``gguf`` package is not used: it needs seconds to read the vocabulary,
before the first answer on a new machine.

Source: ggml ``docs/gguf.md`` and ``ggml-common.h`` (block_q4_1, block_q8_0)
"""

from __future__ import annotations

import math
import os
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import DataError, UsageError
from wayword.core.files import cache_folder, make_parent
from wayword.models.parts.weights import Weights

# ggml's numbers of the two formats, both in blocks of 32 weights with a scale of their own
_Q4_1 = 3
_Q8_0 = 8
_BLOCK = 32
_Q4_1_BLOCK = np.dtype(
    [("scale", "<f2"), ("least", "<f2"), ("nibbles", "u1", _BLOCK // 2)]
)
_Q8_0_BLOCK = np.dtype([("step", "<f2"), ("weights", "i1", _BLOCK)])
# GGUF's value types without a fixed size
_STRING = 8
_ARRAY = 9
_FORMATS = dict(zip((*range(8), 10, 11, 12), "BbHhIif?Qqd", strict=True))
"""GGUF's value types of fixed size, as ``struct`` formats."""


def faster(weights: Weights, source: Path) -> Path:
    """Return the Q8_0 version of published Q4_1 weights, created in the cache folder on first use.

    Raises ``UsageError`` if the folder cannot be written.
    """
    target = (
        cache_folder() / "models" / f"{weights.name}-{weights.sha256[:12]}-q8_0.gguf"
    )
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
    """Write a copy of ``source`` with its Q4_1 tensors as Q8_0, atomically.

    Other processes never see an incomplete file. Raises ``DataError`` if the source is
    not GGUF version 3, ``OSError`` if the target cannot be written.
    """
    make_parent(target)
    handle, name = tempfile.mkstemp(dir=target.parent, suffix=".part")
    try:
        with source.open("rb") as file, os.fdopen(handle, "wb") as out:
            _rewrite(source, file, out)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _rewrite(path: Path, file: BinaryIO, out: BinaryIO) -> None:
    """Write a copy of a file whose tensors of one type are converted.

    First the header, with the new types and offsets of the tensors; then the data, each
    tensor at a multiple of the file's alignment. Raises ``DataError``.
    """
    magic, version, tensor_count, entry_count = _read(file, "4sIQQ")
    if magic != b"GGUF" or version != 3:
        raise DataError(path, "", "is not a GGUF file of version 3")
    align = dict(_metadata(file, entry_count)).get(b"general.alignment") or 32
    head = file.tell()
    tensors = []
    for _ in range(tensor_count):
        name = _string(file)
        shape = _read(file, f"{_read(file, 'I')[0]}Q")
        tensors.append((name, shape, *_read(file, "IQ")))
    start = file.tell() + -file.tell() % align
    data = np.memmap(path, dtype=np.uint8, mode="r")[start:]
    # The metadata do not change, and are copied.
    file.seek(0)
    out.write(file.read(head))
    # Tensors are stored in this order: each ends where the next one starts.
    ends = [offset for *_, offset in tensors[1:]]
    ends.append(len(data))
    new_offset = 0
    for (name, shape, dtype, offset), end in zip(tensors, ends, strict=True):
        size = end - offset
        if dtype == _Q4_1:
            dtype = _Q8_0
            size = math.prod(shape) // _BLOCK * _Q8_0_BLOCK.itemsize
        layout = f"<Q{len(name)}sI{len(shape)}QIQ"
        entry = struct.pack(
            layout,
            len(name),
            name,
            len(shape),
            *shape,
            dtype,
            new_offset,
        )
        out.write(entry)
        new_offset += size + -size % align
    for (_, shape, dtype, offset), end in zip(tensors, ends, strict=True):
        out.write(bytes(-out.tell() % align))
        raw = data[offset:end]
        if dtype == _Q4_1:
            out.write(_as_q8_0(raw, math.prod(shape)).tobytes())
        else:
            out.write(raw.tobytes())


def _as_q8_0(raw: NDArray[np.uint8], weights: int) -> NDArray[np.void]:
    """Return ``weights`` numbers of Q4_1 blocks as blocks of Q8_0."""
    blocks = raw[: weights // _BLOCK * _Q4_1_BLOCK.itemsize].view(_Q4_1_BLOCK)
    scale = blocks["scale"].astype(np.float32)[:, None]
    least = blocks["least"].astype(np.float32)[:, None]
    packed = blocks["nibbles"]
    nibbles = np.concatenate([packed & 0x0F, packed >> 4], axis=1)
    values = nibbles.astype(np.float32) * scale + least
    step = np.abs(values).max(axis=1) / 127.0  # 127: the largest value of a signed byte
    converted = np.empty(len(blocks), _Q8_0_BLOCK)
    converted["step"] = step
    divisor = np.where(step > 0, step, 1.0)  # a block of zeros has no step
    converted["weights"] = np.rint(values / divisor[:, None])
    return converted


def trained_window(path: Path) -> int:
    """Return a GGUF file's trained context length in tokens; 0 if it is not recorded.

    It is ``ARCHITECTURE.context_length`` in the metadata. A damaged file counts as one
    without.
    """
    with path.open("rb") as file:
        try:
            magic, version, _, count = _read(file, "4sIQQ")
            if magic == b"GGUF" and version in (2, 3):
                for key, value in _metadata(file, count):
                    if key.endswith(b".context_length") and value is not None:
                        return max(0, value)
        except (struct.error, KeyError, MemoryError, OverflowError):
            pass
    return 0


def _read(file: BinaryIO, layout: str) -> tuple[Any, ...]:
    """Return the numbers of a layout, little-endian."""
    return struct.unpack(f"<{layout}", file.read(struct.calcsize(f"<{layout}")))


def _string(file: BinaryIO) -> bytes:
    """Return a text with its length in front."""
    return file.read(*_read(file, "Q"))


def _metadata(file: BinaryIO, count: int) -> Iterator[tuple[bytes, int | None]]:
    """Yield the entries of the header."""
    for _ in range(count):
        yield _string(file), _value(file, *_read(file, "I"))


def _value(file: BinaryIO, value_type: int) -> int | None:
    """Return a value of a type; lists are skipped."""
    if value_type == _STRING:
        _string(file)
    elif value_type == _ARRAY:
        inner, length = _read(file, "IQ")
        if inner in _FORMATS:
            file.seek(struct.calcsize(_FORMATS[inner]) * length, os.SEEK_CUR)
        else:
            for _ in range(length):
                _value(file, inner)
    else:
        (value,) = _read(file, _FORMATS[value_type])
        return value if type(value) is int else None
    return None
