"""The model under training: a GGUF base cut to size, as a torch network that answers ``choose``.

A student keeps some of the base's layers and, if asked, only the commonest tokens and those of the
training texts (with every shorter token that byte-pair merging passes through on the way, so the
tokeniser's rules stay valid and any text can still be written). Small students train and answer
several times as fast; the base's embeddings and lower layers carry most of what words mean.

Needs the extra ``[train]``: torch, transformers, gguf, peft.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wayword.core.errors import ModelError, UsageError
from wayword.core.model import Choice, Completion, Prompt, Sampling, Usage
from wayword.models.parts.options import continued
from wayword.models.parts.weights import located

HEAD = 64
"""Width of an attention head in a student of new layers."""

SPREAD = 0.05
"""Standard deviation of a new student's embeddings."""

KEPT_CACHES = 2
"""Conversations whose keys and values are kept between calls of ``choose``."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How the student is cut from its base.

    ``base``: a name of ``local:``, a GGUF file, or a Hugging Face name or folder. ``layers``: how
    many of its layers are kept, the last ``top`` of them from the base's end (0: all). ``prune``:
    keep only the tokens that the training texts need. ``lora``: rank of adapters on q and v
    (0: train everything), with ``alpha`` and ``dropout``. ``width`` (a multiple of 64) leaves the
    base's layers out: the student has ``layers`` new ones of that width, and the base's tokeniser
    and embeddings alone, these projected to their leading components.
    """

    base: str = "smollm2"
    layers: int = 0
    top: int = 1
    merges: int = 0
    lora: int = 0
    alpha: int = 16
    dropout: float = 0.05
    width: int = 0

    def __post_init__(self) -> None:
        if min(self.layers, self.top, self.lora) < 0 or (self.layers and self.top > self.layers):
            raise UsageError("training: layers, top and lora must be at least 0, top <= layers")
        if self.width < 0 or self.width % HEAD or (self.width and not self.layers):
            raise UsageError(f"training: width must be a multiple of {HEAD}, with layers beside it")


def libraries() -> Any:
    """torch, or one clear line."""
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f"training needs {error.name}: pip install 'wayword[train]' "
            "(on a machine without GPU, torch's CPU build)"
        ) from None
    return torch


def is_gguf(base: str) -> bool:
    """Whether a base is a GGUF file: a known name or a path to one."""
    return base.endswith(".gguf") or ("/" not in base and not Path(base).exists())


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

    @classmethod
    def from_base(cls, shape: Shape, texts: Iterable[str] = ()) -> Student:
        """Cut from the base. ``texts``: whole words of theirs stay whole."""
        network, words = _opened(shape)
        if shape.layers and not shape.width:
            _cut(network, shape.layers, shape.top)
        if shape.merges:
            words, kept = pruned(words, shape.merges, texts)
            _keep_rows(network, kept)
        if shape.width:
            network = _new(network, shape)
        return cls(_adapted(network, shape), words, shape)

    @classmethod
    def from_folder(cls, folder: Path, shape: Shape) -> Student:
        """As :meth:`save` wrote it."""
        transformers = _transformers()
        words = _tokenizer_file(folder / "tokenizer.json")
        network = transformers.AutoModelForCausalLM.from_pretrained(folder)
        return cls(_adapted(network, shape), words, shape)

    def save(self, folder: Path) -> None:
        """Network (adapters merged) and tokeniser, in Hugging Face's layout."""
        folder.mkdir(parents=True, exist_ok=True)
        self.merged().save_pretrained(folder)
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
        body, head = _halves(self.network)
        with torch.autocast(self.device, torch.bfloat16, enabled=_fast_bf16(torch)):
            hidden = body(input_ids=batch.ids, use_cache=False).last_hidden_state
            told = head(hidden[batch.rows, batch.at])
            found = torch.nn.functional.cross_entropy(told.float(), batch.labels)
            if not language:
                return found
            rows, at = _drawn(torch, batch.lengths)
            said = head(hidden[rows, at])
        text = torch.nn.functional.cross_entropy(said.float(), batch.ids[rows, at + 1])
        return found + language * text

    def trained(self) -> list[Any]:
        """The parameters that training changes."""
        return [weights for weights in self.network.parameters() if weights.requires_grad]

    def state(self) -> dict[str, Any]:
        """What a checkpoint must hold: the trained parameters by name."""
        return {n: w.detach() for n, w in self.network.named_parameters() if w.requires_grad}

    def restore(self, state: dict[str, Any]) -> None:
        """Put a :meth:`state` back."""
        own = dict(self.network.named_parameters())
        with self.torch.no_grad():
            for name, weights in state.items():
                own[name].copy_(weights)


