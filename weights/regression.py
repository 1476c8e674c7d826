"""Fit ``regression:walker`` on generated houses, ``regression:velma`` on Map2seq and towns.

    python -m weights.regression walker walker.json
    python -m weights.regression velma velma.json
    wayword run velma --on map2seq:unseen_dev --model regression:velma.json

``python -m weights.regression scale docs/street_scaling.svg`` fits on 25 Map2seq routes and more,
plays 375 others, and draws the curve. Map2seq is read from ``$WAYWORD_DATA``.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wayword.core import registry
from wayword.core.rollout import Setup, rollout
from wayword.metrics.scoring import judge
from wayword.models.regression import FEATURES, RegressionModel
from wayword.settings import make
from wayword.training.examples import Example, ExampleMaker
from weights.sources import Source

SETTINGS: dict[str, dict[str, Any]] = {
    "walker": {},
    "velma": {"shots": 0, "follow": True},
}
# The shipped weights were fitted on the first wording of the instructions.
HOUSES = (
    Source("houses:train", {"seed": 20, "houses": 100, "episodes": 900, "wording": 1}),
    Source("houses:train", {"seed": 21, "houses": 200, "episodes": 1800, "wording": 1}),
)
SEEN = (
    Source("map2seq:seen_dev", area="seen", skip=8),
    Source("map2seq:seen_test", area="seen"),
)
HELD_OUT = Source("map2seq:seen_dev", area="seen", only=8)
TOWNS = Source("towns:train", {"seed": 20, "towns": 60, "episodes": 800, "wording": 1})
SOURCES = {"walker": HOUSES, "velma": (*SEEN, TOWNS)}
PENALTY = 1.0
"""Of the squared weights, halved: as much as one example for each."""
NEWTON_STEPS = 12
SCALE_PLAYED = 300
"""Routes of seen_test that ``scale`` plays next to the held-out ones, and does not train on."""


def fit(agent: str, examples: Iterable[Example]) -> dict[str, float]:
    """Weights by Newton's method on the logistic loss of yes and no in labelled gold walks."""
    questions = [
        (FEATURES[agent](one.text[: choice.at].rpartition("\n")[2]), label == "yes")
        for one in examples
        for choice in one.choices
        if (label := choice.label.strip()) in ("yes", "no")
    ]
    names = sorted({name for listed, _ in questions for name in listed})
    column = {name: number for number, name in enumerate(names)}
    table = np.zeros((len(questions), len(names)), np.float32)
    for row, (listed, _) in enumerate(questions):
        table[row, [column[name] for name in listed]] = 1
    labels = np.array([label for _, label in questions], float)
    weights = np.zeros(len(names))
    for _ in range(NEWTON_STEPS):
        chance = 1 / (1 + np.exp(-(table @ weights)))
        gradient = table.T @ (chance - labels) + PENALTY * weights
        spread = (table * (chance * (1 - chance))[:, None]).T @ table
        weights -= np.linalg.solve(spread + PENALTY * np.eye(len(names)), gradient)
    return {
        name: round(weight, 4)
        for name, weight in zip(names, weights.tolist(), strict=True)
    }


def write(agent: str, weights: dict[str, float], path: Path) -> None:
    """Write weights as ``regression:FILE`` reads them, with the settings of the agent."""
    record = {"agent": agent, "settings": SETTINGS[agent], "weights": weights}
    path.write_text(json.dumps(record, indent=0) + "\n", encoding="utf-8")


def gold_walks(agent: str, source: Source) -> list[Example]:
    """The labelled gold walks of a source; paths that the agent cannot represent are left out.

    On streets a stop is right wherever it counts as success: the exact panorama is not in the text.
    """
    dataset, tasks = source.open(_data() if source.data.startswith("map2seq") else None)
    near = agent == "velma"
    maker = ExampleMaker(agent, SETTINGS[agent], source.data, dataset, near=near)
    walks = [asyncio.run(maker.example(task, None, "ft")) for task in tasks]
    return [walk for walk in walks if walk.success]


