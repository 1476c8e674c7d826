"""The student for many episodes at once: all prompts that wait are read in one batch.

On a GPU a batch of hundreds takes little longer than one prompt, so whole prompts are read anew and
no keys and values are kept. A prompt that begins another one of the batch costs nothing.
"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from recipes.language.batches import Encoded, parts, tensors
from recipes.language.student import Student, fast_bf16, halves
from wayword.core.errors import ModelError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage
from wayword.models.parts.decoding import continued

_Made = TypeVar("_Made")


async def gathered(
    jobs: Iterable[Callable[[], Awaitable[_Made]]], most: int
) -> list[_Made]:
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


class BatchedStudent(Model):
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
                found = await asyncio.to_thread(
                    self._ranked, [one[:2] for one in batch]
                )
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
            _Asked(
                list(told.ids),
                [list(words.encode(continued(p, o)[1]).ids) for o in options],
            )
            for told, (p, options) in zip(words.encode_batch(bases), batch, strict=True)
        ]
        rows, places = _rows(asked)
        with (
            self._student.torch.no_grad()
        ):  # tables made in inference mode are of no use later
            told = [
                score
                for part in parts(rows, self._tokens)
                for score in self._read(part)
            ]
        found = iter(places)
        for one in asked:
            one.logprobs = [
                sum(told[next(found)] for _ in option) for option in one.options
            ]
        return asked

    def _read(self, part: Sequence[Encoded]) -> list[float]:
        """Log-probabilities of the rows' labels, in their order."""
        student, torch = self._student, self._student.torch
        batch = tensors(torch, part, student.device)
        with torch.autocast(student.device, torch.bfloat16, enabled=fast_bf16(torch)):
            logits = halves(student.network)[1](
                student.hidden(batch.ids)[batch.rows, batch.at]
            )
        scores = torch.log_softmax(logits.float(), dim=-1)
        found: list[float] = scores.gather(1, batch.labels[:, None])[:, 0].tolist()
        return found


def _rows(asked: Sequence[_Asked]) -> tuple[list[Encoded], list[int]]:
    """The fewest sequences that hold every prompt and option, longest first, their labels being
    the options' tokens; and where each option's token stands among all labels.

    A sequence that begins another one is read with it.
    """
    needed = [(one, option) for one in asked for option in one.options]
    ids = [one.ids + option[:-1] for one, option in needed]
    keys = [array("I", each).tobytes() for each in ids]
    kept: list[int] = []
    within: dict[int, list[int]] = {}
    for number in sorted(range(len(ids)), key=keys.__getitem__, reverse=True):
        if not kept or not keys[kept[-1]].startswith(keys[number]):
            kept.append(number)
        within.setdefault(kept[-1], []).append(number)
    rows: list[Encoded] = []
    places: list[list[int]] = [[] for _ in needed]
    labels = 0
    for row in sorted(kept, key=lambda number: -len(ids[number])):
        at: list[int] = []
        told: list[int] = []
        for number in within[row]:
            one, option = needed[number]
            places[number] = list(
                range(labels + len(at), labels + len(at) + len(option))
            )
            at += range(len(one.ids) - 1, len(one.ids) - 1 + len(option))
            told += option
        rows.append(Encoded(tuple(ids[row]), tuple(at), tuple(told)))
        labels += len(at)
    return rows, [place for each in places for place in each]
