"""A logistic regression in the place of the language model: what the words of a question hold.

`velma` with `follow=true` ends each question in what was counted. This model reads these words
alone, so a language model is worth what it is above it. Fit it on Map2seq's seen area, then play
(the data lies in $WAYWORD_DATA):

    python examples/training/street_regression.py fit /tmp/street.json
    wayword run velma --on map2seq:unseen_dev --set shots=0 --set follow=true \
        --model ./examples/training/street_regression.py:/tmp/street.json

`python examples/training/street_regression.py scale /tmp/scaling.svg` fits it on 25 routes and
more, plays 375 others, and draws the curve.
"""

import asyncio
import json
import math
import os
import random
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wayword.core import registry
from wayword.core.errors import UsageError
from wayword.core.model import Choice, Model, Usage
from wayword.core.rollout import Setup, rollout
from wayword.metrics.scoring import judge
from wayword.settings import make
from wayword.training.examples import ExampleMaker

SETTINGS = {"shots": 0, "follow": True}


@dataclass
class Source:
    """Routes of a split that lie wholly in the seen area; ``skip`` leaves out every N-th of them,
    and ``only`` keeps just these."""

    data: str
    skip: int = 0
    only: int = 0

    def open(self, folder):
        name, _, split = self.data.partition(":")
        cls = registry.load("dataset", name)
        dataset = cls(split, folder, cls.Settings())
        numbered = enumerate(dataset.in_area("seen"))
        skip, only = self.skip, self.only
        kept = [(n, task) for n, task in numbered if not (skip and n % skip == 0)]
        return dataset, [task for n, task in kept if not (only and n % only)]


SEEN = Source("map2seq:seen_dev", skip=8), Source("map2seq:seen_test")
HELD_OUT = Source("map2seq:seen_dev", only=8)
"""Every eighth route of one file is not learnt from."""

LINE = re.compile(r"(\d+) steps since the ([\w ]+?)(?:; .*?)?: (.*)\. Done\?$")
OF = re.compile(r"(-?\d+) of (\d+) (\w+)")
PENALTY = 1.0
"""Of a weight's square, halved: as much as one observation."""


def signs(question):
    """The features of a question: its words, counts less what was told, and pairs of these."""
    read = LINE.search(question)
    if read is None:
        raise UsageError("this model reads velma's questions alone: set follow=true shots=0")
    words = read[3].split(", ")
    told = {k[3]: max(-3, min(2, int(k[1]) - int(k[2]))) for w in words if (k := OF.match(w))}
    count = next((told[kind] for kind in ("lights", "intersections") if kind in told), "?")
    beside = [word for word in words if word.startswith("beside")]
    at = next((int(word.split()[-1]) for word in words if word.startswith("at inter")), 0)
    place = next((word for word in words if word.startswith("stop")), "")
    wide = told.get("crossroads", "-")
    if place:
        found = _stopping(int(read[1]), words, told, place, f"{count}/{at > 0}")
        found += [f"wide {wide}", f"wide {wide} {count}/{at > 0}"]
    else:
        found = [f"count {count}", f"wide {wide}", f"wide {wide} {count}"]
        found += [f"number {at} {count}", f"far {min(20, int(read[1])) // 3} {count}"]
    kind = "stop " if place else "turn "
    return [kind + one for one in ("", *found, *beside)]


def _stopping(since, words, told, place, count):
    """Those of the last leg: the place that it tells, the steps on, the steps in all."""
    on = f"of {max(-4, min(4, told['steps']))}" if "steps" in told else ""
    on = on or f"on {min(14, int(words[-2].split()[0]))}"
    whole = max(31, min(46, int(words[-1].split()[0])))
    one = [count, count.split("/")[0], count.split("/")[1], on, place, f"all {whole}"]
    two = [f"{place} {on}", f"{place} {count.split('/')[1]}", f"{on} {count}"]
    two += [f"all {whole} {count.split('/')[1]}", f"all {whole // 3} {place}"]
    return [*one, *two, f"all {whole // 2} {on}", f"since {min(8, since)}"]


class Regression:
    """Log-odds that a leg is done: the sum of its signs' weights."""

    def __init__(self, weights):
        self.weights = weights

    @classmethod
    def fit(cls, examples):
        """By Newton's steps on the logistic loss. `examples`: played walks with their labels."""
        asked = [
            (signs(one.text[: choice.at].rpartition("\n")[2]), choice.label.strip() == "yes")
            for one in examples
            for choice in one.choices
            if one.text[: choice.at].endswith("Done?")
        ]
        names = sorted({name for found, _ in asked for name in found})
        column = {name: number for number, name in enumerate(names)}
        table = np.zeros((len(asked), len(names)), np.float32)
        for row, (found, _) in enumerate(asked):
            table[row, [column[name] for name in found]] = 1
        right, weights = np.array([label for _, label in asked], float), np.zeros(len(names))
        for _ in range(12):
            sure = 1 / (1 + np.exp(-(table @ weights)))
            slope = table.T @ (sure - right) + PENALTY * weights
            bend = (table * (sure * (1 - sure))[:, None]).T @ table + PENALTY * np.eye(len(names))
            weights -= np.linalg.solve(bend, slope)
        return cls(dict(zip(names, weights.tolist(), strict=True)))

    def odds(self, question):
        return sum(self.weights.get(name, 0.0) for name in signs(question))


