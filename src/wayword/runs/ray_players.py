"""The processes of ``--engine ray``: the players, and the bank that all of them ask.

Nothing here knows Ray: ``wayword.runs.ray_engine`` starts these classes as its actors. A handle of
one, such as ``bank`` below, is asked by ``await bank.begin.remote(…)``.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from wayword.core.errors import BudgetExhausted, ModelUnusable, WaywordError
from wayword.core.rollout import rollout
from wayword.core.trajectory import Step
from wayword.models.middleware.budget import Account, Meter, Row, play_as, under_way
from wayword.models.middleware.rate import Limiter
from wayword.runs import config as configs
from wayword.runs.active import config_of, open_models
from wayword.runs.codec import plain
from wayword.runs.episodes import Played, setup_of
from wayword.runs.parts import model_choices, open_agent, open_dataset
from wayword.runs.plan import Plan
from wayword.runs.progress import Moves


@dataclass(frozen=True, slots=True)
class Ended:
    """Why a player did not play an episode: the ``kind`` of error, and its line."""

    kind: str
    line: str


# The bank: one account and one rate limit a model, over all processes.


class Bank:
    """The run's account, in a process of its own. Its calls are answered in the order they come.

    ``ended`` is what episodes of earlier sessions took of the budget, ``turns`` an episode's limit.
    """

    def __init__(self, account: Mapping[str, Any], per_minute: float) -> None:
        given = dict(account)
        ended, turns = given.pop("ended"), given.pop("turns")
        self._account = Account(**given)
        self._account.ended[:], self._account.turns = ended, turns
        self._per_minute = per_minute
        self._limiters: dict[str, Limiter] = {}
        self._meters: dict[int, tuple[str, Meter]] = {}
        self._flying: Counter[str] = Counter()
        self._dead: set[str] = set()
        self._open: dict[str, tuple[str, Row]] = {}
        self._rows: list[Row] = []
        self._count = self._confirmed = 0
        self._news, self._written = asyncio.Event(), asyncio.Condition()

    async def begin(self, player: str) -> tuple[int, str]:
        """The number of a new episode; or 0, and why the budget does not allow it."""
        try:
            self._account.begin()
        except BudgetExhausted as error:
            return 0, str(error)
        meter = under_way()
        assert meter is not None
        self._meters[meter.number] = player, meter
        return meter.number, ""

    async def end(self, episode: int, whole: bool) -> None:
        """The episode has ended."""
        _, meter = self._meters.pop(episode, ("", None))
        if meter is not None:
            play_as(meter)
            self._account.end(whole)

    async def admit(self, player: str, episode: int, turns: int) -> str:
        """Wait for the turn of a call; why it may not be made, or nothing.

        The episode has played so many ``turns``."""
        meter = self._meters.get(episode, ("", None))[1]
        play_as(meter)
        while meter is not None and meter.turns < turns:
            self._account.stepped()
        try:
            await self._account.admit()
        except BudgetExhausted as error:
            return str(error)
        if player in self._dead:
            self._account.landed()
        else:
            self._flying[player] += 1
        return ""

    async def landed(self, player: str) -> None:
        """A call is over."""
        if player not in self._dead:
            self._flying[player] -= 1
            self._account.landed()

    async def reserve(self, player: str, row: Row) -> None:
        """Keep what a call may cost, and wait until the driver has written it down."""
        self._open[row.call] = player, row
        await self._written_down(self._queue(row))

    async def pay(self, episode: int, tokens: int, dollars: float | None, call: str) -> None:
        """Count a billed call, and wait until the driver has written it down."""
        play_as(self._meters.get(episode, ("", None))[1])
        self._account.pay(tokens, dollars)
        self._open.pop(call, None)
        await self._written_down(self._queue(Row(tokens, dollars or 0.0, call)))

    async def release(self, call: str) -> None:
        """Settle a call that was not billed."""
        if self._open.pop(call, None):
            self._queue(Row(0, 0.0, call))

    def _queue(self, row: Row) -> int:
        self._rows.append(row)
        self._news.set()
        self._count += 1
        return self._count

    async def _written_down(self, mine: int) -> None:
        async with self._written:
            await self._written.wait_for(lambda: self._confirmed >= mine)

    async def exchange(self, confirmed: int) -> list[Row]:
        """Take the number of rows that are on disk; the next rows, after a second at most."""
        async with self._written:
            self._confirmed = confirmed
            self._written.notify_all()
        if not self._rows:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), 1.0)
        return await self.rest()

    async def rest(self) -> list[Row]:
        """The rows not handed over yet."""
        self._news.clear()
        taken, self._rows = self._rows, []
        return taken

    async def lost(self, player: str) -> int:
        """A player has died: how many of its calls were under way. They count at their estimates,
        as they may have been billed."""
        self._dead.add(player)
        for call, (whose, row) in list(self._open.items()):
            if whose == player:
                del self._open[call]
                self._account.pay(row.tokens, row.dollars)
                self._queue(replace(row, open=False))
        for episode in [n for n, (whose, _) in self._meters.items() if whose == player]:
            await self.end(episode, whole=False)
        flying = self._flying.pop(player, 0)
        for _ in range(flying):
            self._account.landed()  # calls of others may wait for them
        return flying

    async def turn(self, model: str, tokens: float) -> None:
        """Wait for a model's rate limit."""
        limiter = self._limiters.setdefault(model, Limiter(self._per_minute))
        await limiter.admit(tokens)

    async def retried(self) -> None:
        """Count a request that is made again."""
        self._account.retried()

    async def retries(self) -> int:
        """How many requests were made again."""
        return self._account.retries


