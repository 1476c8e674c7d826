"""Moves on a street graph: transition functions, and conversion of paths to actions.

There are three transition functions:

``original``
    Chen et al. 2019. Forward follows the edge at the current heading, and the heading then snaps
    to the closest edge out; left and right rotate to the next edge out.
``modified``
    Schumann et al. 2023 (VELMA), section 3, as in its released navigator; the default. Forward
    never re-aligns; the exit is chosen relative to all outgoing edges
    (:meth:`Navigator._chosen_edge`).
``paper``
    As ``modified``, but with an even number of exits ahead, left and right are counted from the
    heading itself, as in the paper's Table 4, not from the middle exit closer to the heading. The
    two differ at five of Touchdown's 29,641 panoramas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np

from wayword.core.errors import UsageError, suggest
from wayword.core.geometry import relative
from wayword.worlds.street.graph import StreetGraph

Transition = Literal["modified", "original", "paper"]
Word = Literal["forward", "left", "right", "turn_around", "stop"]
DeadEnds = Literal["open", "released"]
WORDS: tuple[Word, ...] = get_args(Word)
"""The five actions, in the paper's order."""

State = int
"""A panorama and a heading; see :class:`Navigator`."""


@dataclass(frozen=True, slots=True)
class StreetPose:
    """Panorama, heading in whole degrees, and the panorama left by the last action, -1 if none."""

    panorama: int
    heading: int
    previous: int = -1


