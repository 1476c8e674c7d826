"""Board of a game in the browser: task, map, choices and history of a seat, and the end.

A page is a frame; the server rerenders its board on every event. In every family, the map shows
only what the actor has seen, so it does not reveal the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from wayword.agents.person import Situation
from wayword.core.action import STOP, Action
from wayword.core.visible import spaced
from wayword.datasets.procedural.homes.chores import EVERYDAY_NAMES
from wayword.metrics import accounting
from wayword.metrics.recorded import as_mapping
from wayword.runs.config import metrics_of
from wayword.runs.play import PlayedGame
from wayword.runs.record import RunFolder
from wayword.viewer import figures
from wayword.viewer.games import PlayEvent, PlayTable
from wayword.viewer.markup import Html, Letters, render, template_function
from wayword.viewer.observed import arrow_keys, arrows, idle, observed_map
from wayword.worlds.household.world import HouseholdActions

SHOWN = 4  # metrics of the family in the table of scores, besides the steps


class GameEnd(NamedTuple):
    """What the board of a finished game shows beyond the scores.

    ``link`` is the address of the recorded episode, ``map`` its walk with the gold
    path, ``others`` the results of other runs on it (name, True if solved), ``solved``
    the player's own (None without a metric that means success), ``mistake`` the
    diagnosis in words, ``left`` the distance left to the goal with its unit,
    ``conditions`` the goal conditions (words, parts that hold, number of parts). Empty
    until the game has ended.
    """

    link: str = ""
    map: Html | None = None
    others: Sequence[tuple[str, bool]] = ()
    solved: bool | None = None
    mistake: str = ""
    left: str = ""
    conditions: Sequence[tuple[str, int, int]] = ()


def board(
    game: PlayTable,
    actor: str,
    ending: GameEnd,
    tally: Sequence[bool] = (),
) -> Html:
    """Render the board of a seat, or of an observer if ``actor`` is empty.

    ``tally`` has True for each solved episode of the series. Holds the table's lock
    while it renders, so that a board never mixes two states.
    """
    with game.changed:
        seat = None
        now = None
        drawn = None
        letters = Letters()
        choices: list[ChoiceGroup] = []
        stops: list[MenuChoice] = []
        feedback: list[PlayEvent] = []
        around: list[str] = []
        said: list[str] = []
        if actor:
            seat = game.seat(actor)
            now = seat.situation
            letters = seat.letters
            # Everything since the last input, which stays in view.
            for event in reversed(seat.lines):
                if event.who:
                    break
                feedback.append(event)
        if seat and now:
            # First the map: it assigns the letters that the buttons show.
            drawn = observed_map(seat.looks, letters, now)
            heard = tuple(f"{other} says" for other in now.others)
            for line in now.around.splitlines():
                lines = said if line.startswith(heard) else around
                lines.append(line)
            if not game.ended:
                choices, stops = _choices(now, letters)
        scores: list[tuple[str, str, str]] = []
        moves: list[int] = []
        if game.game:
            scores = score_rows(game.game)
            moves = _moves(game.game)
        everyday = {
            spaced(kind): everyday_name.lower()
            for kind, everyday_name in EVERYDAY_NAMES.items()
        }
        return render(
            "board.html",
            game=game,
            actor=actor,
            ending=ending,
            seat=seat,
            now=now,
            feedback=feedback[3::-1],  # the first four, the oldest on top
            scores=scores,
            drawn=drawn,
            # The letter of a place is enough to go there.
            around=re.sub(r"\bgoto\[([^\]]+)\]", r"\1", "\n".join(around)),
            said=said,
            choices=choices,
            stops=stops,
            letters=letters,
            tally=tally,
            moves=moves,
            everyday=everyday,
            idle=idle(as_mapping(now.observation)) if now else (),
            on_street=now is not None and "angles" in as_mapping(now.observation),
        )


_GROUPS = {
    "within reach": "pick_up put drop open close slice toggle_on toggle_off",
    "go to": "go goto",
    "look around in": "go_explore",
    "walk up and": "go_check go_grab go_open go_put heat cool clean",
}
"""Groups of buttons, in this order, and their verbs; other verbs have a group each, after them."""
_GROUP_OF = {verb: group for group, verbs in _GROUPS.items() for verb in verbs.split()}
_WORDS = {
    **dict.fromkeys(("go", "goto", "go_explore"), ""),
    "go_check": "look in",
    "go_grab": "take",
    "go_open": "open",
    "go_put": "put it at",
    "toggle_on": "switch on",
    "toggle_off": "switch off",
}
"""Words of verbs on their buttons, where they are not the verb: none if the group says it."""
_LETTER_KEYS = {
    "pan_left": "a",
    "pan_right": "d",
    "pick_up": "p",
    "drop": "d",
    "toggle": "o",
    "wait": "w",
    "stop": "s",
}
"""Keys of actions without arguments that no arrow stands for: the same in every turn."""


def _choices(
    now: Situation, letters: Letters
) -> tuple[list[ChoiceGroup], list[MenuChoice]]:
    """Return the listed actions by meaning, first the motions, and apart from them ``stop``.

    Buttons show letters for places and a relative direction where the observation has
    one. Empty groups are left out.
    """
    groups: dict[str, list[MenuChoice]] = {"": []}
    groups |= {group: [] for group in _GROUPS}
    stop: list[MenuChoice] = []
    directions = arrows(now.observation)
    keys = {action: key for key, action in arrow_keys(now).items()}
    # A body that pans turns by these actions, others step aside.
    pan = "step"
    if isinstance(now.space, HouseholdActions) and now.space.body.pan_degrees:
        pan = f"{now.space.body.pan_degrees:g}°"
    motions = {"toggle": "open / close", "move_ahead": "ahead"}
    motions |= {f"pan_{side}": f"{pan} {side}" for side in ("left", "right")}
    if "walls" in as_mapping(now.observation):
        motions["stop"] = "give up"  # the game ends by itself when the task is done
    for number, action in enumerate(now.space.listed, 1):
        key = keys.get(str(action), "")
        if not action.arguments:
            key = key or _LETTER_KEYS.get(action.name, "")
            words = motions.get(action.name, spaced(action.name))
            group = stop if action == STOP else groups[""]
            group.append(MenuChoice(number, action, words, "", key))
            continue
        heading, verb = _named(action.name)
        words = " → ".join(map(spaced, map(letters.of, action.arguments)))
        if action.name == "rotate":
            heading = ""
            side = "left" if words.startswith("-") else "right"
            words = f"turn {side} {words.strip('-')}°"
        direction = directions.get(action.arguments[-1], "")
        choice = MenuChoice(number, action, f"{verb} {words}".strip(), direction, key)
        groups.setdefault(heading, []).append(choice)
    # A question is answered; to stop without a word would lose it.
    if answers_of(now.instruction):
        stop = []
    return [(name, listed) for name, listed in groups.items() if listed], stop


def _named(verb: str) -> tuple[str, str]:
    """Return a verb's group, and its words on a button, empty where the group says them."""
    if verb not in _GROUP_OF:
        return spaced(verb), ""
    return _GROUP_OF[verb], _WORDS.get(verb, spaced(verb))


