"""Scoring 2,000 R2R-sized walks: the batch metrics against plain Python, in one run.

The plain version scores one episode at a time and fills a table one cell at a time, over lists and
dictionaries; no library slows it down. Both versions are given the same all-pairs distances, both
compute all eight metrics, and they must agree to 1e-9. Walks are as long as R2R's reference
trajectories (2 to 16 viewpoints, mean 7.7), references 5 to 7 viewpoints, 11 scans of 117: about
the size of val_unseen.

Four stages are timed. *Metrics* (walks as arrays of indices -> metrics), and *lists*, which also
packs Python lists of indices into those arrays, against plain Python. *Objects* is everything from
recorded trajectories to a dictionary an episode, and *file* begins with a submission on disk, which
ours also checks, place by place; both against numpy a number at a time, as evaluation scripts do.
A walk of 4,000 steps must not make all others pay.

``python -m benchmarks.scoring`` prints the ratios and exits with 1 under the bound.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from benchmarks._rows import Rows, least
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, PathReference
from wayword.metrics.indoor import IndoorScorer, measure
from wayword.metrics.paths import align, join
from wayword.metrics.predictions import read, trajectory_from_places
from wayword.metrics.scoring import Pair
from wayword.worlds import indoor
from wayword.worlds.indoor import graph as viewpoints
from wayword.worlds.indoor.graph import ViewpointGraph

EPISODES = 2_000
SCENES = 11
VIEWPOINTS = 117
ROUNDS = 7

STEPS = 4_000
"""Steps of an agent that went in circles."""
LENGTHS = {
    2: 16,
    3: 8,
    4: 9,
    5: 44,
    6: 61,
    7: 74,
    8: 29,
    9: 30,
    10: 14,
    11: 12,
    12: 6,
    13: 12,
}
LENGTHS |= {14: 5, 15: 4, 16: 16}
"""Viewpoints of a walk -> how many of the 340 reference trajectories have as many."""

# The plain version. Places are names or numbers, whichever the distances are keyed by.


def plain_dtw(distances: Any, path: Sequence[Any], gold: Sequence[Any]) -> float:
    """The textbook table, a cell at a time."""
    table = [[math.inf] * (len(gold) + 1) for _ in range(len(path) + 1)]
    table[0][0] = 0.0
    for i in range(1, len(path) + 1):
        for j in range(1, len(gold) + 1):
            before = min(table[i - 1][j], table[i][j - 1], table[i - 1][j - 1])
            table[i][j] = before + distances[path[i - 1]][gold[j - 1]]
    return table[-1][-1]


def plain_length(distances: Any, path: Sequence[Any]) -> float:
    return sum(distances[here][there] for here, there in pairwise(path))


def plain_cls(distances: Any, path: Sequence[Any], gold: Sequence[Any]) -> float:
    near = [min(distances[place][here] for here in path) for place in gold]
    coverage = sum(math.exp(-metres / 3.0) for metres in near) / len(gold)
    expected = coverage * plain_length(distances, gold)
    return (
        coverage * expected / (expected + abs(expected - plain_length(distances, path)))
    )


def plain_scores(
    distances: Any, path: Sequence[Any], gold: Sequence[Any]
) -> dict[str, float]:
    """All metrics of one episode."""
    goal = gold[-1]
    ne = distances[path[-1]][goal]
    sr = 1.0 if ne < 3.0 else 0.0
    osr = 1.0 if min(distances[place][goal] for place in path) < 3.0 else 0.0
    tl = plain_length(distances, path)
    shortest = distances[gold[0]][goal]
    ndtw = math.exp(-plain_dtw(distances, path, gold) / (3.0 * len(gold)))
    return {
        "sr": sr,
        "spl": sr * shortest / max(tl, shortest),
        "osr": osr,
        "ne": ne,
        "tl": tl,
        "ndtw": ndtw,
        "sdtw": sr * ndtw,
        "cls": plain_cls(distances, path, gold),
    }


def released_scores(
    distances: Any, path: Sequence[Any], gold: Sequence[Any]
) -> dict[str, float]:
    """The same metrics as common evaluation scripts compute them: numpy a number at a time."""
    goal = gold[-1]
    ne = distances[path[-1]][goal]
    nearest = min(path, key=lambda place: distances[place][goal])
    tl = np.sum([distances[a][b] for a, b in pairwise(path)])
    expected = np.sum([distances[a][b] for a, b in pairwise(gold)])
    sr = float(ne < 3.0)
    table = np.inf * np.ones((len(path) + 1, len(gold) + 1))
    table[0][0] = 0.0
    for i in range(1, len(path) + 1):
        for j in range(1, len(gold) + 1):
            before = min(table[i - 1][j], table[i][j - 1], table[i - 1][j - 1])
            table[i][j] = before + distances[path[i - 1]][gold[j - 1]]
    ndtw = np.exp(-table[len(path)][len(gold)] / (3.0 * len(gold)))
    near = [np.min([distances[place][here] for place in path]) for here in gold]
    coverage = np.mean([np.exp(-metres / 3.0) for metres in near])
    due = coverage * expected
    shortest = distances[gold[0]][goal]
    return {
        "sr": sr,
        "spl": sr * shortest / max(tl, shortest, 0.01),
        "osr": float(distances[nearest][goal] < 3.0),
        "ne": ne,
        "tl": tl,
        "ndtw": ndtw,
        "sdtw": sr * ndtw,
        "cls": coverage * due / (due + np.abs(due - tl)),
    }


# The walks.


@dataclass(frozen=True)
class Walks:
    """Walks and references, as viewpoint names and as indices, each in its scene."""

    graphs: list[ViewpointGraph]
    which: list[int]
    walks: list[list[str]]
    golds: list[list[str]]

    def indices(self, paths: Sequence[Sequence[str]]) -> list[list[int]]:
        owners = [self.graphs[scene].index for scene in self.which]
        return [
            [index[name] for name in path]
            for index, path in zip(owners, paths, strict=True)
        ]

    def pairs(self) -> list[Pair]:
        """The same as tasks and trajectories, as a run has them."""
        found = []
        for number, (scene, walk, gold) in enumerate(
            zip(self.which, self.walks, self.golds, strict=True)
        ):
            episode = Episode(
                str(number), "", self.graphs[scene].scan, {"viewpoint": gold[0]}
            )
            task = Task(episode, PathReference(episode.id, tuple(gold)))
            found.append((task, trajectory_from_places(episode.id, walk, "viewpoint")))
        return found


def make_graph(name: str, rng: np.random.Generator) -> ViewpointGraph:
    """117 viewpoints on 25 m x 18 m, each joined to its four nearest, and in one piece."""
    positions = rng.uniform((0, 0, 0), (25, 18, 0.1), (VIEWPOINTS, 3))
    gaps = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    joined = np.zeros((VIEWPOINTS, VIEWPOINTS), dtype=bool)
    joined[np.arange(VIEWPOINTS)[:, None], np.argsort(gaps, axis=1)[:, 1:5]] = True
    eastward = np.argsort(positions[:, 0])
    joined[eastward[:-1], eastward[1:]] = True
    edges = np.argwhere(joined | joined.T).astype(np.int32)
    ids = tuple(f"{name}{number:025d}" for number in range(VIEWPOINTS))
    return viewpoints.build(name, ids, positions, edges)


def make_reference(graph: ViewpointGraph, rng: np.random.Generator) -> list[str]:
    """A shortest path of 5 to 7 viewpoints, as R2R's are."""
    while True:
        start, end = (graph.ids[number] for number in rng.integers(VIEWPOINTS, size=2))
        path = graph.shortest_path(start, end)
        if 5 <= len(path) <= 7:
            return path


