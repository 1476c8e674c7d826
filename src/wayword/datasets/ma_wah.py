"""MA-WAH: joint household jobs for two or more actors who talk to each other.

Generated jobs have C-WAH's kinds and counts: three to five objects in total, at most two per type
(Zhang et al. 2023, arXiv:2307.02485, section 4.1). Generated homes have no dishwasher: dishes go
into a sink. A book is read by holding it, as sitting is not modeled in this world.

``logs`` holds C-WAH's logged episodes as published. ``homes`` cycles through C-WAH's hundred goals
and VirtualHome's fourteen homes. The objects of a goal are placed by Watch-And-Help's rules for the
home, as in its script: all objects of those types are removed, then the required number plus up to
two more are placed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Annotated, Any, ClassVar, cast

from annotated_types import Ge, Gt, Le

from wayword.core.dataset import DrawnTasks, Task
from wayword.core.episode import Episode, Json, JsonObject
from wayword.core.errors import DataError
from wayword.core.files import cached_json, find, read_field, read_json, require_data
from wayword.core.visible import join_words, with_article
from wayword.datasets.procedural.homes import episodes as homes
from wayword.datasets.procedural.homes.chores import plural, preposition, spoken_name
from wayword.datasets.procedural.homes.home import Home
from wayword.datasets.procedural.homes.objects import Arrangement
from wayword.datasets.procedural.tables import (
    Table,
    Wording,
    in_wording,
)
from wayword.datasets.sources import virtualhome
from wayword.settings import Count
from wayword.worlds.household.goals import (
    GoalCondition,
    Held,
    HouseholdReference,
    Inside,
)
from wayword.worlds.household.layout import nearest_place
from wayword.worlds.household.scene import HouseObject
from wayword.worlds.household.world import HouseholdWorld

KINDS = (
    "setup_table",
    "put_fridge",
    "prepare_food",
    "put_dishwasher",
    "read_book",
)
TABLE, FRIDGE, FOOD, DISHES, BOOK = KINDS
"""C-WAH's names of the activities."""

JOBS = Table[Mapping[str, tuple[str, ...]]](
    "virtualhome", "jobs", package=virtualhome.__package__
)
"""Activity -> possible types of ``things`` and ``places``, and its ``purposes`` in words."""
# Objects of a job, as in C-WAH.
FEWEST_OBJECTS = 3
MOST_OBJECTS = 5
PER_TYPE = 2
# Minimum distance between two starts in metres.
SPACING = 1.0


def draw_job(
    rng: Random,
    draft: Arrangement,
    kind: str,
    objects: tuple[int, int] = (FEWEST_OBJECTS, MOST_OBJECTS),
    per_type: int = PER_TYPE,
) -> tuple[HouseObject, dict[str, int], tuple[str, ...]] | None:
    """Draw a job of a kind: a place, type -> number of objects to put there, and types to hold.

    None if too few objects are away from their target.
    """
    # The place: the first piece of each type, and half of the time of the first type.
    places: list[HouseObject] = []
    for place_type in JOBS[kind]["places"]:
        places += draft.of(place_type)[:1]
    if not places or (kind == BOOK and not draft.of("book")):
        return None
    place = places[0]
    if rng.random() >= 0.5:
        place = rng.choice(places)

    # The objects: types listed as often as objects of them may be drawn.
    free_types: list[str] = []
    for item_type in JOBS[kind]["things"]:
        available = min(per_type, _elsewhere(draft, item_type, place))
        free_types += [item_type] * available
    held_types = ("book",) if kind == BOOK else ()
    count = rng.randint(*objects) - len(held_types)
    if place.capacity:
        count = min(count, draft.free_slots(place))
    if len(free_types) < count or count < objects[0] - len(held_types):
        return None
    counts = Counter(rng.sample(free_types, count))
    return place, dict(sorted(counts.items())), held_types


