"""Solved training episodes as turns of the conversation.

A drawn example is replayed in its own world. It contains observations, actions and, if the recipe
has a state section, the true place, heading and held objects. Thoughts are included on request if
the solver gives reasons, as the expert in homes does; none are invented.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence

from wayword.agents.answers import ARGUMENT, StrategyRecipe
from wayword.agents.prompting import Turn
from wayword.core.action import Action, ActionSpace
from wayword.core.agent import Demonstration, Demonstrations
from wayword.core.episode import Json
from wayword.core.geometry import absolute
from wayword.core.visible import single_line
from wayword.core.world import Observation
from wayword.verbalize import generic

# Statements of an agent about its own state, parsed for comparison with the true state.

PLACE = "place"
FACING = "facing"
HOLDING = "holding"
"""Parts of a recipe's section that are compared with the true state; a recipe may have some."""

_NAMES = (
    "north northeast east southeast south southwest west northwest n ne e se s sw w nw"
)
_HEADINGS = {name: n * 45.0 % 360 for n, name in enumerate(_NAMES.split())}
_DEGREES = re.compile(r"(?<![\w.])(-?\d{1,4}(?:\.\d{1,6})?)\s*(?:°|deg|$)", re.I)
_WORDS = re.compile(r"\b(north|south)?[\s\-]?(east|west)?\b", re.I)
_ABBREVIATED = re.compile(r"\b(?:[NS][EW]?|[EW])\b")
"""Points of the compass in capitals: "s" may also be a letter of a text."""
_NOTHING = {
    "",
    "nothing",
    "none",
    "no",
    "empty",
    "empty handed",
    "no object",
    "no objects",
}
_NOTES = re.compile(r"\([^()]*\)")
_ARTICLE = re.compile(r"^(?:a|an|the|i hold|holding)\s+", re.I)


def parse_state(parts: Mapping[str, str]) -> dict[str, Json]:
    """Return ``place`` (text), ``heading`` (degrees in [0, 360)) and ``holding`` (names, an empty
    list for empty hands); None for each one not stated."""
    place = parts.get(PLACE, "").strip()
    held = parts.get(HOLDING, "").strip()
    return {
        "place": place or None,
        "heading": parse_heading(parts.get(FACING, "")),
        "holding": parse_names(held) if held else None,
    }


def parse_heading(words: str) -> float | None:
    """Return ``30°``, ``30``, ``facing north-east`` or ``NE`` in degrees; None for other text."""
    if degrees := _DEGREES.search(words.strip()):
        return absolute(float(degrees.group(1)))
    direction = words.strip(" .").lower()
    if direction not in _HEADINGS:
        matches = (
            "".join(filter(None, m.groups())).lower() for m in _WORDS.finditer(words)
        )
        direction = next(filter(None, [*matches, *_ABBREVIATED.findall(words)]), "")
    return _HEADINGS.get(direction.lower())


def parse_names(words: str) -> list[str]:
    """Return names in a text: ``a mug_1 (dirty) and the knife_1`` -> ``["mug_1", "knife_1"]``."""
    pieces = re.split(r"[,;]|\band\b", _NOTES.sub(" ", words))
    names = [
        _ARTICLE.sub("", piece.strip(" .'\"`\t")).strip().lower() for piece in pieces
    ]
    return [name for name in names if name.replace("-", " ") not in _NOTHING]


# (view, result of the last action) -> message
Describe = Callable[[Observation, str], str]
WriteAnswer = Callable[[Action, Observation, ActionSpace, str], str]
"""(action, where it is taken, its thought) -> the answer that takes it."""


class Unshowable(Exception):
    """Raised if a solved episode cannot be shown as an example; the message is the reason."""


def example_turns(
    demonstration: Demonstration,
    answer: WriteAnswer,
    describe: Describe,
    opening: str,
    actor: str = "",
    thoughts: bool = False,
) -> list[Turn]:
    """Return the turns of ``actor`` (by default the first one) in a demonstration.

    The first message begins with ``opening``. With ``thoughts``, answers contain the reasons for
    their actions if the recipe asks for a thought and the demonstration has reasons. Raises
    ``Unshowable`` if it takes an action that this dataset's actor does not have, or if the actor
    only stops.
    """
    shown = actor or demonstration.episode.actors[0]
    turns: list[Turn] = []
    feedback = ""
    # Reasons are those of the first actor alone, one for each of its actions.
    reasons: Sequence[str] = ()
    if thoughts and shown == demonstration.episode.actors[0]:
        reasons = demonstration.thoughts
    game = demonstration.game()
    for actor, decision in demonstration.decisions():
        # Moves of the others are carried out too: they change what this actor sees.
        if actor != shown:
            game.carry_out(actor, decision)
            continue
        view = game.observation(shown)
        space = game.space(shown)
        # An example must not teach an action that the model is not offered.
        if decision.action not in space:
            problem = f"it takes actions that {shown} does not have"
            raise Unshowable(f"{problem}; set dataset.actions=all")
        text = describe(view, feedback)
        thought = reasons[len(turns)] if reasons else ""
        written = answer(decision.action, view, space, thought)
        if not turns:
            text = f"{opening}\n\n{text}"
        turns.append((text, written))
        feedback = generic.feedback(
            game.carry_out(shown, decision)[1], generic.verbalizer(view)
        )
    # A turn alone is the stop: it would teach this actor to leave the work to others.
    if len(demonstration.episode.actors) > 1 and len(turns) < 2:
        raise Unshowable(f"{shown} only stops in it")
    return turns


