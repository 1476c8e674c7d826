"""Scenes and episodes as arrays, and many walks at once over them.

A :class:`Scenes` holds every viewpoint of a list of scenes, numbered through; an
:class:`Episodes` the instructions and goals on them; a :class:`WalkBatch` a batch of episodes under
way. All is numpy; no world is stepped.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.agents.baselines.imitation import (
    FEATURES,
    LONGEST,
    Floats,
    Ints,
    encode,
    features,
    object_words,
    tokenize,
)
from wayword.core.episode import PathReference
from wayword.core.errors import UsageError
from wayword.core.geometry import sector

SECTORS = 8
MIRROR = np.ones(FEATURES, dtype=np.float32)
MIRROR[[0, 2, 8, 12]] = -1
"""Signs of an option's features once left and right are swapped (sines, the right offset)."""
HELD_OUT = 10
"""Train scenes that are kept for choices."""


@dataclass(frozen=True)
class Texts:
    """The words of viewpoints before they are numbered: captions and objects by sector."""

    captions: list[list[list[str]]]
    objects: list[list[list[str]]]
    summaries: list[list[str]]


@dataclass(frozen=True)
class Scenes:
    """N viewpoints of several scenes with at most K ways each.

    ``ends`` (N, K) viewpoints, -1 for none; ``ways`` (N, K, 3) heading and elevation (radians) and
    length (metres); ``sectors`` (N, K); ``places`` (N, 3) metres. ``scene`` (N,) is the scene's
    number, ``first`` (S + 1,) the first viewpoint of each scene, ``distances`` one (n, n) array of
    geodesic metres a scene.
    """

    names: tuple[str, ...]
    index: Mapping[tuple[str, str], int]
    ends: Ints
    ways: Floats
    sectors: Ints
    places: Floats
    scene: Ints
    first: Ints
    distances: list[Floats]
    texts: Texts


@dataclass(frozen=True)
class Episodes:
    """E episodes: ``words``, and viewpoints ``start`` and ``goal`` (E,), ``facing`` in radians."""

    ids: list[str]
    words: list[list[str]]
    start: Ints
    goal: Ints
    facing: Floats

    def some(self, chosen: NDArray[Any]) -> Episodes:
        """The episodes of those numbers."""
        ids = [self.ids[n] for n in chosen.tolist()]
        told = [self.words[n] for n in chosen.tolist()]
        return Episodes(
            ids, told, self.start[chosen], self.goal[chosen], self.facing[chosen]
        )


def read_scenes(
    datasets: Sequence[tuple[Any, Sequence[str]]], most_ways: int = 14
) -> Scenes:
    """The viewpoints of indoor datasets, each given with the names of its scenes."""
    index: dict[tuple[str, str], int] = {}
    texts = Texts([], [], [])
    rows: list[tuple[int, int, int, float, float, float, int]] = []
    names: list[str] = []
    places = []
    scene = []
    first = [0]
    distances = []
    for dataset, wanted in datasets:
        perceiver = dataset.perceiver()
        for name in wanted:
            graph = dataset.graph(name)
            for viewpoint in graph.ids:
                index[name, viewpoint] = len(index)
            for viewpoint in graph.ids:
                here = index[name, viewpoint]
                for slot, way in enumerate(graph.neighbors(viewpoint)[:most_ways]):
                    pose = (
                        np.radians(way.heading),
                        np.radians(way.elevation),
                        way.distance,
                    )
                    side = sector(way.heading, SECTORS)
                    rows.append((here, slot, index[name, way.viewpoint], *pose, side))
                _tell(texts, perceiver.perceive(name, viewpoint))
            places.append(graph.positions.astype(np.float32))
            distances.append(graph.distances.astype(np.float32))
            scene += [len(names)] * len(graph.ids)
            names.append(name)
            first.append(len(index))
    slots = max(row[1] for row in rows) + 1
    ends = np.full((len(index), slots), -1, dtype=np.int64)
    ways = np.zeros((len(index), slots, 3), dtype=np.float32)
    sides = np.zeros((len(index), slots), dtype=np.int64)
    for here, slot, end, heading, elevation, length, side in rows:
        ends[here, slot], sides[here, slot] = end, side
        ways[here, slot] = heading, elevation, length
    return Scenes(
        tuple(names),
        index,
        ends,
        ways,
        sides,
        np.concatenate(places),
        np.array(scene),
        np.array(first),
        distances,
        texts,
    )


