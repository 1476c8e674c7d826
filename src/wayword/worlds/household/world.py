"""The household world: text-based houses with walls, doors and objects, and one or more bodies.

    >>> from wayword.core.action import Action
    >>> from wayword.core.episode import Episode
    >>> from wayword.worlds.household.builder import SceneBuilder
    >>> house = SceneBuilder("flat")
    >>> house.room("kitchen", [(0, 0), (4, 0), (4, 3), (0, 3)])
    >>> table = house.furniture("table", 2, 2.5, 1.0, 0.6, 0.8, receptacle="on")
    >>> apple = house.item("apple", parent=table)
    >>> world = HouseholdWorld(house.build())
    >>> start = {"poses": {"agent": {"x": 2.0, "y": 0.5, "heading": 0.0}}}
    >>> world.reset(Episode("1", "Bring me the apple.", "flat", start))
    >>> [seen.name for seen in world.observe("agent").objects]
    ['table_1', 'apple_1']
    >>> world.step("agent", Action("pick_up", ("apple_1",))).status
    'too_far'
    >>> world.step("agent", Action("go_grab", ("apple_1",))).status
    'ok'

Abilities of a body are set in :class:`~wayword.worlds.household.verbs.Body`, the contents of a
house in :class:`~wayword.worlds.household.scene.Scene`. The action space accepts every well-formed
action, and the world answers with a status. A failed action changes nothing.

Source: LangSuitE (Jia et al. 2024, arXiv:2406.16294), section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any

from wayword.core.action import STOP, Action, ActionSpace, LazyActions
from wayword.core.episode import Episode, JsonObject
from wayword.core.errors import DataError
from wayword.core.geometry import absolute
from wayword.core.starts import check_fields, check_start
from wayword.core.world import Feedback, World
from wayword.worlds.household import motions, verbs
from wayword.worlds.household.goals import HouseholdReference
from wayword.worlds.household.house import (
    Actor,
    Fail,
    House,
    observation,
    records,
    report,
)
from wayword.worlds.household.layout import Layout, can_stand
from wayword.worlds.household.observation import (
    Answerer,
    HeardMessage,
    HouseholdObservation,
)
from wayword.worlds.household.route import Trip, closed_doors_to
from wayword.worlds.household.scene import Room, Scene

HAND_VERBS = frozenset(
    (
        "pick_up",
        "put",
        "open",
        "toggle_on",
        "go_grab",
        "go_put",
    )
)
"""Verbs that need a hand: a body without any of them only looks on and talks."""
UNSEEN_DOOR = "a closed door"
"""In feedback, a door on a path that is unseen, so unnamed."""


@dataclass(frozen=True, slots=True)
class HouseholdActions(ActionSpace):
    """The actions available to an actor in a house, and the ``body`` that does them.

    ``fixed_names``: every object has its name from the start, not only from first sight;
    ``shared_names``: all actors use the same names; ``has_spots``: positions on furniture are
    described.
    """

    body: verbs.Body = field(kw_only=True)
    rooms: tuple[str, ...] = field(kw_only=True)
    fixed_names: bool = field(kw_only=True)
    shared_names: bool = field(kw_only=True)
    has_spots: bool = field(kw_only=True)


class ActionMenu:
    """The action choices of an actor.

    *Listed* are actions that are possible as far as the actor knows: each verb with the objects
    seen so far that have the affordance, in the order of first sight; hand actions only for objects
    in view and within reach. *Accepted* is every verb of the body with the right number of
    arguments. Both may fail: a door may be closed, a box emptied.
    """

    def __init__(self, house: House, me: Actor) -> None:
        self._house = house
        self._me = me
        # The state at this moment: listing is lazy and may run after the next step.
        self._named_so_far = len(me.names.order)
        self._held = tuple(me.hands)

    def accepts(self, action: Action) -> bool:
        """True for every well-formed action of the body, except speech."""
        # Speech is free text, which the space handles itself.
        if action.name not in self._me.verbs or action.name in verbs.SPEECH:
            return False
        # A stop with words is an answer.
        if action.name == STOP.name and action.arguments and not self._me.body.answers:
            return False
        return verbs.is_well_formed(action.name, action.arguments)

    def knows(self, action: Action) -> bool:
        """True if it is well-formed and uses exact names of objects and rooms."""
        names = self._me.names.index
        for word in action.arguments:
            if word not in names and word not in self._house.layout.rooms:
                return False
        return self.accepts(action)

    def spot_forms(self) -> tuple[str, ...]:
        """Return patterns of ``put`` and ``go_put`` with a spot, for constrained decoding.

        They have the names of held objects and of visible or remembered receptacles;
        empty with empty hands.
        """
        me = self._me
        names = self._me.names
        # Alternatives of a regular expression: constrained decoding accepts exactly
        # these names.
        held = "|".join(names.of[i] for i in self._held)
        seen = [
            i
            for i in names.order[: self._named_so_far]
            if me.discovered[i] and i not in self._held
        ]
        places = "|".join(
            names.of[i] for i in seen if self._house.entities.is_receptacle(i)
        )
        # Without both, a put is impossible.
        if not held or not places:
            return ()
        forms = {"put": f"({held}), ({places})", "go_put": f"({places})"}
        able = [verb for verb in forms if verb in me.verbs]
        return tuple(rf"{verb}\[{forms[verb]}, {verbs.SPOT_PATTERN}\]" for verb in able)

    def listed(self) -> list[Action]:
        """Return the possible actions, verb by verb."""
        entities = self._house.entities
        me = self._me
        hands = self._held
        names = me.names.of
        checks = self._checks()
        # In the order of first sight, so that a menu only grows at its end.
        named = me.names.order[: self._named_so_far]
        discovered = [i for i in named if me.discovered[i]]
        # Other actors are places to go to, too.
        people = [i for i in me.view.entities if i >= entities.first_actor]
        options: dict[verbs.Slot, Sequence[int]] = {
            "held": hands,
            "place": [i for i in (*discovered, *people) if i not in hands],
            "receptacle": [i for i in discovered if entities.is_receptacle(i)],
        }
        # Verbs ask by affordance, so objects are grouped by it once.
        by_affordance: dict[str, list[int]] = {}
        for i in discovered:
            for affordance in entities.affordances(i):
                by_affordance.setdefault(affordance, []).append(i)

        # Each verb with every combination of its options that passes its check.
        actions: list[Action] = []
        for verb_name in me.verbs:
            if verb_name in verbs.SPEECH:
                continue
            verb = verbs.VERBS[verb_name]
            # Rooms are no objects, so they are listed apart.
            if verb.slots == ("room",):
                actions += [
                    Action(verb_name, (room,)) for room in self._house.layout.rooms
                ]
                continue
            options["object"] = by_affordance.get(verb.needs, ())
            options["tool"] = options["object"]
            # Verbs without a check can be tried on everything.
            check = checks.get(verb_name)
            for indices in product(*(options[slot] for slot in verb.slots)):
                if check is None or check(*indices):
                    words = tuple([names[i] for i in indices])
                    actions.append(Action(verb_name, words))
        return actions

    def _checks(self) -> Mapping[str, Callable[..., object]]:
        """Map verbs to functions of object indices: true if possible as far as the actor knows.

        A function has one index for each slot of its verb: an object, then its receptacle or tool.
        The functions hold for the present state only.
        """
        house = self._house
        entities = self._house.entities
        me = self._me
        hands = self._held
        # Computed once for all objects.
        has_free_hand = len(hands) < me.body.inventory_capacity
        has_knife = any(entities.has_affordance(k, "slicer") for k in hands)

        # Several verbs ask for the same objects.
        @cache
        def can_touch(i: int) -> bool:
            """True if an object is visible or held, and within reach."""
            is_present = i in me.view.entities or house.holder(i) == me.number
            return is_present and house.distance(me, i) <= me.body.manipulation_distance

        def can_put(i: int, r: int) -> bool:
            """True if a held object fits the receptacle and the actor sees free space there."""
            if i == r or not entities.fits(i, r) or i in entities.holders(r):
                return False
            return not (
                # Full is only known within reach: from afar the actor cannot see the
                # free space.
                entities.specs[r].capacity and can_touch(r) and entities.full(r)
            )

        def can_treat(i: int, tool: int) -> bool:
            """True if an object fits an appliance whose switch the actor has seen."""
            # A heater without a seen switch cannot be used yet.
            switches = list(entities.switches.get(tool, ()))
            if entities.has_affordance(tool, "toggleable"):
                switches.append(tool)
            return can_put(i, tool) and any(me.discovered[k] for k in switches)

        def can_open(i: int) -> bool:
            """True if an object can be opened from here: a running appliance cannot."""
            is_running = entities.on[i] and entities.encloses[i]
            return can_touch(i) and not entities.open[i] and not is_running

        return {
            "pick_up": lambda i: has_free_hand and i not in hands and can_touch(i),
            "put": lambda i, r: (
                can_touch(r) and not entities.closed(r) and can_put(i, r)
            ),
            "open": can_open,
            "close": lambda i: can_touch(i) and entities.open[i],
            "toggle_on": lambda i: (
                can_touch(i) and not entities.on[i] and not entities.is_ajar(i)
            ),
            "toggle_off": lambda i: can_touch(i) and entities.on[i],
            "slice": lambda i: has_knife and can_touch(i) and not entities.sliced[i],
            "heat": can_treat,
            "cool": can_put,
            "clean": can_treat,
            "go_check": lambda r: r not in hands,
            "go_grab": lambda i: has_free_hand and i not in hands,
            "go_put": lambda r: hands and can_put(hands[-1], r),
        }


class HouseholdWorld(World):
    """A house and its actors; family ``"household"``.

    ``Episode.start`` contains ``"poses"``: actor -> ``{"x", "y", "heading"}`` (metres, degrees) for
    every actor; optionally ``"scene"``, the required name of the scene, and ``"bodies"``: actor ->
    fields of ``Body`` that differ from ``body``, the default. ``answerer`` answers ``ask``, and may
    be set later. With ``shared_names``, an object named by one actor has that name for all; with
    ``named``, every object has a shared name from the start, in scene order. With ``spots``,
    observations give positions on long furniture. ``layout`` may be reused from a scene with the
    same rooms, doors and furniture.
    """

    def __init__(
        self,
        scene: Scene,
        body: verbs.Body | None = None,
        *,
        answerer: Answerer | None = None,
        shared_names: bool = False,
        named: bool = False,
        spots: bool = False,
        layout: Layout | None = None,
    ) -> None:
        self.scene = scene
        # A layout is expensive to build, so datasets share one.
        self.layout = layout or Layout(scene)
        self._body = body or verbs.Body()
        self.answerer = answerer
        self._shared = shared_names
        self._named = named
        self._spots = spots
        self._house: House | None = None
        # The last count of goals met, and for which goal and state of the house it is.
        self._met = 0
        self._met_key: tuple[HouseholdReference, int, int] | None = None

    @property
    def house(self) -> House:
        """The true state, for oracles, judges and tests."""
        if self._house is None:
            raise ValueError("the world has no episode: call reset() first")
        return self._house

    @property
    def read_only(self) -> tuple[object, ...]:
        """Parts shared between copies of the world."""
        return self.scene, self.scene.objects, self.scene.doors, self.layout

    @property
    def actors(self) -> tuple[str, ...]:
        """Names of the actors; ``agent`` before the first reset."""
        return tuple(self._house.actors) if self._house else ("agent",)

    def reset(self, episode: Episode) -> None:
        """Start an episode.

        Raises ``DataError`` for another scene, a missing pose, or a pose in a wall, in
        furniture or in another actor. The last episode stays in place then.
        """
        check_start(episode, ("poses",), ("scene", "bodies"))
        # A recorded episode may be replayed in the wrong house.
        scene_name = episode.start.get("scene", self.scene.name)
        if scene_name != self.scene.name:
            problem = (
                f"must be {self.scene.name!r}, this world's scene, got {scene_name!r}"
            )
            raise DataError(f"episode {episode.id}", "field 'scene'", problem)

        # Bodies and poses. The house replaces the present one only if all of them are free.
        poses = {actor: self._pose(episode, actor) for actor in episode.actors}
        body_fields = episode.start.get("bodies", {})
        bodies = {
            a: verbs.from_json(body_fields.get(a, {}), self._body)
            for a in episode.actors
        }
        house = House(
            self.layout,
            bodies,
            poses,
            self.answerer,
            self._shared,
            self._named,
            self._spots,
        )
        # Doors block a pose only while they are closed.
        closed_doors = house.entities.closed_doors.tolist()
        for a in house.actors.values():
            radius = a.body.radius
            collides = any(
                # A micrometre of overlap is allowed, as for steps.
                (x - a.x) ** 2 + (y - a.y) ** 2 < (r + radius - 1e-6) ** 2
                for _, x, y, r in house.others(a)
            )
            if collides or not can_stand(self.layout, radius, (a.x, a.y), closed_doors):
                where = f"in scene {self.scene.name}, pose of {a.name!r}"
                problem = (
                    f"({a.x}, {a.y}) is in a wall, in furniture, outside, or occupied"
                )
                remedy = (
                    "find a free one with wayword.worlds.household.layout.nearest_place"
                )
                raise DataError(f"episode {episode.id}", where, problem, remedy)
        # Only now: a failed reset leaves the last episode in place.
        self._house = house
        self._met_key = None

    def observe(self, actor: str) -> HouseholdObservation:
        """Return what an actor perceives, in its own names."""
        return observation(self.house, self._actor(actor))

    def action_space(self, actor: str) -> HouseholdActions:
        """Return the actor's menu, with what a prompt needs to describe it."""
        house = self.house
        me = self._actor(actor)
        menu = ActionMenu(house, me)
        return HouseholdActions(
            LazyActions(menu.listed),
            # No chat with a single actor, no ask without an answerer.
            me.open_verbs if self.answerer else me.unasked_verbs,
            menu.accepts,
            menu.knows,
            forms=menu.spot_forms() if house.has_spots else (),
            body=me.body,
            rooms=self.layout.rooms,
            fixed_names=house.named,
            shared_names=house.shared_names,
            has_spots=house.has_spots,
        )

    def step(self, actor: str, action: Action) -> Feedback:
        """Carry out any well-formed action of the body.

        A failed action changes nothing, but counts. Raises ``ValueError`` for an action
        that is not well-formed, of another body, or after a stop.
        """
        me = self._actor(actor)
        verb = action.name
        words = action.arguments
        is_able = not me.stopped and verb in me.body.actions
        # Stopped bodies and foreign verbs are errors of the caller, not of the agent.
        if not is_able or not verbs.is_well_formed(verb, words):
            raise ValueError(f"{action} is not on the menu of {actor}")
        # A message is heard once.
        self.house.inbox[actor].clear()
        me.has_acted = True
        try:
            feedback = Feedback("ok", {"action": verb, **self._do(me, verb, words)})
        # A failure is feedback, never an error: agents learn from it.
        except Fail as failure:
            details = {"action": verb, **failure.details}
            # On the way through closed doors, their names help to plan.
            if failure.status == "no_path":
                details["doors"] = self._closed_door_names(me, failure.details["place"])
            feedback = Feedback(failure.status, details)
        # Failed actions count as well: the limit is on attempts.
        me.actions += 1
        me.looked_around = verb == "go_explore" and feedback.ok
        if me.body.step_limit and me.actions >= me.body.step_limit:
            me.stopped = True
        return feedback

    def done(self, actor: str) -> bool:
        """True once the actor has stopped; for one without hands, once all others have."""
        me = self._actor(actor)
        if me.stopped:
            return True
        actors = self.house.actors
        if len(actors) == 1 or not HAND_VERBS.isdisjoint(me.body.actions):
            return False
        # A body without hands has nothing left to do once all other actors have stopped.
        return all(other.stopped for other in actors.values() if other is not me)

    def pose(self, actor: str) -> JsonObject:
        """Return the room, x and y (metres) and heading (degrees)."""
        me = self._actor(actor)
        return {
            "room": me.room,
            "x": me.x,
            "y": me.y,
            "heading": me.heading,
        }

    def state(self) -> JsonObject:
        """Return the true state; see ``worlds.household.house.report``."""
        return report(self.house)

    def now(self) -> JsonObject:
        """Return the true state with each record created on access, for goals judged every step.

        Read it before the next step: records show the house at the time of access.
        """
        return records(self.house)

    def met(self, reference: HouseholdReference) -> int:
        """Return the parts of a goal that are met now, as ``reference.met(self.now())``.

        Rewards ask after each step, and most steps move a body and no object: it is computed again
        only after a change of objects.
        """
        entities = self.house.entities
        key = (reference, entities.version, entities.state_version)
        if self._met_key != key:
            self._met = reference.met(self.now())
            self._met_key = key if reference.reads_objects_only else None
        return self._met

    def name(self, actor: str, object_id: str) -> str | None:
        """Return the actor's name for an object or door (by id), None if it has none yet."""
        return self._actor(actor).names.of[self.layout.index[object_id]] or None

    def remembered(self, actor: str) -> dict[str, tuple[float, float]]:
        """Map the names of objects and doors to where the actor saw each last, metres."""
        me = self._actor(actor)
        seen = [(name, i) for name, i in me.names.index.items() if me.discovered[i]]
        return {name: (float(me.last_x[i]), float(me.last_y[i])) for name, i in seen}

    def object_id(self, actor: str, name: str) -> str | None:
        """Return the object or door with that name for an actor; None if unknown or an actor."""
        i = self._actor(actor).names.index.get(name)
        if i is None or i >= self.house.entities.first_actor:
            return None
        return self.layout.ids[i]

    def route(
        self,
        actor: str,
        target: str,
        within: float = math.inf,
    ) -> list[Action] | None:
        """Return low-level actions that bring an actor to an object or door (by id), or
        into a room.

        The object is truly visible and within reach then, at most ``within`` metres
        away. None without a path through open doors. For oracles and experts.
        """
        # The goal and the path are planned on the true state: only experts may ask.
        trip = Trip(self.house, self._actor(actor), within=within)
        try:
            goal = trip.nearest_goal(self._target(target))
            return [Action(verb) for verb in trip.verbs(*goal)]
        except Fail:
            return None

    def doors_to_open(self, actor: str, target: str) -> list[str] | None:
        """Return the ids of the closed doors on the shortest path to a target, in order.

        None without a path. For oracles and experts.
        """
        try:
            doors = closed_doors_to(
                self.house,
                self._actor(actor),
                self._target(target),
            )
        except Fail:
            return None
        return [self.layout.ids[i] for i in doors]

    def _target(self, target: str) -> int | Room:
        """Return an object's index or a room. Raises ``ValueError`` for neither."""
        if target in self.layout.index:
            return self.layout.index[target]
        # Ids are tried first; a room is found by its name.
        room = next((room for room in self.scene.rooms if room.name == target), None)
        if room is None:
            raise ValueError(
                f"{target!r} is not an object, door or room of {self.scene.name}"
            )
        return room

    def _closed_door_names(self, me: Actor, place: str) -> list[str]:
        """Return names of closed doors on an actor's path to a place, in order.

        The place is a room, or where it last saw an object. The list ends at the first
        unseen door (``UNSEEN_DOOR``): the actor knows no path beyond that.
        """
        # An object is looked for where it was seen last.
        if (i := me.names.index.get(place)) is not None:
            place = self.layout.room_at(float(me.last_x[i]), float(me.last_y[i]))
        try:
            closed = closed_doors_to(self.house, me, self._target(place))
        # Without a path even through open doors, no door helps.
        except (Fail, ValueError):
            return []
        names = []
        for door in closed:
            # Beyond an unseen door the actor cannot know the path.
            if not me.discovered[door]:
                names.append(UNSEEN_DOOR)
                break
            names.append(me.names.of[door])
        return names

    def _actor(self, name: str) -> Actor:
        """Return an actor by name. Raises ``ValueError`` for an unknown one."""
        try:
            return self.house.actors[name]
        except KeyError:
            raise ValueError(f"unknown actor {name!r}") from None

    def _do(self, me: Actor, verb: str, words: tuple[str, ...]) -> JsonObject:
        """Carry out an action; return the details of its feedback. Raises ``Fail``."""
        if verb in motions.LOW_LEVEL_ACTS:
            return motions.do_low_level(self.house, me, verb, *words)
        if verb in motions.HIGH_LEVEL_ACTS:
            return motions.run_skill(self.house, me, verb, *words)
        # Heard by all that still play, in the order of their names in the episode.
        if verb == "chat":
            others = [
                a.name
                for a in self.house.actors.values()
                if a is not me and not a.stopped
            ]
            if not others:
                raise Fail("no_listener")
            self.house.messages.append((me.name, others, words[0]))
            for name in others:
                self.house.inbox[name].append(HeardMessage(me.name, words[0]))
            return {"to": others}
        if verb == "ask":
            # Without a user to answer, the question fails instead of waiting forever.
            answer = self.answerer(me.name, words[0]) if self.answerer else None
            if answer is None:
                raise Fail("no_answer")
            return {"answer": answer}
        me.stopped = True  # the verb is ``stop``
        me.answer = words[0] if words else None
        return {"answer": me.answer}

    def _pose(self, episode: Episode, actor: str) -> tuple[float, float, float]:
        """Return x, y (metres) and heading (degrees) of an actor's start. Raises ``DataError``."""
        source = f"episode {episode.id}"
        pose: Any = episode.start["poses"]
        check_fields(source, "poses", pose, (actor,))
        pose = pose[actor]
        check_fields(source, f"pose of {actor!r}", pose, ("x", "y"), ("heading",))
        try:
            heading = float(pose.get("heading", 0.0))
            return float(pose["x"]), float(pose["y"]), absolute(heading)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            problem = "must have numbers x and y, and may have heading"
            raise DataError(source, f"pose of {actor!r}", problem) from error


world = HouseholdWorld
