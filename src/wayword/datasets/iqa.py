"""Interactive questions: existence, contents and counts, asked in generated homes and
in iTHOR's kitchens.

A generated home is changed to fit the answer that was drawn, so that answers are as even as in the
published questions: yes and no half and half, counts from 0 to 3 a quarter each.

Source: IQA (Gordon et al. 2018), section 4: existence, counting and spatial relationship.
"""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar

from wayword.core.dataset import DrawnTasks, Task
from wayword.core.episode import Episode
from wayword.core.errors import DataError, UsageError
from wayword.core.files import find, read_bytes
from wayword.datasets.procedural.homes import episodes as homes
from wayword.datasets.procedural.homes.chores import a, plural, preposition, spoken
from wayword.datasets.procedural.homes.home import Home, surfaces
from wayword.datasets.procedural.homes.objects import OBJECTS, Arrangement
from wayword.datasets.procedural.tables import Table
from wayword.datasets.sources import ithor
from wayword.worlds.household.builder import type_name
from wayword.worlds.household.goals import AnswerReference, Ids
from wayword.worlds.household.layout import Layout
from wayword.worlds.household.scene import HouseObject, Scene
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import HouseholdWorld

EXISTS, CONTAINS, COUNTS = KINDS = ("exists", "contains", "counts")
MOST = 3
"""The highest count asked for."""
HIDDEN = 0.5
"""Share of the things added for a yes or a count that go into something shut, where there is."""

SENTENCES: Mapping[str, tuple[str, ...]] = Table("sentences", "questions")
ENDINGS = {
    EXISTS: "Answer yes or no.",
    CONTAINS: "Answer yes or no.",
    COUNTS: "Answer with a number.",
}


@dataclass(frozen=True, slots=True)
class HomeQuestion:
    """A question, its right answer, and what one must look at to know it: all, or ``enough``."""

    kind: str
    text: str
    answer: str
    look: Ids
    room: str
    enough: int = 0


def draw_question(
    rng: random.Random, made: Arrangement, kind: str, luck: float
) -> HomeQuestion | None:
    """A question of that type; things may be added to or taken from the home for it.

    ``luck`` (0 to 1, below 1) decides the answer: drawn by the caller once, so that questions
    that cannot be had do not make their answers rarer. None where the home offers none.
    """
    places = surfaces(made.home.scene)
    rooms = sorted({made.room(o) for o in places})
    rng.shuffle(rooms)
    for room in rooms:
        there = [o for o in places if made.room(o) == room]
        question = _contains(rng, made, room, there, luck) if kind == CONTAINS else None
        if kind != CONTAINS:
            question = _counted(rng, made, room, there, kind, luck)
        if question is not None:
            return question
    return None


def _counted(
    rng: random.Random,
    made: Arrangement,
    room: str,
    there: list[HouseObject],
    kind: str,
    luck: float,
) -> HomeQuestion | None:
    """Existence or counting: as many of a type in a room as the answer says."""
    types = [t for t in OBJECTS if sum(o.type in OBJECTS[t].places for o in there) >= 2]
    if not types:
        return None
    thing = rng.choice(types)
    if kind == EXISTS:
        yes = luck < 0.5
        present = [o for o in made.of(thing) if made.room(o) == room]
        wanted = max(1, min(MOST, len(present))) if yes else 0
        answer = "yes" if yes else "no"
    else:
        wanted = int(luck * (MOST + 1))
        answer = str(wanted)
    likely = [o for o in there if o.type in OBJECTS[thing].places]
    if not _make(rng, made, thing, room, likely, wanted):
        return None
    found = [o.id for o in made.of(thing) if made.room(o) == room]
    text = _say(rng, kind, thing, room)
    if answer == "yes":
        return HomeQuestion(kind, text, answer, tuple(found), room, enough=1)
    return HomeQuestion(kind, text, answer, (*found, *(o.id for o in there)), room)