class Navigator:
    """A transition function on a graph.

        >>> from wayword.worlds.street.graph import build
        >>> graph = build("corner", ["a", "b", "c"], [("a", 0, "b"), ("b", 90, "c")])
        >>> navigator = Navigator(graph)
        >>> state = navigator.step(navigator.start(0, 0), "forward")
        >>> navigator.stand(state)
        StreetPose(panorama=1, heading=0, previous=0)

    States are integers. With E links, state e < E has just moved along link e; E + e is at link
    e's source and faces along it; higher ones are starts that face no edge, numbered on demand.
    ``panoramas`` and ``headings`` are indexed by state. Moves are cached: use one navigator for all
    episodes on its graph; ``outcomes`` is a cache for its worlds.
    """

    def __init__(
        self,
        graph: StreetGraph,
        transition: str = "modified",
    ) -> None:
        # A name can come from a settings file, where no type checker reads it.
        if transition not in get_args(Transition):
            hint = suggest(transition, get_args(Transition))
            raise UsageError(f"unknown street transition {transition!r}; {hint}")
        self.graph = graph
        self.transition = transition
        # Lists, not arrays: a walk reads single items, which numpy hands out several
        # times slower.
        offsets, self._targets, self._exit_headings = graph.lists
        self._edges = [range(first, last) for first, last in pairwise(offsets)]
        self._links = len(self._targets)
        self._sources = np.repeat(
            np.arange(len(graph)),
            np.diff(graph.offsets),
        ).tolist()
        # States 0 to E - 1 have arrived over a link, states E to 2E - 1 face along one.
        # So both lists hold every link twice: first its target, then its source.
        self.panoramas: list[int] = self._targets + self._sources
        self.headings: list[int] = self._exit_headings * 2
        self.outcomes: dict[str, dict[str, dict[State, Any]]] = {}
        self._off_edge_states: dict[tuple[int, int], State] = {}
        self._transitions: dict[str, dict[State, State]] = {word: {} for word in WORDS}

    def start(self, panorama: int, heading: int) -> State:
        """Return the state of an actor that is at a panorama and has not moved.

        ``heading`` in whole degrees; it need not be that of an exit.
        """
        for edge in self._edges[panorama]:
            if self._exit_headings[edge] == heading:
                return self._links + edge
        # A start between two exits gets a state of its own; the same start always gets
        # the same one.
        if (panorama, heading) not in self._off_edge_states:
            self._off_edge_states[panorama, heading] = len(self.panoramas)
            self.panoramas.append(panorama)
            self.headings.append(heading)
        return self._off_edge_states[panorama, heading]

    def stand(self, state: State) -> StreetPose:
        """Return the panorama and heading of a state."""
        # Only a state below E came over a link, and so has a panorama behind it.
        previous = self._sources[state] if state < self._links else -1
        return StreetPose(
            self.panoramas[state],
            self.headings[state],
            previous,
        )

    def step(self, state: State, word: str) -> State:
        """Return the state after an action by the transition function alone.

        Raises ``ValueError`` for an unknown action. Any state may be left by any
        action.
        """
        # One table per action: a known move then costs two lookups.
        moves = self._transitions.get(word)
        if moves is None:
            raise ValueError(f"{word!r} is not a street action")
        after = moves.get(state)
        if after is None:
            edges = self._edges[self.panoramas[state]]
            after = self._after(state, word, edges)
            moves[state] = after
        return after

    def execute(
        self,
        state: State,
        word: str,
        dead_ends: DeadEnds,
    ) -> tuple[str, State]:
        """Return the action carried out for ``word``, and the state after it.

        By the rules of :class:`~wayword.worlds.street.world.StreetWorld`, which
        replaces impossible actions.
        """
        edges = self._edges[self.panoramas[state]]
        exits = len(edges)
        # ``original`` has no rule that replaces an action. Stop and turn around are
        # never replaced.
        is_fixed = word in ("stop", "turn_around") or self.transition == "original"
        if is_fixed or exits > 2:
            return word, self._after(state, word, edges)
        # With two exits, as at nearly all panoramas, the general rules come to the closest edge:
        # one walks along it. A state that is a link's number means "has just passed this link".
        if exits == 2:
            first, second = edges
            heading = self.headings[state]
            out = self._exit_headings
            closeness = abs(abs(out[first] - heading) - 180)
            if abs(abs(out[second] - heading) - 180) > closeness:
                first = second  # of a tie, the first
            return "forward", first
        # A dead end can only be left straight ahead, and only if dead ends are open.
        faces_exit = exits and self._exit_headings[edges[0]] == self.headings[state]
        executed = "stop"
        if faces_exit and word == "forward" and dead_ends == "open":
            executed = word
        return executed, self._after(state, executed, edges)

    def linked(self, start: int, end: int) -> bool:
        """True if a link leads from ``start`` to ``end``; links may be one-way."""
        return any(self._targets[edge] == end for edge in self._edges[start])

    def closest(self, panorama: int, heading: float) -> int:
        """Return the heading of the exit closest to ``heading`` (of a tie, the first).

        The rounded heading itself if there is no exit.
        """
        edges = self._edges[panorama]
        if not edges:
            return round(heading) % 360
        return self._exit_headings[self._closest(heading % 360, edges)]

    def _after(
        self,
        state: State,
        word: str,
        edges: range,
    ) -> State:
        """Return the state after an action; ``edges`` are the outgoing links of its panorama."""
        # Without an exit every action leaves the actor where it is, as in the released
        # navigator.
        if word == "stop" or not edges:
            return state
        edge = self._chosen_edge(state, word, edges)
        if edge is None:
            return state
        # A turn ends facing along the chosen edge, without passing it.
        if word != "forward":
            return self._links + edge
        # Forward passes it and keeps its heading.
        if self.transition != "original":
            return edge
        # Chen et al. let the heading snap to the closest exit of the panorama just
        # reached.
        ahead = self._edges[self._targets[edge]]
        if ahead:
            return self._links + self._closest(self._exit_headings[edge], ahead)
        return edge

    def _chosen_edge(
        self,
        state: State,
        word: str,
        edges: range,
    ) -> int | None:
        """Return the link that an action takes or turns to; None if it has no effect.

        ``modified`` applies these rules in order: (1) Stop has no effect. (2) Forward, facing along
        an edge, takes it. (3) Turn around faces the edge closest to the opposite heading. (4) Just
        arrived at a dead end, no action has an effect. (5) With one or two exits, it is the closest
        edge. (6) Just arrived at a junction, the edge back is excluded and the others are sorted by
        their angle to the heading; forward is the middle one (of two middles, the closer); of two
        edges, left is the first and right the last. (7) Otherwise left and right are the nearest
        edges counter-clockwise and clockwise of forward, which after a turn in place is the
        heading.
        """
        heading = self.headings[state]
        exit_headings = self._exit_headings
        # Never at a panorama with exits under ``original``
        has_just_moved = state < self._links
        # Rules 1 to 3: how the actor got there plays no part.
        if word == "turn_around":
            return self._closest((heading - 180) % 360, edges)
        edge = self._closest(heading, edges)
        if word == "forward" and (not has_just_moved or exit_headings[edge] == heading):
            return edge
        # Rules 4 and 5: dead ends and plain street.
        if len(edges) <= 2 and self.transition != "original":
            return None if has_just_moved and len(edges) == 1 else edge
        # Rule 7. The edge that the actor faces is left out: a full circle would lead
        # back to it.
        if len(edges) <= 2 or not has_just_moved:
            others = [edge for edge in edges if exit_headings[edge] != heading]
            return self._nearest_turn(word, heading, others) if others else None
        # Rule 6: a junction that the actor has just reached.
        previous = self._sources[state]
        ahead = [edge for edge in edges if self._targets[edge] != previous]
        if not ahead:
            return None
        # From -179 to 180 degrees, so that an exit straight behind is the rightmost.
        ahead.sort(key=lambda edge: (exit_headings[edge] - heading + 179) % 360)
        # With an even number of exits ahead none is the middle: the closer of the two
        # counts as straight on.
        half = len(ahead) // 2
        middle = ahead[half]
        even = len(ahead) % 2 == 0
        if even:
            middle = self._closest(heading, ahead[half - 1 : half + 1])
        if word == "forward":
            return middle
        # One edge leads back, so two are ahead: left and right name them whatever their
        # angles.
        if len(edges) == 3:
            return ahead[0] if word == "left" else ahead[-1]
        if self.transition == "paper" and even:
            return self._nearest_turn(word, heading, ahead)
        others = [edge for edge in ahead if edge != middle]
        if others:
            # Left and right of forward's edge, not of the heading: "right" names the
            # street next to straight on.
            return self._nearest_turn(
                word,
                exit_headings[middle],
                others,
            )
        return middle

    def _nearest_turn(
        self,
        word: str,
        heading: int,
        edges: Sequence[int],
    ) -> int:
        """Return the nearest edge on one side of a heading, up to a full circle."""
        side = -1 if word == "left" else 1
        out = self._exit_headings
        return min(edges, key=lambda edge: side * (out[edge] - heading) % 360)

    def _closest(
        self,
        heading: float,
        edges: Sequence[int],
    ) -> int:
        """Return the edge closest to a heading in [0, 360); ties go to the first."""
        exit_headings = self._exit_headings
        closest = edges[0]
        best = -1.0
        # Below every closeness, so that the first edge is taken and keeps a tie.
        for edge in edges:  # closeness: 180 for equal headings, 0 for opposite ones
            closeness = abs(abs(exit_headings[edge] - heading) - 180)
            if closeness > best:
                closest = edge
                best = closeness
        return closest


