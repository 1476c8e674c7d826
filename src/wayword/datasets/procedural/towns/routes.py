"""Routes: gold paths, and what an instruction must say about each leg of one.

A route is walked with the transition function itself, so its path is one that the actions lead
along. A leg goes straight on through some junctions and ends with a turn at the next; the last leg
ends beside a landmark, or a counted number of steps after the last turn. So the legs, in order,
suffice to find the goal: whoever counts junctions (or traffic lights, where they are counted) and
looks for one landmark arrives.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from wayword.core.geometry import bearing, relative
from wayword.datasets.procedural.towns.town import Landmark, LandmarkInSight, Town, in_sight
from wayword.worlds.street.moves import Navigator, State, Word, path_actions

# The ways out of a junction under the town's transition function, and what each turn is called.
#
# A way gets a name only where nobody could mean another by it: straight on within ``STRAIGHT``
# degrees and clearly straighter than any other; left and right from ``ASIDE`` degrees on; where
# two ways lie on a side, the inner one is the slight and the outer one the sharp turn.

Turn = Literal[
    "straight", "left", "right", "slight left", "slight right", "sharp left", "sharp right"
]
WORDS: dict[Turn, tuple[Word, ...]] = {
    "straight": (),
    "left": ("left",),
    "right": ("right",),
    "slight left": ("left",),
    "slight right": ("right",),
    "sharp left": ("left", "left"),
    "sharp right": ("right", "right"),
}
"""The actions that make each turn, before the forward that leaves the junction."""

STRAIGHT, CLEARLY, ASIDE, BEHIND = 30.0, 25.0, 40.0, 160.0


@dataclass(frozen=True, slots=True)
class Exit:
    """A way out: its name, its angle (degrees, right positive), the state after leaving by it."""

    turn: Turn
    angle: float
    state: State


def exits(navigator: Navigator, state: State) -> list[Exit]:
    """The named ways out for one who has just arrived at a junction."""
    found: dict[int, tuple[tuple[Word, ...], float, State]] = {}
    trials: tuple[tuple[Word, ...], ...] = (
        (),
        ("left",),
        ("right",),
        ("left",) * 2,
        ("right",) * 2,
    )
    here = navigator.stand(state)
    for words in trials:
        after = state
        for word in (*words, "forward"):
            after = navigator.step(after, word)
        there = navigator.stand(after)
        if there.panorama not in (here.came, here.panorama, *found):
            found[there.panorama] = words, relative(there.heading, here.heading), after
    named = [
        (_name(words, angle, [other for _, other, _ in found.values()]), angle, after)
        for words, angle, after in found.values()
    ]
    return [Exit(turn, angle, after) for turn, angle, after in named if turn]


def _name(words: tuple[Word, ...], angle: float, angles: list[float]) -> Turn | None:
    size = abs(angle)
    others = [abs(other) for other in angles if other != angle]
    if not words:
        clear = size <= STRAIGHT and all(other >= size + CLEARLY for other in others)
        return "straight" if clear else None
    if not ASIDE <= size <= BEHIND or (angle < 0) != (words[0] == "left"):
        return None
    beside = [abs(other) for other in angles if (other < 0) == (angle < 0) and other != angle]
    rivals = [other for other in beside if other > STRAIGHT]
    side: Literal["left", "right"] = words[0]  # type: ignore[assignment]
    if not rivals:
        return side if len(words) == 1 else None
    (rival,) = rivals if len(rivals) == 1 else (None,)
    if rival is None or (rival > size) != (len(words) == 1):
        return None
    names: tuple[Turn, Turn] = (
        ("slight left", "sharp left") if side == "left" else ("slight right", "sharp right")
    )
    return names[len(words) - 1]


TURNS = (1, 2, 2, 2, 3, 3, 3, 4)
"""How many turns a route may have, the common numbers more often."""

CROSSINGS = (0, 0, 0, 1, 1, 2)
"""How many junctions may be crossed after the last turn."""

STEPPED = 0.2
"""The share of routes that end a counted number of steps after the last turn."""

SHORTEST, LONGEST = 14, 50
"""Actions of a route, turns and the stop included."""

ATTEMPTS = 500
DIRECT = 0.75
"""A route is at most a third longer than the shortest way."""

MOST_STRAIGHT = 3
STEPS_AFTER = (2, 4)
BEYOND = 7
"""A landmark that means too far stands at most so many panoramas behind the goal."""

SIDEWAYS, BESIDE = 24.0, (70.0, 110.0)
"""From how many degrees on a thing lies to a side, and between which it stands beside one."""

TURNED, BEHIND_WALKER = 65.0, 122.0
"""Between these a thing may be told as on one's left or right."""

Side = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Passed:
    """A landmark that the leg goes by, and its side."""

    name: str
    side: Side


@dataclass(frozen=True, slots=True)
class TownLeg:
    """Straight on to a junction, and a turn there.

    ``junction`` is the number of the junction on this leg, counted from 1; ``light`` its number
    among those with a traffic light, 0 where it has none. ``corner`` names what stands at it, and
    on which side of one who comes up to it. ``passed`` are landmarks on the way, in order.
    """

    turn: Turn
    junction: int
    light: int
    corner: Passed | None
    passed: tuple[Passed, ...]


