"""What it costs to begin: one random episode of each dataset, with a fresh cache and again.

    WAYWORD_DATA=/path/to/data python tools/startup.py                  # every registered dataset
    python tools/startup.py --splits household houses:test   # these, all splits of the first

For each split: processor seconds of ``wayword run random --on SPLIT --limit 1`` cold (nothing kept
from before) and warm, and the seconds until anything is printed. Exits with 1 where a warm start
takes more than 2 s of processor time, or nothing is printed within 1 s of it. The wall clock of a
busy machine says little, so the first line's bound is judged by processor time as well. Python
keeps compiled modules even where the environment forbids it: compiling all of them takes a second.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from wayword.core import registry

CPU, FIRST = 2.0, 1.0
"""Bounds: processor seconds of a warm start, and those before the first line."""


@dataclass(frozen=True)
class Start:
    """One start: processor seconds in all, and before the first output; wall seconds before it."""

    cpu: float
    first_cpu: float
    first: float
    failure: str


def start(split: str, cache: Path) -> Start:
    """Play one random episode in a process of its own."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "wayword",
            "run",
            "random",
            "--on",
            split,
            "--limit",
            "1",
        ]
        began = time.perf_counter()
        process = subprocess.Popen(
            [*command, "--out", f"{folder}/run"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**kept, "WAYWORD_CACHE": str(cache), "PYTHONUNBUFFERED": "1"},
        )
        stream = process.stdout
        assert stream is not None
        output = os.read(stream.fileno(), 1)
        first = time.perf_counter() - began
        first_cpu = _cpu_so_far(process.pid)
        output += stream.read()
        _, status, used = os.wait4(process.pid, 0)
    lines = output.decode(errors="replace").strip().splitlines()
    failure = (lines or ["nothing was printed"])[-1] if status else ""
    return Start(used.ru_utime + used.ru_stime, first_cpu, first, failure)


def _cpu_so_far(number: int) -> float:
    """Processor seconds of a process, from Linux's own books."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def splits(named: list[str], every: bool) -> list[str]:
    """The splits that are meant: the default one of a bare name, or all of its."""
    found: list[str] = []
    for name in named or sorted(registry.names("dataset")):
        known = registry.load("dataset", name).splits if ":" not in name else ()
        found += [f"{name}:{split}" for split in (known if every else known[:1])] or [
            name
        ]
    return found


def main() -> int:
    """Print a row a split; 1 where a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "names", nargs="*", help="datasets or splits; all datasets by default"
    )
    parser.add_argument("--splits", action="store_true", help="all splits of a dataset")
    given = parser.parse_args()
    print(
        f"{'split':32} {'cold CPU s':>10} {'warm CPU s':>10} {'first CPU s':>11} {'first s':>8}"
    )
    slow = []
    for split in splits(given.names, given.splits):
        with tempfile.TemporaryDirectory() as cache:
            cold = start(split, Path(cache))
            warm = start(split, Path(cache))
        if warm.failure:
            print(f"{split:32} not run: {warm.failure[:90]}", flush=True)
            continue
        missed = warm.cpu > CPU or warm.first_cpu > FIRST
        slow += [split] if missed else []
        figures = f"{cold.cpu:10.2f} {warm.cpu:10.2f} {warm.first_cpu:11.2f} {warm.first:8.2f}"
        print(f"{split:32} {figures}{'  MISSED' if missed else ''}", flush=True)
    print(f"missed by: {', '.join(slow)}" if slow else "all bounds held")
    return bool(slow)


if __name__ == "__main__":
    sys.exit(main())
