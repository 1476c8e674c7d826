r"""Forms: what an expert's answer consists of, as labelled lines or as a JSON object.

    >>> form = AnswerForm(Field("thought", "why"), Field("actions", "in order", many=True))
    >>> form.read("Thought: easy\nActions:\n1. Turn left.\n2. Stop.")
    {'thought': 'easy', 'actions': ['Turn left.', 'Stop.']}
    >>> form.read('{"thought": "easy", "actions": ["Stop."]}')
    {'thought': 'easy', 'actions': ['Stop.']}

One form gives the labels that are asked for, the schema of constrained answers and the reader of
both. An answer without any of its fields is nonsense, and reads as None.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from wayword.agents.answers import MOST_VALUES, fields, one_line, replies
from wayword.agents.clauses import note_followed, plain_words
from wayword.agents.legal import unmarked
from wayword.agents.prompting import History, Prompts
from wayword.core.agent import Toolkit
from wayword.core.episode import Json
from wayword.core.errors import ModelError
from wayword.core.model import Completion, Image, Message, Sampling, system
from wayword.core.trajectory import EXPERT_FAILED

_NOTHING = frozenset({"", "none", "nothing", "n/a"})
ITEM = 100
"""Characters that an item of a list may have at least: an action with its places and things."""

Filled: TypeAlias = dict[str, str | list[str]]


@dataclass(frozen=True, slots=True)
class Field:
    """``name`` is the JSON key; its label is the same word, capitalised. ``many``: a list.

    ``about`` says what to write; ``least`` counts a list's items.
    """

    name: str
    about: str
    many: bool = False
    least: int = 0

    @property
    def label(self) -> str:
        return self.name.replace("_", " ").capitalize()

    def schema(self, length: int) -> dict[str, Json]:
        """Its JSON schema with about ``length`` characters in all; an item may have a quarter."""
        if not self.many:
            return {"type": "string", "maxLength": length}
        most = max(12, length // ITEM)
        text: dict[str, Json] = {"type": "string", "maxLength": max(ITEM, length // 4)}
        return {"type": "array", "items": text, "minItems": self.least, "maxItems": most}


class AnswerForm:
    """The fields of an answer, in the order they are written."""

    def __init__(self, *fields: Field) -> None:
        self.fields = fields

    def asked(self, constrained: bool) -> str:
        """How to answer, in words."""
        if constrained:
            told = "; ".join(f'"{field.name}", {field.about}' for field in self.fields)
            return f"Answer with one JSON object: {told}."
        lines = (
            f"{f.label}:\n1. {f.about}\n2. ..." if f.many else f"{f.label}: {f.about}"
            for f in self.fields
        )
        return "Answer in exactly this form:\n" + "\n".join(lines)

    def schema(self, max_tokens: int) -> Mapping[str, Json]:
        """The JSON schema of a constrained answer; texts are bounded so that it ends in time."""
        each = max(1, 2 * max_tokens // len(self.fields))
        return {
            "type": "object",
            "properties": {field.name: field.schema(each) for field in self.fields},
            "required": [field.name for field in self.fields],
            "additionalProperties": False,
        }

    def read(self, text: str) -> Filled | None:
        """The fields of an answer, those it lacks left empty; None where it has none of them."""
        found = fields(text, [field.name for field in self.fields])
        filled = {f.name: _shaped(f, found.all(f.name)) for f in self.fields}
        return filled if any(filled.values()) else None


def _shaped(field: Field, values: Sequence[Json]) -> str | list[str]:
    """What an answer gives for a field, as the field has it."""
    if not field.many:
        return " ".join(one_line(value) for value in values)
    entries: list[Json] = []
    for value in values:
        listed = value if isinstance(value, list) else [value]
        entries += value.splitlines() if isinstance(value, str) else listed
    written = [text for text in map(str, entries) if text.strip()][:MOST_VALUES]
    plain = map(one_line, map(unmarked, written))
    return [entry for entry in plain if entry.lower().strip(".") not in _NOTHING]


# Asking an expert: one question, one answer, and what is done when none comes.
#
# An expert that answers nonsense, too late or not at all costs its advice and nothing else: a note
# ``expert_failed`` names it, says why, and what was used instead.

Expert = Literal[
    "decomposition", "landmarks", "scene", "summary", "completion", "fusion", "testing"
]
EXPERTS: tuple[Expert, ...] = (
    "decomposition",
    "landmarks",
    "scene",
    "summary",
    "completion",
    "fusion",
    "testing",
)
"""Those that are models, in the order they are asked; the eighth, the tags, is a detector."""
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Meeting:
    """The experts of one episode. ``patience`` is in seconds, for each answer."""

    toolkit: Toolkit
    prompts: Prompts
    constrained: bool
    patience: float
    max_tokens: int

    async def form(
        self, expert: Expert, form: AnswerForm, recovery: str, **slots: str
    ) -> Filled | None:
        """An expert's filled-in form, None for none. ``recovery`` says what is done then."""
        question = Message("user", self.prompts.fill(f"{expert}_question", **slots))
        told = f"{self.prompts[expert]}\n\n{form.asked(self.constrained)}"
        sampling = Sampling(
            max_tokens=self.max_tokens,
            json_schema=form.schema(self.max_tokens) if self.constrained else None,
        )
        return await self.ask(expert, [system(told), question], sampling, form.read, recovery)

    async def words(
        self, expert: Expert, recovery: str, images: tuple[Image, ...] = (), **slots: str
    ) -> str | None:
        """An expert's answer in plain words."""
        question = Message("user", self.prompts.fill(f"{expert}_question", **slots), images)
        sampling = Sampling(max_tokens=self.max_tokens)
        told = [system(self.prompts[expert]), question]
        return await self.ask(expert, told, sampling, _plain, recovery)

    async def ask(
        self,
        expert: Expert,
        messages: Sequence[Message],
        sampling: Sampling,
        read: Callable[[str], Answer | None],
        recovery: str,
    ) -> Answer | None:
        """What ``read`` makes of the answer, or None after a failure that was noted."""
        try:
            completion = await self.answer(expert, messages, sampling)
        except TimeoutError:
            self.failed(expert, f"no answer within {self.patience:g} s", recovery)
            return None
        except ModelError as error:
            self.failed(expert, str(error), recovery)
            return None
        reply = replies(completion, sampling)[0]
        found = read(reply.text)
        if found is None:
            said = one_line(reply.text, 120)
            why = reply.cut_off or f"not an answer to the question: {said!r}"
            self.failed(expert, why, recovery)
        return found

    async def answer(
        self, role: str, messages: Sequence[Message], sampling: Sampling
    ) -> Completion:
        """The model's answer. Raises ``TimeoutError``, ``ModelError``, ``BudgetExhausted``."""
        async with asyncio.timeout(self.patience):
            return await self.toolkit.model(role).complete(messages, sampling)

    def failed(self, expert: str, why: str, recovery: str) -> None:
        """Write the failure down."""
        self.toolkit.note(EXPERT_FAILED, expert=expert, why=why, recovery=recovery)


