"""As much of Ray as the engine uses, in one process, with players that can be made to die."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any


class RayError(Exception):
    """An actor died."""


class RayTaskError(RayError):
    """An actor's method raised."""


class Actor:
    """A handle: ``await actor.method.remote(...)``. Dead, every call raises ``RayError``."""

    def __init__(self, inner: Any, dies: Callable[..., float | None]) -> None:
        self._inner, self._dies = inner, dies
        self._open: set[tuple[asyncio.Future[Any], asyncio.Task[Any]]] = set()
        self.dead = False

    def __getattr__(self, name: str) -> Any:
        return SimpleNamespace(remote=lambda *given: self._call(name, given))

    def _call(self, name: str, given: tuple[Any, ...]) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        told: asyncio.Future[Any] = loop.create_future()
        if self.dead:
            told.set_exception(RayError("the actor is dead"))
            return told
        task = loop.create_task(getattr(self._inner, name)(*given))
        pair = (told, task)
        self._open.add(pair)
        task.add_done_callback(lambda task: self._answer(pair))
        if (after := self._dies(name, *given)) is not None:
            loop.call_later(after, self.die)
        return told

    def _answer(self, pair: tuple[asyncio.Future[Any], asyncio.Task[Any]]) -> None:
        told, task = pair
        self._open.discard(pair)
        if told.done() or task.cancelled():
            return
        if error := task.exception():
            told.set_exception(RayTaskError(repr(error)))
        else:
            told.set_result(task.result())

    def die(self) -> None:
        """As by ``kill -9``."""
        self.dead = True
        for told, task in [*self._open]:
            if not told.done():
                told.set_exception(RayError("killed"))
                told.exception()  # it may be that nobody waits for it
            task.cancel()


def one_process_ray(dies: Callable[..., float | None] = lambda *asked: None) -> Any:
    """What the engine takes for ``import ray``.

    ``dies`` is asked at each call of a player's method, and says in how many seconds it dies.
    """

    def remote(**options: Any) -> Any:
        def made(cls: type) -> Any:
            mortal = dies if cls.__name__ == "Player" else lambda *asked: None
            return SimpleNamespace(remote=lambda *given: Actor(cls(*given), mortal))

        return made

    near = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda node, soft: None)
    return SimpleNamespace(
        remote=remote,
        kill=Actor.die,
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


def at_random(share: float, seed: int = 7) -> Callable[..., float | None]:
    """Players die in that share of the episodes they begin, soon after."""
    rng = random.Random(seed)
    return lambda method, *given: (
        rng.uniform(0, 0.02) if method == "play" and rng.random() < share else None
    )
