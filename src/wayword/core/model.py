"""Model: the language model behind an agent.

It has two methods. ``complete`` continues a conversation; ``choose`` ranks a closed list of options
by their probability as the next words.
"""

from __future__ import annotations

import base64
import math
import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, get_args

from wayword.core.episode import Json, NoSettings

_TEXT_PIECES = re.compile(r"[A-Za-z]+|[0-9]+|\s+|[^A-Za-z0-9\s]+")
_MESSAGE_TOKENS = 4  # tokens that mark a message's role, beginning and end

_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of frames; the three others are of tables and extensions."""

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Image:
    """A picture inside a message: encoded bytes (PNG or JPEG) and their media type.

    ``pixels`` is the hash of a picture that was drawn from a world's state. Records keep it in
    place of the bytes: replaying the episode draws the picture again.
    """

    data: bytes
    media_type: str = "image/jpeg"
    pixels: str = ""

    @property
    def url(self) -> str:
        """The picture as a ``data:`` address."""
        return f"data:{self.media_type};base64,{base64.b64encode(self.data).decode()}"

    @property
    def size(self) -> tuple[int, int] | None:
        """(columns, rows) as the header of a PNG or JPEG file states them, else None.

        Source: PNG (W3C, third edition), 11.2.1; JPEG (ITU-T T.81), B.2.2.
        """
        data = self.data
        if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) >= 24:
            columns, rows = struct.unpack(">II", data[16:24])
            return int(columns), int(rows)
        # Segments of a JPEG file, each with its marker and length, up to the frame's header.
        at = 2
        while data[:2] == b"\xff\xd8" and at + 9 <= len(data) and data[at] == 0xFF:
            marker = data[at + 1]
            if marker in _JPEG_FRAMES:
                rows, columns = struct.unpack(">HH", data[at + 5 : at + 9])
                return int(columns), int(rows)
            at += 2 + int(struct.unpack(">H", data[at + 2 : at + 4])[0])
        return None


@dataclass(frozen=True, slots=True)
class PictureTokens:
    """Tokens of a picture, as a family of models counts them by its size.

    The picture is scaled down until its shorter side has ``short`` pixels (0: it stays), and cut
    into squares of ``side`` pixels, which take ``each`` tokens, at most ``most`` together (0: no
    limit). ``base`` is added. Without a ``side``, every picture takes ``base``.

    >>> PictureTokens(side=28).of(480, 360), PictureTokens(512, each=170, base=85).of(480, 360)
    (234, 255)
    """

    side: int = 0
    each: float = 1.0
    base: int = 0
    most: int = 0
    short: int = 0

    def of(self, columns: int, rows: int) -> int:
        """Return the tokens of a picture of this size."""
        if not self.side:
            return self.base
        scale = 1.0
        if self.short:
            scale = min(1.0, self.short / max(1, min(columns, rows)))
        across = math.ceil(columns * scale / self.side)
        down = math.ceil(rows * scale / self.side)
        tokens = math.ceil(across * down * self.each)
        if self.most:
            tokens = min(tokens, self.most)
        return self.base + tokens

    def of_prompt(self, prompt: Prompt) -> int:
        """Return the tokens of all pictures of a prompt; one of unknown size counts as in
        ``ASSUMED``."""
        if isinstance(prompt, str):
            return 0
        tokens = 0
        for message in prompt:
            for image in message.images:
                size = image.size
                tokens += ASSUMED.base if size is None else self.of(*size)
        return tokens


ASSUMED = PictureTokens(base=1000)
"""Of models whose family is not known."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call. ``parameters`` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's call of a tool. ``arguments`` is the JSON text that it wrote, which may be
    malformed."""

    id: str
    name: str
    arguments: str

    def __str__(self) -> str:
        return f"{self.name}({self.arguments})"


@dataclass(frozen=True, slots=True)
class Message:
    """A turn of the conversation. ``images`` follow the text.

    ``calls`` are the tool calls of the assistant. ``verbatim`` is its message as the server sent
    it, as JSON text, and goes back unchanged: it may hold signatures without which the server
    refuses the conversation. A message of the role ``tool`` is the result of the call ``call_id``
    of the function ``tool``.
    """

    role: Role
    content: str
    images: tuple[Image, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    verbatim: str = ""
    call_id: str = ""
    tool: str = ""

    @property
    def text(self) -> str:
        """The content, then the calls, a line each."""
        return "\n".join(filter(None, [self.content, *map(str, self.calls)]))

    @property
    def parts(self) -> Json:
        """The content in the chat format of OpenAI: a text or, with pictures, a list of parts."""
        if not self.images:
            return self.content
        return [{"type": "text", "text": self.content}, *image_parts(self.images)]


def image_parts(images: Sequence[Image]) -> list[Json]:
    """Return pictures as parts of a message in the chat format of OpenAI."""
    return [{"type": "image_url", "image_url": {"url": image.url}} for image in images]


def user(content: str) -> Message:
    """Return a message from the user."""
    return Message("user", content)


def system(content: str) -> Message:
    """Return a message from the system."""
    return Message("system", content)


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters of a request. Defaults are greedy, one sample.

    At most one of ``json_schema``, ``grammar`` (GBNF) and ``choices`` (a closed list) constrains
    the answer. ``logprobs`` requests the log-probabilities of that many alternatives per token, if
    the backend supports it. ``seed`` makes sampling repeatable if the backend honors it.

    With ``tools``, the answer is a call of one of them, or of several with ``parallel_calls``. They
    go with one sample and no constraint, to a model with ``Model.tools``.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 512
    stop: tuple[str, ...] = ()
    n: int = 1
    seed: int | None = None
    json_schema: Mapping[str, Json] | None = None
    grammar: str | None = None
    choices: tuple[str, ...] | None = None
    logprobs: int = 0
    tools: tuple[Tool, ...] = ()
    parallel_calls: bool = False

    def __post_init__(self) -> None:
        constraints = [
            c for c in (self.json_schema, self.grammar, self.choices) if c is not None
        ]
        if len(constraints) > 1:
            raise ValueError(
                "Sampling takes at most one of json_schema, grammar and choices"
            )
        if self.tools and (constraints or self.n > 1):
            raise ValueError("Sampling takes tools without a constraint, and with n=1")


PRICED_TIERS = ("flex", "batch", "priority")
"""Service tiers with prices of their own."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call.

    ``prompt`` counts the full prompt, ``reused`` the part of it from the provider's prefix cache
    and ``written`` the part that was written to it, of which ``written_hour`` stays for an hour;
    ``completion`` the generated tokens of all samples, ``reasoning`` the part of them before the
    answer. ``estimated`` marks counts estimated from the characters: the backend gave none.
    ``tier`` is the service tier that is billed, if it is one of ``PRICED_TIERS``. Usages of two
    tiers count as the dearer of them.
    """

    prompt: int = 0
    completion: int = 0
    reused: int = 0
    reasoning: int = 0
    estimated: bool = False
    written: int = 0
    written_hour: int = 0
    tier: str = ""

    def __add__(self, other: Usage) -> Usage:
        tier = self.tier or other.tier
        if self and other and self.tier != other.tier:
            tier = "priority" if "priority" in (self.tier, other.tier) else ""
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.reused + other.reused,
            self.reasoning + other.reasoning,
            self.estimated or other.estimated,
            self.written + other.written,
            self.written_hour + other.written_hour,
            tier,
        )

    def __bool__(self) -> bool:
        return bool(self.prompt or self.completion)


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A generated token, its log-probability, and the requested alternatives."""

    token: str
    logprob: float
    alternatives: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer: ``texts`` holds ``n`` samples, ``finish`` the reason why each one ended.

    ``finish`` entries are ``"stop"``, ``"length"`` or the backend's own word. ``cost`` is in US
    dollars, None if no price is known. ``seconds`` is the call's wall time. ``cached`` marks an
    answer from the response cache, which cost nothing. ``reasoning`` holds the reasoning text
    before each sample, if the backend returns it; ``texts`` never include it. ``unsent`` names the
    fields of ``Sampling`` that the server or the settings rule out, or that were stated only in the
    prompt. ``answered_by`` is ``small`` or ``large`` for a cascade's answer. ``calls`` are tool
    calls, and ``verbatim`` the server's message with them (:class:`Message`).
    """

    texts: tuple[str, ...]
    finish: tuple[str, ...] = ()
    usage: Usage = Usage()
    logprobs: tuple[TokenLogprob, ...] = ()
    cost: float | None = None
    seconds: float = 0.0
    cached: bool = False
    reasoning: tuple[str, ...] = ()
    unsent: tuple[str, ...] = ()
    answered_by: str = ""
    calls: tuple[ToolCall, ...] = ()
    verbatim: str = ""

    @property
    def text(self) -> str:
        return self.texts[0]

    @property
    def message(self) -> Message:
        """The answer as a message of the conversation."""
        return Message("assistant", self.text, (), self.calls, self.verbatim)


@dataclass(frozen=True, slots=True)
class Choice:
    """A ranking: the log-probability of each option, in the order they were offered.

    ``picked`` marks a backend without log-probabilities: the model wrote one of the options, so
    the winner is known but not the order of the others. ``other_text`` is the model's text if it
    matches none of the options; then there is no winner. Other fields are as in ``Completion``.
    """

    options: tuple[str, ...]
    logprobs: tuple[float, ...]
    usage: Usage = Usage()
    cost: float | None = None
    seconds: float = 0.0
    cached: bool = False
    picked: bool = False
    reasoning: tuple[str, ...] = ()
    other_text: str = ""
    answered_by: str = ""

    @property
    def best(self) -> str:
        """The most probable option, the first one of a tie. NaN never wins."""
        values = [-math.inf if math.isnan(value) else value for value in self.logprobs]
        return self.options[max(range(len(values)), key=values.__getitem__)]


Prompt = str | Sequence[Message]
"""Raw text to continue without a template, or a conversation for the model's chat template."""


