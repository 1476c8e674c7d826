"""Run a recipe of this folder, or write the best weights of a run as GGUF.

    python -m recipes.language run houses runs/houses
    python -m recipes.language run indoor runs/indoor --start runs/houses/best
    python -m recipes.language export runs/indoor walker.gguf --kind Q8_0

``$WAYWORD_DATA`` is the data folder. ``run`` resumes an earlier one.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

from recipes.language.config import recipe
from recipes.language.export import KINDS, best_of, finish
from recipes.language.loop import Run
from wayword.core.errors import WaywordError
from wayword.runs.plan import data_folder


def main(arguments: list[str]) -> int:
    """Run a recipe, or write a run's best weights as GGUF. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m recipes.language")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("recipe")
    run.add_argument("folder", type=Path)
    run.add_argument("--start", default="")
    export = commands.add_parser("export")
    export.add_argument("folder", type=Path)
    export.add_argument("file", type=Path)
    export.add_argument("--kind", choices=KINDS, default="Q8_0")
    asked = parser.parse_args(arguments)
    try:
        if asked.command == "export":
            size = finish(asked.folder, asked.file, asked.kind, best_of(asked.folder))
            _report(f"{asked.file}: {size / 1e6:.1f} MB")
        else:
            _train(asked.recipe, asked.folder, asked.start)
    except WaywordError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _train(name: str, folder: Path, start: str) -> None:
    found = recipe(name)
    if start:
        shape = replace(found.shape, layers=0, merges=0, width=0)
        found = replace(found, start=start, shape=shape, words=())
    Run(found, folder, data_folder(None), _report).train()


def _report(line: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