def _contains(
    rng: random.Random, made: Arrangement, room: str, there: list[HouseObject], luck: float
) -> HomeQuestion | None:
    """Whether the only receptacle of its type in a room has such a thing in or on it."""
    kinds = [o.type for o in there]
    single = [o for o in there if kinds.count(o.type) == 1]
    pairs = [(o, t) for o in single for t in OBJECTS if o.type in OBJECTS[t].places]
    if not pairs:
        return None
    under, thing = rng.choice(pairs)
    for each in made.of(thing):
        if each.parent == under.id:
            del made.objects[each.id]
    look = [under.id]
    yes = luck < 0.5
    if yes:
        if made.space(under) < 1:
            return None
        look = [_add(rng, made, thing, under).id]
    text = _say(rng, CONTAINS, thing, room, under.type)
    return HomeQuestion(CONTAINS, text, "yes" if yes else "no", tuple(look), room)


def _make(
    rng: random.Random, made: Arrangement, thing: str, room: str, likely: list[HouseObject], n: int
) -> bool:
    """Have exactly ``n`` of a type in a room; False where they find no place."""
    there = [o for o in made.of(thing) if made.room(o) == room]
    for each in there[n:]:
        del made.objects[each.id]
    for _ in range(n - len(there)):
        free = [o for o in likely if made.space(o) > 0]
        shut = [o for o in free if "openable" in o.affordances]
        if not free:
            return False
        weights = [OBJECTS[thing].places[o.type] for o in free]
        (under,) = rng.choices(free, weights=weights)
        _add(rng, made, thing, rng.choice(shut) if shut and rng.random() < HIDDEN else under)
    return True


def _add(rng: random.Random, made: Arrangement, thing: str, under: HouseObject) -> HouseObject:
    number = 1
    while f"{thing}|{number}" in made.objects:
        number += 1
    return made.lay(rng, OBJECTS[thing].make(f"{thing}|{number}", thing), under)


def _say(rng: random.Random, kind: str, thing: str, room: str, place: str = "") -> str:
    words = {
        "a thing": a(spoken(thing)),
        "things": plural(spoken(thing)),
        "room": room,
        "on": preposition(place),
        "place": spoken(place),
    }
    return f"{rng.choice(SENTENCES[kind]).format_map(words)} {ENDINGS[kind]}"


# iTHOR's kitchens with their small things laid out anew, and questions about them.
#
# The published answers hold for a placement that only the Unity build of that time could make
# from a seed. So the things of a kitchen are laid where such things lie, drawn from the same
# seed, and then as many of those asked for are added or taken away as the published answer says.

# The published questions of IQUAD: what is asked about, in which kitchen, and the right answer.
#
# Of each line the kitchen, the type of question, what is asked for, the answer and the number that
# seeds are kept; the sentences are this project's own.
#
# Source: IQA (Gordon et al. 2018); ``iqa/questions`` of the data folder.

UNSEEN = ("FloorPlan1", "FloorPlan2", "FloorPlan3", "FloorPlan4", "FloorPlan5")
"""The kitchens that are kept out of training; the files ask about 6 to 30."""
REDRAWN = "unseen_kitchens"
FOLDERS = {
    "train": "train",
    "val_seen": "val/seen_scenes",
    "val_unseen": "val/unseen_scenes",
    REDRAWN: "val/seen_scenes",
}
"""Split -> folder of its questions."""
SPLITS = tuple(FOLDERS)
NAMES = {EXISTS: "existence", CONTAINS: "contains", COUNTS: "counting"}

THINGS = {
    1: "Spoon", 2: "Potato", 3: "Fork", 4: "Plate", 5: "Egg", 6: "Tomato", 7: "Bowl",
    8: "Lettuce", 9: "Apple", 10: "Knife", 11: "Cup", 12: "Bread", 13: "Mug",
}  # fmt: skip
"""Number of the file -> object type. What it calls a container (11) is a cup in iTHOR."""
PLACES = {17: "GarbageCan", 18: "Microwave", 19: "Fridge", 20: "Cabinet", 21: ""}
"""... and of what it may be in; 21 is the room."""
FIELDS = ("scene_number", "seed", "answer", "object_id", "container_id")


@dataclass(frozen=True, slots=True)
class PublishedQuestion:
    """One published question. ``thing`` and ``place`` are object types, ``place`` empty where the
    whole kitchen is meant; ``answer`` is yes, no or a number."""

    id: str
    kind: str
    scene: str
    seed: int
    thing: str
    place: str
    answer: str


