"""The street graph: loading, hop distances and world steps against plain Python, in one run.

* *Load*: gzipped text against a plain loader that makes an object a panorama and a graph of
  networkx, as VELMA's release does. Without a cache, cache written; and from the cache, in which
  the hop distances are kept too.
* *SPD*: links from the last panorama of 800 perturbed trajectories to their goals, against
  breadth-first search that ends at the goal, once distances between junctions are computed.
  Computing those the first time is timed separately.
* *Steps*: a new world for every episode, against a plain navigator of the released kind
  (dictionaries of neighbors, the state computed at every step): on a graph where earlier episodes
  took these steps, and with every step taken for the first time. One world for one long walk: at
  least 500,000 steps a second, or within 1.5 times of a bare dictionary of what every action does.
* *Scores*: walks scored one at a time, TC, SPD, both KPAs and nDTW, against the released metrics
  (TC, SPD, KPA) computed as the released scorer does, with Dijkstra's algorithm of networkx.

Runs on Touchdown's graph where ``$WAYWORD_DATA`` holds it, else on a generated grid of streets of
the same size. ``python -m benchmarks.street`` prints the ratios and exits with 1 under a bound.
"""

from __future__ import annotations

import gzip
import math
import os
import random
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, cast

import networkx as nx

from benchmarks._rows import Rows, least
from wayword.core.action import Action
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, PathReference
from wayword.metrics.predictions import trajectory_from_places
from wayword.metrics.street import StreetScorer, dtw
from wayword.worlds.street.graph import load
from wayword.worlds.street.moves import WORDS, Navigator
from wayword.worlds.street.world import StreetWorld

ROUNDS = 7
TRAJECTORIES = 800
STEPS = 400_000
LENGTH = 40
# Degrees by which a street turns from one panorama to the next, each as likely as another. On
# Touchdown's graph 34% of the links do not turn, 31% by one degree, and 12% by five or more: a
# navigator rarely finds its own heading among the exits.
BENDS = (0, 0, 0, 1, 1, -1, -1, 3, -3)
WALK = ("forward",) * 8 + ("left", "right")
"""What perturbed walkers do, each as likely as another."""

PlainWays = dict[str, list[str]]

# The plain versions.


@dataclass
class PlainNode:
    yaw: float
    lat: float
    lng: float
    area: str
    neighbors: dict[float, PlainNode]
    panorama: str


class PlainStreets:
    """Panoramas by name, and the same as a graph of networkx."""

    def __init__(self, nodes: Path, links: Path) -> None:
        self.nodes: dict[str, PlainNode] = {}
        with gzip.open(nodes, "rt") as lines:
            for line in lines:
                panorama, yaw, lat, lng, area = line.strip().split(",")
                node = PlainNode(int(yaw), float(lat), float(lng), area, {}, panorama)
                self.nodes[panorama] = node
        with gzip.open(links, "rt") as lines:
            for line in lines:
                start, heading, end = line.strip().split(",")
                self.nodes[start].neighbors[float(heading)] = self.nodes[end]
        self.graph = nx.DiGraph()
        for node in self.nodes.values():
            for neighbor in node.neighbors.values():
                self.graph.add_edge(node.panorama, neighbor.panorama)


def plain_hops(exits_of: PlainWays, start: str, goal: str) -> float:
    if start == goal:
        return 0.0
    found = {start: 0}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for there in exits_of[here]:
            if there not in found:
                if there == goal:
                    return found[here] + 1.0
                found[there] = found[here] + 1
                queue.append(there)
    return math.inf


# What they run on.


def graph_files(folder: Path) -> tuple[Path, Path, str]:
    """The graph's two files, and what to call it."""
    data = os.environ.get("WAYWORD_DATA")
    if data and (Path(data) / "touchdown" / "graph" / "nodes.txt.gz").is_file():
        graph = Path(data) / "touchdown" / "graph"
        return graph / "nodes.txt.gz", graph / "links.txt.gz", "Touchdown's graph"
    return *make_grid(folder), "a generated grid"


