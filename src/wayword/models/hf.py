"""In-process models of transformers: from the Hub (``hf:Qwen/Qwen3-4B``) or a folder of weights.

    wayword run navgpt --on houses --model hf:Qwen/Qwen3-4B --concurrency 16

Needs the extra ``hf`` (transformers and torch). Code that comes with the weights is never run.

Source: https://huggingface.co/docs/transformers/llm_tutorial
"""

from __future__ import annotations

import asyncio
import importlib.util
import pickle
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

from wayword.core.episode import JsonObject
from wayword.core.errors import (
    ModelError,
    UsageError,
    errors_of,
    install_command,
    needing,
)
from wayword.core.model import (
    Choice,
    Completion,
    Model,
    Prompt,
    Sampling,
    TokenLogprob,
    Usage,
    user,
)
from wayword.core.visible import single_line
from wayword.models.parts import decoding
from wayword.models.parts.hub import find_weights


@dataclass(frozen=True)
class HfSettings:
    """Settings of ``hf:``.

    ``batch`` is the maximum number of waiting prompts generated together. ``device`` is a torch
    device, or ``auto`` for a GPU if available; ``dtype`` is a torch dtype, or ``auto`` for that of
    the stored weights. ``context`` is the maximum number of tokens of prompt and answer together
    (0: the trained window), ``thinking`` the reasoning tokens allowed on top of the answer's limit.
    ``revision`` is a branch, tag or commit on the Hub. ``adapter`` is a folder with a PEFT adapter,
    such as VELMA's for LLaMA-7b, merged into the weights when they are loaded (needs peft).
    """

    batch: int = 8
    device: str = "auto"
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    context: int = 0
    thinking: int = 0
    revision: str = "main"
    adapter: str = ""

    def __post_init__(self) -> None:
        # Checked when the settings are made, not at the first call.
        if self.adapter and not Path(self.adapter, "adapter_config.json").is_file():
            raise UsageError(f"hf: adapter={self.adapter} has no adapter_config.json")
        if self.batch < 1 or self.context < 0 or self.thinking < 0:
            raise UsageError(
                "hf: batch must be at least 1, context and thinking at least 0"
            )


@dataclass
class _Job:
    """A completion request waiting for a batch."""

    ids: list[int]
    sampling: Sampling
    chat: bool
    done: asyncio.Future[Completion]

    @property
    def batch_key(self) -> object:
        """Key of jobs that may share a batch.

        Sampling jobs run alone: their text must depend on the seed only, not on the
        rest of the batch.
        """
        is_greedy = self.sampling.temperature == 0 and self.sampling.choices is None
        if is_greedy:
            return replace(self.sampling, seed=None, json_schema=None)
        return object()