class SharedAccount(Account):
    """The bank's account, as a player's models know it."""

    def __init__(self, bank: Any, player: str) -> None:
        super().__init__()
        self._bank, self._player = bank, player
        self._refs: list[Any] = []

    async def admit(self) -> None:
        meter = under_way()
        number, turns = (meter.number, meter.turns) if meter else (0, 0)
        if refusal := await self._bank.admit.remote(self._player, number, turns):
            raise BudgetExhausted(refusal)

    async def reserve(self, row: Row) -> None:
        await self._bank.reserve.remote(self._player, row)

    def pay(self, tokens: int, dollars: float | None, call: str = "") -> None:
        meter = under_way()
        episode = meter.number if meter else 0
        self._refs.append(self._bank.pay.remote(episode, max(0, tokens), dollars, call))

    def release(self, call: str) -> None:
        self._bank.release.remote(call)

    async def written(self) -> None:
        refs, self._refs = self._refs, []  # those of the caller: nothing ran since it paid
        for ref in refs:
            await ref

    def landed(self) -> None:
        self._bank.landed.remote(self._player)

    def retried(self) -> None:
        self._bank.retried.remote()


class SharedTurns:
    """A model's rate limit that the bank keeps."""

    def __init__(self, bank: Any, model: str) -> None:
        self._bank, self._model = bank, model

    async def admit(self, tokens: float) -> None:
        """Wait for a turn."""
        await self._bank.turn.remote(self._model, tokens)

    def settle(self, estimated: float, used: float) -> None:
        """Nothing: a run limits requests, not tokens."""


# The player.


class Player:
    """Plays episodes in a process of its own; ``name`` is its own among all of the run."""

    def __init__(self, plan: Plan, folder: str, bank: Any, name: str) -> None:
        with suppress(OSError):  # another machine may not have it
            os.chdir(folder)
        self._plan, self._bank, self._name = plan, bank, name
        self._moves: Moves | None = None

    async def open(self, identity: Mapping[str, Any]) -> tuple[str, str]:
        """Open dataset, agents and models: ``machine:process``, and what is wrong, or nothing."""
        where = f"{socket.gethostname()}:{os.getpid()}"
        plan, account = self._plan, SharedAccount(self._bank, self._name)
        try:
            self._dataset = dataset = open_dataset(plan)
            agent = open_agent(plan, dataset)
            self._models = open_models(
                plan,
                model_choices(plan, agent),
                account,
                lambda model: SharedTurns(self._bank, model),
            )
            for model in self._models.values():
                await model.prepare()
            own = config_of(plan, dataset, agent, self._models)
        except WaywordError as error:
            return where, str(error)
        if found := configs.difference({"identity": identity}, plain(own)):
            name, was, now = found
            return where, f"would play another run: {name!r} is {now!r} there, and {was!r} here"
        self._moves = moves = Moves(plan.max_steps or dataset.max_steps, trail=40)

        def stepped(episode: str, step: Step) -> None:
            account.stepped()
            moves.stepped(episode, step)

        self._setup = setup_of(plan, dataset, agent, self._models, stepped)
        return where, ""

    async def play(self, number: int) -> Played | Ended:
        """Play the dataset's episode of that number."""
        episode, refusal = await self._bank.begin.remote(self._name)
        if refusal:
            return Ended("exhausted", refusal)
        play_as(Meter(episode))
        task, whole = self._dataset.tasks[number], False
        try:
            trajectory = await rollout(task, self._setup)
            whole = trajectory.ended != "failed"
            return Played.of(self._dataset, task, trajectory)
        except BudgetExhausted as error:
            return Ended("exhausted", str(error))
        except ModelUnusable as error:
            return Ended("unusable", str(error))
        except WaywordError as error:
            return Ended("trouble", str(error))
        finally:
            if self._moves is not None:
                self._moves.ended(task.episode.id)
            await self._bank.end.remote(episode, whole)

    async def moves(self) -> list[dict[str, Any]]:
        """Where its episodes stand."""
        return [] if self._moves is None else self._moves.now()

    async def leave(self) -> list[str]:
        """Close the models; what a person should know of them."""
        models = list(self._models.values())
        learnt = [line for model in models for line in model.lessons]
        told = [f"refused by the server and left out: {line}" for line in learnt]
        told += [line for model in models for line in model.warnings]
        for model in models:
            await model.aclose()
        return told