MOST_DRAWS = 12  # maximum draws for examples that are too long or cannot be shown
COMFORTABLE_LENGTH = 60_000  # characters of all examples if the context size is unknown


def draw_fitting(
    draw: Demonstrations,
    to_turns: Callable[[Demonstration], list[Turn]],
    count: int,
    seed: int,
    room: float | None,
) -> list[list[Turn]]:
    """Draw ``count`` examples, each within its share of ``room`` (characters).

    Examples that are too long or cannot be shown are drawn again. If ``room`` is None, the shortest
    of three draws are taken. Raises ``Unshowable`` if too few fit.
    """
    examples = list[list[Turn]]()
    too_long = list[list[Turn]]()
    tried_ids: set[str] = set()
    last_reason = ""
    # Without a limit, three draws are enough to choose short examples from.
    most_draws = 3
    remaining_room: float = COMFORTABLE_LENGTH
    if room is not None:
        most_draws = MOST_DRAWS
        remaining_room = room
    for attempt in range(most_draws):
        if len(examples) == count:
            return examples
        # Each attempt draws other examples, and equal settings draw the same ones.
        attempt_seed = seed
        if attempt:
            attempt_seed = zlib.crc32(f"{seed}/{attempt}".encode())
        for example in draw(count - len(examples), attempt_seed):
            if attempt and example.episode.id in tried_ids:
                continue
            tried_ids.add(example.episode.id)
            try:
                candidate = to_turns(example)
            except Unshowable as reason:
                last_reason = f" ({example.episode.id}: {reason})"
                continue
            length = count_characters(candidate)
            # Each example gets an equal share of what is left, so that all fit.
            if length > remaining_room / (count - len(examples)):
                too_long.append(candidate)
                continue
            remaining_room -= length
            examples.append(candidate)
    if room is None:
        examples += sorted(too_long, key=count_characters)[: count - len(examples)]
    if len(examples) < count:
        tried = f"{len(examples)} of {count} examples fit, {len(tried_ids)} were tried"
        raise Unshowable(tried + last_reason)
    return examples


def count_characters(shown: Sequence[Turn]) -> int:
    """Return the number of characters of an example."""
    return sum(len(message) + len(answer) for message, answer in shown)


def answer_text(
    action: Action,
    observation: Observation,
    recipe: StrategyRecipe,
    text_verbs: Sequence[str] | None,
    thought: str = "",
    labels: Mapping[str, str] | None = None,
) -> str:
    """Return the answer that takes this action, with the true values of its state sections.

    ``text_verbs`` take free text in a constrained answer; None for a free answer. ``labels`` are
    the texts of sections by key; ``thought`` fills the sections without one.
    """
    true = true_parts(observation)
    thought = single_line(thought)
    sections: dict[str, str | dict[str, str]] = {}
    for section in recipe.sections:
        if section.parts:
            sections[section.key] = {n: true[n] for n, _ in section.parts if n in true}
        elif text := (labels or {}).get(section.key, thought):
            sections[section.key] = text
    if text_verbs is not None:
        fields = {**sections, recipe.action.key: str(action)}
        # The schema requires the field of every answer once one verb takes text.
        if text_verbs:
            fields[ARGUMENT] = ""
        if action.name in text_verbs and action.arguments:
            fields[recipe.action.key] = action.name
            fields[ARGUMENT] = action.arguments[0]
        return json.dumps(fields, ensure_ascii=False)
    lines = []
    for section in recipe.sections:
        value = sections.get(section.key)
        if isinstance(value, dict):
            lines += [
                f"{section.label}:",
                *(f"  {name}: {words}" for name, words in value.items()),
            ]
        elif value:
            lines.append(f"{section.label}: {value}")
    return "\n".join([*lines, f"{recipe.action.label}: {action}"])


def true_parts(observation: Observation) -> dict[str, str]:
    """Return the true place, heading and held objects as text, as far as they are defined."""
    state, _ = generic.verbalizer(observation).self_state(observation)
    parts = {}
    if state.place:
        parts[PLACE] = state.place
    if state.heading is not None:
        parts[FACING] = generic.compass(round(state.heading, 2))
    if state.holding is not None:
        parts[HOLDING] = ", ".join(state.holding) or "nothing"
    return parts