@dataclass(frozen=True, slots=True)
class Ending:
    """Where to stop: ``beside`` a landmark, or ``steps`` after the last turn.

    ``junctions`` and ``lights`` are passed before that; ``too_far`` names a landmark that one who
    overshoots comes to see, and who does not, never.
    """

    junctions: int
    lights: int
    passed: tuple[Passed, ...]
    beside: Passed | None = None
    steps: int = 0
    too_far: str = ""


@dataclass(frozen=True, slots=True)
class TownRoute:
    """A path (panorama ids), the heading one starts with (degrees), legs, ending, and actions."""

    path: tuple[str, ...]
    heading: int
    legs: tuple[TownLeg, ...]
    ending: Ending
    actions: int


@dataclass(slots=True)
class _Walk:
    """A walk under way. ``states`` holds the start and the state after each forward."""

    states: list[State]
    turns: list[Word] = field(default_factory=list)


def find_routes(town: Town) -> Iterator[TownRoute]:
    """Routes in a fixed order, drawn as they are asked for; no two between the same places."""
    rng = random.Random(f"routes/{town.scene}")
    planner = _TownPlanner(town, rng)
    known: set[tuple[str, str]] = set()
    fruitless = 0
    while fruitless < 20:
        turns, crossings = rng.choice(TURNS), rng.choice(CROSSINGS)
        wanted = None if rng.random() < STEPPED else crossings
        drawn = (planner.draw(turns, wanted) for _ in range(ATTEMPTS))
        new = (r for r in drawn if r is not None and (r.path[0], r.path[-1]) not in known)
        route = next(new, None)
        if route is None:
            fruitless += 1
            continue
        fruitless = 0
        known.add((route.path[0], route.path[-1]))
        yield route


