"""The model under training: a GGUF base cut to size, as a torch network that answers ``choose``.

A student keeps some of the base's layers and, if asked, only the commonest tokens and those of the
training texts (with every shorter token that byte-pair merging passes through on the way, so the
tokeniser's rules stay valid and any text can still be written). Small students train and answer
several times as fast; the base's embeddings and lower layers carry most of what words mean.

Needs the extra ``[train]``: torch, transformers, gguf, peft.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recipes.language.shape import Shape, libraries, made, transformers
from wayword.core.errors import ModelError, needing
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage
from wayword.models.parts.decoding import continued

ADAPTER = "adapter"
"""Folder of a student's adapters inside the folder that it is saved in."""

KEPT_CACHES = 2
"""Conversations whose keys and values are kept between calls of ``choose``."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Sequences as tensors: ``ids`` (B, T) right-padded, ``lengths`` (B,) in tokens; ``rows``,
    ``at``, ``labels`` (L,): batch row, position and next token of what is learnt.
    """

    ids: Any
    lengths: Any
    rows: Any
    at: Any
    labels: Any


class Student:
    """Network and tokeniser. ``network`` is a transformers causal language model."""

    def __init__(self, network: Any, words: Any, shape: Shape) -> None:
        self.torch = libraries()
        self.network, self.words, self.shape = network, words, shape
        self.device = "cuda" if self.torch.cuda.is_available() else "cpu"
        network.to(self.device)
        self.lean: LeanPass | None = None

    @classmethod
    def from_base(cls, shape: Shape, texts: Iterable[str] = ()) -> Student:
        """Cut from the base. ``texts``: whole words of theirs stay whole."""
        network, words = made(shape, texts)
        return cls(_adapted(network, shape), words, shape)

    @classmethod
    def from_folder(cls, folder: Path, shape: Shape) -> Student:
        """As :meth:`save` wrote it."""
        words = _tokenizer_file(folder / "tokenizer.json")
        network = transformers().AutoModelForCausalLM.from_pretrained(folder)
        return cls(_adapted(network, shape), words, shape)

    def save(self, folder: Path) -> None:
        """Network (adapters merged) and tokeniser, in Hugging Face's layout.

        Adapters stand in ``adapter/``, too, in PEFT's layout: what a server loads beside the base.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.merged().save_pretrained(folder)
        if self.shape.lora:
            self.network.save_pretrained(folder / ADAPTER)
        self.words.save(str(folder / "tokenizer.json"))

    def merged(self) -> Any:
        """The plain network, a copy where there are adapters."""
        if not self.shape.lora:
            return self.network
        import copy

        return copy.deepcopy(self.network).merge_and_unload()

    def loss(self, batch: Batch, language: float = 0.0) -> Any:
        """Mean cross-entropy at the labelled positions, plus ``language`` times that of the text.

        The vocabulary projection is computed for the labelled positions only, and for a quarter of
        the others, drawn at random, where ``language`` is not 0.
        """
        torch = self.torch
        head = halves(self.network)[1]
        with torch.autocast(self.device, torch.bfloat16, enabled=fast_bf16(torch)):
            hidden = self.hidden(batch.ids)
            told = head(hidden[batch.rows, batch.at])
            found = torch.nn.functional.cross_entropy(told.float(), batch.labels)
            if not language:
                return found
            rows, at = _drawn(torch, batch.lengths)
            said = head(hidden[rows, at])
        text = torch.nn.functional.cross_entropy(said.float(), batch.ids[rows, at + 1])
        return found + language * text

    def hidden(self, ids: Any) -> Any:
        """What the output layer reads (B, T, width) of whole sequences ``ids`` (B, T)."""
        # Training has few shapes, prompts have any: a pass compiled for each would not pay there.
        if self.lean is not None and (self.network.training or not self.lean.compiled):
            return self.lean(ids)
        return halves(self.network)[0](input_ids=ids, use_cache=False).last_hidden_state

    def compile(self) -> None:
        """Use a forward pass made for the machine from here on, where the network allows."""
        undropped = not self.shape.lora or not self.shape.dropout
        if self.network.config.model_type == "llama" and undropped:
            half, compiled = fast_bf16(self.torch), self.device == "cpu"
            self.lean = LeanPass(self.network, half=half, compiled=compiled)

    def trained(self) -> list[Any]:
        """The parameters that training changes."""
        return [
            weights for weights in self.network.parameters() if weights.requires_grad
        ]

    def state(self) -> dict[str, Any]:
        """What a checkpoint must hold: the trained parameters by name."""
        return {
            n: w.detach() for n, w in self.network.named_parameters() if w.requires_grad
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Put a :meth:`state` back."""
        own = dict(self.network.named_parameters())
        with self.torch.no_grad():
            for name, weights in state.items():
                own[name].copy_(weights)


