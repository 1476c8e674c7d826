"""Questions about existence, contents and counts, asked in generated homes and iTHOR's kitchens.

A generated home is changed to fit the drawn answer.

Source: IQA (Gordon et al. 2018), section 4: existence, counting and spatial relationship.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, count, zip_longest
from pathlib import Path
from random import Random

from wayword.core.dataset import DrawnTasks, Task
from wayword.core.episode import Episode
from wayword.core.errors import DataError, UsageError
from wayword.core.files import find, find_any, read_bytes, require_data
from wayword.core.visible import with_article
from wayword.datasets.procedural.homes import episodes as homes
from wayword.datasets.procedural.homes.chores import plural, preposition, spoken_name
from wayword.datasets.procedural.homes.home import Home, surfaces
from wayword.datasets.procedural.homes.objects import OBJECTS, Arrangement
from wayword.datasets.procedural.tables import (
    Table,
    Wording,
    choose_sentence,
)
from wayword.datasets.sources import ithor
from wayword.worlds.household.builder import type_name
from wayword.worlds.household.goals import AnswerReference, Ids
from wayword.worlds.household.layout import Layout
from wayword.worlds.household.scene import HouseObject, Scene
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import HouseholdWorld

EXISTS = "exists"
CONTAINS = "contains"
COUNTS = "counts"
KINDS = (EXISTS, CONTAINS, COUNTS)
# The highest count that is an answer.
MOST_COUNTED = 3
# Share of added objects that are put into a closed receptacle, if there is one.
HIDDEN = 0.5

SENTENCES: Mapping[str, tuple[str, ...]] = Table("sentences", "questions")
ENDINGS = {
    **dict.fromkeys((EXISTS, CONTAINS), "Answer yes or no."),
    COUNTS: "Answer with a number.",
}
Question = tuple[str, str, Ids, int]
"""Question, answer, the objects to see before answering, and how many of them suffice (0: all)."""
# Actions to see all of a room, at most as a rule; longer questions are of several rooms.
ROOM_ACTIONS = 32


def _draw(
    wording: Wording, rng: Random, draft: Arrangement, arrangement: str
) -> Task | None:
    """Draw a room and a question of the named type; objects are added or removed to fit the answer.

    The answer is drawn once per arrangement, so retrying after an infeasible question does not bias
    the answers. None if the home has no such question.
    """
    kind = arrangement.partition("/")[0]
    home = draft.home
    # An arrangement of a set length ends in "/l" and the number of actions.
    length = int(arrangement.partition("/l")[2] or 0)
    rooms_asked = max(1, length // ROOM_ACTIONS)
    # A generator of its own: ``rng`` differs between attempts, the answer must not.
    chance = Random(f"{home.name}/{arrangement}/answer").random()
    places = surfaces(home.scene)
    rooms = sorted({draft.room(o) for o in places})
    rng.shuffle(rooms)
    for number, room in enumerate(rooms):
        asked = [room] if kind == CONTAINS else rooms[number : number + rooms_asked]
        room_places = [o for o in places if draft.room(o) in asked]
        if kind == CONTAINS:
            question = _draw_contains(rng, draft, room, room_places, chance, wording)
        else:
            question = _draw_count(
                rng, draft, asked, room_places, kind, chance, wording
            )
        if question is None:
            continue
        text, answer, to_see, min_seen = question
        starts = [point for point in home.starts if home.layout.room_at(*point) == room]
        name = homes.episode_id(home.name, arrangement)
        start = homes.draw_start(rng, home, arrangement, starts)
        reference = AnswerReference(
            name, kind, answer=answer, look=to_see, enough=min_seen
        )
        return Task(Episode(name, text, home.name, start), reference)
    return None


def _draw_count(
    rng: Random,
    draft: Arrangement,
    rooms: Sequence[str],
    places: list[HouseObject],
    kind: str,
    chance: float,
    wording: Wording,
) -> Question | None:
    """Draw a question on existence or number, and make the rooms' objects fit the answer.

    ``chance``, from 0 up to 1, decides the answer: each count up to ``MOST_COUNTED`` is equally
    likely, and so are yes and no. Changes ``draft``. Return None if no type suits the places, or if
    they have no free space.
    """
    # A type with at least two likely places: with one, a single look would answer.
    types = [
        t for t in OBJECTS if sum(o.type in OBJECTS[t].places for o in places) >= 2
    ]
    if not types:
        return None
    item = rng.choice(types)
    present = [o for o in draft.of(item) if draft.room(o) in rooms]

    # The answer, and the number of objects that makes it true.
    if kind == COUNTS:
        number = int(chance * (MOST_COUNTED + 1))
        answer = str(number)
    elif chance < 0.5:
        number = max(1, min(MOST_COUNTED, len(present)))
        answer = "yes"
    else:
        number = 0
        answer = "no"

    # Remove surplus objects, or add missing ones.
    for extra in present[number:]:
        del draft.objects[extra.id]
    weight_of = OBJECTS[item].places
    usual = [o for o in places if o.type in weight_of]
    for _ in range(number - len(present)):
        free = [o for o in usual if draft.free_slots(o) > 0]
        if not free:
            return None
        (holder,) = rng.choices(free, weights=[weight_of[o.type] for o in free])
        closed_places = [o for o in free if "openable" in o.affordances]
        if closed_places and rng.random() < HIDDEN:
            holder = rng.choice(closed_places)
        _add_new(rng, draft, item, holder)
    matches = [o.id for o in draft.of(item) if draft.room(o) in rooms]
    text = _word_question(rng, wording, kind, item, " and the ".join(rooms))
    if answer == "yes":
        return text, answer, tuple(matches), 1
    # "No" and counts are known only after a look at every place.
    return text, answer, (*matches, *(o.id for o in places)), 0


def _draw_contains(
    rng: Random,
    draft: Arrangement,
    room: str,
    places: list[HouseObject],
    chance: float,
    wording: Wording,
) -> Question | None:
    """Draw a question on the contents of the only receptacle of its type in the room.

    Changes ``draft`` to fit the answer, which is yes for a ``chance`` (0 to 1) below a
    half. None if there is no such receptacle, or no free space in it.
    """
    types = [o.type for o in places]
    unique = [o for o in places if types.count(o.type) == 1]
    pairs: list[tuple[HouseObject, str]] = []
    for holder in unique:
        pairs += [(holder, t) for t in OBJECTS if holder.type in OBJECTS[t].places]
    if not pairs:
        return None
    holder, item = rng.choice(pairs)
    # Emptied of the item first, so that the answer does not depend on the home.
    for old in draft.of(item):
        if old.parent == holder.id:
            del draft.objects[old.id]
    answer = "no"
    seen_id = holder.id
    if chance < 0.5:
        if draft.free_slots(holder) < 1:
            return None
        answer = "yes"
        seen_id = _add_new(rng, draft, item, holder).id
    text = _word_question(rng, wording, CONTAINS, item, room, holder.type)
    return text, answer, (seen_id,), 0


def _add_new(
    rng: Random, draft: Arrangement, kind: str, under: HouseObject
) -> HouseObject:
    """Place a new object of a type, with the first free id. Returns the object."""
    ids = (f"{kind}|{number}" for number in count(1))
    name = next(item_id for item_id in ids if item_id not in draft.objects)
    return draft.place_on(rng, OBJECTS[kind].make(name, kind), under)


def _word_question(
    rng: Random, wording: Wording, kind: str, item: str, room: str, place: str = ""
) -> str:
    """Word a question, with one of its type's wordings and how to answer."""
    words = {
        "a thing": with_article(spoken_name(item)),
        "things": plural(spoken_name(item)),
    }
    words |= {"room": room, "on": preposition(place), "place": spoken_name(place)}
    sentence = choose_sentence(rng, SENTENCES[kind], wording)
    return f"{sentence.format_map(words)} {ENDINGS[kind]}"


