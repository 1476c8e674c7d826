"""Human: a person plays an actor, at the terminal or in the browser, in any world.

    wayword play household
    wayword play household --browser

The person sees the text that a strategy would get, and the legal actions; a typo costs no step.
``quit`` or the end of the input ends the run cleanly. On viewpoint graphs, the command ``map``
draws the places seen so far.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from wayword.agents.legal import Legal
from wayword.agents.pages import Prompts
from wayword.agents.person import PlayerLeft, Situation, Style, hear, person_of
from wayword.agents.strategies import briefing
from wayword.agents.strategies.briefing import instruction, task_goal
from wayword.agents.team.messages import UNDERSTOOD
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode
from wayword.core.geometry import Point, unit
from wayword.core.visible import single_line
from wayword.core.world import Feedback, Observation
from wayword.verbalize import generic
from wayword.verbalize.generic import compass
from wayword.worlds.indoor.world import IndoorObservation

# Size of the map, in characters
MAP_COLUMNS = 64
MAP_ROWS = 20
_ASPECT = 2.0  # a character is about twice as tall as it is wide
_COLUMNS_PER_METRE = 4.0  # maximum scale: short walks are not enlarged to fill the map


class MapSketch:
    """A text map of the places of a viewpoint graph seen so far, north up.

    >>> from wayword.worlds.indoor.graph import Neighbor
    >>> neighbor = Neighbor("b", heading=90.0, elevation=0.0, distance=2.0)
    >>> sketch = MapSketch()
    >>> sketch.add(IndoorObservation("scene", "a", 0.0, 0.0, (neighbor,)))
    >>> print(sketch.render({"b": 1}))
    @       1
    @ you, facing 0° (north); o visited; numbers: choices of goto; . seen
    """

    def __init__(self) -> None:
        self._places: dict[str, Point] = {}
        self.visited: list[str] = []
        self._heading = 0.0

    def add(self, observation: Observation) -> None:
        """Add a viewpoint and its neighbors; other observations have no map."""
        if not isinstance(observation, IndoorObservation):
            return
        x, y = self._places.setdefault(observation.viewpoint, (0.0, 0.0))
        self.visited.append(observation.viewpoint)
        self._heading = observation.heading
        for neighbor in observation.neighbors:
            flat = neighbor.distance * math.cos(math.radians(neighbor.elevation))
            east, north = unit(neighbor.heading)
            self._places.setdefault(
                neighbor.viewpoint,
                (x + flat * east, y + flat * north),
            )

    def render(self, exits: Mapping[str, int]) -> str:
        """Return the map as lines of text, with the numbers of the exits."""
        if not self.visited:
            return (
                "there is a map only in viewpoint graphs; "
                "your surroundings are in the text above"
            )
        xs, ys = zip(*self._places.values(), strict=True)
        height = (max(ys) - min(ys)) * MAP_COLUMNS / (MAP_ROWS * _ASPECT)
        # metres; 0.1 keeps one place from dividing by 0
        span = max(max(xs) - min(xs), height, 0.1)
        scale = min(_COLUMNS_PER_METRE, (MAP_COLUMNS - 1) / span)
        grid: dict[tuple[int, int], str] = {}
        marks = dict.fromkeys(self._places, ".") | dict.fromkeys(self.visited, "o")
        marks |= {name: str(number) for name, number in exits.items() if name in marks}
        # The player's own place, whatever else it is.
        marks[self.visited[-1]] = "@"
        # The most important marks come first and keep their columns; numbers are second.
        ranks = {"@": 0, "o": 2, ".": 3}
        for name in sorted(marks, key=lambda name: ranks.get(marks[name], 1)):
            x, y = self._places[name]
            mark = marks[name]
            column = round((x - min(xs)) * scale)
            row = round((max(ys) - y) * scale / _ASPECT)
            # Two numbers side by side would read as a third: the later one moves to the right.
            if mark.isdecimal():
                while any(
                    (row, near) in grid
                    for near in range(column - 1, column + len(mark) + 1)
                ):
                    column += 1
            for position, letter in enumerate(mark, column):
                grid.setdefault((row, position), letter)
        lines = []
        width = max(column for _, column in grid) + 1
        for row in range(max(row for row, _ in grid) + 1):
            cells = [grid.get((row, column), " ") for column in range(width)]
            lines.append("".join(cells).rstrip())
        facing = compass(self._heading)
        legend = "o visited; numbers: choices of goto; . seen"
        return "\n".join([*lines, f"@ you, facing {facing}; {legend}"])


MOST_CHOICES = 12  # maximum choices listed in a message

_TYPED_ACTION = re.compile(r"([^\s\[]+)\s*\[?\s*(.*?)\s*\]?", re.DOTALL)


def parse_input(words: str, space: ActionSpace) -> Action | str:
    """Return the action that the input names, or an error message. Input is a number, an action as
    models write it, or abbreviations, which a person can correct at no cost.

    >>> from wayword.core.action import STOP, Action, ActionSpace
    >>> menu = ActionSpace((Action("turn_left"), Action("goto", ("fridge_1",)), STOP), ("chat",))
    >>> [str(parse_input(words, menu)) for words in ("1", "go fr", "tl", "chat Where are you?")]
    ['turn_left', 'goto[fridge_1]', 'turn_left', 'chat[Where are you?]']
    >>> parse_input("go mi", menu)
    'goto has no choice mi here; choices: fridge_1'
    """
    words = single_line(words)
    if words.isdecimal():
        number = int(words[:9])  # Python converts no text of thousands of digits
        last = len(space.listed)
        if 1 <= number <= last:
            return space.listed[number - 1]
        return f"number must be between 1 and {last}, got {number}"
    parsed = Legal(space).read(words)
    listed = (*map(str, space.listed), *space.open_verbs)
    if isinstance(parsed, Action) and (str(parsed) in listed or "[" in words):
        return parsed
    match = _TYPED_ACTION.fullmatch(words)
    if match is None:
        return "type a number or an action; ? lists them, quit leaves"
    typed_verb, typed_arguments = match.groups()
    listed_names = [action.name for action in space.listed]
    names = list(dict.fromkeys([*listed_names, *space.open_verbs]))
    # The verb with that name, else verbs with that prefix, else with these initials.
    word = typed_verb.lower().replace("-", "_")
    if word in names:
        verbs = [word]
    else:
        verbs = [name for name in names if name.startswith(word)]
    if not verbs:
        verbs = [name for name in names if _initials(name) == word]
    # An argument may fit only one of the verbs that the abbreviation fits.
    if len(verbs) > 1 and typed_arguments:
        completions = [_complete_action(verb, typed_arguments, space) for verb in verbs]
        actions = [each for each in completions if isinstance(each, Action)]
        if len(actions) == 1:
            return actions[0]
    if not verbs:
        return f"no action is called {typed_verb}; actions: {_join_names(names)}"
    if len(verbs) > 1:
        return f"which one: {_join_names(verbs)}?"
    if typed_arguments and verbs[0] in space.open_verbs:
        return Action(verbs[0], (typed_arguments,))
    return _complete_action(verbs[0], typed_arguments, space)


def _initials(verb: str) -> str:
    """Return the first letters of a verb's parts: ``tl`` for ``turn_left``."""
    return "".join(part[:1] for part in verb.split("_"))


