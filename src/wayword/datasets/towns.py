"""Generated towns with instructions: street navigation without data, pictures or an API key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate
from random import Random
from typing import Annotated, Literal

from annotated_types import Ge, Le

from wayword.core.dataset import (
    INDEPENDENT,
    DrawnItems,
    DrawnTasks,
    SolvableWalks,
    Task,
    Training,
)
from wayword.core.episode import Episode, Extra, PathReference
from wayword.core.errors import UsageError
from wayword.core.perceiver import Sighting
from wayword.core.visible import plural
from wayword.datasets.procedural.tables import Table, Wording, choose_sentence
from wayword.datasets.procedural.towns import town as plans
from wayword.datasets.procedural.towns.routes import (
    Ending,
    Passed,
    TownLeg,
    TownRoute,
    find_routes,
)
from wayword.datasets.procedural.towns.scene import TownPainter
from wayword.datasets.procedural.towns.town import LIGHT, Town, TownPerceiver
from wayword.settings import Checked, Count
from wayword.worlds import street
from wayword.worlds.street.graph import StreetGraph
from wayword.worlds.street.moves import Navigator
from wayword.worlds.street.world import StreetWorld

WORDS: Mapping[str, tuple[str, ...]] = Table("sentences", "towns")
TURNS: Mapping[str, tuple[str, ...]] = Table("sentences", "towns_turns")
"""Turn -> its wordings."""
ORDINALS = ("", "first", "second", "third", "fourth", "fifth")
NUMBERS = ("no", "one", "two", "three", "four", "five")
# Chances that an instruction mentions each, if possible.
LIGHT_SHARE = 0.7
CORNER_SHARE = 0.6
CORNER_SIDE_SHARE = 0.7
PASSED_SHARE = 0.55


@dataclass
class TownInstruction:
    """An instruction and the landmarks it names, in order.

    ``parts``: index of the first sentence of each leg, then of the sentence on junctions after the
    last turn (if any), then of the sentence on where to stop.
    """

    sentences: list[str] = field(default_factory=list)
    landmarks: list[str] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The instruction as one text."""
        return " ".join(self.sentences)

    @property
    def begins(self) -> list[int]:
        """Character offset of each part."""
        lengths = [len(sentence) + 1 for sentence in self.sentences]  # with a blank
        return [sum(lengths[:part]) for part in self.parts]

    def name(self, landmark: str) -> str:
        """Record a landmark as mentioned and return its name."""
        if landmark not in self.landmarks:
            self.landmarks.append(landmark)
        return landmark


def write_instruction(
    scene: str, route: TownRoute, wording: Wording = 2
) -> TownInstruction:
    """Write the instruction of a route; deterministic."""
    rng = Random(f"words/{scene}/{route.path[0]}/{route.path[-1]}")
    text = TownInstruction()
    for leg in route.legs:
        text.parts.append(len(text.sentences))
        text.sentences += _passed_text(rng, text, leg.passed)
        text.sentences.append(_write_turn(rng, text, leg))
    # The ending has a sentence on junctions, if it crosses any, and one on where to stop.
    text.parts.append(len(text.sentences))
    if route.ending.junctions:
        text.parts.append(len(text.sentences) + 1)
    text.sentences += _write_ending(rng, text, route.ending, wording)
    return text


def _write_turn(rng: Random, text: TownInstruction, leg: TownLeg) -> str:
    """Write a turn's sentence: ``At …`` and the turn, or ``Go …`` and the turn.

    Adds the names that it uses to ``text``. Which sentences there are depends on the junction's
    number; one of them is drawn, each equally likely.
    """
    turn = rng.choice(TURNS[leg.turn])

    # The junction is counted by lights or by intersections.
    kind = "intersection"
    count = leg.junction_number
    if leg.light_number and rng.random() < LIGHT_SHARE:
        kind = "light"
        count = leg.light_number
        text.name(LIGHT)
    if count == 1:
        ats = [f"At the next {kind}", f"At the first {kind} you come to"]
        go_texts = [f"Go to the next {kind}", f"Head straight to the {kind}"]
        if kind == "intersection":
            go_texts.append("Go to the end of the block")
    else:
        others = count - 1
        through = f"{NUMBERS[others]} {kind if others == 1 else plural(kind)}"
        ats = [
            f"At the {ORDINALS[count]} {kind}",
            f"Go through {through}, and at the next one",
        ]
        go_texts = [f"Walk straight to the {ORDINALS[count]} {kind}"]
    pick = rng.randrange(len(ats) + len(go_texts))

    # A landmark on its corner.
    corner = ""
    if leg.corner is not None and rng.random() < CORNER_SHARE:
        place = "the corner"
        if rng.random() < CORNER_SIDE_SHARE:
            place = f"the {leg.corner.side} corner"
        corner = f", with {text.name(leg.corner.name)} on {place},"
    if pick < len(ats):
        return f"{ats[pick]}{corner} {turn}."
    return f"{go_texts[pick - len(ats)]}{corner} and {turn}."