def _elsewhere(draft: Arrangement, kind: str, place: HouseObject) -> int:
    """Count the objects of a type that are not at the place; 0 if one already is."""
    for item in draft.of(kind):
        while item.parent:
            if item.parent == place.id:
                return 0
            item = draft.objects[item.parent]
    return len(draft.of(kind))


HOLD_ANY = "At the end, one of you must hold {thing}."
HOLD_ONE = "At the end, you must hold {thing}."


def instruct(
    aim: str,
    parts: str,
    place: str,
    held: Sequence[str],
    actors: Sequence[str],
    wording: Wording = 2,
) -> str:
    """Write the joint instruction: the goal and the actors.

    ``parts`` are the objects to put and ``place`` is where; both are empty if all are to be held.
    """
    task = f": put {parts} {place}" if parts else ""
    sentences = [f"{in_wording(aim, wording)}{task}."]
    for item_type in held:
        item = with_article(spoken_name(item_type))
        ends = HOLD_ONE if len(actors) == 1 else HOLD_ANY
        sentences.append(in_wording(ends, wording).format(thing=item))
    if len(actors) > 1:
        sentences.append(f"{join_words(actors)} do this together.")
    return " ".join(sentences)


def count_phrase(words: str, number: int) -> str:
    """Format a count and a type, for example ``two plates``."""
    if number == 1:
        return with_article(words)
    numbers = {2: "two", 3: "three", 4: "four", 5: "five"}
    return f"{numbers.get(number, number)} {plural(words)}"


def poses(rng: Random, home: Home, actors: Sequence[str]) -> dict[str, Json]:
    """Draw a free position for each actor, apart from the others, and one of twelve headings.

    Return x and y (metres) and heading (degrees) by actor, as in ``Episode.start``.
    """
    points: list[tuple[float, float]] = []
    places = list(home.starts)
    while len(points) < len(actors):
        x, y = rng.choice(places)
        points.append((x, y))
        far_points = [
            p for p in places if (p[0] - x) ** 2 + (p[1] - y) ** 2 >= SPACING**2
        ]
        places = far_points or places  # a small home may lack room to keep apart
    return {
        actor: homes.pose_at(rng, at) for actor, at in zip(actors, points, strict=True)
    }


def actors_of(agents: int) -> tuple[str, ...]:
    """Return the actors' names in turn order."""
    return tuple(f"agent_{number}" for number in range(1, agents + 1))


# VirtualHome's homes and C-WAH's goals, as published.

LOGS = (
    "wah_logs/logs_agent_2_put_fridge.json",
    "wah_logs/logs_agent_2_read_book.json",
    "wah_logs/logs_agent_2_setup_table.json",
    "wah_logs/logs_agent_3_put_fridge.json",
    "wah_logs/logs_agent_3_setup_table.json",
    "wah_logs/logs_agent_5_put_fridge.json",
    "cwah_log_agent_0_read_book.json",
)
"""Files of the logged episodes, one each."""
HOMES = tuple(
    f"{kind}TestScene{number}" for number, kind in product(range(1, 8), ("", "Trimmed"))
)
"""The published graphs; a trimmed one has fewer objects."""
# Maximum number of objects beyond those of the goal, as in Watch-And-Help.
MOST_EXTRA = 2
PLACEMENT_TRIES = 8  # random placements before an episode is left out as unreachable
RULE_CLASSES = {"kitchencabinet": "kitchencabinets"}
"""Class in the placing rules -> class in the graphs, where they differ."""


