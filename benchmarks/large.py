"""Runs of 100,000 and a million episodes: the table, the run taken up again, the page's index.

A random walker plays fifty episodes of generated houses, cut after two steps; their records stand
under every other id, as ``benchmarks.viewer`` makes them. Each command is a
process of its own, and its processor time counts, as the clock of a busy machine says little.

Bounds, for 100,000, are multiples of a fixed loop's time, see ``_rows.calibrate``: the same command
again (it finds everything finished, and prints its table), the table, and the run's page when it is
first asked for.

``python -m benchmarks.large [COUNT] [FOLDER]`` prints the figures and exits with 1 where a bound is
missed; in a FOLDER the run is kept, and found again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path

from benchmarks._rows import Rows, in_loops
from benchmarks.viewer import Served, made, settings_of

COUNT = 100_000


def command(*words: str) -> tuple[float, float]:
    """Processor seconds of a ``wayword`` command, and the most memory that it held (MiB)."""
    line = [sys.executable, "-m", "wayword", *words]
    process = subprocess.Popen(
        line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, f"{' '.join(words)} failed"
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def page(folder: Path) -> tuple[float, float, float]:
    """Processor seconds of the run's page the first time and again; MiB of the server."""
    server = Served(folder)
    try:
        before = server.cpu()
        server.ask("/run/many/")
        first = server.cpu() - before
        server.ask("/run/many/")
        return first, server.took, server.megabytes()
    finally:
        server.end()


def measure(count: int, folder: Path) -> int:
    """Print the figures; 1 if a bound is missed."""
    out = folder / "many"
    # In a process of its own: what a parent holds when it starts a child counts as the child's.
    maker = get_context("spawn").Process(
        target=made, args=("random", "", count, out, 2)
    )
    maker.start()
    maker.join()
    assert maker.exitcode == 0, "the records could not be made"
    print(f"{count:,} records", flush=True)
    given = [
        f"--set=dataset.{key}={value}" for key, value in settings_of(count).items()
    ]
    again = [
        "run",
        "random",
        "--on",
        "houses",
        *given,
        "--max-steps",
        "2",
        "--limit",
        str(count),
    ]
    resumed, resumed_memory = command(*again, "--out", str(out))
    tabled, table_memory = command("table", str(out))
    print(f"{'the same command again':24} {resumed:7.2f} s {resumed_memory:8.0f} MiB")
    print(f"{'table':24} {tabled:7.2f} s {table_memory:8.0f} MiB", flush=True)
    first, later, held = page(folder)
    print(
        f"{'page, first':24} {first:7.2f} s {held:8.0f} MiB\n{'page, again':24} {later:7.2f} s"
    )
    rows = Rows("large")
    if count == COUNT:
        rows.add("resume_loops", in_loops(resumed), at_most=375)
        rows.add("table_loops", in_loops(tabled), at_most=260)
        rows.add("first_page_loops", in_loops(first), at_most=60)
    return rows.exit_code()


def main() -> int:
    """1 where a bound is missed."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    if len(sys.argv) > 2:
        return measure(count, Path(sys.argv[2]))
    with tempfile.TemporaryDirectory() as folder:
        return measure(count, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