def successes(weights: Path, source: Source, limit: int | None = None) -> list[bool]:
    """Success of each route of a source, in a fixed random order."""
    dataset, tasks = source.open(_data())
    agent = registry.load("agent", "velma")
    is_success = judge(dataset)
    settings = make(agent.Settings, SETTINGS["velma"], "velma")
    setup = Setup(
        dataset,
        lambda toolkit, actor: agent(settings, toolkit),
        models={"main": RegressionModel(str(weights))},
        max_steps=dataset.max_steps,
    )
    chosen = _shuffled(tasks)[:limit]
    return [is_success(task, asyncio.run(rollout(task, setup))) for task in chosen]


def _shuffled(tasks: Sequence[Any]) -> list[Any]:
    return random.Random(0).sample(list(tasks), len(tasks))


def _data() -> Path:
    if not (folder := os.environ.get("WAYWORD_DATA")):
        raise SystemExit("Map2seq is needed: set WAYWORD_DATA=/path/to/data")
    return Path(folder)


def scale(path: Path) -> None:
    """Fit on more and more routes, play those left out, and draw the share that is completed."""
    _, tasks = SEEN[1].open(_data())
    played = {task.episode.id for task in _shuffled(tasks)[:SCALE_PLAYED]}
    examples = gold_walks("velma", SEEN[0])
    examples += [
        walk for walk in gold_walks("velma", SEEN[1]) if walk.episode not in played
    ]
    random.Random(1).shuffle(examples)
    points = []
    weights = path.with_suffix(".json")
    for count in (25, 50, 100, 200, 400, len(examples)):
        write("velma", fit("velma", examples[:count]), weights)
        results = successes(weights, HELD_OUT) + successes(
            weights, SEEN[1], SCALE_PLAYED
        )
        share = sum(results) / len(results)
        margin = 1.96 * math.sqrt(share * (1 - share) / len(results))
        points.append((count, share, margin))
        print(
            f"{count} routes: {share:.1%} +- {margin:.1%} of {len(results)}", flush=True
        )
    weights.unlink()
    path.write_text(figure(points), encoding="utf-8")


def figure(points: Sequence[tuple[int, float, float]]) -> str:
    """Success by number of routes, on a logarithmic axis, as a small SVG."""

    def x_of(count: int) -> float:
        return 60 + 480 * math.log2(count / points[0][0]) / math.log2(
            points[-1][0] / points[0][0]
        )

    def y_of(share: float) -> float:
        return 260 - 500 * share

    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 320" font-size="12"'
    ]
    parts[0] += ' font-family="sans-serif"><rect width="600" height="320" fill="#fff"/>'
    for tenth in range(5):
        y = y_of(tenth / 10)
        parts.append(
            f'<path d="M60 {y:.0f}H560" stroke="#ddd"/><text x="20" y="{y + 4:.0f}">'
        )
        parts.append(f"{10 * tenth}%</text>")
    line = " ".join(
        f"{x_of(count):.0f},{y_of(share):.0f}" for count, share, _ in points
    )
    parts.append(
        f'<polyline points="{line}" fill="none" stroke="#1f5fa8" stroke-width="2"/>'
    )
    for count, share, margin in points:
        x = x_of(count)
        top = y_of(share + margin)
        bottom = y_of(share - margin)
        parts.append(f'<path d="M{x:.0f} {top:.0f}V{bottom:.0f}" stroke="#1f5fa8"/>')
        parts.append(f'<text x="{x:.0f}" y="280" text-anchor="middle">{count}</text>')
    parts.append(
        '<text x="60" y="308">training routes; completed routes of 375 others</text>'
    )
    return "\n".join([*parts, "</svg>", ""])


def main(command: str, path: str) -> None:
    """``AGENT FILE.json`` or ``scale FILE.svg``."""
    if command == "scale":
        scale(Path(path))
    else:
        walks = [
            walk for source in SOURCES[command] for walk in gold_walks(command, source)
        ]
        write(command, fit(command, walks), Path(path))


if __name__ == "__main__":
    main(*sys.argv[1:])
