"""``--engine ray``: a run's episodes, played by processes of a Ray cluster.

    driver    the command: chooses episodes, writes the run folder, alone
    Player    a process that holds dataset, agents and models once, and plays episode after episode
    Bank      one process with the run's budget and rate limits, asked before and after every call

A player that dies (killed, out of memory, its machine gone) is replaced, and its episodes are
played again; what it had not handed over was never written, so none is lost and none is there
twice. A billed call goes on only once the driver has written it to ``calls.jsonl``.

On a cluster, ``$RAY_ADDRESS`` names it; without one, a cluster is started on this machine.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from wayword.core.errors import (
    BudgetExhausted,
    ModelUnusable,
    RecordingError,
    UsageError,
    WaywordError,
    needing,
)
from wayword.core.rollout import Outcome, first_error, rollout
from wayword.core.trajectory import Step
from wayword.models.middleware.budget import Account, LedgerRow, Meter, play_as, under_way
from wayword.models.middleware.rate import Limiter
from wayword.runs import config as configs
from wayword.runs.active import ActiveRun, Moves, Played, config_of, open_models, setup_of
from wayword.runs.codec import plain
from wayword.runs.plan import Plan, model_choices, open_agent, open_dataset, takes_a_person
from wayword.runs.record import FailedEpisode, Line

_TRIES = 12
"""Times that an episode is begun before it counts as what its processes die of. Many: those beside
it die too, and are innocent."""
_DEATHS = 5
"""Processes of one post that may die in a row before they have opened the run."""
_CHUNK = 32
"""Consecutive episodes that a player takes at once: they are often of one scene."""
_PATIENCE = 10.0
"""Seconds to reach the cluster that is named."""
_STORE = 128 << 20
"""Bytes of Ray's shared memory on this machine: episodes go by message, not by store."""


async def play(active: ActiveRun, todo: Sequence[int], account: Account) -> Outcome:
    """Play the episodes of these numbers on a cluster. Raises as ``rollout.run`` does."""
    plan = active.plan
    if takes_a_person(plan):
        raise UsageError("a person cannot sit in a cluster; leave --engine ray out")
    with _cluster(plan.workers) as ray:
        crew = _Crew(active, todo, account, ray)
        try:
            return await crew.play()
        except BaseExceptionGroup as errors:
            raise first_error(errors) from None
        finally:
            await crew.close()


@contextmanager
def _cluster(workers: int) -> Iterator[Any]:
    """Ray, connected to the cluster of ``$RAY_ADDRESS``, else to one of this machine's own."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # 15 would starve them beside anything else
    with needing("--engine ray needs Ray", "ray"):
        import ray
    if ray.is_initialized():
        yield ray
        return
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    own = {"num_cpus": workers, "include_dashboard": False, "object_store_memory": _STORE}
    try:
        if address := os.environ.get("RAY_ADDRESS"):
            _knock(address)
            ray.init(address=address, **quiet)
        else:
            ray.init(address="local", **own, **quiet)
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - Ray raises this very class where a node times out
        raise UsageError(f"Ray did not start: {' '.join(str(error).split())[:300]}") from None
    for number, handler in kept.items():
        with suppress(ValueError):  # not the main thread: Ray has set none either
            signal.signal(number, handler)
    try:
        yield ray
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Raises ``UsageError`` where nobody listens: Ray itself would ask twenty times, for a minute
    each. A word such as ``auto`` is Ray's own matter."""
    host, _, port = address.rpartition("//")[2].rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except (OSError, OverflowError) as error:
        line = f"nobody listens at {address} ({error}); start the cluster, or unset $RAY_ADDRESS"
        raise UsageError(f"Ray did not start: {line}") from None


@dataclass(slots=True)
class _Post:
    """One player's place: the player of now, and the episodes it has taken."""

    number: int
    name: str = ""
    where: str = ""
    actor: Any = None
    dead: bool = False
    deaths: int = 0
    own: deque[int] = field(default_factory=deque)


