"""MA-WAH: household jobs that two or more actors do together, talking to each other.

Generated jobs have C-WAH's kinds and counts: three to five things in all, at most two of a type
(Zhang et al. 2023, arXiv:2307.02485, section 4.1). Homes made here have no dishwasher: the dishes
go into a sink. A book is read by holding it, as nobody sits down in this world.

In ``logs``, C-WAH's logged episodes, everything is as published. In ``homes`` the goals are C-WAH's
hundred (``env_to_pred``), in turn; the home is one of VirtualHome's fourteen, in turn; and the
things they ask for lie where Watch-And-Help's placing rules for that home allow (``object_info``),
as its own script does it: all of those types are taken away, as many as the goal asks for and up to
two more are laid out again.
"""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

from wayword.core.dataset import DrawnTasks, Task
from wayword.core.episode import Episode, Json
from wayword.core.errors import DataError, UsageError
from wayword.core.files import find, read_field, read_json, remembered
from wayword.datasets.procedural.homes import episodes as homes
from wayword.datasets.procedural.homes.chores import a, plural, preposition, spoken
from wayword.datasets.procedural.homes.home import Home
from wayword.datasets.procedural.homes.objects import Arrangement
from wayword.datasets.sources import virtualhome
from wayword.worlds.household.goals import GoalCondition, Held, HouseholdReference, Inside
from wayword.worlds.household.layout import nearest_place
from wayword.worlds.household.scene import HouseObject, Scene
from wayword.worlds.household.world import HouseholdWorld

TABLE, FRIDGE, FOOD, DISHES, BOOK = KINDS = (
    "setup_table",
    "put_fridge",
    "prepare_food",
    "put_dishwasher",
    "read_book",
)
"""C-WAH's names for them."""

_EATEN = ("apple", "tomato", "potato", "lettuce", "bread", "egg", "wine_bottle")
_TABLES = ("dining_table", "coffee_table", "desk", "side_table")
THINGS: dict[str, tuple[str, ...]] = {
    TABLE: ("plate", "cup", "bowl", "fork", "spoon", "butter_knife", "mug"),
    FRIDGE: _EATEN,
    FOOD: _EATEN,
    DISHES: ("plate", "cup", "bowl", "mug", "fork", "spoon", "pan", "pot"),
    BOOK: ("apple", "wine_bottle", "cup", "remote_control", "pillow"),
}
"""Kind -> the types it may ask for."""
PLACES: dict[str, tuple[str, ...]] = {
    TABLE: _TABLES,
    FRIDGE: ("fridge",),
    FOOD: _TABLES,
    DISHES: ("sink_basin",),
    BOOK: ("coffee_table", "side_table", "dining_table", "desk", "sofa"),
}
"""Kind -> the types of furniture it may ask for, the likeliest first."""
FEWEST, MOST, OF_A_TYPE = 3, 5, 2
APART = 1.0
"""Metres between two starts, at the least."""

PURPOSES: dict[str, tuple[str, ...]] = {
    TABLE: ("The table is to be laid", "Set the table"),
    FRIDGE: ("The food is to go into the fridge", "Stock the fridge"),
    FOOD: ("A meal is to be got ready", "Get the food ready"),
    DISHES: ("The dishes are to be done", "Gather the dishes"),
    BOOK: ("Somebody is to read, with everything at hand", "Get ready to read"),
}
"""Kind -> how its instruction may begin."""


@dataclass(frozen=True, slots=True)
class Job:
    """``counts``: type of thing -> how many go in or on ``place``; ``held``: types to be held."""

    kind: str
    counts: Mapping[str, int]
    place: HouseObject
    held: tuple[str, ...] = ()


def draw_job(rng: random.Random, made: Arrangement, kind: str) -> Job | None:
    """A job of that kind; None where too few of its things lie anywhere but where they should."""
    places = [o for each in PLACES[kind] for o in made.of(each)[:1]]
    if not places or (kind == BOOK and not made.of("book")):
        return None
    place = places[0] if rng.random() < 0.5 else rng.choice(places)
    free = [t for t in THINGS[kind] for _ in range(min(OF_A_TYPE, _away(made, t, place)))]
    held = ("book",) if kind == BOOK else ()
    count = rng.randint(FEWEST, MOST) - len(held)
    if place.capacity:
        count = min(count, made.space(place))
    if len(free) < count or count < FEWEST - len(held):
        return None
    counts = Counter(rng.sample(free, count))
    return Job(kind, dict(sorted(counts.items())), place, held)