def make_grid(folder: Path, side: int = 30, row: int = 16) -> tuple[Path, Path]:
    """A grid of ``side`` by ``side`` junctions with ``row`` panoramas on every block between."""
    rng = random.Random(0)
    bends = random.Random(1)
    names: dict[Any, str] = {}

    def name(key: Any) -> str:
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        return names.setdefault(key, "".join(rng.choices(alphabet, k=22)))

    links: dict[str, list[str]] = {}
    for x in range(side):
        for y in range(side):
            name((x, y))
            for dx, dy, ahead in ((1, 0, 90), (0, 1, 0)):
                if x + dx < side and y + dy < side:
                    middle = [(x, y, dx, i) for i in range(row)]
                    block = [name(key) for key in [(x, y), *middle, (x + dx, y + dy)]]
                    heading = ahead
                    for here, there in pairwise(block):
                        heading = (heading + bends.choice(BENDS)) % 360
                        links.setdefault(here, []).append(f"{here},{heading},{there}\n")
                        back = f"{there},{(heading + 180) % 360},{here}\n"
                        links.setdefault(there, []).append(back)
    nodes = folder / "nodes.txt.gz"
    edges = folder / "links.txt.gz"
    lines = [
        f"{panorama},0,40.7{i:05d},-73.9{i:05d},seen\n"
        for i, panorama in enumerate(names.values())
    ]
    nodes.write_bytes(gzip.compress("".join(lines).encode()))
    ordered = ["".join(links[panorama]) for panorama in names.values()]
    edges.write_bytes(gzip.compress("".join(ordered).encode()))
    return nodes, edges


@dataclass(frozen=True)
class Walk:
    """A route, and an actor that follows it up to some point; states of a navigator."""

    episode: Episode
    words: list[str]
    states: list[int]
    route: list[int]


def walks(navigator: Navigator, count: int = TRAJECTORIES) -> list[Walk]:
    """Routes of 40 moves, and walks, half of which turn around somewhere on the way."""
    rng = random.Random(1)
    graph = navigator.graph
    made = list[Walk]()
    while len(made) < count:
        panorama = rng.randrange(len(graph))
        if graph.degree(panorama) == 0:
            continue
        heading = rng.choice(graph.exits(panorama))[0]
        start = navigator.start(panorama, heading)
        words, route = stroll(rng, navigator, [], [start], LENGTH)
        states = route
        if rng.random() < 0.5:
            turn = rng.randrange(len(words))
            words = [*words[:turn], "turn_around"]
            states = route[: turn + 1]
            states.append(navigator.step(states[-1], "turn_around"))
            words, states = stroll(rng, navigator, words, states, LENGTH)
        at = {"panorama": graph.ids[panorama], "heading": heading}
        made.append(
            Walk(Episode(str(len(made)), "Go.", graph.name, at), words, states, route)
        )
    return made


def stroll(
    rng: random.Random,
    navigator: Navigator,
    words: list[str],
    states: list[int],
    length: int,
) -> tuple[list[str], list[int]]:
    """Words and states with more of them: forward, sometimes a turn at a junction."""
    words = list(words)
    states = list(states)
    while len(words) < length:
        exits = navigator.graph.degree(navigator.panoramas[states[-1]])
        if exits < 2 and words and words[-1] != "turn_around":
            break
        words.append(rng.choice(WALK) if exits > 2 else "forward")
        states.append(navigator.step(states[-1], words[-1]))
    return words, states


# The races.


def loading(nodes: Path, links: Path, cache: Path, rows: Rows) -> None:
    plain = least(lambda: PlainStreets(nodes, links))

    def forget() -> None:
        for stored in cache.glob("*"):
            stored.unlink()

    cold = least(lambda: load(nodes, links, cache), before=forget)
    warm = least(lambda: load(nodes, links, cache))
    named = least(lambda: load(nodes, links, cache).index)
    print(f"  load: plain {1e3 * plain:.1f} ms, with look-up by name {1e3 * named:.2f}")
    rows.add("load_cold", plain / cold, at_least=5)
    rows.add("load_warm", plain / warm, at_least=150)


def distances(nodes: Path, links: Path, cache: Path, rows: Rows) -> None:
    graph = load(nodes, links, cache)
    exits_of: PlainWays = {
        name: [graph.ids[to] for _, to in graph.exits(number)]
        for number, name in enumerate(graph.ids)
    }
    place = (navigator := Navigator(graph)).panoramas
    pairs = [
        (place[walk.states[-1]], place[walk.route[-1]]) for walk in walks(navigator)
    ]
    starts = [start for start, _ in pairs]
    goals = [goal for _, goal in pairs]
    named = [(graph.ids[start], graph.ids[goal]) for start, goal in pairs]

    def plainly() -> list[float]:
        return [plain_hops(exits_of, start, goal) for start, goal in named]

    plain = least(plainly)
    first = least(lambda: graph.hops(starts, goals), rounds=1)
    known = least(lambda: graph.hops(starts, goals))
    again = least(lambda: load(nodes, links, cache).hops(starts, goals))
    assert graph.hops(starts, goals).tolist() == plainly()
    print(f"  spd: plain {1e3 * plain:.1f} ms for {TRAJECTORIES} pairs")
    print(f"    the very first time {first:.2f} s")
    rows.add("spd", plain / known, at_least=120)
    rows.add("spd_from_disk", plain / again, at_least=12)


