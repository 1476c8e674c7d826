"""Many environments at once: in this process, or spread over workers.

    envs = SyncVector("houses", 8)
    envs = WorkerVector("household:generated_train", 32, workers=8)
    observations, infos = envs.reset(seed=0)
    observations, rewards, terminated, truncated, infos = envs.step(["stop"] * envs.count)

All environments share one dataset, whose scenes are read-only; workers are forked from this
process once it is open, so that they share its memory. Each has a seed of its own, counted up from
the one given; without one each of n plays every n-th episode. After an episode's end the next step
resets (``autoreset="next"``: what was said is not used, the reward is 0), or the same step does
(``"same"``: the last observation and info are in ``info["final_observation"]`` and
``info["final_info"]``), or nobody does (``"off"``), as in Gymnasium 1.x.

Workers answer once a step for all of their environments together. While this process has other work
to do (a forward pass over another batch, an update), they carry a step out:

    envs = WorkerVector("houses", 32, workers=8, helps=False)
    envs.step_async(answers)
    learn(batch)
    batch = envs.step_wait()
"""

from __future__ import annotations

import gc
import multiprocessing
import pickle
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Literal

from wayword.core.episode import Json
from wayword.core.errors import UsageError, WaywordError
from wayword.envs.environment import Environment, Stepped, make
from wayword.envs.game import Info
from wayword.envs.views import Said

Autoreset = Literal["next", "same", "off"]
PROTOCOL = pickle.HIGHEST_PROTOCOL
Seed = int | Sequence[int | None] | None
"""One that is counted up from environment to environment, or one for each."""
DIED = "a worker has died; see its message above"
Batch = tuple[list[Json], list[float], list[bool], list[bool], list[Any]]


@dataclass
class _Seat:
    """One environment and whether its episode is over."""

    env: Environment
    over: bool = False

    def reset(self, seed: int | None) -> tuple[Json, Info]:
        self.over = False
        return self.env.reset(seed)

    def step(self, said: Said, autoreset: Autoreset) -> Stepped:
        if self.over and autoreset == "next":
            seen, info = self.reset(None)
            return seen, 0.0, False, False, info
        seen, reward, ended, cut, info = self.env.step(said)
        self.over = ended or cut
        if self.over and autoreset == "same":
            last, final = seen, info
            seen, info = self.reset(None)
            info["final_observation"], info["final_info"] = last, final
        return seen, reward, ended, cut, info


class SyncVector:
    """``count`` environments in this process. Options are those of :func:`~.environment.make`."""

    def __init__(
        self, name: str, count: int, *, autoreset: Autoreset = "next", **options: Any
    ) -> None:
        _check(count, autoreset)
        self.count, self._autoreset = count, autoreset
        self.envs = _opened(name, range(count), count, options)
        self._seats = [_Seat(env) for env in self.envs]

    def reset(self, seed: Seed = None) -> tuple[list[Json], list[Info]]:
        """Begin an episode in each; without a seed they share the episodes, in their order."""
        seeds = _seeds(seed, self.count)
        pairs = [seat.reset(own) for seat, own in zip(self._seats, seeds, strict=True)]
        return [seen for seen, _ in pairs], [info for _, info in pairs]

    def step(self, said: Sequence[Said]) -> Batch:
        """One answer for each."""
        if len(said) != self.count:
            raise UsageError(f"{len(said)} answers for {self.count} environments")
        pairs = zip(self._seats, said, strict=True)
        return _batch([seat.step(words, self._autoreset) for seat, words in pairs])

    def close(self) -> None:
        """Close all of them."""
        for env in self.envs:
            env.close()


