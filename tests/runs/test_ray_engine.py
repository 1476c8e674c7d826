"""The engine of many processes, in one: deaths, budget and refusals. ``make test-ray`` has Ray."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.one_process_ray import at_random, cluster_of, one_process_ray
from helpers.recorded import walk
from wayword.core.errors import RecordingError, UsageError
from wayword.models.middleware.budget import Account, Call
from wayword.models.middleware.ledger import LedgerRow
from wayword.models.middleware.need import Meter
from wayword.runs import Plan, RunFolder, RunResult, ray_engine, run
from wayword.runs.active import ActiveRun, Moves, Reporter
from wayword.runs.config import billed
from wayword.runs.record import Line

Dies = Callable[..., float | None]
EPISODES = 30


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., RunResult]:
    """Runs a plan on the stand-in for Ray, whose players die as ``dies`` says."""

    def carried_out(plan: Plan, dies: Dies = lambda *requests: None) -> RunResult:
        monkeypatch.setattr(ray_engine, "_cluster", cluster_of(one_process_ray(dies)))
        return run(plan)

    return carried_out


def _plan(out: Path, engine: str = "ray", **more: Any) -> Plan:
    dataset = {"dataset": {"houses": 1, "episodes": EPISODES}}
    given: dict[str, Any] = {
        "settings": dataset,
        "workers": 3,
        "concurrency": 4,
        **more,
    }
    return Plan("random", "houses", out=out, engine=engine, **given)


def _scores(folder: Path) -> dict[str, dict[str, float]]:
    found = RunFolder.read(folder).scores()
    assert len(found) == len(dict(found))
    return {name: {k: v for k, v in s.items() if k != "seconds"} for name, s in found}


def test_players_that_die_lose_and_double_nothing(
    tmp_path: Path, engine: Callable[..., RunResult]
) -> None:
    run(_plan(tmp_path / "one", ""))
    result = engine(_plan(tmp_path / "many"), at_random(0.08))
    assert result.outcome.complete
    assert any("processes died and were restarted" in line for line in result.notices)
    assert _scores(tmp_path / "many") == _scores(tmp_path / "one")


def test_rejected_answers_of_all_players_are_counted(
    tmp_path: Path, engine: Callable[..., RunResult]
) -> None:
    one = Plan(
        "navgpt",
        "houses",
        "scripted:echo",
        {"decoding": "free"},
        limit=4,
        max_steps=3,
        out=tmp_path / "one",
    )
    (expected,) = [line for line in run(one).notices if "were rejected" in line]
    assert expected.startswith("12 of 12 answers were rejected")
    many = replace(one, out=tmp_path / "many", engine="ray", workers=3)
    assert expected in engine(many).notices


def test_it_goes_on_where_one_process_stopped(
    tmp_path: Path, engine: Callable[..., RunResult]
) -> None:
    run(_plan(tmp_path / "run", "", limit=10))
    result = engine(_plan(tmp_path / "run"))
    assert result.resumed == 10
    assert result.outcome.finished == 20
    assert json.loads((tmp_path / "run" / ".progress.json").read_text())["done"] == 30


def test_the_budget_is_passed_by_calls_under_way_alone(
    tmp_path: Path, engine: Callable[..., RunResult]
) -> None:
    plan = Plan(
        "navgpt",
        "houses",
        "scripted:first",
        {"dataset": {"houses": 1, "episodes": EPISODES}},
        max_steps=4,
        max_tokens=60_000,
        out=tmp_path / "run",
        engine="ray",
        workers=3,
        concurrency=2,
    )
    result = engine(plan, at_random(0.1))
    assert "the budget of 60,000 tokens" in result.outcome.exhausted
    rows = [json.loads(line) for line in _lines(tmp_path / "run" / "calls.jsonl")]
    last = {row["call"]: row for row in rows}
    spent = [row["tokens"] for row in last.values() if not row.get("open")]
    lost = [row for row in last.values() if row.get("open")]
    total = billed(tmp_path / "run")[0]
    assert all(row["seconds"] for row in lost), "calls of dead players have ended"
    reserved = sum(row["tokens"] for row in lost)
    assert sum(spent) <= total <= sum(spent) + reserved
    assert (total == sum(spent)) == (not lost)
    late = next(line for line in result.notices if "in progress when" in line)
    over = total - 60_000
    number = int(late.split("; ")[1].split(" ")[0])
    assert over <= sum(sorted(spent)[-(number + 1) :])
    assert f"{total:,} tokens" in late


def test_a_player_that_is_not_restarted_leaves_its_episodes_to_the_others(
    tmp_path: Path, engine: Callable[..., RunResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    first: dict[int, Any] = {}
    begin = ray_engine.Player.open
    deaths = list[Any]()

    async def no_room(player: Any) -> str:
        if first.setdefault(player._seat, player) is not player:
            await asyncio.sleep(30)
            raise UsageError("the run waited for a process that never came back")
        return await begin(player)

    def dies(method: str, *given: Any) -> float | None:
        if method != "play" or deaths:
            return None
        deaths.append(given)
        return 0.0

    monkeypatch.setattr(ray_engine.Player, "open", no_room)
    result = engine(_plan(tmp_path / "run", workers=2, concurrency=1), dies)
    assert result.outcome.complete
    assert result.outcome.finished == EPISODES


def test_an_episode_that_kills_is_noted_and_the_rest_are_played(
    tmp_path: Path, engine: Callable[..., RunResult]
) -> None:
    def dies(method: str, *given: Any) -> float | None:
        return 0.0 if (method, *given) == ("play", 2) else None

    few = {"limit": 6, "first": True, "workers": 1, "concurrency": 1}
    result = engine(_plan(tmp_path / "run", **few), dies)
    assert (result.outcome.finished, result.outcome.failed) == (5, 1)
    (failure,) = RunFolder.read(tmp_path / "run").failures()
    assert failure.reason == "its worker process died 12 times"


def test_processes_that_cannot_begin_end_the_run(
    tmp_path: Path, engine: Callable[..., RunResult]
) -> None:
    with pytest.raises(UsageError, match="processes die repeatedly: killed"):
        engine(
            _plan(tmp_path / "run"),
            lambda method, *given: 0.0 if method == "open" else None,
        )


def test_a_machine_with_other_data_is_refused(
    tmp_path: Path, engine: Callable[..., RunResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    true = ray_engine.config_of

    def other(*given: Any) -> dict[str, Any]:
        found = true(*given)
        return {**found, "identity": {**found["identity"], "data_checksum": "abc"}}

    monkeypatch.setattr(ray_engine, "config_of", other)
    with pytest.raises(
        UsageError, match=r":\d+: differs from the run: 'data_checksum' is 'abc'"
    ):
        engine(_plan(tmp_path / "run"))


def test_progress_names_the_processes_while_episodes_end(tmp_path: Path) -> None:
    reporter = Reporter(tmp_path, 9, 5)
    reporter.show(1, [{"id": "e1", "step": 2}], ["here:7"])
    reporter._last_write = 0.0
    reporter.write(2)
    record = json.loads((tmp_path / ".progress.json").read_text())
    assert (record["done"], record["workers"], record["episodes"][0]["id"]) == (
        2,
        ["here:7"],
        "e1",
    )


def test_progress_has_the_bill_of_the_session_and_is_written_at_intervals(
    tmp_path: Path,
) -> None:
    account = Account(max_dollars=2.0, tokens=100, dollars=0.5)
    reporter = Reporter(tmp_path, 9, 5, account, before=3)
    account.pay(LedgerRow(40, 0.25))
    for step in walk("e1", steps=3).trajectory.steps:
        reporter.moves.stepped("e1", step)
    reporter.write(4)
    reporter.write(5)

    def written() -> dict[str, Any]:
        state: dict[str, Any] = json.loads((tmp_path / ".progress.json").read_text())
        return state

    assert (
        written().items()
        >= {
            "done": 4,
            "total": 9,
            "before": 3,
            "over": False,
            "calls": 0,
            "tokens": 40,
            "dollars": 0.75,
            "max_dollars": 2.0,
        }.items()
    )
    (episode,) = written()["episodes"]
    assert (episode["id"], episode["step"], episode["of"]) == ("e1", 3, 5)
    assert (episode["action"], episode["ok"]) == ("goto[p3]", True)
    reporter.write(5, over=True)
    assert (written()["done"], written()["over"]) == (5, True)
    assert written()["episodes"] == []


def test_an_episode_that_ended_is_written_unless_the_store_has_another_writer(
    tmp_path: Path,
) -> None:
    recorded: list[str] = []
    folder: Any = SimpleNamespace(write=lambda line: recorded.append(line.episode_id))
    store: Any = SimpleNamespace(check=lambda: None)
    dataset: Any = SimpleNamespace(family=SimpleNamespace(success="sr"))
    agent: Any = None
    active = ActiveRun(
        Plan("a", "b"), dataset, agent, folder, 9, lambda *_: None, store=store
    )
    active.reporter = Reporter(tmp_path, 9, 5)
    record = walk("e1")
    for step in record.trajectory.steps:
        active.stepped("e1", step)
    active.record(Line.of(record))
    assert (active.steps, active.done, recorded) == (2, 1, ["e1"])
    assert active.reporter.moves.current() == []

    def has_another_writer() -> None:
        raise RecordingError("another process is writing")

    store.check = has_another_writer
    with pytest.raises(RecordingError, match="another process"):
        active.record(Line.of(walk("e2")))
    assert recorded == ["e1"]


def test_the_latest_moves_are_shared_by_the_episodes_in_progress() -> None:
    moves = Moves(9, limit=4)
    for name in ("e1", "e2"):
        for step in walk(name, steps=5, said="x" * 300).trajectory.steps:
            moves.stepped(name, step)
    shown = moves.current()
    assert [(each["id"], each["step"]) for each in shown] == [("e1", 5), ("e2", 5)]
    for each in shown:
        assert [move["action"] for move in each["moves"]] == ["goto[p4]", "goto[p5]"]
        assert len(each["thought"]) == 200
    moves.ended("e1")
    moves.ended("never begun")
    (alone,) = moves.current()
    assert (alone["id"], len(alone["moves"])) == ("e2", 4)


@pytest.mark.parametrize(
    "address", ["127.0.0.1:1", "ray://127.0.0.1:1", "127.0.0.1:99999"]
)
def test_a_cluster_that_is_not_there_is_one_line_at_once(address: str) -> None:
    with pytest.raises(
        UsageError, match=f"Ray did not start: no server listens at {address}"
    ):
        ray_engine._check_address(address)


def test_a_port_that_is_too_large_is_not_taken_for_another_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1] + 65536}"
        with pytest.raises(UsageError, match="at most 65535"):
            ray_engine._check_address(address)


def test_a_cluster_that_answers_or_has_no_port_is_left_to_ray() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ray_engine._check_address(f"127.0.0.1:{server.getsockname()[1]}")
    ray_engine._check_address("auto")


def test_people_and_engines_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="engine must be '' or 'ray'"):
        Plan("random", "houses", engine="spark")
    with pytest.raises(UsageError, match="a person cannot play on a cluster"):
        run(Plan("human", "houses", engine="ray", out=tmp_path / "run"))


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_a_dead_process_ends_its_calls_and_episodes(tmp_path: Path) -> None:
    bank = ray_engine.Bank(str(tmp_path), {"max_tokens": 1000}, [], 9, 0.0, {})

    def copy_of(meter: Meter) -> Call:
        """The call of a player, whose copy of the meter counts its turns."""
        call = Call()
        call.episode = replace(meter, turns=2)
        return call

    async def run() -> None:
        dead = bank.begin("one")
        alive = bank.begin("two")
        call = copy_of(dead)
        await bank.admit(call)
        assert dead.turns == 2
        row = await bank.reserve(call.name, LedgerRow(300, 0.0, samples=1))
        bank.lost("one")
        assert (bank.pending, bank.tokens) == (0, 300), "it may have been billed"
        assert bank.estimate.ended == [], "it did not end by itself"
        assert bank.counts()[3:] == (1, 1)
        # a call that was admitted for it later
        await bank.admit(copy_of(dead))
        assert bank.pending == 0
        with pytest.raises(KeyError):
            await bank.settle(call.name, row._replace(tokens=5))
        await bank.admit(copy_of(alive))
        assert bank.pending == 1
        bank.end(True, alive)
        assert len(bank.estimate.ended) == 1

    asyncio.run(run())