# iTHOR's kitchens with their small objects placed again, and the published questions about them.
#
# The published answers hold for a placement that only the Unity build of that time could produce.

UNSEEN = ("FloorPlan1", "FloorPlan2", "FloorPlan3", "FloorPlan4", "FloorPlan5")
"""The kitchens held out from training; the files ask about kitchens 6 to 30."""
UNSEEN_SET = "unseen_kitchens"
FOLDERS = {
    "train": "train",
    "val_seen": "val/seen_scenes",
    "val_unseen": "val/unseen_scenes",
    UNSEEN_SET: "val/seen_scenes",
}
"""Split -> folder of its question files."""
SPLITS = tuple(FOLDERS)
# Question type -> the part of a file's name that stands for it.
FILE_NAMES = {EXISTS: "existence", CONTAINS: "contains", COUNTS: "counting"}

ITEM_OF = {
    1: "Spoon", 2: "Potato", 3: "Fork", 4: "Plate", 5: "Egg", 6: "Tomato", 7: "Bowl",
    8: "Lettuce", 9: "Apple", 10: "Knife", 11: "Cup", 12: "Bread", 13: "Mug",
}  # fmt: skip
"""IQUAD's object number -> iTHOR type. Its "container" (11) is a cup in iTHOR."""
PLACE_OF = {17: "GarbageCan", 18: "Microwave", 19: "Fridge", 20: "Cabinet", 21: ""}
"""IQUAD's receptacle number -> iTHOR type; 21 is the whole room."""
# Columns of a file that are read, by name: files may have others.
COLUMNS = ("scene_number", "seed", "answer", "object_id", "container_id")