def list_actions(
    space: ActionSpace,
    most_choices: int | None = None,
    verb: str = "",
) -> list[str]:
    """Return the numbered actions, one line per verb with at most ``most_choices``, or those of one
    ``verb``. Verbs without arguments share a line; those with free text come last."""
    bare_verbs: list[str] = []
    groups: dict[str, list[str]] = {}
    # Numbers are those of the full list even for one verb, as players type them.
    for number, action in enumerate(space.listed, 1):
        if verb and not action.name.startswith(verb):
            continue
        if action.arguments:
            groups.setdefault(action.name, []).append(
                f"{number} {', '.join(action.arguments)}"
            )
        else:
            bare_verbs.append(f"{number} {action.name}")
    lines = []
    if bare_verbs:
        lines.append("   ".join(bare_verbs))
    for name, choices in groups.items():
        line = f"{name + ':':<11} {'   '.join(choices[:most_choices])}"
        hidden_count = len(choices) - (most_choices or len(choices))
        if hidden_count > 0:
            line += f"   … {hidden_count} more: ? {name}"
        lines.append(line)
    text_verbs = [
        f"{name} …" for name in space.open_verbs if not verb or name.startswith(verb)
    ]
    if text_verbs:
        lines.append(f"with words: {', '.join(text_verbs)}")
    return lines