def _passed_text(
    rng: Random, text: TownInstruction, passed: Sequence[Passed]
) -> list[str]:
    """Write a sentence on up to two of the landmarks passed, in order."""
    chosen = [landmark for landmark in passed if rng.random() < PASSED_SHARE][:2]
    if not chosen:
        return []
    sides = [f"{text.name(mark.name)} on the {mark.side}" for mark in chosen]
    verb = rng.choice(("Pass", "Go past", "Walk past"))
    return [f"{verb} {' and then '.join(sides)}."]


def _write_ending(
    rng: Random,
    text: TownInstruction,
    ending: Ending,
    wording: Wording,
) -> list[str]:
    """Write the sentences on the way to the goal, where to stop, and what is too far."""
    lines = []
    if ending.beside is None:
        steps = NUMBERS[ending.steps]
        stops = (f"Take {steps} steps and stop.", f"Stop after {steps} steps.")
        lines.append(rng.choice(stops))
    else:
        if ending.junctions:
            lines.append(_crossing_text(rng, text, ending))
        else:
            lines += _passed_text(rng, text, ending.passed)
        stop = rng.choice(WORDS["stops"]).format(text.name(ending.beside.name))
        lines.append(f"{stop} on your {ending.beside.side}.")
    if ending.too_far:
        warning = choose_sentence(rng, WORDS["too_far"], wording)
        lines.append(warning.format(text.name(ending.too_far)))
    return lines


def _crossing_text(rng: Random, text: TownInstruction, ending: Ending) -> str:
    """Write the sentence on the junctions crossed after the last turn."""
    kind = "intersection"
    if ending.lights == ending.junctions and rng.random() < LIGHT_SHARE:
        kind = "light"
        text.name(LIGHT)
    span = "the next"
    if ending.junctions > 1:
        span = f"the next {NUMBERS[ending.junctions]}"
        kind = plural(kind)
    verb = rng.choice(("Go", "Continue", "Walk"))
    return f"{verb} straight through {span} {kind}."


# The dataset itself.

MOST_ROUTES = 40  # per town; a town of the default size has at least as many
CACHED = 64  # towns; an evicted one is rebuilt identically on demand


@dataclass(frozen=True)
class TownsSettings(Checked):
    """``size``: corners per side. ``episodes`` are spread evenly over the towns.

    ``transition``: transition function; gold paths are made for ``modified``. ``length``: actions
    per gold path including stop; 0: as generated, 14 to 50. ``wording``: version of the
    instructions; 1 is that of bench 2026.
    """

    towns: Count = 20
    episodes: Count = 200
    seed: int = 0
    size: Annotated[int, Ge(plans.SMALLEST), Le(plans.LARGEST)] = 6
    transition: Literal["modified", "original", "paper"] = "modified"
    length: Literal[0] | Annotated[int, Ge(4), Le(256)] = 0
    wording: Wording = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.episodes > (limit := self.towns * MOST_ROUTES):
            problem = f"episodes must be at most {limit:,} in {self.towns:,} towns"
            raise UsageError(
                f"{problem}, got {self.episodes:,}; lower it or raise towns"
            )


class _CachedTown:
    """A town and the routes generated so far."""

    def __init__(self, scene: str, length: int) -> None:
        self.town = plans.build_town(scene)
        self._routes = DrawnItems(find_routes(self.town, length))

    def route(self, number: int) -> TownRoute:
        """Return a route of the town by number. Raises ``UsageError`` if the town has
        too few."""
        route = self._routes.get(number)
        if route is None:
            problem = f"{self.town.scene} has no {number + 1} routes"
            raise UsageError(f"{problem}; raise dataset.size")
        return route

    @cached_property
    def sights(self) -> Mapping[str, tuple[Sighting, ...]]:
        """Landmarks in sight from each panorama."""
        return plans.in_sight(self.town)


