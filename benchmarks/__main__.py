"""``python -m benchmarks [NAME …]``: all, or those named; exits with 1 if a bound is missed."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import benchmarks


def main() -> int:
    """Run each benchmark in a process of its own, so that none warms the other up."""
    there = [
        m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name[0] != "_"
    ]
    missed = []
    for name in sys.argv[1:] or there:
        print(f"\n== {name}", flush=True)
        if subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}"], check=False
        ).returncode:
            missed.append(name)
    print(f"\nbounds missed in: {', '.join(missed)}" if missed else "\nall bounds held")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