class WorkerVector:
    """``count`` environments spread over ``workers`` processes, this one among them.

    With ``helps=False`` this process takes no share and the others have it all: for ``step_async``,
    when there is other work to do here. Infos are plain dicts; of what is worked out when read they
    hold what ``include`` names. Raises an environment's own error, and ``UsageError`` where a
    worker has died.
    """

    def __init__(
        self,
        name: str,
        count: int,
        *,
        workers: int = 2,
        helps: bool = True,
        autoreset: Autoreset = "next",
        include: Sequence[str] = (),
        **options: Any,
    ) -> None:
        _check(count, autoreset)
        if not 1 <= workers <= count:
            raise UsageError(f"workers={workers} must lie between 1 and {count}, the environments")
        self.count, self._asked = count, ""
        self._shares = [slice(n, count, workers) for n in range(workers)]
        # A process with threads cannot be forked safely, and macOS has no safe fork at all.
        forked = sys.platform == "linux" and threading.active_count() == 1
        context: Any = multiprocessing.get_context("fork" if forked else "spawn")
        if forked:
            options["dataset"] = make(name, **options).dataset
        numbers = [range(count)[share] for share in self._shares]
        given = [(name, own, count, autoreset, tuple(include), options) for own in numbers]
        # The last share is never the largest, and gathering the answers is work too.
        self._own = _Share(*given.pop()) if helps else None
        self._due: Sequence[Any] = ()
        self._pipes: list[Connection] = []
        self._processes: list[Any] = []
        for share in given:
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(there, *share), daemon=True)
            process.start()
            there.close()
            self._pipes.append(here)
            self._processes.append(process)

    def reset(self, seed: Seed = None) -> tuple[list[Json], list[dict[str, Json]]]:
        """Begin an episode in each."""
        self._ask("reset", _seeds(seed, self.count))
        seen, infos = self._answers("reset", 2)
        return seen, infos

    def step(self, said: Sequence[Said]) -> Batch:
        """One answer for each."""
        self.step_async(said)
        return self.step_wait()

    def step_async(self, said: Sequence[Said]) -> None:
        """Hand an answer to each and return at once, while the workers carry them out."""
        if len(said) != self.count:
            raise UsageError(f"{len(said)} answers for {self.count} environments")
        self._ask("step", list(said))

    def step_wait(self) -> Batch:
        """What came of the answers that :meth:`step_async` handed out."""
        seen, rewards, ended, cut, infos = self._answers("step", 5)
        return seen, rewards, ended, cut, infos

    def close(self) -> None:
        """End the workers."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join(5)
            if process.is_alive():
                process.terminate()
                process.join()
        self._pipes, self._processes, self._shares = [], [], []

    def __enter__(self) -> WorkerVector:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _ask(self, what: str, given: Sequence[Any]) -> None:
        """Ask all workers at once, each for its share."""
        if not self._shares:
            raise UsageError("the workers were closed")
        if self._asked:
            raise UsageError("the workers have a step to answer; call step_wait() first")
        try:
            for pipe, share in zip(self._pipes, self._shares, strict=False):
                pipe.send_bytes(pickle.dumps((what, given[share]), PROTOCOL))
        except OSError:
            self.close()
            raise UsageError(DIED) from None
        self._asked, self._due = what, given[self._shares[-1]]

    def _answers(self, what: str, width: int) -> list[list[Any]]:
        """Everybody's answers, column by column, in the environments' order."""
        if self._asked != what:
            raise UsageError("nothing was asked; call step_async() before step_wait()")
        self._asked = ""
        own = [self._own.answer(what, self._due)] if self._own else []
        try:
            answers = [pickle.loads(pipe.recv_bytes()) for pipe in self._pipes]
        except (EOFError, OSError):
            self.close()
            raise UsageError(DIED) from None
        found: list[list[Any]] = [[None] * self.count for _ in range(width)]
        for answer, share in zip([*answers, *own], self._shares, strict=True):
            if isinstance(answer, Exception):
                raise answer
            for column, part in zip(found, answer, strict=True):
                column[share] = part
        return found


class _Share:
    """The environments of one process; opened when they are first asked."""

    def __init__(
        self,
        name: str,
        numbers: Sequence[int],
        count: int,
        autoreset: Autoreset,
        include: Sequence[str],
        options: dict[str, Any],
    ) -> None:
        self._asked_for = name, numbers, count, options
        self._autoreset, self._include = autoreset, include
        self._seats: list[_Seat] = []

    def answer(self, what: str, given: Sequence[Any]) -> tuple[list[Any], ...] | UsageError:
        """What all of them say to a reset or step, column by column, infos last."""
        try:
            self._open()
            pairs = zip(self._seats, given, strict=True)
            if what == "reset":
                begun = [seat.reset(seed) for seat, seed in pairs]
                return [seen for seen, _ in begun], self._plain([info for _, info in begun])
            *rest, infos = _batch([seat.step(words, self._autoreset) for seat, words in pairs])
            return *rest, self._plain(infos)
        except WaywordError as error:
            return UsageError(str(error))

    def _open(self) -> None:
        if self._seats:
            return
        self._seats = [_Seat(env) for env in _opened(*self._asked_for)]

    def _plain(self, infos: Sequence[Info]) -> list[dict[str, Json]]:
        return [_plain(info, self._include) for info in infos]


def _opened(
    name: str, numbers: Sequence[int], count: int, options: Mapping[str, Any]
) -> list[Environment]:
    """Those of ``count`` environments that have these numbers; they share a dataset."""
    first = make(name, **options)
    shared = {**options, "dataset": first.dataset}
    envs = [first, *(make(name, **shared) for _ in numbers[1:])]
    for env, number in zip(envs, numbers, strict=True):
        env.share(number, count)
    return envs


def _serve(pipe: Connection, *given: Any) -> None:
    """A worker: answers for its share, until the pipe is closed."""
    share = _Share(*given)
    gc.freeze()  # what the processes share need never be looked through again
    while True:
        try:
            what, words = pickle.loads(pipe.recv_bytes())
        except (EOFError, OSError, KeyboardInterrupt):
            return
        pipe.send_bytes(pickle.dumps(share.answer(what, words), PROTOCOL))


def _plain(info: Info, include: Sequence[str]) -> dict[str, Json]:
    final = dict.get(info, "final_info")
    if isinstance(final, Info):
        info["final_info"] = final.only(include)
    return info.only(include)


def _batch(stepped: Sequence[Any]) -> Batch:
    columns = [list(column) for column in zip(*stepped, strict=True)]
    return columns[0], columns[1], columns[2], columns[3], columns[4]


def _seeds(seed: Seed, count: int) -> list[int | None]:
    if seed is None:
        return [None] * count
    if isinstance(seed, Sequence):
        if len(seed) != count:
            raise UsageError(f"{len(seed)} seeds for {count} environments")
        return list(seed)
    return [seed + number for number in range(count)]


def _check(count: int, autoreset: str) -> None:
    if count < 1:
        raise UsageError(f"count must be at least 1, got {count}")
    if autoreset not in ("next", "same", "off"):
        raise UsageError(f"autoreset={autoreset!r} must be 'next', 'same' or 'off'")