class Towns(SolvableWalks):
    """Generated towns: junctions of three to five streets, landmarks, and described routes.

        >>> towns = Towns("test", None, Towns.Settings(towns=2, episodes=6))
        >>> task = towns.tasks[0]
        >>> len(task.reference.path) > 10, task.episode.extra["opening"]
        (True, ['forward'])

    An episode starts in the middle of a street, facing along its route. As in Map2seq, the first
    forward action is given (``episode.extra["opening"]``), and ``episode.extra["landmarks"]`` lists
    the landmarks in the instruction, in order. Panoramas are about ten metres apart; routes take 14
    to 50 actions, make one to four turns, and are at most a third longer than the shortest path.
    An episode id means the same for any number of towns and episodes.

    The perceiver never errs, instructions are correct by construction, and the vocabulary is
    small: scores show whether an agent can follow and count, not how it performs in a real city.
    """

    Settings = TownsSettings
    family = street.family
    clusters = INDEPENDENT
    splits = ("test", "train")
    max_steps = 55
    settings: TownsSettings

    def open(self) -> None:
        """Prepare caches: a town is drawn once and shared by its episodes."""
        length = self.settings.length
        self._cached_town = lru_cache(maxsize=CACHED)(
            lambda scene: _CachedTown(scene, length)
        )
        self._cached_navigator = lru_cache(maxsize=CACHED)(
            lambda scene: Navigator(self.graph(scene), self.settings.transition)
        )
        self._painter = TownPainter(self.town)
        self._perceiver = TownPerceiver(lambda scene: self._cached_town(scene).sights)

    @property
    def tasks(self) -> Sequence[Task]:
        """Tasks of the split, drawn on demand; those of one town are grouped if not all
        fit the cache."""
        scenes = None if self.settings.towns <= CACHED else self._scene_of
        return DrawnTasks(
            self.settings.episodes,
            self.task,
            self._id,
            scenes,
        )

    def _scene_of(self, number: int) -> str:
        """Return the town of an episode's number."""
        return self.scene(number % self.settings.towns)

    def _id(self, number: int) -> str:
        """Return an episode's id: town, length and number of the route."""
        length = f"_l{self.settings.length}" if self.settings.length else ""
        return f"{self._scene_of(number)}{length}_{number // self.settings.towns}"

    def task(self, number: int) -> Task:
        """Return the task of a number: routes are spread evenly over the towns."""
        count, town = divmod(number, self.settings.towns)
        scene = self.scene(town)
        route = self._cached_town(scene).route(count)
        text = write_instruction(scene, route, self.settings.wording)
        start = {"panorama": route.path[0], "heading": route.heading}
        extra: Extra = {
            **self.budget(),
            "opening": ["forward"],
            "landmarks": list(text.landmarks),
        }
        episode = Episode(
            self._id(number),
            text.text,
            scene,
            start,
            extra=extra,
        )
        return Task(episode, PathReference(episode.id, route.path))

    def scene(self, number: int) -> str:
        """Return the name of a town, from which it is drawn."""
        return plans.scene_name(
            self.split, self.settings.seed, self.settings.size, number
        )

    def town(self, scene: str) -> Town:
        """Return a generated town; cached."""
        return self._cached_town(scene).town

    def route(self, scene: str, number: int) -> TownRoute:
        """Return a route of a town, with the facts its instruction must state."""
        return self._cached_town(scene).route(number)

    def narrated(self, task: Task) -> Sequence[tuple[int, int]]:
        """Return, for each part of the instruction, its character offset and the path index of its
        end: a turn's junction, the last junction crossed, the goal."""
        scene = task.episode.scene
        number = task.episode.id.rpartition("_")[2]
        route = self.route(scene, int(number))
        town = self.town(scene)
        index = town.graph.index
        junctions = [
            i for i, name in enumerate(route.path) if town.is_junction(index[name])
        ]
        counts = [leg.junction_number for leg in route.legs]
        if route.ending.junctions:
            counts.append(route.ending.junctions)
        ends = [junctions[so_far - 1] for so_far in accumulate(counts)]
        text = write_instruction(scene, route, self.settings.wording)
        return list(zip(text.begins, [*ends, len(route.path) - 1], strict=True))

    def graph(self, scene: str) -> StreetGraph:
        """Return the street graph of a town."""
        return self._cached_town(scene).town.graph

    def world(self, episode: Episode) -> StreetWorld:
        """Return a walk in the episode's town."""
        return StreetWorld(self._cached_navigator(episode.scene))

    def painter(self) -> TownPainter:
        """Return the painter of the towns, which builds a town when it is first drawn."""
        return self._painter

    def perceiver(self) -> TownPerceiver:
        """Return landmarks in sight, from the ground truth of the towns."""
        return self._perceiver

    def training(self) -> Training:
        """Return tasks to learn from: towns of the train split."""
        return Training(self._training, self._training.tasks)

    @cached_property
    def _training(self) -> Towns:
        """Train split of the same settings."""
        return self if self.split == "train" else Towns("train", None, self.settings)


dataset = Towns
