"""As much of Ray as the engine uses, in one process, with players that can be made to die."""

from __future__ import annotations

import asyncio
import pickle
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

Dies = Callable[..., float | None]


class RayError(Exception):
    """An actor died."""


class RayTaskError(RayError):
    """An actor's method raised ``cause``."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(repr(cause))
        self.cause = cause


class Actor:
    """A handle: ``await actor.method.remote(...)``. One that dies is restarted where that is
    allowed, and the calls that it had are made again so many times as they may be."""

    def __init__(
        self, make: Callable[[], Any], dies: Dies, restarts: bool, retries: int
    ) -> None:
        self._make = make
        self._dies = dies
        self._restarts = restarts
        self._retries = retries
        self._inner = make()
        self._dead = False
        self._open: set[asyncio.Task[Any]] = set()

    def __getattr__(self, name: str) -> Any:
        def method(retries: int) -> Any:
            return SimpleNamespace(
                remote=lambda *given: self._call(name, given, retries),
                options=lambda max_task_retries: method(max_task_retries),
            )

        return method(self._retries)

    def _call(
        self, name: str, given: tuple[Any, ...], retries: int
    ) -> asyncio.Task[Any]:
        reply = asyncio.get_running_loop().create_task(
            self._answer(name, given, retries)
        )
        # it may be that nobody waits for it
        reply.add_done_callback(lambda done: done.cancelled() or done.exception())
        return reply

    async def _answer(self, name: str, given: tuple[Any, ...], retries: int) -> Any:
        loop = asyncio.get_running_loop()
        for _ in range(1 + retries):
            if self._dead:
                raise RayError("the actor is dead")
            task = loop.create_task(_called(getattr(self._inner, name), given))
            self._open.add(task)
            if (after := self._dies(name, *given)) is not None:
                loop.call_later(after, self.die)
            await asyncio.wait([task])
            if task in self._open:
                self._open.remove(task)
                if error := task.exception():
                    raise RayTaskError(error)
                return task.result()
        raise RayError("killed")

    def die(self, no_restart: bool = False) -> None:
        """As by ``kill -9``."""
        calls = self._open
        self._open = set()
        for task in calls:
            task.cancel()
        self._dead = no_restart or not self._restarts
        if not self._dead:
            self._inner = self._make()


async def _called(method: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    """As by Ray: plain methods of an actor with coroutines run in its loop, too."""
    result = method(*pickle.loads(pickle.dumps(given)))
    return await result if asyncio.iscoroutine(result) else result


def one_process_ray(dies: Dies = lambda *requests: None) -> Any:
    """What the engine takes for ``import ray``.

    ``dies`` is asked at each call of a player's method, and says in how many seconds it dies.
    """

    def remote(max_restarts: int = 0, max_task_retries: int = 0, **options: Any) -> Any:
        def made(cls: type) -> Any:
            mortal = dies if cls.__name__ == "Player" else lambda *requests: None
            return SimpleNamespace(
                remote=lambda *given: Actor(
                    lambda: cls(*given), mortal, bool(max_restarts), max_task_retries
                )
            )

        return made

    near = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda node, soft: None)
    return SimpleNamespace(
        remote=remote,
        kill=lambda actor, no_restart=True: actor.die(no_restart),
        exceptions=SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError),
        get_runtime_context=lambda: SimpleNamespace(get_node_id=lambda: "here"),
        util=SimpleNamespace(scheduling_strategies=near),
    )


def cluster_of(ray: Any) -> Any:
    """A stand-in for the engine's own way to start a cluster."""

    @contextmanager
    def cluster(workers: int) -> Iterator[Any]:
        yield ray

    return cluster


def at_random(share: float, seed: int = 7) -> Dies:
    """Players die in that share of the episodes they begin, soon after."""
    rng = random.Random(seed)
    return lambda method, *given: (
        rng.uniform(0, 0.02) if method == "play" and rng.random() < share else None
    )
