"""Solved training episodes as turns of the conversation, and examples from a file of one's own.

A drawn example is replayed in its own world and shows what a replay can know: observations, actions
and, where the recipe asks for a state, the true place, heading and holdings. Thoughts are shown
on request and where the solver says why it acts, as the expert in homes does; none are invented.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from wayword.agents.answers import ARGUMENT, StrategyRecipe
from wayword.agents.prompting import Turn
from wayword.core.action import Action
from wayword.core.agent import Demonstration, Demonstrations
from wayword.core.episode import Episode, Json
from wayword.core.errors import UsageError
from wayword.core.geometry import absolute
from wayword.core.world import Observation
from wayword.verbalize import generic

# What an agent says about itself, as values that can be compared with the truth.

PLACE, FACING, HOLDING = "place", "facing", "holding"
"""The parts of a section that are compared with the truth; a recipe may have all or some."""

_NAMES = "north northeast east southeast south southwest west northwest n ne e se s sw w nw"
_HEADINGS = {name: n * 45.0 % 360 for n, name in enumerate(_NAMES.split())}
_DEGREES = re.compile(r"(?<![\w.])(-?\d{1,4}(?:\.\d{1,6})?)\s*(?:°|deg|$)", re.IGNORECASE)
_WORDS = re.compile(r"\b(north|south)?[\s\-]?(east|west)?\b", re.IGNORECASE)
_NOTHING = {"", "nothing", "none", "no", "empty", "empty handed", "no object", "no objects"}
_NOTES = re.compile(r"\([^()]*\)")
_ARTICLE = re.compile(r"^(?:a|an|the|i hold|holding)\s+", re.IGNORECASE)


def stated(parts: Mapping[str, str]) -> dict[str, Json]:
    """``place`` (words), ``heading`` (degrees in [0, 360)), ``holding`` (names); None for not said.

    A heading is degrees, or one of the eight main directions; ``holding`` nothing is an empty list.

    >>> stated({"place": "the kitchen", "facing": "north-east", "holding": "a mug_1"})
    {'place': 'the kitchen', 'heading': 45.0, 'holding': ['mug_1']}
    """
    place = parts.get(PLACE, "").strip()
    held = parts.get(HOLDING)
    return {
        "place": place or None,
        "heading": heading(parts.get(FACING, "")),
        "holding": None if held is None or not held.strip() else names(held),
    }


def heading(words: str) -> float | None:
    """``30°``, ``30``, ``facing north-east`` or ``NE`` in degrees, None where none is said."""
    degrees = _DEGREES.search(words.strip())
    if degrees:
        return absolute(float(degrees.group(1)))
    points = ("".join(filter(None, match.groups())).lower() for match in _WORDS.finditer(words))
    short = words.strip(" .").lower()
    return _HEADINGS.get(short if short in _HEADINGS else next(filter(None, points), ""))


def names(words: str) -> list[str]:
    """``a mug_1 (dirty) and the knife_1`` -> ``["mug_1", "knife_1"]``."""
    pieces = re.split(r"[,;]|\band\b", _NOTES.sub(" ", words))
    found = [_ARTICLE.sub("", piece.strip(" .'\"`\t")).strip().lower() for piece in pieces]
    return [name for name in found if name.replace("-", " ") not in _NOTHING]


Tell = Callable[[Observation, str], str]
"""An observation, and what came of the action before it, as a user message."""


class Unshowable(Exception):
    """Why a solved episode makes no example here, in a few words."""


def drawn_by(seed: int, draw: str, episode: Episode | None) -> int:
    """The seed of an episode's examples: the run's, or one for each ``episode``."""
    if draw == "run" or episode is None:
        return seed
    return zlib.crc32(f"{seed}/{episode.id}".encode())


def turns(
    demonstration: Demonstration,
    recipe: StrategyRecipe,
    tell: Tell,
    opening: str,
    constrained: bool,
    actor: str = "",
    thoughts: bool = False,
) -> list[Turn]:
    """One example: the turns of ``actor`` (the first one where empty), whoever else acts.

    ``opening`` is put before its first observation. With ``thoughts`` answers hold why their
    actions were taken, where the recipe asks for a thought and the demonstration tells it. Raises
    ``Unshowable`` for one that takes actions that bodies here do not have, and where the actor only
    stops.
    """
    me = actor or demonstration.episode.actors[0]
    found: list[Turn] = []
    feedback = ""
    reasons = demonstration.thoughts if thoughts else ()
    game = demonstration.game()
    for number, (actor, decision) in enumerate(demonstration.decisions()):
        if actor != me:
            game.carry_out(actor, decision)
            continue
        seen, space = game.observation(me), game.space(me)
        if decision.action not in space:
            raise Unshowable(f"it takes actions that {me} does not have; set dataset.actions=all")
        told = tell(seen, feedback) if found else f"{opening}\n\n{tell(seen, feedback)}"
        spoken = space.open_verbs if constrained else None
        reason = reasons[number] if reasons else ""
        found.append((told, answer(decision.action, seen, recipe, spoken, reason)))
        feedback = generic.feedback(game.carry_out(me, decision)[1], generic.verbalizer(seen))
    if len(demonstration.episode.actors) > 1 and len(found) < 2:
        raise Unshowable(f"{me} only stops in it")
    return found


DRAWS = 12
"""How often examples are drawn again for those that do not fit, or are none."""
COMFORTABLE = 60_000
"""Characters of examples from which on shorter ones are looked for where no context is known."""


def fitting(
    draw: Demonstrations,
    show: Callable[[Demonstration], list[Turn]],
    count: int,
    seed: int,
    room: float | None,
) -> list[list[Turn]]:
    """So many examples, each within its share of ``room`` (characters); others are drawn in place
    of those that are too long or cannot be shown.

    With no room known, short ones are looked for and the shortest found are taken. Raises
    ``Unshowable`` where too few are found.
    """
    shown, longer = list[list[Turn]](), list[list[Turn]]()
    seen: set[str] = set()
    why = ""
    left = COMFORTABLE if room is None else room
    for attempt in range(3 if room is None else DRAWS):
        lacking = count - len(shown)
        if not lacking:
            return shown
        again = zlib.crc32(f"{seed}/{attempt}".encode()) if attempt else seed
        for example in draw(lacking, again):
            if attempt and example.episode.id in seen:
                continue
            seen.add(example.episode.id)
            try:
                told = show(example)
            except Unshowable as reason:
                why = f" ({example.episode.id}: {reason})"
                continue
            if letters(told) <= left / (count - len(shown)):
                left -= letters(told)
                shown.append(told)
            else:
                longer.append(told)
    if room is None:
        shown += sorted(longer, key=letters)[: count - len(shown)]
    if len(shown) < count:
        tried = f"{len(shown)} of {count} examples fit, of {len(seen)} that were tried"
        raise Unshowable(tried + why)
    return shown


def letters(shown: Sequence[Turn]) -> int:
    """Characters of an example."""
    return sum(len(told) + len(said) for told, said in shown)


def from_file(path: Path) -> list[list[Turn]]:
    """Examples of one's own, thoughts included, from JSON lines or YAML.

    A line of ``.jsonl`` is a conversation as ``wayword export`` writes it, ``{"messages": [{"role",
    "content"}, …]}``; its system message is left out. ``.yaml`` holds a list of examples, each a
    list of ``{told: …, said: …}``. Raises ``UsageError`` for any other form.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"examples_file={path}: cannot be read: {error}") from None
    if path.suffix in (".yaml", ".yml"):
        import yaml

        try:
            given = yaml.safe_load(text)
            found = [[(str(t["told"]), str(t["said"])) for t in example] for example in given]
        except (yaml.YAMLError, TypeError, KeyError):
            problem = "is no list of examples, each a list of {told: …, said: …}"
            raise UsageError(f"{path}: {problem}") from None
    else:
        lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
        found = [_from_line(path, n, line) for n, line in lines]
    if not found:
        raise UsageError(f"{path}: holds no example; `wayword export` writes some")
    return found


