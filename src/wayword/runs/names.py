"""Many names without a Python object for each: a million ids in 30 MB instead of 90."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

_TOGETHER = 4096
"""Names that are Python strings at a time."""


class Names(Sequence[str]):
    """Ids in one run of bytes: a fifth of what as many Python strings take.

    >>> names = Names()
    >>> names.extend(["b", "a"])
    >>> list(names), names[-1], names.order().tolist()
    (['b', 'a'], 'a', [1, 0])
    """

    def __init__(self) -> None:
        self._text, self._ends = bytearray(), array("q", [0])

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> list[str]: ...
    def __getitem__(self, number: int | slice) -> str | list[str]:
        if isinstance(number, slice):
            return [self[n] for n in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(number)
        return self._raw(number % len(self)).decode(errors="surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return self.each(range(len(self)))

    def each(self, numbers: Iterable[int]) -> Iterator[str]:
        """Some of them."""
        text, ends = self._text, self._ends
        for number in numbers:
            yield text[ends[number] : ends[number + 1]].decode(errors="surrogatepass")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def append(self, name: str) -> None:
        """Put a name behind the others."""
        self._text += name.encode(errors="surrogatepass")
        self._ends.append(len(self._text))

    def extend(self, names: Iterable[str]) -> None:
        """Put several there."""
        for name in names:
            self.append(name)

    def order(self) -> NDArray[np.intp]:
        """(N,) the numbers of the names, sorted by name."""
        widest = max(np.diff(np.frombuffer(self._ends, np.int64)), default=0)
        if widest > _WIDE:
            return np.array(sorted(range(len(self)), key=self.__getitem__))
        raw = np.empty(len(self), f"S{max(1, widest)}")  # bytes of UTF-8 sort as their text does
        for first in range(0, len(self), _TOGETHER):
            last = min(first + _TOGETHER, len(self))
            raw[first:last] = [self._raw(number) for number in range(first, last)]
        return np.argsort(raw, kind="stable")

    def may_repeat(self) -> bool:
        """Whether a name may be there twice; false where none is."""
        codes = np.fromiter(map(hash, self), np.int64, len(self))
        return len(np.unique(codes)) < len(codes)

    def _raw(self, number: int) -> bytes:
        return bytes(self._text[self._ends[number] : self._ends[number + 1]])


_WIDE = 64
"""Names with more bytes are sorted as strings: as an array each would take as much as the widest.
"""


class Reordered(Sequence[str]):
    """Names in another order."""

    def __init__(self, names: Names, order: NDArray[np.intp]) -> None:
        self._names, self._order = names, order

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return list(self._names.each(self._order[number].tolist()))
        return self._names[int(self._order[number])]

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), _TOGETHER):
            yield from self._names.each(self._order[first : first + _TOGETHER].tolist())


class Coded(Sequence[str]):
    """A few names, one for each code."""

    def __init__(self, codes: array[int], names: Sequence[str]) -> None:
        self._codes, self._names = codes, names

    def __len__(self) -> int:
        return len(self._codes)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self._names[code] for code in self._codes[number]]
        return self._names[self._codes[number]]

    def __iter__(self) -> Iterator[str]:
        return map(self._names.__getitem__, self._codes)