@dataclass(frozen=True, slots=True)
class IquadQuestion:
    """A published question.

    ``item`` and ``place`` are object types, ``place`` is empty if the question is about
    the whole kitchen; ``answer`` is yes, no or a number.
    """

    id: str
    kind: str
    scene: str
    seed: int
    item: str
    place: str
    answer: str

    @property
    def key(self) -> str:
        """Random seed for everything drawn for this question."""
        return f"{self.scene}/{self.seed}/{self.kind}/{self.item}/{self.place}"


def questions_path(folder: Path, split: str, kind: str) -> Path:
    """Return the file of a split and question type. Raises ``DataError`` if it is missing."""
    name = f"iqa/questions/{FOLDERS[split]}/data_{FILE_NAMES[kind]}/combined.csv"
    if split == "val_unseen" and find_any(folder, name) is None:
        remedy = f"use split {UNSEEN_SET}: other questions in the same kitchens"
        raise DataError(folder / name, "", "no such file (nor .gz)", remedy)
    return find(folder, name)


def read_questions(
    folder: Path, split: str, kinds: Sequence[str] = KINDS
) -> list[IquadQuestion]:
    """Read the questions of a split, alternating between types, in file order within each.

    Raises ``DataError`` with file, line and field.
    """
    tables = [
        _read_table(questions_path(folder, split, kind), split, kind) for kind in kinds
    ]
    # Shorter tables are padded with None.
    alternating = chain.from_iterable(zip_longest(*tables))
    return [question for question in alternating if question is not None]


