"""Models through Inspect: ``inspect:anthropic/claude-sonnet-4-5``, Google, Bedrock, Azure …

    wayword run navgpt --on houses --model inspect:anthropic/claude-sonnet-4-5

Needs the extra ``inspect``. Keys come from the environment, by the names that providers use.

Source: https://inspect.aisi.org.uk/providers.html
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from wayword.core.errors import Lost, ModelError, UsageError, install_command
from wayword.core.model import (
    Choice,
    Completion,
    Message,
    Model,
    PictureTokens,
    Prompt,
    Sampling,
    Usage,
    estimated_tokens,
)
from wayword.core.secrets import redacted
from wayword.core.visible import single_line
from wayword.models.middleware.budget import rough_tokens, sending
from wayword.models.parts import decoding
from wayword.models.servers.answers import upward
from wayword.models.servers.connection import GAVE_UP_CODES
from wayword.models.servers.profile import profile_of

_FATAL = ("authentication", "permission", "notfound", "prerequisite", "unauthorized")
"""Substrings of provider exceptions that all further calls would raise as well."""

_FREE = ("ratelimit", "connecterror", "overloaded", "badrequest")
"""Substrings of provider exceptions raised before a request is processed, so not billed."""


@dataclass(frozen=True)
class InspectSettings:
    """Settings of ``inspect:``.

    ``base_url`` is for providers that accept one. ``thinking`` is the number of reasoning tokens
    allowed on top of the answer's limit; default: the profile's (``models/profiles.yaml``).
    """

    base_url: str = ""
    thinking: int | None = None


class InspectModel(Model):
    """A model of any provider supported by Inspect, by its Inspect name: ``provider/NAME``.

    Constraints are described in the prompt, since not every provider can enforce them; ``choose``
    asks for one of the options (``Choice.picked``). Raises ``UsageError`` if Inspect is not
    installed or does not support the provider.
    """

    def __init__(self, name: str, settings: InspectSettings | None = None) -> None:
        self.name: str = f"inspect:{name}"
        self._settings = settings or InspectSettings()
        self._profile = profile_of(name)
        thinking = self._settings.thinking
        self._thinking = self._profile.thinking if thinking is None else thinking
        try:
            self._inspect = importlib.import_module("inspect_ai.model")
            address = self._settings.base_url or None
            self._model = self._inspect.get_model(name, base_url=address)
        except ImportError as error:
            remedy = f"{install_command('inspect')}, and install the provider's package"
            raise UsageError(f"{self.name}: {redacted(str(error))}; {remedy}") from None
        except Exception as error:  # noqa: BLE001 - each provider has its own exceptions
            line = single_line(redacted(str(error)))
            raise UsageError(f"{self.name}: {line[:300]}") from None

    Settings = InspectSettings

    @property
    def identity(self) -> str:
        """Name, address and thinking: what the answers depend on."""
        chosen = [self._settings.base_url, self._settings.thinking]
        return " ".join(
            [self.name, *(str(each) for each in chosen if each not in ("", None))]
        )

    @property
    def window(self) -> int:
        """Context in tokens, less the room for thinking."""
        return max(0, self._profile.window - self._thinking)

    @property
    def pictures(self) -> PictureTokens:
        """How the model counts pictures, by its name."""
        return self._profile.pictures

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Return Inspect's answers, sample by sample. Raises ``ModelError`` for
        grammars."""
        if sampling.grammar is not None:
            line = f"{self.name}: Inspect does not support grammars; use a local: model"
            raise ModelError(line, fatal=True)
        began = time.perf_counter()
        samples: list[tuple[str, str, str]] = []
        usage = Usage()
        # Providers have no common option for several samples: one request each.
        for number in range(sampling.n):
            cap = Usage(
                rough_tokens(prompt, self.pictures),
                sampling.max_tokens + self._thinking,
                estimated=True,
            )
            try:
                async with sending(cap) as request:
                    output = await self._generate(prompt, sampling, number, cap)
                    samples.append(_sample(output, sampling))
                    read = estimated_tokens(prompt, self.pictures)
                    request.billed = _usage(output, read, samples[-1])
            except ModelError as error:
                # Samples before the failure were generated, and are paid.
                error.billed = (usage + (error.billed or Usage())) or None
                raise
            usage += request.billed
        texts, thoughts, ends = zip(*samples, strict=True)
        return Completion(
            texts=texts,
            finish=ends,
            usage=usage,
            seconds=time.perf_counter() - began,
            reasoning=thoughts if any(thoughts) else (),
        )

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """Return the option that the model writes."""
        options = decoding.check_options(options)
        max_tokens = max(len(option) for option in options) + 32
        answer = await self.complete(
            prompt,
            Sampling(max_tokens=max_tokens, choices=options),
        )
        return decoding.picked(options, answer, answer.reasoning)

    async def _generate(
        self,
        prompt: Prompt,
        sampling: Sampling,
        number: int,
        cap: Usage,
    ) -> Any:
        """Return one sample with its usage."""
        as_chat: Sequence[Message]
        if isinstance(prompt, str):
            as_chat = [decoding.as_message(prompt, sampling)]
        else:
            as_chat = prompt
        *earlier, last = as_chat
        # Inspect is not given the constraint, so the prompt describes it.
        last = replace(last, content=last.content + decoding.describe_form(sampling))
        has_temperature = self._profile.temperature
        # Equal seeds would give equal samples, so each sample has its own.
        # Calls are repeated, counted and billed one level up: no retries below it.
        config = self._inspect.GenerateConfig(
            max_tokens=sampling.max_tokens + self._thinking,
            temperature=sampling.temperature if has_temperature else None,
            top_p=sampling.top_p if has_temperature and sampling.top_p != 1.0 else None,
            seed=None if sampling.seed is None else sampling.seed + number,
            max_retries=0,
        )
        try:
            messages = [self._message(m) for m in (*earlier, last)]
            return await self._model.generate(messages, config=config)
        except Exception as error:  # noqa: BLE001 - each provider has its own exceptions
            name = type(error).__name__
            text = single_line(redacted(str(error)))
            is_fatal = any(part in name.lower() for part in _FATAL)
            is_free = is_fatal or any(part in name.lower() for part in _FREE)
            gave_up = getattr(error, "status_code", 0) in GAVE_UP_CODES
            lost: Lost = "error"  # it may have failed after generating
            if gave_up or "connection" in name.lower():
                lost = "cut off"
            elif "timeout" in name.lower():
                lost = "time limit"
            line = f"{self.name}: {name}: {text[:300]}"
            raise ModelError(
                line,
                retryable=not is_fatal,
                fatal=is_fatal,
                billed=None if is_free else cap,
                lost="" if is_free else lost,
            ) from None

    def _message(self, message: Message) -> Any:
        """Return a message in Inspect's form."""
        module = self._inspect
        content = cast(Any, message.content)
        if message.images:
            pictures = [
                module.ContentImage(image=image.url) for image in message.images
            ]
            content = [module.ContentText(text=message.content), *pictures]
        return getattr(module, f"ChatMessage{message.role.capitalize()}")(
            content=content
        )


