"""Concurrent questions, token budgets, and chats that only grow.

A step of a chat is written once and never changed: prompts that extend each other let
a server or the local model reuse the shared prefix. If the token budget forces a cut, the oldest
steps are dropped; the older half of them at once if the model reuses prefixes, so that the prefix
is rarely lost.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast

from annotated_types import Ge, Le

from wayword.agents.answers import Reply, replies
from wayword.agents.pages import Prompts
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode, JsonObject
from wayword.core.errors import WaywordError
from wayword.core.model import (
    Completion,
    Image,
    Message,
    Prompt,
    Sampling,
    Tool,
    ToolCall,
    Usage,
    system,
    user,
)
from wayword.core.sight import Eyes, Mode, PictureView
from wayword.core.trajectory import HISTORY_DROPPED
from wayword.core.visible import single_line
from wayword.models.parts.calling import calls_in, in_words

NotNegative = Annotated[int, Ge(0)]
# Far above what servers accept, which is 2 at most: a typing error fails at once.
Temperature = Annotated[float, Ge(0.0), Le(10.0)]


@dataclass(frozen=True)
class PromptSettings:
    """Settings of agents that write a prompt at every step.

    ``context``: maximum tokens of a prompt; older steps are dropped to stay below. 0: as many as
    fit the model's context window. ``thought_length``: maximum characters of each text in a
    constrained answer; 0: as many as ``max_tokens`` allows. ``max_tokens``: maximum tokens of an
    answer; 0: the agent's default, or up to 2,000 if the context window is large. ``step_limit``:
    the prompt mentions the maximum number of steps: ``stated`` (once), ``counted`` (also the number
    of steps left, at every step) or ``hidden`` (as in the papers). ``prompts``: a folder of texts
    that replace the shipped ones.
    """

    context: NotNegative = 0
    thought_length: NotNegative = 0
    max_tokens: NotNegative = 0
    temperature: Temperature = 0.0
    step_limit: Literal["stated", "counted", "hidden"] = "stated"
    prompts: str = ""


class StepCount:
    """Step limit and steps left as shown in prompts; 0 if hidden or unknown.

    ``needs_stop``: an episode without a stop fails. ``taken``: the number of steps so
    far, which the agent counts.
    """

    def __init__(self, toolkit: Toolkit, settings: PromptSettings) -> None:
        self._shown = settings.step_limit
        self.limit = 0 if self._shown == "hidden" else toolkit.max_steps or 0
        self.needs_stop = toolkit.needs_stop
        self.taken = 0

    def left(self, tried: int = 0) -> int:
        """Return the steps left if prompts count them, else 0; at least 1.

        ``tried`` are further steps, taken in copies of the world.
        """
        if not self.limit or self._shown != "counted":
            return 0
        # a resumed episode may already have more steps than the limit of this run
        return max(1, self.limit - self.taken - tried)


def quote_safe(text: str) -> str:
    """Return a text on one line with single quotes, to be put between double quotes."""
    return single_line(text).replace('"', "'")


def joined(*texts: str, gap: str = "\n\n") -> str:
    """Join the texts that are not empty."""
    return gap.join(filter(None, texts))


# Concurrent questions.

A = TypeVar("A")
B = TypeVar("B")


async def ask_both(
    first: Coroutine[Any, Any, A], second: Coroutine[Any, Any, B]
) -> tuple[A, B]:
    """Return two answers of different types; otherwise as :func:`ask_all`."""
    return cast("tuple[A, B]", tuple(await ask_all([first, second])))


async def ask_all(questions: Sequence[Coroutine[Any, Any, A]]) -> list[A]:
    """Ask concurrently and return the answers in order.

    If one fails, cancel the others, whose tokens no trajectory would count, and raise
    its ``WaywordError``.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(question) for question in questions]
    except* WaywordError as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]


# The history of an episode, and the token budgets of prompts and answers.

# Tokens of a prompt if neither a setting nor the model gives a limit
DEFAULT_CONTEXT = 7000
LONGEST_ANSWER = 2000  # maximum tokens of an answer; even long thoughts need fewer