def questions_path(folder: Path, split: str, kind: str) -> Path:
    """The file of a split and type of question. Raises ``DataError`` where it is not there."""
    name = f"iqa/questions/{FOLDERS[split]}/data_{NAMES[kind]}/combined.csv"
    try:
        return find(folder, name)
    except DataError:
        if split != "val_unseen":
            raise
        remedy = f"split {REDRAWN} asks other questions in the same kitchens"
        raise DataError(folder / name, "", "no such file (nor .gz)", remedy) from None


def read_questions(
    folder: Path, split: str, kinds: Sequence[str] = KINDS
) -> list[PublishedQuestion]:
    """The questions of a split, the types taking turns, each in its file's order. Raises
    ``DataError`` naming file, line and field."""
    tables = [_read(questions_path(folder, split, kind), split, kind) for kind in kinds]
    return [asked for turn in zip_longest(*tables) for asked in turn if asked is not None]


def _read(path: Path, split: str, kind: str) -> list[PublishedQuestion]:
    try:
        text = read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(path, "", f"is no text ({error})", "fetch it again") from error
    rows = csv.reader(io.StringIO(text))
    head = next(rows, [])
    missing = [name for name in FIELDS if name not in head]
    if missing:
        raise DataError(path, f"column {missing[0]!r}", "is missing", "fetch it again")
    at, found = [head.index(name) for name in FIELDS], []
    for number, row in enumerate(rows):
        try:
            scene, seed, answer, thing, place = [row[column] for column in at]
            said = str(int(answer)) if kind == COUNTS else {"True": "yes", "False": "no"}[answer]
            what, where = THINGS[int(thing)], PLACES[int(place)]
            room = UNSEEN[number % len(UNSEEN)] if split == REDRAWN else f"FloorPlan{int(scene)}"
            name = f"{split}_{kind}_{number}"
            found.append(PublishedQuestion(name, kind, room, int(seed), what, where, said))
        except (IndexError, KeyError, ValueError) as error:
            problem = f"is no question ({type(error).__name__}: {error})"
            raise DataError(path, f"line {number + 2}", problem, "fetch it again") from error
    return found


KITCHEN_SENTENCES: Mapping[str, tuple[str, ...]] = Table("sentences", "kitchens")
"""As many for each type as the published ones have."""
ONLY = frozenset(("fridge", "microwave"))
"""Of these a kitchen has one."""
UNLISTED = {"counter_top": 4.0, "dining_table": 2.0, "side_table": 1.0, "shelf": 1.0}
"""Where small things lie of which the rules of generated homes know nothing."""
ALIKE = {"knife": "butter_knife"}
"""Who asks for the one is not told of the other: both are knives."""
KEPT = 64


class Questions:
    """The published questions of a split, ``{split}_{kind}_{number}``, in redrawn kitchens."""

    def __init__(self, split: str, folder: Path | None, body: Body, kind: str = "") -> None:
        if folder is None:
            raise UsageError(f"iqa:{split} needs data; name its folder with --data")
        self._folder, self._split, self._body = folder, split, body
        self._kinds = (kind,) if kind else KINDS
        self._asked = read_questions(folder, split, self._kinds)
        self._by_id = {asked.id: asked for asked in self._asked}
        self.tasks = DrawnTasks(len(self._asked), self._task, lambda n: self._asked[n].id)
        self._scene = lru_cache(maxsize=KEPT)(self._build)

    @property
    def files(self) -> Mapping[str, Path]:
        paths = [questions_path(self._folder, self._split, kind) for kind in self._kinds]
        own = {str(path.relative_to(self._folder)): path for path in paths}
        return own | ithor.files(self._folder, sorted({asked.scene for asked in self._asked}))

    def world(self, episode: Episode) -> HouseholdWorld:
        scene = self._scene(str(episode.start["arrangement"]))
        home = kitchen(self._folder, scene.name).home
        return HouseholdWorld(scene, self._body, layout=home.layout.with_things(scene))

    def _task(self, number: int) -> Task:
        """Which things there are tells the answer; where they lie is drawn with the world."""
        asked = self._asked[number]
        name, there = asked.id, kitchen(self._folder, asked.scene)
        rng = random.Random(f"{_seed(asked)}/words")
        start, words = homes.start_in(rng, there.home, name), _ask(rng, asked)
        look, enough = _look(there, asked)
        reference = AnswerReference(name, asked.kind, answer=asked.answer, look=look, enough=enough)
        return Task(Episode(name, words, asked.scene, start), reference)

    def _build(self, name: str) -> Scene:
        if name not in self._by_id:
            raise UsageError(f"iqa: no question {name!r} in {self._split}")
        asked = self._by_id[name]
        return lay_out(kitchen(self._folder, asked.scene), asked)


