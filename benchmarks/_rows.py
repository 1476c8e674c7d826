"""Rows of the benchmarks: a figure with its bound, printed, judged and kept in ``history.csv``.

    >>> Rows("street").add("load_warm", 172.0, at_least=150)
    held    street.load_warm          172 (at least 150)

A bound stands where its row is measured, and a second time in ``bounds.toml``, with the date, the
figure of that day and the reason; a test compares the two.
"""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from subprocess import check_output

HISTORY = Path(__file__).with_name("history.csv")
COLUMNS = ("date", "commit", "row", "figure", "calibration_ms")
RECORD = "WAYWORD_BENCH_RECORD"
"""Variable that makes rows append to the history; ``make bench`` sets it."""
CALIBRATION_STEPS = 200_000


class Rows:
    """The rows of one benchmark."""

    def __init__(self, benchmark: str) -> None:
        self.benchmark = benchmark
        self.missed: list[str] = []

    def add(
        self,
        name: str,
        figure: float,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
    ) -> None:
        """Print and judge a figure; without a bound it is only printed and recorded."""
        row = f"{self.benchmark}.{name}"
        verdict = "held"
        bound = "no bound"
        if at_least is not None:
            bound = f"at least {at_least:g}"
            if figure < at_least:
                verdict = "MISSED"
        if at_most is not None:
            bound = f"at most {at_most:g}"
            if figure > at_most:
                verdict = "MISSED"
        if verdict == "MISSED":
            self.missed.append(row)
        print(f"{verdict:<7} {row:<34} {figure:10.4g} ({bound})", flush=True)
        if os.environ.get(RECORD):
            _record(row, figure)

    def exit_code(self) -> int:
        """1 if a bound was missed."""
        return int(bool(self.missed))


def _record(row: str, figure: float) -> None:
    commit = check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip()
    is_new = not HISTORY.exists()
    with HISTORY.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(COLUMNS)
        date = datetime.now(UTC).strftime("%Y-%m-%d")
        calibration = f"{1e3 * calibrate():.2f}"
        writer.writerow((date, commit, row, f"{figure:.4g}", calibration))


def calibrate() -> float:
    """Processor seconds of a fixed loop, which tell a busy or another machine."""

    def loop() -> None:
        total = 0
        for number in range(CALIBRATION_STEPS):
            total += number & 7

    return least(loop, rounds=3)


def in_loops(seconds: float) -> float:
    """Processor time as a multiple of the fixed loop's, so that a bound holds on other machines."""
    return seconds / calibrate()


def least(
    work: Callable[[], object],
    rounds: int = 7,
    before: Callable[[], object] | None = None,
) -> float:
    """Processor seconds of the fastest round: a busy machine adds little to them."""
    times = []
    for _ in range(rounds):
        if before is not None:
            before()
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)