def prompt_of(prompt: Any) -> Prompt:
    """Return a prompt whose messages may be mappings with ``role`` and ``content``. Raises
    ``TypeError`` for anything else that is no prompt."""
    if isinstance(prompt, str):
        return prompt
    messages: Any = prompt
    if isinstance(prompt, Message | Mapping):
        messages = (prompt,)
    if not isinstance(messages, Sequence):
        raise TypeError(f"a prompt is text or a list of messages, got {prompt!r:.80}")
    if all(isinstance(message, Message) for message in messages):
        unchanged: Prompt = messages
        return unchanged
    return tuple(map(_message_of, messages))


def _message_of(message: Any) -> Message:
    if isinstance(message, Message):
        return message
    given = message if isinstance(message, Mapping) else {}
    role: Any = given.get("role")
    content = given.get("content")
    if role not in get_args(Role) or not isinstance(content, str):
        example = 'user("…") or {"role": "user", "content": "…"}'
        raise TypeError(f"a message is {example}, got {message!r:.80}")
    return Message(role, content)


class Model(ABC):
    """A language model. Safe to call from many episodes at once.

    ``name`` is its name in run folders and tables: ``local:smollm2``, ``openai:gpt-5.1``.
    ``identity`` is its key in the response cache: everything that determines the answers (name,
    address, file), by default the name; two servers may serve different weights under one name.
    ``window`` is the context length in tokens, prompt plus answer, 0 if unknown. ``pictures``
    estimates the tokens of a picture. ``lessons`` are request features that the server refused and
    later calls omit. ``warnings`` are problems that did not stop the run, one sentence each.
    ``tools``: it accepts ``Sampling.tools``, and messages with tool calls; other models are asked
    for calls in words (:mod:`wayword.models.parts.calling`).
    """

    Settings: ClassVar[type[Any]] = NoSettings

    # At runtime plain attributes, which a subclass may assign or compute
    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...
        @property
        def identity(self) -> str: ...
        @property
        def window(self) -> int: ...
        @property
        def lessons(self) -> Sequence[str]: ...
        @property
        def warnings(self) -> Sequence[str]: ...
        @property
        def tools(self) -> bool: ...
        @property
        def pictures(self) -> PictureTokens: ...

    else:
        window = 0
        tools = False
        pictures = ASSUMED
        lessons = warnings = ()

        @cached_property
        def identity(self):
            return self.name

    @abstractmethod
    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Write ``sampling.n`` continuations. Raises ``ModelError``, ``BudgetExhausted``."""

    @abstractmethod
    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """Rank the options as the prompt's next words. Same errors as :meth:`complete`."""

    async def prepare(self) -> None:  # noqa: B027
        """Query the server for what a run needs to know, such as limits. Called once, before it."""

    def keep_in(self, file: Path) -> None:  # noqa: B027
        """Keep in a file of the run folder what later sessions need, such as paid answers."""

    async def aclose(self) -> None:  # noqa: B027
        """Release connections and memory."""

    def as_role(self, role: str) -> Model:
        """Return the same model under a role, by which recordings label its calls."""
        return self