def _tell(texts: Texts, percept: Any) -> None:
    texts.captions.append([tokenize(part.caption) for part in percept.sectors])
    texts.objects.append([object_words(part) for part in percept.sectors])
    texts.summaries.append(tokenize(percept.summary))


def read_episodes(scenes: Scenes, tasks: Iterable[Any]) -> Episodes:
    """The episodes of tasks whose goals are known."""
    ids = []
    told = []
    start = []
    goal = []
    facing = []
    for task in tasks:
        episode = task.episode
        reference = task.reference
        if not isinstance(reference, PathReference):
            continue
        ids.append(episode.id)
        told.append(tokenize(episode.instruction))
        start.append(scenes.index[episode.scene, episode.start["viewpoint"]])
        goal.append(scenes.index[episode.scene, reference.goal])
        facing.append(np.radians(float(episode.start.get("heading", 0.0))))
    radians = np.array(facing, dtype=np.float32)
    return Episodes(ids, told, np.array(start), np.array(goal), radians)


def draw_homes(homes: Any) -> list[Any]:
    """The episodes of every house, as many paths as each one has."""
    found = []
    for number in range(homes.settings.houses):
        for path in range(12):
            try:
                picked = [
                    number + homes.settings.houses * (3 * path + w) for w in range(3)
                ]
                found += [homes.task(n) for n in picked]
            except UsageError:  # the house has fewer paths
                break
    return found


def split_parts(
    scenes: Scenes, episodes: Episodes, names: list[str]
) -> dict[str, NDArray[Any]]:
    """Train, the two held-out parts, the generated houses and a twentieth of those for choices."""
    draw = random.Random("held out")
    away = set(draw.sample(names, HELD_OUT)) if names else set()
    parts: dict[str, list[int]] = {
        part: [] for part in ("train", "dev_seen", "dev_unseen", "homes", "dev_homes")
    }
    for number, (name, start) in enumerate(
        zip(episodes.ids, episodes.start.tolist(), strict=True)
    ):
        scene = scenes.names[scenes.scene[start]]
        path = random.Random(f"path {name.rsplit('_', 1)[0]}").random()
        if scene not in names:
            part = "dev_homes" if random.Random(scene).random() < 0.06 else "homes"
        elif scene in away:
            part = "dev_unseen"
        else:
            part = "dev_seen" if path < 0.05 else "train"
        parts[part].append(number)
    return {part: np.array(numbers, dtype=np.int64) for part, numbers in parts.items()}


def make_vocabulary(
    scenes: Scenes, episodes: Episodes, chosen: NDArray[Any]
) -> dict[str, int]:
    """Words of the instructions (3 or more times) and of what is seen (8 or more), numbered."""
    said = Counter(
        word for number in chosen.tolist() for word in episodes.words[number]
    )
    seen: Counter[str] = Counter()
    allowed = set(scenes.scene[episodes.start[chosen]].tolist())
    for here, number in enumerate(scenes.scene.tolist()):
        if number in allowed:
            for side in (*scenes.texts.captions[here], *scenes.texts.objects[here]):
                seen.update(side)
    kept = {w for w, n in said.items() if n >= 3} | {
        w for w, n in seen.items() if n >= 8
    }
    return {"": 0, "?": 1} | {word: n for n, word in enumerate(sorted(kept), 2)}


def swap_sides(vocabulary: Mapping[str, int]) -> Ints:
    """The number of each word (V,) after left and right are swapped."""
    found = np.arange(len(vocabulary))
    for word, number in vocabulary.items():
        for side, other in (("left", "right"), ("right", "left")):
            if word.startswith(side):  # lefthand, rightmost
                found[number] = vocabulary.get(other + word[len(side) :], number)
    return found


def number_texts(scenes: Scenes, vocabulary: Mapping[str, int]) -> dict[str, Ints]:
    """Word numbers: captions (N, 8, C), objects (N, 8, O), summary (N, S); 0 for no word."""

    def table(rows: list[list[str]], kind: str) -> Ints:
        found = np.zeros((len(rows), LONGEST[kind]), dtype=np.int64)
        for row, text in enumerate(rows):
            known = encode(text, vocabulary, kind)
            found[row, : len(known)] = known
        return found[:, : max(1, int((found > 0).sum(1).max()))]

    captions = table(
        [text for sides in scenes.texts.captions for text in sides], "caption"
    )
    objects = table(
        [text for sides in scenes.texts.objects for text in sides], "objects"
    )
    return {
        "captions": captions.reshape(-1, SECTORS, captions.shape[1]),
        "objects": objects.reshape(-1, SECTORS, objects.shape[1]),
        "summary": table(scenes.texts.summaries, "summary"),
    }


