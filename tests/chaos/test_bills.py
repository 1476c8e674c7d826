"""What a server bills is recorded, and a budget holds, over kills, signals and faults."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from helpers.billing import GIVEN_UP, PRICE, SPEED, Books, billing
from wayword.runs.config import billed

LEAST, MOST = 0.98, 1.3
"""Of the record, as a multiple of what the server has billed."""
USED = 0.85
"""The least share of a budget that is billed, over all sessions of a run; less of small budgets,
which end with an episode that they do not cover."""

# The library is loaded once; each session of a run is a child of that process.
NURSERY = """
import json, os, sys
import aiohttp
import wayword.cli.app, wayword.runs.running, wayword.models.openai
import wayword.models.parts.opening as opening
from wayword.cli import main
from wayword.models.middleware.rate import RetryPolicy

opening.rate.RetryPolicy = lambda retries: RetryPolicy(
    retries, first=0.001, longest=0.002, max_failures=10**6, first_contact=retries
)
print("ready", flush=True)
for line in sys.stdin:
    child = os.fork()
    if not child:
        os.dup2(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 1)
        os.dup2(1, 2)
        sys.argv = ["wayword", *json.loads(line)]
        main()
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""
AGENT = """
from dataclasses import dataclass
from wayword.agents.baselines.simple import RandomAgent, RandomSettings
from wayword.core.model import Sampling, user

@dataclass(frozen=True, slots=True)
class Settings(RandomSettings):
    n: int = 1

class Payer(RandomAgent):
    Settings = Settings
    needs_model = True

    def __init__(self, settings, toolkit):
        super().__init__(settings, toolkit)
        self._n, self._model = settings.n, toolkit.model()

    async def act(self, observation, space):
        prompt = [user("You stand in a room with several doors. Which one do you take? " * 20)]
        for _ in range(3):
            sampling = Sampling(temperature=1.0, max_tokens=800, n=self._n)
            await self._model.complete(prompt, sampling)
        await self._model.choose(prompt, ("go on", "turn around", "stop here"))
        return await super().act(observation, space)

agent = Payer
"""


@dataclass(frozen=True)
class Case:
    """A run that is interrupted again and again: its width, and the signals that it gets."""

    concurrency: int
    n: int
    kills: int
    terms: int
    dollars: float
    houses: int = 8
    # The server and its gateway are so many times faster: of the same share of requests, the
    # gateway gives up.
    pace: float = 1.0

    @property
    def signals(self) -> list[signal.Signals]:
        return [signal.SIGKILL] * self.kills + [signal.SIGTERM] * self.terms


SHORT = [Case(8, 5, 1, 1, 0.8, houses=2, pace=4.0)]
LONG = [
    *(Case(1, 1, 7, 3, 1.0), Case(1, 5, 7, 3, 1.5)),
    *(Case(8, 1, 7, 3, 1.5), Case(8, 5, 7, 2, 3.0)),
    *(Case(64, 1, 6, 2, 4.0), Case(64, 5, 6, 2, 10.0)),
    # little of the budget is spent by calls that end
    *(Case(64, 1, 8, 0, 1.2), Case(64, 5, 8, 0, 3.0)),
]
PATIENCE = {1: 0.16, 5: 0.32}
"""Seconds of the gateway, by n: 8 to 9% of the requests take longer."""


HEAD = """
| At once | n | `kill -9` | SIGTERM | Budget | Requests | Given up | Other faults | Billed | Of the budget | Record / bill | Over the budget, in calls |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""  # noqa: E501


def _row(case: Case, server: Books, recorded: float) -> str:
    """A case's line of the table in docs/reliability.md."""
    given_up = sum(server.faults[fault] for fault in {*GIVEN_UP})
    others = server.requests - server.faults[""] - given_up
    calls = max(0.0, server.dollars - case.dollars) / (case.n * server.dearest)
    return (
        f"| {case.concurrency} | {case.n} | {case.kills} | {case.terms} | ${case.dollars:.2f} "
        f"| {server.requests:,} | {given_up / server.requests:.0%} "
        f"| {others / server.requests:.0%} | ${server.dollars:.3f} "
        f"| {server.dollars / case.dollars:.0%} | {recorded / server.dollars:.3f} | {calls:.1f} |"
    )


