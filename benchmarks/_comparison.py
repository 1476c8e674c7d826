"""Rows that run on any commit: each is a command, or a few lines that use what all commits have.

A row is a process of its own, with a cache folder of its own that is empty at its first turn; all
of its processor time counts, start-up too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_STREET = """
from pathlib import Path
from wayword.worlds.street.graph import load
folder = Path(DATA) / "touchdown" / "graph"
def graph(cache):
    return load(folder / "nodes.txt.gz", folder / "links.txt.gz", cache)
"""
_SCORED = """
from pathlib import Path
from wayword.core import registry
from wayword.metrics.predictions import trajectory_from_places
from wayword.metrics.scoring import scorer
def walks(on, key, count):
    name, _, split = on.partition(":")
    cls = registry.load("dataset", name)
    settings = getattr(cls, "Settings", None) or getattr(cls, "settings_class", None)
    dataset = cls(split, Path(DATA), *([settings()] if settings else []))
    tasks = dataset.tasks
    tasks = [tasks[number] for number in range(min(count, len(tasks)))]
    pairs = []
    for task in tasks:
        path = list(task.reference.path)
        walk = path[: len(path) // 2] + path[: len(path) // 2][::-1]
        pairs.append((task, trajectory_from_places(task.episode.id, walk or path, key)))
    return dataset, pairs
"""
CODE = {
    "street_load_cold": f"{_STREET}for _ in range(5): graph(None)",
    "street_load_warm": f"{_STREET}for _ in range(100): graph(Path(CACHE))",
    "street_scores_800": f"{_SCORED}"
    "dataset, pairs = walks('touchdown:unseen_dev', 'panorama', 800)\n"
    "by = scorer('street')\nfor pair in pairs: by.score(dataset, [pair])",
    "r2r_scores_together": f"{_SCORED}dataset, pairs = walks('r2r:val_seen', 'viewpoint', 1021)\n"
    "for _ in range(20): scorer('indoor').score(dataset, pairs)",
    "r2r_scores_apart": f"{_SCORED}dataset, pairs = walks('r2r:val_seen', 'viewpoint', 1021)\n"
    "by = scorer('indoor')\nfor pair in pairs: by.score(dataset, [pair])",
}
"""Row -> Python; ``DATA`` and ``CACHE`` are folders."""
COMMANDS = {
    "list_agents": "list agents",
    "help": "--help",
    "one_episode": "run random --on houses --limit 1 --first --max-steps 1 --out OUT",
    "oracle_houses": "run oracle --on houses --limit 150 --first --out OUT",
    "oracle_r2r": "run oracle --on r2r:val_seen --out OUT",
    "expert_household": "run expert --on household:valid_seen --limit 60 --first --out OUT",
    "oracle_robothor": "run oracle --on robothor:train --limit 100 --first --out OUT",
}
"""Row -> arguments of ``wayword``; ``OUT`` is an empty folder. ``--first`` makes both commits play
the same episodes: commits without this option always played the first ones."""
ROWS = (*CODE, *COMMANDS)


def measure(name: str, sources: Path, cache: Path) -> float:
    """Return the processor seconds of a row with the package in ``sources``."""
    data = os.environ.get("WAYWORD_DATA", "")
    cache = cache / name
    cache.mkdir(parents=True, exist_ok=True)
    out = tempfile.mkdtemp()
    if name in CODE:
        prologue = f"DATA = {data!r}\nCACHE = {str(cache)!r}\n"
        command = [sys.executable, "-c", prologue + CODE[name]]
    else:
        arguments = COMMANDS[name].replace("OUT", out).split()
        options = (sources / "wayword" / "cli" / "running.py").read_text()
        if "--first" in arguments and "--first" not in options:
            arguments.remove("--first")
        command = [sys.executable, "-m", "wayword", *arguments]
    environment = os.environ | {
        "PYTHONPATH": str(sources),
        "WAYWORD_CACHE": str(cache),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen(
        command,
        env=environment,
        cwd=out,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    shutil.rmtree(out)
    if status:
        return float("nan")  # a commit without this command
    return used.ru_utime + used.ru_stime
