"""``python -m benchmarks [NAME …]``: all, or those named; exits with 1 if a bound is missed.

``--record`` appends each row to ``history.csv``. ``python -m benchmarks compare REV [ROW …]``
measures the rows of ``_comparison`` on this tree and on another commit in turns, A B A B, each in a
process of its own that has computed nothing before, and prints what is slower by more than 10%.
"""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
import tempfile
from pathlib import Path

import benchmarks
from benchmarks import _comparison, _rows

TURNS = 3
SLOWER = 1.1
"""A row is named if it takes more than this multiple of the other commit's time."""


def main() -> int:
    """Run each benchmark in a process of its own, so that none warms the other up."""
    arguments = [each for each in sys.argv[1:] if each != "--record"]
    if arguments[:1] == ["compare"]:
        return compare(arguments[1], arguments[2:])
    if "--record" in sys.argv:
        os.environ[_rows.RECORD] = "1"
    all_names = [
        module.name
        for module in pkgutil.iter_modules(benchmarks.__path__)
        if not module.name.startswith("_")
    ]
    missed = []
    for name in arguments or all_names:
        print(f"\n== {name}", flush=True)
        command = [sys.executable, "-m", f"benchmarks.{name}"]
        if subprocess.run(command, check=False).returncode:
            missed.append(name)
    print(f"\nbounds missed in: {', '.join(missed)}" if missed else "\nall bounds held")
    return int(bool(missed))


def compare(revision: str, names: list[str]) -> int:
    """Print seconds of each row here and at ``revision``; 1 if a row is slower here."""
    slower = []
    top = Path(benchmarks.__file__).parents[1]
    with tempfile.TemporaryDirectory() as scratch:
        other = Path(scratch) / "other"
        worktree = ["git", "-C", str(top), "worktree"]
        subprocess.run(
            [*worktree, "add", "-q", "--detach", str(other), revision], check=True
        )
        try:
            print(f"{'row':28} {'here':>9} {revision[:9]:>9} {'ratio':>6}")
            for name in names or _comparison.ROWS:
                ratio = _compare_row(name, top / "src", other / "src", Path(scratch))
                if ratio > SLOWER:
                    slower.append(name)
        finally:
            subprocess.run([*worktree, "remove", "--force", str(other)], check=True)
    print(f"\nslower by more than 10%: {', '.join(slower) or 'nothing'}")
    return int(bool(slower))


def _compare_row(name: str, here: Path, other: Path, scratch: Path) -> float:
    """Print a row; return the time here as a multiple of the other commit's."""
    least = {here: float("inf"), other: float("inf")}
    for _ in range(TURNS):
        for sources in (here, other):
            seconds = _comparison.measure(name, sources, scratch / sources.parent.name)
            least[sources] = min(least[sources], seconds)
    ratio = least[here] / least[other]
    print(f"{name:28} {least[here]:9.3f} {least[other]:9.3f} {ratio:6.2f}", flush=True)
    return ratio


if __name__ == "__main__":
    sys.exit(main())