class StudentModel:
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
        logprobs, read, reused = await asyncio.to_thread(self._rank, prompt, tuple(options))
        return Choice(tuple(options), logprobs, Usage(read, 0, reused))

    async def aclose(self) -> None:
        self._kept.clear()

    def _rank(self, prompt: str, options: tuple[str, ...]) -> tuple[tuple[float, ...], int, int]:
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

    def _finish(self, tokens: list[list[int]], found: list[float], known: _Conversation) -> None:
        """Add later tokens' scores. An option that trails by its first token alone can only fall
        further behind, so its later ones are not evaluated.
        """
        best = max((s for s, t in zip(found, tokens, strict=True) if len(t) == 1), default=-1e9)
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
        body, head = _halves(student.network)
        batch = torch.tensor([list(ids)], device=student.device)
        with torch.autocast(student.device, torch.bfloat16, enabled=_fast_bf16(torch)):
            hidden = body(input_ids=batch, use_cache=True, past_key_values=cache).last_hidden_state
            logits = head(hidden[0, -1])
        return torch.log_softmax(logits.float(), dim=-1).cpu()


@dataclass(slots=True)
class _Conversation:
    ids: list[int]
    cache: Any = field(repr=False)


def pruned(words: Any, merges: int, texts: Iterable[str]) -> tuple[Any, list[int]]:
    """A tokeniser with fewer tokens, and their old ids in new order.

    Kept are special and single-character tokens, the results of the first ``merges`` merges, the
    tokens of the texts, and all that merging passes through on the way to them; the texts are split
    as before.
    """
    from tokenizers import Tokenizer

    record = json.loads(words.to_str())
    model = record["model"]
    vocabulary: dict[str, int] = model["vocab"]
    pairs = [m.split(" ") if isinstance(m, str) else m for m in model["merges"]]
    special = {token["content"] for token in record.get("added_tokens", ())}
    by_id = {number: token for token, number in vocabulary.items()}
    needed = {token for token in vocabulary if len(token) == 1} | special
    needed.update("".join(pair) for pair in pairs[:merges])
    for text in texts:
        needed.update(by_id[number] for number in set(words.encode(text).ids) if number in by_id)
    made = {"".join(pair): pair for pair in reversed(pairs)}
    rest = [token for token in needed if token in made]
    while rest:
        for part in made[rest.pop()]:
            if part not in needed:
                needed.add(part)
                rest += [part] if part in made else []
    kept = sorted(vocabulary[token] for token in needed if token in vocabulary)
    model["vocab"] = {by_id[old]: new for new, old in enumerate(kept)}
    model["merges"] = [p for p in pairs if {p[0], p[1], p[0] + p[1]} <= needed]
    for token in record.get("added_tokens", ()):
        token["id"] = model["vocab"][token["content"]]
    return Tokenizer.from_str(json.dumps(record)), kept


def _transformers() -> Any:
    libraries()
    import transformers

    return transformers


def _opened(shape: Shape) -> tuple[Any, Any]:
    """Network and fast tokeniser of a base: in float32, frozen ones on a GPU in bfloat16."""
    transformers, torch, base = _transformers(), libraries(), shape.base
    dtype = "bfloat16" if shape.lora and torch.cuda.is_available() else "float32"
    known: dict[str, Any] = {}
    place = base
    if is_gguf(base):
        path = located(base)
        place, known = str(path.parent), {"gguf_file": path.name}
    network = transformers.AutoModelForCausalLM.from_pretrained(place, dtype=dtype, **known)
    if known:
        network = _plain(network)
    tokenizer = transformers.AutoTokenizer.from_pretrained(place, **known)
    return network, tokenizer.backend_tokenizer


def _plain(network: Any) -> Any:
    """The same weights in a network that does not think of itself as quantised."""
    if hasattr(network.config, "quantization_config"):
        del network.config.quantization_config
    fresh = type(network)(network.config)
    fresh.load_state_dict(network.state_dict())
    return fresh