def _plain(text: str) -> str | None:
    return " ".join(text.split()) or None


# Instruction analysis: actions in order, and landmarks with their types, once an episode.
#
# The landmark expert first checks the order of the actions against the sentence (``walk to the
# lamp after the door`` passes the door first), and its order is the one that counts.
#
# Source: DiscussNav (Long et al. 2024), section III-B, "Instruction Analysis Experts".

DECOMPOSITION = AnswerForm(Field("actions", "a list of the actions in order", many=True, least=1))
LANDMARKS = AnswerForm(
    Field("check", "whether the order of the actions is right, and why"),
    Field("actions", "a list of the actions in the right order", many=True, least=1),
    Field("landmarks", "a list of landmark (type, type)", many=True, least=1),
)
TYPES = ("room", "infrastructure", "furniture", "decoration", "colour", "object")
"""Types that are suggested to the expert; it may name others."""
USUAL = ("room", "infrastructure", "furniture")
"""What is asked about where no landmark has a type."""
_TYPED = re.compile(r"(.+?)\s*\(([^()]*)\)\s*\.?$")


@dataclass(frozen=True, slots=True)
class InstructionLandmark:
    """A landmark as the instruction words it, and what kinds of thing it is."""

    name: str
    types: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(self.types)})" if self.types else self.name


@dataclass(frozen=True, slots=True)
class Analysis:
    """What is known about the instruction. ``actions`` and ``landmarks`` may be empty."""

    instruction: str
    actions: tuple[str, ...] = ()
    landmarks: tuple[InstructionLandmark, ...] = ()

    @property
    def types(self) -> tuple[str, ...]:
        """The kinds of thing to look for, each once."""
        named = dict.fromkeys(kind for mark in self.landmarks for kind in mark.types)
        return tuple(named) or USUAL


async def analyse(meeting: Meeting, instruction: str) -> Analysis:
    """Two questions in turn. What an expert does not answer is left empty."""
    whole = "the instruction is taken as one action"
    first = await meeting.form("decomposition", DECOMPOSITION, whole, instruction=instruction)
    actions = list(first["actions"]) if first else [instruction]
    second = await meeting.form(
        "landmarks",
        LANDMARKS,
        "no landmarks; the usual types are asked about",
        instruction=instruction,
        actions=numbered(actions),
        types=", ".join(TYPES),
    )
    if second is None:
        return Analysis(instruction, tuple(actions))
    corrected = tuple(second["actions"]) or tuple(actions)
    return Analysis(instruction, corrected, tuple(map(landmark, second["landmarks"])))


