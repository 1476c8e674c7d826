"""Count the source files that a reader enters to follow one episode, from its data to its page.

    python tools/walk.py                        # generated places
    python tools/walk.py --data /path/to/data   # published data where there is any

A file is entered where a function of it is called; importing it does not count. Six phases:

    open    the dataset is opened, a world built and reset
    step    the agent is built, begins and acts once, the world steps
    score   the episode is scored
    table   the run's row is read from its folder and printed
    derive  the document of the episode is derived: the recorded actions are replayed
    view    the page of the episode is rendered from its document

``before`` counts the files of ``open`` that are entered before the first one of ``worlds/``, and
``no view`` those of all phases but the last two. It runs on older trees too (``ENTRIES`` knows
where their entry points were), with that tree's own Python: ``/path/to/old/.venv/bin/python
tools/walk.py``.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import pkgutil
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from types import FrameType
from typing import Any

import wayword

SOURCE = str(Path(wayword.__file__).parent)
PHASES = ("open", "step", "score", "table", "derive", "view")
WALKS = (
    ("navgpt", "houses", "r2r:val_seen"),
    ("react_emmem", "household", "household"),
    ("velma", "towns", "map2seq:unseen_dev"),
)
"""Agent, generated dataset, published one."""
ENTRIES = {
    "Plan": ("runs.plan", "experiment.plan"),
    "run": ("runs.running", "experiment.running"),
    "open_agent": ("runs.opening", "runs.plan", "runs.parts", "experiment.cast"),
    "open_dataset": ("runs.opening", "runs.plan", "runs.parts", "experiment.parts"),
    "open_model": ("models.parts.opening", "models.opening"),
    "RunFolder": ("runs.record", "runs.folder", "recording.folder"),
    "Toolkit": ("core.agent",),
    "score": ("metrics.scoring", "evaluation.scorer"),
    "table": ("runs.reports", "experiment.reports"),
    "Library": ("viewer.library",),
    "Content": ("viewer.content",),
}
"""An entry point, and the modules that hold it, the newest first."""


def entry(name: str) -> Any:
    """The function or class of this name in the tree at hand."""
    for module in ENTRIES[name]:
        try:
            return getattr(importlib.import_module(f"wayword.{module}"), name)
        except (ModuleNotFoundError, AttributeError):
            continue
    raise SystemExit(f"{name} is in none of {', '.join(ENTRIES[name])}: extend ENTRIES")


@contextmanager
def entered() -> Iterator[dict[str, None]]:
    """The files of the package in which a function is called meanwhile, in order."""
    files: dict[str, None] = {}

    def called(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            files.setdefault(frame.f_code.co_filename)

    sys.setprofile(called)
    try:
        yield files
    finally:
        sys.setprofile(None)


def load_everything() -> None:
    """Import all modules beforehand, as what they run while imported is not part of a walk.

    Modules of extras that are not installed are on no walk.
    """
    for found in pkgutil.walk_packages([SOURCE], "wayword.", onerror=lambda _: None):
        if not found.name.endswith("__main__"):
            with suppress(ModuleNotFoundError):
                importlib.import_module(found.name)


def named(part: Any, *names: str) -> Any:
    """The first of these methods that a part has: today's name, then earlier ones."""
    return next(getattr(part, name) for name in names if hasattr(part, name))


async def step(agent: Any, world: Any, episode: Any) -> None:
    """The first step of the first actor."""
    actor = world.actors[0]
    await agent.begin(episode.for_actor(actor))
    space = named(world, "action_space", "menu")(actor)
    decision = await agent.act(world.observe(actor), space)
    feedback = world.step(actor, decision.action)
    named(agent, "on_feedback", "told")(decision, feedback)


def walk(
    agent_name: str, on: str, data: Path | None, folder: Path
) -> dict[str, dict[str, None]]:
    """Files by phase, in the order entered. The run that is scored and viewed is played first."""
    plan = entry("Plan")(
        agent_name,
        on,
        "scripted:first",
        limit=1,
        first=True,
        max_steps=3,
        data=data,
        out=folder,
    )
    entry("run")(plan)
    with entered() as opened:
        dataset = entry("open_dataset")(plan)
        task = dataset.tasks[0]
        world = dataset.world(task.episode)
        world.reset(task.episode)
    parts = entry("open_agent")(plan, dataset)
    model = entry("open_model")(plan.model)
    toolkit = entry("Toolkit")(
        models={"main": model},
        perceiver=dataset.perceiver(),
        rng=random.Random(0),
        demonstrations=dataset.demonstrations,
    )
    with entered() as stepped:
        agent = parts.make(toolkit, world.actors[0])
        asyncio.run(step(agent, world, task.episode))
    trajectory = next(iter(entry("RunFolder").read(folder).records())).trajectory
    with entered() as scored:
        entry("score")(dataset, [(task, trajectory)])
    with entered() as printed:
        entry("table")([folder])
    content = entry("Content")(entry("Library")([folder]), data)
    where = folder.name, task.episode.id
    # Earlier trees derive with the page
    with (
        entered() as derived,
        suppress(AttributeError),
    ):
        content.document(*where)
    with entered() as viewed:
        content.episode(*where)
    return dict(
        zip(PHASES, (opened, stepped, scored, printed, derived, viewed), strict=True)
    )


def before_the_world(files: Iterable[str]) -> int:
    """The number of files ahead of the first one of ``worlds/``."""
    inside = (Path(file).relative_to(SOURCE).parts[0] for file in files)
    return len(list(takewhile(lambda room: room != "worlds", inside)))


def main() -> None:
    """Print a row a walk, and with ``--files`` what it enters."""
    parser = argparse.ArgumentParser(
        description="Files that a walk through one episode enters."
    )
    parser.add_argument(
        "--data", type=Path, help="data folder; without it, places are generated"
    )
    parser.add_argument("--files", action="store_true", help="name the files")
    given = parser.parse_args()
    load_everything()
    columns = ("before", *PHASES, "no view", "all")
    print(f"{'walk':32}" + "".join(f"{column:>8}" for column in columns))
    for agent, generated, published in WALKS:
        on = published if given.data else generated
        with tempfile.TemporaryDirectory() as scratch:
            found = walk(agent, on, given.data, Path(scratch) / "run")
        counts = [
            before_the_world(found["open"]),
            *(len(found[phase]) for phase in PHASES),
        ]
        counts += [
            len(set().union(*(found[p] for p in PHASES[:-2]))),
            len(set().union(*found.values())),
        ]
        print(f"{agent + ' on ' + on:32}" + "".join(f"{count:8}" for count in counts))
        for phase in PHASES if given.files else ():
            names = sorted(str(Path(file).relative_to(SOURCE)) for file in found[phase])
            print(f"  {phase}: {' '.join(names)}")


if __name__ == "__main__":
    main()