def _tokenizer_file(path: Path) -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(path))


def _cut(network: Any, layers: int, top: int) -> None:
    """Keep the first layers and the last ``top`` ones."""
    body = network.model
    if layers > len(body.layers):
        raise UsageError(f"training: the base has {len(body.layers)} layers, not {layers}")
    kept = [*list(body.layers)[: layers - top], *list(body.layers)[len(body.layers) - top :]]
    body.layers = type(body.layers)(kept)
    for number, layer in enumerate(kept):
        layer.self_attn.layer_idx = number
    network.config.num_hidden_layers = layers
    if getattr(network.config, "layer_types", None):
        network.config.layer_types = network.config.layer_types[:layers]


def _keep_rows(network: Any, kept: Sequence[int]) -> None:
    """Keep these rows of the embedding, which is the output layer's, too."""
    torch = libraries()
    table = network.get_input_embeddings()
    rows = table.weight.data[torch.tensor(list(kept))].clone()
    smaller = torch.nn.Embedding(len(rows), rows.shape[1])
    smaller.weight.data.copy_(rows)
    network.set_input_embeddings(smaller)
    network.config.vocab_size = len(rows)
    for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
        for config in (network.config, network.generation_config):
            old = getattr(config, name, None)
            if isinstance(old, int):
                setattr(config, name, list(kept).index(old))
    head = torch.nn.Linear(rows.shape[1], len(rows), bias=False)
    head.weight = smaller.weight
    network.set_output_embeddings(head)
    network.tie_weights()


def _new(base: Any, shape: Shape) -> Any:
    """New layers over the base's embeddings, these cut to the width by their leading components."""
    torch, transformers = libraries(), _transformers()
    table = base.get_input_embeddings().weight.data.float()
    if shape.width > table.shape[1]:
        raise UsageError(f"training: width is wider than the base's embeddings ({table.shape[1]})")
    old = base.config
    config = transformers.LlamaConfig(
        vocab_size=len(table),
        hidden_size=shape.width,
        intermediate_size=8 * shape.width // 3 // HEAD * HEAD,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.width // HEAD,
        num_key_value_heads=shape.width // HEAD,
        max_position_embeddings=4096,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        **{name: getattr(old, name, None) for name in ("bos_token_id", "eos_token_id")},
    )
    network = transformers.LlamaForCausalLM(config)
    centred = table - table.mean(0)
    _, _, across = torch.linalg.svd(centred, full_matrices=False)
    less = centred @ across[: shape.width].T
    network.get_input_embeddings().weight.data.copy_(less * (SPREAD / less.std()))
    network.tie_weights()
    return network


def _drawn(torch: Any, lengths: Any) -> tuple[Any, Any]:
    """Rows and positions of a quarter of the tokens that have a next one, each drawn at random."""
    count = max(1, int(lengths.sum()) // 4)
    rows = torch.randint(0, len(lengths), (count,), device=lengths.device)
    share = torch.rand(count, device=lengths.device)
    return rows, (share * (lengths[rows] - 1)).long()


def _adapted(network: Any, shape: Shape) -> Any:
    if not shape.lora:
        return network
    try:
        import peft
    except ImportError:
        raise UsageError("LoRA needs peft: pip install 'wayword[train]'") from None
    return peft.get_peft_model(
        network,
        peft.LoraConfig(
            r=shape.lora,
            lora_alpha=shape.alpha,
            lora_dropout=shape.dropout,
            target_modules=["q_proj", "v_proj"],
            task_type="CAUSAL_LM",
        ),
    )


def _halves(network: Any) -> tuple[Any, Any]:
    """The network without its output layer, and that layer."""
    inner = network.get_base_model() if hasattr(network, "get_base_model") else network
    return inner.model, inner.lm_head


def _fast_bf16(torch: Any) -> bool:
    """Whether bfloat16 products are faster here than float32: a GPU, or a CPU with AMX."""
    if torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported())
    return bool(getattr(torch.cpu, "_is_amx_tile_supported", lambda: False)())


def _cache() -> Any:
    return _transformers().DynamicCache()


def _shorten(cache: Any, length: int) -> None:
    """Forget what a cache holds beyond its first ``length`` tokens."""
    if (more := cache.get_seq_length() - length) > 0:
        cache.crop(-more)


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))