def _sample(output: Any, sampling: Sampling) -> tuple[str, str, str]:
    """Return text, reasoning and finish reason of the first choice; empty texts without one."""
    if not output.choices:
        return "", "", str(output.error or "error")
    choice = output.choices[0]
    content = choice.message.content
    parts = content if isinstance(content, list) else []
    thought = "\n".join(
        p.reasoning for p in parts if getattr(p, "type", "") == "reasoning"
    )
    text = redacted(choice.message.text)
    finish = str(choice.stop_reason)
    # Options were stated in words only, so the answer may have text around one.
    if sampling.choices:
        return (
            decoding.matched(text, sampling.choices) or text,
            redacted(thought),
            finish,
        )
    # Inspect was not given the stop texts: they are applied here.
    text, finish = decoding.cut(text, finish, sampling.stop)
    return text, redacted(thought), {"max_tokens": "length"}.get(finish, finish)


def _usage(output: Any, read: int, sample: tuple[str, str, str]) -> Usage:
    """Return the counted tokens; estimated ones, of which ``read`` are the prompt's, if the
    provider counts none."""
    counts = output.usage
    text, reasoning, _ = sample
    if counts is None or not counts.input_tokens:
        thoughts = estimated_tokens(reasoning) if reasoning else 0
        written = upward(estimated_tokens(text) + thoughts)
        return Usage(
            upward(read),
            written,
            0,
            thoughts,
            estimated=True,
        )
    # Inspect counts both parts next to the input tokens, for every provider
    cached = counts.input_tokens_cache_read or 0
    written = counts.input_tokens_cache_write or 0
    return Usage(
        counts.input_tokens + cached + written,
        counts.output_tokens,
        cached,
        counts.reasoning_tokens or 0,
        written=written,
    )


model = InspectModel