def next_word(
    navigator: Navigator,
    state: State,
    panorama: int,
) -> Word:
    """Return the next action towards a neighboring panorama, in the order of the released oracle.

    Forward if it leads there; else turn around if that faces it; else the turn that
    faces it; else the turn that gets closer. Raises ``ValueError`` if it is not a
    neighbor.
    """
    # The order matters for scores: the released gold actions of Touchdown were made by
    # it.
    current = navigator.stand(state).panorama
    exits = navigator.graph.exits(current)
    headings = [heading for heading, target in exits if target == panorama]
    if not headings:
        raise ValueError(f"panorama {current} has no link to {panorama}")
    if navigator.stand(navigator.step(state, "forward")).panorama == panorama:
        return "forward"
    turns: tuple[Word, ...] = ("left", "right")
    # Chen et al. 2019 know no turn around.
    if navigator.transition != "original":
        turns = ("turn_around", "left", "right")
    after = {
        word: navigator.stand(navigator.step(state, word)).heading for word in turns
    }
    # A turn that faces the neighbor ends the turning at once.
    for word in turns:
        if after[word] in headings:
            return word
    # None does: turn to the side that leaves less to turn. Left, being the first, wins
    # a tie.
    return min(
        ("left", "right"), key=lambda word: abs(relative(headings[0], after[word]))
    )


def path_actions(
    navigator: Navigator,
    state: State,
    path: Sequence[int],
) -> list[Word]:
    """Convert a path to actions that end in ``stop``.

    ``path`` begins with the current panorama. Raises ``ValueError`` if it does not, or
    if it does not follow the links.
    """
    if not path or navigator.stand(state).panorama != path[0]:
        raise ValueError("the path does not start at the current panorama")
    # Each panorama takes any number of turns and then one forward.
    words: list[Word] = []
    for panorama in path[1:]:
        word: Word = "stop"
        while word != "forward":
            word = next_word(navigator, state, panorama)
            words.append(word)
            state = navigator.step(state, word)
    return [*words, "stop"]


def shortest_actions(
    navigator: Navigator,
    state: State,
    goal: int,
) -> list[Word]:
    """Return a shortest path to a panorama as actions, without a stop.

    Of equal ones, the one that goes straight, then the first in file order. Raises
    ``ValueError`` if there is no path.
    """
    hops = navigator.graph.hops
    graph = navigator.graph
    # Greedy descent on the table of hops: each step takes a neighbor that is one link
    # closer.
    path = [navigator.stand(state).panorama]
    if np.isinf(hops(path[0], goal)):
        raise ValueError(f"no path from {graph.ids[path[0]]} to {graph.ids[goal]}")
    straight = navigator.stand(navigator.step(state, "forward")).panorama
    while path[-1] != goal:
        targets = [target for _, target in graph.exits(path[-1])]
        remaining = hops(targets, goal).tolist()
        best = min(remaining)
        pairs = zip(targets, remaining, strict=True)
        nearest = [target for target, count in pairs if count == best]
        # Only the first step: from there on, the heading depends on the path.
        following = nearest[0]
        if len(path) == 1 and straight in nearest:
            following = straight
        path.append(following)
    return path_actions(navigator, state, path)[:-1]
