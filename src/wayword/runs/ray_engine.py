"""``--engine ray``: play a run's episodes on a Ray cluster.

    driver    the command: assigns episodes to players, and is the only writer of the run folder
    Player    a Ray actor with the dataset, agents and models; plays several episodes concurrently
    Bank      a Ray actor on the driver's machine: the account that all processes share

Ray restarts a player that dies (killed, out of memory, machine lost), and its unfinished episodes
are played again. Only the driver stores episodes, so none is lost or duplicated. A billed call
returns only after its bill is in ``calls.jsonl``. ``$RAY_ADDRESS`` selects a cluster; by default,
one is started on this machine.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
from collections import Counter, deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from wayword.core.episode import JsonObject
from wayword.core.errors import (
    BudgetExhausted,
    DataError,
    ModelUnusable,
    RecordingError,
    UsageError,
    WaywordError,
    needing,
)
from wayword.core.rollout import Outcome, first_error, rollout
from wayword.core.trajectory import Step
from wayword.core.visible import single_line
from wayword.models.middleware.budget import EPISODE, Account, Call
from wayword.models.middleware.prices import Price
from wayword.models.middleware.rate import Limiter
from wayword.runs import config as configs
from wayword.runs.active import ActiveRun, Moves, config_of, line_of, setup_of
from wayword.runs.codec import plain
from wayword.runs.opening import (
    model_choices,
    model_notices,
    open_agent,
    open_dataset,
    open_models,
    takes_a_person,
)
from wayword.runs.plan import Plan
from wayword.runs.record import FailedEpisode, Line, is_run

# Attempts to play an episode before it is recorded as failed. Many, because when a process dies,
# all of its episodes count an attempt, and only one of them may be the cause.
_TRIES = 12

# Restarts of a player that dies before it has opened the run.
_DEATHS = 5

# Consecutive episodes assigned to a player at once, as they often share a scene.
_CHUNK = 32

_LARGEST_PORT = 65535  # the system takes a larger one modulo 65536, as another port

# Seconds to connect to $RAY_ADDRESS.
_TIMEOUT = 10.0

# Bytes of Ray's object store on this machine; episodes are small messages.
_STORE = 128 << 20

# Seconds between polls of the players' progress.
_POLL = 0.5


async def play(active: ActiveRun, todo: Sequence[int], account: Account) -> Outcome:
    """Play the episodes with these numbers on a cluster, and return what became of them.

    Raises the errors of ``rollout.run``, and ``UsageError`` for a plan with a person,
    without Ray, or if its cluster does not start.
    """
    if takes_a_person(active.plan):
        raise UsageError(
            "--engine ray: a person cannot play on a cluster; remove the option"
        )
    with _cluster(active.plan.workers) as ray:
        driver = _Driver(active, todo, account, ray)
        try:
            return await driver.play()
        except BaseExceptionGroup as errors:
            raise first_error(errors) from None
        finally:
            await driver.close()


@contextmanager
def _cluster(workers: int) -> Iterator[Any]:
    """Context with Ray connected to the cluster at ``$RAY_ADDRESS``, else to a local one.

    A local cluster has one CPU per worker and ends with the context; a connection that the caller
    made before is used and left open. Raises ``UsageError`` without Ray, or if it does not start.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # Ray's default 15 starves them under load
    os.environ.setdefault("RAY_worker_niceness", "0")
    with needing("--engine ray needs Ray", "ray"):
        import ray
    if ray.is_initialized():
        yield ray
        return
    # Ray replaces the handlers of signals: those of the run are restored below.
    handlers = {
        number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)
    }
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address := os.environ.get("RAY_ADDRESS"):
        _check_address(address)
        options |= {"address": address}
    else:
        resources = {
            "num_cpus": workers,
            "include_dashboard": False,
            "object_store_memory": _STORE,
        }
        options |= {"address": "local", **resources}
    try:
        ray.init(**options)
    except Exception as error:  # noqa: BLE001 - Ray raises plain Exception if a node times out
        raise UsageError(
            f"Ray did not start: {' '.join(str(error).split())[:300]}"
        ) from None
    for number, handler in handlers.items():
        with suppress(ValueError):  # outside the main thread, Ray has not changed it
            signal.signal(number, handler)
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_address(address: str) -> None:
    """Raise ``UsageError`` if no server listens at the address: Ray would retry for 20 minutes.

    Addresses without a port, such as ``auto``, are left to Ray.
    """
    host, _, port = address.rpartition("//")[2].rpartition(":")
    if not port.isdigit():
        return
    try:
        if int(port) > _LARGEST_PORT:
            raise OverflowError("a port is at most 65535")
        socket.create_connection((host.strip("[]"), int(port)), _TIMEOUT).close()
    except (OSError, OverflowError) as error:
        line = (
            f"no server listens at {address} ({error}); start it, or unset $RAY_ADDRESS"
        )
        raise UsageError(f"Ray did not start: {line}") from None