class Files:
    """Files of one data folder, read on demand and cached.

    ``read`` has those that were read so far. All methods raise ``DataError`` for a
    missing or broken file.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = require_data(folder, "ma_wah") / "virtualhome"
        self.read: dict[str, Path] = {}

    def path(self, name: str) -> Path:
        """Return the path of a file, given without ``.gz``. Raises ``DataError``."""
        self.read[name] = find(self._folder, name)
        return self.read[name].resolve()

    def json(self, name: str) -> Json:
        """Return the content of a file of the folder; cached."""
        return _read_json(self.path(name))

    def home(self, name: str) -> virtualhome.ImportedHome:
        """Return an imported home by its name."""
        return _imported_home(name, *self.graph_paths(name))

    def graph_paths(self, name: str) -> list[Path]:
        """Return the path of a home's graph; for a trimmed home, also that of the full graph."""
        full_name = name.removeprefix("Trimmed")
        names = [name] if name == full_name else [name, full_name]
        return [self.path(f"example_graphs/{each}_graph.json") for each in names]


_read_json = lru_cache(maxsize=32)(read_json)


@lru_cache(maxsize=32)
def _imported_home(
    name: str, path: Path, full: Path | None = None
) -> virtualhome.ImportedHome:
    """Import a published home. A trimmed graph takes its boxes from ``full``."""
    graph = virtualhome.graph_of(read_json(full or path), full or path)
    if full:
        graph = virtualhome.trimmed_of(read_json(path), graph, path)
    return virtualhome.import_home(name, graph, str(path))


@lru_cache(maxsize=16)
def _logged_home(name: str, path: Path) -> virtualhome.ImportedHome:
    """Import the home that a logged episode starts in."""
    graph = read_field(path, "log", _read_json(path), "init_unity_graph", dict)
    return virtualhome.import_home(name, virtualhome.graph_of(graph, path), str(path))