def goals_of(job: Job, made: Arrangement) -> tuple[GoalCondition, ...]:
    """The goal conditions, one a type of thing, each part one thing."""
    inside = (Inside(made.ids(thing), (job.place.id,), parts=n) for thing, n in job.counts.items())
    return (*inside, *(Held(made.ids(thing)) for thing in job.held))


def say_job(rng: random.Random, job: Job, room: str, actors: Sequence[str]) -> str:
    """The joint instruction."""
    parts = listed([counted(spoken(thing), n) for thing, n in job.counts.items()])
    place = f"{preposition(job.place.type)} the {spoken(job.place.type)} in the {room}"
    return whole(rng.choice(PURPOSES[job.kind]), parts, place, job.held, actors)


def whole(purpose: str, parts: str, place: str, held: Sequence[str], actors: Sequence[str]) -> str:
    """What is to be done, and by whom."""
    holding = f" In the end somebody must hold {a(spoken(held[0]))}." if held else ""
    alone = f" {listed(actors)} do this together." if len(actors) > 1 else ""
    return f"{purpose}: put {parts} {place}.{holding}{alone}"


def counted(words: str, number: int) -> str:
    """``two plates``."""
    return a(words) if number == 1 else f"{_NUMBERS.get(number, str(number))} {plural(words)}"


def listed(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}


def poses(rng: random.Random, home: Home, actors: Sequence[str]) -> Mapping[str, Json]:
    """A free place for each, apart from the others', and one of twelve headings."""
    chosen: list[tuple[float, float]] = []
    places = list(home.starts)
    while len(chosen) < len(actors):
        x, y = rng.choice(places)
        chosen.append((x, y))
        far = [p for p in places if (p[0] - x) ** 2 + (p[1] - y) ** 2 >= APART**2]
        places = far or places
    return {
        actor: {"x": x, "y": y, "heading": 30.0 * rng.randrange(12)}
        for actor, (x, y) in zip(actors, chosen, strict=True)
    }


def _away(made: Arrangement, kind: str, place: HouseObject) -> int:
    """How many of a type lie elsewhere; none where one lies there already."""
    for thing in made.of(kind):
        while thing.parent:
            if thing.parent == place.id:
                return 0
            thing = made.objects[thing.parent]
    return len(made.of(kind))


LOGS = (
    *("wah_logs/logs_agent_2_put_fridge.json", "wah_logs/logs_agent_2_read_book.json"),
    *("wah_logs/logs_agent_2_setup_table.json", "wah_logs/logs_agent_3_put_fridge.json"),
    *("wah_logs/logs_agent_3_setup_table.json", "wah_logs/logs_agent_5_put_fridge.json"),
    "cwah_log_agent_0_read_book.json",
)
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
        return _json(self.path(name))

    def path(self, name: str) -> Path:
        """Where a file is. Raises ``DataError`` where it is not."""
        self.read[name] = find(self._folder, name)
        return self.read[name].resolve()

    def home(self, name: str) -> virtualhome.Imported:
        """One of the fourteen homes."""
        return _imported(name, *self.graphs(name))

    def graphs(self, name: str) -> tuple[Path, Path | None]:
        """A home's graph, and of a trimmed one the full one."""
        path = self.path(f"example_graphs/{name}_graph.json")
        if not name.startswith("Trimmed"):
            return path, None
        return path, self.path(f"example_graphs/{name.removeprefix('Trimmed')}_graph.json")


@lru_cache(maxsize=32)
def _json(path: Path) -> Json:
    return read_json(path)


@lru_cache(maxsize=16)
def _graph(path: Path) -> virtualhome.Graph:
    """A full graph: both the home and its trimmed variant read it."""
    return virtualhome.graph_of(read_json(path), path)


@lru_cache(maxsize=32)
def _imported(name: str, path: Path, full: Path | None) -> virtualhome.Imported:
    graph = virtualhome.trimmed_of(read_json(path), _graph(full), path) if full else _graph(path)
    return virtualhome.import_home(name, graph, str(path))


