"""The street world: face a heading in a panorama, and walk from one panorama to the next.

    >>> from wayword.core.action import Action
    >>> from wayword.core.episode import Episode
    >>> from wayword.worlds.street.graph import build
    >>> graph = build("corner", ["a", "b"], [("a", 0, "b"), ("b", 180, "a")])
    >>> world = StreetWorld(moves.Navigator(graph))
    >>> world.reset(Episode("1", "Go on.", "corner", {"panorama": "a", "heading": 0}))
    >>> world.step("agent", Action("forward")).status
    'ok'
    >>> world.pose("agent")
    {'panorama': 'b', 'heading': 0}

Source: Schumann et al. 2023 (VELMA), section 3, and the navigator released with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from wayword.core.action import Action, ActionSpace
from wayword.core.dataset import Walkable
from wayword.core.episode import Episode, JsonObject
from wayword.core.errors import DataError
from wayword.core.geometry import relative
from wayword.core.starts import check_start
from wayword.core.world import Feedback, Observation
from wayword.worlds import street
from wayword.worlds.street import moves

# One menu for all observations: every action is legal at every panorama.
_MENU = ActionSpace(tuple(Action(word) for word in moves.WORDS))


@dataclass(frozen=True, slots=True)
class StreetObservation(Observation):
    """The actor's panorama, heading (whole degrees clockwise from north) and exits.

    ``angles``: one per exit, relative to the heading, in (-180, 180], from left to right.
    ``changed``: true if the last action changed the panorama, and at the start. ``step``: number of
    actions so far.
    """

    family = street.family

    scene: str
    panorama: str
    heading: int
    angles: tuple[int, ...]
    changed: bool
    step: int

    @property
    def exits(self) -> int:
        """Number of links out of the panorama: 1 is a dead end, 3 or more a junction."""
        return len(self.angles)


Outcome = tuple[moves.State, Feedback, bool, bool]
"""What an action does in a state: the next state, the feedback, and True if the actor has moved,
and if it has stopped."""


class StreetWorld(Walkable):
    """A walk by one actor. Actions: forward, left, right, turn_around, stop; all are always legal.

    An impossible action is replaced as in the released VELMA navigator, except with the
    ``original`` transition function, which has no such rule:

    - left or right with exactly two exits (``no_turn``): replaced by forward;
    - forward, left or right at a dead end (``dead_end``): replaced by stop.

    Feedback contains the action carried out (``executed``) and whether the panorama changed
    (``moved``). With ``dead_ends="open"``, forward takes the only exit if the actor faces it;
    ``"released"`` stops in that case, too. ``episode.start`` contains ``panorama`` and ``heading``
    (degrees; rounded, not snapped).
    """

    def __init__(
        self,
        navigator: moves.Navigator,
        dead_ends: moves.DeadEnds = "open",
    ) -> None:
        self.navigator = navigator
        self.dead_ends = dead_ends
        self.graph = navigator.graph
        # Shared by all of the navigator's worlds that have the same rule for dead ends.
        self._outcomes: dict[str, dict[moves.State, Outcome]]
        self._outcomes = navigator.outcomes.setdefault(
            dead_ends,
            {word: {} for word in moves.WORDS},
        )
        # Any state serves until the first reset sets the true one.
        self._state = navigator.start(0, 0)
        self._changed = True
        self._steps = 0
        self._stopped = False

    @property
    def read_only(self) -> tuple[object, ...]:
        """The navigator with its graph and cached moves, shared by all worlds on it."""
        return (self.navigator, self.graph, self._outcomes)

    def reset(self, episode: Episode) -> None:
        """Put the actor at the start of an episode. Raises ``DataError`` for an unknown
        panorama."""
        check_start(episode, ("panorama",), ("heading",))
        panorama = episode.start["panorama"]
        # Touchdown's episodes have a heading; generated ones may leave it out.
        heading = episode.start.get("heading", 0)
        number = self.graph.index.get(panorama)
        if number is None:
            where = f"episode {episode.id}, field 'panorama'"
            raise DataError(
                self.graph.name,
                where,
                f"{panorama!r} is not in the street graph",
            )
        self._state = self.navigator.start(number, round(heading) % 360)
        self._changed = True
        self._steps = 0
        self._stopped = False

    def observe(self, actor: str) -> StreetObservation:
        """Return what the actor perceives: no map, only the exits of its own panorama."""
        at = self.navigator.stand(self._state)
        # From left to right, as a person would list the exits.
        graph = self.graph
        exits = graph.exits(at.panorama)
        angles = sorted(round(relative(heading, at.heading)) for heading, _ in exits)
        pose = graph.name, graph.ids[at.panorama], at.heading
        return StreetObservation(*pose, tuple(angles), self._changed, self._steps)

    def action_space(self, actor: str) -> ActionSpace:
        """Return the five actions, which are always legal."""
        return _MENU

    def step(self, actor: str, action: Action) -> Feedback:
        """Carry out an action, or the one that replaces it. Raises ``ValueError`` for
        an action that is not on the menu."""
        # Answers are checked against the menu before: other actions are errors of the caller.
        if action.arguments:
            raise ValueError(f"{action} is not on the menu")
        # An outcome depends on nothing but state, action and the rule for dead ends, so
        # all episodes on a graph fill and read the same tables.
        try:
            outcomes = self._outcomes[action.name]
        except KeyError:
            raise ValueError(f"{action} is not on the menu") from None
        # A look-up that may fail is faster than an error that is caught.
        outcome = outcomes.get(self._state) or self._add_outcome(action.name)
        self._state, feedback, self._changed, stops = outcome
        self._steps += 1
        # An action replaced by a stop ends the episode like the word itself.
        if stops:
            self._stopped = True
        return feedback

    def _add_outcome(self, word: str) -> Outcome:
        """Compute what an action does here, and add it to the tables of all episodes."""
        state = self._state
        executed, after = self.navigator.execute(state, word, self.dead_ends)
        panoramas = self.navigator.panoramas
        moved = panoramas[after] != panoramas[state]
        feedback = _feedback(word, executed, moved)
        outcome = after, feedback, moved, executed == "stop"
        self._outcomes[word][state] = outcome
        return outcome

    def done(self, actor: str) -> bool:
        """True once a stop was carried out, by choice or at a dead end."""
        return self._stopped

    def pose(self, actor: str) -> JsonObject:
        """Return the panorama's id and the heading in whole degrees clockwise from
        north."""
        pose = self.navigator.stand(self._state)
        return {"panorama": self.graph.ids[pose.panorama], "heading": pose.heading}

    def state(self) -> JsonObject:
        """Return the pose, and if the actor has stopped."""
        return {**self.pose("agent"), "stopped": self._stopped}

    def route(self, actor: str, goal: str) -> list[Action]:
        """Return a shortest path without a stop. Raises ``ValueError`` if none exists."""
        words = moves.shortest_actions(
            self.navigator,
            self._state,
            self.graph.index[goal],
        )
        return [Action(word) for word in words]

    def along(self, actor: str, path: Sequence[str]) -> list[Action]:
        """Convert a path to actions, ending in ``stop``. Raises ``ValueError`` for a path that does
        not follow the links."""
        numbers = [self.graph.index[panorama] for panorama in path]
        return [
            Action(word)
            for word in moves.path_actions(self.navigator, self._state, numbers)
        ]


@cache
def _feedback(word: str, executed: str, moved: bool) -> Feedback:
    """Return the feedback of a step. Few distinct ones exist; each is built once."""
    if executed == word:
        status = "ok"
    elif executed == "forward":
        status = "no_turn"
    else:
        status = "dead_end"
    return Feedback(status, {"executed": executed, "moved": moved})


world = StreetWorld
