"""A command imports what it uses."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
sys.argv = ["wayword", "list", "agents"]
from wayword.cli import main
try:
    main()
except SystemExit:
    pass
print(*sys.modules)
"""


def test_a_command_imports_no_other_command() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE], check=True, capture_output=True, text=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "wayword.cli.looking" in loaded
    others = ("reporting", "playing", "viewing", "bench")
    assert not loaded & {f"wayword.cli.{name}" for name in others}
    assert not loaded & {"numpy", "asyncio"}