class _TownPlanner:
    """Draws routes in one town; a draw that leads nowhere sensible gives None."""

    def __init__(self, town: Town, rng: random.Random) -> None:
        self.town, self.rng = town, rng
        self.sights = in_sight(town)
        self._place = cache(lambda state: town.navigator.stand(state).panorama)
        self._exits = cache(lambda state: exits(town.navigator, state))
        self._run = cache(self._run_on)
        self._alongside = cache(self._standing_alongside)
        self.beside: dict[int, list[Landmark]] = {}
        self.corner: dict[int, Landmark] = {}
        for landmark in town.landmarks:
            if landmark.where == "street":
                self.beside.setdefault(landmark.home, []).append(landmark)
            elif landmark.where == "corner":
                self.corner[landmark.home] = landmark

    def draw(self, turns: int, crossings: int | None) -> TownRoute | None:
        """One attempt at a route with so many turns.

        It crosses so many junctions after the last one, or (None) ends in counted steps.
        """
        start = self._start()
        walk, legs = _Walk([start]), []
        for _ in range(turns):
            leg = self._leg(walk)
            if leg is None:
                return None
            legs.append(leg)
        ending = self._after_steps(walk) if crossings is None else self._on(walk, crossings)
        if ending is None:
            return None
        path = [self._place(state) for state in walk.states]
        actions = len(path) + len(walk.turns)
        if len(set(path)) < len(path) or not SHORTEST <= actions <= LONGEST:
            return None
        if self.town.graph.hops(path[0], path[-1]) < DIRECT * (len(path) - 1):
            return None
        gold = path_actions(self.town.navigator, start, path)
        if [word for word in gold if word in ("left", "right")] != walk.turns:
            return None  # a sharp turn that the oracle would make the other way round
        ids = tuple(self.town.graph.ids[place] for place in path)
        heading = self.town.navigator.stand(start).heading
        return TownRoute(ids, heading, tuple(legs), ending, actions)

    def _start(self) -> State:
        """Somewhere along a street, at least three panoramas before its end, facing along it."""
        chain = list(self.rng.choice(self.town.chains))
        if self.rng.random() < 0.5:
            chain.reverse()
        here = self.rng.randrange(1, len(chain) - 3)
        graph = self.town.graph
        (heading,) = (h for h, target in graph.exits(chain[here]) if target == chain[here + 1])
        return self.town.navigator.start(chain[here], heading)

    def _leg(self, walk: _Walk) -> TownLeg | None:
        """Walk to a turn and make it."""
        passed: list[Passed] = []
        lights, straight = 0, self.rng.choice((0, 0, 1, 1, 2, MOST_STRAIGHT))
        for number in range(straight + 1):
            passed += self._to_junction(walk)
            junction = self._place(walk.states[-1])
            lit = junction in self.town.lights
            lights += lit
            ways = self._exits(walk.states[-1])
            corner = self._at_corner(walk, junction)
            turns = [way for way in ways if (way.turn == "straight") == (number < straight)]
            if not turns:
                return None
            way = self.rng.choice(turns)
            self._leave(walk, way)
            if number == straight:
                return TownLeg(way.turn, number + 1, lights if lit else 0, corner, tuple(passed))
        return None

    def _on(self, walk: _Walk, crossings: int) -> Ending | None:
        """Walk on to a goal beside a landmark."""
        passed: list[Passed] = []
        junctions = lights = 0
        for _ in range(crossings):
            passed += self._to_junction(walk)
            junction = self._place(walk.states[-1])
            ways = self._exits(walk.states[-1])
            on = next((way for way in ways if way.turn == "straight"), None)
            if on is None:
                return None
            self._leave(walk, on)
            junctions, lights = junctions + 1, lights + (junction in self.town.lights)
        return self._beside(walk, Ending(junctions, lights, tuple(passed)))

    def _beside(self, walk: _Walk, so_far: Ending) -> Ending | None:
        """Stop beside one of the landmarks along the street that one is in now."""
        ahead = self._ahead(walk.states[-1])
        choices = [k for k in range(1, len(ahead)) if self._first_beside(walk, ahead, k)]
        if not choices:
            return None
        goal = self.rng.choice(choices)
        passed = [p for state in [walk.states[-1], *ahead[:goal]] for p in self._alongside(state)]
        (beside, *_) = self._alongside(ahead[goal])
        walk.states += ahead[: goal + 1]
        too_far = self._too_far(walk, ahead[goal + 1 :])
        every = (*so_far.passed, *passed)
        return Ending(so_far.junctions, so_far.lights, every, beside, 0, too_far)

    def _first_beside(self, walk: _Walk, ahead: list[State], goal: int) -> bool:
        """Whether a landmark stands there that was not straight to the side any earlier."""
        if not self._alongside(ahead[goal]):
            return False
        name = self._alongside(ahead[goal])[0].name
        landmark = next(each for each in self.town.landmarks if each.name == name)
        earlier = [walk.states[-1], *ahead[:goal]]
        return not any(
            TURNED <= abs(self._angle(state, landmark)) <= BEHIND_WALKER
            and name in {seen.name for seen in self._seen(self._place(state))}
            for state in earlier
        )

    def _after_steps(self, walk: _Walk) -> Ending | None:
        """Stop a counted number of steps after the turn; leaving the junction was the first."""
        ahead = self._ahead(walk.states[-1])
        steps = self.rng.randint(*STEPS_AFTER)
        if len(ahead) < steps:
            return None
        walk.states += ahead[: steps - 1]
        too_far = self._too_far(walk, ahead[steps - 1 :])
        return Ending(0, 0, (), None, steps, too_far)

    def _too_far(self, walk: _Walk, beyond: list[State]) -> str:
        """A landmark of the same street that can be seen from nowhere on the route; or none."""
        on_the_way = {seen.name for state in walk.states for seen in self._seen(self._place(state))}
        for state in beyond[2:BEYOND]:
            for passed in self._alongside(state):
                if passed.name not in on_the_way:
                    return passed.name
        return ""

    def _to_junction(self, walk: _Walk) -> list[Passed]:
        """Go on to the next junction; what was passed on the way there."""
        way = self._run(walk.states[-1])
        begun = [] if len(walk.states) == 1 else [walk.states[-1]]
        walk.states += way
        return [passed for state in (*begun, *way) for passed in self._alongside(state)]

    def _ahead(self, state: State) -> list[State]:
        """The states after each forward, up to the last panorama before a junction."""
        return self._run(state)[:-1]

    def _run_on(self, state: State) -> list[State]:
        """The states after each forward, up to the next junction; there always is one."""
        found = [self.town.navigator.step(state, "forward")]
        while not self.town.junction(self._place(found[-1])):
            found.append(self.town.navigator.step(found[-1], "forward"))
        return found

    def _leave(self, walk: _Walk, way: Exit) -> None:
        walk.turns += WORDS[way.turn]
        walk.states.append(way.state)

    def _standing_alongside(self, state: State) -> list[Passed]:
        """Landmarks whose own panorama this is, with their sides for one who walks through."""
        found = []
        for landmark in self.beside.get(self._place(state), ()):
            angle = self._angle(state, landmark)
            if BESIDE[0] <= abs(angle) <= BESIDE[1]:
                found.append(Passed(landmark.name, "left" if angle < 0 else "right"))
        return found

    def _at_corner(self, walk: _Walk, junction: int) -> Passed | None:
        """What stands at the junction, where it is in view from the last step before it."""
        landmark = self.corner.get(junction)
        if landmark is None:
            return None
        before, at = (self._angle(state, landmark) for state in walk.states[-2:])
        side = before < 0
        if not SIDEWAYS <= abs(before) <= BESIDE[1] or (abs(at) < BESIDE[1] and (at < 0) != side):
            return None
        seen = {seen.name for seen in self._seen(self._place(walk.states[-2]))}
        return Passed(landmark.name, "left" if side else "right") if landmark.name in seen else None

    def _angle(self, state: State, landmark: Landmark) -> float:
        """Where a landmark lies for one who looks straight on, degrees, right positive."""
        stand = self.town.navigator.stand(state)
        here = self.town.point(stand.panorama)
        return relative(bearing(here, (landmark.x, landmark.y)), stand.heading)

    def _seen(self, panorama: int) -> tuple[LandmarkInSight, ...]:
        return self.sights[self.town.graph.ids[panorama]]