def _complete_action(
    verb: str,
    typed_arguments: str,
    space: ActionSpace,
) -> Action | str:
    """Return the action that a person typed, or the reason why it is none."""
    options = [action for action in space.listed if action.name == verb]
    if verb in space.open_verbs and not options:
        return f"{verb} needs a text: {verb} YOUR WORDS"
    if typed_arguments and not any(action.arguments for action in options):
        return f"{verb} takes no argument"
    if typed_arguments:
        typed_words = re.split(r"[,\s]+", typed_arguments.lower())
    else:
        typed_words = []

    def is_begun_by(words: Sequence[str]) -> bool:  # living room -> living_room
        if len(words) == 1 and len(typed_words) > 1:
            parts = ["_".join(typed_words)]
        else:
            parts = typed_words
        pairs = zip(words, parts, strict=False)
        return len(parts) <= len(words) and all(
            a.lower().startswith(t) for a, t in pairs
        )

    matches = [action for action in options if is_begun_by(action.arguments)]
    if len(matches) == 1:
        return matches[0]
    choices = _join_names(
        [", ".join(action.arguments) for action in matches or options]
    )
    if not typed_arguments or matches:
        return f"{verb} which one: {choices}?"
    return f"{verb} has no choice {typed_arguments} here; choices: {choices}"


def _join_names(names: Sequence[str]) -> str:
    """Return names with commas; of a long list, the first ones and a count."""
    if len(names) > MOST_CHOICES:
        remainder = f" and {len(names) - MOST_CHOICES} more"
    else:
        remainder = ""
    return ", ".join(names[:MOST_CHOICES]) + remainder


QUIT_WORDS = ("quit", "exit")
HELP_ALIASES = {"help": "?", "task": "??", "instruction": "??", "again": "??"}
"""Words that newcomers try -> commands; no world has actions with these names."""
NO_UNDO = (
    "a step cannot be undone; after the game, continue from any step with "
    "wayword play --continue RUN:EPISODE:STEP"
)


@dataclass(frozen=True)
class HumanSettings:
    """``listed``: maximum choices per verb shown each turn; ``?`` always shows all."""

    listed: Annotated[int, Ge(1)] = 6


def partner_text(episode: Episode, actor: str) -> str:
    """Return the sentences that scripted partners understand, for a person who plays with one."""
    roles = episode.extra.get("roles", {})
    others = (str(roles.get(name, "")) for name in episode.actors if name != actor)
    sentences = dict.fromkeys(
        UNDERSTOOD.get(role, UNDERSTOOD["partner"]) for role in others
    )
    if not sentences:
        return ""
    return f"A scripted partner understands: {' '.join(sentences)}"


