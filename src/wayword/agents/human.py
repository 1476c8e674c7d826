"""Human: a person at the terminal or in the browser plays an actor, in any world.

    wayword play household
    wayword play household --browser

The person is told what a strategy would be told, and what is legal now; a slip of the keyboard
costs no step. ``quit`` or the end of the input ends the run in order. On graphs, a map in
characters shows what was seen.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from wayword.agents.legal import Legal
from wayword.agents.person import Left, Situation, hear, person_of
from wayword.agents.strategies.strategy import instruction, task_rules
from wayword.agents.team.messages import UNDERSTOOD
from wayword.core.action import Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.geometry import Point, unit
from wayword.core.world import Feedback, Observation
from wayword.verbalize import generic
from wayword.verbalize.generic import compass
from wayword.worlds.indoor.world import IndoorObservation

WIDE, TALL = 64, 20
_ASPECT = 2.0
"""A character is about twice as tall as it is wide."""
_LONGEST = 4.0
"""Columns a metre, at most: a short walk is not blown up."""


class Sketch:
    """A map in characters of what was seen of a graph, step by step.

    >>> from wayword.worlds.indoor.graph import Neighbor
    >>> way = Neighbor("b", heading=90.0, elevation=0.0, distance=2.0)
    >>> sketch = Sketch()
    >>> sketch.look(IndoorObservation("scene", "a", 0.0, 0.0, (way,)))
    >>> print(sketch.drawn({"b": 1}))
    @       1
    @ you, facing 0° (north); o where you were; numbers: the ways of goto; . seen before

    Places are reckoned from the headings and lengths of the ways, north up.
    """

    def __init__(self) -> None:
        self._places: dict[str, Point] = {}
        self._visited: list[str] = []
        self._heading = 0.0

    def look(self, observation: Observation) -> None:
        if not isinstance(observation, IndoorObservation):
            return
        x, y = self._places.setdefault(observation.viewpoint, (0.0, 0.0))
        self._visited.append(observation.viewpoint)
        self._heading = observation.heading
        for way in observation.neighbors:
            flat = way.distance * math.cos(math.radians(way.elevation))
            east, north = unit(way.heading)
            self._places.setdefault(way.viewpoint, (x + flat * east, y + flat * north))

    @property
    def known(self) -> bool:
        return bool(self._visited)

    def drawn(self, ways: Mapping[str, int]) -> str:
        """The map, with the numbers of ``ways``; or a line that says why there is none."""
        if not self._visited:
            return "no map here: this world is no graph of places; what you see is in the text"
        xs, ys = zip(*self._places.values(), strict=True)
        span = max(max(xs) - min(xs), (max(ys) - min(ys)) * WIDE / (TALL * _ASPECT), 0.1)
        scale = min(_LONGEST, (WIDE - 1) / span)
        grid: dict[tuple[int, int], str] = {}
        marks = dict.fromkeys(self._places, ".") | dict.fromkeys(self._visited, "o")
        marks |= {name: str(number) for name, number in ways.items() if name in marks}
        marks[self._visited[-1]] = "@"
        for name, (x, y) in self._places.items():
            column, row = round((x - min(xs)) * scale), round((max(ys) - y) * scale / _ASPECT)
            for at, letter in enumerate(marks[name], column):  # what says more stays
                old = grid.get((row, at), ".")
                if old == "." or (old == "o" and letter not in ".o") or letter == "@":
                    grid[row, at] = letter
        last = max(row for row, _ in grid)
        lines = [
            "".join(grid.get((row, column), " ") for column in range(WIDE + 4)).rstrip()
            for row in range(last + 1)
        ]
        facing = compass(self._heading)
        told = f"@ you, facing {facing}; o where you were; numbers: the ways of goto; . seen before"
        return "\n".join([*lines, told])


# What a person types -> an action: a number, the action as a model may write it, or the beginnings
# of its words, which a model may not: a person is asked again at once.

NAMED = 12
"""Choices that an answer names at most."""

_TYPED = re.compile(r"([^\s\[]+)\s*\[?\s*(.*?)\s*\]?", re.DOTALL)


def read(words: str, space: ActionSpace) -> Action | str:
    """The action that the input names, or one line saying why it names none.

    >>> from wayword.core.action import STOP, Action, ActionSpace
    >>> menu = ActionSpace((Action("turn_left"), Action("goto", ("fridge_1",)), STOP), ("chat",))
    >>> [str(read(words, menu)) for words in ("1", "go fr", "tl", "chat Where are you?")]
    ['turn_left', 'goto[fridge_1]', 'turn_left', 'chat[Where are you?]']
    >>> read("go mi", menu)
    'no goto of mi here; there are: fridge_1'
    """
    words = " ".join(words.split())
    if words.isdecimal():
        number, last = int(words), len(space.listed)
        if 1 <= number <= last:
            return space.listed[number - 1]
        return f"there is no number {number}; they go from 1 to {last}"
    written = Legal(space).read(words)
    listed = (*map(str, space.listed), *space.open_verbs)
    if isinstance(written, Action) and (str(written) in listed or "[" in words):
        return written
    match = _TYPED.fullmatch(words)
    if match is None:
        return "type a number or an action; ? lists them, quit leaves"
    typed, rest = match.groups()
    known = list(dict.fromkeys((*(a.name for a in space.listed), *space.open_verbs)))
    # The verb of that name, else those that begin so, else those with these initials.
    word = typed.lower().replace("-", "_")
    verbs = [word] if word in known else [name for name in known if name.startswith(word)]
    if not verbs:
        verbs = [n for n in known if "".join(part[:1] for part in n.split("_")) == word]
    if len(verbs) > 1 and rest:
        found_in = [_closed(verb, rest, space) for verb in verbs]
        actions = [found for found in found_in if isinstance(found, Action)]
        if len(actions) == 1:
            return actions[0]
    if len(verbs) != 1:
        found = f"which one: {_listed(verbs)}?" if verbs else f"there are: {_listed(known)}"
        return found if verbs else f"no action is called {typed}; {found}"
    if rest and verbs[0] in space.open_verbs:
        return Action(verbs[0], (rest,))
    return _closed(verbs[0], rest, space)


def listing(space: ActionSpace, most: int | None = None, verb: str = "") -> list[str]:
    """The numbered actions, a line a verb; at most so many of each, of one verb where it is named.

    Verbs without arguments share a line; those that take any words come last.
    """
    bare: list[str] = []
    groups: dict[str, list[str]] = {}
    for number, action in enumerate(space.listed, 1):
        if verb and not action.name.startswith(verb):
            continue
        if action.arguments:
            groups.setdefault(action.name, []).append(f"{number} {', '.join(action.arguments)}")
        else:
            bare.append(f"{number} {action.name}")
    lines = ["   ".join(bare)] if bare else []
    for name, choices in groups.items():
        more = len(choices) - (most or len(choices))
        rest = f"   … {more} more: ? {name}" if more > 0 else ""
        lines.append(f"{name + ':':<11} {'   '.join(choices[:most])}{rest}")
    spoken = [f"{name} …" for name in space.open_verbs if not verb or name.startswith(verb)]
    return [*lines, f"with words: {', '.join(spoken)}"] if spoken else lines


def _closed(verb: str, rest: str, space: ActionSpace) -> Action | str:
    there = [action for action in space.listed if action.name == verb]
    if verb in space.open_verbs and not there:
        return f"{verb} needs words: {verb} what you say"
    if rest and not any(action.arguments for action in there):
        return f"{verb} stands alone"
    typed = re.split(r"[,\s]+", rest) if rest else []
    fits = [action for action in there if _begins(action.arguments, typed)]
    if len(fits) == 1:
        return fits[0]
    choices = [", ".join(action.arguments) for action in fits or there]
    if not rest or fits:
        return f"{verb} which one: {_listed(choices)}?"
    return f"no {verb} of {rest} here; there are: {_listed(choices)}"


def _begins(arguments: Sequence[str], typed: Sequence[str]) -> bool:
    if len(arguments) == 1 and len(typed) > 1:
        typed = ["_".join(typed)]  # living room -> living_room
    pairs = zip(arguments, typed, strict=False)
    return len(typed) <= len(arguments) and all(a.lower().startswith(t.lower()) for a, t in pairs)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


LEAVING = ("quit", "exit")
HELP = {"help": "?", "task": "??", "instruction": "??", "again": "??"}
"""Words that newcomers try -> what they mean; no world has actions of these names."""
NO_UNDO = (
    "a step that was taken stands: it is recorded, and worlds do not go back. Once the game is "
    "over, any step can be tried anew: wayword play --continue RUN:EPISODE:STEP"
)


@dataclass(frozen=True, slots=True)
class HumanSettings:
    """``listed``: choices of a verb that are shown each turn; ``?`` always shows all."""

    listed: int = 6

    def __post_init__(self) -> None:
        if self.listed < 1:
            raise UsageError("human: listed is at least 1")


def understood(episode: Episode, actor: str) -> str:
    """The sentences that scripted partners understand, for a person who talks to one; empty where
    nobody else acts."""
    others = [name for name in episode.actors if name != actor]
    roles = episode.extra.get("roles", {})
    partner = UNDERSTOOD["partner"]
    said = dict.fromkeys(UNDERSTOOD.get(str(roles.get(name, "")), partner) for name in others)
    return f"A scripted partner understands: {' '.join(said)}" if said else ""


class Human(Agent):
    """A person at the terminal or in the browser; numbers, whole actions and abbreviations will do.

    ``toolkit.shared["person"]`` may hold another
    :class:`~wayword.agents.person.Person`: a script, in tests. Several
    actors may be people; they share the keyboard.
    """

    Settings: ClassVar[type[HumanSettings]] = HumanSettings
    needs_person: ClassVar[bool] = True

    def __init__(self, settings: HumanSettings, toolkit: Toolkit) -> None:
        self._settings, self._toolkit = settings, toolkit
        self._person = person_of(toolkit.shared)
        self._episode: Episode | None = None
        self._verbalizer = generic.PLAIN
        self._turn, self._sketch = 0, Sketch()

    async def begin(self, episode: Episode) -> None:
        self._episode, self._turn, self._sketch = episode, 0, Sketch()

    async def act(self, observation: Observation, space: ActionSpace) -> Decision | Rejection:
        now = self._show(observation, space)
        while True:
            words = await hear(self._person, "> ")
            words = HELP.get(words.lower(), words)
            if words.lower() in LEAVING:
                raise Left("the player left")
            if words.startswith("?"):  # all actions, those of one verb, or the task again
                verb = words[1:].strip()
                lines = listing(now.space, verb=verb)
                if verb == "?":
                    self._person.tell(now.instruction, "title")
                else:
                    self._person.tell("\n".join(lines) or f"nothing with {verb}")
                continue
            if words.lower() == "map":  # ways have their numbers in the list of actions
                ways = {
                    a.arguments[0]: n for n, a in enumerate(space.listed, 1) if a.name == "goto"
                }
                self._person.tell(self._sketch.drawn(ways))
                continue
            if words.lower() == "undo":
                self._person.tell(NO_UNDO)
                continue
            found = read(words, space)
            if isinstance(found, Action):
                return Decision(found)
            self._person.tell(found, "warning")

    async def recall(
        self, observation: Observation, space: ActionSpace, decision: Decision | Rejection
    ) -> None:
        self._show(observation, space)
        said = decision.reason if isinstance(decision, Rejection) else str(decision.action)
        self._person.tell(f"before you: {said}", "dim")

    def _show(self, observation: Observation, space: ActionSpace) -> Situation:
        """Tell the person what there is now. At the first turn the person takes the seat."""
        self._verbalizer = generic.verbalizer(observation)
        self._sketch.look(observation)
        episode = self._episode
        if episode is None:
            raise UsageError("an agent must begin an episode before it acts")
        actor = str(getattr(observation, "actor", episode.actors[0]))
        if self._turn == 0:
            self._person = self._person.seat(actor)
        self._turn += 1
        now = Situation(
            self._turn,
            actor,
            tuple(name for name in episode.actors if name != actor),
            episode,
            instruction(episode, actor),
            "\n".join(filter(None, (task_rules(episode, actor), understood(episode, actor)))),
            self._verbalizer.own(observation)[1],
            self._verbalizer.around(observation, self._toolkit.perceiver),
            space,
            observation,
        )
        if not self._person.show(now):
            self._tell(now)
        return now

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        words = generic.feedback(feedback, self._verbalizer)
        if words:
            self._person.tell(words, "good" if feedback.ok else "warning")

    def _tell(self, now: Situation) -> None:
        """A turn as lines; before the first, the task and who is who."""
        tell = self._person.tell
        if now.turn == 1:
            who = f", you are {now.actor}, with {', '.join(now.others)}" if now.others else ""
            tell(f"\nEpisode {now.episode.id}{who}", "dim")
            tell(now.instruction, "title")
            if now.rules:
                tell(now.rules)
            drawn = "map draws what you saw; " if self._sketch.known else ""
            told = f"? lists all actions, ?? the task; {drawn}quit leaves"
            tell(f"{told}; beginnings of words will do", "dim")
        whose = f" of {now.actor}" if now.others else ""
        tell(f"\nTurn {now.turn}{whose}", "dim")
        tell("\n".join(line for line in (now.own, now.around) if line))
        tell("\n".join(listing(now.space, self._settings.listed)), "dim")


agent = Human
