"""Tasks that are made when they are looked at, for generated datasets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from wayword.core.dataset import Task


class DrawnTasks(Sequence[Task]):
    """``count`` tasks, each made by ``make(number)`` when it is asked for; a slice makes its own.

    >>> len(DrawnTasks(3, lambda number: None))
    3
    """

    def __init__(self, count: int, make: Callable[[int], Task]) -> None:
        self._count, self._make = count, make

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Task]: ...
    def __getitem__(self, index: int | slice) -> Task | Sequence[Task]:
        if isinstance(index, slice):
            return [self._make(number) for number in range(*index.indices(self._count))]
        if not -self._count <= index < self._count:
            raise IndexError(index)
        return self._make(index % self._count)
