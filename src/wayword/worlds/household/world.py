"""The household world: houses of words, where walls hide, doors matter, and several bodies act.

    >>> from wayword.core.action import Action
    >>> from wayword.core.episode import Episode
    >>> from wayword.worlds.household.builder import SceneBuilder
    >>> house = SceneBuilder("flat")
    >>> house.room("kitchen", [(0, 0), (4, 0), (4, 3), (0, 3)])
    >>> table = house.furniture("table", 2, 2.5, 1.0, 0.6, 0.8, receptacle="on")
    >>> apple = house.thing("apple", parent=table)
    >>> world = HouseholdWorld(house.build())
    >>> start = {"poses": {"agent": {"x": 2.0, "y": 0.5, "heading": 0.0}}}
    >>> world.reset(Episode("1", "Bring me the apple.", "flat", start))
    >>> [seen.name for seen in world.observe("agent").objects]
    ['table_1', 'apple_1']
    >>> world.step("agent", Action("pick_up", ("apple_1",))).status
    'too_far'
    >>> world.step("agent", Action("go_grab", ("apple_1",))).status
    'ok'

What a body is able to do is :class:`~wayword.worlds.household.verbs.Body`; what there is in a house
:class:`~wayword.worlds.household.scene.Scene`; the verbs, and what each can answer, are in
``verbs``. The action space takes every well-formed action, and the world answers with a
status. A failed action changes nothing.

Source: LangSuitE (Jia et al. 2024, arXiv:2406.16294), section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any

from wayword.core.action import STOP, Action, ActionSpace, ListedLater
from wayword.core.episode import Episode, Json
from wayword.core.errors import DataError
from wayword.core.geometry import absolute
from wayword.core.world import Feedback, World
from wayword.worlds.household import verbs as st
from wayword.worlds.household.house import Actor, Fail, House, observation, records, report
from wayword.worlds.household.layout import Layout, fits
from wayword.worlds.household.motions import HIGH, LOW, primitive, run
from wayword.worlds.household.observation import Answerer, HouseholdObservation
from wayword.worlds.household.route import route_into, route_to, shut_doors
from wayword.worlds.household.scene import Room, Scene
from wayword.worlds.household.verbs import (
    SPEECH,
    VERBS,
    Body,
    Slot,
    Verb,
    from_json,
    well_formed,
)

HANDS = frozenset(("pick_up", "put", "open", "toggle_on", "go_grab", "go_put"))
"""Verbs of bodies that can change something in a house."""
UNSEEN_DOOR = "a closed door"
"""Stands for a door on the way that the actor has not seen, which has no name to it; feedback and
recorded episodes hold these words."""


# What an actor may do, listed by what it knows, and only when asked for.


@dataclass(frozen=True, slots=True)
class HouseholdActions(ActionSpace):
    """What an actor in a house may do, and the ``body`` that does it.

    ``rooms`` are the rooms of the house by name. ``fixed_names`` says that everything had its name
    from the start, instead of one given at first sight.
    """

    body: Body = field(kw_only=True)
    rooms: tuple[str, ...] = field(kw_only=True)
    fixed_names: bool = field(kw_only=True)


class KnownActions:
    """The closed choices of an actor.

    *Listed* is what can be done by what the actor knows: each verb with the things it has seen
    that show the affordance, in the order of first sight; hands reach only what is in view and
    near. What it cannot know may still fail: a way may be barred, a box may have been emptied.
    *Accepted* is every well-formed action: the verb is one of the body's, and it has as many words
    as it takes. The world answers it, with a failure where it must.
    """

    def __init__(self, house: House, me: Actor) -> None:
        self._house, self._me = house, me
        self._verbs = useful(me.body.actions, house.pointless)
        self._count, self._hands = len(me.names.order), tuple(me.hands)

    def accepts(self, action: Action) -> bool:
        """Whether the action is well-formed."""
        return (
            action.name in self._verbs
            and action.name not in SPEECH
            and well_formed(action.name, action.arguments)
            and (action.name != STOP.name or self._me.body.answers or not action.arguments)
        )

    def knows(self, action: Action) -> bool:
        """Whether it is, and its words are names of things and rooms as they are written here."""
        names, rooms = self._me.names.thing, self.rooms
        return self.accepts(action) and all(
            word in names or word in rooms for word in action.arguments
        )

    @property
    def rooms(self) -> tuple[str, ...]:
        """The rooms of the house by name."""
        return self._house.layout.rooms

    def listed(self) -> list[Action]:
        """The choices, verb by verb."""
        things, me, hands = self._house.things, self._me, self._hands
        known = [i for i in me.names.order[: self._count] if me.known[i]]
        people = [i for i in me.view.things if i >= things.first_actor]
        possible = Possible(self._house, me, hands)
        options: dict[Slot, Sequence[int]] = {
            "held": hands,
            "place": [i for i in (*known, *people) if i not in hands],
            "receptacle": [i for i in known if things.receives(i)],
        }
        able: dict[str, list[int]] = {}
        for i in known:
            for affordance in things.affordances(i):
                able.setdefault(affordance, []).append(i)
        found: list[Action] = []
        for name in self._verbs:
            if name not in SPEECH:
                verb = VERBS[name]
                options["object"] = options["tool"] = able.get(verb.needs, ())
                found += self._of(verb, options, possible.checks.get(name))
        return found

    def _of(
        self, verb: Verb, options: Mapping[Slot, Sequence[int]], check: Callable[..., bool] | None
    ) -> list[Action]:
        if verb.name == STOP.name:
            return [STOP]
        if verb.slots == ("room",):
            return [Action(verb.name, (room,)) for room in self.rooms]
        names = self._me.names.of
        return [
            Action(verb.name, tuple([names[i] for i in each]))
            for each in product(*(options[slot] for slot in verb.slots))
            if check is None or check(*each)
        ]


@lru_cache(maxsize=256)
def useful(verbs: tuple[str, ...], pointless: frozenset[str]) -> tuple[str, ...]:
    """The verbs without those that there is nothing for."""
    return tuple(verb for verb in verbs if verb not in pointless)


class Possible:
    """Whether an act is possible as far as an actor knows, by the numbers of the things."""

    def __init__(self, house: House, me: Actor, hands: tuple[int, ...]) -> None:
        self._house, self._things, self._me, self._hands = house, house.things, me, hands
        self._near: dict[int, bool] = {}
        self.checks: Mapping[str, Callable[..., bool]] = {
            "pick_up": lambda i: self._free() and i not in hands and self._reaches(i),
            "put": lambda i, r: (
                self._reaches(r) and not self._things.closed(r) and self._goes(i, r)
            ),
            "open": self._opens,
            "close": lambda i: self._reaches(i) and bool(self._things.open[i]),
            "toggle_on": self._starts,
            "toggle_off": lambda i: self._reaches(i) and bool(self._things.on[i]),
            "slice": self._cuts,
            "heat": self._treats,
            "cool": self._goes,
            "clean": self._treats,
            "go_check": lambda r: r not in hands,
            "go_grab": lambda i: self._free() and i not in hands,
            "go_put": lambda r: bool(hands) and self._goes(hands[-1], r),
        }

    def _free(self) -> bool:
        return len(self._hands) < self._me.body.inventory_capacity

    def _reaches(self, i: int) -> bool:
        """Whether a thing is in view, or in the hands, and near enough to touch."""
        if i not in self._near:
            house, me = self._house, self._me
            there = i in me.view.things or house.holder(i) == me.number
            self._near[i] = there and house.distance(me, i) <= me.body.manipulation_distance
        return self._near[i]

    def _goes(self, i: int, r: int) -> bool:
        """Whether a held thing may lie there, and there is room as far as one sees."""
        things = self._things
        full = things.specs[r].capacity and self._reaches(r) and things.full(r)
        return things.fits(i, r) and not full and i != r and i not in things.holders(r)

    def _opens(self, i: int) -> bool:
        running = self._things.on[i] and self._things.encloses[i]
        return self._reaches(i) and not self._things.open[i] and not running

    def _starts(self, i: int) -> bool:
        return self._reaches(i) and not self._things.on[i] and not self._things.ajar(i)

    def _cuts(self, i: int) -> bool:
        knife = any(self._things.does(k, "slicer") for k in self._hands)
        return knife and self._reaches(i) and not self._things.sliced[i]

    def _treats(self, i: int, tool: int) -> bool:
        """Whether a thing fits an appliance whose switch one has seen."""
        switches = [tool] if self._things.does(tool, "toggleable") else []
        switches += self._things.switches.get(tool, ())
        return self._goes(i, tool) and any(self._me.known[k] for k in switches)


class HouseholdWorld(World):
    """One house and those who act in it; family ``"household"``.

    ``Episode.start`` holds ``"poses"``: actor -> ``{"x", "y", "heading"}`` (metres, degrees), one
    for each of the episode's actors; optionally ``"scene"``, the name the scene must have, and
    ``"bodies"``: actor -> fields of ``Body`` that differ. ``body`` is that of every actor not
    named there. ``answerer`` answers ``ask``, and may be set later. With ``shared_names`` a thing
    that one actor has named has that name for all, so that they can talk about it; each still sees
    only its own view. With ``named`` everything has such a name from the start, in the scene's
    order, so that an actor who knows the house can refer to it. ``layout`` may be one made before
    from a scene with the same rooms, doors and furniture.
    """

    def __init__(
        self,
        scene: Scene,
        body: Body | None = None,
        *,
        answerer: Answerer | None = None,
        shared_names: bool = False,
        named: bool = False,
        layout: Layout | None = None,
    ) -> None:
        self.scene = scene
        self.layout = layout or Layout(scene)
        self._body = body or Body()
        self.answerer, self._shared, self._named = answerer, shared_names, named
        self._house: House | None = None

    @property
    def house(self) -> House:
        """The true state. For oracles, judges and tests."""
        if self._house is None:
            raise ValueError("reset the world first")
        return self._house

    @property
    def read_only(self) -> tuple[object, ...]:
        """What no episode changes, so that copies of the world may share it."""
        return self.scene, self.scene.objects, self.scene.doors, self.layout

    @property
    def actors(self) -> tuple[str, ...]:
        return tuple(self._house.actors) if self._house else ("agent",)

    def reset(self, episode: Episode) -> None:
        """Start an episode. Raises ``DataError`` for another scene, a missing pose, or one in a
        wall, in furniture or in somebody else."""
        named = episode.start.get("scene", self.scene.name)
        if named != self.scene.name:
            problem = f"is {named!r}, but this world holds {self.scene.name!r}"
            raise DataError(f"episode {episode.id}", "field 'scene'", problem)
        poses = {actor: self._pose(episode, actor) for actor in episode.actors}
        given = episode.start.get("bodies", {})
        bodies = {a: from_json(given.get(a, {}), self._body) for a in episode.actors}
        naming = self._shared, self._named
        house = House(self.layout, bodies, poses, self.answerer, *naming)
        self._check(house, episode)
        self._house = house

    def observe(self, actor: str) -> HouseholdObservation:
        return observation(self.house, self._actor(actor))

    def action_space(self, actor: str) -> HouseholdActions:
        me = self._actor(actor)
        known = KnownActions(self.house, me)
        return HouseholdActions(
            *(ListedLater(known.listed), self._spoken(me), known.accepts, known.knows),
            body=me.body,
            rooms=known.rooms,
            fixed_names=self.house.named,
        )

    def step(self, actor: str, action: Action) -> Feedback:
        """Carry out any well-formed action of the body's; others raise ``ValueError``."""
        me, verb, words = self._actor(actor), action.name, action.arguments
        if me.stopped or verb not in me.body.actions or not well_formed(verb, words):
            raise ValueError(f"{action} is not on the menu of {actor}")
        self.house.mailbox.read(actor)
        try:
            details = self._do(me, verb, words)
            feedback = Feedback(st.OK, {"action": verb, **details})
        except Fail as failure:
            told = {"action": verb, **failure.details}
            if failure.status == st.NO_PATH:
                told["doors"] = self._barring(me, failure.details["place"])
            feedback = Feedback(failure.status, told)
        me.actions += 1
        if me.body.step_limit and me.actions >= me.body.step_limit:
            me.stopped = True
        return feedback

    def done(self, actor: str) -> bool:
        me = self._actor(actor)
        return me.stopped or self._left_alone(me)

    def pose(self, actor: str) -> Mapping[str, Json]:
        me = self._actor(actor)
        return {"room": me.room, "x": me.x, "y": me.y, "heading": me.heading}

    def state(self) -> Mapping[str, Json]:
        """The whole true state: see ``house.report``."""
        return report(self.house)

    def now(self) -> Mapping[str, Json]:
        """The true state as :meth:`state` gives it, each record made when it is looked up: for
        goals judged at every step."""
        return records(self.house)

    def name(self, actor: str, object_id: str) -> str | None:
        """What an actor calls an object or door of the scene, None before it has a name."""
        return self._actor(actor).names.of[self.layout.index[object_id]] or None

    def object_id(self, actor: str, name: str) -> str | None:
        """The object or door of the scene that an actor calls so, None for none and for actors."""
        i = self._actor(actor).names.thing.get(name)
        return None if i is None or i >= self.house.things.first_actor else self.layout.ids[i]

    def route(self, actor: str, target: str) -> list[Action] | None:
        """Low-level actions that bring an actor where it sees and reaches an object or door (an id
        of the scene), wherever it truly is, or into a room (its name). None where there is no way
        as the doors stand. For oracles and experts."""
        me, to = self._actor(actor), self._target(target)
        try:
            if isinstance(to, Room):
                verbs = route_into(self.house, me, to)
            else:
                verbs = route_to(self.house, me, to)
        except Fail:
            return None
        return [Action(verb) for verb in verbs]

    def doors_to_open(self, actor: str, target: str) -> list[str] | None:
        """The ids of the shut doors on the shortest way there, in order; None for no way at all.
        For oracles and experts."""
        try:
            doors = shut_doors(self.house, self._actor(actor), self._target(target))
        except Fail:
            return None
        return [self.layout.ids[i] for i in doors]

    def _target(self, target: str) -> int | Room:
        i = self.layout.index.get(target)
        if i is not None:
            return i
        room = next((room for room in self.scene.rooms if room.name == target), None)
        if room is None:
            raise ValueError(f"{target!r} is no object, door or room of scene {self.scene.name}")
        return room

    def _left_alone(self, me: Actor) -> bool:
        """A body without hands has nothing left to do once all the others have stopped."""
        actors = self.house.actors
        if len(actors) == 1 or not HANDS.isdisjoint(me.body.actions):
            return False
        return all(other.stopped for other in actors.values() if other is not me)

    def _barring(self, me: Actor, place: str) -> list[str]:
        """The names of the shut doors on an actor's way to a room, or to where it last saw a thing,
        up to the first that it has not seen (``UNSEEN_DOOR``): behind that it knows no way."""
        room, i = place, me.names.thing.get(place)
        if i is not None:
            room = self.layout.room_at(float(me.seen_x[i]), float(me.seen_y[i]))
        try:
            shut = shut_doors(self.house, me, self._target(room))
        except (Fail, ValueError):
            return []
        names = [me.names.of[door] if me.known[door] else UNSEEN_DOOR for door in shut]
        return names[: names.index(UNSEEN_DOOR) + 1] if UNSEEN_DOOR in names else names

    def _spoken(self, me: Actor) -> tuple[str, ...]:
        """Verbs that take free text: no chat where one is alone, no ask where nobody answers."""
        mute = self.house.pointless
        return useful(me.body.open_verbs, mute | {"ask"} if self.answerer is None else mute)

    def _actor(self, name: str) -> Actor:
        found = self.house.actors.get(name)
        if found is None:
            raise ValueError(f"nobody here is called {name!r}")
        return found

    def _do(self, me: Actor, verb: str, words: tuple[str, ...]) -> dict[str, Json]:
        if verb in LOW:
            return primitive(self.house, me, verb, *words)
        if verb in HIGH:
            return run(self.house, me, verb, *words)
        if verb == "chat":
            return self._chat(me, words[0])
        if verb == "ask":
            return self._ask(me, words[0])
        me.stopped, me.answer = True, words[0] if words else None
        return {"answer": me.answer}

    def _chat(self, me: Actor, text: str) -> dict[str, Json]:
        others = [a.name for a in self.house.actors.values() if a is not me and not a.stopped]
        if not others:
            raise Fail(st.NOBODY_LISTENS)
        self.house.mailbox.send(me.name, others, text)
        return {"to": others}

    def _ask(self, me: Actor, text: str) -> dict[str, Json]:
        answer = self.answerer(me.name, text) if self.answerer else None
        if answer is None:
            raise Fail(st.NOBODY_ANSWERS)
        return {"answer": answer}

    def _pose(self, episode: Episode, actor: str) -> tuple[float, float, float]:
        try:
            pose: Any = episode.start["poses"][actor]
            return float(pose["x"]), float(pose["y"]), absolute(float(pose.get("heading", 0.0)))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            problem = "needs numbers x and y (and heading)"
            raise DataError(f"episode {episode.id}", f"pose of {actor!r}", problem) from error

    def _check(self, house: House, episode: Episode) -> None:
        shut = house.things.shut.tolist()
        for a in house.actors.values():
            near = [
                n
                for n, x, y, r in house.others(a)
                if (x - a.x) ** 2 + (y - a.y) ** 2 < (r + a.body.radius - 1e-6) ** 2
            ]
            if near or not fits(self.layout, a.body.radius, (a.x, a.y), shut):
                where = f"in scene {self.scene.name}, pose of {a.name!r}"
                problem = f"({a.x}, {a.y}) is in a wall, in furniture, outside, or taken"
                remedy = "wayword.worlds.household.layout.nearest_place finds a free one"
                raise DataError(f"episode {episode.id}", where, problem, remedy)


world = HouseholdWorld