class PublishedHomes(ABC):
    """Episodes in VirtualHome's homes."""

    split: ClassVar[str]

    def __init__(self, folder: Path | None, settings: MaWahSettings) -> None:
        self.settings = settings
        self._files = Files(folder)
        self._actors = actors_of(settings.agents)
        self.count = settings.episodes
        case = lru_cache(maxsize=256)(lambda number: self.case(number, Counter()))
        # Only playable numbers are listed
        self._case = cast(Callable[[int], homes.Case], case)

    @abstractmethod
    def find_files(self) -> None:
        """Find all required files. Raises ``DataError`` if one is missing."""

    @abstractmethod
    def case(self, number: int, causes: Counter[str]) -> homes.Case | None:
        """Build an episode; None if it cannot be played. Adds omissions to ``causes``."""

    def make_case(
        self,
        rng: Random,
        name: str,
        home: virtualhome.ImportedHome,
        draft: Arrangement,
        kind: str,
        places: Places,
        starts: JsonObject,
        causes: Counter[str],
    ) -> homes.Case | None:
        """Build the episode of a goal; None if it cannot be played.

        Causes are counted in ``causes``, also skipped predicates of an episode that is built.
        ``draft`` is the home with its objects placed, ``places`` are the destinations of
        the goal's predicates, ``starts`` the actors' poses.
        """
        # `goal_of` returns a goal, or a text: why there is none. Sitting is skipped; any other
        # reason omits the episode.
        scene = draft.scene()
        goals = list[GoalCondition]()
        for predicate, place in places.items():
            goal = virtualhome.goal_of(predicate, scene, place)
            if not isinstance(goal, str):
                goals.append(goal)
            elif goal == virtualhome.SIT:
                causes[f"predicate: {goal}"] += 1
            else:
                causes[f"episode: {goal}"] += 1
                return None
        if not goals:
            causes[f"episode: {virtualhome.NO_GOAL}"] += 1
            return None

        # All objects of the goals must be within reach. One start suffices, as all are in one
        # connected part of the floor (`virtualhome.standing_places`).
        ids = set[str]()
        for goal in goals:
            if isinstance(goal, Inside | Held):
                ids.update(goal.objects)
            if isinstance(goal, Inside):
                ids.update(goal.receptacles)
        center = home.home.starts[len(home.home.starts) // 2]
        layout = home.home.layout.with_scene(scene)
        if virtualhome.reachable_objects(layout, center, sorted(ids)) != ids:
            causes[f"episode: {virtualhome.OUT_OF_REACH}"] += 1
            return None

        text = word_goal(
            rng,
            kind,
            places,
            home,
            self._actors,
            self.settings.wording,
        )
        start = {"scene": home.home.name, "poses": starts}
        episode = Episode(
            name,
            text,
            home.home.name,
            start,
            self._actors,
        )
        reference = HouseholdReference(name, kind, tuple(goals))
        return homes.Case(Task(episode, reference), home.home, scene)

    @cached_property
    def _survey(self) -> JsonObject:
        """``playable``: id, kind and number of each episode; ``omissions``: counts by reason.

        The first call builds all episodes; later runs on the same files reuse the
        stored result.
        """
        # Reading the episodes raises it again, after any other errors.
        with suppress(DataError):
            self.find_files()

        def survey() -> dict[str, Any]:
            """Read every case once: playable episodes with kind, and counts of
            omissions by cause."""
            causes: Counter[str] = Counter()
            playable = []
            for number in range(self.count):
                case = self.case(number, causes)
                if case is not None:
                    kind = getattr(case.task.reference, "kind", "")
                    playable.append((case.task.episode.id, kind, number))
            return {"playable": playable, "omissions": causes}

        settings = self.settings
        name = f"ma_wah-4-{self.split}-{settings.agents}-{settings.episodes}-{settings.seed}"
        return cached_json(name, self._files.read.values(), survey)  # type: ignore[no-any-return]

    @cached_property
    def _number_of(self) -> dict[str, int]:
        """Id -> number of each episode of the requested kind."""
        chosen = self.settings.kind
        return {
            n: number
            for n, kind, number in self._survey["playable"]
            if chosen in ("", kind)
        }

    @property
    def omissions(self) -> Mapping[str, int]:
        """Counts of omitted episodes, by cause."""
        return self._survey["omissions"]  # type: ignore[no-any-return]

    @property
    def tasks(self) -> Sequence[Task]:
        """Playable tasks, each read when it is first used."""
        ids = list(self._number_of)
        numbers = list(self._number_of.values())
        return DrawnTasks(
            len(ids), lambda n: self._case(numbers[n]).task, ids.__getitem__
        )

    @property
    def files(self) -> Mapping[str, Path]:
        """Files read so far, for checksums; none before the first task."""
        return self._files.read if self._number_of else {}

    def world(self, episode: Episode) -> HouseholdWorld:
        """Return the home of an episode, with names shared by all actors."""
        case = self._case(self._number_of[episode.id])
        return case.world(self.settings.make_body(), shared_names=True)


# Radius of a body at a published start, in metres.
BODY_RADIUS = 0.2
# A published start counts as free if a start of the home is within this distance per axis.
START_M = 0.25
# Minimum distance between two published starts, in metres: two bodies and a gap.
APART_M = 0.5


class LoggedEpisodes(PublishedHomes):
    """The logged episodes."""

    split = "logs"

    def __init__(self, folder: Path | None, settings: MaWahSettings) -> None:
        super().__init__(folder, settings)
        self.count = len(LOGS)

    def find_files(self) -> None:
        """Find all files of the logs. Raises ``DataError`` for the first that is
        missing."""
        for name in LOGS:
            self._files.path(name)

    def case(self, number: int, causes: Counter[str]) -> homes.Case | None:
        """Return the case of a log, counting its cause if it is omitted.

        ``number`` is the log's index in ``LOGS``. An actor starts at the free position nearest to
        the published one if it is near a start of the home and apart from the actors placed before;
        else at a drawn one. Positions are metres.
        """
        path = self._files.path(LOGS[number])
        name = Path(LOGS[number]).stem
        record = _read_json(path)
        home = _logged_home(name, path)

        # Goals name their place by the number of its node in the graph.
        goals = record.get("gt_goals") or record.get("goals") or {}
        places: dict[virtualhome.Predicate, HouseObject | None] = {}
        for predicate in virtualhome.predicates(goals):
            node = int(predicate.place) if predicate.place.isdigit() else -1
            places[predicate] = home.object_of(node)
        draft = Arrangement(home.home, home.home.scene.by_id())
        rng = Random(name)
        kind = str(record.get("task_name", ""))

        # Published starts with a free position nearby; the rest are drawn.
        starts = poses(rng, home.home, self._actors)
        layout = home.home.layout
        closed = [True] * len(layout.doors)
        taken = list[tuple[float, float]]()
        published = (record.get("init_pos") or {}).values()
        for actor, position in zip(self._actors, published, strict=False):
            if not position:
                continue
            # Unity's y axis points up, so the floor is x and z.
            point = (float(position[0]), float(position[2]))
            near = nearest_place(layout, BODY_RADIUS, point, closed)
            if near is None:
                continue
            x, y = near
            is_free = any(
                max(abs(x - a), abs(y - b)) < START_M for a, b in home.home.starts
            )
            if is_free and all(math.dist(near, other) > APART_M for other in taken):
                starts[actor] = {
                    "x": x,
                    "y": y,
                    "heading": starts[actor]["heading"],
                }
                taken.append(near)
        return self.make_case(
            rng,
            name,
            home,
            draft,
            kind,
            places,
            starts,
            causes,
        )


class DrawnGoals(PublishedHomes):
    """C-WAH's goals over the published homes; see the module's docstring."""

    split = "homes"

    def find_files(self) -> None:
        """Find all files that goals and homes are drawn from. Raises ``DataError``."""
        for name in HOMES[: self.count]:
            self._files.path("wah_dataset/env_to_pred.json")
            self._files.graph_paths(name)
            self._files.path(f"wah_dataset/object_info{name[-1]}.json")
            self._files.path("wah_dataset/class_name_size.json")

    def case(self, number: int, causes: Counter[str]) -> homes.Case | None:
        """Draw an episode; None if it is omitted, with its cause counted in ``causes``."""
        goals = list(self._files.json("wah_dataset/env_to_pred.json").values())
        # Goals of a kind come in blocks of 20; steps of 37 visit all goals in a mixed order.
        predicates = virtualhome.predicates(goals[number * 37 % len(goals)])
        home = self._files.home(HOMES[number % len(HOMES)])
        # Goals name the type of their place; the first piece of a type stands for it.
        object_of = {o.type: o for o in reversed(home.home.scene.objects)}
        places = {p: object_of.get(p.place) for p in predicates}
        rules = self._files.json(f"wah_dataset/object_info{home.home.name[-1]}.json")
        sizes = self._files.json("wah_dataset/class_name_size.json")
        kind = activity_of(predicates)
        name = f"{home.home.name}_{kind}_{number}"
        for attempt in range(PLACEMENT_TRIES):
            rng = Random(f"{self.settings.seed}/{number}/{attempt}")
            tried = Counter[str]()
            draft = Arrangement(home.home, home.home.scene.by_id())
            for predicate in predicates:
                if predicate.relation != "sit":
                    lay_out_type(
                        rng,
                        draft,
                        predicate,
                        places,
                        rules,
                        sizes,
                    )
            starts = poses(rng, home.home, self._actors)
            case = self.make_case(
                rng,
                name,
                home,
                draft,
                kind,
                places,
                starts,
                tried,
            )
            if case is not None:
                break
        causes += tried
        return case


Places = Mapping[virtualhome.Predicate, HouseObject | None]
"""Predicate -> target object for its objects, None if the home lacks it."""


def lay_out_type(
    rng: Random,
    draft: Arrangement,
    predicate: virtualhome.Predicate,
    places: Places,
    rules: JsonObject,
    sizes: JsonObject,
) -> None:
    """Remove all objects of a type that hold no others, then place the required number again, and
    up to ``MOST_EXTRA`` more, in or on furniture of the class ``hiding``.

    Changes ``draft``. ``places`` has the goals' targets, which get none of the objects; ``rules``
    are the published lists of holders by type, ``sizes`` widths, heights and depths (metres) by
    type. Without any holder no object is placed.
    """
    kind = predicate.item
    for item in draft.of(kind):
        if "pickupable" in item.affordances and not draft.contents(item.id):
            del draft.objects[item.id]

    # Furniture that may hold them: nothing must start where it is to be brought.
    goals = {place.type for place in places.values() if place is not None}
    allowed = {
        RULE_CLASSES.get(str(place), str(place)) for _, place in rules.get(kind, ())
    }
    allowed = (allowed & virtualhome.CLASSES["hiding"]) - goals
    holders = [
        o
        for o in draft.objects.values()
        if o.type in allowed and "pickupable" not in o.affordances
    ]
    if not holders:
        return
    width, height, depth = (abs(float(v)) for v in sizes.get(kind, (0.1, 0.1, 0.1)))
    for number in range(1, predicate.count + rng.randint(0, MOST_EXTRA) + 1):
        item = HouseObject(
            f"{kind}|new{number}",
            kind,
            x=0.0,
            y=0.0,
            width=width,
            depth=depth,
            height=height,
            affordances=frozenset(("pickupable",)),
        )
        draft.place_on(rng, item, rng.choice(holders))


def activity_of(predicates: Sequence[virtualhome.Predicate]) -> str:
    """Return the C-WAH activity that a set of predicates belongs to."""
    places = {p.place for p in predicates}
    if "dishwasher" in places:
        return DISHES
    if "fridge" in places:
        return FRIDGE
    if "coffeetable" in places or any(p.relation == "holds" for p in predicates):
        return BOOK
    dishes = ("plate", "waterglass", "wineglass", "cutleryfork")
    if all(p.item in dishes for p in predicates):
        return TABLE
    return FOOD


def word_goal(
    rng: Random,
    kind: str,
    places: Places,
    home: virtualhome.ImportedHome,
    actors: Sequence[str],
    wording: Wording,
) -> str:
    """Write the joint instruction for a published goal.

    The objects' place is that of the first predicate that has one.
    """
    put_predicates = [p for p in places if p.relation in ("on", "inside")]
    held_types = [p.item for p in places if p.relation == "holds"]
    parts = join_words([count_phrase(_spoken(p.item), p.count) for p in put_predicates])
    place = next((places[p] for p in put_predicates), None)
    where = place_phrase(place, home) if place is not None else ""
    return instruct(
        rng.choice(JOBS[kind]["purposes"]), parts, where, held_types, actors, wording
    )


def _spoken(kind: str) -> str:
    """Return a class in the words of an instruction."""
    return virtualhome.SPOKEN.get(kind, kind)


def place_phrase(place: HouseObject, home: virtualhome.ImportedHome) -> str:
    """Describe a destination: ``on the northern kitchen table in the kitchen``.

    Where its room has several of that type, the text gives the side (northern, southern, eastern,
    western) on which it lies, or the middle.
    """
    room_at = home.home.layout.room_at
    room = room_at(place.x, place.y)
    same_type = [
        o
        for o in home.home.scene.objects
        if o.type == place.type and room_at(o.x, o.y) == room
    ]
    others = [o for o in same_type if o.id != place.id]
    side = ""
    if others:
        # The room has several: the side on which this one leads the others by most.
        east = [place.x - o.x for o in others]
        north = [place.y - o.y for o in others]
        # Metres by which this one lies beyond all others on a side; negative if one is beyond it.
        lead_of = {
            "northern ": min(north),
            "southern ": -max(north),
            "eastern ": min(east),
            "western ": -max(east),
        }
        side = max(lead_of, key=lead_of.__getitem__)
        if lead_of[side] <= 0:
            side = "middle "
    return f"{place.receptacle} the {side}{_spoken(place.type)} in the {room}"


@dataclass(frozen=True)
class MaWahSettings(homes.KindSettings):
    """``agents``: number of actors, from one (a baseline) to four. ``kind`` limits the jobs to one
    of C-WAH's kinds, for example ``put_fridge``. Each agent has two hands. ``wording``: version of
    the requests; 1 is that of bench 2026."""

    all_kinds = KINDS
    hands = 2
    # LangSuitE's Table 1 gives the number of actions (six) but not their names.
    paper = ("go_explore", "go_check", "go_grab", "go_put", "chat", "stop")

    episodes: Count = 100
    clutter: Annotated[float, Gt(0), Le(50)] = 1.5
    agents: Annotated[int, Ge(1), Le(4)] = 2
    wording: Wording = 2


class MaWah(homes.SourcedTasks):
    """Watch-And-Help's jobs for several actors: lay the table, fill the fridge, gather dishes …

        >>> jobs = MaWah(settings=MaWah.Settings(homes=1, episodes=5, agents=3))
        >>> jobs.tasks[0].episode.actors
        ('agent_1', 'agent_2', 'agent_3')

    Each actor sees only its own view and hears the other actors; all use the same object names.
    The goals are C-WAH's: a number of objects of a type in or on one piece of furniture, and a book
    in an actor's hands. Only the final state counts, no matter which actor did the work.
    """

    name = "ma_wah"
    Settings = MaWahSettings
    splits = (*homes.GENERATED, "logs", "homes")
    published_train = homes.GENERATED[1]
    max_steps = 1000

    @property
    def caveats(self) -> tuple[str, ...]:
        """Warn that the episodes of generated homes are not the published ones."""
        drawn = "Watch-And-Help's episodes are not read: its rules and the seed place the objects"
        return (drawn,) if self.split == "homes" else ()

    def source(self, split: str) -> homes.EpisodeSource:
        """Return the episodes of a split: logs, published homes, or generated homes."""
        settings = self.settings
        if split == "logs":
            return LoggedEpisodes(self.folder, settings)
        if split == "homes":
            return DrawnGoals(self.folder, settings)
        seed = "ma_wah/{scene}"
        kinds = settings.kinds
        return homes.Generated(
            split, settings, self._draw, kinds, seed, shared_names=True
        )

    def _draw(
        self,
        rng: Random,
        draft: Arrangement,
        arrangement: str,
    ) -> Task | None:
        """Draw a task of a kind in a home: objects, their destinations, and the
        instruction."""
        kind = arrangement.partition("/")[0]
        scene = draft.home.name
        length = self.settings.length
        sizes = (FEWEST_OBJECTS, MOST_OBJECTS)
        per_type = PER_TYPE
        if length:  # handling one object takes two to five decisions
            sizes = max(1, length // 5), max(1, length // 2)
            per_type = max(PER_TYPE, length // 8)
        job = draw_job(rng, draft, kind, sizes, per_type)
        if job is None:
            return None
        place, counts, held = job
        name = homes.episode_id(scene, arrangement)
        actors = actors_of(self.settings.agents)
        start_poses = poses(rng, draft.home, actors)
        start = {
            "scene": scene,
            "arrangement": arrangement,
            "poses": start_poses,
        }

        phrases = [count_phrase(spoken_name(each), n) for each, n in counts.items()]
        place_name = f"the {spoken_name(place.type)} in the {draft.room(place)}"
        site = f"{preposition(place.type)} {place_name}"
        purpose = rng.choice(JOBS[kind]["purposes"])
        text = instruct(
            purpose, join_words(phrases), site, held, actors, self.settings.wording
        )

        goals: list[GoalCondition] = [
            Inside(draft.ids(item_type), (place.id,), parts=n)
            for item_type, n in counts.items()
        ]
        goals += [Held(draft.ids(item_type)) for item_type in held]
        reference = HouseholdReference(name, kind, tuple(goals))
        return Task(Episode(name, text, scene, start, actors), reference)


dataset = MaWah
