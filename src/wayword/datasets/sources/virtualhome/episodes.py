"""C-WAH's episodes in published homes: those logged, as they are, and activities drawn anew.

A home's graph holds what lies about in it. In ``logs`` everything is as published. In ``homes`` the
goals are C-WAH's hundred (``env_to_pred``), in turn; the home is one of the fourteen, in turn; and
the things they ask for lie where Watch-And-Help's placing rules for that home allow
(``object_info``), as its own script does it: all of those types are taken away, as many as the goal
asks for and up to two more are laid out again.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from wayword.core.dataset import Task
from wayword.core.episode import Episode, Json
from wayword.core.errors import DataError, UsageError
from wayword.core.files import find, read_json
from wayword.datasets.procedural.homes.episodes import Case
from wayword.datasets.procedural.homes.jobs import (
    BOOK,
    DISHES,
    FOOD,
    FRIDGE,
    PURPOSES,
    TABLE,
    listed,
    whole,
)
from wayword.datasets.procedural.homes.jobs import poses as drawn_poses
from wayword.datasets.procedural.homes.objects import Arrangement
from wayword.datasets.sources.virtualhome.files import (
    OUT_OF_REACH,
    SIT,
    Graph,
    Predicate,
    condition,
    counted,
    graph_of,
    predicates,
    spoken,
    trimmed_of,
)
from wayword.datasets.sources.virtualhome.house import Imported, import_home, reachable
from wayword.worlds.household.goals import GoalCondition, Held, HouseholdReference, Inside
from wayword.worlds.household.layout import nearest_place
from wayword.worlds.household.scene import HouseObject, Scene

LOGS = (
    *("logs_agent_2_put_fridge", "logs_agent_2_read_book", "logs_agent_2_setup_table"),
    *("logs_agent_3_put_fridge", "logs_agent_3_setup_table", "logs_agent_5_put_fridge"),
)
CWAH = "cwah_log_agent_0_read_book"
HOMES = tuple(f"{kind}TestScene{n}" for n in range(1, 8) for kind in ("", "Trimmed"))
"""The published graphs."""
EXTRA = 2
TRIES = 8
RULES = {"kitchencabinet": "kitchencabinets"}
"""Class in the placing rules -> class in the graphs, where they differ."""
HIDING = frozenset(
    (
        *("bathroomcabinet", "kitchencabinets", "cabinet", "fridge", "stove", "dishwasher"),
        *("microwave", "bench", "chair", "coffeetable", "desk", "kitchencounter"),
        *("kitchentable", "nightstand", "sofa"),
    )
)
"""Where things of a goal are laid: C-WAH's short lists of containers and surfaces."""


class Files:
    """The files of one data folder, read when asked for and kept."""

    def __init__(self, folder: Path | None) -> None:
        if folder is None:
            raise UsageError("ma_wah: this split reads published files; give their folder (--data)")
        self._folder = folder / "virtualhome"
        self.read: dict[str, Path] = {}

    def json(self, name: str) -> Json:
        """A file's content, by its path without ``.gz``."""
        return _json(_version(self.path(name)))

    def path(self, name: str) -> Path:
        """Where a file is. Raises ``DataError`` where it is not."""
        path = find(self._folder, name)
        self.read[name] = path
        return path

    def home(self, name: str) -> Imported:
        """One of the fourteen homes."""
        path, full = self.graphs(name)
        return _imported(name, _version(path), _version(full) if full else None)

    def graphs(self, name: str) -> tuple[Path, Path | None]:
        """A home's graph, and of a trimmed one the full one."""
        path = self.path(f"example_graphs/{name}_graph.json")
        if not name.startswith("Trimmed"):
            return path, None
        return path, self.path(f"example_graphs/{name.removeprefix('Trimmed')}_graph.json")


class _Version(NamedTuple):
    """A file as it stands now: where it really lies, and when it was changed (ns)."""

    path: Path
    changed: int


def _version(path: Path) -> _Version:
    """By this a file is remembered, so that folders that link to the same files share them."""
    real = path.resolve()
    return _Version(real, real.stat().st_mtime_ns)


@lru_cache(maxsize=32)
def _json(file: _Version) -> Json:
    return read_json(file.path)


@lru_cache(maxsize=16)
def _graph(file: _Version) -> Graph:
    """A full graph: both the home and its trimmed variant read it."""
    return graph_of(read_json(file.path), file.path)


@lru_cache(maxsize=32)
def _imported(name: str, file: _Version, full: _Version | None) -> Imported:
    if full is None:
        return import_home(name, _graph(file), str(file.path))
    graph = trimmed_of(read_json(file.path), _graph(full), file.path)
    return import_home(name, graph, str(file.path))


@lru_cache(maxsize=16)
def _logged(name: str, file: _Version) -> Imported:
    record, path = _json(file), file.path
    if not isinstance(record, dict) or "init_unity_graph" not in record:
        raise DataError(path, "", "has no field 'init_unity_graph'", "fetch the file again")
    return import_home(name, graph_of(record["init_unity_graph"], path), str(path))