@dataclass(frozen=True)
class Settings:
    """Nothing to set."""


class RegressionModel(Model):
    """The regression as a model: yes or no by its odds, then the turn that the done leg tells."""

    Settings = Settings

    def __init__(self, name, settings=None):
        self.name = f"regression:{name}"
        self.regression = Regression(json.loads(Path(name).read_text())) if name else None

    async def choose(self, prompt, options):
        before, last = ("\n" + prompt).split("\n")[-2:]
        if "yes" in options:
            odds = self.regression.odds(last)
            scores = {"yes": -math.log1p(math.exp(-odds)), "no": -math.log1p(math.exp(odds))}
        else:
            turn = re.search(r"turn (left|right)", before) if before.endswith("Done? yes") else None
            scores = {turn[1] if turn else "forward": 0.0}
        return Choice(tuple(options), tuple(scores.get(o, -99.0) for o in options), Usage())

    async def complete(self, prompt, sampling):
        raise UsageError("this model ranks yes and no alone: set follow=true shots=0")

    async def aclose(self):
        pass


model = RegressionModel


# Fitting, and how it grows with the routes that it learns from.


def walked(source):
    """The gold walks of a source as examples; those that cannot be followed are left out."""
    dataset, tasks = source.open(data())
    player = ExampleMaker("velma", SETTINGS, source.data, dataset, near=True)
    found = [asyncio.run(player.example(task, None, "ft")) for task in tasks]
    return [one for one in found if one.success]


def solved(regression, source, limit=0):
    """How many routes of a source are completed, and how many there are."""
    dataset, tasks = source.open(data())
    tasks = drawn(tasks)[:limit] if limit else tasks
    agent, answers = registry.load("agent", "velma"), RegressionModel("")
    answers.regression = regression
    settings, right = make(agent.Settings, SETTINGS, "velma"), judge(dataset)
    setup = Setup(
        dataset,
        lambda toolkit, actor: agent(settings, toolkit),
        models={"main": answers},
        max_steps=dataset.max_steps,
    )
    walks = [asyncio.run(rollout(task, setup)) for task in tasks]
    return sum(right(*both) for both in zip(tasks, walks, strict=True)), len(tasks)


def drawn(tasks):
    return random.Random(0).sample(list(tasks), len(tasks))


def data():
    if not (folder := os.environ.get("WAYWORD_DATA")):
        raise SystemExit("name the folder with map2seq in it: WAYWORD_DATA=/path/to/data")
    return Path(folder)


APART = 300
"""Routes of one file that are played beside the held-out ones and not learnt from here."""


def scale(path):
    """Fit on more and more routes, play those left out, and draw the share that is completed."""
    apart = {task.episode.id for task in drawn(SEEN[1].open(data())[1])[:APART]}
    examples = walked(SEEN[0]) + [one for one in walked(SEEN[1]) if one.episode not in apart]
    random.Random(1).shuffle(examples)
    points = []
    for count in (25, 50, 100, 200, 400, len(examples)):
        regression = Regression.fit(examples[:count])
        hits, played = map(
            sum,
            zip(solved(regression, HELD_OUT), solved(regression, SEEN[1], APART), strict=True),
        )
        margin = 1.96 * math.sqrt(hits / played * (1 - hits / played) / played)
        points.append((count, hits / played, margin))
        print(f"{count} routes: {hits / played:.1%} +- {margin:.1%} of {played}", flush=True)
    Path(path).write_text(figure(points))


def figure(points):
    """Success by routes, these doubling along the axis, as a small SVG."""

    def across(count):
        return 60 + 480 * math.log2(count / points[0][0]) / math.log2(points[-1][0] / points[0][0])

    def height(share):
        return 260 - 500 * share

    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 320" font-size="12"']
    parts[0] += ' font-family="sans-serif"><rect width="600" height="320" fill="#fff"/>'
    for tenth in range(5):
        y = height(tenth / 10)
        parts.append(f'<path d="M60 {y:.0f}H560" stroke="#ddd"/><text x="20" y="{y + 4:.0f}">')
        parts.append(f"{10 * tenth}%</text>")
    line = " ".join(f"{across(count):.0f},{height(share):.0f}" for count, share, _ in points)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#1f5fa8" stroke-width="2"/>')
    for count, share, margin in points:
        x, top, end = across(count), height(share + margin), height(share - margin)
        parts.append(f'<path d="M{x:.0f} {top:.0f}V{end:.0f}" stroke="#1f5fa8"/>')
        parts.append(f'<text x="{x:.0f}" y="280" text-anchor="middle">{count}</text>')
    parts.append('<text x="60" y="308">routes learnt from; completed routes of 375 others</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    asked, path = sys.argv[1:]
    if asked == "fit":
        weights = Regression.fit([one for source in SEEN for one in walked(source)]).weights
        Path(path).write_text(json.dumps(weights))
    else:
        scale(path)