class History:
    """The steps of an episode as texts, oldest first; the first ``dropped`` ones are left out.

    Steps are never dropped in the middle: prompts keep the latest ones.
    """

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self.dropped = 0

    def add(self, block: str) -> None:
        """Add the text of a step."""
        self._blocks.append(block)

    @property
    def blocks(self) -> list[str]:
        """The steps that are not dropped."""
        return self._blocks[self.dropped :]

    def gap_text(self, prompts: Prompts) -> str:
        """Return the note on dropped steps, empty if none were dropped."""
        if not self.dropped:
            return ""
        return prompts.fill("dropped", count=self.dropped)

    def fit(self, characters: int, halve: bool) -> int:
        """Drop the oldest steps until the rest has at most ``characters``; return how many.

        With ``halve``, half of the steps at a time.
        """
        dropped_before = self.dropped
        while self.blocks and sum(map(len, self.blocks)) > characters:
            self.dropped += max(1, len(self.blocks) // 2) if halve else 1
        return self.dropped - dropped_before


@dataclass(frozen=True, slots=True)
class Called:
    """An answer to a request for a tool call: its message, the calls, and its text. ``worded``: the
    server has no tool calls, and was asked in words."""

    message: Message
    calls: tuple[ToolCall, ...]
    reply: Reply
    worded: bool = False


class PromptBudget:
    """Maximum tokens of the prompts (``context``) and answers (``answer``) of an episode.

    0 means as many as the main model's context window allows: 7/8 of it for a prompt, because
    token counts are estimates, and 1/8 for an answer (of ``context`` if set), from
    ``default_answer`` to 2,000.
    ``is_limited``: a setting or the model limits the prompt. ``characters_per_token`` is 3 at
    first, then measured on the model's own counts, as are the tokens of a picture, by its size at
    first. ``reuses_prefix``: the model has reported tokens
    from a prefix cache.
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
        main = toolkit.models.get("main")
        window = 0 if main is None else main.window
        self.is_limited = bool(context or window)
        self.context = context or window * 7 // 8 or default_context
        # A short context must not be reserved for the answer alone.
        share = (context or window) // 8
        self.answer = answer or max(default_answer, min(LONGEST_ANSWER, share))
        self.characters_per_token = 3.0
        self.reuses_prefix = False
        self._picture_tokens: float | None = None  # measured

    def learn(self, characters: int, usage: Usage) -> None:
        """Learn from the server's count of a prompt's tokens, and of those it reused.

        An estimate, or the count of a prompt that the server has shortened, teaches
        nothing.
        """
        self.reuses_prefix |= usage.reused > 0
        if usage.prompt > 0 and characters > 0 and not usage.estimated:
            self.characters_per_token = characters / usage.prompt

    def learn_pictures(self, characters: int, pictures: int, usage: Usage) -> None:
        """Measure the tokens of a picture, as what the text leaves of the model's count."""
        if usage.prompt > 0 and not usage.estimated:
            texts = characters / self.characters_per_token
            self._picture_tokens = max(0.0, usage.prompt - texts) / pictures

    def look_tokens(self, eyes: Eyes | None) -> int:
        """Estimated tokens of one look: measured, or else by size and the model's family. 0 without
        eyes."""
        if eyes is None:
            return 0
        each = self._picture_tokens
        if each is None:
            rows, columns = eyes.settings.size
            each = self._toolkit.model("main").pictures.of(columns, rows)
        return math.ceil(each * len(eyes.views()))

    def fit(self, history: History, fixed_length: int, reserve: int) -> None:
        """Drop steps until the rest fits the context with the fixed part; a note counts them.

        ``fixed_length`` is in characters, ``reserve`` (for the answer and pictures) in
        tokens.
        """
        room = int((self.context - reserve) * self.characters_per_token) - fixed_length
        if dropped := history.fit(max(0, room), self.reuses_prefix):
            self._toolkit.note(HISTORY_DROPPED, steps=dropped, context=self.context)

    async def ask(
        self,
        prompt: Prompt,
        schema: JsonObject | None,
        temperature: float,
        stop: tuple[str, ...] = (),
        role: str = "main",
        samples: int = 1,
    ) -> list[Reply]:
        """Ask the model of ``role``, and return ``samples`` replies.

        ``schema`` is that of a JSON answer, None for a free one. Above temperature 0,
        the seed comes from the episode's generator, so that runs can be repeated.
        """
        sampling = Sampling(
            temperature=temperature,
            max_tokens=self.answer,
            stop=stop,
            n=samples,
            json_schema=schema,
            seed=self._toolkit.rng.getrandbits(31) if temperature > 0 else None,
        )
        completion = await self._complete(prompt, sampling, role)
        return replies(completion, sampling)

    async def call(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        temperature: float,
        parallel: bool = False,
        words: bool = False,
    ) -> Called:
        """Ask the main model to call a tool.

        With ``words``, and from a model without tool calls, a JSON object is requested. A call may
        also be read from another text: the message has no calls then, and is answered by a user's.
        """
        sampling = Sampling(
            temperature=temperature,
            max_tokens=self.answer,
            seed=self._toolkit.rng.getrandbits(31) if temperature > 0 else None,
            tools=tuple(tools),
            parallel_calls=parallel,
        )
        if words or not self._toolkit.model("main").tools:
            messages, sampling = in_words(messages, sampling)
        completion = await self._complete(messages, sampling)
        reply = replies(completion, sampling)[0]
        # A result can only be sent to a call that has an ID.
        if completion.calls and all(call.id for call in completion.calls):
            return Called(completion.message, completion.calls, reply)
        # Some models write calls into their text, in the format of their training.
        calls = calls_in(reply.text, [tool.name for tool in tools])
        message = Message("assistant", reply.text.strip() or NO_ANSWER)
        return Called(message, calls, reply, "tools" in completion.unsent)

    async def _complete(
        self, prompt: Prompt, sampling: Sampling, role: str = "main"
    ) -> Completion:
        """Ask a model, and learn from its counts unless the prompt has pictures."""
        completion = await self._toolkit.model(role).complete(prompt, sampling)
        messages: Sequence[Message]
        if isinstance(prompt, str):
            messages = [user(prompt)]
        else:
            messages = prompt
        characters = sum(len(message.text) for message in messages)
        pictures = sum(len(message.images) for message in messages)
        # Images count as tokens, too
        if pictures:
            self.learn_pictures(characters, pictures, completion.usage)
        else:
            self.learn(characters, completion.usage)
        return completion


def pictures_around(eyes: Eyes) -> tuple[str, tuple[Image, ...]]:
    """Return the labels of an actor's pictures as a prompt lists them, and the pictures."""
    images = tuple(image for _, image in eyes.look())
    return picture_labels(eyes.views()), images


def picture_labels(views: Sequence[PictureView]) -> str:
    """Return the labels of pictures as a prompt lists them."""
    # "image": a picture can be an object of the building
    labels = [f"image {number}: {view.label}" for number, view in enumerate(views, 1)]
    return "; ".join(labels)


class PromptAgent(Agent):
    """Base of agents that write a prompt at every step.

    Settings are those of :class:`PromptSettings` and a ``decoding``. ``source_file`` is
    the module next to their ``page``, ``answer_tokens`` the maximum tokens of an answer
    if ``max_tokens`` is 0.
    """

    needs_model = True
    source_file: ClassVar[str]
    page: ClassVar[str] = "prompt.jinja"
    answer_tokens: ClassVar[int] = 400

    def __init__(self, settings: Any, toolkit: Toolkit) -> None:
        self._settings = settings
        self._toolkit = toolkit
        limits = settings.context, settings.max_tokens, self.answer_tokens
        self._budget = PromptBudget(toolkit, *limits)
        self._prompts = Prompts(self.source_file, settings.prompts, self.page)
        self._steps = StepCount(toolkit, settings)
        self._history = History()
        self._constrained = settings.decoding == "constrained"
        self._episode: Episode
        self._eyes = toolkit.eyes
        # A slot of pages: how the prompt shows the world.
        self._sight: Mode = "words"
        self._picture_history = 0
        if toolkit.eyes is not None:
            self._sight = toolkit.eyes.settings.eyes
            self._picture_history = toolkit.eyes.settings.picture_history

    async def begin(self, episode: Episode) -> None:
        """Keep the episode, and count its steps from 0."""
        self._episode = episode
        self._steps.taken = 0

    def _pictures_around(self) -> tuple[str, tuple[Image, ...]]:
        """Return the labels of the pictures as the prompt lists them, and the pictures; nothing in
        words."""
        if self._eyes is None:
            return "", ()
        return pictures_around(self._eyes)


# An episode as a chat.

NO_ANSWER = (
    "(no answer)"  # of the model, in the chat: no server accepts an empty message
)

Turn = tuple[str, str]  # a message to the agent, and its answer
Look = tuple[int, str, tuple[Image, ...]]  # a turn's number, a text, and pictures

OVERHEAD = 24  # approximate number of characters that a chat template adds to a message


@dataclass(slots=True)
class Exchange:
    """The messages of a turn with tool calls, the assistant's last.

    ``results`` are those of its calls, in order. None stands for the next message of the episode,
    which is the result of the call that took the turn.
    """

    messages: list[Message] = field(default_factory=list)
    results: list[tuple[ToolCall, str | None]] = field(default_factory=list)

    @property
    def length(self) -> int:
        """The characters of its messages and results, about as a server counts them."""
        characters = sum(
            len(each.verbatim or each.text) + OVERHEAD for each in self.messages
        )
        return characters + sum(len(text or "") for _, text in self.results)

    def answered(self, message_text: str) -> list[Message]:
        """Return the results as messages, with the next message of the episode.

        A server without tool calls gets them in one message of the user.
        """
        texts = [message_text if text is None else text for _, text in self.results]
        if not (self.messages and self.messages[-1].calls):
            return [user(joined(*texts) or message_text)]
        messages = []
        for (call, _), text in zip(self.results, texts, strict=True):
            messages.append(Message("tool", text, call_id=call.id, tool=call.name))
        return messages


class Conversation:
    """An episode as chat messages: the system message, turns of examples, and a turn per step.

    The message of the oldest turn that is not dropped begins with ``opening``, so that roles
    always alternate; ``join`` puts opening and message together. ``fixed`` is the system message,
    which is left out if empty. The pictures of the latest ``most_looks`` turns with pictures stay.
    """

    def __init__(
        self,
        fixed: str,
        opening: str,
        examples: Sequence[Turn] = (),
        join: Callable[[str, str], str] = joined,
        most_looks: int = 0,
    ) -> None:
        self._fixed = fixed
        self._opening = opening
        self._join = join
        self.examples = list(examples)
        self.turns: list[Turn] = []
        self._exchanges: dict[int, Exchange] = {}  # by the number of the turn
        self._looks: deque[Look] = deque(maxlen=most_looks)
        self.history = History()

    def add(self, message: str, answer: str, exchange: Exchange | None = None) -> None:
        """Add a turn; ``exchange`` holds its messages if tools were called."""
        gap = 2 * OVERHEAD
        if exchange is not None:
            self._exchanges[len(self.turns)] = exchange
            gap += exchange.length
        self.turns.append((message, answer))
        self.history.add(message + answer + " " * gap)

    def keep_look(self, text: str, images: tuple[Image, ...]) -> None:
        """Keep the pictures of the latest turn, with the text that lists them."""
        self._looks.append((len(self.turns) - 1, text, images))

    @property
    def looks(self) -> dict[int, tuple[str, tuple[Image, ...]]]:
        """The kept pictures of turns that are not dropped, by the number of the turn."""
        first = self.history.dropped
        return {
            number: (text, images)
            for number, text, images in self._looks
            if number >= first
        }

    def length(self, message_text: str) -> int:
        """Return the characters of a prompt with this message, without its history."""
        # The system message, the opening and the message
        total = len(self._fixed) + len(self._opening) + len(message_text) + 3 * OVERHEAD
        for text, answer in self.examples:
            total += len(text) + len(answer) + 2 * OVERHEAD
        return total

    def messages(self, message_text: str, gap_note: str = "") -> list[Message]:
        """Return the prompt: the chat so far, and the message that is to be answered.

        ``gap_note`` says that steps were dropped; it follows the opening.
        """
        first = self.history.dropped
        turns = [*self.turns[first:], (message_text, "")]
        opened = self._join(self._opening, joined(gap_note, turns[0][0]))
        turns[0] = opened, turns[0][1]
        chat = [system(self._fixed)] if self._fixed else []
        for message, answer in self.examples:
            chat += [user(message), Message("assistant", answer)]
        before: Exchange | None = None  # of a turn whose calls the next message answers
        looks = self.looks
        for number, (message, answer) in enumerate(turns, first):
            if number in looks:
                text, images = looks[number]
                chat.append(Message("user", joined(message, text, gap="\n"), images))
            else:
                chat += before.answered(message) if before else [user(message)]
            before = self._exchanges.get(number)
            chat += before.messages if before else [Message("assistant", answer)]
        return chat[:-1]
