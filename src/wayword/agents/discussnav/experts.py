"""The experts: how they are asked, and what they are asked for.

An expert that answers nonsense, too late or not at all costs its advice and nothing else: a note
``expert_failed`` names it, says why, and what was used instead.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

from wayword.agents.answers import (
    AnswerForm,
    AskedFields,
    Field,
    Filled,
    Reply,
    one_line,
    read_choice,
    replies,
)
from wayword.agents.clauses import note_followed, plain_words
from wayword.agents.prompting import History, Prompts, everyone
from wayword.core.action import Rejection
from wayword.core.agent import Toolkit
from wayword.core.errors import ModelError
from wayword.core.model import Image, Message, Sampling, system, user
from wayword.core.trajectory import EXPERT_FAILED

Expert = Literal[
    "decomposition", "landmarks", "scene", "summary", "completion", "fusion", "testing"
]
EXPERTS: tuple[Expert, ...] = get_args(Expert)
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
        schema = form.schema(self.length_of(form)) if self.constrained else None
        sampling = Sampling(max_tokens=self.max_tokens, json_schema=schema)
        return await self.ask(expert, [system(told), question], sampling, form.read, recovery)

    def length_of(self, form: AnswerForm) -> int:
        """Characters of a field: at two a token the answer still ends."""
        return max(1, 2 * self.max_tokens // len(form.fields))

    async def words(
        self, expert: Expert, recovery: str, images: tuple[Image, ...] = (), **slots: str
    ) -> str | None:
        question = Message("user", self.prompts.fill(f"{expert}_question", **slots), images)
        sampling = Sampling(max_tokens=self.max_tokens)
        told = [system(self.prompts[expert]), question]
        return await self.ask(
            expert, told, sampling, lambda text: " ".join(text.split()) or None, recovery
        )

    async def ask(
        self,
        expert: Expert,
        messages: Sequence[Message],
        sampling: Sampling,
        read: Callable[[str], Answer | None],
        recovery: str,
    ) -> Answer | None:
        """What ``read`` makes of the answer, or None after a failure that was noted."""
        found = None
        try:
            async with asyncio.timeout(self.patience):
                completion = await self.toolkit.model(expert).complete(messages, sampling)
            reply = replies(completion, sampling)[0]
            found = read(reply.text)
            why = reply.cut_off or f"not an answer to the question: {one_line(reply.text, 120)!r}"
        except TimeoutError:
            why = f"no answer within {self.patience:g} s"
        except ModelError as error:
            why = str(error)
        if found is None:
            self.toolkit.note(EXPERT_FAILED, expert=expert, why=why, recovery=recovery)
        return found


# Instruction analysis: actions in order, and landmarks with their types, once an episode.
#
# The landmark expert first checks the order of the actions against the sentence (``walk to the
# lamp after the door`` passes the door first), and its order is the one that counts.

DECOMPOSITION = AnswerForm(Field("Actions", "a list of the actions in order", many=True, least=1))
LANDMARKS = AnswerForm(
    Field("Check", "whether the order of the actions is right, and why"),
    Field("Actions", "a list of the actions in the right order", many=True, least=1),
    Field("Landmarks", "a list of landmark (type, type)", many=True, least=1),
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

SUMMARY = AnswerForm(
    Field("Observation", "what was seen, in one sentence"),
    Field("Thought", "what was decided and why, in one sentence"),
)
COMPLETION = AnswerForm(
    Field("Thought", "landmarks passed, changes of direction, and what follows from them"),
    Field("Executed", "a list of the actions that are done", many=True),
    Field("In progress", "a list of the actions that are begun", many=True),
    Field("Waiting", "a list of the actions still to come", many=True),
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


# The decision: several predictions, and a discussion where they differ.

STOP = "Stop"
FUSION = AnswerForm(Field("Thought", "the one thought, in a few sentences"))
ASKED = AskedFields("'Prediction:' with a direction's number or Stop", "a direction with a way")


@dataclass(frozen=True, slots=True)
class Opinion:
    """One way to go (a direction's number, or ``Stop``), the thought for it, and its votes."""

    choice: str
    thought: str
    votes: int = 1

    def __str__(self) -> str:
        return f"Thought: {self.thought} Prediction: {self.choice}"


def read_opinion(said: str | Reply, legal: Collection[str]) -> Opinion | Rejection:
    """A prediction out of an answer: a JSON object, or lines ``Thought:`` and ``Prediction:``."""
    found = read_choice(said, legal, asked=ASKED)
    if isinstance(found, Rejection):
        return found
    return Opinion(found.choice or STOP, found.thought)


def grouped(opinions: Sequence[Opinion]) -> list[list[Opinion]]:
    """Opinions by choice: the choice with most votes first, of equals the one that came first."""
    groups: dict[str, list[Opinion]] = {}
    for opinion in opinions:
        groups.setdefault(opinion.choice, []).append(opinion)
    return sorted(groups.values(), key=len, reverse=True)


async def fuse(meeting: Meeting, groups: Sequence[Sequence[Opinion]]) -> list[Opinion]:
    """One opinion a group, all groups at once; a lone thought needs no fusing."""

    async def fused(group: Sequence[Opinion]) -> Opinion:
        if len(group) == 1:
            return group[0]
        thoughts = "\n".join(f"({n}) {opinion.thought}" for n, opinion in enumerate(group, 1))
        found = await meeting.form("fusion", FUSION, "the first thought alone", thoughts=thoughts)
        thought = str(found["thought"]) if found else group[0].thought
        return Opinion(group[0].choice, thought, len(group))

    return await everyone([fused(group) for group in groups])


async def tested(
    meeting: Meeting, opinions: Sequence[Opinion], instruction: str, scene: str, length: int
) -> Opinion:
    """The decision tester's choice among opinions that differ, else the one with most votes."""
    choices = [opinion.choice for opinion in opinions]
    pairs = "\n".join(f"({n}) {opinion}" for n, opinion in enumerate(opinions, 1))
    prompts = meeting.prompts
    form = "format_testing" if meeting.constrained else "format_free"
    question = prompts.fill("testing_question", instruction=instruction, scene=scene, pairs=pairs)
    told: list[Message] = [system(f"{prompts['testing']}\n\n{prompts[form]}")]
    asked = AnswerForm(Field("Thought"), Field("Prediction", choices=choices))
    schema = asked.schema(length) if meeting.constrained else None

    def offered(text: str) -> Opinion | None:
        found = read_opinion(text, choices)
        return found if isinstance(found, Opinion) and found.choice in choices else None

    sampling = Sampling(max_tokens=meeting.max_tokens, json_schema=schema)
    recovery = "the prediction with most votes"
    found = await meeting.ask("testing", [*told, user(question)], sampling, offered, recovery)
    return found or max(opinions, key=lambda opinion: opinion.votes)