@dataclass(frozen=True, eq=False, slots=True)
class Kitchen:
    """``home``: a scene without its small things; episodes start on any cell of its floor.
    ``small``: those things. ``places``: the furniture that they may be in or on."""

    home: Home
    small: tuple[HouseObject, ...]
    places: tuple[HouseObject, ...]


@lru_cache(maxsize=32)
def kitchen(folder: Path, name: str) -> Kitchen:
    """The kitchen of that name."""
    scene = ithor.scene(folder, name)
    small = tuple(o for o in scene.objects if "pickupable" in o.affordances)
    fixed = tuple(o for o in scene.objects if "pickupable" not in o.affordances)
    bare = replace(scene, objects=fixed)
    home = Home(name, bare, Layout(bare), ithor.cells(folder, name).main)
    return Kitchen(home, small, tuple(surfaces(bare)))


def lay_out(there: Kitchen, asked: PublishedQuestion) -> Scene:
    """A kitchen with its small things at likely places, and as many of those asked for as the
    published answer says."""
    rng = random.Random(f"{_seed(asked)}/things")
    kind, place = type_name(asked.thing), type_name(asked.place)
    made = Arrangement(there.home, {o.id: o for o in there.home.scene.objects})
    old, new = _stock(there, asked)
    for thing in there.small:
        if thing.id in old or thing.type not in (kind, ALIKE.get(kind)):
            _lay(rng, made, there.places, replace(thing, parent=""))
    places = [o for o in there.places if o.type == place]
    inside = {o.id for o in places}
    for each in made.of(kind):
        if each.parent in inside:
            del made.objects[each.id]
    for name in new:
        thing, hidden = OBJECTS[kind].make(name, kind), rng.random() < HIDDEN
        if places:
            made.lay(rng, thing, rng.choice(places))
        else:
            _lay(rng, made, there.places, thing, hidden)
    return made.scene()


def _stock(there: Kitchen, asked: PublishedQuestion) -> tuple[Ids, Ids]:
    """Which of the things asked for the kitchen has: those of its own, and those that are added."""
    kind = type_name(asked.thing)
    have = tuple(o.id for o in there.small if o.type == kind)
    if asked.kind == CONTAINS:
        return have, (f"{kind}|1",) if asked.answer == "yes" else ()
    wanted = int(asked.answer) if asked.kind == COUNTS else len(have) or 1
    wanted = 0 if asked.answer == "no" else wanted
    return have[:wanted], tuple(f"{kind}|{n}" for n in range(1, wanted - len(have) + 1))


def _look(there: Kitchen, asked: PublishedQuestion) -> tuple[Ids, int]:
    """What one must look at to know the answer, and how much of that will do (0: all of it)."""
    old, new = _stock(there, asked)
    if asked.kind == CONTAINS:
        place = type_name(asked.place)
        return new or tuple(o.id for o in there.places if o.type == place), 0
    if asked.answer == "yes":
        return (*old, *new), 1
    return (*old, *new, *(o.id for o in there.places)), 0


def _seed(asked: PublishedQuestion) -> str:
    return f"{asked.scene}/{asked.seed}/{asked.kind}/{asked.thing}/{asked.place}"


def _lay(
    rng: random.Random,
    made: Arrangement,
    places: Sequence[HouseObject],
    thing: HouseObject,
    hidden: bool = False,
) -> None:
    """A thing at one of its likely places, or at one that is shut where it is to be ``hidden``."""
    known = OBJECTS.get(thing.type)
    weights = known.places if known else UNLISTED
    likely = [o for o in places if _fits(made, thing, o)]
    if hidden:
        likely = [o for o in likely if _shut(o)] or likely
    likely = [o for o in likely if o.type in weights] or likely
    (under,) = rng.choices(likely, weights=[weights.get(o.type, 1.0) for o in likely])
    made.lay(rng, thing, under)


