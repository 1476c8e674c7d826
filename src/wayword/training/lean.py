"""A Llama's forward pass in few operations: several times as fast in training.

The library's own pass spends most of its time between the matrix products. This one reads the same
parameters, multiplies in bfloat16 where asked, and on a CPU is compiled by torch where a C++
compiler is at hand (falling back to the plain pass where not). Adapters are added to the weights
that they adapt, so that they cost nothing a token. Causal attention over whole sequences, no cache.
"""

from __future__ import annotations

from typing import Any

from wayword.training.shape import libraries

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
        inner = network.get_base_model() if hasattr(network, "get_base_model") else network
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
        x = self._torch.nn.functional.embedding(ids, body.embed_tokens.weight).to(self._dtype)
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

    def _attended(self, y: Any, q: Any, k: Any, v: Any, cos: Any, sin: Any, mask: Any) -> Any:
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
