"""The experts: their questions, and the parsing of their answers.

If an expert's answer is unusable, late or missing, only its advice is lost: a note
``expert_failed`` records the expert, the reason, and the replacement.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

from wayword.agents.answers import (
    AnswerForm,
    Field,
    Filled,
    Reply,
    read_choice,
    replies,
)
from wayword.agents.clauses import note_followed, plain_words
from wayword.agents.pages import Prompts
from wayword.agents.prompting import History, ask_all
from wayword.core.action import Rejection
from wayword.core.agent import Toolkit
from wayword.core.episode import JsonObject
from wayword.core.errors import ModelError
from wayword.core.model import Message, Sampling, system, user
from wayword.core.trajectory import EXPERT_FAILED
from wayword.core.visible import single_line

Expert = Literal[
    "decomposition", "landmarks", "scene", "summary", "completion", "fusion", "testing"
]
EXPERTS: tuple[Expert, ...] = get_args(Expert)
"""The experts that are models, in the order of their questions; the eighth is the detector."""
Answer = TypeVar("Answer")


@dataclass(frozen=True)
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
        """Ask an expert to fill in a form; None if the answer is invalid (see ``recovery``)."""
        question = Message("user", self.prompts.fill(f"{expert}_question", **slots))
        fixed = system(f"{self.prompts[expert]}\n\n{form.request(self.constrained)}")
        schema = form.schema(self.length_of(form))
        return await self.ask(expert, [fixed, question], schema, form.read, recovery)

    def length_of(self, form: AnswerForm) -> int:
        """Return the characters of a field: even at two per token the answer can end."""
        return max(1, 2 * self.max_tokens // len(form.fields))

    async def ask(
        self,
        expert: Expert,
        messages: Sequence[Message],
        schema: JsonObject | None,
        read: Callable[[str], Answer | None],
        recovery: str,
    ) -> Answer | None:
        """Return the answer parsed by ``read``, or None after a failure, which is noted."""
        answer = None
        if not self.constrained:
            schema = None
        sampling = Sampling(max_tokens=self.max_tokens, json_schema=schema)
        # An expert that fails must not end the episode: the agent decides without it.
        try:
            async with asyncio.timeout(self.patience):
                completion = await self.toolkit.model(expert).complete(
                    messages, sampling
                )
            reply = replies(completion, sampling)[0]
            answer = read(reply.text)
            unfit = f"not an answer to the question: {single_line(reply.text, 120)!r}"
            problem = reply.cut_off or unfit
        except TimeoutError:
            problem = f"no answer within {self.patience:g} s"
        except ModelError as error:
            problem = str(error)
        if answer is None:
            self.toolkit.note(
                EXPERT_FAILED, expert=expert, why=problem, recovery=recovery
            )
        return answer


DECOMPOSITION = AnswerForm(
    Field("Actions", "a list of the actions in order", many=True, least=1)
)
LANDMARKS = AnswerForm(
    Field("Check", "whether the order of the actions is right, and why"),
    Field("Actions", "a list of the actions in the right order", many=True, least=1),
    Field("Landmarks", "a list of landmark (type, type)", many=True, least=1),
)
TYPES = ("room", "infrastructure", "furniture", "decoration", "colour", "object")
"""Types suggested to the expert, which may name others."""
USUAL_TYPES = ("room", "infrastructure", "furniture")  # used if no landmark has a type
_NAME_AND_TYPES = re.compile(r"(.+?)\s*\(([^()]*)\)\s*\.?$")


@dataclass(frozen=True)
class InstructionLandmark:
    """A landmark in the words of the instruction, and its types."""

    name: str
    types: tuple[str, ...]

    def __str__(self) -> str:
        if not self.types:
            return self.name
        return f"{self.name} ({', '.join(self.types)})"


@dataclass(frozen=True)
class Analysis:
    """The parts of an instruction. ``actions`` and ``landmarks`` may be empty."""

    instruction: str
    actions: tuple[str, ...] = ()
    landmarks: tuple[InstructionLandmark, ...] = ()

    @property
    def types(self) -> tuple[str, ...]:
        """Types of objects to look for: those of the landmarks, else the usual ones."""
        types: dict[str, None] = {}
        for mark in self.landmarks:
            types.update(dict.fromkeys(mark.types))
        return tuple(types) or USUAL_TYPES


async def analyze(meeting: Meeting, instruction: str) -> Analysis:
    """Return the actions in order, and the landmarks with their types, from two questions. Parts
    that an expert fails to answer are empty. The landmark expert first corrects the order of the
    actions (``walk to the lamp after the door`` passes the door first)."""
    recovery = "the whole instruction as one action"
    parts = await meeting.form(
        "decomposition", DECOMPOSITION, recovery, instruction=instruction
    )
    actions = [instruction]
    if parts:
        actions = list(parts["actions"])
    extracted = await meeting.form(
        "landmarks",
        LANDMARKS,
        "no landmarks; using the default types",
        instruction=instruction,
        actions=number_lines(actions),
        types=", ".join(TYPES),
    )
    if extracted is None:
        return Analysis(instruction, tuple(actions))
    # An expert that returns no order must not erase the actions found before.
    ordered = tuple(extracted["actions"]) or tuple(actions)
    return Analysis(
        instruction, ordered, tuple(map(parse_landmark, extracted["landmarks"]))
    )


def parse_landmark(text: str) -> InstructionLandmark:
    """Parse a landmark with its types, such as ``"eye chart on the wall (decoration)"``.

    >>> parse_landmark("doorway to the hall (infrastructure, room)").types
    ('infrastructure', 'room')
    """
    match = _NAME_AND_TYPES.fullmatch(text.strip())
    if match is None:
        return InstructionLandmark(text.strip(), ())
    # Between the commas there may be nothing: "lamp (furniture, )".
    kinds = (kind.strip().lower() for kind in match.group(2).split(","))
    return InstructionLandmark(match.group(1), tuple(kind for kind in kinds if kind))


def number_lines(lines: list[str] | tuple[str, ...]) -> str:
    """Return numbered lines, or the text ``None`` for an empty list."""
    return "\n".join(f"{n}. {line}" for n, line in enumerate(lines, 1)) or "None"


# Completion estimation: a summary of the walk, and the actions done, in progress and waiting.

SUMMARY = AnswerForm(
    Field("Observation", "what was seen, in one sentence"),
    Field("Thought", "what was decided and why, in one sentence"),
)
COMPLETION = AnswerForm(
    Field(
        "Thought", "landmarks passed, changes of direction, and what follows from them"
    ),
    Field("Executed", "a list of the actions that are done", many=True),
    Field("In progress", "a list of the actions in progress", many=True),
    Field("Waiting", "a list of the actions still to come", many=True),
)
# Minimum word overlap (intersection over union) of two texts for one action
_SAME_ACTION = 0.4
RAW_LENGTH = 300  # characters kept of each part of a step without a summary


async def summarize(meeting: Meeting, turn: str, observation: str, thought: str) -> str:
    """Summarize one step as ``[Step t] … Observation: … Thought: …``; ``turn`` begins with its
    number."""
    filled = await meeting.form(
        "summary",
        SUMMARY,
        "the step's text, truncated",
        observation=f"{turn.partition('] ')[2]} {observation}",
        thought=thought or "(none)",
    )
    parts = {name: str(value) for name, value in (filled or {}).items()}
    observation = parts.get("observation") or observation[:RAW_LENGTH]
    thought = parts.get("thought") or thought[:RAW_LENGTH]
    return f"{turn} Observation: {observation} Thought: {thought}"


async def estimate(meeting: Meeting, analysis: Analysis, trail: str) -> str:
    """Return the actions done, in progress and waiting, as text for the decision's prompt; without
    a ``trail``, before the first move, all are waiting, and no expert is asked."""
    if not trail:
        if analysis.actions:
            note_followed(meeting.toolkit.note, 1, ())
        return _estimate_text((), (), analysis.actions or (analysis.instruction,))
    filled = await meeting.form(
        "completion",
        COMPLETION,
        "no estimate of completion",
        instruction=analysis.instruction,
        actions=number_lines(analysis.actions or (analysis.instruction,)),
        landmarks="; ".join(map(str, analysis.landmarks)) or "None",
        trajectory=trail,
    )
    if filled is None:
        return ""
    if analysis.actions:
        note_followed(meeting.toolkit.note, *match_actions(analysis.actions, filled))
    return _estimate_text(filled["executed"], filled["in_progress"], filled["waiting"])


def match_actions(actions: Sequence[str], filled: Filled) -> tuple[int, set[int]]:
    """Return the action in progress (else the first not done) and those done; matches by words."""
    # Experts repeat actions in their own words, so they are compared by words.
    # Each action is matched once, in the order of the three lists.
    numbers: dict[str, list[int]] = {}
    unmatched = dict(enumerate(map(plain_words, actions), 1))
    for state in ("executed", "in_progress", "waiting"):
        matched = numbers.setdefault(state, [])
        for line in map(plain_words, filled[state]):
            # Words in common, as a share of all words; of equal shares, the first action's.
            overlaps = {}
            for number, words in unmatched.items():
                overlaps[number] = len(line & words) / max(1, len(line | words))
            best = max(overlaps, key=overlaps.__getitem__, default=0)
            if overlaps.get(best, 0.0) >= _SAME_ACTION:
                matched.append(best)
                del unmatched[best]
    done = set(numbers["executed"])
    waiting = [number for number in range(1, len(actions) + 1) if number not in done]
    return min(numbers["in_progress"] or waiting or [len(actions)]), done


def _estimate_text(*actions: Sequence[str]) -> str:
    """Return the three lists of actions as text."""
    labels = "Executed actions", "In-progress actions", "Actions waiting to be executed"
    pairs = zip(labels, actions, strict=True)
    return "\n".join(
        f"{label}: {'; '.join(listed) or 'None'}" for label, listed in pairs
    )


def trail_text(history: History) -> str:
    """Return the summarized walk, or a sentence that it has not started."""
    if not history.blocks and not history.dropped:
        return "The walk has not started."
    lines = list(history.blocks)
    # The expert must know that the trail does not begin at the start.
    if history.dropped:
        lines.insert(0, f"({history.dropped} earlier steps left out)")
    return "\n".join(lines)


# The decision: several predictions, and a discussion if they differ.

STOP = "Stop"
FUSION = AnswerForm(Field("Thought", "the one thought, in a few sentences"))


@dataclass(frozen=True)
class Opinion:
    """A proposed move (a direction's number, or ``Stop``), and its thought."""

    choice: str
    thought: str

    def __str__(self) -> str:
        return f"Thought: {self.thought} Prediction: {self.choice}"


def read_opinion(answer: str | Reply, legal: Collection[str]) -> Opinion | Rejection:
    """Parse a prediction: a JSON object, or lines ``Thought:`` and ``Prediction:``."""
    lacking = "'Prediction:' with a direction's number or Stop"
    choice = read_choice(answer, legal, (), lacking, "a direction with an exit")
    if isinstance(choice, Rejection):
        return choice
    return Opinion(choice.choice or STOP, choice.thought)


def group_opinions(opinions: Sequence[Opinion]) -> list[list[Opinion]]:
    """Group opinions by choice, most votes first; ties are in order of appearance."""
    groups: dict[str, list[Opinion]] = {}
    for opinion in opinions:
        groups.setdefault(opinion.choice, []).append(opinion)
    return sorted(groups.values(), key=len, reverse=True)


async def fuse(meeting: Meeting, groups: Sequence[Sequence[Opinion]]) -> list[Opinion]:
    """Fuse each group into one opinion, concurrently and in the groups' order.

    The opinions of a group have the same choice. A single thought is not fused; where the expert's
    answer is invalid, the first thought of the group stands for all.
    """

    async def fuse_group(group: Sequence[Opinion]) -> Opinion:
        """Return one opinion for a group that agrees, with the thoughts fused."""
        if len(group) == 1:
            return group[0]
        thoughts = "\n".join(
            f"({n}) {opinion.thought}" for n, opinion in enumerate(group, 1)
        )
        # The third argument notes what replaces an invalid answer.
        fused = await meeting.form(
            "fusion", FUSION, "only the first thought", thoughts=thoughts
        )
        # The choice is the group's already, whatever the fusion says.
        thought = group[0].thought
        if fused:
            thought = str(fused["thought"])
        return Opinion(group[0].choice, thought)

    return await ask_all([fuse_group(group) for group in groups])


async def test_opinions(
    meeting: Meeting,
    opinions: Sequence[Opinion],
    instruction: str,
    scene: str,
    thought_length: int,
) -> Opinion:
    """Return the decision tester's choice among opinions, those with most votes first; if it fails,
    the first one."""
    # The tester may choose only among what was proposed, not any direction.
    choices = [opinion.choice for opinion in opinions]
    listed = "\n".join(f"({n}) {opinion}" for n, opinion in enumerate(opinions, 1))
    prompts = meeting.prompts
    decoding = "constrained" if meeting.constrained else "free"
    fixed = system(prompts.fill("testing", decoding=decoding))
    question = prompts.fill(
        "testing_question", instruction=instruction, scene=scene, pairs=listed
    )
    answer = AnswerForm(Field("Thought"), Field("Prediction", choices=choices))

    def read_offered(text: str) -> Opinion | None:
        """Return an opinion that chooses one of the offered directions, else None."""
        opinion = read_opinion(text, choices)
        if isinstance(opinion, Opinion) and opinion.choice in choices:
            return opinion
        return None

    recovery = "the prediction with most votes"
    messages = [fixed, user(question)]
    schema = answer.schema(thought_length)
    chosen = await meeting.ask("testing", messages, schema, read_offered, recovery)
    return chosen or opinions[0]
