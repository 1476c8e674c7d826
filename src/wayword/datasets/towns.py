"""Generated towns with instructions: street navigation without data, pictures or a key."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate, islice
from pathlib import Path
from typing import ClassVar, Literal

from wayword.core.dataset import DrawnTasks, SolvableWalks, Task, Training
from wayword.core.episode import Episode, PathReference
from wayword.core.errors import UsageError
from wayword.core.world import Family
from wayword.datasets.procedural.tables import Table
from wayword.datasets.procedural.towns.routes import (
    Ending,
    Passed,
    TownLeg,
    TownRoute,
    find_routes,
)
from wayword.datasets.procedural.towns.town import (
    LARGEST,
    LIGHT,
    SMALLEST,
    LandmarkInSight,
    Town,
    TownPerceiver,
    build_town,
    in_sight,
    scene_name,
)
from wayword.worlds import street
from wayword.worlds.street.graph import StreetGraph
from wayword.worlds.street.moves import Navigator
from wayword.worlds.street.world import StreetWorld

WORDS: Mapping[str, tuple[str, ...]] = Table("sentences", "towns")
TURNS: Mapping[str, tuple[str, ...]] = Table("sentences", "towns_turns")
ORDINALS = ("", "first", "second", "third", "fourth", "fifth")
NUMBERS = ("no", "one", "two", "three", "four", "five")
COUNT_LIGHTS, NAME_CORNER, NAME_PASSED = 0.7, 0.6, 0.55


@dataclass(slots=True)
class TownInstruction:
    """An instruction, and the landmarks it names, in order.

    ``parts``: the sentence that each leg begins with, then the crossing of junctions after the last
    turn, where it is told, then where to stop.
    """

    sentences: list[str] = field(default_factory=list)
    landmarks: list[str] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(self.sentences)

    @property
    def begins(self) -> list[int]:
        """The character at which each of the parts begins."""
        return [sum(len(one) + 1 for one in self.sentences[:part]) for part in self.parts]

    def name(self, landmark: str) -> str:
        """Note a landmark, and give its name back."""
        if landmark not in self.landmarks:
            self.landmarks.append(landmark)
        return landmark


def instruct(scene: str, route: TownRoute) -> TownInstruction:
    """The instruction of a route, the same whenever it is asked for."""
    rng = random.Random(f"words/{scene}/{route.path[0]}/{route.path[-1]}")
    told = TownInstruction()
    for leg in route.legs:
        told.parts.append(len(told.sentences))
        told.sentences += _leg(rng, told, leg)
    told.parts += [len(told.sentences) + n for n in range(2 if route.ending.junctions else 1)]
    told.sentences += _ending(rng, told, route.ending)
    return told


def _leg(rng: random.Random, told: TownInstruction, leg: TownLeg) -> list[str]:
    before = _passing(rng, told, leg.passed)
    turn = rng.choice(TURNS[leg.turn])
    by_light = bool(leg.light) and rng.random() < COUNT_LIGHTS
    count, kind = (leg.light, "light") if by_light else (leg.junction, "intersection")
    if by_light:
        told.name(LIGHT)
    where, on = _where(rng, count, kind)
    corner = _corner(rng, told, leg.corner)
    if where:
        line = f"{where}{corner}{',' if corner else ''} {turn}."
    else:
        line = f"{on}{corner}{',' if corner else ''} and {turn}."
    return [*before, line]


def _where(rng: random.Random, count: int, kind: str) -> tuple[str, str]:
    """How the junction is found: ``At …``, to be followed by the turn, or ``Go …`` and the turn."""
    if count == 1:
        ats = [f"At the next {kind}", f"At the first {kind} you come to"]
        goes = [f"Go to the next {kind}", f"Head straight to the {kind}"]
        if kind == "intersection":
            goes.append("Go to the end of the block")
    else:
        through = f"{NUMBERS[count - 1]} {kind}{'s' if count > 2 else ''}"
        ats = [f"At the {ORDINALS[count]} {kind}", f"Go through {through}, and at the next one"]
        goes = [f"Walk straight to the {ORDINALS[count]} {kind}"]
    pick = rng.randrange(len(ats) + len(goes))
    return (ats[pick], "") if pick < len(ats) else ("", goes[pick - len(ats)])


def _corner(rng: random.Random, told: TownInstruction, corner: Passed | None) -> str:
    if corner is None or rng.random() >= NAME_CORNER:
        return ""
    side = f" on the {corner.side} corner" if rng.random() < 0.7 else " on the corner"
    return f", with {told.name(corner.name)}{side}"


def _passing(rng: random.Random, told: TownInstruction, passed: Sequence[Passed]) -> list[str]:
    """At most two of the landmarks on the way, in order."""
    chosen = [each for each in passed if rng.random() < NAME_PASSED][:2]
    if not chosen:
        return []
    first, *rest = [f"{told.name(each.name)} on the {each.side}" for each in chosen]
    verb = rng.choice(("Pass", "Go past", "Walk past"))
    return [f"{verb} {first}{' and then ' + rest[0] if rest else ''}."]


def _ending(rng: random.Random, told: TownInstruction, ending: Ending) -> list[str]:
    if ending.beside is None:
        steps = NUMBERS[ending.steps]
        line = rng.choice((f"Take {steps} steps and stop.", f"Stop after {steps} steps."))
        return [line, *_too_far(rng, told, ending)]
    lines = []
    if ending.junctions:
        lit = ending.lights == ending.junctions and rng.random() < COUNT_LIGHTS
        if lit:
            told.name(LIGHT)
        kind = ("light" if lit else "intersection") + ("s" if ending.junctions > 1 else "")
        many = "the next" if ending.junctions == 1 else f"the next {NUMBERS[ending.junctions]}"
        lines.append(f"{rng.choice(('Go', 'Continue', 'Walk'))} straight through {many} {kind}.")
    else:
        lines += _passing(rng, told, ending.passed)
    stop = rng.choice(WORDS["stops"]).format(told.name(ending.beside.name))
    lines.append(f"{stop} on your {ending.beside.side}.")
    return lines + _too_far(rng, told, ending)


def _too_far(rng: random.Random, told: TownInstruction, ending: Ending) -> list[str]:
    if not ending.too_far:
        return []
    return [rng.choice(WORDS["too_far"]).format(told.name(ending.too_far))]


# The dataset itself.

MOST_ROUTES = 40
KEPT = 64
"""Towns held in memory at a time; one left out is built again, the same, when asked for."""


@dataclass(frozen=True)
class TownsSettings:
    """``size`` counts the corners along a side. ``episodes`` are dealt out evenly over the towns.

    ``transition`` says how actions move. Instructions and gold paths are made for ``modified``;
    under ``original`` the same paths take other actions.
    """

    towns: int = 20
    episodes: int = 200
    seed: int = 0
    size: int = 6
    transition: Literal["modified", "original", "paper"] = "modified"

    def __post_init__(self) -> None:
        if self.towns < 1 or self.episodes < 1:
            raise UsageError("towns: the settings towns and episodes must be at least 1")
        if not SMALLEST <= self.size <= LARGEST:
            raise UsageError(f"towns: size={self.size} must lie between {SMALLEST} and {LARGEST}")
        if self.episodes > self.towns * MOST_ROUTES:
            raise UsageError(
                f"towns: {self.towns} towns have at most {self.towns * MOST_ROUTES} episodes; "
                f"ask for fewer than {self.episodes}, or for more towns"
            )


@dataclass(eq=False)
class _KnownTown:
    """A town with what has been worked out of it so far."""

    town: Town
    _source: Iterator[TownRoute]
    _routes: list[TownRoute]

    def route(self, number: int) -> TownRoute:
        self._routes += islice(self._source, max(0, number + 1 - len(self._routes)))
        if number >= len(self._routes):
            raise UsageError(
                f"{self.town.scene} has only {len(self._routes)} routes; ask for larger towns"
            )
        return self._routes[number]

    @cached_property
    def sights(self) -> Mapping[str, tuple[LandmarkInSight, ...]]:
        return in_sight(self.town)


class Towns(SolvableWalks):
    """Generated towns: junctions of three to five ways, landmarks, and routes told by them.

        >>> towns = Towns("test", None, Towns.Settings(towns=2, episodes=6))
        >>> task = towns.tasks[0]
        >>> len(task.reference.path) > 10, task.episode.extra["opening"]
        (True, ['forward'])

    An episode starts midway along a street, facing along its route, and runs as Map2seq's do: the
    first forward is given (``episode.extra["opening"]``), and ``episode.extra["landmarks"]`` lists
    what the instruction names, in order. A panorama stands about every ten metres; routes take 14
    to 50 actions, make one to four turns, and are at most a third longer than the shortest way.
    The first episodes of a split lie in different towns. A scene's name says all there is to it,
    so an episode's id means the same for any number of towns and episodes. Test and train towns
    come from different streams.

    The perceiver knows what can be seen and never errs, instructions are right by construction,
    and the vocabulary is small: scores here say whether an agent can follow and count, not how it
    fares in a real city.
    """

    Settings: ClassVar[type[TownsSettings]] = TownsSettings
    family: ClassVar[Family] = street.family
    splits: ClassVar[tuple[str, ...]] = ("test", "train")
    max_steps: ClassVar[int] = 55
    settings: TownsSettings

    def __init__(
        self, split: str = "", folder: Path | None = None, settings: TownsSettings | None = None
    ) -> None:
        super().__init__(split, folder, settings)
        self._place = lru_cache(maxsize=KEPT)(_open)
        self._navigator = lru_cache(maxsize=KEPT)(self._make_navigator)
        self._perceiver = TownPerceiver(lambda scene: self._place(scene).sights)

    @property
    def tasks(self) -> Sequence[Task]:
        scenes = None if self.settings.towns <= KEPT else self._scene_of
        return DrawnTasks(self.settings.episodes, self.task, self._id, scenes)

    def _scene_of(self, number: int) -> str:
        return self.scene(number % self.settings.towns)

    def _id(self, number: int) -> str:
        return f"{self._scene_of(number)}_{number // self.settings.towns}"

    def task(self, number: int) -> Task:
        """The task of that number, towns in turn."""
        count, town = divmod(number, self.settings.towns)
        scene = self.scene(town)
        route = self._place(scene).route(count)
        told = instruct(scene, route)
        episode = Episode(
            self._id(number),
            told.text,
            scene,
            {"panorama": route.path[0], "heading": route.heading},
            extra={"opening": ["forward"], "landmarks": list(told.landmarks)},
        )
        return Task(episode, PathReference(episode.id, route.path))

    def scene(self, number: int) -> str:
        """The name of a town."""
        return scene_name(self.split, self.settings.seed, self.settings.size, number)

    def town(self, scene: str) -> Town:
        """The town itself: streets, panoramas, landmarks."""
        return self._place(scene).town

    def route(self, scene: str, number: int) -> TownRoute:
        """A route of a town, with what its instruction must say."""
        return self._place(scene).route(number)

    def narrated(self, task: Task) -> Sequence[tuple[int, int]]:
        """For each part of the instruction, the character where its words begin, and the path index
        of its end: a turn's junction, the last junction crossed, the goal."""
        scene, _, number = task.episode.id.rpartition("_")
        place = self._place(scene)
        route, graph = place.route(int(number)), place.town.graph
        crossed = [i for i, name in enumerate(route.path) if place.town.junction(graph.index[name])]
        counts = [leg.junction for leg in route.legs]
        counts += [route.ending.junctions] if route.ending.junctions else []
        ends = [crossed[so_far - 1] for so_far in accumulate(counts)]
        begins = instruct(scene, route).begins
        return list(zip(begins, [*ends, len(route.path) - 1], strict=True))

    def graph(self, scene: str) -> StreetGraph:
        """The street graph of a town; it lies where the equator meets the prime meridian."""
        return self._place(scene).town.graph

    def world(self, episode: Episode) -> StreetWorld:
        return StreetWorld(self._navigator(episode.scene))

    def perceiver(self) -> TownPerceiver:
        """What can be seen, as sectors and as landmark scores."""
        return self._perceiver

    def training(self) -> Training:
        return Training(self._training, self._training.tasks)

    @cached_property
    def _training(self) -> Towns:
        return self if self.split == "train" else Towns("train", None, self.settings)

    def _make_navigator(self, scene: str) -> Navigator:
        town = self._place(scene).town
        if self.settings.transition == "modified":
            return town.navigator
        return Navigator(town.graph, self.settings.transition)


def _open(scene: str) -> _KnownTown:
    town = build_town(scene)
    return _KnownTown(town, find_routes(town), [])


dataset = Towns