class StudentModel(Model):
    """The student as a model that agents can ask: only ``choose``, always exactly as it stands.

    Prompts that continue an earlier one evaluate their new tokens only.
    """

    name = "student"

    def __init__(self, student: Student) -> None:
        self._student = student
        self._kept: list[_Conversation] = []

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        raise ModelError("a student in training answers `choose` only")

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        if not isinstance(prompt, str):
            raise ModelError("a student in training reads plain text only")
        logprobs, read, reused = await asyncio.to_thread(
            self._rank, prompt, tuple(options)
        )
        return Choice(tuple(options), logprobs, Usage(read, 0, reused))

    async def aclose(self) -> None:
        self._kept.clear()

    def _rank(
        self, prompt: str, options: tuple[str, ...]
    ) -> tuple[tuple[float, ...], int, int]:
        student, torch = self._student, self._student.torch
        base = continued(prompt, options[0])[0]
        endings = [continued(prompt, option)[1] for option in options]
        ids = list(student.words.encode(base).ids)
        known = max(self._kept, key=lambda one: _common(one.ids, ids), default=None)
        reused = _common(known.ids, ids[:-1]) if known else 0
        if known is None or reused == 0:
            known, reused = _Conversation([], _cache()), 0
        else:
            self._kept.remove(known)
            _shorten(known.cache, reused)
        with torch.no_grad():
            first = self._read(ids[reused:], known.cache)
            known.ids = ids
            tokens = [student.words.encode(ending).ids for ending in endings]
            found = [float(first[ending[0]]) for ending in tokens]
            self._finish(tokens, found, known)
        self._kept = [known, *self._kept][:KEPT_CACHES]
        return tuple(found), len(ids), reused

    def _finish(
        self, tokens: list[list[int]], found: list[float], known: _Conversation
    ) -> None:
        """Add later tokens' scores. An option that trails by its first token alone can only fall
        further behind, so its later ones are not evaluated.
        """
        best = max(
            (s for s, t in zip(found, tokens, strict=True) if len(t) == 1), default=-1e9
        )
        for number, ending in enumerate(tokens):
            if len(ending) == 1 or found[number] <= best:
                continue
            for place in range(1, len(ending)):
                following = self._read(ending[place - 1 : place], known.cache)
                found[number] += float(following[ending[place]])
            _shorten(known.cache, len(known.ids))
            best = max(best, found[number])

    def _read(self, ids: Sequence[int], cache: Any) -> Any:
        """Log-probabilities (V,) of the token after ``ids``."""
        student, torch = self._student, self._student.torch
        body, head = halves(student.network)
        batch = torch.tensor([list(ids)], device=student.device)
        with torch.autocast(student.device, torch.bfloat16, enabled=fast_bf16(torch)):
            hidden = body(
                input_ids=batch, use_cache=True, past_key_values=cache
            ).last_hidden_state
            logits = head(hidden[0, -1])
        return torch.log_softmax(logits.float(), dim=-1).cpu()


@dataclass(slots=True)
class _Conversation:
    ids: list[int]
    cache: Any = field(repr=False)


def _tokenizer_file(path: Path) -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(path))


def _drawn(torch: Any, lengths: Any) -> tuple[Any, Any]:
    """Rows and positions of a quarter of the tokens that have a next one, each drawn at random."""
    count = max(1, int(lengths.sum()) // 4)
    rows = torch.randint(0, len(lengths), (count,), device=lengths.device)
    share = torch.rand(count, device=lengths.device)
    return rows, (share * (lengths[rows] - 1)).long()


def _adapted(network: Any, shape: Shape) -> Any:
    if not shape.lora:
        return network
    with needing("LoRA needs peft", "train"):
        import peft
    return peft.get_peft_model(
        network,
        peft.LoraConfig(
            r=shape.lora,
            lora_alpha=shape.alpha,
            lora_dropout=shape.dropout,
            target_modules="all-linear" if shape.every else ["q_proj", "v_proj"],
            task_type="CAUSAL_LM",
        ),
    )


def halves(network: Any) -> tuple[Any, Any]:
    """The network without its output layer, and that layer."""
    inner = network.get_base_model() if hasattr(network, "get_base_model") else network
    return inner.model, inner.lm_head


def fast_bf16(torch: Any) -> bool:
    """Whether bfloat16 products are faster here than float32: a GPU, or a CPU with AMX."""
    if torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported())
    return bool(getattr(torch.cpu, "_is_amx_tile_supported", lambda: False)())


def _cache() -> Any:
    return transformers().DynamicCache()


def _shorten(cache: Any, length: int) -> None:
    """Forget what a cache holds beyond its first ``length`` tokens."""
    if (more := cache.get_seq_length() - length) > 0:
        cache.crop(-more)


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))


# A Llama's forward pass in few operations: several times as fast in training.
#
# The library's own pass spends most of its time between the matrix products. This one reads the
# same parameters, multiplies in bfloat16 where asked, and on a CPU is compiled by torch where a C++
# compiler is at hand (falling back to the plain pass where not). Adapters are added to the weights
# that they adapt, so that they cost nothing a token. Causal attention over whole sequences, no
# cache.

SHAPES = 32
"""Shapes that may be compiled; beyond them torch falls back to the plain pass."""