def landmark(text: str) -> InstructionLandmark:
    """``"eye chart on the wall (decoration)"`` as name and types.

    >>> landmark("doorway to the hall (infrastructure, room)").types
    ('infrastructure', 'room')
    """
    match = _TYPED.fullmatch(text.strip())
    if match is None:
        return InstructionLandmark(text.strip(), ())
    kinds = (kind.strip().lower() for kind in match.group(2).split(","))
    return InstructionLandmark(match.group(1), tuple(kind for kind in kinds if kind))


def numbered(lines: list[str] | tuple[str, ...]) -> str:
    """Lines with their numbers, or ``None``."""
    return "\n".join(f"{n}. {line}" for n, line in enumerate(lines, 1)) or "None"


# Completion estimation: the walk so far in short, and which actions are done, begun, to come.
#
# Source: DiscussNav (Long et al. 2024), section III-B, "Completion Estimation Experts".

SUMMARY = AnswerForm(
    Field("observation", "what was seen, in one sentence"),
    Field("thought", "what was decided and why, in one sentence"),
)
COMPLETION = AnswerForm(
    Field("thought", "landmarks passed, changes of direction, and what follows from them"),
    Field("executed", "a list of the actions that are done", many=True),
    Field("in_progress", "a list of the actions that are begun", many=True),
    Field("waiting", "a list of the actions still to come", many=True),
)
_ALIKE = 0.4
"""Share of the words of two texts that they must have in common to mean one action."""
CUT = 300
"""Characters of each part of a step that no summary was had of."""


@dataclass(frozen=True, slots=True)
class StepTaken:
    """A step that has been taken: what was seen the way one went, the turn, and why."""

    number: int
    observation: str
    turn: str
    thought: str


async def summarise(meeting: Meeting, step: StepTaken) -> str:
    """One step as ``[Step t] Observation: … Thought: …``."""
    found = await meeting.form(
        "summary",
        SUMMARY,
        "the step's own words, cut short",
        observation=f"{step.turn} {step.observation}",
        thought=step.thought or "(none)",
    )
    seen, why = step.observation[:CUT], step.thought[:CUT]
    if found is not None:
        seen, why = str(found["observation"]) or seen, str(found["thought"]) or why
    return f"[Step {step.number}] {step.turn} Observation: {seen} Thought: {why}"


async def estimate(meeting: Meeting, analysis: Analysis, trail: str) -> str:
    """What of the instruction is done, begun and to come, as the decision is told it."""
    found = await meeting.form(
        "completion",
        COMPLETION,
        "nothing is said of completion",
        instruction=analysis.instruction,
        actions=numbered(analysis.actions or (analysis.instruction,)),
        landmarks="; ".join(map(str, analysis.landmarks)) or "None",
        trajectory=trail,
    )
    if found is None:
        return ""
    if analysis.actions:
        note_followed(meeting.toolkit.note, *followed(analysis.actions, found))
    return "\n".join(
        f"{label}: {'; '.join(found[name]) or 'None'}"
        for label, name in (
            ("Executed actions", "executed"),
            ("In-progress actions", "in_progress"),
            ("Actions waiting to be executed", "waiting"),
        )
    )


def followed(actions: Sequence[str], found: Filled) -> tuple[int, set[int]]:
    """The action in progress, else the first not done, and those done; lines may be reworded.

    >>> told: Filled = {"executed": ["go up"], "in_progress": [], "waiting": ["turn to the left"]}
    >>> followed(["Go up the stairs", "Turn left", "Stop"], told)
    (2, {1})
    """
    states: dict[int, str] = {}
    words = {number: plain_words(action) for number, action in enumerate(actions, 1)}
    for state in ("executed", "in_progress", "waiting"):
        for line in map(plain_words, found[state]):
            alike = {n: len(line & own) / max(1, len(line | own)) for n, own in words.items()}
            fits = [n for n in alike if n not in states and alike[n] >= _ALIKE]
            if fits:
                states[max(fits, key=alike.__getitem__)] = state
    done = {number for number, state in states.items() if state == "executed"}
    begun = [number for number, state in states.items() if state == "in_progress"]
    waiting = [number for number in range(1, len(actions) + 1) if number not in done]
    return min(begun or waiting or [len(actions)]), done


def opening(meeting: Meeting, analysis: Analysis) -> str:
    """The estimate before the first move, when nothing has been done: no expert is asked."""
    if analysis.actions:
        note_followed(meeting.toolkit.note, 1, ())
    waiting = "; ".join(analysis.actions or (analysis.instruction,))
    return (
        "Executed actions: None\nIn-progress actions: None\n"
        f"Actions waiting to be executed: {waiting}"
    )


def trail_text(history: History) -> str:
    """The summarised walk, or a sentence saying that it has just begun."""
    if not history.blocks and not history.dropped:
        return "The walk has not begun."
    gap = [f"({history.dropped} earlier steps left out)"] if history.dropped else []
    return "\n".join([*gap, *history.blocks])
