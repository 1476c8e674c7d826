"""Models of the Hugging Face hub in this process: ``hf:Qwen/Qwen3-4B``, or a folder of weights.

    wayword run navgpt --on houses --model hf:Qwen/Qwen3-4B --concurrency 16

Needs the extra ``hf`` (transformers and torch). Code that comes with weights is never run.

Source: https://huggingface.co/docs/transformers/llm_tutorial
"""

from __future__ import annotations

import asyncio
import importlib.util
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

from wayword.core.errors import ModelError, UsageError
from wayword.core.model import (
    Choice,
    Completion,
    Message,
    Model,
    Prompt,
    Sampling,
    TokenLogprob,
    Usage,
)
from wayword.models.parts.decoding import (
    checked_options,
    continued,
    cut,
    form_in_words,
    longest,
    shared_tokens,
    thought_apart,
)


@dataclass(frozen=True, slots=True)
class HfSettings:
    """Settings of ``hf:``.

    ``batch`` prompts that wait at the same time are worked on together. ``device`` is torch's name
    of one, or ``auto`` for a GPU where there is one; ``dtype`` is torch's name of a number format,
    or ``auto`` for the one the weights are stored in. ``context`` is the tokens of prompt and
    answer together (0: what the model was trained with), ``thinking`` the tokens a reasoning model
    may think beside the answer's own limit. ``revision`` is a branch, tag or commit on the hub.
    """

    batch: int = 8
    device: str = "auto"
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    context: int = 0
    thinking: int = 0
    revision: str = "main"

    def __post_init__(self) -> None:
        if self.batch < 1 or self.context < 0 or self.thinking < 0:
            raise UsageError("hf: batch is at least 1, context and thinking at least 0")


@dataclass(slots=True)
class _Job:
    """A completion that waits for its batch."""

    ids: list[int]
    sampling: Sampling
    chat: bool
    done: asyncio.Future[Completion]

    @property
    def together(self) -> object:
        """Jobs that are equal in this are generated at once; drawn samples go alone, so that a
        seed gives the same text whoever else asks."""
        plain = self.sampling.temperature == 0 and self.sampling.choices is None
        return replace(self.sampling, seed=None, json_schema=None) if plain else object()


