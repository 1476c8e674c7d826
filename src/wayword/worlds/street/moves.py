"""How an actor moves on a street graph: the transition functions, and ways written as actions.

Three functions are known by name:

``original``
    Chen et al. 2019. Forward follows the edge at the current heading, and the heading then snaps
    to the closest edge out; left and right rotate to the next edge out.
``modified``
    Schumann et al. 2023 (VELMA), section 3, as its released navigator has it; the default. Forward
    never re-aligns; the way is chosen in relation to all edges out. The exact rules are at
    :meth:`Navigator.edge`.
``paper``
    As ``modified``, but where an even number of ways lies ahead, left and right are counted from
    the heading itself, as the 5-way rows of the paper's Table 4 have it. The released navigator
    counts them from the middle way that is closer to the heading. The two differ at five of
    Touchdown's 29,641 panoramas.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from wayword.core.errors import UsageError, suggest
from wayword.core.geometry import relative
from wayword.worlds.street.graph import StreetGraph

Transition = Literal["modified", "original", "paper"]
Word = Literal["forward", "left", "right", "turn_around", "stop"]
WORDS: tuple[Word, ...] = get_args(Word)
"""The five actions, in the order the paper lists them."""

State = int
"""A place and a heading; see :class:`Navigator`."""


@dataclass(frozen=True, slots=True)
class StreetPose:
    """What a state means: the panorama's number, the heading in whole degrees, and ``came``.

    ``came`` is the number of the panorama that the last action left, -1 where it did not move.
    """

    panorama: int
    heading: int
    came: int = -1


class Navigator:
    """A transition function on a graph.

        >>> from wayword.worlds.street.graph import build
        >>> graph = build("corner", ["a", "b", "c"], [("a", 0, "b"), ("b", 90, "c")])
        >>> navigator = Navigator(graph)
        >>> state = navigator.step(navigator.start(0, 0), "forward")
        >>> navigator.stand(state)
        StreetPose(panorama=1, heading=0, came=0)

    States are numbers. With E links, state e < E has just moved along link e; E + e stands at link
    e's source and faces along it; higher ones are starts off every edge, given out as they are
    asked for. A move that was worked out once is a dictionary look-up from then on, so one
    navigator should serve all episodes on its graph. Raises ``UsageError`` for an unknown
    transition.
    """

    def __init__(self, graph: StreetGraph, transition: str = "modified") -> None:
        known = get_args(Transition)
        if transition not in known:
            near = suggest(transition, list(known))
            raise UsageError(f"no street transition is called {transition!r}; {near}")
        self.graph, self.transition = graph, transition
        self._offsets = graph.offsets.tolist()
        self._targets = graph.targets.tolist()
        self._headings = graph.headings.tolist()
        self._links = len(self._targets)
        self._odd: list[StreetPose] = []
        self._odd_states: dict[StreetPose, State] = {}
        self._next: dict[str, dict[State, State]] = {word: {} for word in WORDS}
        self._rule = self._original if transition == "original" else self._modified

    def start(self, panorama: int, heading: int) -> State:
        """The state of one who stands there and has not moved."""
        for edge in self._edges(panorama):
            if self._headings[edge] == heading:
                return self._links + edge
        return self._state(StreetPose(panorama, heading))

    def stand(self, state: State) -> StreetPose:
        """What a state means."""
        if state < self._links:
            return StreetPose(self._targets[state], self._headings[state], self._source(state))
        if state < 2 * self._links:
            edge = state - self._links
            return StreetPose(self._source(edge), self._headings[edge])
        return self._odd[state - 2 * self._links]

    def step(self, state: State, word: str) -> State:
        """The state after an action. Raises ``ValueError`` for an unknown action."""
        try:
            return self._next[word][state]
        except KeyError:
            if word not in self._next:
                raise ValueError(f"{word!r} is no street action") from None
        after = self._next[word][state] = self._work_out(state, word)
        return after

    def linked(self, start: int, end: int) -> bool:
        """Whether a link leads from one panorama to the other."""
        return end in self._targets[self._offsets[start] : self._offsets[start + 1]]

    def closest(self, panorama: int, heading: float) -> int:
        """The heading of the way out that is closest to ``heading``; a tie goes to the first.

        The heading itself, rounded, where there is no way out.
        """
        edges = self._edges(panorama)
        if not edges:
            return round(heading) % 360
        return int(self._headings[self._closest(heading, edges)])

    def edge(self, here: StreetPose, word: str) -> int | None:
        """The link an action takes or turns to, None where it does nothing.

        ``modified``, in the order in which the rules are asked: (1) stop does nothing. (2)
        Forward, facing along an edge, takes it. (3) Turn around faces the edge closest to the
        opposite heading. (4) Having just arrived at a dead end, nothing moves. (5) With one or two
        ways, it is the closest edge. (6) Having just arrived at a junction, the edge back is left
        out and the rest is sorted by the angle to the heading; forward is the middle one (of two
        middles, the closer), and of two, left is the first and right the last. (7) Otherwise left
        and right are the nearest edges counter-clockwise and clockwise of forward, which after a
        turn in place is the heading.
        """
        edges = self._edges(here.panorama)
        if word == "stop" or not edges:
            return None
        if word == "forward":
            for edge in edges:
                if self._headings[edge] == here.heading:
                    return edge
        if word == "turn_around":
            return self._closest((here.heading - 180) % 360, edges)
        return self._rule(here, word, edges)

    def _work_out(self, state: State, word: str) -> State:
        edge = self.edge(self.stand(state), word)
        if edge is None:
            return state
        if word != "forward":
            return self._links + edge
        if self.transition != "original":
            return edge
        ahead = self._edges(self._targets[edge])
        return self._links + self._closest(self._headings[edge], ahead) if ahead else edge

    def _original(self, here: StreetPose, word: str, edges: Sequence[int]) -> int | None:
        if word == "forward":
            return self._closest(here.heading, edges)
        others = [edge for edge in edges if self._headings[edge] != here.heading]
        return self._turn(word, here.heading, others) if others else None

    def _modified(self, here: StreetPose, word: str, edges: Sequence[int]) -> int | None:
        arrived = here.came >= 0
        if len(edges) <= 1 and arrived:
            return None
        if len(edges) <= 2:
            return self._closest(here.heading, edges)
        if not arrived:
            others = [edge for edge in edges if self._headings[edge] != here.heading]
            if word == "forward":  # off every edge, which only a start can be
                return self._closest(here.heading, edges)
            return self._turn(word, here.heading, others)
        return self._at_junction(here, word, edges)

    def _at_junction(self, here: StreetPose, word: str, edges: Sequence[int]) -> int | None:
        ahead = sorted(
            (edge for edge in edges if self._targets[edge] != here.came),
            key=lambda edge: relative(self._headings[edge], here.heading),
        )
        if not ahead:
            return None
        half = len(ahead) // 2
        even = len(ahead) % 2 == 0
        middle = self._closest(here.heading, ahead[half - 1 : half + 1]) if even else ahead[half]
        if word == "forward":
            return middle
        if len(edges) == 3:
            return ahead[0] if word == "left" else ahead[-1]
        if self.transition == "paper" and even:
            return self._turn(word, here.heading, ahead)
        others = [edge for edge in ahead if edge != middle]
        return self._turn(word, self._headings[middle], others) if others else middle

    def _turn(self, word: str, heading: int, edges: Sequence[int]) -> int:
        """The nearest edge on that side of a heading, all the way round."""
        side = -1 if word == "left" else 1
        return min(edges, key=lambda edge: side * (self._headings[edge] - heading) % 360)

    def _closest(self, heading: float, edges: Sequence[int]) -> int:
        return min(edges, key=lambda edge: abs(relative(self._headings[edge], heading)))

    def _edges(self, panorama: int) -> range:
        return range(self._offsets[panorama], self._offsets[panorama + 1])

    def _source(self, edge: int) -> int:
        return bisect_right(self._offsets, edge) - 1

    def _state(self, stand: StreetPose) -> State:
        if stand not in self._odd_states:
            self._odd_states[stand] = 2 * self._links + len(self._odd)
            self._odd.append(stand)
        return self._odd_states[stand]


def towards(navigator: Navigator, state: State, panorama: int) -> Word:
    """The next action on the way to a neighbour.

    Forward if that leads there, else to turn around if that faces it, else the turn that faces it,
    else the turn that comes closer (the released oracle's order). Raises ``ValueError`` where the
    panorama is no neighbour.
    """
    here = navigator.stand(state).panorama
    headings = [heading for heading, target in navigator.graph.exits(here) if target == panorama]
    if not headings:
        raise ValueError(f"no link leads from panorama {here} to {panorama}")
    if navigator.stand(navigator.step(state, "forward")).panorama == panorama:
        return "forward"
    turns: tuple[Word, ...] = ("left", "right")
    if navigator.transition != "original":
        turns = ("turn_around", "left", "right")
    after = {word: navigator.stand(navigator.step(state, word)).heading for word in turns}
    for word in turns:
        if after[word] in headings:
            return word
    return min(("left", "right"), key=lambda word: abs(relative(headings[0], after[word])))


def path_actions(navigator: Navigator, state: State, path: Sequence[int]) -> list[Word]:
    """A path, its first panorama the present one, as actions that end in ``stop``.

    Raises ``ValueError`` where the path does not begin here or leaves the links.
    """
    if not path or navigator.stand(state).panorama != path[0]:
        raise ValueError("the path does not begin here")
    words: list[Word] = []
    for panorama in path[1:]:
        word = towards(navigator, state, panorama)
        while word != "forward":
            words.append(word)
            state = navigator.step(state, word)
            word = towards(navigator, state, panorama)
        words.append(word)
        state = navigator.step(state, word)
    return [*words, "stop"]


def shortest_actions(navigator: Navigator, state: State, goal: int) -> list[Word]:
    """A shortest way to a panorama as actions, no stop at the end.

    Of equally short ways the first link in the file's order is taken, save that going straight on
    comes before turning. Raises ``ValueError`` where there is no way.
    """
    hops, graph = navigator.graph.hops, navigator.graph
    path = [navigator.stand(state).panorama]
    left = float(hops(path[0], goal))
    if left == float("inf"):
        raise ValueError(f"no way leads from {graph.ids[path[0]]} to {graph.ids[goal]}")
    straight = navigator.stand(navigator.step(state, "forward")).panorama
    while path[-1] != goal:
        targets = [target for _, target in graph.exits(path[-1])]
        remaining = hops(targets, goal).tolist()
        best = min(remaining)
        nearest = [target for target, far in zip(targets, remaining, strict=True) if far == best]
        first = len(path) == 1 and straight in nearest
        path.append(straight if first else nearest[0])
    return path_actions(navigator, state, path)[:-1]
