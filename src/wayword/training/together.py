"""The student for many episodes at once: all prompts that wait are read in one batch.

On a GPU a batch of hundreds takes little longer than one prompt, so whole prompts are read anew and
no keys and values are kept. A prompt that begins another one of the batch costs nothing.
"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from wayword.core.errors import ModelError
from wayword.core.model import Choice, Completion, Prompt, Sampling, Usage
from wayword.models.parts.options import continued
from wayword.training.student import Student, fast_bf16, halves

_Made = TypeVar("_Made")


async def gathered(jobs: Iterable[Callable[[], Awaitable[_Made]]], most: int) -> list[_Made]:
    """The results of the jobs in their order; ``most`` of them run at once."""
    gate = asyncio.Semaphore(most)

    async def one(job: Callable[[], Awaitable[_Made]]) -> _Made:
        async with gate:
            return await job()

    return await asyncio.gather(*(one(job) for job in jobs))


@dataclass(slots=True)
class _Asked:
    """A prompt's tokens, each option's, and what was found of them."""

    ids: list[int]
    options: list[list[int]]
    logprobs: list[float] = field(default_factory=list)


class BatchedStudent:
    """The student as a model that agents can ask, only ``choose``: what waits is one batch.

    ``tokens``: how many are read in one pass, padding included. Options of several tokens are
    scored whole.
    """

    name = "student"

    def __init__(self, student: Student, tokens: int = 65_536) -> None:
        self._student, self._tokens = student, tokens
        self._waiting: list[tuple[str, tuple[str, ...], asyncio.Future[Choice]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        raise ModelError("a student in training answers `choose` only")

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        if not isinstance(prompt, str):
            raise ModelError("a student in training reads plain text only")
        future: asyncio.Future[Choice] = asyncio.get_running_loop().create_future()
        self._waiting.append((prompt, tuple(options), future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await future

    async def aclose(self) -> None:
        return None

    async def _work(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                found = await asyncio.to_thread(self._ranked, [one[:2] for one in batch])
            except Exception as error:  # noqa: BLE001 - handed to those who asked
                for *_, future in batch:
                    future.set_exception(error)
                continue
            for (_, options, future), asked in zip(batch, found, strict=True):
                usage = Usage(len(asked.ids), 0)
                future.set_result(Choice(options, tuple(asked.logprobs), usage))

    def _ranked(self, batch: Sequence[tuple[str, tuple[str, ...]]]) -> list[_Asked]:
        words = self._student.words
        bases = [continued(prompt, options[0])[0] for prompt, options in batch]
        asked = [
            _Asked(list(told.ids), [list(words.encode(continued(p, o)[1]).ids) for o in options])
            for told, (p, options) in zip(words.encode_batch(bases), batch, strict=True)
        ]
        rows, wanted = _rows(asked)
        found = iter(self._read(rows, wanted))
        for one in asked:
            one.logprobs = [sum(next(found) for _ in option) for option in one.options]
        return asked

    def _read(self, rows: list[list[int]], wanted: list[tuple[int, int, int]]) -> list[float]:
        """Log-probabilities of tokens: ``wanted`` are (row, position, token that follows it)."""
        torch, scores = self._student.torch, [0.0] * len(wanted)
        of_row: list[list[int]] = [[] for _ in rows]
        for number, (row, _, _) in enumerate(wanted):
            of_row[row].append(number)
        order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
        with torch.no_grad():
            for part in _parts(order, rows, self._tokens):
                ids = torch.zeros(len(part), len(rows[part[-1]]), dtype=torch.long)
                for line, row in enumerate(part):
                    ids[line, : len(rows[row])] = torch.tensor(rows[row])
                asked = [(line, number) for line, row in enumerate(part) for number in of_row[row]]
                lines = torch.tensor([line for line, _ in asked])
                at = torch.tensor([wanted[number][1] for _, number in asked])
                tokens = torch.tensor([wanted[number][2] for _, number in asked])
                told = self._told(ids, lines, at, tokens)
                for (_, number), score in zip(asked, told, strict=True):
                    scores[number] = score
        return scores

    def _told(self, ids: Any, lines: Any, at: Any, tokens: Any) -> list[float]:
        student, torch = self._student, self._student.torch
        ids, lines, at, tokens = (one.to(student.device) for one in (ids, lines, at, tokens))
        head = halves(student.network)[1]
        with torch.autocast(student.device, torch.bfloat16, enabled=fast_bf16(torch)):
            hidden = student.hidden(ids)
            logits = head(hidden[lines, at])
        scores = torch.log_softmax(logits.float(), dim=-1)
        found: list[float] = scores.gather(1, tokens[:, None])[:, 0].tolist()
        return found


def _rows(asked: Sequence[_Asked]) -> tuple[list[list[int]], list[tuple[int, int, int]]]:
    """The fewest sequences that hold every prompt and option, and where each token's score stands.

    A sequence that begins another one is read with it.
    """
    needed: list[list[int]] = []
    for one in asked:
        needed += [one.ids + option[:-1] for option in one.options]
    keys = [array("I", ids).tobytes() for ids in needed]
    kept: list[int] = []
    row_of = [0] * len(needed)
    for number in sorted(range(len(needed)), key=lambda n: keys[n], reverse=True):
        if not kept or not keys[kept[-1]].startswith(keys[number]):
            kept.append(number)
        row_of[number] = len(kept) - 1
    wanted, number = [], 0
    for one in asked:
        for option in one.options:
            first = len(one.ids) - 1
            wanted += [(row_of[number], first + place, t) for place, t in enumerate(option)]
            number += 1
    return [needed[number] for number in kept], wanted


def _parts(order: Sequence[int], rows: Sequence[Sequence[int]], tokens: int) -> list[list[int]]:
    """Rows, shortest first, in parts of at most so many tokens; one row at least."""
    found: list[list[int]] = []
    for row in order:
        if not found or len(rows[row]) * (len(found[-1]) + 1) > tokens:
            found.append([])
        found[-1].append(row)
    return found