def make_walk(
    graph: ViewpointGraph, gold: list[str], size: int, rng: np.random.Generator
) -> Any:
    """Along the reference for a while, then astray."""
    walk = gold[: min(size, int(rng.integers(1, len(gold) + 1)))]
    while len(walk) < size:
        around = graph.adjacent[walk[-1]]
        walk = [*walk, around[rng.integers(len(around))]]
    return walk


def make_walks() -> Walks:
    rng = np.random.default_rng(0)
    graphs = [make_graph(f"scan{number:03d}", rng) for number in range(SCENES)]
    which = rng.integers(SCENES, size=EPISODES).tolist()
    golds = [make_reference(graphs[scene], rng) for scene in which]
    share = np.array(list(LENGTHS.values())) / sum(LENGTHS.values())
    sizes = rng.choice(list(LENGTHS), EPISODES, p=share).tolist()
    walks = [
        make_walk(graphs[scene], gold, size, rng)
        for scene, gold, size in zip(which, golds, sizes, strict=True)
    ]
    return Walks(graphs, which, walks, golds)


# The race.


def race(plain: Callable[[], Any], batch: Callable[[], Any]) -> tuple[float, float]:
    """The least seconds of each. They take turns, and each turn of both takes as long."""
    before = math.inf
    after = math.inf
    for _ in range(ROUNDS):
        turn = seconds_of(plain)
        before = min(before, turn)
        while turn > 0:
            spent = seconds_of(batch)
            after = min(after, spent)
            turn = turn - spent
    return before, after


def seconds_of(work: Callable[[], Any]) -> float:
    """Processor time, which a busy machine does not add to as it does to the clock's."""
    began = time.process_time()
    work()
    return time.process_time() - began


