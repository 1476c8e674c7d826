"""Routes: gold paths, divided into legs that an instruction must describe.

A leg goes straight through some junctions and ends with a turn at the next; the last leg ends next
to a landmark, or a counted number of steps after the last turn. The legs, in order, are therefore
enough to find the goal.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, cast

from wayword.core.geometry import bearing, relative
from wayword.datasets.procedural.towns.town import Landmark, Town, in_sight
from wayword.worlds.street.moves import Navigator, State, Word, path_actions

# The exits of a junction under the town's transition function, and the name of each turn.
#
# An exit is named only if unambiguous: straight within ``STRAIGHT`` degrees and clearly
# straighter than any other; left and right from ``SIDE_ANGLE`` degrees; if two exits are on one
# side, the inner one is the slight turn and the outer one the sharp turn.

Turn = Literal[
    "straight",
    "left",
    "right",
    "slight left",
    "slight right",
    "sharp left",
    "sharp right",
]
TURN_ACTIONS: dict[Turn, tuple[Word, ...]] = {
    "straight": (),
    **dict.fromkeys(("left", "slight left"), ("left",)),
    **dict.fromkeys(("right", "slight right"), ("right",)),
    "sharp left": ("left", "left"),
    "sharp right": ("right", "right"),
}
"""Actions for each turn, before the forward that leaves the junction."""

# Thresholds in degrees, chosen so that a person at the junction would use the same word.
STRAIGHT = 30.0
"""Maximum angle of an exit that is straight ahead."""
CLEARLY = 25.0
"""Minimum lead of the straight exit over all others."""
SIDE_ANGLE = 40.0
"""Minimum angle of an exit to the left or right."""
BACK_ANGLE = 160.0
"""Maximum angle of an exit to the left or right."""


@dataclass(frozen=True)
class Exit:
    """An exit: the name of the turn, and the state after taking it."""

    turn: Turn
    state: State


def exits(navigator: Navigator, state: State) -> list[Exit]:
    """Return the named exits of a junction for a walker who has just arrived."""
    # All exits that some turn leads to: its actions, angle in degrees, and the state after it.
    found: dict[int, tuple[tuple[Word, ...], float, State]] = {}
    arrived = navigator.stand(state)
    for words in dict.fromkeys(TURN_ACTIONS.values()):
        after = state
        for word in (*words, "forward"):
            after = navigator.step(after, word)
        stand = navigator.stand(after)
        angle = relative(stand.heading, arrived.heading)
        if stand.panorama not in (arrived.previous, arrived.panorama, *found):
            found[stand.panorama] = (words, angle, after)

    # Those whose turn has an unambiguous name.
    angles = [angle for _, angle, _ in found.values()]
    named = []
    for words, angle, after in found.values():
        turn = _name_turn(words, angle, angles)
        if turn:
            named.append(Exit(turn, after))
    return named


def _name_turn(
    words: tuple[Word, ...],
    angle: float,
    angles: list[float],
) -> Turn | None:
    """Return the name of a turn of ``angle`` degrees by the actions ``words``; None if ambiguous.

    ``angles``: those of all exits.
    """
    size = abs(angle)
    others = [other for other in angles if other != angle]
    if not words:
        is_clear = all(abs(other) >= size + CLEARLY for other in others)
        return "straight" if is_clear and size <= STRAIGHT else None
    side = words[0]
    if not SIDE_ANGLE <= size <= BACK_ANGLE or (angle < 0) != (side == "left"):
        return None

    # One of two exits on a side: one left is the slight turn, two lefts are the sharp one.
    is_single = len(words) == 1
    rivals = [abs(o) for o in others if (o < 0) == (angle < 0) and abs(o) > STRAIGHT]
    if not rivals:
        return cast(Turn, side) if is_single else None
    if len(rivals) > 1 or (rivals[0] > size) != is_single:
        return None
    return cast(Turn, f"{'slight' if is_single else 'sharp'} {side}")


TURN_COUNTS = (1, 2, 2, 2, 3, 3, 3, 4)
"""Numbers of turns to draw from; common ones are repeated."""

CROSSING_COUNTS = (0, 0, 0, 1, 1, 2)
"""Numbers of junctions crossed after the last turn, to draw from."""

COUNTED_SHARE = 0.2
"""Share of routes that end a counted number of steps after the last turn."""

SHORTEST = 14
LONGEST = 50
"""Range of actions per route, including turns and the stop."""
FAILURES = 20
"""Consecutive combinations without a new route after which a town has no more."""

ATTEMPTS = 500  # draws before a combination of turns and crossings counts as failed
LEG_ATTEMPTS = 3
"""Draws per leg of a route of a set length; a leg that crosses the route is drawn again."""
DIRECTNESS = 0.75
"""Minimum ratio of shortest path to route: a route is at most a third longer."""

MOST_STRAIGHT = 3  # maximum junctions crossed per leg: people do not count further
STEPS_AFTER = (2, 4)
"""Range of counted steps after the last turn, to draw from."""
MOST_STEPS = 5
"""Maximum number of counted steps of a route of a set length."""
TOO_FAR_RANGE = 7
"""Maximum distance, in panoramas beyond the goal, of a landmark that means "too far"."""

# Angles to a landmark, in degrees from the heading.
SIDEWAYS = 24.0
"""A landmark at a smaller angle is ahead, at a larger one to a side."""
BESIDE = (70.0, 110.0)
"""A landmark between these is right alongside."""
TURNED = 65.0
BEHIND_WALKER = 122.0
"""A landmark between these may be described as on the left or right: wider than ``BESIDE``, so
that no earlier position matches the description of a goal."""

Side = Literal["left", "right"]


@dataclass(frozen=True)
class Passed:
    """A landmark along the leg, and its side."""

    name: str
    side: Side


@dataclass(frozen=True)
class TownLeg:
    """A leg straight to a junction, and a turn there.

    ``junction_number`` counts the junctions on this leg from 1, ``light_number`` those with a
    traffic light; 0 if this one has none. ``corner``: the landmark at the junction.
    """

    turn: Turn
    junction_number: int
    light_number: int
    corner: Passed | None
    passed: tuple[Passed, ...]


@dataclass(frozen=True)
class Ending:
    """Where to stop: ``beside`` a landmark, or ``steps`` after the last turn.

    ``junctions`` and ``lights`` count those crossed on the way; ``too_far`` names a landmark that
    is visible only beyond the goal.
    """

    junctions: int
    lights: int
    passed: tuple[Passed, ...]
    beside: Passed | None = None
    steps: int = 0
    too_far: str = ""


@dataclass(frozen=True)
class TownRoute:
    """A path (panorama ids), the initial heading (degrees), legs, ending, and action count."""

    path: tuple[str, ...]
    heading: int
    legs: tuple[TownLeg, ...]
    ending: Ending
    actions: int


@dataclass
class _Walk:
    """A walk in progress. ``states`` holds the start and the state after each forward."""

    states: list[State]
    turns: list[Word] = field(default_factory=list)


def find_routes(town: Town, length: int = 0) -> Iterator[TownRoute]:
    """Yield routes in a fixed order, drawn on demand; no two share both ends. With ``length`` they
    take exactly that many actions including stop, and need not be direct."""
    seed = f"routes/{town.scene}"
    counts: Sequence[int] = TURN_COUNTS
    if length:
        seed = f"{seed}/{length}"
        # A leg takes about 16 actions, or half as many if it crosses no junction.
        counts = range(max(0, length // 16 - 1), length // 8 + 1)
    rng = random.Random(seed)
    planner = _TownPlanner(town, rng)
    used_ends: set[tuple[str, str]] = set()
    failures = 0
    while failures < FAILURES:
        # A combination of turns and crossings, then the first unused route that fits it.
        turns = rng.choice(counts)
        crossings: int | None = rng.choice(CROSSING_COUNTS)
        if rng.random() < COUNTED_SHARE:
            crossings = None
        failures += 1
        for _ in range(ATTEMPTS):
            route = planner.draw(turns, crossings, length)
            if route and (route.path[0], route.path[-1]) not in used_ends:
                failures = 0
                used_ends.add((route.path[0], route.path[-1]))
                yield route
                break


class _TownPlanner:
    """Draws routes in one town; a failed draw is None."""

    def __init__(self, town: Town, rng: random.Random) -> None:
        self.town = town
        self.rng = rng
        self.sights = in_sight(town)
        self._place = cache(lambda state: town.navigator.stand(state).panorama)
        self._exits = cache(lambda state: exits(town.navigator, state))
        self._run = cache(self._walk_to_junction)
        self._alongside = cache(self._standing_alongside)
        self.beside: dict[int, list[Landmark]] = {}
        self.corner: dict[int, Landmark] = {}
        for landmark in town.landmarks:
            if landmark.where == "street":
                self.beside.setdefault(landmark.home, []).append(landmark)
            elif landmark.where == "corner":
                self.corner[landmark.home] = landmark

    def draw(
        self,
        turns: int,
        crossings: int | None,
        length: int = 0,
    ) -> TownRoute | None:
        """Draw a route with a number of turns; None if the draw fails.

        It crosses ``crossings`` junctions after the last turn or, if None, ends after counted
        steps. ``length``: its number of actions, 0 for any.
        """
        # The legs. Those of a set length are drawn again if one fails: long routes would rarely be
        # drawn whole.
        start = self._start()
        walk = _Walk([start])
        legs = list[TownLeg]()
        attempts = LEG_ATTEMPTS * turns if length else turns
        while len(legs) < turns and attempts:
            attempts -= 1
            walk_before = _Walk([*walk.states], [*walk.turns])
            leg = self._walk_leg(walk)
            if leg and not (length and self._overshoots(walk, length)):
                legs.append(leg)
            elif length:
                walk = walk_before
            else:
                break
        if len(legs) < turns:
            return None

        # The ending.
        if crossings is None:
            ending = self._end_by_steps(walk, length)
        else:
            ending = self._end_beside(walk, crossings, length)
        path = [self._place(state) for state in walk.states]
        if ending is None or len(set(path)) < len(path):
            return None

        # The route as a whole: length, directness, and the same turns as the oracle's.
        actions = len(path) + len(walk.turns)
        hops = self.town.graph.hops(path[0], path[-1])
        is_direct = hops >= DIRECTNESS * (len(path) - 1)
        fits = is_direct and SHORTEST <= actions <= LONGEST
        if length:
            fits = actions == length and hops > 1
        if not fits:
            return None
        gold = path_actions(self.town.navigator, start, path)
        if [word for word in gold if word in ("left", "right")] != walk.turns:
            return None  # the oracle would make this sharp turn in the other direction
        ids = tuple(self.town.graph.ids[place] for place in path)
        heading = self.town.navigator.stand(start).heading
        return TownRoute(ids, heading, tuple(legs), ending, actions)

    def _overshoots(self, walk: _Walk, length: int) -> bool:
        """True if a walk is too long, or crosses itself."""
        places = [self._place(state) for state in walk.states]
        is_too_long = len(places) + len(walk.turns) >= length
        return is_too_long or len({*places}) < len(places)

    def _start(self) -> State:
        """Return a state on a street, facing along it, at least three panoramas before its end."""
        chain = list(self.rng.choice(self.town.chains))
        if self.rng.random() < 0.5:
            chain.reverse()
        at = self.rng.randrange(1, len(chain) - 3)
        graph = self.town.graph
        (heading,) = (
            h for h, target in graph.exits(chain[at]) if target == chain[at + 1]
        )
        return self.town.navigator.start(chain[at], heading)

    def _walk_leg(self, walk: _Walk) -> TownLeg | None:
        """Extend a walk by a leg: straight across up to ``MOST_STRAIGHT`` junctions, then a turn.

        Return the leg, or None if a junction has no exit of the kind that is needed; the walk may
        then be extended up to that junction.
        """
        passed: list[Passed] = []
        lights = 0
        # Weighted: most legs cross no junction or one.
        crossed_count = self.rng.choice((0, 0, 1, 1, 2, MOST_STRAIGHT))
        for number in range(crossed_count + 1):
            passed += self._to_junction(walk)
            junction = self._place(walk.states[-1])
            is_lit = junction in self.town.lights
            lights += is_lit
            corner = self._at_corner(walk, junction)
            goes_straight = number < crossed_count
            options = [
                option
                for option in self._exits(walk.states[-1])
                if (option.turn == "straight") == goes_straight
            ]
            if not options:
                return None
            option = self.rng.choice(options)
            walk.turns += TURN_ACTIONS[option.turn]
            walk.states.append(option.state)
        # "The second light" names a junction only if it has one.
        light_number = lights if is_lit else 0
        return TownLeg(
            option.turn,
            crossed_count + 1,
            light_number,
            corner,
            tuple(passed),
        )

    def _end_beside(
        self,
        walk: _Walk,
        crossings: int,
        length: int,
    ) -> Ending | None:
        """Walk on to a goal next to a landmark on the last street, before the next junction.

        ``crossings`` junctions are crossed first. ``length`` is the required number of actions of
        the route, 0 for any. Return None if there is no such goal; the walk may then be extended by
        crossings.
        """
        # Straight across the junctions.
        passed: list[Passed] = []
        lights = 0
        for _ in range(crossings):
            passed += self._to_junction(walk)
            junction = self._place(walk.states[-1])
            straight = [
                e.state for e in self._exits(walk.states[-1]) if e.turn == "straight"
            ]
            if not straight:
                return None
            walk.states.append(straight[0])
            if junction in self.town.lights:
                lights += 1

        # A goal before the next junction; a set length leaves one position.
        ahead = self._run(walk.states[-1])[:-1]
        goals: Sequence[int] = range(1, len(ahead))
        if length:
            goals = [length - len(walk.states) - len(walk.turns) - 1]
        choices = [
            k
            for k in goals
            if 0 < k < len(ahead) and self._is_first_beside(walk, ahead, k)
        ]
        if not choices:
            return None
        goal = self.rng.choice(choices)

        # Landmarks before the goal are passed; the one at the goal names it.
        for state in (walk.states[-1], *ahead[:goal]):
            passed += self._alongside(state)
        (goal_landmark, *_) = self._alongside(ahead[goal])
        walk.states += ahead[: goal + 1]
        too_far = self._too_far(walk, ahead[goal + 1 :])
        return Ending(
            crossings,
            lights,
            tuple(passed),
            goal_landmark,
            0,
            too_far,
        )

    def _is_first_beside(
        self,
        walk: _Walk,
        ahead: list[State],
        goal: int,
    ) -> bool:
        """True if a landmark is alongside here and was not to the side at any earlier state."""
        names = [passed.name for passed in self._alongside(ahead[goal])]
        if not names:
            return False
        landmark = next(mark for mark in self.town.landmarks if mark.name == names[0])
        return not any(
            TURNED <= abs(self._angle(state, landmark)) <= BEHIND_WALKER
            and landmark.name in self._names_in_sight(state)
            for state in (walk.states[-1], *ahead[:goal])
        )

    def _end_by_steps(self, walk: _Walk, length: int) -> Ending | None:
        """Stop a counted number of steps after the turn, including the step that left the
        junction."""
        ahead = self._run(walk.states[-1])[:-1]
        taken = 1 if walk.turns else 0  # the step that left the junction
        if length:
            steps = length - len(walk.states) - len(walk.turns) + taken
            if not 1 < steps <= MOST_STEPS:
                return None
        else:
            steps = self.rng.randint(*STEPS_AFTER)
        if len(ahead) < steps:
            return None
        walk.states += ahead[: steps - taken]
        too_far = self._too_far(walk, ahead[steps - taken :])
        return Ending(0, 0, (), None, steps, too_far)

    def _too_far(self, walk: _Walk, beyond: list[State]) -> str:
        """Return a landmark farther on that is visible nowhere on the route; "" if none is."""
        in_view = set[str]()
        for state in walk.states:
            in_view |= self._names_in_sight(state)
        # From two panoramas beyond the goal: one step too far is no mistake.
        for state in beyond[2:TOO_FAR_RANGE]:
            for landmark in self._alongside(state):
                if landmark.name not in in_view:
                    return landmark.name
        return ""

    def _to_junction(self, walk: _Walk) -> list[Passed]:
        """Walk to the next junction; return the landmarks passed."""
        run = self._run(walk.states[-1])
        passed: list[Passed] = []
        if len(walk.states) > 1:  # landmarks at the start are not passed
            passed += self._alongside(walk.states[-1])
        for state in run:
            passed += self._alongside(state)
        walk.states += run
        return passed

    def _walk_to_junction(self, state: State) -> list[State]:
        """Return the states after each forward, up to the next junction; there always is one."""
        states = [self.town.navigator.step(state, "forward")]
        while not self.town.is_junction(self._place(states[-1])):
            states.append(self.town.navigator.step(states[-1], "forward"))
        return states

    def _standing_alongside(self, state: State) -> list[Passed]:
        """Return landmarks at this panorama, with their sides as seen while walking through."""
        alongside = []
        for landmark in self.beside.get(self._place(state), ()):
            angle = self._angle(state, landmark)
            if BESIDE[0] <= abs(angle) <= BESIDE[1]:
                alongside.append(Passed(landmark.name, _side(angle)))
        return alongside

    def _at_corner(self, walk: _Walk, junction: int) -> Passed | None:
        """Return the landmark at the junction if it is visible from the last step before it."""
        last_state, junction_state = walk.states[-2:]
        landmark = self.corner.get(junction)
        if landmark is None or landmark.name not in self._names_in_sight(last_state):
            return None
        before = self._angle(last_state, landmark)
        at = self._angle(junction_state, landmark)
        changes_side = abs(at) < BESIDE[1] and _side(at) != _side(before)
        if changes_side or not SIDEWAYS <= abs(before) <= BESIDE[1]:
            return None
        return Passed(landmark.name, _side(before))

    def _angle(self, state: State, landmark: Landmark) -> float:
        """Return the angle to a landmark: relative to the heading, degrees, right positive."""
        stand = self.town.navigator.stand(state)
        position = self.town.point(stand.panorama)
        return relative(bearing(position, (landmark.x, landmark.y)), stand.heading)

    def _names_in_sight(self, state: State) -> set[str]:
        """Return the names of the landmarks in sight from a state."""
        panorama = self.town.graph.ids[self._place(state)]
        return {sight.name for sight in self.sights[panorama]}


def _side(angle: float) -> Side:
    """Return the side of an angle in degrees from the heading."""
    return "left" if angle < 0 else "right"
