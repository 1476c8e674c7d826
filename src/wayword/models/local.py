"""Local models: a GGUF file, run in this process without a key or a server.

Source: llama.cpp through https://github.com/xorbitsai/xllamacpp; the embedded default is
SmolLM2-135M-Instruct (see ``wayword.models.parts.weights``).
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from wayword.core.episode import Json, JsonObject
from wayword.core.errors import ModelError, UsageError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage
from wayword.models.parts.decoding import llamacpp_form, longest, split_thought
from wayword.models.parts.gguf import faster, trained_window
from wayword.models.parts.llamacpp import Engine, EngineSettings, rank
from wayword.models.parts.weights import MODELS, located, verified
from wayword.models.servers.answers import logprobs

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class LocalSettings(EngineSettings):
    """Settings of ``local:``.

    ``slots`` is the number of prompts processed at once; further calls queue. ``context`` is the
    maximum number of tokens per slot, prompt and answer together (0: the trained window).
    ``threads`` defaults to one: two are slower if other work shares the cores. ``memory`` is the
    MiB of cached prefixes of idle conversations, reused with more episodes than slots.
    ``requantise`` (embedded model only) converts the published Q4_1 weights to Q8_0 once, in the
    cache folder (145 MB); prompts are then evaluated 1.5 to 1.9 times as fast.
    """

    requantise: bool = True

    def __post_init__(self) -> None:
        # llama.cpp would accept some of these values and give another setup.
        if self.slots < 1 or self.threads < 1 or self.context < 0 or self.memory < 0:
            raise UsageError(
                "local: slots and threads must be at least 1, context and memory at least 0"
            )


class LocalModel(Model):
    """A GGUF file in this process: ``local:smollm2`` or ``local:/path/to/model.gguf``.

    >>> model = LocalModel("smollm2")                                   # doctest: +SKIP
    >>> await model.choose("The sky is", ["blue", "green"])             # doctest: +SKIP

    Conversations use the chat template stored in the file; raw text is continued unchanged.
    Prompts that continue an earlier one evaluate their new tokens only (``Usage.reused``).
    ``choices``, ``grammar`` and ``json_schema`` are enforced, except that a JSON or grammar
    answer may be cut at ``max_tokens`` (``finish`` is ``"length"``). At temperature 0, one text is
    generated and repeated. The file is loaded at the first call. Raises ``UsageError`` if it is
    missing or not GGUF.
    """

    def __init__(self, name: str, settings: LocalSettings | None = None) -> None:
        self.name: str = f"local:{name}"
        self._settings = settings or LocalSettings()
        self._weights = MODELS.get(name)
        self._path: Path = located(name)
        self._engine: Engine | None = None
        self._starting = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    Settings = LocalSettings

    @property
    def identity(self) -> str:
        """Checksum of published weights; size and time of other files."""
        # Published weights have a checksum already; hashing another file of gigabytes
        # takes long.
        if self._weights is not None:
            return (
                f"{self.name} {self._weights.sha256} q8_0={self._settings.requantise}"
            )
        status = self._path.stat()
        return f"{self.name} {status.st_size} {status.st_mtime_ns}"

    @cached_property
    def window(self) -> int:
        """The setting ``context``, else the trained context length stored in the file."""
        return self._settings.context or trained_window(self._path)

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Return the engine's answers."""
        return await self._in_thread(lambda: self._complete(prompt, sampling))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """Rank options by their exact log-probability after the prompt, over all of their tokens. A
        missing space between prompt and option is added."""

        def work() -> Choice:
            """Rank the options in the engine's thread."""
            began = time.perf_counter()
            engine = self._load_engine()
            values, usage = rank(engine, _prompt_text(engine, prompt), options)
            return Choice(
                tuple(options),
                values,
                usage,
                seconds=time.perf_counter() - began,
            )

        return await self._in_thread(work)

    async def aclose(self) -> None:
        """Wait for running work and stop the engine."""
        pool = self._pool
        self._pool = None
        # Running work is awaited first, since it uses the engine.
        if pool is not None:
            await asyncio.to_thread(pool.shutdown, wait=True, cancel_futures=True)
        engine = self._engine
        self._engine = None
        if engine is not None:
            await asyncio.to_thread(engine.close)

    async def _in_thread(self, work: Callable[[], _Result]) -> _Result:
        """Run ``work`` in a pool with one thread per slot; the engine batches concurrent calls."""
        # Made at first use, so that a model which is only named costs nothing.
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._settings.slots, "wayword-local")
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except ModelError as error:
            raise ModelError(f"{self.name}: {error}") from None

    def _load_engine(self) -> Engine:
        """Return the running engine; starts it at first use."""
        # Several threads may come at once; one of them loads.
        with self._starting:
            if self._engine is None:
                settings = replace(self._settings, context=self.window)
                path = self._path
                if self._weights is not None:
                    # Even if the converted file exists already
                    path = verified(self._weights)
                    if settings.requantise:
                        path = faster(self._weights, path)
                self._engine = Engine(path, settings)
            return self._engine

    def _complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Return the engine's answers, one request per sample."""
        began = time.perf_counter()
        engine = self._load_engine()
        payload = {"prompt": _prompt_text(engine, prompt), **_payload(sampling)}
        # Without temperature all samples are equal, so one is enough.
        draws = sampling.n if sampling.temperature > 0 else 1
        seeds: list[dict[str, Json]] = [{}] * draws
        if (seed := sampling.seed) is not None:
            # Later seeds are hashed: with seed + i, runs of neighboring seeds would share samples.
            hashed = (
                random.Random(f"{seed}/{i}").getrandbits(32) for i in range(1, draws)
            )
            seeds = [{"seed": each % 2**32} for each in (seed, *hashed)]
        # One after the other: each reuses the prompt that the one before has read.
        replies = [engine.complete({**payload, **each}) for each in seeds]
        answers = [reply["choices"][0] for reply in replies]
        # The one sample is repeated as often as samples were asked for.
        answers += answers[:1] * (sampling.n - draws)
        texts = [str(answer["text"]) for answer in answers]
        # Raw text has no thoughts to separate, whatever its marks.
        is_raw = isinstance(prompt, str)
        pairs = [(text, "") if is_raw else split_thought(text) for text in texts]
        split_texts, thoughts = zip(*pairs, strict=True)
        first = replies[0]
        return Completion(
            texts=split_texts,
            finish=tuple(answer["finish_reason"] for answer in answers),
            usage=Usage(  # the prompt counts once: further samples reuse all of it
                first["usage"]["prompt_tokens"],
                sum(reply["usage"]["completion_tokens"] for reply in replies),
                first["timings"]["cache_n"],
            ),
            logprobs=logprobs(answers[0]),
            seconds=time.perf_counter() - began,
            reasoning=thoughts if any(thoughts) else (),
        )


def _prompt_text(engine: Engine, prompt: Prompt) -> str:
    """Return a prompt as one text, in which the template's control tokens are the only ones."""
    # Control tokens in the text are broken up, since they would end a turn.
    if isinstance(prompt, str):
        return engine.broken(prompt)
    if any(message.images for message in prompt):
        raise ModelError("local models cannot see pictures; use a model on a server")
    return engine.apply_template(
        [{"role": m.role, "content": engine.broken(m.content)} for m in prompt]
    )


def _payload(sampling: Sampling) -> JsonObject:
    """Return llama.cpp's request fields. Its top-k and min-p filters are switched off: they would
    change the model's distribution."""
    payload: dict[str, Json] = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": 0,
        "min_p": 0.0,
        "max_tokens": sampling.max_tokens,
        "stop": list(sampling.stop),
        "cache_prompt": True,
    }
    if sampling.logprobs:
        payload["logprobs"] = sampling.logprobs
    payload |= llamacpp_form(sampling)
    if sampling.choices:  # ignore max_tokens, which could truncate a choice
        payload["max_tokens"] = longest(sampling.choices)
    return payload


model = LocalModel