class Logs:
    """The logged episodes."""

    def __init__(self, files: Files, actors: tuple[str, ...]) -> None:
        self._files, self._actors = files, actors
        self._names = [*(f"wah_logs/{name}.json" for name in LOGS), f"{CWAH}.json"]
        self.count = len(self._names)

    def look(self) -> None:
        """Find every file that is read. Raises ``DataError`` where one is missing."""
        for name in self._names:
            self._files.path(name)

    def case(self, number: int, causes: Counter[str]) -> Case | None:
        """An episode; None where it cannot be played. Adds to ``causes`` what is left out."""
        file = self._names[number]
        version = _version(self._files.path(file))
        record = _json(version)
        name = Path(file).stem
        home = _logged(name, version)
        asked = predicates(record.get("gt_goals") or record.get("goals") or {})
        places = {p: home.thing(int(p.place)) if p.place.isdigit() else None for p in asked}
        goals = read_goals(asked, home.home.scene, places, causes)
        if goals is None or not within_reach(home, home.home.scene, goals):
            causes[f"episode: {OUT_OF_REACH}"] += goals is not None
            return None
        kind = str(record.get("task_name", ""))
        rng = random.Random(name)
        start = {"scene": name, "poses": _starts(home, record, rng, self._actors)}
        text = say(rng, kind, asked, places, home, self._actors)
        episode = Episode(name, text, name, start, self._actors)
        reference = HouseholdReference(name, kind, tuple(goals))
        return Case(Task(episode, reference), home.home, home.home.scene)


def _starts(
    home: Imported, record: Mapping[str, Json], rng: random.Random, actors: Sequence[str]
) -> dict[str, Json]:
    """The published places where a body fits near them, drawn ones for the rest."""
    drawn = dict(drawn_poses(rng, home.home, actors))
    taken: list[tuple[float, float]] = []
    for actor, at in zip(actors, (record.get("init_pos") or {}).values(), strict=False):
        if not at:
            continue
        shut = [True] * len(home.home.layout.doors)
        x, y = float(at[0]), float(at[2])
        near = nearest_place(home.home.layout, 0.2, (x, y), shut)
        free = near is not None and near_any(near, home.home.starts)
        if near is not None and free and all(_apart(near, other) for other in taken):
            drawn[actor] = {"x": near[0], "y": near[1], "heading": drawn[actor]["heading"]}
            taken.append(near)
    return drawn


def near_any(at: tuple[float, float], places: Sequence[tuple[float, float]]) -> bool:
    """Whether a place is beside one from which all rooms are in reach."""
    return any(abs(at[0] - x) < 0.25 and abs(at[1] - y) < 0.25 for x, y in places)