class Human(Agent):
    """A person at the terminal or in the browser, who enters numbers, actions or abbreviations.

    ``toolkit.shared["person"]`` may be another :class:`~wayword.agents.person.Person`, such as a
    script in tests. Several actors may be people; at the terminal they share the keyboard.
    """

    Settings = HumanSettings
    needs_person = True

    def __init__(self, settings: HumanSettings, toolkit: Toolkit) -> None:
        self._settings = settings
        self._toolkit = toolkit
        self._person = person_of(toolkit.shared)
        self._episode: Episode
        self._verbalizer = generic.PLAIN
        self._turn = 0
        self._sketch = MapSketch()
        self._prompts = Prompts(briefing.__file__, page="strategy.jinja")

    async def begin(self, episode: Episode) -> None:
        """Keep the episode: its instruction is shown with the first observation."""
        self._episode = episode

    async def act(
        self,
        observation: Observation,
        space: ActionSpace,
    ) -> Decision | Rejection:
        """Show the situation and ask until the person types an action. Raises
        ``PlayerLeft``."""
        situation = self._show(observation, space)
        show = self._person.write
        while True:
            words = await hear(self._person, "> ")
            words = HELP_ALIASES.get(words.lower(), words)
            if words.lower() in QUIT_WORDS:
                raise PlayerLeft("the player left")
            if words == "??":  # the task again
                show(situation.instruction, "title")
            elif words.startswith("?"):  # all actions, or those of one verb
                verb = words[1:].strip()
                listed = "\n".join(list_actions(situation.space, verb=verb))
                show(listed or f"no action begins with {verb}")
            elif words.lower() == "map":
                # Exits have their numbers in the list of actions.
                exits = {
                    action.arguments[0]: number
                    for number, action in enumerate(space.listed, 1)
                    if action.name == "goto"
                }
                show(self._sketch.render(exits))
            elif words.lower() == "undo":
                show(NO_UNDO)
            else:
                result = parse_input(words, space)
                if isinstance(result, Action):
                    return Decision(result)
                show(result, "warning")

    async def recall(
        self,
        observation: Observation,
        space: ActionSpace,
        decision: Decision | Rejection,
    ) -> None:
        """Show a step that was recorded earlier."""
        self._show(observation, space)
        if isinstance(decision, Rejection):
            text = decision.reason
        else:
            text = str(decision.action)
        self._person.write(f"recorded: {text}", "dim")

    def _show(self, observation: Observation, space: ActionSpace) -> Situation:
        """Show what is new since the last turn; return the full situation."""
        self._verbalizer = generic.verbalizer(observation)
        self._sketch.add(observation)
        episode = self._episode
        actor = str(getattr(observation, "actor", episode.actors[0]))
        if self._turn == 0:
            self._person = self._person.seat(actor)
        self._turn += 1
        # What counts as done, as in an agent's prompt. Families without words say nothing.
        goal = task_goal(episode, actor)
        family = self._verbalizer.name
        has_goal = family != generic.PLAIN.name and f"goal_{family}" in self._prompts
        if has_goal and not goal:
            goal = self._prompts[f"goal_{family}"]
        situation = Situation(
            self._turn,
            actor,
            tuple(name for name in episode.actors if name != actor),
            episode,
            instruction(episode, actor),
            "\n".join(filter(None, (goal, partner_text(episode, actor)))),
            self._verbalizer.self_state(observation)[1],
            self._verbalizer.around(observation, self._toolkit.perceiver),
            space,
            observation,
        )
        # A page shows the situation in its own form; a terminal needs the lines below.
        if self._person.show(situation):
            return situation
        show = self._person.write
        others = ", ".join(situation.others)
        if self._turn == 1:
            title = f"\nEpisode {episode.id}"
            if others:
                title += f", you are {actor}, with {others}"
            show(title, "dim")
            show(situation.instruction, "title")
            if situation.rules:
                show(situation.rules)
            map_hint = "map draws a map; " if self._sketch.visited else ""
            help_line = (
                f"? lists all actions, ?? repeats the task; {map_hint}quit leaves"
            )
            show(f"{help_line}; words may be abbreviated", "dim")
        title = f"\nTurn {self._turn}"
        if others:
            title += f" of {actor}"
        show(title, "dim")
        show("\n".join(line for line in (situation.state, situation.around) if line))
        show("\n".join(list_actions(space, self._settings.listed)), "dim")
        return situation

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Show the result of an action, in the color of its success."""
        words = generic.feedback(feedback, self._verbalizer)
        if not words:
            return
        style: Style = "warning"
        if isinstance(decision, Decision) and decision.action == STOP:
            style = ""
        elif feedback.ok:
            style = "good"
        self._person.write(words, style)


agent = Human
