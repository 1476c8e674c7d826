"""The street graph: loading, hop distances and world steps against plain Python, in one run.

* *Load*: gzipped text against a plain loader that fills a dictionary of lists line by line and
  refuses what we refuse (unknown panoramas, headings that are no numbers, two links with one
  heading). First load, cache written: once a graph, at most twice as long, and within 0.5 s. From
  the cache: at least 30 times as fast, and within 10 ms; the dictionary from names to numbers is
  made at the first look-up by name, which is timed apart.
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
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, cast

import networkx as nx

from wayword.core.action import Action
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, PathReference
from wayword.metrics.predictions import trajectory_from_places
from wayword.metrics.street import StreetScorer, dtw
from wayword.worlds.street.graph import load
from wayword.worlds.street.moves import WORDS, Navigator
from wayword.worlds.street.world import StreetWorld

ROUNDS, TRAJECTORIES, STEPS, LENGTH = 7, 800, 400_000, 40
LOADED, CACHED, KNOWN, FRESH, FIRST, SCORED, MEASURED = 0.5, 30, 60, 5, 0.85, 1, 2.5
"""Bounds, as ratios. FIRST: as fast as the plain navigator, less what a busy machine adds."""
WALK = ("forward",) * 8 + ("left", "right")
"""What perturbed walkers do, each as likely as another."""

PlainGraph = dict[str, list[tuple[int, str]]]

# The plain versions.


def plain_load(
    nodes: Path, links: Path
) -> tuple[PlainGraph, dict[str, tuple[Any, ...]]]:
    places: dict[str, tuple[Any, ...]] = {}
    ways: PlainGraph = {}
    with gzip.open(nodes, "rt") as lines:
        for line in lines:
            panorama, yaw, lat, lng, area = line.rstrip("\n").split(",")
            if panorama in places:
                raise ValueError(line)
            places[panorama] = (float(yaw), float(lat), float(lng), area)
            ways[panorama] = []
    with gzip.open(links, "rt") as lines:
        for line in lines:
            start, heading, end = line.rstrip("\n").split(",")
            degrees = float(heading)
            if end not in places or not math.isfinite(degrees):
                raise ValueError(line)
            around = ways[start]
            whole = round(degrees) % 360
            if any(whole == taken for taken, _ in around):
                raise ValueError(line)
            around.append((whole, end))
    return ways, places


def plain_hops(ways: PlainGraph, start: str, goal: str) -> float:
    if start == goal:
        return 0.0
    found = {start: 0}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for _, there in ways[here]:
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
    names: dict[Any, str] = {}

    def name(key: Any) -> str:
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        return names.setdefault(key, "".join(rng.choices(alphabet, k=22)))

    links: dict[str, list[str]] = {}
    for x in range(side):
        for y in range(side):
            name((x, y))
            for dx, dy, heading in ((1, 0, 90), (0, 1, 0)):
                if x + dx < side and y + dy < side:
                    middle = [(x, y, dx, i) for i in range(row)]
                    block = [name(key) for key in [(x, y), *middle, (x + dx, y + dy)]]
                    for here, there in pairwise(block):
                        links.setdefault(here, []).append(f"{here},{heading},{there}\n")
                        back = f"{there},{heading + 180},{here}\n"
                        links.setdefault(there, []).append(back)
    nodes, edges = folder / "nodes.txt.gz", folder / "links.txt.gz"
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
    rng, graph, made = random.Random(1), navigator.graph, list[Walk]()
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
            words, states = [*words[:turn], "turn_around"], route[: turn + 1]
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
    words, states = list(words), list(states)
    while len(words) < length:
        exits = navigator.graph.degree(navigator.panoramas[states[-1]])
        if exits < 2 and words and words[-1] != "turn_around":
            break
        words.append(rng.choice(WALK) if exits > 2 else "forward")
        states.append(navigator.step(states[-1], words[-1]))
    return words, states


# The races.


def best(work: Callable[[], Any], before: Callable[[], Any] = lambda: None) -> float:
    """The least processor seconds of a few rounds, which a busy machine does not add to."""
    least = math.inf
    for _ in range(ROUNDS):
        before()
        began = time.process_time()
        work()
        least = min(least, time.process_time() - began)
    return least


def loading(nodes: Path, links: Path, cache: Path) -> bool:
    plain = best(lambda: plain_load(nodes, links))

    def forget() -> None:
        for stored in cache.glob("*"):
            stored.unlink()

    once = best(lambda: load(nodes, links, cache), forget)
    again = best(lambda: load(nodes, links, cache))
    named = best(lambda: load(nodes, links, cache).index)
    print(f"  load     plain {1e3 * plain:6.1f} ms")
    print(
        f"    first  {1e3 * once:6.1f} ms: {plain / once:6.1f} times as fast, bound {LOADED}"
    )
    print(
        f"    cached {1e3 * again:6.2f} ms: {plain / again:6.1f} times as fast, bound {CACHED}"
    )
    print(
        f"    cached, with look-up by name {1e3 * named:.2f} ms: {plain / named:.1f} times"
    )
    fast = plain / once >= LOADED and plain / again >= CACHED
    return fast and once <= 0.5 and again <= 0.01


def distances(nodes: Path, links: Path, cache: Path) -> bool:
    graph = load(nodes, links, cache)
    ways, _ = plain_load(nodes, links)
    place = (navigator := Navigator(graph)).panoramas
    pairs = [
        (place[walk.states[-1]], place[walk.route[-1]]) for walk in walks(navigator)
    ]
    starts, goals = [start for start, _ in pairs], [goal for _, goal in pairs]
    named = [(graph.ids[start], graph.ids[goal]) for start, goal in pairs]
    began = time.process_time()
    ours = graph.hops(starts, goals).tolist()
    whole = time.process_time() - began
    theirs = [plain_hops(ways, start, goal) for start, goal in named]
    plain = best(lambda: [plain_hops(ways, start, goal) for start, goal in named])
    warm = best(lambda: graph.hops(starts, goals))
    mean = sum(theirs) / len(theirs)
    print(
        f"  spd      plain {1e3 * plain:6.1f} ms for {TRAJECTORIES} pairs, {mean:.1f} links apart"
    )
    print(
        f"    known  {1e3 * warm:6.2f} ms: {plain / warm:6.1f} times as fast, bound {KNOWN}"
    )
    print(f"    the first time {1e3 * whole:.0f} ms")
    if ours != theirs:
        print("    the distances disagree")
    return ours == theirs and plain / warm >= KNOWN


class PlainNavigator:
    """A navigator as the released one works: the next state is computed at every step."""

    def __init__(
        self, ways: dict[str, dict[int, str]], panorama: str, heading: int
    ) -> None:
        self.ways = ways
        self.states = [(panorama, heading)]
        self.path = [panorama]
        self.actions: list[str] = []

    def executed(self, word: str) -> str:
        if word not in WORDS:
            raise ValueError(word)
        exits = len(self.ways[self.states[-1][0]])
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
        around = self.ways[panorama]
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
        out, ahead = list(around), heading
        if arrived:
            out = [way for way in out if around[way] != before]
            out.sort(key=lambda way: (way - heading + 179) % 360)
            half = len(out) // 2
            ahead = (
                out[half]
                if len(out) % 2
                else nearest(heading, out[half - 1 : half + 1])
            )
            if len(around) == 3 and word != "forward":
                return out[0] if word == "left" else out[-1]
        if word == "forward":
            return ahead
        side = -1 if word == "left" else 1
        others = [way for way in out if way != ahead]
        return min(others, key=lambda way: side * (way - ahead) % 360)


def nearest(heading: int, ways: list[int]) -> int:
    return min(ways, key=lambda way: 180 - abs(abs(heading - way) - 180))


def stepping(nodes: Path, links: Path, cache: Path) -> bool:
    graph = load(nodes, links, cache)
    ways = {
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
            navigator = PlainNavigator(ways, start["panorama"], start["heading"])
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
            step, began = world.step, time.thread_time()
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
    print(f"  steps    plain {1e6 * plain / steps:.2f} us a step, {len(made)} episodes")
    print(f"    new world, known graph {fresh:6.2f} times as fast, bound {FRESH}")
    print(f"    first visits           {first:6.2f} times as fast, bound {FIRST}")
    return long_walk(Navigator(graph)) and fresh >= FRESH and first >= FIRST


def long_walk(navigator: Navigator) -> bool:
    graph, rng = navigator.graph, random.Random(2)
    start = next(i for i in range(len(graph)) if graph.degree(i) > 2)
    words = [rng.choice((*WALK, "turn_around")) for _ in range(STEPS)]
    actions = {word: Action(word) for word in set(words)}
    chosen = [actions[word] for word in words]
    world, table = StreetWorld(navigator), dict[tuple[int, str], int]()
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
    in_world, plain = (STEPS / best(work) for work in (walk, bare))
    print(
        f"    one world: {in_world:,.0f} a second, bound 500,000 or 1.5 of a bare dictionary "
        f"({plain:,.0f})"
    )
    return in_world >= 500_000 or plain / in_world <= 1.5


def plain_scores(
    graph: Any, walk: list[str], route: list[str]
) -> tuple[float, float, float]:
    """TC, SPD and KPA of one walk, as the released scorer computes them."""

    def key_points(path: list[str]) -> list[object]:
        turns = [step for step in pairwise(path) if graph.out_degree(step[0]) > 2]
        return [*path[:2], *turns] if len(path) > 1 else []

    near = [*nx.all_neighbors(graph, route[-1]), route[-1]]
    spd = nx.dijkstra_path_length(graph, walk[-1], route[-1])
    due, done, reached = key_points(route), key_points(walk), walk[-1] in near
    return float(reached), spd, (len({*due} & {*done}) + reached) / (len(due) + 1)


def scoring(nodes: Path, links: Path, cache: Path) -> bool:
    graph, plain_graph = load(nodes, links, cache), nx.DiGraph()
    for number, name in enumerate(graph.ids):
        plain_graph.add_edges_from(
            (name, graph.ids[to]) for _, to in graph.exits(number)
        )
    place = (navigator := Navigator(graph)).panoramas
    dataset, scorer = (
        cast("Dataset", SimpleNamespace(graph=lambda _: graph)),
        StreetScorer(),
    )
    pairs = []
    for walk in walks(navigator, 300):
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
    scorer.score(dataset, [pair for pair, _, _ in pairs])
    plain = ours = aligned = 0.0
    for pair, along, route in pairs * 3:
        began = time.thread_time()
        expected = plain_scores(plain_graph, along, route)
        plain += time.thread_time() - began
        began = time.thread_time()
        (scores,) = scorer.score(dataset, [pair])
        ours += time.thread_time() - began
        walked, due = (
            [graph.index[name] for name in names] for names in (along, route)
        )
        began = time.thread_time()
        dtw(graph.hops.table(walked, due))
        aligned += time.thread_time() - began
        assert tuple(scores[key] for key in ("tc", "spd", "kpa_released")) == expected
    without = plain / (ours - aligned)
    print(
        f"  scores   plain {1e6 * plain / len(pairs) / 3:.0f} us an episode, without nDTW"
    )
    print(f"    with nDTW    {plain / ours:5.2f} times as fast, bound {SCORED}")
    print(f"    without nDTW {without:5.2f} times as fast, bound {MEASURED}")
    return plain / ours >= SCORED and without >= MEASURED


def main() -> int:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        nodes, links, called = graph_files(folder)
        cache = folder / "cache"
        size = len(load(nodes, links, cache))
        print(f"street: {called}, {size:,} panoramas")
        results = [
            race(nodes, links, cache)
            for race in (loading, distances, stepping, scoring)
        ]
    print(f"street: {'ok' if all(results) else 'FAILED'}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