def _from_line(path: Path, number: int, line: str) -> list[Turn]:
    try:
        chat = [(m["role"], str(m["content"])) for m in json.loads(line)["messages"]]
    except (ValueError, TypeError, KeyError):
        problem = 'is no conversation: {"messages": [{"role": …, "content": …}, …]}'
        raise UsageError(f"{path}: line {number}: {problem}") from None
    spoken = [each for each in chat if each[0] != "system"]
    roles = [role for role, _ in spoken]
    if roles != ["user", "assistant"] * (len(roles) // 2) or not roles:
        raise UsageError(f"{path}: line {number}: user and assistant do not take turns in it")
    return [(spoken[n][1], spoken[n + 1][1]) for n in range(0, len(spoken), 2)]


def answer(
    action: Action,
    seen: Observation,
    recipe: StrategyRecipe,
    spoken: Sequence[str] | None,
    thought: str = "",
) -> str:
    """The answer that takes this action, with the sections whose truth is known.

    ``spoken`` are the verbs that take free text, for a constrained answer; None for a free one.
    ``thought`` fills the section that asks for one.
    """
    known, thought = true_parts(seen), " ".join(thought.split())
    stated: dict[str, str | dict[str, str]] = {}
    for section in recipe.sections:
        if section.parts:
            stated[section.key] = {n: known[n] for n, _ in section.parts if n in known}
        elif thought:
            stated[section.key] = thought
    if spoken is not None:
        said = action.name in spoken and bool(action.arguments)
        fields = {**stated, recipe.action.key: action.name if said else str(action)}
        if spoken:
            fields[ARGUMENT] = action.arguments[0] if said else ""
        return json.dumps(fields, ensure_ascii=False)
    lines = []
    for section in recipe.sections:
        told = stated.get(section.key)
        if isinstance(told, dict):
            lines += [f"{section.label}:", *(f"  {name}: {words}" for name, words in told.items())]
        elif told:
            lines.append(f"{section.label}: {told}")
    return "\n".join([*lines, f"{recipe.action.label}: {action}"])


def true_parts(seen: Observation) -> dict[str, str]:
    """Place, facing and holding as they are."""
    own, _ = generic.verbalizer(seen).own(seen)
    parts = {PLACE: own.place} if own.place else {}
    if own.heading is not None:
        parts[FACING] = generic.compass(round(own.heading, 2))
    if own.holding is not None:
        parts[HOLDING] = ", ".join(own.holding) or "nothing"
    return parts


def unknown(recipe: StrategyRecipe) -> list[str]:
    """The sections, and parts of such, whose truth a replay cannot know: ``thought``, ``plan``,
    ``state.seen``."""
    told = (PLACE, FACING, HOLDING)
    return [
        f"{section.key}.{name}" if name else section.key
        for section in recipe.sections
        for name, _ in (section.parts or (("", ""),))
        if name not in told
    ]