class _Crew:
    """The players of a run, and what each of them has to do."""

    def __init__(self, active: ActiveRun, todo: Sequence[int], account: Account, ray: Any) -> None:
        self._active, self._account, self._ray = active, account, ray
        self._todo, self._again = deque(todo), deque[int]()
        self._left = len(todo)
        self._tried: Counter[int] = Counter()
        self._flights = self._hired = self._lost = self._steps = 0
        self._outcome = Outcome()
        self._more, self._over = asyncio.Event(), asyncio.Event()
        self._posts = [_Post(number) for number in range(active.plan.workers)]
        told = {
            "max_tokens": account.max_tokens,
            "max_dollars": account.max_dollars,
            "tokens": account.tokens,
            "dollars": account.dollars,
            "ended": list(account.ended),
            "turns": account.turns,
        }
        here = ray.get_runtime_context().get_node_id()
        near = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(here, soft=False)
        options = {"num_cpus": 0, "max_concurrency": 10_000, "scheduling_strategy": near}
        made = ray.remote(**options)(Bank)
        self._bank = made.remote(told, active.plan.rpm or 0)

    async def play(self) -> Outcome:
        """Until every episode has ended, or the run has to."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._books()), group.create_task(self._news())]
            tasks += [group.create_task(self._man(post)) for post in self._posts]
            await self._over.wait()
            for task in tasks:
                task.cancel()
        await self._part()
        return self._outcome

    async def close(self) -> None:
        """Write down what the bank still has to tell, and let the players go."""
        ray = self._ray
        with suppress(ray.exceptions.RayError, TimeoutError):
            for row in await asyncio.wait_for(self._bank.rest.remote(), 5):
                self._book(row)
            self._account.retries += await asyncio.wait_for(self._bank.retries.remote(), 5)
        for actor in [self._bank, *(post.actor for post in self._posts if post.actor)]:
            ray.kill(actor)

    async def _part(self) -> None:
        told: list[str] = []
        for post in self._posts:
            with suppress(self._ray.exceptions.RayError, TimeoutError):
                if post.name and not post.dead:
                    told += await asyncio.wait_for(post.actor.leave.remote(), 10)
        if self._lost:
            told.append(
                f"{self._lost} calls were under way in processes that died, and count at their "
                "estimates: they may have been billed"
            )
        if (extra := self._hired - len(self._posts)) > 0:
            told.append(f"{extra} processes died and were replaced; their episodes began again")
        self._active.notices += dict.fromkeys(told)

    async def _books(self) -> None:
        """Write down each payment; then the call that it was for goes on."""
        written = 0
        while True:
            try:
                rows = await self._bank.exchange.remote(written)
            except self._ray.exceptions.RayError:
                line = "the process that keeps the budget died; the same command goes on"
                raise RecordingError(f"{self._active.folder.path}: {line}") from None
            for row in rows:
                self._book(row)
                written += 1

    def _book(self, row: LedgerRow) -> None:
        """Write a row down, and count it where it is a bill."""
        if row.open or not row.tokens:
            self._account.write(row)
        else:
            self._account.pay(row.tokens, row.dollars, row.call)

    async def _news(self) -> None:
        """Gather where the players' episodes stand."""
        active = self._active
        while True:
            await asyncio.sleep(0.5)
            posts = [post for post in self._posts if post.where and not post.dead]
            found = await asyncio.gather(
                *(asyncio.wait_for(post.actor.moves.remote(), 5) for post in posts),
                return_exceptions=True,
            )
            moves = [move for each in found if isinstance(each, list) for move in each]
            if active.reporter:
                active.reporter.show(active.done, moves, [post.where for post in posts])
            active.steps = self._steps + sum(move["step"] for move in moves)
            active.on_progress(active.done, active.total, {"steps_so_far": active.steps})

    async def _man(self, post: _Post) -> None:
        """Keep a player at the post."""
        while not self._over.is_set():
            if not await self._hire(post):
                continue
            async with asyncio.TaskGroup() as group:
                for _ in range(self._active.plan.concurrency):
                    group.create_task(self._slot(post))
            if not post.dead:
                return
            self._again.extend(post.own)
            post.own.clear()
            self._more.set()
            self._lost += await self._bank.lost.remote(post.name)

    async def _hire(self, post: _Post) -> bool:
        """Start a player; whether it lives. Raises ``UsageError`` where it cannot play the run."""
        plan, ray = self._active.plan, self._ray
        self._hired += 1
        post.name, post.dead, post.where = f"{post.number}.{self._hired}", False, ""
        options = {"num_cpus": 1, "max_concurrency": 2 * plan.concurrency + 8}
        made = ray.remote(**options, scheduling_strategy="SPREAD")(Player)
        post.actor = made.remote(plan, os.getcwd(), self._bank, post.name)
        identity = plain(self._active.folder.config["identity"])
        try:
            where, wrong = await post.actor.open.remote(identity)
        except ray.exceptions.RayError as error:
            post.deaths += 1
            if post.deaths > _DEATHS:
                line = " ".join(str(error).split())[:300]
                raise UsageError(f"the processes of --engine ray keep dying: {line}") from None
            return False
        if wrong:
            raise UsageError(f"{where}: {wrong}")
        post.where = where
        return True

    async def _slot(self, post: _Post) -> None:
        """One episode after the other, with the player of the post."""
        while (number := await self._next(post)) is not None:
            self._flights += 1
            try:
                told = await post.actor.play.remote(number)
            except self._ray.exceptions.RayTaskError as error:
                raise RuntimeError(str(error)) from None  # a bug, with the traceback from there
            except self._ray.exceptions.RayError:
                post.dead = True
                self._played_again(number)
                return
            finally:
                self._flights -= 1
            post.deaths = 0
            self._take(told)

    async def _next(self, post: _Post) -> int | None:
        while not (post.dead or self._stopped()):
            if not post.own:
                many = len(self._todo) // (2 * len(self._posts)) or 1
                taken = min(_CHUNK, many, len(self._todo))
                post.own.extend(self._todo.popleft() for _ in range(taken))
            if self._again:
                return self._again.popleft()
            if post.own:
                return post.own.popleft()
            self._more.clear()
            await self._more.wait()
        return None

    def _stopped(self) -> bool:
        ended = bool(self._outcome.exhausted or self._outcome.unusable)
        if not self._left or (ended and not self._flights):
            self._over.set()
        return ended or not self._left

    def _played_again(self, number: int) -> None:
        """An episode's player died."""
        self._tried[number] += 1
        if self._tried[number] < _TRIES:
            self._again.append(number)
        else:
            name = self._active.dataset.tasks[number].episode.id
            reason = f"the processes that played it died {_TRIES} times"
            self._take(Played(name, Line.of(FailedEpisode(name, reason)), reason))
        self._more.set()

    def _take(self, told: Played | Ended) -> None:
        outcome = self._outcome
        if isinstance(told, Played):
            self._steps += told.steps
            self._active.record(told)
            self._left -= 1
            if told.error:
                outcome.failed += 1
            else:
                outcome.finished += 1
        elif told.kind == "trouble":
            raise RecordingError(told.line)
        else:
            setattr(outcome, told.kind, getattr(outcome, told.kind) or told.line)
        if self._stopped():
            self._more.set()