class WalkBatch:
    """A batch of B episodes under way, all at the same step.

    Option 0 is stopping, option k + 1 the k-th way of the viewpoint.
    """

    def __init__(self, scenes: Scenes, episodes: Episodes) -> None:
        self.scenes = scenes
        self.episodes = episodes
        self.here = episodes.start.copy()
        self.facing = episodes.facing.copy()
        self.before = np.full(len(self.here), -1)
        self.step = 0
        self.trail = [self.here.copy()]
        count = scenes.scene[self.here]
        self._first = scenes.first[count]
        goal = episodes.goal - self._first
        widest = max(len(scenes.distances[n]) for n in count.tolist())
        self.to_goal = np.full((len(self.here), widest), np.inf, dtype=np.float32)
        for row, (n, end) in enumerate(zip(count.tolist(), goal.tolist(), strict=True)):
            metres = scenes.distances[n][:, end]
            self.to_goal[row, : len(metres)] = metres

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Go on with these walks alone."""
        self.episodes = self.episodes.some(np.flatnonzero(rows))
        self.here = self.here[rows]
        self.facing = self.facing[rows]
        self.before = self.before[rows]
        self.trail = [places[rows] for places in self.trail]
        self._first = self._first[rows]
        self.to_goal = self.to_goal[rows]

    def remaining(self) -> Floats:
        """(B,) geodesic metres to the goal."""
        left: Floats = self.to_goal[np.arange(len(self.here)), self.here - self._first]
        return left

    def observe(self) -> dict[str, Any]:
        """What there is to choose from.

        ``legal`` (B, 1 + K), ``rows`` (B, 1 + K) sectors, 8 for stopping, and ``geometry``
        (B, 1 + K, 14).
        """
        scenes = self.scenes
        here = self.here
        ends = scenes.ends[here]
        legal = ends >= 0
        slots = max(1, int(legal.sum(1).max()))
        ends = ends[:, :slots]
        legal = legal[:, :slots]
        ways = scenes.ways[here, :slots]
        start = scenes.places[self.trail[0]][:, None]
        offset = np.where(
            legal[..., None], scenes.places[np.maximum(ends, 0)] - start, 0
        )
        trail = np.stack(self.trail, axis=1)
        visited = (ends[..., None] == trail[:, None, :]).any(-1)
        memory = np.stack([visited, ends == self.before[:, None]], -1).astype(
            np.float32
        )
        again = (trail[:, :-1] == here[:, None]).any(-1).astype(np.float32)
        stay = np.stack([again, np.zeros_like(again)], -1)[:, None]
        offset = np.concatenate([scenes.places[here][:, None] - start, offset], 1)
        memory = np.concatenate([stay, memory], 1)
        ways = np.concatenate([np.zeros_like(ways[:, :1]), ways], 1)
        geometry = features(
            ways[..., 0],
            ways[..., 1],
            ways[..., 2],
            self.facing[:, None],
            self.episodes.facing[:, None],
            offset,
            memory,
            self.step,
        )
        return {
            "legal": np.concatenate([np.ones((len(here), 1), bool), legal], 1),
            "rows": np.concatenate(
                [np.full((len(here), 1), SECTORS), scenes.sectors[here, :slots]], 1
            ),
            "geometry": geometry,
        }

    def expert(self) -> Ints:
        """(B,) the option of a shortest path to the goal: 0 at the goal."""
        ends = self.scenes.ends[self.here]
        rows = np.arange(len(self.here))[:, None]
        beyond = self.to_goal[rows, np.maximum(ends - self._first[:, None], 0)]
        cost = np.where(ends >= 0, self.scenes.ways[self.here][..., 2] + beyond, np.inf)
        return np.where(self.here == self.episodes.goal, 0, cost.argmin(1) + 1)

    def move(self, options: Ints, going: NDArray[np.bool_]) -> None:
        """Take an option each; those not ``going``, or that stop, stay where they are."""
        moving = going & (options > 0)
        slot = np.maximum(options - 1, 0)
        rows = np.arange(len(self.here))
        ends = self.scenes.ends[self.here]
        ways = self.scenes.ways[self.here]
        self.before = np.where(moving, self.here, self.before)
        self.here = np.where(moving, ends[rows, slot], self.here)
        self.facing = np.where(moving, ways[rows, slot, 0], self.facing)
        self.step += 1
        self.trail.append(self.here.copy())


@dataclass(frozen=True)
class Packed:
    """The options of all steps of B walks side by side: P of them at most, T steps.

    ``geometry`` (B, P, 14); ``place`` and ``row`` (B, P) say whose texts; ``step`` (B, P), -1 for
    no option. ``taken`` and ``standing`` (B, T) are the positions of the option taken and of
    stopping, ``answer`` (B, T) the expert's option, -1 where the walk is over, ``left`` (B, T) the
    metres to the goal; ``cell`` (B, P) where each option's score stands in a (T, Q) table.
    """

    geometry: Floats
    place: Ints
    row: Ints
    step: Ints
    taken: Ints
    standing: Ints
    answer: Ints
    left: Floats
    cell: Ints
    options: int


def pack(
    walks: WalkBatch, plan: Ints, noise: NDArray[Any], rng: np.random.Generator
) -> Packed:
    """Walk to the goal, or to the end of ``plan`` (B, T), and lay out all options on the way.

    Where the plan holds -1 the expert leads, and with the chance ``noise`` (B,) any way is taken.
    """
    count, most = plan.shape
    width = walks.scenes.ends.shape[1] + 1
    legal = np.zeros((count, most, width), bool)
    rows = np.zeros((count, most, width), dtype=np.int64)
    geometry = np.zeros((count, most, width, 14), dtype=np.float32)
    places = np.zeros((count, most), dtype=np.int64)
    chosen = np.zeros((count, most), dtype=np.int64)
    answers = np.full((count, most), -1, dtype=np.int64)
    left = np.zeros((count, most), dtype=np.float32)
    going = np.ones(count, bool)
    steps = 0
    for step in range(most):
        seen = walks.observe()
        answer = walks.expert()
        slots = seen["legal"].shape[1]
        legal[:, step, :slots] = seen["legal"] & going[:, None]
        rows[:, step, :slots], geometry[:, step, :slots] = (
            seen["rows"],
            seen["geometry"],
        )
        places[:, step] = walks.here
        answers[going, step], left[:, step] = answer[going], walks.remaining()
        draw = rng.random((count, slots)) * seen["legal"]
        draw[:, 0] = 0
        led = np.where(rng.random(count) < noise, draw.argmax(1), answer)
        options = np.where(plan[:, step] >= 0, plan[:, step], led)
        options = np.where(answer == 0, 0, options)
        chosen[:, step] = options
        steps = step + 1
        walks.move(options, going)
        going = going & (options > 0)
        if not going.any():
            break
    labels = answers[:, :steps], left[:, :steps]
    return _packed(legal[:, :steps], rows, geometry, places, chosen, *labels)


def _packed(
    legal: NDArray[np.bool_],
    rows: Ints,
    geometry: Floats,
    places: Ints,
    chosen: Ints,
    answers: Ints,
    left: Floats,
) -> Packed:
    count, steps, width = legal.shape
    walk, step, option = np.nonzero(legal)
    each = legal.sum((1, 2))
    position = np.arange(len(walk)) - np.repeat(np.cumsum(each) - each, each)
    most = int(each.max())
    where = np.zeros(legal.shape, dtype=np.int64)
    where[walk, step, option] = position

    def table(values: NDArray[Any], empty: int) -> Ints:
        found = np.full((count, most), empty, dtype=np.int64)
        found[walk, position] = values
        return found

    numbers = np.zeros((count, most, geometry.shape[-1]), dtype=np.float32)
    numbers[walk, position] = geometry[walk, step, option]
    return Packed(
        numbers,
        table(places[walk, step], 0),
        table(rows[walk, step, option], 0),
        table(step, -1),
        np.take_along_axis(where, chosen[:, :steps, None], 2)[..., 0],
        where[..., 0],
        answers,
        left,
        table(step * width + option, steps * width),
        width,
    )
