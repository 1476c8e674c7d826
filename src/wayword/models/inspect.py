"""Models through Inspect: ``inspect:anthropic/claude-sonnet-4-5``, Google, Bedrock, Azure …

    wayword run navgpt --on houses --model inspect:anthropic/claude-sonnet-4-5

Needs the extra ``inspect``. Keys come from the environment, by the names that providers use.

Source: https://inspect.aisi.org.uk/providers.html
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wayword.core.errors import ModelError, UsageError
from wayword.core.model import (
    Choice,
    Completion,
    Message,
    Model,
    Prompt,
    Sampling,
    Usage,
    estimated_tokens,
    user,
)
from wayword.core.secrets import redacted
from wayword.models.middleware.budget import rough_tokens, sending
from wayword.models.parts.decoding import (
    checked_options,
    cut,
    form_in_words,
    matched,
    picked,
)
from wayword.models.servers.answers import upward
from wayword.models.servers.profile import profile_of

_FATAL = ("authentication", "permission", "notfound", "prerequisite", "unauthorized")
"""Parts of the names of the providers' exceptions that every other call would meet too."""

_FREE = ("ratelimit", "connecterror", "overloaded", "badrequest")
"""Parts of the names of those that are raised before a request is carried out."""


@dataclass(frozen=True, slots=True)
class InspectSettings:
    """Settings of ``inspect:``.

    ``base_url`` is for providers that take one. ``thinking`` is the tokens a reasoning model may
    think beside the answer's own limit; without it, the profile's (``models/profiles.yaml``).
    """

    base_url: str = ""
    thinking: int | None = None