class LeanPass:
    """The hidden states of a Llama network without its output layer: ``LeanPass(network)(ids)``.

    ``ids`` (B, T) -> (B, T, width), in bfloat16 where ``half``. Where it is ``compiled``, a layer
    is compiled once a shape. ``network`` may carry LoRA adapters without dropout.
    """

    def __init__(self, network: Any, *, half: bool, compiled: bool = True) -> None:
        self._torch, self._config = libraries(), network.config
        self._dtype = self._torch.bfloat16 if half else self._torch.float32
        inner = (
            network.get_base_model() if hasattr(network, "get_base_model") else network
        )
        self._body, self.compiled = inner.model, compiled
        self._tables: dict[int, tuple[Any, Any, Any]] = {}
        run = self._one_layer
        if compiled:
            self._torch._dynamo.config.recompile_limit = SHAPES
        self._layer = self._torch.compile(run, dynamic=False) if compiled else run

    def __call__(self, ids: Any) -> Any:
        body, read = self._body, _adapted_weight
        weights = [
            (
                layer.input_layernorm.weight, read(layer.self_attn.q_proj),
                read(layer.self_attn.k_proj), read(layer.self_attn.v_proj),
                read(layer.self_attn.o_proj), layer.post_attention_layernorm.weight,
                read(layer.mlp.gate_proj), read(layer.mlp.up_proj), read(layer.mlp.down_proj),
            )
            for layer in body.layers
        ]  # fmt: skip
        tables = self._made(ids.shape[1], ids.device)
        x = self._torch.nn.functional.embedding(ids, body.embed_tokens.weight).to(
            self._dtype
        )
        for layer in weights:
            x = self._layer(x, layer, *tables)
        return self._normed(x, body.norm.weight)

    def _made(self, length: int, device: Any) -> tuple[Any, Any, Any]:
        """Cosines and sines of the positions (T, size / 2), and the causal mask (T, T) where the
        device has no attention of its own.
        """
        if length not in self._tables:
            torch, config = self._torch, self._config
            size = config.hidden_size // config.num_attention_heads
            rope = getattr(config, "rope_parameters", None) or {}
            base = float(rope.get("rope_theta", getattr(config, "rope_theta", 10000.0)))
            steps = 1 / base ** (torch.arange(0, size, 2) / size)
            angles = torch.outer(torch.arange(length).float(), steps)
            angles = angles.to(device)
            mask = None
            if device.type == "cpu":
                mask = torch.full((length, length), -1e4).triu(1).to(self._dtype)
            self._tables[length] = (
                angles.cos().to(self._dtype), angles.sin().to(self._dtype), mask,
            )  # fmt: skip
        return self._tables[length]

    def _one_layer(self, x: Any, weights: Any, cos: Any, sin: Any, mask: Any) -> Any:
        torch, dtype = self._torch, self._dtype
        first, q, k, v, out, second, gate, up, down = weights
        y = self._normed(x, first)
        x = x + self._attended(y, q, k, v, cos, sin, mask) @ out.to(dtype).T
        both = self._normed(x, second) @ torch.cat([gate, up]).to(dtype).T
        one, two = both.chunk(2, -1)
        return x + (torch.nn.functional.silu(one) * two) @ down.to(dtype).T

    def _normed(self, x: Any, weight: Any) -> Any:
        return self._torch.nn.functional.rms_norm(
            x, (x.shape[-1],), weight.to(self._dtype), self._config.rms_norm_eps
        )

    def _attended(
        self, y: Any, q: Any, k: Any, v: Any, cos: Any, sin: Any, mask: Any
    ) -> Any:
        torch, config = self._torch, self._config
        rows, length, width = y.shape
        heads, shared = config.num_attention_heads, config.num_key_value_heads
        size = width // heads
        both = (y @ torch.cat([q, k, v]).to(self._dtype).T).view(rows, length, -1, size)
        asks, keys, values = both.transpose(1, 2).split([heads, shared, shared], 1)
        if shared < heads:
            keys = keys.repeat_interleave(heads // shared, 1)
            values = values.repeat_interleave(heads // shared, 1)
        asks, keys = (_turned(torch, each, cos, sin) for each in (asks, keys))
        if mask is None:
            attend = torch.nn.functional.scaled_dot_product_attention
            found = attend(asks, keys, values, is_causal=True)
        else:
            scores = (asks @ keys.transpose(-1, -2)) * size**-0.5 + mask
            found = torch.softmax(scores, -1) @ values
        return found.transpose(1, 2).reshape(rows, length, width)


def _adapted_weight(linear: Any) -> Any:
    """The weights of a linear layer with its adapter, where it has one, added to them."""
    if not hasattr(linear, "lora_A"):
        return linear.weight
    down, up = linear.lora_A["default"].weight, linear.lora_B["default"].weight
    return linear.base_layer.weight + linear.scaling["default"] * (up @ down)


def _turned(torch: Any, each: Any, cos: Any, sin: Any) -> Any:
    """Rotary positions: the halves of each head turned against each other."""
    one, two = each.chunk(2, -1)
    return torch.cat([one * cos - two * sin, two * cos + one * sin], -1)
