"""Arrays in files: cached ones, and ``.npy``.

Apart from :mod:`wayword.core.files`, so that commands without arrays start without numpy.
"""

from __future__ import annotations

import json
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.files import describe_error, keep


def write_cached_arrays(path: Path, **arrays: NDArray[Any]) -> None:
    """Write a cache file of named arrays; see :func:`keep`.

    The file holds the CRC-32 of its rest in 8 hex digits, a line of JSON with the type and shape
    of each array, and their bytes.
    """
    layout = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
    parts = [json.dumps(layout).encode() + b"\n"]
    parts += [array.tobytes() for array in arrays.values()]
    # Arrays start at multiples of 8 bytes, as unaligned ones are slow; padding is legal JSON.
    parts[0] = parts[0].rjust(_aligned(len(parts[0])))
    rest = b"".join(part.ljust(_aligned(len(part)), b"\0") for part in parts)
    keep(path, lambda file: file.write(b"%08x" % zlib.crc32(rest) + rest))


def read_cached_arrays(path: Path) -> dict[str, NDArray[Any]] | None:
    """Return the read-only arrays of a cache file, None if it is missing or damaged."""
    try:
        content = path.read_bytes()
        if int(content[:8], 16) != zlib.crc32(memoryview(content)[8:]):
            return None
        at = content.index(b"\n") + 1
        arrays = {}
        for name, (dtype, shape) in json.loads(content[8:at]).items():
            array = np.frombuffer(content, dtype, math.prod(shape), at)
            arrays[name] = array.reshape(shape)
            at += _aligned(array.nbytes)
        return arrays
    except (OSError, ValueError):
        return None


def _aligned(size: int) -> int:
    """Return a size rounded up to whole blocks of 8 bytes, so that arrays can be
    mapped."""
    return -(-size // 8) * 8


def read_array(path: Path, mapped: bool = False) -> NDArray[Any]:
    """Return the array of an ``.npy`` file; ``mapped`` maps it into memory.

    Raises ``OSError`` if the file cannot be read, ``ValueError`` if it is damaged: numpy raises a
    dozen different exceptions for damage, including those of the tokenizer and struct.
    """
    try:
        if mapped:
            return np.lib.format.open_memmap(path, mode="r")
        with path.open("rb") as file:  # np.load would leave it open on errors
            return np.asarray(np.lib.format.read_array(file, allow_pickle=False))
    except OSError:
        raise
    except Exception as error:
        raise ValueError(describe_error(error)) from error
