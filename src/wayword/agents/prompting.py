"""Prompts: texts with slots, several questions at once, and chats that only grow.

Texts are files in a folder ``prompts`` next to the agent, with ``{slots}``, replaceable by a
user's own folder.

Prompts that extend each other let a server or the local model reuse what it has already read, so
a step is written once and never rewritten. Where the token budget forces a cut, the older half of
the steps goes at once: the next cut, and with it the next loss of the shared prefix, is then far
away.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

from annotated_types import Ge, Le

from wayword.agents.answers import Reply, replies
from wayword.core.agent import Toolkit
from wayword.core.episode import Json
from wayword.core.errors import UsageError, WaywordError, suggest
from wayword.core.model import Message, Prompt, Sampling, system, user
from wayword.core.trajectory import HISTORY_DROPPED

SLOT = re.compile(r"\{([a-z_]+)\}")

NotNegative = Annotated[int, Ge(0)]
Temperature = Annotated[float, Ge(0.0), Le(10.0)]


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """Settings of the agents that write a prompt at every step.

    ``context``: tokens that a prompt may take before old steps are dropped; 0 for what the model
    holds. ``thought_length``: characters of each text in a constrained answer; 0 for as many as
    leave the answer within ``max_tokens``. ``max_tokens``: of every answer; 0 for the agent's
    default, or up to 2,000 with a model of a large window. ``step_limit``: the number of steps
    after which the episode ends is ``stated`` once; ``counted``, so that each step also says how
    many are left; or ``hidden``, as in the papers. ``prompts``: a folder of texts to use instead
    of the shipped ones.
    """

    context: NotNegative = 0
    thought_length: NotNegative = 0
    max_tokens: NotNegative = 0
    temperature: Temperature = 0.0
    step_limit: Literal["stated", "counted", "hidden"] = "stated"
    prompts: str = ""


class Prompts:
    """The texts of one agent, in the folder next to its module: ``Prompts(__file__)["principle"]``.

    ``folder`` (the setting ``prompts=DIR``) replaces any text by the file of the same name in it.
    """

    def __init__(self, module: str, folder: str = "", subfolder: str = "prompts") -> None:
        self._shipped_folder, self._custom_folder = Path(module).parent / subfolder, folder
        if folder and not Path(folder).is_dir():
            raise UsageError(f"prompts={folder}: no such folder")
        names = list(_texts(self._shipped_folder))
        for path in sorted(Path(folder).glob("*.txt")) if folder else ():
            if path.stem not in names:  # misspelt, it would leave the shipped text in place
                raise UsageError(
                    f"{path}: {self._shipped_folder.parent.name} has no prompt of that name; "
                    f"{suggest(path.stem, names)}"
                )

    def is_custom(self, name: str) -> bool:
        """True if the text is the folder's."""
        return bool(self._custom_folder) and Path(self._custom_folder, f"{name}.txt").is_file()

    def __getitem__(self, name: str) -> str:
        if self.is_custom(name):
            custom = Path(self._custom_folder, f"{name}.txt")
            return custom.read_text(encoding="utf-8").strip("\n")
        return _texts(self._shipped_folder)[name]

    def get(self, name: str) -> str:
        """The text, empty where there is none of that name."""
        return self[name] if name in _texts(self._shipped_folder) else ""

    def fill(self, name: str, **slots: str) -> str:
        """The text with its slots filled in one pass, so that a value is never read as a slot."""
        text = self[name]
        missing = set(SLOT.findall(text)) - set(slots)
        if missing:
            agent = self._shipped_folder.parent.name
            raise UsageError(
                f"prompt {agent}/{name}.txt has unknown slots {sorted(missing)}; "
                f"there are: {', '.join(sorted(slots))}"
            )
        return SLOT.sub(lambda match: slots[match.group(1)], text)


class StepCount:
    """The steps of an episode, as ``settings.step_limit`` lets the prompts state them. A text is
    empty where the limit is hidden or not known."""

    def __init__(self, toolkit: Toolkit, prompts: Prompts, settings: PromptSettings) -> None:
        self._prompts, self._shown = prompts, settings.step_limit
        self._limit = 0 if self._shown == "hidden" else toolkit.max_steps
        self.taken = 0

    def limit_text(self, name: str) -> str:
        return self._prompts.fill(name, limit=str(self._limit)) if self._limit else ""

    def left_text(self, name: str) -> str:
        left = max(1, self._limit - self.taken)  # a resumed run may allow more than its first part
        is_counted = self._limit and self._shown == "counted"
        return self._prompts.fill(name, left=str(left)) if is_counted else ""


@cache
def _texts(folder: Path) -> Mapping[str, str]:
    return {t.stem: t.read_text(encoding="utf-8").strip("\n") for t in folder.glob("*.txt")}


def quote_safe(text: str) -> str:
    """A text on one line, its quotes not to be confused with the ones around it."""
    return " ".join(text.split()).replace('"', "'")


def joined(*texts: str, gap: str = "\n\n") -> str:
    """The texts that are not empty, one after the other."""
    return gap.join(filter(None, texts))


# Several questions at once, so that they take one round trip, and none outlives the others.

A = TypeVar("A")
B = TypeVar("B")


async def ask_both(first: Coroutine[Any, Any, A], second: Coroutine[Any, Any, B]) -> tuple[A, B]:
    """The answers of both, as in ``ask_all``."""
    return cast("tuple[A, B]", tuple(await ask_all([first, second])))