class InspectModel(Model):
    """A model of any provider that Inspect knows, by its name there: ``provider/NAME``.

    Forms are asked for in words, since not every provider can be held to one; ``choose`` asks for
    one of the options (``Choice.picked``). Raises ``UsageError`` where Inspect is not installed or
    does not know the provider.
    """

    def __init__(self, name: str, settings: InspectSettings | None = None) -> None:
        self._name, self._settings = f"inspect:{name}", settings or InspectSettings()
        self._profile = profile_of(name)
        try:
            self._inspect = importlib.import_module("inspect_ai.model")
            address = self._settings.base_url or None
            self._model = self._inspect.get_model(name, base_url=address)
        except ImportError as error:
            remedy = "pip install 'wayword[inspect]', and the provider's own package"
            raise UsageError(f"{self._name}: {redacted(str(error))}; {remedy}") from None
        except Exception as error:  # noqa: BLE001 - each provider has errors of its own
            line = " ".join(redacted(str(error)).split())
            raise UsageError(f"{self._name}: {line[:300]}") from None

    Settings = InspectSettings

    @property
    def name(self) -> str:
        return self._name

    @property
    def identity(self) -> str:
        """Name, address and thinking: what decides about the answers."""
        chosen = [self._settings.base_url, self._settings.thinking]
        return " ".join([self._name, *(str(each) for each in chosen if each not in ("", None))])

    @property
    def window(self) -> int:
        """Tokens of prompt and answer together; 0 for unknown."""
        return max(0, self._profile.window - self._thinking)

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Write ``sampling.n`` continuations. Raises ``ModelError``."""
        if sampling.grammar is not None:
            raise ModelError(f"{self._name}: grammars are for local models", fatal=True)
        began = time.perf_counter()
        said: list[tuple[str, str, str]] = []
        usage = Usage()
        for number in range(sampling.n):
            most = Usage(rough_tokens(prompt), sampling.max_tokens + self._thinking, estimated=True)
            try:
                async with sending(most) as request:
                    output = await self._asked(prompt, sampling, number, most)
                    said.append(_said(output, sampling))
                    request.billed = _usage(output, prompt, said[-1])
            except ModelError as error:
                error.billed = (usage + error.billed) if error.billed else usage or None
                raise
            usage += request.billed
        thoughts = tuple(thought for _, thought, _ in said)
        return Completion(
            texts=tuple(text for text, _, _ in said),
            finish=tuple(finish for _, _, finish in said),
            usage=usage,
            seconds=time.perf_counter() - began,
            reasoning=thoughts if any(thoughts) else (),
        )

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """The option that the model writes. Raises ``ModelError`` where it writes none of them."""
        options = checked_options(options)
        room = max(len(option) for option in options) + 32
        answer = await self.complete(prompt, Sampling(max_tokens=room, choices=options))
        if answer.text not in options:
            raise ModelError(f"{self._name}: {answer.text[:40]!r} is none of the options")
        return picked(options, answer, answer.reasoning)

    async def aclose(self) -> None:
        """Inspect keeps its own connections."""

    @property
    def _thinking(self) -> int:
        asked = self._settings.thinking
        return self._profile.thinking if asked is None else asked

    async def _asked(self, prompt: Prompt, sampling: Sampling, number: int, most: Usage) -> Any:
        told = [user(prompt)] if isinstance(prompt, str) else list(prompt)
        asked = told[-1].content + form_in_words(sampling)
        told[-1] = Message(told[-1].role, asked, told[-1].images)
        warm = self._profile.temperature
        config = self._inspect.GenerateConfig(
            max_tokens=sampling.max_tokens + self._thinking,
            temperature=sampling.temperature if warm else None,
            top_p=sampling.top_p if warm and sampling.top_p != 1.0 else None,
            seed=None if sampling.seed is None else sampling.seed + number,
            max_retries=0,
        )
        try:
            return await self._model.generate([self._message(m) for m in told], config=config)
        except Exception as error:  # noqa: BLE001 - each provider has errors of its own
            kind, line = type(error).__name__, " ".join(redacted(str(error)).split())
            fatal = any(word in kind.lower() for word in _FATAL)
            said = f"{self._name}: {kind}: {line[:300]}"
            free = fatal or any(word in kind.lower() for word in _FREE)
            billed = None if free else most  # it may have failed after the work
            raise ModelError(said, retryable=not fatal, fatal=fatal, billed=billed) from None

    def _message(self, message: Message) -> Any:
        kinds = {
            "system": self._inspect.ChatMessageSystem,
            "user": self._inspect.ChatMessageUser,
            "assistant": self._inspect.ChatMessageAssistant,
        }
        content: Any = message.content
        if message.images:
            content = [self._inspect.ContentText(text=message.content)]
            for image in message.images:
                content.append(self._inspect.ContentImage(image=image.url))
        return kinds[message.role](content=content)


def _said(output: Any, sampling: Sampling) -> tuple[str, str, str]:
    """Text, reasoning and why it ended: of the first choice, nothing where there is none."""
    if not output.choices:
        return "", "", str(output.error or "error")
    choice = output.choices[0]
    content = choice.message.content
    parts = content if isinstance(content, list) else []
    thought = "\n".join(p.reasoning for p in parts if getattr(p, "type", "") == "reasoning")
    text, finish = redacted(choice.message.text), str(choice.stop_reason)
    if sampling.choices:
        return matched(text, sampling.choices) or text, redacted(thought), finish
    text, finish = cut(text, finish, sampling.stop)
    return text, redacted(thought), {"max_tokens": "length"}.get(finish, finish)


def _usage(output: Any, prompt: Prompt, said: tuple[str, str, str]) -> Usage:
    counted = output.usage
    if counted is None or not counted.input_tokens:
        thoughts = estimated_tokens(said[1]) if said[1] else 0
        written = upward(estimated_tokens(said[0]) + thoughts)
        return Usage(upward(estimated_tokens(prompt)), written, 0, thoughts, estimated=True)
    reused = counted.input_tokens_cache_read or 0
    fresh = counted.input_tokens + (counted.input_tokens_cache_write or 0)
    thought = counted.reasoning_tokens or 0
    return Usage(fresh + reused, counted.output_tokens, reused, thought)


model = InspectModel