class PlainNavigator:
    """A navigator as the released one works: the next state is computed at every step."""

    def __init__(
        self, exits_of: dict[str, dict[int, str]], panorama: str, heading: int
    ) -> None:
        self.exits_of = exits_of
        self.states = [(panorama, heading)]
        self.path = [panorama]
        self.actions: list[str] = []

    def executed(self, word: str) -> str:
        if word not in WORDS:
            raise ValueError(word)
        exits = len(self.exits_of[self.states[-1][0]])
        if exits <= 1 and word not in ("stop", "turn_around"):
            return "stop"
        return "forward" if exits == 2 and word in ("left", "right") else word

    def step(self, word: str) -> None:
        word = self.executed(word)
        state = self.next(word)
        self.actions.append(word)
        if state[0] != self.path[-1]:
            self.path.append(state[0])
        self.states.append(state)

    def next(self, word: str) -> tuple[str, int]:
        panorama, heading = self.states[-1]
        around = self.exits_of[panorama]
        if word == "stop":
            return panorama, heading
        if word == "forward" and heading in around:
            return around[heading], heading
        if word == "turn_around":
            return panorama, nearest((heading - 180) % 360, list(around))
        before = self.states[-2][0] if len(self.states) > 1 else panorama
        if len(around) == 2:
            facing = nearest(heading, list(around))
        else:
            facing = self.at_junction(word, heading, around, before, before != panorama)
        return (around[facing], facing) if word == "forward" else (panorama, facing)

    def at_junction(
        self,
        word: str,
        heading: int,
        around: dict[int, str],
        before: str,
        arrived: bool,
    ) -> int:
        out = list(around)
        ahead = heading
        if arrived:
            out = [way for way in out if around[way] != before]
            out.sort(key=lambda way: (way - heading + 179) % 360)
            half = len(out) // 2
            if len(out) % 2:
                ahead = out[half]
            else:
                ahead = nearest(heading, out[half - 1 : half + 1])
            if len(around) == 3 and word != "forward":
                return out[0] if word == "left" else out[-1]
        if word == "forward":
            return ahead
        side = -1 if word == "left" else 1
        others = [way for way in out if way != ahead]
        return min(others, key=lambda way: side * (way - ahead) % 360)


def nearest(heading: int, headings: list[int]) -> int:
    return min(headings, key=lambda way: 180 - abs(abs(heading - way) - 180))


def stepping(nodes: Path, links: Path, cache: Path, rows: Rows) -> None:
    graph = load(nodes, links, cache)
    exits_of = {
        name: {heading: graph.ids[to] for heading, to in graph.exits(number)}
        for number, name in enumerate(graph.ids)
    }
    made = walks(Navigator(graph))
    actions = {word: Action(word) for word in WORDS}
    chosen = [[actions[word] for word in walk.words] for walk in made]
    steps = sum(map(len, chosen))

    ends: list[str] = []

    def plainly() -> float:
        spent = 0.0
        ends.clear()
        for walk in made:
            start = walk.episode.start
            navigator = PlainNavigator(exits_of, start["panorama"], start["heading"])
            began = time.thread_time()
            for word in walk.words:
                navigator.step(word)
            spent += time.thread_time() - began
            ends.append(navigator.path[-1])
        return spent

    def in_worlds(navigator: Navigator) -> float:
        spent = 0.0
        for walk, todo, end in zip(made, chosen, ends, strict=True):
            world = StreetWorld(navigator, "released")
            world.reset(walk.episode)
            step = world.step
            began = time.thread_time()
            for action in todo:
                step("agent", action)
            spent += time.thread_time() - began
            assert world.pose("agent")["panorama"] == end, (
                "the navigators went different ways"
            )
        return spent

    rounds = []
    for _ in range(3 * ROUNDS):
        navigator = Navigator(graph)
        rounds.append((plainly(), in_worlds(navigator), in_worlds(navigator)))
    plain = median(plain for plain, _, _ in rounds)
    first = median(plain / first for plain, first, _ in rounds)
    fresh = median(plain / again for plain, _, again in rounds)
    print(f"  steps: plain {1e6 * plain / steps:.2f} us a step, {len(made)} episodes")
    rows.add("step", fresh, at_least=6)
    rows.add("step_first_visit", first, at_least=0.85)
    rows.add("step_of_dictionary", long_walk(Navigator(graph)), at_most=1.5)