async def ask_all(questions: Sequence[Coroutine[Any, Any, A]]) -> list[A]:
    """The answers of all, in order. Where one fails the rest are cancelled, and it is raised.

    A bare ``gather`` would leave them running: their tokens would be in no trajectory.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(question) for question in questions]
    except* WaywordError as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]


# The past of an episode, and how many tokens a prompt and an answer may take.

DEFAULT_CONTEXT = 7000  # tokens of a prompt where neither a setting nor the model says how many
LONGEST_ANSWER = 2000
"""Tokens of an answer that is enough for any thought; models of a large window get no more."""


class History:
    """The past of one episode as text blocks, oldest first; ``dropped`` counts those left out."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self.dropped = 0

    def add(self, block: str) -> None:
        self._blocks.append(block)

    @property
    def blocks(self) -> list[str]:
        return self._blocks[self.dropped :]

    def gap_text(self, prompts: Prompts, name: str) -> str:
        """The text for the steps left out, empty where there are none."""
        return prompts.fill(name, count=str(self.dropped)) if self.dropped else ""

    def fit(self, characters: int) -> int:
        """Drop the oldest steps until the rest has at most ``characters``; the number dropped."""
        dropped_before = self.dropped
        while self.blocks and sum(map(len, self.blocks)) > characters:
            self.dropped += max(1, len(self.blocks) // 2)
        return self.dropped - dropped_before


class PromptBudget:
    """Tokens that the prompts (``context``) and answers (``answer``) of one episode may take: the
    settings, or 0 for as many as the main model's window allows: 7/8 of it, as tokens are only
    estimated before the model has counted some, and an answer at least ``default_answer``.

    ``is_limited``: a setting or the model says how much a prompt may take. ``characters_per_token``
    is learnt from what the model itself counts; 3 until it has.
    """

    def __init__(
        self,
        toolkit: Toolkit,
        context: int,
        answer: int,
        default_answer: int = 400,
        default_context: int = DEFAULT_CONTEXT,
    ) -> None:
        self._toolkit = toolkit
        model = toolkit.models.get("main")
        window = 0 if model is None else model.window
        self.is_limited = bool(context or window)
        self.context = context or window * 7 // 8 or default_context
        self.answer = answer or max(default_answer, min(LONGEST_ANSWER, window // 32))
        self.characters_per_token = 3.0

    def learn(self, characters: int, tokens: int) -> None:
        if tokens > 0 and characters > 0:
            self.characters_per_token = characters / tokens

    def fit(self, history: History, fixed_length: int, reserve: int) -> None:
        """Drop steps, with a note, until they fit next to ``fixed_length`` characters and a
        ``reserve`` of tokens."""
        room = int((self.context - reserve) * self.characters_per_token) - fixed_length
        if dropped := history.fit(max(0, room)):
            self._toolkit.note(HISTORY_DROPPED, steps=dropped, context=self.context)

    async def ask(
        self,
        prompt: Prompt,
        schema: Mapping[str, Json] | None,
        temperature: float,
        stop: tuple[str, ...] = (),
        role: str = "main",
        samples: int = 1,
    ) -> list[Reply]:
        """The model's replies, of at most ``answer`` tokens each."""
        sampling = Sampling(
            temperature=temperature,
            max_tokens=self.answer,
            stop=stop,
            n=samples,
            json_schema=schema,
            seed=self._toolkit.rng.getrandbits(31) if temperature > 0 else None,
        )
        completion = await self._toolkit.model(role).complete(prompt, sampling)
        messages = [user(prompt)] if isinstance(prompt, str) else prompt
        if not any(message.images for message in messages):  # their tokens are not those of text
            characters = sum(len(message.content) for message in messages)
            self.learn(characters, completion.usage.prompt)
        return replies(completion, sampling)


# The same as a chat.

Turn = tuple[str, str]  # a message to the agent, and its answer

OVERHEAD = 24  # characters that a chat template adds to a message, about


class Conversation:
    """Episode as messages: system, turns of examples, the opening, one turn per step.

    ``opening`` is prepended to the oldest turn kept, in the same message, so that roles always
    alternate.
    """

    def __init__(self, fixed: str, opening: str, examples: Sequence[Turn] = ()) -> None:
        self._fixed, self._opening = fixed, opening
        self.examples = list(examples)
        self.turns: list[Turn] = []
        self.history = History()

    def add(self, message: str, answer: str) -> None:
        self.turns.append((message, answer))
        self.history.add(message + answer + " " * (2 * OVERHEAD))

    def length(self, message_text: str) -> int:
        """Characters of the prompt that ends in ``message_text``, its steps left out."""
        examples = sum(len(text) + len(answer) + 2 * OVERHEAD for text, answer in self.examples)
        return len(self._fixed) + len(self._opening) + len(message_text) + examples + 3 * OVERHEAD

    def messages(self, message_text: str, gap_note: str = "") -> list[Message]:
        """The prompt. ``gap_note`` says that steps were left out, where they were."""
        turns = [*self.turns[self.history.dropped :], (message_text, "")]
        first = "\n\n".join(part for part in (self._opening, gap_note, turns[0][0]) if part)
        turns[0] = first, turns[0][1]
        chat = [system(self._fixed)]
        for message, answer in (*self.examples, *turns):
            chat += [user(message), Message("assistant", answer)]
        return chat[:-1]