class Sessions:
    """Starts sessions of a run, and ends them."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self.log = log
        assert self._line() == "ready"

    def start(self, command: Sequence[str]) -> int:
        """The process number of a session."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(list(command)) + "\n")
        self._process.stdin.flush()
        return int(self._line())

    def ended(self, seconds: float) -> bool:
        """True if the session ends within that time."""
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        return bool(ready) and bool(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def nursery(log: Path) -> Iterator[Sessions]:
    """The process that starts sessions; ``log`` is the file of what they print."""
    command = [sys.executable, "-c", NURSERY, str(log)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, bufsize=1, **pipes) as process:  # type: ignore[call-overload]
        try:
            yield Sessions(process, log)
        finally:
            process.kill()


def _command(case: Case, server: Books, folder: Path) -> list[str]:
    settings = {
        "model.base_url": server.address,
        "model.timeout": 2.0,
        "n": case.n,
        "dataset.houses": case.houses,
        "dataset.episodes": 36 * case.houses,
        "steps": 3,
    }
    given = [
        part for key, value in settings.items() for part in ("--set", f"{key}={value}")
    ]
    return [
        *("run", str(folder / "payer.py"), "--on", "houses", "--model", "openai:m"),
        *("--out", str(folder / "run"), "--prices", str(folder / "prices.yaml")),
        *(
            "--concurrency",
            str(case.concurrency),
            "--max-dollars",
            str(case.dollars),
            *given,
        ),
    ]


def _interrupted(case: Case, seed: int, sessions: Sessions, folder: Path) -> Books:
    """Play the run to the end of its budget, each of its signals sent to a session of its own."""
    rng = random.Random(seed)
    (folder / "payer.py").write_text(AGENT, encoding="utf-8")
    (folder / "prices.yaml").write_text(
        f"openai:m: {json.dumps(PRICE)}\n", encoding="utf-8"
    )
    signals = rng.sample(case.signals, len(case.signals))
    patience = PATIENCE[case.n] / case.pace
    speed = SPEED * case.pace
    with billing(seed, share=0.15, patience=patience, speed=speed) as server:
        command = _command(case, server, folder)
        for number in signals:
            until = server.requests + rng.randrange(1, 8 + 3 * case.concurrency)
            child = sessions.start(command)
            over = False
            while not over and server.requests < until:
                over = sessions.ended(0.002)
            if not over:
                with suppress(ProcessLookupError):  # it has just ended by itself
                    os.kill(child, number)
                assert sessions.ended(60), "a session outlives its signal"
        for _ in range(40):
            printed = len(sessions.log.read_text())
            sent = server.requests
            sessions.start(command)
            assert sessions.ended(500), "a session does not end"
            is_spent = "the budget of" in sessions.log.read_text()[printed:]
            if is_spent and server.requests == sent:
                return server  # until then, what is left may cover an episode
    raise AssertionError(sessions.log.read_text()[-2000:])


def test_no_bill_is_lost_and_no_budget_passed(
    tmp_path: Path, rounds: Callable[[int, int], int], count: Callable[[str, int], None]
) -> None:
    is_long = bool(rounds(0, 1))
    outside: list[str] = []
    with nursery(tmp_path / "log.txt") as sessions:
        for number, case in enumerate(LONG if is_long else SHORT):
            folder = tmp_path / str(number)
            folder.mkdir()
            server = _interrupted(case, number, sessions, folder)
            recorded = billed(folder / "run")[1]
            head = HEAD if not number else ""
            row = _row(case, server, recorded)
            print(head, row, sep="", flush=True)  # noqa: T201
            under_way = case.concurrency * case.n * server.dearest
            is_within = (
                LEAST <= recorded / server.dollars <= MOST
                and server.dollars <= case.dollars + under_way
                and (server.dollars if is_long else recorded) >= USED * case.dollars
            )
            if not is_within:
                outside.append(row)
            assert len(server.faults) > 6, "too few requests to meet the faults"
            count("kills of runs beside a billing server", case.kills)
            count("SIGTERMs of such runs", case.terms)
    assert not outside
    assert "Traceback" not in sessions.log.read_text()
