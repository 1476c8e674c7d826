"""Ray itself: workers killed in a run of many episodes, and how throughput grows with workers.

``WAYWORD_RAY_EPISODES`` (600, in the long form 5,000) is the size of the run.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from wayword.runs import Plan, RunFolder, run
from wayword.runs.reports import table

EPISODES = int(os.environ.get("WAYWORD_RAY_EPISODES", "600"))
WORKERS = 4
SLOW = """
import asyncio
from wayword.models.scripted import ScriptedModel

async def answer(prompt, sampling):
    await asyncio.sleep(0.2)
    return sampling.choices[0] if sampling.choices else "Thought: on.\\nAction: 1"

class Slow(ScriptedModel):
    def __init__(self, name, settings):
        super().__init__(name, settings, answers=answer)

model = Slow
"""


def _plan(out: Path, engine: str = "ray") -> Plan:
    dataset = {"houses": max(1, EPISODES // 30), "episodes": EPISODES}
    return Plan(
        "random",
        "houses",
        settings={"dataset": dataset},
        out=out,
        engine=engine,
        workers=WORKERS,
    )


def _rows(folder: Path) -> str:
    """The table as text, but for times and the folder's name."""
    text = table(
        [folder],
        "markdown",
        ["sr", "spl", "osr", "ne", "tl", "ndtw", "sdtw", "cls", "steps", "rejections"],
    )
    return text.replace(folder.name, "")


def test_killed_workers_change_no_byte_of_the_table(tmp_path: Path) -> None:
    run(_plan(tmp_path / "by-asyncio", ""))
    over = threading.Event()
    killed = []

    def kill() -> None:
        rng = random.Random(5)
        folder = tmp_path / "by-ray" / ".progress.json"
        next_at = 1
        while not over.wait(0.2):
            try:
                record = json.loads(folder.read_text())
                if record["done"] < next_at:
                    continue
                process = int(rng.choice(record.get("workers", [])).rpartition(":")[2])
                os.kill(process, signal.SIGKILL)
            except (OSError, ValueError, IndexError):
                continue
            killed.append(process)
            next_at = record["done"] + rng.randint(1, EPISODES // 8)

    killer = threading.Thread(target=kill)
    killer.start()
    began = time.monotonic()
    try:
        result = run(_plan(tmp_path / "by-ray"))
    finally:
        over.set()
        killer.join()
    print(f"{EPISODES} episodes, {len(killed)} kills, {time.monotonic() - began:.0f} s")
    print(*result.notices, sep="\n")
    assert killed
    assert result.outcome.complete
    assert result.outcome.finished == EPISODES
    assert _rows(tmp_path / "by-ray") == _rows(tmp_path / "by-asyncio")


def test_throughput_grows_with_workers_until_the_model_is_the_limit(
    tmp_path: Path,
) -> None:
    model = tmp_path / "slow.py"
    model.write_text(SLOW, encoding="utf-8")
    rates = {workers: _rate(tmp_path, model, workers) for workers in (1, 2, 4)}
    print({workers: f"{rate:.2f} episodes a second" for workers, rate in rates.items()})
    for workers, rate in rates.items():
        assert rate >= rates[1] * workers / 1.2


def _rate(tmp_path: Path, model: Path, workers: int) -> float:
    """Episodes a second once all workers are at it."""
    plan = Plan(
        "navgpt",
        "houses",
        f"{model}:slow",
        {"dataset": {"houses": 4, "episodes": 144}},
        limit=30 * workers,
        max_steps=5,
        concurrency=4,
        out=tmp_path / f"run{workers}",
        engine="ray",
        workers=workers,
    )
    ended: list[float] = []

    def text_of(done: int, total: int, scores: Mapping[str, float]) -> None:
        if done > len(ended):
            ended.append(time.monotonic())

    assert run(plan, on_progress=text_of).outcome.complete
    first = len(ended) // 3
    last = len(ended) - 4 * workers
    return (last - first) / (ended[last] - ended[first])


@pytest.mark.parametrize("limit", [20_000, 300_000])
def test_the_budget_is_passed_by_calls_under_way_alone(
    limit: int, tmp_path: Path
) -> None:
    model = tmp_path / "slow.py"
    model.write_text(SLOW, encoding="utf-8")
    at_once = 4
    plan = Plan(
        "navgpt",
        "houses",
        f"{model}:slow",
        {"dataset": {"houses": 4, "episodes": 144}},
        max_steps=5,
        max_tokens=limit,
        concurrency=at_once,
        out=tmp_path / "run",
        engine="ray",
        workers=WORKERS,
    )
    result = run(plan)
    print(result.outcome.exhausted, *result.notices, sep="\n")
    assert f"the budget of {limit:,} tokens" in result.outcome.exhausted
    lines = (tmp_path / "run" / "calls.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    spent = [row["tokens"] for row in rows if not row.get("open")]
    late = next(line for line in result.notices if "in progress when" in line)
    number = int(late.split("; ")[1].split(" ")[0])
    # the call that reached the limit was under way, too
    assert number < WORKERS * at_once
    assert sum(spent[: len(spent) - number - 1]) < limit
    assert f"{sum(spent):,} tokens" in late


def test_ctrl_c_ends_in_order(tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "wayword", "run", "random", "--on", "houses"),
        *("--engine", "ray", "--workers", "1", "--out", str(tmp_path / "run")),
        *("--set", "dataset.houses=40", "--set", "dataset.episodes=1440"),
    ]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 240
    lines = tmp_path / "run" / "episodes.jsonl.gz"
    while time.monotonic() < deadline and not (lines.exists() and lines.stat().st_size):
        time.sleep(0.2)
    running.send_signal(signal.SIGTERM)
    _, reply = running.communicate(timeout=120)
    assert "Traceback" not in reply
    assert running.returncode == 143
    assert RunFolder.read(tmp_path / "run").scores()


def test_a_cluster_that_is_not_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wayword.core.errors import UsageError

    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(UsageError, match="Ray did not start"):
        run(Plan("random", "houses", engine="ray", out=tmp_path / "never"))