def _apart(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return (one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2 > 0.5**2


class Drawn:
    """C-WAH's goals over the published homes; see the module's docstring."""

    def __init__(self, files: Files, actors: tuple[str, ...], count: int, seed: int) -> None:
        self._files, self._actors, self.count, self._seed = files, actors, count, seed

    def look(self) -> None:
        """As of ``Logs``."""
        for number in range(min(self.count, len(HOMES))):
            name = HOMES[number]
            self._files.path("wah_dataset/env_to_pred.json")
            self._files.graphs(name)
            self._files.path(f"wah_dataset/object_info{name[-1]}.json")
            self._files.path("wah_dataset/class_name_size.json")

    def case(self, number: int, causes: Counter[str]) -> Case | None:
        """As of ``Logs``."""
        goals = list(self._files.json("wah_dataset/env_to_pred.json").values())
        asked = predicates(goals[number * 37 % len(goals)])  # kinds of goals come in blocks of 20
        name = HOMES[number % len(HOMES)]
        home = self._files.home(name)
        rules = self._files.json(f"wah_dataset/object_info{name[-1]}.json")
        tried: Counter[str] = Counter()
        for attempt in range(TRIES):
            rng = random.Random(f"{self._seed}/{number}/{attempt}")
            tried = Counter()
            case = self._try(rng, number, home, asked, rules, tried)
            if case is not None:
                causes += tried
                return case
        causes += tried or Counter({f"episode: {OUT_OF_REACH}": 1})
        return None

    def _try(
        self,
        rng: random.Random,
        number: int,
        home: Imported,
        asked: list[Predicate],
        rules: Mapping[str, Json],
        causes: Counter[str],
    ) -> Case | None:
        places = {p: _place(home, p.place) for p in asked}
        made = Arrangement(home.home, {o.id: o for o in home.home.scene.objects})
        sizes = self._files.json("wah_dataset/class_name_size.json")
        for predicate in asked:
            if predicate.relation != "sit":
                lay_out(rng, made, predicate, places, rules, sizes)
        scene = made.scene()
        goals = read_goals(asked, scene, places, causes)
        if goals is None or not within_reach(home, scene, goals):
            return None
        kind = kind_of(asked)
        name = f"{home.home.name}_{kind}_{number}"
        start = {"scene": home.home.name, "poses": drawn_poses(rng, home.home, self._actors)}
        text = say(rng, kind, asked, places, home, self._actors)
        episode = Episode(name, text, home.home.name, start, self._actors)
        return Case(Task(episode, HouseholdReference(name, kind, tuple(goals))), home.home, scene)


def _place(home: Imported, kind: str) -> HouseObject | None:
    """The first piece of a class, as C-WAH's goals name one piece."""
    return next((o for o in home.home.scene.objects if o.type == kind), None)


def lay_out(
    rng: random.Random,
    made: Arrangement,
    predicate: Predicate,
    places: Mapping[Predicate, HouseObject | None],
    rules: Mapping[str, Json],
    sizes: Mapping[str, Json],
) -> None:
    """Take away all things of a type, and lay out enough of them anew."""
    for thing in made.of(predicate.thing):
        if "pickupable" in thing.affordances and not made.contents(thing.id):
            del made.objects[thing.id]
    goals = {place.type for place in places.values() if place is not None}
    allowed = {RULES.get(str(kind), str(kind)) for _, kind in rules.get(predicate.thing, ())}
    spots = [
        o
        for o in made.objects.values()
        if o.type in (allowed & HIDING) - goals and "pickupable" not in o.affordances
    ]
    if not spots:
        return
    wide, high, deep = (abs(float(v)) for v in sizes.get(predicate.thing, (0.1, 0.1, 0.1)))
    for number in range(1, predicate.count + rng.randint(0, EXTRA) + 1):
        name = f"{predicate.thing}|new{number}"
        thing = HouseObject(
            *(name, predicate.thing, 0.0, 0.0, wide, deep, 0.0, high),
            affordances=frozenset(("pickupable",)),
        )
        made.lay(rng, thing, rng.choice(spots))


def read_goals(
    asked: Sequence[Predicate],
    scene: Scene,
    places: Mapping[Predicate, HouseObject | None],
    causes: Counter[str],
) -> list[GoalCondition] | None:
    """The conditions; None where an episode cannot be had without one. Nobody sits down here, so
    a ``sit`` is left out and counted."""
    goals: list[GoalCondition] = []
    for predicate in asked:
        found = condition(predicate, scene, places[predicate])
        if not isinstance(found, str):
            goals.append(found)
            continue
        causes[f"{'predicate' if found == SIT else 'episode'}: {found}"] += 1
        if found != SIT:
            return None
    return goals or None


def within_reach(home: Imported, scene: Scene, goals: Sequence[GoalCondition]) -> bool:
    """Whether every thing and place of the goals can be seen and reached."""
    ids = {i for goal in goals if isinstance(goal, Inside | Held) for i in goal.things}
    ids |= {i for goal in goals if isinstance(goal, Inside) for i in goal.receptacles}
    layout = home.home.with_things(scene)
    start = home.home.starts[len(home.home.starts) // 2]
    return reachable(layout, start, sorted(ids)) == ids


def kind_of(asked: Sequence[Predicate]) -> str:
    """Which of C-WAH's five activities a set of predicates is."""
    places = {p.place for p in asked}
    if "dishwasher" in places:
        return DISHES
    if "fridge" in places:
        return FRIDGE
    if "coffeetable" in places or any(p.relation == "holds" for p in asked):
        return BOOK
    dishes = ("plate", "waterglass", "wineglass", "cutleryfork")
    return TABLE if all(p.thing in dishes for p in asked) else FOOD


def say(
    rng: random.Random,
    kind: str,
    asked: Sequence[Predicate],
    places: Mapping[Predicate, HouseObject | None],
    home: Imported,
    actors: Sequence[str],
) -> str:
    """The joint instruction."""
    laid = [p for p in asked if p.relation in ("on", "inside")]
    held = [p.thing for p in asked if p.relation == "holds"]
    parts = listed([counted(p.thing, p.count) for p in laid])
    place = places[laid[0]]
    assert place is not None, "goals without their place are left out"
    room = home.home.layout.room_at(place.x, place.y)
    alike = [
        o
        for o in home.home.scene.objects
        if o.type == place.type and home.home.layout.room_at(o.x, o.y) == room
    ]
    side = which(place, alike)
    where = f"{place.receptacle} the {side}{spoken(place.type)} in the {room}"
    return whole(rng.choice(PURPOSES[kind]), parts, where, held, actors)


def which(place: HouseObject, alike: Sequence[HouseObject]) -> str:
    """``northern`` (and a blank), where there are several of a type in a room; empty for one."""
    others = [o for o in alike if o.id != place.id]
    if not others:
        return ""
    east = [place.x - o.x for o in others]
    north = [place.y - o.y for o in others]
    sides = {
        "northern ": min(north),
        "southern ": -max(north),
        "eastern ": min(east),
        "western ": -max(east),
    }
    best = max(sides, key=lambda side: sides[side])
    return best if sides[best] > 0 else "middle "
