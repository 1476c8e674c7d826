"""A Llama's forward pass in few operations, compiled: several times as fast on a CPU in training.

The library's own pass spends most of its time between the matrix products. This one reads the same
parameters, multiplies in bfloat16 where asked, and is compiled by torch where a C++ compiler is at
hand (falling back to the plain pass where not). Causal attention over whole sequences, no cache.
"""

from __future__ import annotations

from typing import Any

from wayword.training.shape import libraries

SHAPES = 32
"""Shapes that may be compiled; beyond them torch falls back to the plain pass."""


class LeanPass:
    """The hidden states of a Llama network without its output layer: ``LeanPass(network)(ids)``.

    ``ids`` (B, T) -> (B, T, width), in bfloat16 where ``half``. A layer is compiled once a
    shape.
    """

    def __init__(self, network: Any, *, half: bool, compiled: bool = True) -> None:
        self._torch, self._config = libraries(), network.config
        self._dtype = self._torch.bfloat16 if half else self._torch.float32
        self._network = network
        self._tables: dict[int, tuple[Any, Any, Any]] = {}
        run = self._one_layer
        if compiled:
            self._torch._dynamo.config.recompile_limit = SHAPES
        self._layer = self._torch.compile(run, dynamic=False) if compiled else run

    def __call__(self, ids: Any) -> Any:
        body = self._network.model
        weights = [
            (
                layer.input_layernorm.weight, layer.self_attn.q_proj.weight,
                layer.self_attn.k_proj.weight, layer.self_attn.v_proj.weight,
                layer.self_attn.o_proj.weight, layer.post_attention_layernorm.weight,
                layer.mlp.gate_proj.weight, layer.mlp.up_proj.weight, layer.mlp.down_proj.weight,
            )
            for layer in body.layers
        ]  # fmt: skip
        tables = self._made(ids.shape[1])
        x = self._torch.nn.functional.embedding(ids, body.embed_tokens.weight).to(self._dtype)
        for layer in weights:
            x = self._layer(x, layer, *tables)
        return self._normed(x, body.norm.weight)

    def _made(self, length: int) -> tuple[Any, Any, Any]:
        """Cosines and sines of the positions (T, size / 2), and the causal mask (T, T)."""
        if length not in self._tables:
            torch, config = self._torch, self._config
            size = config.hidden_size // config.num_attention_heads
            rope = getattr(config, "rope_parameters", None) or {}
            base = float(rope.get("rope_theta", getattr(config, "rope_theta", 10000.0)))
            steps = 1 / base ** (torch.arange(0, size, 2) / size)
            angles = torch.outer(torch.arange(length).float(), steps)
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
        scores = (asks @ keys.transpose(-1, -2)) * size**-0.5 + mask
        found = torch.softmax(scores, -1) @ values
        return found.transpose(1, 2).reshape(rows, length, width)


def _turned(torch: Any, each: Any, cos: Any, sin: Any) -> Any:
    """Rotary positions: the halves of each head turned against each other."""
    one, two = each.chunk(2, -1)
    return torch.cat([one * cos - two * sin, two * cos + one * sin], -1)