@lru_cache(maxsize=16)
def _logged(name: str, path: Path) -> virtualhome.Imported:
    graph = read_field(path, "", _json(path), "init_unity_graph", dict)
    return virtualhome.import_home(name, virtualhome.graph_of(graph, path), str(path))


def actors_of(agents: int) -> tuple[str, ...]:
    """Their names, in turn order."""
    return tuple(f"agent_{number}" for number in range(1, agents + 1))


class PublishedHomes(ABC):
    """Episodes in VirtualHome's homes."""

    split: ClassVar[str]

    def __init__(self, folder: Path | None, settings: MaWahSettings) -> None:
        self.settings, self._files = settings, Files(folder)
        self._actors, self.count = actors_of(settings.agents), settings.episodes
        self._case = lru_cache(maxsize=256)(self._make)

    def _make(self, number: int) -> homes.Case:
        case = self.case(number, Counter())
        assert case is not None, "its number is known to be playable"
        return case

    @abstractmethod
    def look(self) -> None:
        """Find every file that is read. Raises ``DataError`` where one is missing."""

    @abstractmethod
    def case(self, number: int, causes: Counter[str]) -> homes.Case | None:
        """An episode; None where it cannot be played. Adds to ``causes`` what is left out."""

    @cached_property
    def _known(self) -> Mapping[str, Any]:
        """``playable``: id, kind and number of each episode; ``omissions``. To know them, all
        episodes are made; later starts on the same files remember them."""
        with suppress(DataError):  # reading the episodes says it, after what else they say
            self.look()
        given = self.settings
        name = f"ma_wah-1-{self.split}-{given.agents}-{given.episodes}-{given.seed}"
        return remembered(name, self._files.read.values(), self._survey)  # type: ignore[no-any-return]

    def _survey(self) -> dict[str, Any]:
        causes: Counter[str] = Counter()
        made = ((number, self.case(number, causes)) for number in range(self.count))
        playable = [
            (case.task.episode.id, getattr(case.task.reference, "kind", ""), number)
            for number, case in made
            if case is not None
        ]
        return {"playable": playable, "omissions": causes}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Id -> number of each episode of the kind that is wanted."""
        wanted = self.settings.kind
        return {n: number for n, kind, number in self._known["playable"] if wanted in ("", kind)}

    @property
    def omissions(self) -> Mapping[str, int]:
        return self._known["omissions"]  # type: ignore[no-any-return]

    @property
    def tasks(self) -> Sequence[Task]:
        ids, numbers = list(self._numbers), list(self._numbers.values())
        return DrawnTasks(len(ids), lambda n: self._case(numbers[n]).task, ids.__getitem__)

    @property
    def files(self) -> Mapping[str, Path]:
        return self._files.read if self._numbers else {}

    def world(self, episode: Episode) -> HouseholdWorld:
        case = self._case(self._numbers[episode.id])
        return case.world(self.settings.make_body(), shared_names=True)


class Logs(PublishedHomes):
    """The logged episodes."""

    split = "logs"

    def __init__(self, folder: Path | None, settings: MaWahSettings) -> None:
        super().__init__(folder, settings)
        self.count = len(LOGS)

    def look(self) -> None:
        for name in LOGS:
            self._files.path(name)

    def case(self, number: int, causes: Counter[str]) -> homes.Case | None:
        file = LOGS[number]
        path, name = self._files.path(file), Path(file).stem
        record, home = _json(path), _logged(name, path)
        asked = virtualhome.predicates(record.get("gt_goals") or record.get("goals") or {})
        places = {p: home.thing(int(p.place)) if p.place.isdigit() else None for p in asked}
        goals = read_goals(asked, home.home.scene, places, causes)
        if goals is None or not within_reach(home, home.home.scene, goals):
            causes[f"episode: {virtualhome.OUT_OF_REACH}"] += goals is not None
            return None
        kind = str(record.get("task_name", ""))
        rng = random.Random(name)
        start = {"scene": name, "poses": _starts(home, record, rng, self._actors)}
        text = say(rng, kind, asked, places, home, self._actors)
        episode = Episode(name, text, name, start, self._actors)
        reference = HouseholdReference(name, kind, tuple(goals))
        return homes.Case(Task(episode, reference), home.home, home.home.scene)


def _starts(
    home: virtualhome.Imported,
    record: Mapping[str, Json],
    rng: random.Random,
    actors: Sequence[str],
) -> dict[str, Json]:
    """The published places where a body fits near them, drawn ones for the rest."""
    drawn = dict(poses(rng, home.home, actors))
    taken: list[tuple[float, float]] = []
    for actor, at in zip(actors, (record.get("init_pos") or {}).values(), strict=False):
        if not at:
            continue
        shut = [True] * len(home.home.layout.doors)
        x, y = float(at[0]), float(at[2])
        near = nearest_place(home.home.layout, 0.2, (x, y), shut)
        if near is None:
            continue
        free = any(max(abs(near[0] - x), abs(near[1] - y)) < 0.25 for x, y in home.home.starts)
        if free and all(math.dist(near, other) > 0.5 for other in taken):
            drawn[actor] = {"x": near[0], "y": near[1], "heading": drawn[actor]["heading"]}
            taken.append(near)
    return drawn


class Drawn(PublishedHomes):
    """C-WAH's goals over the published homes; see the module's docstring."""

    split = "homes"

    def look(self) -> None:
        for number in range(min(self.count, len(HOMES))):
            name = HOMES[number]
            self._files.path("wah_dataset/env_to_pred.json")
            self._files.graphs(name)
            self._files.path(f"wah_dataset/object_info{name[-1]}.json")
            self._files.path("wah_dataset/class_name_size.json")

    def case(self, number: int, causes: Counter[str]) -> homes.Case | None:
        goals = list(self._files.json("wah_dataset/env_to_pred.json").values())
        # Kinds of goals come in blocks of 20.
        asked = virtualhome.predicates(goals[number * 37 % len(goals)])
        name = HOMES[number % len(HOMES)]
        home = self._files.home(name)
        rules = self._files.json(f"wah_dataset/object_info{name[-1]}.json")
        tried: Counter[str] = Counter()
        for attempt in range(TRIES):
            rng = random.Random(f"{self.settings.seed}/{number}/{attempt}")
            tried = Counter()
            case = self._try(rng, number, home, asked, rules, tried)
            if case is not None:
                causes += tried
                return case
        causes += tried or Counter({f"episode: {virtualhome.OUT_OF_REACH}": 1})
        return None

    def _try(
        self,
        rng: random.Random,
        number: int,
        home: virtualhome.Imported,
        asked: list[virtualhome.Predicate],
        rules: Mapping[str, Json],
        causes: Counter[str],
    ) -> homes.Case | None:
        first = {o.type: o for o in reversed(home.home.scene.objects)}  # goals name one piece
        places = {p: first.get(p.place) for p in asked}
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
        start = {"scene": home.home.name, "poses": poses(rng, home.home, self._actors)}
        text = say(rng, kind, asked, places, home, self._actors)
        episode = Episode(name, text, home.home.name, start, self._actors)
        reference = HouseholdReference(name, kind, tuple(goals))
        return homes.Case(Task(episode, reference), home.home, scene)


def lay_out(
    rng: random.Random,
    made: Arrangement,
    predicate: virtualhome.Predicate,
    places: Mapping[virtualhome.Predicate, HouseObject | None],
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
    asked: Sequence[virtualhome.Predicate],
    scene: Scene,
    places: Mapping[virtualhome.Predicate, HouseObject | None],
    causes: Counter[str],
) -> list[GoalCondition] | None:
    """The conditions; None where an episode cannot be had without one. Nobody sits down here, so
    a ``sit`` is left out and counted."""
    goals: list[GoalCondition] = []
    for predicate in asked:
        found = virtualhome.condition(predicate, scene, places[predicate])
        if not isinstance(found, str):
            goals.append(found)
            continue
        causes[f"{'predicate' if found == virtualhome.SIT else 'episode'}: {found}"] += 1
        if found != virtualhome.SIT:
            return None
    return goals or None


def within_reach(home: virtualhome.Imported, scene: Scene, goals: Sequence[GoalCondition]) -> bool:
    """Whether every thing and place of the goals can be seen and reached."""
    ids = {i for goal in goals if isinstance(goal, Inside | Held) for i in goal.things}
    ids |= {i for goal in goals if isinstance(goal, Inside) for i in goal.receptacles}
    layout = home.home.layout.with_things(scene)
    start = home.home.starts[len(home.home.starts) // 2]
    return virtualhome.reachable(layout, start, sorted(ids)) == ids


def kind_of(asked: Sequence[virtualhome.Predicate]) -> str:
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
    asked: Sequence[virtualhome.Predicate],
    places: Mapping[virtualhome.Predicate, HouseObject | None],
    home: virtualhome.Imported,
    actors: Sequence[str],
) -> str:
    """The joint instruction."""
    laid = [p for p in asked if p.relation in ("on", "inside")]
    held = [p.thing for p in asked if p.relation == "holds"]
    parts = listed([counted(virtualhome.class_words(p.thing), p.count) for p in laid])
    place = places[laid[0]]
    assert place is not None, "goals without their place are left out"
    room = home.home.layout.room_at(place.x, place.y)
    alike = [
        o
        for o in home.home.scene.objects
        if o.type == place.type and home.home.layout.room_at(o.x, o.y) == room
    ]
    side = which(place, alike)
    where = f"{place.receptacle} the {side}{virtualhome.class_words(place.type)} in the {room}"
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


PAPER = ("go_explore", "go_check", "go_grab", "go_put", "chat", "stop")
"""LangSuitE's Table 1 counts six actions and does not name them."""