# The processes: the players, and the bank that all of them ask.
#
# Nothing below knows Ray, which starts these classes as its actors. A handle of one, such as
# ``bank``, is asked by ``await bank.begin.remote(…)``.


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
        self._open: dict[str, tuple[str, LedgerRow]] = {}
        self._rows: list[LedgerRow] = []
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

    async def reserve(self, player: str, row: LedgerRow) -> None:
        """Keep what a call may cost, and wait until the driver has written it down."""
        self._open[row.call] = player, row
        await self._written_down(self._queue(row))

    async def pay(self, episode: int, tokens: int, dollars: float | None, call: str) -> None:
        """Count a billed call, and wait until the driver has written it down."""
        play_as(self._meters.get(episode, ("", None))[1])
        self._account.pay(tokens, dollars)
        self._open.pop(call, None)
        await self._written_down(self._queue(LedgerRow(tokens, dollars or 0.0, call)))

    async def release(self, call: str) -> None:
        """Settle a call that was not billed."""
        if self._open.pop(call, None):
            self._queue(LedgerRow(0, 0.0, call))

    def _queue(self, row: LedgerRow) -> int:
        self._rows.append(row)
        self._news.set()
        self._count += 1
        return self._count

    async def _written_down(self, mine: int) -> None:
        async with self._written:
            await self._written.wait_for(lambda: self._confirmed >= mine)

    async def exchange(self, confirmed: int) -> list[LedgerRow]:
        """Take the number of rows that are on disk; the next rows, after a second at most."""
        async with self._written:
            self._confirmed = confirmed
            self._written.notify_all()
        if not self._rows:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), 1.0)
        return await self.rest()

    async def rest(self) -> list[LedgerRow]:
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

    async def turn(self, model: str) -> None:
        """Wait for a model's rate limit."""
        await self._limiters.setdefault(model, Limiter(self._per_minute)).admit()

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

    async def reserve(self, row: LedgerRow) -> None:
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

    async def admit(self) -> None:
        """Wait for a turn."""
        await self._bank.turn.remote(self._model)


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