def _read_table(path: Path, split: str, kind: str) -> list[IquadQuestion]:
    """Read a file of questions of one type. Raises ``DataError`` with the column or line.

    Questions are numbered from 0 in file order. The files ask about kitchens of the training set;
    for the held-out ones, questions are assigned to ``UNSEEN`` in turn.
    """
    try:
        rows = csv.reader(io.StringIO(read_bytes(path).decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        raise DataError(path, "", f"is not text ({error})", "fetch it again") from error
    header = next(rows, [])
    questions = []
    for column in COLUMNS:
        if column not in header:
            raise DataError(path, f"column {column!r}", "is missing", "fetch it again")
    # By name: the order of columns is the file's.
    columns = [header.index(name) for name in COLUMNS]
    for number, row in enumerate(rows):
        try:
            scene, seed, answer, item, place = [row[column] for column in columns]
            if kind == COUNTS:
                answer = str(int(answer))
            else:
                answer = {"True": "yes", "False": "no"}[answer]
            if split == UNSEEN_SET:
                room = UNSEEN[number % len(UNSEEN)]
            else:
                room = f"FloorPlan{int(scene)}"
            question = IquadQuestion(
                f"{split}_{kind}_{number}",
                kind,
                room,
                int(seed),
                ITEM_OF[int(item)],
                PLACE_OF[int(place)],
                answer,
            )
            questions.append(question)
        except (IndexError, KeyError, ValueError) as error:
            problem = f"is not a valid question ({type(error).__name__}: {error})"
            # Lines count from 1, and the first one is the header.
            raise DataError(
                path, f"line {number + 2}", problem, "fetch it again"
            ) from error
    return questions


KITCHEN_SENTENCES: Mapping[str, tuple[str, ...]] = Table("sentences", "kitchens")
"""Question type -> its wordings, as many as the published files have."""
SINGLE = frozenset(("fridge", "microwave"))
"""Receptacles of which a kitchen has only one."""
EXTRA_PLACES = {
    "counter_top": 4.0,
    "dining_table": 2.0,
    "side_table": 1.0,
    "shelf": 1.0,
}
"""Weights of places for small objects that the rules of generated homes do not cover."""
SIMILAR_TYPES = {"knife": "butter_knife"}
"""A question about the first type removes objects of the second: both count as knives."""
CACHED_SCENES = 64  # enough for episodes that are played side by side


class Questions:
    """The published questions of a split in redrawn kitchens.

    Ids: ``{split}_{kind}_{number}``. The kitchens' small objects were never published:
    they are drawn such that the published answer is right.
    """

    def __init__(
        self,
        split: str,
        folder: Path | None,
        body: Body,
        kind: str = "",
        wording: Wording = 2,
    ) -> None:
        self._folder = folder = require_data(folder, f"iqa:{split}")
        self._split = split
        self._body = body
        self._wording = wording
        self._kinds = (kind,) if kind else KINDS
        self._questions = read_questions(folder, split, self._kinds)
        self._by_id = {question.id: question for question in self._questions}
        self.tasks = DrawnTasks(
            len(self._questions), self._task, lambda n: self._questions[n].id
        )
        self._scene = lru_cache(maxsize=CACHED_SCENES)(self._build)

    @property
    def files(self) -> Mapping[str, Path]:
        """Published files that the episodes are read from, for checksums."""
        paths = [
            questions_path(self._folder, self._split, kind) for kind in self._kinds
        ]
        tables = {str(path.relative_to(self._folder)): path for path in paths}
        scenes = sorted({question.scene for question in self._questions})
        return tables | ithor.files(self._folder, scenes)

    def world(self, episode: Episode) -> HouseholdWorld:
        """Return the kitchen in the arrangement of the episode."""
        scene = self._scene(str(episode.start["arrangement"]))
        home = kitchen(self._folder, scene.name).home
        return HouseholdWorld(scene, self._body, layout=home.layout.with_scene(scene))

    def _task(self, number: int) -> Task:
        """Build the task of a question; the objects to place follow from its answer.

        The reference lists the objects and places that reveal the answer, and how many of them
        suffice. Start and wording are drawn from the question's key.
        """
        question = self._questions[number]
        kind = question.kind
        answer = question.answer
        name = question.id
        room = kitchen(self._folder, question.scene)
        rng = Random(f"{question.key}/words")
        start = homes.draw_start(rng, room.home, name)

        # The wording.
        item = spoken_name(type_name(question.item))
        place = type_name(question.place)
        words = {"a thing": with_article(item), "things": plural(item)}
        words["a place"] = with_article(spoken_name(place) or "kitchen")
        if place in SINGLE:
            words["a place"] = f"the {spoken_name(place)}"
        sentence = choose_sentence(rng, KITCHEN_SENTENCES[kind], self._wording)
        text = f"{sentence.format_map(words)} {ENDINGS[kind]}"

        # The objects to see before answering; a minimum of 0 requires all of them.
        present, added = _asked_ids(room, question)
        ids_to_see = (*present, *added)
        minimum = 0
        if kind == CONTAINS:
            ids_to_see = added or tuple(o.id for o in room.places if o.type == place)
        elif answer == "yes":
            minimum = 1
        else:
            ids_to_see += tuple(o.id for o in room.places)
        reference = AnswerReference(
            name, kind, answer=answer, look=ids_to_see, enough=minimum
        )
        return Task(Episode(name, text, question.scene, start), reference)

    def _build(self, name: str) -> Scene:
        """Return the scene of a question: its kitchen with small objects at likely places.

        It has as many of the requested type as the published answer says.
        """
        if name not in self._by_id:
            raise UsageError(f"iqa:{self._split} has no question {name!r}")
        question = self._by_id[name]
        room = kitchen(self._folder, question.scene)
        rng = Random(f"{question.key}/things")
        kind = type_name(question.item)
        place = type_name(question.place)
        draft = Arrangement(room.home, room.home.scene.by_id())

        # All small objects at likely places, except surplus ones of the requested type.
        present_ids, added_ids = _asked_ids(room, question)
        counted_types = (kind, SIMILAR_TYPES.get(kind))
        for item in room.small_objects:
            if item.id in present_ids or item.type not in counted_types:
                _lay_object(rng, draft, room.places, replace(item, parent=""))

        # None of the requested type stays in the receptacle in question but those added to it.
        places = [o for o in room.places if o.type == place]
        asked_places = {o.id for o in places}
        for extra in draft.of(kind):
            if extra.parent in asked_places:
                del draft.objects[extra.id]
        for name in added_ids:
            item = OBJECTS[kind].make(name, kind)
            is_hidden = rng.random() < HIDDEN
            if places:
                draft.place_on(rng, item, rng.choice(places))
            else:
                _lay_object(rng, draft, room.places, item, is_hidden)
        return draft.scene()


@dataclass(frozen=True, eq=False)
class Kitchen:
    """A kitchen: its home without the small objects, and the furniture they may be in or on."""

    home: Home
    small_objects: tuple[HouseObject, ...]
    places: tuple[HouseObject, ...]


@lru_cache(maxsize=32)
def kitchen(folder: Path, name: str) -> Kitchen:
    """Load a kitchen by its scene name."""
    scene = ithor.scene(folder, name)
    small_objects = tuple(o for o in scene.objects if "pickupable" in o.affordances)
    furniture = tuple(o for o in scene.objects if "pickupable" not in o.affordances)
    bare_scene = replace(scene, objects=furniture)
    home = Home(name, bare_scene, Layout(bare_scene), ithor.cells(folder, name).main)
    return Kitchen(home, small_objects, tuple(surfaces(bare_scene)))


def _asked_ids(room: Kitchen, question: IquadQuestion) -> tuple[Ids, Ids]:
    """Return ids of the requested type: those already in the kitchen, and those to add."""
    kind = type_name(question.item)
    answer = question.answer
    present_ids = tuple(o.id for o in room.small_objects if o.type == kind)
    if question.kind == CONTAINS:
        return present_ids, (f"{kind}|1",) if answer == "yes" else ()
    if answer == "yes":
        required = len(present_ids) or 1
    elif answer == "no":
        required = 0
    else:
        required = int(answer)
    missing = required - len(present_ids)
    added_ids = tuple(f"{kind}|{n}" for n in range(1, missing + 1))
    return present_ids[:required], added_ids


def _lay_object(
    rng: Random,
    draft: Arrangement,
    places: Sequence[HouseObject],
    item: HouseObject,
    is_hidden: bool = False,
) -> None:
    """Place an object at a likely place; at a closed one if ``is_hidden`` and there is one.

    Changes ``draft``. ``places`` is the furniture to choose from.
    """
    weights: Mapping[str, float] = EXTRA_PLACES
    if item.type in OBJECTS:
        weights = OBJECTS[item.type].places
    options = [
        o
        for o in places
        if (not o.accepts or item.type in o.accepts) and draft.free_slots(o) > 0
    ]
    # Each preference applies only if it leaves an option.
    if is_hidden:
        closed_places = [
            o for o in options if o.receptacle == "in" and "openable" in o.affordances
        ]
        options = closed_places or options
    options = [o for o in options if o.type in weights] or options
    (place,) = rng.choices(options, weights=[weights.get(o.type, 1.0) for o in options])
    draft.place_on(rng, item, place)


@dataclass(frozen=True)
class IqaSettings(homes.KindSettings):
    """``kind`` limits the questions to one type: exists, contains or counts. ``wording``: version
    of the questions; 1 is that of bench 2026."""

    all_kinds = KINDS
    unused_verbs = homes.COOKING
    paper = (*homes.WALKING, "open", "stop")
    answers = True

    wording: Wording = 2


class InteractiveQuestions(homes.SourcedTasks):
    """Questions about one room, answered with the stop action.

        >>> iqa = InteractiveQuestions(settings=InteractiveQuestions.Settings(homes=1, episodes=3))
        >>> [task.reference.kind for task in iqa.tasks]
        ['exists', 'contains', 'counts']

    ``stop[yes]``, ``stop[no]`` or ``stop[2]``. An episode starts in the room in question; the
    objects may be inside something closed. Answers are balanced: yes and no half each, counts 0 to
    3 a quarter each, so guessing scores 1/2 and 1/4.

    Splits ``train``, ``val_seen``, ``val_unseen``: IQUAD's questions and answers (Gordon et al.
    2018) about iTHOR's kitchens, worded by this project. The original placements cannot be
    reproduced, so small objects are placed again from the same seed to fit the answer.
    ``unseen_kitchens`` asks the questions of ``val_seen`` in the five kitchens held out from
    ``train``. Of the settings, published splits use only ``kind`` and ``actions``.
    """

    name = "iqa"
    Settings = IqaSettings
    splits = (*homes.GENERATED, *SPLITS)
    published_train = SPLITS[0]
    redrawn = (
        "IQUAD's placements are not published: kitchens are redrawn to fit the answers"
    )
    max_steps = 500

    def source(self, split: str) -> homes.EpisodeSource:
        """Return the questions of a split: published ones, or those of generated homes."""
        settings = self.settings
        if split in SPLITS:
            return Questions(
                split,
                self.folder,
                settings.make_body(),
                settings.kind,
                settings.wording,
            )
        wording = settings.wording
        return homes.Generated(
            split, settings, lambda *at: _draw(wording, *at), settings.kinds
        )


dataset = InteractiveQuestions