@template_function
def in_words(text: str) -> str:
    """Return a line of a log, where it is an action, in the words of its button.

    >>> in_words("go_explore[living room]"), in_words("You see a cup.")
    ('look around in living room', 'You see a cup.')
    """
    match = re.fullmatch(r"(\w+)\[(.*)\]", text, re.DOTALL)
    if match is None:
        return "open / close" if text == "toggle" else text
    verb, arguments = match.groups()
    heading, word = _named(verb)
    return f"{word or heading} {arguments.replace(', ', ' → ')}"


@template_function
def readable(text: str, letters: Letters) -> Html:
    """Return a text with letters for ids, spaces in names and whole degrees.

    Degrees are reduced to [0, 360). The result is escaped HTML.
    """

    def whole_degrees(match: re.Match[str]) -> str:
        degrees = float(match[0].removesuffix("°"))
        return f"{round(degrees) % 360}°"

    def spaced_name(match: re.Match[str]) -> str:
        name = match[0]
        if name in letters.by_place:
            return name
        return spaced(name)

    text = re.sub(r"\d+\.\d+°", whole_degrees, text)
    return letters.put(re.sub(r"[\w-]+", spaced_name, text))


@template_function
def moves_of(lines: Iterable[PlayEvent]) -> list[list[PlayEvent]]:
    """Group the lines of a log into moves: a line with an actor begins one, the texts
    that follow are its results.
    """
    moves: list[list[PlayEvent]] = []
    for event in lines:
        begins_move = event.who != "" or not moves
        if begins_move:
            moves.append([])
        moves[-1].append(event)
    return moves


@template_function
def answers_of(instruction: str) -> Sequence[str]:
    """Return the answers that a question lists or is likely to have; empty for other tasks."""
    if instruction.endswith("Answer yes or no."):
        return ("yes", "no")
    if instruction.endswith("Answer with a number."):
        return ("0", "1", "2", "3")
    return ()


class MenuChoice(NamedTuple):
    """A listed action as a button.

    ``number`` is that in the menu, from 1, and ``words`` are those on the button. ``key``
    presses it: an arrow, ``s`` for stop, or none; the page numbers the buttons in view.
    """

    number: int
    action: Action
    words: str
    direction: str
    key: str


ChoiceGroup = tuple[str, list[MenuChoice]]
"""A heading, empty for motions, and the choices below it."""


def score_rows(game: PlayedGame) -> list[tuple[str, str, str]]:
    """Return the table of scores: name, player, expert; the first row has the headings.

    The first ``SHOWN`` metrics of the family, then the one that counts moves. The
    expert's column is empty where no expert has played.
    """
    yours = game.scores or {}
    best = game.best or {}
    family = metrics_of(RunFolder.read(game.result.path).config)
    shown = [metric for metric in family if metric.key in yours][:SHOWN]
    # Players compare the number of moves, even if SHOWN leaves it out.
    unit = _unit(game)
    for metric in (*family, *accounting.METRICS):
        if metric.key == unit and unit in yours and metric not in shown:
            shown.append(metric)
    rows = [("", "you", "expert")]
    for metric in shown:
        ours = figures.value(metric, yours[metric.key])
        theirs = ""
        if metric.key in best:
            theirs = figures.value(metric, best[metric.key])
        rows.append((metric.label, ours, theirs))
    return rows


def _unit(game: PlayedGame) -> str:
    """Return the key of the metric that counts moves of player and expert alike.

    A person's turn may take many low-level actions, an expert's takes one, so steps
    compare only where low-level actions are not counted.
    """
    yours = game.scores or {}
    best = game.best or yours
    if "low_level" in yours and "low_level" in best:
        return "low_level"
    return "steps"


def _moves(game: PlayedGame) -> list[int]:
    """Return the numbers of moves of the player and the expert; 0 if unknown."""
    unit = _unit(game)
    scores = (game.scores or {}, game.best or {})
    return [int(each.get(unit, 0)) for each in scores]


# The map of what an actor has seen, drawn from observations alone: neighbors, exits of a
# street, objects with a bearing and a distance, squares ahead and to the right, free floor in a
# depth image. Where poses have no coordinates the walk is reckoned from headings and lengths, as a
# walker would.