class _Driver:
    """Assigns the episodes of a run to players, and stores the results.

    The only writer of the run folder. Players take chunks of episode numbers from a
    queue; a player's slots, as many as the plan's ``concurrency``, share its chunk.
    """

    def __init__(
        self, active: ActiveRun, todo: Sequence[int], account: Account, ray: Any
    ) -> None:
        self._active = active
        self._account = account
        self._ray = ray
        self._left = len(todo)
        self._attempts: Counter[int] = Counter()
        self._playing = 0
        self._steps = 0
        self._outcome = Outcome()
        self._over = asyncio.Event()
        plan = active.plan
        path = active.folder.path
        # The account must be where the run folder is: it writes the ledger.
        node = ray.get_runtime_context().get_node_id()
        affinity = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        as_bank = ray.remote(
            num_cpus=0,
            max_concurrency=10_000,  # calls that wait for their turn take a place each
            scheduling_strategy=affinity(node, soft=False),
        )
        self._bank = as_bank(Bank).remote(
            str(path.absolute()),
            {"max_tokens": account.max_tokens, "max_dollars": account.max_dollars},
            list(account.estimate.ended),
            account.estimate.limit,
            plan.rpm or 0,
            account.prices,
        )
        as_player = ray.remote(
            num_cpus=1,
            # More than its slots: a question about progress must not wait for an episode
            max_concurrency=2 * plan.concurrency + 8,
            max_restarts=-1,
            max_task_retries=_DEATHS,
            scheduling_strategy="SPREAD",
        )
        player = as_player(Player)
        identity = plain(active.folder.config["identity"])
        self._players = []
        for seat in range(plan.workers):
            arguments = (seat, plan, os.getcwd(), self._bank, identity)
            self._players.append(player.remote(*arguments))
        self._processes: dict[int, str] = {}
        """``machine:number:token`` of each player that is ready."""
        self._chunks = asyncio.Queue[Sequence[int]]()
        at = 0
        while at < len(todo):
            # small chunks at the end, so that all players finish at about the same time
            size = min(_CHUNK, (len(todo) - at) // (2 * plan.workers) or 1)
            self._chunks.put_nowait(todo[at : at + size])
            at += size

    async def play(self) -> Outcome:
        """Play until all episodes have ended or the run must stop, and return the outcome."""
        try:
            await self._bank.open.remote()
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        # Until an error, the end of the budget, or the last episode.
        async with asyncio.TaskGroup() as group:
            seats = range(len(self._players))
            tasks = [group.create_task(self._use(seat)) for seat in seats]
            tasks.append(group.create_task(self._watch()))
            await self._over.wait()
            for task in tasks:
                task.cancel()
        # Since the last report, episodes may have ended; those in progress are not recorded.
        self._active.steps = self._steps
        # Players close their models, and say what users should know.
        notices: list[str] = []
        for seat in self._processes:
            with suppress(self._ray.exceptions.RayError, TimeoutError):
                leaving = self._players[seat].leave.options(max_task_retries=0).remote()
                notices += await asyncio.wait_for(leaving, 10)
        *_, dead, lost = await self._bank.counts.remote()
        if lost:
            notices.append(
                f"{lost} calls were in progress in processes that died; they may have been "
                "billed, so their estimated cost is included"
            )
        if dead:
            notices.append(
                f"{dead} processes died and were restarted with their episodes"
            )
        self._active.notices += dict.fromkeys(notices)
        return self._outcome

    async def close(self) -> None:
        """Stop the actors and read the totals from the bank."""
        account = self._account
        ray = self._ray
        with suppress(ray.exceptions.RayError, TimeoutError):
            counts = await asyncio.wait_for(self._bank.counts.remote(True), 5)
            account.calls, account.late, account.retries, *_ = counts
        for actor in [self._bank, *self._players]:
            ray.kill(actor)
        account.tokens, account.dollars = configs.billed(self._active.folder.path)

    async def _watch(self) -> None:
        """Report the progress of the players until cancelled."""
        active = self._active
        while True:
            await asyncio.sleep(_POLL)
            try:
                _, _, self._account.retries, *_ = await self._bank.counts.remote()
            except self._ray.exceptions.RayError as error:
                self._stop(error)
            requests = []
            for seat in self._processes:
                # A short wait, no retries: a dead player must not hold up the report.
                ask = self._players[seat].moves.options(max_task_retries=0)
                requests.append(asyncio.wait_for(ask.remote(), 5))
            polled = await asyncio.gather(*requests, return_exceptions=True)
            moves: list[dict[str, Any]] = []
            for each in polled:
                if isinstance(each, list):  # a player that is busy or dead sends none
                    moves += each
            if active.reporter:
                workers = [name.rpartition(":")[0] for name in self._processes.values()]
                active.reporter.show(active.done, moves, workers)
            active.steps = self._steps + sum(move["step"] for move in moves)
            so_far = {"steps_so_far": active.steps}
            active.on_progress(active.done, active.total, so_far)

    async def _use(self, seat: int) -> None:
        """Keep a player busy: open it, then play in as many slots as episodes run concurrently."""
        await self._open(seat)
        queue = deque[int]()
        async with asyncio.TaskGroup() as group:
            for _ in range(self._active.plan.concurrency):
                group.create_task(self._slot(seat, queue))

    async def _open(self, seat: int) -> None:
        """Wait until a player is ready. Raises ``UsageError`` if it cannot play the run."""
        try:
            self._processes[seat] = await self._players[seat].open.remote()
        except self._ray.exceptions.RayTaskError as error:
            self._stop(error)
        except self._ray.exceptions.RayError as error:
            line = single_line(error, 300)
            raise UsageError(
                f"--engine ray: processes die repeatedly: {line}"
            ) from None

    async def _slot(self, seat: int, queue: deque[int]) -> None:
        """Let a player play the episodes of its queue, one at a time, until the run must stop.

        The player's slots share the ``queue`` of task numbers, which is refilled by chunks. If its
        process dies, the episode is tried again, up to ``_TRIES`` times in all, and is recorded as
        failed after that.
        """
        while not self._stopped():
            if not queue:
                queue.extend(await self._chunks.get())
                continue
            number = queue.popleft()
            self._playing += 1
            process = self._processes[seat]
            try:
                play = self._players[seat].play.options(max_task_retries=0)
                self._record(await play.remote(number))
            # The player itself raised an error.
            except self._ray.exceptions.RayTaskError as error:
                self._stop(error)
            # Its process died.
            except self._ray.exceptions.RayError:
                self._attempts[number] += 1
                if self._attempts[number] < _TRIES:
                    queue.appendleft(number)
                else:
                    name = self._active.dataset.tasks[number].episode.id
                    reason = f"its worker process died {_TRIES} times"
                    self._record(Line.of(FailedEpisode(name, reason)))
                # Ray may find no room for another process: any player may take them
                if queue:
                    self._chunks.put_nowait([*queue])
                    queue.clear()
                await self._bank.lost.remote(process)
                if self._left:
                    await self._open(seat)
            finally:
                self._playing -= 1
            if not self._left or (self._stopped() and not self._playing):
                self._over.set()

    def _stopped(self) -> bool:
        """True if the budget is spent or a model cannot be used: no further episode is started."""
        return bool(self._outcome.exhausted or self._outcome.unusable)

    def _record(self, line: Line) -> None:
        """Write a played episode to the run folder, and count it."""
        self._steps += line.steps
        self._active.rejected.update(line.rejected)
        self._active.record(line)
        self._left -= 1
        if line.scores is None:
            self._outcome.failed += 1
        else:
            self._outcome.finished += 1

    def _stop(self, error: Exception) -> None:
        """Handle an error of an actor: end the run in order, or raise.

        A spent budget and an unusable model end a run in order. Raises
        ``RecordingError`` if the bank died, other expected errors as they are, and
        ``RuntimeError`` for a defect.
        """
        outcome = self._outcome
        cause = getattr(error, "cause", error)
        if isinstance(cause, BudgetExhausted):
            outcome.exhausted = outcome.exhausted or str(cause)
        elif isinstance(cause, ModelUnusable):
            outcome.unusable = outcome.unusable or str(cause)
        elif isinstance(cause, self._ray.exceptions.RayError):
            line = "the process that manages the budget died; run the same command to resume"
            raise RecordingError(f"{self._active.folder.path}: {line}") from None
        elif isinstance(cause, WaywordError):
            raise cause
        else:
            # A bug: the text has the remote traceback.
            raise RuntimeError(str(error)) from None


# The actors. Nothing below imports Ray: methods of an actor are called through its handle, as in
# ``await bank.begin.remote(…)``.


class _Reply:
    """The result of an actor's method; ``await`` raises its original error."""

    def __init__(self, reply: Any) -> None:
        self._reply = reply

    def __await__(self) -> Generator[Any, None, Any]:
        try:
            return (yield from self._reply.__await__())
        except Exception as error:  # noqa: BLE001 - any error
            # without Ray's wrapper and traceback
            raise getattr(error, "cause", error) from None


class _Handle:
    """An actor whose methods are called like those of an object of this process."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._actor, name)
        return lambda *values: _Reply(method.remote(*values))


class Bank(Account):
    """A run's account and rate limits, shared by all processes: the desk of their accounts.

    ``run`` is the run folder, ``budget`` has its limits, ``ended`` the shares of the
    budget that earlier episodes used, ``turns`` is the step limit and ``per_minute``
    the requests that a model takes.
    """

    def __init__(
        self,
        run: str,
        budget: JsonObject,
        ended: Sequence[float],
        turns: int,
        per_minute: float,
        prices: Mapping[str, Price | None],
    ) -> None:
        super().__init__(**budget)
        self.prices |= prices
        self.estimate.ended = list(ended)
        self.estimate.limit = turns
        self._run = Path(run)
        self._per_minute = per_minute
        self._limiters: dict[str, Limiter] = {}
        self._players: dict[int, str] = {}  # the process of each seat
        self._dead = set[str]()
        self._lost_calls = 0

    def open(self) -> None:
        """Open the log of billed calls. Raises ``RecordingError``."""
        if not is_run(self._run):
            remedy = "run the command on a machine of the cluster"
            raise RecordingError(
                f"{self._run}: not found on {socket.gethostname()}; {remedy}"
            )
        self._bills = configs.Spending(self._run)
        self.resume(self._bills, self._bills.totals)
        self._bills.use_prices(self.prices)

    def join(self, seat: int, player: str) -> dict[str, Price | None]:
        """Register the process of a seat, and return the prices of models.

        The seat's process before it has died, which ends its episodes.
        """
        before = self._players.get(seat, player)
        self._players[seat] = player
        if before != player:
            self.lost(before)
        return self.prices

    def lost(self, dead: str) -> None:
        """End the episodes and calls of a process that died; these may have been billed."""
        if dead in self._dead:
            return
        self._dead.add(dead)
        for meter in [*self._meters.values()]:
            if meter.owner == dead:
                self.end(False, meter)
        for call in [*self._calls.values()]:
            if call.episode is not None and call.episode.owner == dead:
                self._lost_calls += 1
                self.landed(call.name)  # other calls may be waiting for these

    async def admit(self, call: Call) -> None:
        """Wait until a call is admitted: it counts to this account's meter of its episode."""
        copy = call.episode
        meter = None
        if copy is not None:
            meter = self._meters.get(copy.number)
        call.episode = meter
        EPISODE.set(meter)
        while meter is not None and copy is not None and meter.turns < copy.turns:
            self.stepped()
        await super().admit(call)
        if copy is not None and copy.owner in self._dead:
            self.landed(call.name)

    async def turn(self, key: str) -> None:
        """Wait until the model with this name and settings may be requested: all processes share
        its limit per minute."""
        await self._limiters.setdefault(key, Limiter(self._per_minute)).admit()

    def counts(self, close: bool = False) -> tuple[int, ...]:
        """Return the numbers of billed calls, late ones, repeated requests, dead
        processes, and the calls that these had in progress.

        ``close`` syncs the log of billed calls.
        """
        if close:
            self._bills.close()
        dead = len(self._dead)
        return self.calls, self.late, self.retries, dead, self._lost_calls


class Player:
    """An actor that plays episodes in a separate process.

    ``seat`` is its number, ``folder`` the working directory of the command, ``bank``
    the handle of the :class:`Bank`. ``identity`` is the expected run's: other files or
    another version on this machine are refused.
    """

    def __init__(
        self, seat: int, plan: Plan, folder: str, bank: Any, identity: JsonObject
    ) -> None:
        with suppress(OSError):  # another machine may not have the folder
            os.chdir(folder)
        self._seat = seat
        self._plan = plan
        self._bank = _Handle(bank)
        self._identity = identity
        self._name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._moves = Moves(0)
        self._opening: asyncio.Task[None] | None = None

    async def open(self) -> str:
        """Open the dataset, agents and models, only once, and return the name of this process.

        Raises ``UsageError`` with the name of the machine.
        """
        try:
            self._opening = self._opening or asyncio.ensure_future(self._open())
            await asyncio.shield(self._opening)
        except WaywordError as error:
            raise UsageError(f"{self._name.rpartition(':')[0]}: {error}") from None
        return self._name

    async def _open(self) -> None:
        """Open what the plan names, with an account whose desk is the bank."""
        plan = self._plan
        bank = self._bank
        account = Account(desk=bank)
        # The shared account has the prices of earlier sessions.
        prices = await bank.join(self._seat, self._name)
        self._dataset = dataset = open_dataset(plan)
        agent = open_agent(plan, dataset)

        def limiter(key: str) -> Any:  # a model's rate limiter in the bank
            return SimpleNamespace(admit=lambda: bank.turn(key))

        self._models = open_models(plan, model_choices(plan, agent), account, limiter)
        account.prices |= prices
        for model in self._models.values():
            await model.prepare()
        # Another version or other files on this machine would play another run.
        identity = plain(config_of(plan, dataset, agent, self._models))
        if mismatch := configs.difference({"identity": self._identity}, identity):
            name, required, actual = mismatch
            raise UsageError(
                f"differs from the run: {name!r} is {actual!r}, expected {required!r}"
            )
        self._moves = moves = Moves(plan.max_steps or dataset.max_steps, limit=40)

        def stepped(episode: str, step: Step) -> None:
            account.stepped(step.decision)
            moves.stepped(episode, step)

        self._setup = setup_of(plan, dataset, agent, self._models, stepped)

    async def play(self, number: int) -> Line:
        """Play the dataset's episode with this number, and return its encoded record.

        Raises the errors of ``rollout``.
        """
        await self.open()  # Ray may have restarted the process
        episode = await self._bank.begin(self._name)
        EPISODE.set(episode)
        complete = False
        try:
            task = self._dataset.tasks[number]
            trajectory = await rollout(task, self._setup)
            self._moves.ended(task.episode.id)
            complete = trajectory.ended != "failed"
            return line_of(self._dataset, task, trajectory)
        except DataError as error:  # a DataError cannot be pickled
            raise UsageError(str(error)) from None
        finally:
            await self._bank.end(complete, episode)

    async def moves(self) -> list[dict[str, Any]]:
        """Return the latest moves of the episodes in progress."""
        return self._moves.current()

    async def leave(self) -> list[str]:
        """Close the models, and return notices for the user."""
        for model in self._models.values():
            await model.aclose()
        return model_notices(self._models)