def long_walk(navigator: Navigator) -> float:
    """Time of steps in one world, as a multiple of looking them up in a dictionary."""
    graph = navigator.graph
    rng = random.Random(2)
    start = next(i for i in range(len(graph)) if graph.degree(i) > 2)
    words = [rng.choice((*WALK, "turn_around")) for _ in range(STEPS)]
    actions = {word: Action(word) for word in set(words)}
    chosen = [actions[word] for word in words]
    world = StreetWorld(navigator)
    table = dict[tuple[int, str], int]()
    episode = Episode(
        "1", "Go.", graph.name, {"panorama": graph.ids[start], "heading": 0}
    )

    def walk() -> None:
        world.reset(episode)
        step = world.step
        for action in chosen:
            step("agent", action)

    state = navigator.start(start, 0)
    for word in words:
        table[state, word] = after = navigator.step(state, word)
        state = after

    def bare() -> None:
        state = navigator.start(start, 0)
        for word in words:
            state = table[state, word]

    walk()
    return least(walk) / least(bare)


def plain_scores(
    streets: PlainStreets, walk: list[str], route: list[str]
) -> tuple[float, float, float]:
    """TC, SPD and KPA of one walk, as the released scorer computes them."""

    def key_points(path: list[str]) -> list[object]:
        turns = [
            step for step in pairwise(path) if len(streets.nodes[step[0]].neighbors) > 2
        ]
        return [*path[:2], *turns] if len(path) > 1 else []

    near = [*nx.all_neighbors(streets.graph, route[-1]), route[-1]]
    spd = nx.dijkstra_path_length(streets.graph, walk[-1], route[-1])
    due = key_points(route)
    done = key_points(walk)
    reached = walk[-1] in near
    return float(reached), spd, (len({*due} & {*done}) + reached) / (len(due) + 1)


def scoring(nodes: Path, links: Path, cache: Path, rows: Rows) -> None:
    load(nodes, links, cache).hops([0], [0])  # computed once for all processes
    streets = PlainStreets(nodes, links)
    graph = load(nodes, links, cache)
    place = (navigator := Navigator(graph)).panoramas
    dataset = cast("Dataset", SimpleNamespace(graph=lambda _: graph))
    scorer = StreetScorer()
    pairs = []
    for walk in walks(navigator):
        along, route = (
            [
                graph.ids[number]
                for number, _ in groupby(place[state] for state in states)
            ]
            for states in (walk.states, walk.route)
        )
        reference = PathReference(walk.episode.id, tuple(route))
        trajectory = trajectory_from_places(walk.episode.id, along, "panorama")
        pairs.append(((Task(walk.episode, reference), trajectory), along, route))

    def plainly() -> list[tuple[float, float, float]]:
        return [plain_scores(streets, along, route) for _, along, route in pairs]

    def ours() -> list[dict[str, float]]:
        return [scorer.score(dataset, [pair])[0] for pair, _, _ in pairs]

    def aligned() -> None:
        for _, along, route in pairs:
            if along != route:
                walked = [graph.index[name] for name in along]
                dtw(graph.hops.table(walked, [graph.index[name] for name in route]))

    first = least(ours, rounds=1)
    expected = plainly()
    for scores, values in zip(ours(), expected, strict=True):
        assert (scores["tc"], scores["spd"], scores["kpa_released"]) == values
    plain = least(plainly, rounds=3)
    scored = least(ours, rounds=3)
    alignment = least(aligned, rounds=3)
    print(f"  scores: plain {1e6 * plain / len(pairs):.0f} us a walk, without nDTW")
    rows.add("score_first_800", plain / first, at_least=1)
    rows.add("score", plain / scored, at_least=2)
    rows.add("score_without_ndtw", plain / (scored - alignment), at_least=4)


def main() -> int:
    rows = Rows("street")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        nodes, links, called = graph_files(folder)
        cache = folder / "cache"
        print(f"street: {called}")
        for race in (loading, distances, stepping, scoring):
            race(nodes, links, cache, rows)
    return rows.exit_code()


if __name__ == "__main__":
    sys.exit(main())
