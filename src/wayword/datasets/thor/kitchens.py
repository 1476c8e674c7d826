"""iTHOR's kitchens with their small things laid out anew, and questions about them.

The published answers hold for a placement that only the Unity build of that time could make from a
seed. So the things of a kitchen are laid where such things lie, drawn from the same seed, and then
as many of those asked for are added or taken away as the published answer says.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.datasets.drawn import DrawnTasks
from wayword.datasets.homes.arranging import Arrangement
from wayword.datasets.homes.episodes import Case, start_in
from wayword.datasets.homes.goals import AnswerReference
from wayword.datasets.homes.home import Home, surfaces
from wayword.datasets.homes.objects import OBJECTS
from wayword.datasets.homes.questions import CONTAINS, COUNTS, ENDINGS, EXISTS, HIDDEN, KINDS
from wayword.datasets.homes.wording import a, plural, spoken
from wayword.datasets.thor import ithor
from wayword.datasets.thor.questions import Asked, questions_path, read_questions
from wayword.worlds.housework.body import Body
from wayword.worlds.housework.builder import type_name
from wayword.worlds.housework.layout import Layout
from wayword.worlds.housework.scene import HouseObject
from wayword.worlds.rooms import RoomsWorld

SENTENCES: Mapping[str, tuple[str, ...]] = {
    EXISTS: (
        "Is there {a thing} in this kitchen?",
        "Does this kitchen have {a thing} anywhere?",
        "Are there any {things} to be found here?",
        "Look around: is {a thing} somewhere in the kitchen?",
        "I believe this kitchen has {a thing} in it. Is that true?",
        "Tell me whether {a thing} is here, be it shut in somewhere.",
    ),
    CONTAINS: (
        "Is there {a thing} in {a place}?",
        "Does {a place} hold {a thing}?",
        "I believe {a thing} is in {a place}. Is that true?",
        "Tell me whether {a thing} is to be found in {a place}.",
    ),
    COUNTS: (
        "How many {things} does this kitchen hold?",
        "Count the {things} in this kitchen.",
        "Tell me the number of {things} here, those shut in somewhere included.",
        "There are at most three {things} in this kitchen. How many?",
        "How many {things} are there, all places of the kitchen taken together?",
    ),
}
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
        self._number = {self._name(asked): n for n, asked in enumerate(self._asked)}
        self.tasks = DrawnTasks(len(self._asked), lambda number: self._case(number).task)
        self._case = lru_cache(maxsize=KEPT)(self._draw)

    @property
    def files(self) -> Mapping[str, Path]:
        """The questions, and what the kitchens are read from."""
        paths = [questions_path(self._folder, self._split, kind) for kind in self._kinds]
        own = {str(path.relative_to(self._folder)): path for path in paths}
        return own | ithor.files(self._folder, sorted({asked.scene for asked in self._asked}))

    def world(self, episode: Episode) -> RoomsWorld:
        """A fresh world; what never moves is shared by all questions about a kitchen."""
        name = str(episode.start["arrangement"])
        if name not in self._number:
            raise UsageError(f"iqa: no question {name!r} in {self._split}")
        return self._case(self._number[name]).world(self._body)

    def _name(self, asked: Asked) -> str:
        return f"{self._split}_{asked.kind}_{asked.number}"

    def _draw(self, number: int) -> Case:
        asked = self._asked[number]
        return draw_case(self._folder, asked, self._name(asked))


def draw_case(folder: Path, asked: Asked, name: str) -> Case:
    """The episode of a published question: a kitchen laid out so that its answer is right."""
    home = kitchen(folder, asked.scene)
    rng = random.Random(f"{asked.scene}/{asked.seed}/{asked.kind}/{asked.thing}/{asked.place}")
    made = lay_out(rng, home, folder)
    look, enough = _fit(rng, made, asked)
    start = start_in(rng, home, name)
    words = _say(rng, asked)
    reference = AnswerReference(name, asked.kind, answer=asked.answer, look=look, enough=enough)
    return Case(Task(Episode(name, words, asked.scene, start), reference), home, made.scene())


@lru_cache(maxsize=32)
def kitchen(folder: Path, name: str) -> Home:
    """A scene without its small things. Episodes may start on any cell of its floor."""
    scene = ithor.scene(folder, name)
    fixed = tuple(o for o in scene.objects if "pickupable" not in o.affordances)
    bare = replace(scene, objects=fixed)
    return Home(name, bare, Layout(bare), ithor.cells(folder, name).main)


def lay_out(rng: random.Random, home: Home, folder: Path) -> Arrangement:
    """All small things of a kitchen, each at a place where such things lie."""
    made = Arrangement(home, {o.id: o for o in home.scene.objects})
    for thing in ithor.scene(folder, home.name).objects:
        if "pickupable" in thing.affordances:
            _lay(rng, made, replace(thing, parent=""))
    return made


def _lay(rng: random.Random, made: Arrangement, thing: HouseObject, hidden: bool = False) -> None:
    """A thing at one of its likely places, or at one that is shut where it is to be ``hidden``."""
    known = OBJECTS.get(thing.type)
    weights = known.places if known else UNLISTED
    likely = [o for o in surfaces(made.home.scene) if _fits(made, thing, o)]
    if hidden:
        likely = [o for o in likely if _shut(o)] or likely
    likely = [o for o in likely if o.type in weights] or likely
    (under,) = rng.choices(likely, weights=[weights.get(o.type, 1.0) for o in likely])
    made.lay(rng, thing, under)


def _fit(rng: random.Random, made: Arrangement, asked: Asked) -> tuple[tuple[str, ...], int]:
    """Make the answer right. Returns what one must look at to know it, and how much of that will
    do (0: all of it)."""
    thing, place = type_name(asked.thing), type_name(asked.place)
    for other in made.of(ALIKE.get(thing, "")):
        del made.objects[other.id]
    there = surfaces(made.home.scene)
    if asked.kind == CONTAINS:
        places = [o for o in there if o.type == place]
        _clear(made, thing, {o.id for o in places})
        if asked.answer == "no":
            return tuple(o.id for o in places), 0
        return (_another(rng, made, thing, rng.choice(places)).id,), 0
    have = made.of(thing)
    wanted = int(asked.answer) if asked.kind == COUNTS else len(have) or 1
    wanted = 0 if asked.answer == "no" else wanted
    for surplus in have[wanted:]:
        del made.objects[surplus.id]
    for _ in range(wanted - len(have)):
        _another(rng, made, thing)
    found = tuple(o.id for o in made.of(thing))
    return (found, 1) if asked.answer == "yes" else ((*found, *(o.id for o in there)), 0)


def _clear(made: Arrangement, thing: str, places: set[str]) -> None:
    """Take all things of a type out of some places."""
    for each in made.of(thing):
        if each.parent in places:
            del made.objects[each.id]


def _another(
    rng: random.Random, made: Arrangement, kind: str, under: HouseObject | None = None
) -> HouseObject:
    """One more of a type, at a likely place or in ``under``."""
    spec, number = OBJECTS[kind], 1
    while f"{kind}|{number}" in made.objects:
        number += 1
    thing = spec.make(f"{kind}|{number}", kind)
    if under is not None:
        return made.lay(rng, thing, under)
    _lay(rng, made, thing, hidden=rng.random() < HIDDEN)
    return made.objects[thing.id]


def _fits(made: Arrangement, thing: HouseObject, under: HouseObject) -> bool:
    takes = not under.accepts or thing.type in under.accepts
    return takes and made.space(under) > 0


def _shut(under: HouseObject) -> bool:
    return under.receptacle == "in" and "openable" in under.affordances


def _say(rng: random.Random, asked: Asked) -> str:
    thing, place = spoken(type_name(asked.thing)), type_name(asked.place)
    words = {
        "a thing": a(thing),
        "things": plural(thing),
        "a place": f"the {spoken(place)}" if place in ONLY else a(spoken(place) or "kitchen"),
    }
    return f"{rng.choice(SENTENCES[asked.kind]).format_map(words)} {ENDINGS[asked.kind]}"