class HfModel(Model):
    """A causal language model of transformers: ``hf:NAME`` on the Hub, or ``hf:/a/folder``.

    Conversations use the tokenizer's chat template; raw text is continued unchanged. ``choices``
    are enforced, JSON schemas are only described in the prompt, and grammars are rejected.
    ``choose`` scores all tokens of an option and returns exact log-probabilities; a prompt that
    continues the last one evaluates its new tokens only (``Usage.reused``). The weights are loaded
    at the first call. Raises ``UsageError`` if the extra is missing or they cannot be read.
    """

    def __init__(self, name: str, settings: HfSettings | None = None) -> None:
        self.name: str = f"hf:{name}"
        self._weights = name
        self._settings = settings or HfSettings()
        # Found without importing it: torch takes seconds.
        for package in ("torch", "transformers"):
            if importlib.util.find_spec(package) is None:
                remedy = install_command("hf")
                raise UsageError(f"{self.name}: {package} is not installed; {remedy}")
        # One thread: calls must not overlap
        self._pool = ThreadPoolExecutor(1, "wayword-hf")
        self._jobs: list[_Job] = []
        self._worker: asyncio.Task[None] | None = None
        self._cached_prefix: tuple[list[int], Any] = [], None

    Settings = HfSettings

    @property
    def identity(self) -> str:
        """Name, revision, type and time of the weights: what the answers depend on."""
        s = self._settings
        folders = [Path(each) for each in (self._weights, s.adapter) if each]
        # A folder may be retrained under the same name, so its time is part of the
        # identity.
        stamp = "".join(
            f" {each.stat().st_mtime_ns}" for each in folders if each.is_dir()
        )
        return f"{self.name} {s.revision} {s.dtype} {s.thinking}{stamp}"

    @property
    def window(self) -> int:
        """Context in tokens, less the room for thinking."""
        settings = self._settings
        text_config = self._config.get_text_config()
        size = settings.context or int(
            getattr(text_config, "max_position_embeddings", 0) or 0
        )
        return max(0, size - settings.thinking)

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Generate continuations, batched with other waiting requests.

        Raises ``ModelError`` for a grammar, pictures, or a prompt that leaves no room.
        """
        if sampling.grammar is not None:
            line = (
                f"{self.name}: hf: models do not support grammars; use a local: model"
            )
            raise ModelError(line, fatal=True)
        # Schemas cannot be enforced here, so they are described in words.
        if sampling.json_schema is not None:
            if isinstance(prompt, str):
                prompt = [user(prompt)]
            *earlier, last = prompt
            in_words = last.content + decoding.describe_form(sampling)
            prompt = [*earlier, replace(last, content=in_words)]
        ids = await self._in_thread(lambda: self._encoded(prompt, sampling.max_tokens))
        loop = asyncio.get_running_loop()
        job = _Job(ids, sampling, not isinstance(prompt, str), loop.create_future())
        self._jobs.append(job)
        # One worker at a time; it takes everything that waits.
        if self._worker is None or self._worker.done():
            self._worker = loop.create_task(self._run_jobs())
        return await job.done

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """Return the log-probability of each option."""
        checked = decoding.check_options(options)
        choice: Choice = await self._in_thread(lambda: self._rank(prompt, checked))
        return choice

    async def aclose(self) -> None:
        """Wait for running work and free the network."""
        await asyncio.to_thread(self._pool.shutdown, wait=True, cancel_futures=True)
        self._cached_prefix = [], None
        self.__dict__.pop("_network", None)

    async def _run_jobs(self) -> None:
        """Answer the waiting jobs, equal settings in one batch."""
        while self._jobs:
            # Jobs of equal settings join the first one, up to the size of a batch.
            first = self._jobs[0].batch_key
            batch = [
                self._jobs[0],
                *(job for job in self._jobs[1:] if job.batch_key == first),
            ]
            batch = batch[: self._settings.batch]
            self._jobs = [job for job in self._jobs if job not in batch]
            # A caller may have left while its job waited.
            batch = [job for job in batch if not job.done.cancelled()]
            try:
                answers = await self._in_thread(partial(self._generate_batch, batch))
            except Exception as error:  # noqa: BLE001 - raised in the callers instead
                for job in batch:
                    if not job.done.cancelled():
                        job.done.set_exception(error)
                continue
            for job, answer in zip(batch, answers, strict=True):
                if not job.done.cancelled():
                    job.done.set_result(answer)

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        """Run work in the model's only thread: the network is not shared."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except ModelError as error:
            raise ModelError(f"{self.name}: {error}") from None

    @cached_property
    def _torch(self) -> Any:
        """The library, imported at first use."""
        return importlib.import_module("torch")

    @cached_property
    def _config(self) -> Any:
        """The configuration of the weights."""
        return self._load_part("AutoConfig")

    @cached_property
    def _tokenizer(self) -> Any:
        """The tokenizer, padded on the left, so that all prompts of a batch end
        together."""
        tokenizer = self._load_part("AutoTokenizer", padding_side="left")
        # Some tokenizers have no padding token; the end token is masked anyway.
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        return tokenizer

    @cached_property
    def _network(self) -> Any:
        """The network, loaded at first use to the device of the settings."""
        device = self._settings.device
        dtype = self._settings.dtype
        torch_dtype: Any = dtype
        if dtype != "auto":
            torch_dtype = getattr(self._torch, dtype)
        network = self._load_part("AutoModelForCausalLM", torch_dtype=torch_dtype)
        if adapter := self._settings.adapter:
            with needing(f"{self.name}: adapters need peft", "pip install peft"):
                from peft import PeftModel
            try:  # PEFT loads with weights_only=True, which refuses pickled code
                # Merged, as a separate adapter would slow down every token.
                network = PeftModel.from_pretrained(network, adapter).merge_and_unload()
            except (OSError, ValueError, RuntimeError, pickle.UnpicklingError) as error:
                reason = single_line(error, 200)
                raise UsageError(
                    f"{adapter}: the adapter cannot be read: {reason}"
                ) from None
        if device == "auto":
            device = "cuda" if self._torch.cuda.is_available() else "cpu"
        return network.to(device).eval()

    @cached_property
    def _end_tokens(self) -> set[int]:
        """Tokens that end an answer."""
        listed = getattr(self._network.generation_config, "eos_token_id", None)
        # A number or a list, depending on the weights.
        end_tokens = listed if isinstance(listed, list) else [listed]
        return {
            each
            for each in (*end_tokens, self._tokenizer.eos_token_id)
            if each is not None
        }

    def _load_part(self, class_name: str, **options: Any) -> Any:
        """Load a part of the weights. Raises ``ModelError`` if it cannot be loaded."""
        transformers = importlib.import_module("transformers")
        revision = self._settings.revision
        with errors_of(self.name):
            source, where = find_weights(self._weights, revision)
        try:
            cls = getattr(transformers, class_name)  # imported only now
            return cls.from_pretrained(source, revision=revision, **where, **options)
        except (OSError, ValueError, RuntimeError) as error:
            reason = single_line(error, 200)
            raise UsageError(
                f"{self.name}: the weights cannot be read: {reason}"
            ) from None

    @cached_property
    def _control(self) -> set[str]:
        """Control tokens of the tokenizer and its chat template."""
        added = self._tokenizer.added_tokens_decoder.values()
        return {token.content for token in added if token.special}

    def _broken(self, text: str) -> str:
        """Return a text in which no control token can be formed."""
        return decoding.broken(text, self._control.__contains__)

    def _ids(self, text: str, add_special_tokens: bool = False) -> list[int]:
        """Return the token ids of a text, in which broken control tokens are text."""
        # Each part is encoded alone, so that no control token forms across a break.
        first, *others = text.split(decoding.BREAK)
        ids = list(
            self._tokenizer(first, add_special_tokens=add_special_tokens).input_ids
        )
        for part in others:
            ids += self._tokenizer(part, add_special_tokens=False).input_ids
        return ids

    def _encoded(self, prompt: Prompt, answer_tokens: int) -> list[int]:
        """Return the prompt's token ids.

        Raises ``ModelError`` for pictures, and if no room is left for an answer:
        ``answer_tokens`` of at least one.
        """
        tokenizer = self._tokenizer
        if isinstance(prompt, str):
            ids = self._ids(self._broken(prompt), add_special_tokens=True)
            if ids and ids[-1] == tokenizer.eos_token_id:
                ids.pop()  # some tokenizers append EOS, after which models generate nothing
        elif any(message.images for message in prompt):
            line = "hf: models cannot see pictures; use a model on a server"
            raise ModelError(line, fatal=True)
        elif tokenizer.chat_template:
            chat = [
                {"role": m.role, "content": self._broken(m.content)} for m in prompt
            ]
            options = {"tokenize": False, "add_generation_prompt": True}
            ids = self._ids(tokenizer.apply_chat_template(chat, **options))
        else:
            text = "".join(f"{m.role}: {self._broken(m.content)}\n\n" for m in prompt)
            ids = self._ids(f"{text}assistant:")
        # At least one token of answer must fit.
        window = self.window
        if window and len(ids) + min(answer_tokens, 1) > window:
            line = (
                f"the prompt is {len(ids)} tokens long and the context holds {window}"
            )
            raise ModelError(f"{line}; shorten it")
        return ids or [tokenizer.bos_token_id or tokenizer.eos_token_id]

    def _generate_batch(self, batch: list[_Job]) -> list[Completion]:
        """Generate the answers of a batch of equal settings."""
        began = time.perf_counter()
        torch = self._torch
        device = self._network.device
        sampling = batch[0].sampling
        width = max(len(job.ids) for job in batch)
        pad = self._tokenizer.pad_token_id or 0
        # Padded on the left: new tokens follow directly.
        rows = [[pad] * (width - len(job.ids)) + job.ids for job in batch]
        mask = [[0] * (width - len(job.ids)) + [1] * len(job.ids) for job in batch]
        # Greedy samples are equal, so one is drawn and repeated.
        draws = sampling.n if sampling.temperature > 0 else 1
        if sampling.temperature > 0 and sampling.seed is not None:
            torch.manual_seed(sampling.seed)
        with torch.inference_mode():
            output = self._network.generate(
                torch.tensor(rows, device=device),
                attention_mask=torch.tensor(mask, device=device),
                num_return_sequences=draws,
                pad_token_id=pad,
                return_dict_in_generate=True,
                output_logits=bool(sampling.logprobs),
                **self._generation_options(sampling, width),
            )
        seconds = time.perf_counter() - began
        samples = output.sequences[:, width:].tolist()
        answers = []
        for number, job in enumerate(batch):
            first = number * draws
            outcomes = [
                self._read_sample(job, ids) for ids in samples[first : first + draws]
            ]
            # Tokens of thoughts are counted, as they were generated.
            written = sum(count for *_, count in outcomes)
            thought_ids = [self._ids(thought) for _, thought, *_ in outcomes if thought]
            outcomes += outcomes[:1] * (sampling.n - draws)
            texts, thoughts, finishes, _ = zip(*outcomes, strict=True)
            reasoning = min(sum(map(len, thought_ids)), written)
            answer = Completion(
                texts,
                finishes,
                Usage(len(job.ids), written, reasoning=reasoning),
                self._logprobs(output, first, sampling.logprobs),
                seconds=seconds,
                reasoning=thoughts if any(thoughts) else (),
            )
            answers.append(answer)
        return answers

    def _generation_options(self, sampling: Sampling, start: int) -> JsonObject:
        """Return the arguments of ``generate`` for samples that start at token ``start``.

        They override sampling defaults that come with the weights, which would change
        the model's distribution.
        """
        settings = self._settings
        max_new_tokens = sampling.max_tokens + settings.thinking
        options: dict[str, Any] = {
            "do_sample": sampling.temperature > 0,
            "repetition_penalty": 1.0,
        }
        if sampling.temperature > 0:
            # The sampling of the request alone, without top-k.
            options |= {
                "temperature": sampling.temperature,
                "top_p": sampling.top_p,
                "top_k": 0,
            }
        if sampling.choices is not None:
            # Options are spelled token by token; the end token closes each.
            max_new_tokens = decoding.longest(sampling.choices) + 1
            end = self._tokenizer.eos_token_id
            spellings = [[*self._ids(choice), end] for choice in sampling.choices]

            def allowed(_: int, ids: Any) -> list[int]:
                """Return the tokens that continue one of the choices."""
                written = ids[start:].tolist()
                i = len(written)
                tokens = set()
                for spelling in spellings:
                    if spelling[:i] == written and i < len(spelling):
                        tokens.add(spelling[i])
                return sorted(tokens) or [end]

            options["prefix_allowed_tokens_fn"] = allowed
        elif sampling.stop:
            options |= {
                "stop_strings": list(sampling.stop),
                "tokenizer": self._tokenizer,
            }
        # The answer must fit into the window after the prompt.
        if window := settings.context or self.window + settings.thinking:
            max_new_tokens = max(1, min(max_new_tokens, window - start))
        return {**options, "max_new_tokens": max_new_tokens}

    def _read_sample(self, job: _Job, ids: Sequence[int]) -> tuple[str, str, str, int]:
        """Return a sample's text, reasoning, finish reason and number of generated tokens."""
        # Everything after the end token is padding.
        end = next(
            (n for n, token in enumerate(ids) if token in self._end_tokens),
            None,
        )
        ids = ids[:end]
        finish = "stop"
        if end is None:
            finish = "length"
        text = str(self._tokenizer.decode(ids, skip_special_tokens=True))
        thought = ""
        if job.chat:
            text, thought = decoding.split_thought(text)
        # Spaces around an option do not matter.
        if job.sampling.choices is not None:
            text = next(
                (c for c in job.sampling.choices if c.strip() == text.strip()),
                text,
            )
            return text, "", "stop", len(ids)
        text, finish = decoding.cut(text, finish, job.sampling.stop)
        return text, thought, finish, len(ids)

    def _logprobs(
        self,
        output: Any,
        row: int,
        alternatives: int,
    ) -> tuple[TokenLogprob, ...]:
        """Return the tokens of a sample, each with the ``alternatives`` most likely tokens."""
        if not alternatives:
            return ()
        token_ids = output.sequences[row, -len(output.logits) :].tolist()
        decode = self._tokenizer.decode
        tokens = []
        for token, logits in zip(token_ids, output.logits, strict=True):
            if token in self._end_tokens:
                break
            values = self._torch.log_softmax(logits[row].float(), -1)
            top = self._torch.topk(values, min(alternatives, len(values)))
            by_id = zip(top.indices.tolist(), top.values.tolist(), strict=True)
            by_text = {decode([i]): value for i, value in by_id}
            tokens.append(TokenLogprob(decode([token]), float(values[token]), by_text))
        return tuple(tokens)

    def _rank(self, prompt: Prompt, options: tuple[str, ...]) -> Choice:
        """Return the log-probability of each option after the prompt, summed over its tokens."""
        began = time.perf_counter()
        torch = self._torch
        device = self._network.device
        # Each option is joined to the prompt as text, since tokens may span the border.
        if isinstance(prompt, str):
            pairs = [decoding.continued(prompt, option) for option in options]
            prompt_ids = self._encoded(pairs[0][0], 1)
            full_ids = [self._encoded(base + ending, 0) for base, ending in pairs]
        else:
            prompt_ids = self._encoded(prompt, 1)
            full_ids = [[*prompt_ids, *self._ids(option.strip())] for option in options]
        # the last token of the prompt may differ: tokenizers join a space to the next word
        shared_count = max(1, decoding.prefix_length([prompt_ids, *full_ids]))
        endings = [ids[shared_count:] for ids in full_ids]
        longest_ending = max(map(len, endings))
        with torch.inference_mode():
            cache, next_logits, reused = self._read_prefix(prompt_ids[:shared_count])
            first_logprobs = torch.log_softmax(next_logits.float(), -1)
            totals = [float(first_logprobs[ids[0]]) if ids else 0.0 for ids in endings]
            # One pass for all options, on copies of the prompt's cache.
            if longest_ending > 1:
                copies = deepcopy(cache)
                copies.batch_repeat_interleave(len(endings))
                rows = [ids + [0] * (longest_ending - len(ids)) for ids in endings]
                inputs = torch.tensor([row[:-1] for row in rows], device=device)
                output = self._network(
                    input_ids=inputs,
                    past_key_values=copies,
                    use_cache=True,
                )
                later = torch.log_softmax(output.logits.float(), -1)
                for n, ids in enumerate(endings):
                    totals[n] += sum(
                        float(later[n, i, token]) for i, token in enumerate(ids[1:])
                    )
        # Rounding may give a log-probability just above 0.
        values = tuple(min(0.0, total) for total in totals)
        usage = Usage(shared_count + sum(map(len, endings)), 0, reused)
        return Choice(options, values, usage, seconds=time.perf_counter() - began)

    def _read_prefix(self, ids: list[int]) -> tuple[Any, Any, int]:
        """Read a prompt into the cache, reusing the part it shares with the last one.

        Returns the cache, the logits (vocabulary,) of the next token, and the tokens
        reused.
        """
        torch = self._torch
        cached_ids, cache = self._cached_prefix
        # The last token is read again, as its logits are needed.
        reused = min(decoding.prefix_length([cached_ids, ids]), len(ids) - 1)
        try:
            if reused < len(cached_ids):
                # A negative length drops that many tokens
                cache.crop(reused - len(cached_ids))
        except (AttributeError, NotImplementedError, ValueError, RuntimeError):
            # No cache yet, or sliding-window attention, which cannot crop
            cache = None
            reused = 0
        new_ids = torch.tensor([ids[reused:]], device=self._network.device)
        output = self._network(input_ids=new_ids, past_key_values=cache, use_cache=True)
        self._cached_prefix = ids, output.past_key_values
        return output.past_key_values, output.logits[0, -1], reused


model = HfModel
