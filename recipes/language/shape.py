"""How a student is cut from its base: fewer layers, fewer tokens, or new layers of its own.

Kept tokens are the commonest and those of the training texts (with every shorter token that
byte-pair merging passes through on the way, so the tokeniser's rules stay valid and any text can
still be written).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wayword.core.errors import UsageError, needing
from wayword.models.parts.weights import located

HEAD = 64
"""Width of an attention head in a student of new layers."""

FARTHEST = 100_000.0
"""Base of a new student's rotary positions."""

SPREAD = 0.05
"""Standard deviation of a new student's embeddings."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How the student is cut from its base.

    ``base``: a name of ``local:``, a GGUF file, or a Hugging Face name or folder. ``layers``: how
    many of its layers are kept, the last ``top`` of them from the base's end (0: all). ``prune``:
    keep only the tokens that the training texts need. ``lora``: rank of adapters (0: train
    everything), with ``alpha`` and ``dropout``, on the query and value projections, or ``every``
    matrix of a layer. ``width`` (a multiple of 64) leaves the
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
    every: bool = False
    width: int = 0

    def __post_init__(self) -> None:
        if min(self.layers, self.top, self.lora) < 0 or (
            self.layers and self.top > self.layers
        ):
            raise UsageError(
                "training: layers, top and lora must be at least 0, top <= layers"
            )
        if self.width < 0 or self.width % HEAD or (self.width and not self.layers):
            raise UsageError(
                f"training: width must be a multiple of {HEAD}, with layers beside it"
            )


def libraries() -> Any:
    """torch, or one clear line."""
    install = (
        "pip install 'wayword[train]' (on a machine without GPU, torch's CPU build)"
    )
    with needing("training needs torch", install):
        import torch
    with needing("training needs transformers", install):
        import transformers  # noqa: F401
    return torch


def is_gguf(base: str) -> bool:
    """Whether a base is a GGUF file: a known name or a path to one."""
    return base.endswith(".gguf") or ("/" not in base and not Path(base).exists())


def made(shape: Shape, texts: Iterable[str] = ()) -> tuple[Any, Any]:
    """Network and tokeniser of that shape. ``texts``: whole words of theirs stay whole."""
    network, words = _opened(shape)
    if shape.layers and not shape.width:
        _cut(network, shape.layers, shape.top)
    if shape.merges:
        words, kept = pruned(words, shape.merges, texts)
        _keep_rows(network, kept)
    return (_new(network, shape) if shape.width else network), words


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
        needed.update(
            by_id[number] for number in set(words.encode(text).ids) if number in by_id
        )
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


def transformers() -> Any:
    """The library of that name, or one clear line."""
    libraries()
    import transformers

    return transformers


def _opened(shape: Shape) -> tuple[Any, Any]:
    """Network and fast tokeniser of a base: in float32, frozen ones on a GPU in bfloat16."""
    hub, torch, base = transformers(), libraries(), shape.base
    dtype = "bfloat16" if shape.lora and torch.cuda.is_available() else "float32"
    known: dict[str, Any] = {}
    place = base
    if is_gguf(base):
        path = located(base)
        place, known = str(path.parent), {"gguf_file": path.name}
    network = hub.AutoModelForCausalLM.from_pretrained(place, dtype=dtype, **known)
    if known:
        network = _plain(network)
    tokenizer = hub.AutoTokenizer.from_pretrained(place, **known)
    return network, tokenizer.backend_tokenizer


def _plain(network: Any) -> Any:
    """The same weights in a network that does not think of itself as quantised."""
    if hasattr(network.config, "quantization_config"):
        del network.config.quantization_config
    fresh = type(network)(network.config)
    fresh.load_state_dict(network.state_dict())
    return fresh


def _cut(network: Any, layers: int, top: int) -> None:
    """Keep the first layers and the last ``top`` ones."""
    body = network.model
    if layers > len(body.layers):
        raise UsageError(
            f"training: the base has {len(body.layers)} layers, not {layers}"
        )
    kept = [
        *list(body.layers)[: layers - top],
        *list(body.layers)[len(body.layers) - top :],
    ]
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
    """New layers over the base's embeddings, these cut to the width by their leading components.

    Queries and keys of the lower half begin alike, so that each token first looks at its like.
    """
    torch, hub = libraries(), transformers()
    table = base.get_input_embeddings().weight.data.float()
    if shape.width > table.shape[1]:
        raise UsageError(
            f"training: width is wider than the base's embeddings ({table.shape[1]})"
        )
    old = base.config
    config = hub.LlamaConfig(
        vocab_size=len(table),
        hidden_size=shape.width,
        intermediate_size=8 * shape.width // 3 // HEAD * HEAD,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.width // HEAD,
        num_key_value_heads=shape.width // HEAD,
        max_position_embeddings=4096,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": FARTHEST},
        **{name: getattr(old, name, None) for name in ("bos_token_id", "eos_token_id")},
    )
    network = hub.LlamaForCausalLM(config)
    centered = table - table.mean(0)
    _, _, across = torch.linalg.svd(centered, full_matrices=False)
    less = centered @ across[: shape.width].T
    network.get_input_embeddings().weight.data.copy_(less * (SPREAD / less.std()))
    network.tie_weights()
    for layer in network.model.layers[: (shape.layers + 1) // 2]:
        alike, _ = torch.linalg.qr(torch.randn(shape.width, shape.width))
        layer.self_attn.q_proj.weight.data.copy_(alike)
        layer.self_attn.k_proj.weight.data.copy_(alike)
    return network