def _fits(made: Arrangement, thing: HouseObject, under: HouseObject) -> bool:
    takes = not under.accepts or thing.type in under.accepts
    return takes and made.space(under) > 0


def _shut(under: HouseObject) -> bool:
    return under.receptacle == "in" and "openable" in under.affordances


def _ask(rng: random.Random, asked: PublishedQuestion) -> str:
    thing, place = spoken(type_name(asked.thing)), type_name(asked.place)
    words = {
        "a thing": a(thing),
        "things": plural(thing),
        "a place": f"the {spoken(place)}" if place in ONLY else a(spoken(place) or "kitchen"),
    }
    return f"{rng.choice(KITCHEN_SENTENCES[asked.kind]).format_map(words)} {ENDINGS[asked.kind]}"


@dataclass(frozen=True)
class IqaSettings(homes.HomesSettings):
    """``kind`` limits the questions to one type: exists, contains or counts."""

    useless: ClassVar[tuple[str, ...]] = homes.TREAT
    paper: ClassVar[tuple[str, ...]] = (*homes.WALK, "open", "stop")
    answers: ClassVar[bool] = True

    kind: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        homes.check_kind(self.kind, KINDS)


class InteractiveQuestions(homes.SourcedTasks[IqaSettings]):
    """Questions about one room; the answer is given by stopping with it.

        >>> iqa = InteractiveQuestions(settings=InteractiveQuestions.Settings(homes=1, episodes=3))
        >>> [task.reference.kind for task in iqa.tasks]
        ['exists', 'contains', 'counts']

    ``stop[yes]``, ``stop[no]`` or ``stop[2]``. An episode starts in the room that is asked about;
    what is asked for may be shut in something. Right answers are even: yes and no half and half,
    counts from 0 to 3 a quarter each, so that guessing scores a half and a quarter.

    Splits ``generated_test`` and ``generated_train``: rooms of generated homes.

    Splits ``train``, ``val_seen``, ``val_unseen``: what IQUAD (Gordon et al. 2018) asks about
    iTHOR's kitchens, with its answers, in this project's words. The placement that made an answer
    right cannot be had again, so small things are laid anew from the same seed, as the answer
    wants them: see ``thor.kitchens``. ``unseen_kitchens`` asks the questions of ``val_seen`` in the
    five kitchens that ``train`` leaves out. All of ``settings`` but ``kind`` and ``actions`` is for
    generated homes.
    """

    name: ClassVar[str] = "iqa"
    Settings: ClassVar[type[IqaSettings]] = IqaSettings
    splits: ClassVar[tuple[str, ...]] = (*homes.GENERATED, *SPLITS)
    published_train: ClassVar[str] = SPLITS[0]
    redrawn: ClassVar[str] = (
        "IQUAD's placements are not published: kitchens are redrawn so that the answers hold"
    )
    max_steps: ClassVar[int] = 500

    def source(self, split: str) -> homes.EpisodeSource:
        if split in SPLITS:
            return Questions(split, self.folder, self.settings.make_body(), self.settings.kind)
        kinds = (self.settings.kind,) if self.settings.kind else KINDS
        return homes.Generated(split, self.settings, _draw, kinds)


def _draw(rng: random.Random, made: Arrangement, arrangement: str) -> Task | None:
    """A question of the type that the arrangement names; its answer is drawn once for all tries."""
    kind, home = arrangement.partition("/")[0], made.home
    luck = random.Random(f"{home.name}/{arrangement}/answer").random()
    question = draw_question(rng, made, kind, luck)
    if question is None:
        return None
    inside = [at for at in home.starts if home.layout.room_at(*at) == question.room]
    name = homes.named(home.name, arrangement)
    start = homes.start_in(rng, home, arrangement, inside)
    answer, look, enough = question.answer, question.look, question.enough
    reference = AnswerReference(name, kind, answer=answer, look=look, enough=enough)
    return Task(Episode(name, question.text, home.name, start), reference)


dataset = InteractiveQuestions