Answer = TypeVar("Answer", Completion, Choice)


class Wrapper(Model):
    """A model around another model; subclasses override :meth:`call`."""

    def __init__(self, inner: Model) -> None:
        self._inner = inner

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        return await self.call(lambda: self._inner.complete(prompt, sampling))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        return await self.call(lambda: self._inner.choose(prompt, options))

    async def call(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """Run a call of the wrapped model, made by ``complete`` or ``choose``."""
        return await ask()

    if not TYPE_CHECKING:  # attributes of the wrapped model
        name = property(attrgetter("_inner.name"))
        identity = property(attrgetter("_inner.identity"))
        window = property(attrgetter("_inner.window"))
        lessons = property(attrgetter("_inner.lessons"))
        warnings = property(attrgetter("_inner.warnings"))
        tools = property(attrgetter("_inner.tools"))
        pictures = property(attrgetter("_inner.pictures"))

    async def prepare(self) -> None:
        await self._inner.prepare()

    def keep_in(self, file: Path) -> None:
        self._inner.keep_in(file)

    async def aclose(self) -> None:
        await self._inner.aclose()


def estimated_tokens(prompt: Prompt, pictures: PictureTokens = ASSUMED) -> int:
    """Return an estimate of the prompt's tokens.

    Within 8% of the tokenizers ``cl100k_base`` and ``o200k_base`` on the prompts of all agents
    (docs/LOG.md). Four letters per token would be off by up to 15%: IDs and numbers take more.
    """
    if isinstance(prompt, str):
        return 1 + sum(map(_count_tokens, _TEXT_PIECES.findall(prompt)))
    texts = sum(estimated_tokens(message.text) + _MESSAGE_TOKENS for message in prompt)
    return texts + pictures.of_prompt(prompt)


def _count_tokens(piece: str) -> int:
    """About one token each: a word of up to 9 letters, 3 digits, a line break, 2 symbols."""
    first = piece[0]
    length = len(piece)
    if first.isspace():
        # One space belongs to the word after it
        return int(length > 1 or piece == "\n")
    if first.isdigit():
        return (length + 2) // 3
    if first.isalpha() and first.isascii():
        return 1 if length <= 9 else (length + 5) // 6
    return (length + 1) // 2 if first.isascii() else length