@dataclass(frozen=True)
class MaWahSettings(homes.HomesSettings):
    """``agents`` act together, from one (to compare with) to four. ``kind`` limits the jobs to one
    of C-WAH's, for example ``put_fridge``. Each has two hands."""

    hands: ClassVar[int] = 2
    paper: ClassVar[tuple[str, ...]] = PAPER

    episodes: int = 100
    plenty: float = 1.5
    agents: int = 2
    kind: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.agents <= 4:
            raise UsageError(f"ma_wah: agents={self.agents} must lie between 1 and 4")
        homes.check_kind(self.kind, KINDS)


class MaWah(homes.SourcedTasks[MaWahSettings]):
    """Jobs for several in one home: lay the table, fill the fridge, gather the dishes …

        >>> jobs = MaWah(settings=MaWah.Settings(homes=1, episodes=5, agents=3))
        >>> jobs.tasks[0].episode.actors
        ('agent_1', 'agent_2', 'agent_3')

    Each actor sees its own view alone and hears what the others say; things have the same names for
    all, so that they can be talked about. The goals are C-WAH's: so many things of a type in or on
    one piece of furniture, and a book in somebody's hands. An episode counts as solved by the final
    state, whoever did what.
    """

    name: ClassVar[str] = "ma_wah"
    Settings: ClassVar[type[MaWahSettings]] = MaWahSettings
    splits: ClassVar[tuple[str, ...]] = (*homes.GENERATED, "logs", "homes")
    published_train: ClassVar[str] = homes.GENERATED[1]
    max_steps: ClassVar[int] = 1000

    def source(self, split: str) -> homes.EpisodeSource:
        if split not in homes.GENERATED:
            return (Logs if split == "logs" else Drawn)(self.folder, self.settings)
        kinds = (self.settings.kind,) if self.settings.kind else KINDS
        seed = "ma_wah/{scene}"
        return homes.Generated(split, self.settings, self._draw, kinds, seed, shared_names=True)

    def _draw(self, rng: random.Random, made: Arrangement, arrangement: str) -> Task | None:
        job, scene = draw_job(rng, made, arrangement.partition("/")[0]), made.home.name
        if job is None:
            return None
        name, actors = homes.named(scene, arrangement), actors_of(self.settings.agents)
        placed = poses(rng, made.home, actors)
        start = {"scene": scene, "arrangement": arrangement, "poses": placed}
        text = say_job(rng, job, made.room(job.place), actors)
        reference = HouseholdReference(name, job.kind, goals_of(job, made))
        return Task(Episode(name, text, scene, start, actors), reference)


dataset = MaWah
