"""The run folder in an S3 store (moto's server): shards, a killed writer, resuming, merging."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import s3fs
from moto.server import ThreadedMotoServer

from wayword.runs import Plan, RunFolder, run
from wayword.runs.record import merge
from wayword.runs.reports import table

DATASET = {"dataset": {"houses": 1, "episodes": 24}}
STALLING = """
import asyncio
import os
from itertools import count

from wayword.agents.baselines.simple import RandomAgent

asked = count(1)


class Stalling(RandomAgent):
    async def act(self, observation, space):
        if next(asked) > int(os.environ.get("STALL_AFTER", "1000000")):
            await asyncio.sleep(3600)
        return await super().act(observation, space)


agent = Stalling
"""


@pytest.fixture(scope="module")
def bucket() -> Iterator[s3fs.S3FileSystem]:
    server = ThreadedMotoServer(port=0)
    server.start()
    _, port = server.get_host_and_port()
    given = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in given.items():
            patch.setenv(name, value)
        files = s3fs.S3FileSystem()
        files.mkdir("runs")
        yield files
    server.stop()


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of this machine: where working copies lie."""
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "machine"))
    return tmp_path / "machine"


def _rows(path: Path) -> str:
    keys = [
        "sr",
        "spl",
        "osr",
        "ne",
        "tl",
        "ndtw",
        "sdtw",
        "cls",
        "steps",
        "rejections",
    ]
    return table([path], "markdown", keys).replace(path.name, "")


def test_the_store_decides_who_is_first(bucket: s3fs.S3FileSystem) -> None:
    bucket.pipe_file("runs/once", b"1", mode="create")
    with pytest.raises(FileExistsError):
        bucket.pipe_file("runs/once", b"2", mode="create")
    assert bucket.cat_file("runs/once") == b"1"


def test_shards_with_a_writer_killed_are_resumed_and_merged(
    bucket: s3fs.S3FileSystem, tmp_path: Path, machine: Path
) -> None:
    agent = tmp_path / "stalling.py"
    agent.write_text(STALLING, encoding="utf-8")

    def plan(out: str, shard: str = "") -> Plan:
        given: dict[str, Any] = {"settings": DATASET, "max_steps": 4, "shard": shard}
        return Plan(str(agent), "houses", out=Path(out), concurrency=2, **given)

    run(plan(str(tmp_path / "whole")))
    run(plan("s3://runs/s1", "1/2"))
    command = [
        *(sys.executable, "-m", "wayword", "run", str(agent), "--on", "houses"),
        *(
            "--set",
            "dataset.houses=1",
            "--set",
            "dataset.episodes=24",
            "--max-steps",
            "4",
        ),
        *("--concurrency", "1", "--shard", "2/2", "--out", "s3://runs/s2"),
    ]
    # Stalls in the third episode at the earliest: some have ended and some have not, however fast
    # or slow the machine is. The first upload comes seconds later.
    running = subprocess.Popen(
        command, stderr=subprocess.PIPE, env={**os.environ, "STALL_AFTER": "9"}
    )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not bucket.exists(
        "runs/s2/episodes.jsonl.gz"
    ):
        time.sleep(0.5)
        bucket.invalidate_cache()
        assert running.poll() is None
    running.send_signal(signal.SIGKILL)
    running.wait()
    shutil.rmtree(machine)  # another machine goes on
    result = run(plan("s3://runs/s2", "2/2"))
    assert 0 < result.resumed < 12
    merge([Path("s3://runs/s1"), Path("s3://runs/s2")], tmp_path / "merged")
    assert len(RunFolder.read(tmp_path / "merged").scores()) == 24
    assert _rows(tmp_path / "merged") == _rows(tmp_path / "whole")