def stages(
    made: Walks, file: Path
) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Each stage's plain and batch version."""
    matrices = [graph.distances for graph in made.graphs]
    listed: list[Any] = [matrix.tolist() for matrix in matrices]
    named: list[Any] = [
        {
            name: dict(zip(g.ids, row, strict=True))
            for name, row in zip(g.ids, rows, strict=True)
        }
        for g, rows in zip(made.graphs, listed, strict=True)
    ]
    walks = made.indices(made.walks)
    golds = made.indices(made.golds)
    packed = np.array(made.which), join(walks), join(golds)
    pairs = made.pairs()
    graphs = {graph.scan: graph for graph in made.graphs}
    by_name = dict(zip(graphs, named, strict=True))
    tasks = [task for task, _ in pairs]
    source = SimpleNamespace(
        graph=graphs.__getitem__, tasks=tasks, family=indoor.family, split="generated"
    )
    dataset = cast("Dataset", source)
    records = [
        {
            "instr_id": task.episode.id,
            "trajectory": [[place, 0.0, 0.0] for place in walk],
        }
        for task, walk in zip(tasks, made.walks, strict=True)
    ]
    file.write_text(json.dumps(records))
    by_id = {task.episode.id: task for task in tasks}

    def plain() -> list[dict[str, float]]:
        three = zip(made.which, walks, golds, strict=True)
        return [plain_scores(listed[scene], walk, gold) for scene, walk, gold in three]

    def plain_episodes() -> list[dict[str, float]]:
        return [
            released_scores(
                by_name[task.episode.scene],
                [place["viewpoint"] for place in trajectory.visited("agent")],
                cast("PathReference", task.reference).path,
            )
            for task, trajectory in pairs
        ]

    def plain_file() -> list[dict[str, float]]:
        found = []
        for record in json.loads(file.read_text()):
            task = by_id[record["instr_id"]]
            walk = [place for place, *_ in record["trajectory"]]
            gold = cast("PathReference", task.reference).path
            found.append(released_scores(by_name[task.episode.scene], walk, gold))
        return found

    return {
        "metrics": (plain, lambda: measure(align(matrices, *packed))),
        "lists": (
            plain,
            lambda: measure(align(matrices, made.which, join(walks), join(golds))),
        ),
        "episodes": (plain_episodes, lambda: IndoorScorer().score(dataset, pairs)),
        "file": (plain_file, lambda: read(file, dataset).score(dataset)),
    }


def disagreement(plain: list[dict[str, float]], batch: list[dict[str, float]]) -> float:
    """The largest difference of any metric of any episode."""
    gaps = [
        abs(ours[key] - theirs[key])
        for theirs, ours in zip(plain, batch, strict=True)
        for key in theirs
    ]
    return max(gaps)


def main() -> int:
    """Make the walks and race."""
    made = make_walks()
    with tempfile.TemporaryDirectory() as folder:
        return compete(made, stages(made, Path(folder) / "walks.json"))


def compete(
    made: Walks, races: dict[str, tuple[Callable[[], Any], Callable[[], Any]]]
) -> int:
    """Print each stage's ratio; 1 under the bound."""
    plain, batch = races["episodes"]
    worst = disagreement(plain(), batch())
    mean = sum(map(len, made.walks)) / EPISODES
    print(
        f"scoring {EPISODES:,} walks of {mean:.1f} viewpoints; largest disagreement {worst:.1e}"
    )
    rows = Rows("scoring")
    rows.add("disagreement", worst, at_most=1e-9)
    ratios = {name: _ratio(name, *versions) for name, versions in races.items()}
    rows.add("metrics", ratios["metrics"], at_least=50)
    rows.add("lists", ratios["lists"], at_least=25)
    rows.add("objects", ratios["episodes"], at_least=18)
    rows.add("file", ratios["file"], at_least=10)
    rows.add("long_walk", long_walk(made), at_most=1.25)
    return rows.exit_code()


def _ratio(name: str, plain: Callable[[], Any], batch: Callable[[], Any]) -> float:
    before, after = race(plain, batch)
    print(f"  {name:8} plain {1e3 * before:6.1f} ms, batch {1e3 * after:5.2f} ms")
    return before / after


def long_walk(made: Walks) -> float:
    """Time of a walk of 4,000 steps among all others, as a multiple of both apart."""
    matrices = [graph.distances for graph in made.graphs]
    walks = made.indices(made.walks)
    golds = join(made.indices(made.golds))
    long = (walks[0] * STEPS)[:STEPS]

    def scored(which: Sequence[int], paths: Sequence[Sequence[int]], to: Any) -> float:
        return least(lambda: measure(align(matrices, which, join(paths), to)))

    ordinary = scored(made.which, walks, golds)
    alone = scored(made.which[:1], [long], join(made.indices(made.golds)[:1]))
    together = scored(made.which, [long, *walks[1:]], golds)
    return together / (ordinary + alone)


if __name__ == "__main__":
    sys.exit(main())