class HfModel(Model):
    """A causal language model through transformers: ``hf:NAME`` on the hub, or ``hf:/a/folder``.

    Conversations go through the tokenizer's chat template; raw text is continued as it is.
    ``choices`` are always obeyed, JSON schemas are asked for in words, and grammars are refused.
    ``choose`` gives exact log-probabilities, options of several tokens scored whole; a prompt that
    continues the last one evaluates its new tokens only (``Usage.reused``).

    The weights are loaded at the first call. Raises ``UsageError`` where the extra is missing or
    the weights cannot be read.
    """

    def __init__(self, name: str, settings: HfSettings | None = None) -> None:
        self._weights, self._name = name, f"hf:{name}"
        self._settings = settings or HfSettings()
        for package in ("torch", "transformers"):
            if importlib.util.find_spec(package) is None:
                remedy = "pip install 'wayword[hf]'"
                raise UsageError(f"{self._name}: needs {package}, which is missing; {remedy}")
        self._pool = ThreadPoolExecutor(1, "wayword-hf")  # a network is worked by one thread
        self._jobs: list[_Job] = []
        self._worker: asyncio.Task[None] | None = None
        self._kept: tuple[list[int], Any] = [], None

    Settings = HfSettings

    @property
    def name(self) -> str:
        return self._name

    @property
    def identity(self) -> str:
        """Name, revision, number format, and the time stamp of a folder."""
        s, folder = self._settings, Path(self._weights)
        stamp = f" {folder.stat().st_mtime_ns}" if folder.is_dir() else ""
        return f"{self._name} {s.revision} {s.dtype} {s.thinking}{stamp}"

    @property
    def window(self) -> int:
        """Tokens of prompt and answer together; 0 where the weights do not say."""
        given, trained = self._settings, self._config.get_text_config()
        known = given.context or int(getattr(trained, "max_position_embeddings", 0) or 0)
        return max(0, known - given.thinking)

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Write ``sampling.n`` continuations, in a batch with what else waits. Raises
        ``ModelError``."""
        if sampling.grammar is not None:
            raise ModelError(f"{self._name}: grammars are for local: models", fatal=True)
        if sampling.json_schema is not None:
            told = [Message("user", prompt)] if isinstance(prompt, str) else prompt
            asked = told[-1].content + form_in_words(sampling)
            prompt = [*told[:-1], replace(told[-1], content=asked)]
        ids = await self._in_thread(lambda: self._encoded(prompt, sampling.max_tokens))
        loop = asyncio.get_running_loop()
        job = _Job(ids, sampling, not isinstance(prompt, str), loop.create_future())
        self._jobs.append(job)
        if self._worker is None or self._worker.done():
            self._worker = loop.create_task(self._work())
        return await job.done

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """Rank options by their exact log-probability as next words. Raises ``ModelError``."""
        given = checked_options(options)
        found: Choice = await self._in_thread(lambda: self._ranked(prompt, given))
        return found

    async def aclose(self) -> None:
        """Wait for what is under way, then free the memory."""
        await asyncio.to_thread(self._pool.shutdown, wait=True, cancel_futures=True)
        self._kept = [], None
        self.__dict__.pop("_network", None)

    async def _work(self) -> None:
        """One thread works, and whatever waits by then is its next batch."""
        while self._jobs:
            first = self._jobs[0].together
            batch = [self._jobs[0], *(job for job in self._jobs[1:] if job.together == first)]
            batch = batch[: self._settings.batch]
            self._jobs = [job for job in self._jobs if job not in batch]
            batch = [job for job in batch if not job.done.cancelled()]
            try:
                answers = await self._in_thread(partial(self._written, batch))
            except Exception as error:  # noqa: BLE001 - handed to those who asked
                for job in batch:
                    if not job.done.cancelled():
                        job.done.set_exception(error)
                continue
            for job, answer in zip(batch, answers, strict=True):
                if not job.done.cancelled():
                    job.done.set_result(answer)

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except ModelError as error:
            raise ModelError(f"{self._name}: {error}") from None

    @cached_property
    def _torch(self) -> Any:
        import torch

        return torch

    @cached_property
    def _config(self) -> Any:
        return self._opened("AutoConfig")

    @cached_property
    def _words(self) -> Any:
        words = self._opened("AutoTokenizer", padding_side="left")
        if words.pad_token_id is None:
            words.pad_token = words.eos_token
        return words

    @cached_property
    def _network(self) -> Any:
        given, dtype = self._settings, self._settings.dtype
        number = dtype if dtype == "auto" else getattr(self._torch, dtype)
        network = self._opened("AutoModelForCausalLM", torch_dtype=number)
        gpu = "cuda" if self._torch.cuda.is_available() else "cpu"
        return network.to(gpu if given.device == "auto" else given.device).eval()

    def _opened(self, kind: str, **more: Any) -> Any:
        import transformers

        try:
            part = getattr(transformers, kind)
            return part.from_pretrained(self._weights, revision=self._settings.revision, **more)
        except (OSError, ValueError, RuntimeError) as error:
            why = " ".join(str(error).split())[:200]
            raise UsageError(f"{self._name}: the weights cannot be read: {why}") from None

    def _encoded(self, prompt: Prompt, room: int) -> list[int]:
        """The prompt's tokens. Raises ``ModelError`` for one that leaves no room."""
        if isinstance(prompt, str):
            ids = list(self._words(prompt)["input_ids"])
            if ids and ids[-1] == self._words.eos_token_id:
                ids.pop()  # some tokenizers end every text, and nothing comes after an end
        else:
            ids = list(self._words(self._templated(prompt), add_special_tokens=False)["input_ids"])
        window = self.window
        if window and len(ids) + min(room, 1) > window:
            told = f"the prompt is {len(ids)} tokens long and the context holds {window}"
            raise ModelError(f"{told}; shorten it")
        return ids or [self._words.bos_token_id or self._words.eos_token_id]

    def _templated(self, messages: Sequence[Message]) -> str:
        if any(message.images for message in messages):
            raise ModelError("hf: models take no pictures; use a model behind a server", fatal=True)
        chat = [{"role": m.role, "content": m.content} for m in messages]
        if self._words.chat_template:
            text = self._words.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
            return str(text)
        return "".join(f"{m['role']}: {m['content']}\n\n" for m in chat) + "assistant:"

    def _written(self, batch: list[_Job]) -> list[Completion]:
        """The answers of one batch."""
        began, torch, words = time.perf_counter(), self._torch, self._words
        sampling = batch[0].sampling
        widest = max(len(job.ids) for job in batch)
        pad = words.pad_token_id or 0
        rows = [[pad] * (widest - len(job.ids)) + job.ids for job in batch]
        mask = [[0] * (widest - len(job.ids)) + [1] * len(job.ids) for job in batch]
        distinct = sampling.n if sampling.temperature > 0 else 1
        if sampling.temperature > 0 and sampling.seed is not None:
            torch.manual_seed(sampling.seed)
        with torch.inference_mode():
            made = self._network.generate(
                torch.tensor(rows, device=self._network.device),
                attention_mask=torch.tensor(mask, device=self._network.device),
                **self._how(sampling, widest, distinct),
            )
        seconds = time.perf_counter() - began
        new = made.sequences[:, widest:].tolist()
        each = [new[n * distinct : (n + 1) * distinct] for n in range(len(batch))]
        return [
            replace(
                self._read(job, samples), seconds=seconds, logprobs=self._logprobs(made, n, job)
            )
            for n, (job, samples) in enumerate(zip(batch, each, strict=True))
        ]

    def _how(self, sampling: Sampling, start: int, samples: int) -> dict[str, Any]:
        """The network's own sampling settings are switched off: the distribution is the model's."""
        most = sampling.max_tokens + self._settings.thinking
        how: dict[str, Any] = {
            "do_sample": sampling.temperature > 0,
            "num_return_sequences": samples,
            "pad_token_id": self._words.pad_token_id or 0,
            "return_dict_in_generate": True,
            "output_logits": bool(sampling.logprobs),
            "repetition_penalty": 1.0,
        }
        if sampling.temperature > 0:
            how |= {"temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": 0}
        if sampling.choices is not None:
            most = longest(sampling.choices) + 1
            how["prefix_allowed_tokens_fn"] = self._only(sampling.choices, start)
        elif sampling.stop:
            how |= {"stop_strings": list(sampling.stop), "tokenizer": self._words}
        return {**how, "max_new_tokens": self._room(most, start)}

    def _room(self, asked: int, prompt: int) -> int:
        window = self._settings.context or self.window + self._settings.thinking
        return max(1, min(asked, window - prompt)) if window else asked

    def _only(self, choices: Sequence[str], start: int) -> Callable[[int, Any], list[int]]:
        """The tokens that may follow, for an answer that is exactly one of the choices."""
        end = self._words.eos_token_id
        spelt = [[*self._ids(choice), end] for choice in choices]

        def allowed(_: int, written: Any) -> list[int]:
            said = written[start:].tolist()
            at = len(said)
            return sorted({ids[at] for ids in spelt if ids[:at] == said and at < len(ids)}) or [end]

        return allowed

    def _ids(self, text: str) -> list[int]:
        return list(self._words(text, add_special_tokens=False)["input_ids"])

    def _read(self, job: _Job, samples: Sequence[Sequence[int]]) -> Completion:
        """Tokens as a completion."""
        sampling, read = job.sampling, [self._sample(job, ids) for ids in samples]
        read += read[:1] * (sampling.n - len(read))
        texts, thoughts, ends, counts = zip(*read, strict=True)
        written = sum(counts[: len(samples)])
        thought = sum(len(self._ids(each)) for each in thoughts[: len(samples)] if each)
        usage = Usage(len(job.ids), written, reasoning=min(thought, written))
        return Completion(texts, ends, usage, reasoning=thoughts if any(thoughts) else ())

    def _sample(self, job: _Job, ids: Sequence[int]) -> tuple[str, str, str, int]:
        """Text, thought, why it ended, and how many tokens were written."""
        ends = self._ends
        stop = next((n for n, token in enumerate(ids) if token in ends), None)
        own = ids if stop is None else ids[:stop]
        text = str(self._words.decode(own, skip_special_tokens=True))
        finish = "length" if stop is None else "stop"
        text, thought = thought_apart(text) if job.chat else (text, "")
        if job.sampling.choices is not None:
            return (
                next((c for c in job.sampling.choices if c.strip() == text.strip()), text),
                "",
                ("stop"),
                len(own),
            )
        text, finish = cut(text, finish, job.sampling.stop)
        return text, thought, finish, len(own)

    @cached_property
    def _ends(self) -> set[int]:
        named = getattr(self._network.generation_config, "eos_token_id", None)
        ends = named if isinstance(named, list) else [named]
        return {each for each in (*ends, self._words.eos_token_id) if each is not None}

    def _logprobs(self, made: Any, row: int, job: _Job) -> tuple[TokenLogprob, ...]:
        """The first sample's tokens, with as many alternatives as were asked for."""
        if not job.sampling.logprobs:
            return ()
        row *= job.sampling.n if job.sampling.temperature > 0 else 1
        written = made.sequences[row, -len(made.logits) :].tolist()
        found = []
        for token, logits in zip(written, made.logits, strict=True):
            if token in self._ends:
                break
            values = self._torch.log_softmax(logits[row].float(), -1)
            top = self._torch.topk(values, min(job.sampling.logprobs, len(values)))
            others = zip(top.indices.tolist(), top.values.tolist(), strict=True)
            listed = {self._words.decode([i]): value for i, value in others}
            found.append(TokenLogprob(self._words.decode([token]), float(values[token]), listed))
        return tuple(found)

    def _ranked(self, prompt: Prompt, options: tuple[str, ...]) -> Choice:
        """The prompt is read once and kept; the options go through together."""
        began, torch = time.perf_counter(), self._torch
        if isinstance(prompt, str):
            pairs = [continued(prompt, option) for option in options]
            base, endings = pairs[0][0], [ending for _, ending in pairs]
            start = self._encoded(base, 1)
            whole = [self._encoded(base + ending, 0) for ending in endings]
        else:
            start = self._encoded(prompt, 1)
            whole = [[*start, *self._ids(option.strip())] for option in options]
        shared = max(1, shared_tokens([start, *whole]))  # a blank may join its word
        with torch.inference_mode():
            cache, first, reused = self._prefix(start[:shared])
            values = self._endings(cache, first, [ids[shared:] for ids in whole])
        usage = Usage(shared + sum(len(ids) - shared for ids in whole), 0, reused)
        return Choice(options, values, usage, seconds=time.perf_counter() - began)

    def _prefix(self, ids: list[int]) -> tuple[Any, Any, int]:
        """Keys and values of a prompt, the logits after it, and how much of it was known."""
        torch, (known, cache) = self._torch, self._kept
        reused = min(shared_tokens([known, ids]), len(ids) - 1)
        try:
            if reused < len(known):
                cache.crop(reused - len(known))  # below zero: so many tokens go
        except (AttributeError, NotImplementedError, ValueError, RuntimeError):
            cache, reused = None, 0  # there is none yet, or its window slides
        new = torch.tensor([ids[reused:]], device=self._network.device)
        out = self._network(input_ids=new, past_key_values=cache, use_cache=True)
        self._kept = ids, out.past_key_values
        return out.past_key_values, out.logits[0, -1], reused

    def _endings(self, cache: Any, first: Any, endings: list[list[int]]) -> tuple[float, ...]:
        """The log-probability of each ending after the prompt."""
        torch, device = self._torch, self._network.device
        begin, most = torch.log_softmax(first.float(), -1), max(map(len, endings))
        rows = [ids + [0] * (most - len(ids)) for ids in endings]
        totals = [float(begin[ids[0]]) if ids else 0.0 for ids in endings]
        if most > 1:
            copies = deepcopy(cache)
            copies.batch_repeat_interleave(len(endings))
            given = torch.tensor([row[:-1] for row in rows], device=device)
            out = self._network(input_ids=given, past_key_values=copies, use_cache=True)
            later = torch.log_softmax(out.logits.float(), -1)
            for n, ids in enumerate(endings):
                totals[n] += sum(float(later[n, at, token]) for at, token in enumerate(ids[1:]))
        return tuple(min(0.0, total) for total in totals)


model = HfModel
