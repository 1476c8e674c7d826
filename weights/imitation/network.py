"""The network of the agent ``imitation``: words in, one score for each option out.

    python -m weights.imitation.network imitation.onnx FIRST.pt SECOND.pt THIRD.pt

writes checkpoints of :mod:`weights.imitation.trainer` as one ONNX file that the agent plays, with
their vocabulary next to it as ``.json``: the mean of their log-probabilities, moves to visited
viewpoints excluded, and a bonus for stopping. Large weights are stored in half precision.

Shapes: B walks, L words of an instruction, P options of all their steps, T steps, D the width,
E the width of a word.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from wayword.agents.baselines.imitation import FEATURES, LONGEST

MOST_STEPS = 32
"""Steps that have an embedding of their own; later ones share the last."""
HIDDEN = -1e4
"""Added to the score of what may not be attended to; half precision holds it."""


@dataclass(frozen=True)
class Sizes:
    """Sizes of the network. ``text`` and ``memory`` switch what an ablation leaves out."""

    vocabulary: int
    width: int = 128
    word: int = 128
    heads: int = 4
    reading: int = 1
    deciding: int = 2
    dropout: float = 0.2
    text: bool = True
    memory: bool = True


@dataclass(frozen=True)
class PolicyRecipe:
    """How to train.

    After the first epoch the share ``guided`` of the walks is led by the expert, half of them with
    a random step now and then (``noise``), the others go where the student went when it was last
    asked; each epoch asks it anew for the share ``refresh`` of the episodes. ``walk``: decisions at
    most in a training walk. ``chunk``: how many episodes of one scene stand together in a batch,
    so that the texts of few scenes are embedded at a time. ``smooth`` is the mean's decay.
    ``mirror``: swap left and right in half of the batches. ``near``: within so many metres of the
    goal, stopping is as right as the expert's move.
    """

    epochs: int = 20
    batch: int = 64
    chunk: int = 16
    rate: float = 5e-4
    smooth: float = 0.998
    decay: float = 0.02
    guided: float = 0.4
    noise: float = 0.15
    refresh: float = 0.4
    walk: int = 10
    word_drop: float = 0.1
    houses: int = 200
    homes_share: float = 0.25
    seed: int = 0
    mirror: bool = True
    near: float = 0.0
    everything: bool = False
    vectors: str = ""


@dataclass(frozen=True)
class Rows:
    """The rows of padded sequences (B, P, D) that are no padding, as one table (N, D).

    ``walk`` (N,) is the sequence of each row, ``cell`` (N,) its place among all B * P.
    """

    walk: Tensor
    cell: Tensor
    shape: tuple[int, int]

    def spread(self, x: Tensor) -> Tensor:
        """(N, D) -> (B, P, D), zeros where a sequence is over."""
        count, most = self.shape
        empty = x.new_zeros(count * most, x.shape[-1])
        return empty.index_copy(0, self.cell, x).view(count, most, -1)

    def collect(self, x: Tensor) -> Tensor:
        """(B, P, D) -> (N, D)."""
        return x.reshape(-1, x.shape[-1]).index_select(0, self.cell)


class Dropout(nn.Module):
    """Dropout of whole features of a sequence (B, L, D): few draws, which are dear on a CPU."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor, rows: Rows | None = None) -> Tensor:
        if not self.training or self.rate == 0:
            return x
        count = rows.shape[0] if rows else x.shape[0]
        kept = (torch.rand(count, 1, x.shape[-1]) >= self.rate).to(x.dtype) / (
            1 - self.rate
        )
        return x * (kept[rows.walk, 0] if rows else kept)


class Attention(nn.Module):
    """Multi-head attention, written out: short sequences, and plain operators to export."""

    def __init__(self, shape: Sizes) -> None:
        super().__init__()
        self.heads = shape.heads
        width = shape.width
        self.ask = nn.Linear(width, width)
        self.tell = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def keys(self, context: Tensor) -> Tensor:
        """(B, C, D) -> (B, H, C, 2, D / H): keys and values."""
        batch, count, width = context.shape
        both = self.tell(context).view(batch, count, 2, self.heads, width // self.heads)
        return both.permute(0, 3, 1, 2, 4)

    def forward(
        self, asking: Tensor, keys: Tensor, bias: Tensor, rows: Rows | None = None
    ) -> Tensor:
        """(B, Q, D), or (N, D) of ``rows``; keys (B, H, C, 2, D / H), bias (B, 1, 1 or Q, C)."""
        query = self.ask(asking)
        if rows:
            query = rows.spread(query)
        batch, count, width = query.shape
        query = query.view(batch, count, self.heads, -1).transpose(1, 2)
        key = keys[:, :, :, 0]
        value = keys[:, :, :, 1]
        # torch's fused attention is twice as slow in training here (on a CPU, with a bias)
        scores = query @ key.transpose(2, 3) / (width / self.heads) ** 0.5
        mixed = torch.softmax(scores + bias.to(scores.dtype), -1) @ value
        mixed = mixed.transpose(1, 2).reshape(batch, count, width)
        return self.out(rows.collect(mixed) if rows else mixed)


class AttentionLayer(nn.Module):
    """Attention to a context (itself, where none is given), then two linear maps."""

    def __init__(self, shape: Sizes) -> None:
        super().__init__()
        width = shape.width
        self.look = Attention(shape)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.inner = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )
        self.drop = Dropout(shape.dropout)

    def forward(
        self,
        x: Tensor,
        bias: Tensor,
        context: Tensor | None = None,
        rows: Rows | None = None,
    ) -> Tensor:
        """(B, Q, D) or (N, D) of ``rows``, a context (B, C, D), a bias that fits (B, H, Q, C)."""
        y = self.norms[0](x)
        keys = self.look.keys(y if context is None else context)
        x = x + self.drop(self.look(y, keys, bias, rows), rows)
        return x + self.drop(self.inner(self.norms[1](x)), rows)


class Policy(nn.Module):
    """Scores of options, given the instruction, what lies there, and the walk so far.

    An option is encoded from its words and its geometry alone; it then attends to the words of
    the instruction, to the options that were taken before, and to where one stands (the option
    of stopping). Nothing is recurrent, so all steps of a walk are trained at once.
    """

    some: Tensor

    def __init__(self, shape: Sizes) -> None:
        super().__init__()
        self.shape = shape
        width = shape.width
        self.words = nn.Embedding(shape.vocabulary, shape.word, padding_idx=0)
        self.weight = nn.Embedding(shape.vocabulary, 1)
        nn.init.normal_(self.words.weight, std=0.5)
        nn.init.zeros_(self.weight.weight)
        self.register_buffer(
            "some", (torch.arange(shape.vocabulary) > 0).float().unsqueeze(1)
        )
        self.lift = nn.Linear(shape.word, width)
        self.where = nn.Embedding(LONGEST["instruction"], width)
        self.when = nn.Embedding(MOST_STEPS, width)
        nn.init.normal_(self.where.weight, std=0.1)
        nn.init.normal_(self.when.weight, std=0.1)
        self.view = nn.Linear(2 * shape.word, width)
        self.place = nn.Linear(3 * shape.word, width)
        self.beside = nn.Linear(3 * shape.word, width)
        self.bearing = nn.Linear(FEATURES, width)
        self.option = nn.Sequential(
            nn.GELU(), nn.Linear(width, width), nn.LayerNorm(width)
        )
        self.kinds = nn.Parameter(torch.randn(3, width) * 0.1)
        self.readers = nn.ModuleList(
            AttentionLayer(shape) for _ in range(shape.reading)
        )
        self.deciders = nn.ModuleList(
            AttentionLayer(shape) for _ in range(shape.deciding)
        )
        self.read_norm = nn.LayerNorm(width)
        self.last_norm = nn.LayerNorm(width)
        self.score = nn.Linear(width, 1)
        self.drop = Dropout(shape.dropout)

    def bag(self, numbers: Tensor) -> Tensor:
        """(..., W) word numbers -> (..., E) their mean, each word with a learnt weight."""
        flat = numbers.reshape(-1, numbers.shape[-1])
        amount = torch.exp(self.weight.weight) * self.some
        table = torch.cat([self.words.weight * amount, amount], 1)  # one bag sums both
        if torch.onnx.is_in_onnx_export():
            summed = table[flat].sum(-2)
        else:
            summed = functional.embedding_bag(flat, table, mode="sum")
        pooled = summed[:, :-1] / (summed[:, -1:] + 1e-6)
        return pooled.reshape(*numbers.shape[:-1], -1)

    def look(
        self, captions: Tensor, objects: Tensor, summary: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Texts of N viewpoints -> (N, 9, D) the eight views and the place itself as options,
        and (N, D) the place as it bears on each of its ways."""
        views = torch.cat([self.bag(captions), self.bag(objects)], -1)
        whole = torch.cat([views.mean(1), self.bag(summary)], -1)
        if not self.shape.text:
            views = views * 0
            whole = whole * 0
        rows = torch.cat([self.view(views), self.place(whole).unsqueeze(1)], 1)
        return rows, self.beside(whole)

    def read(self, numbers: Tensor) -> tuple[Tensor, Tensor]:
        """(B, L) instructions -> (B, L, D), and the bias (B, 1, 1, L) that hides the padding."""
        places = torch.arange(numbers.shape[1], device=numbers.device)
        x = self.drop(self.lift(self.words(numbers))) + self.where(places)
        bias = (numbers == 0).float()[:, None, None, :] * HIDDEN
        for layer in self.readers:
            x = layer(x, bias)
        return self.read_norm(x) + self.kinds[0], bias

    def encode(self, rows: Tensor, beside: Tensor, geometry: Tensor) -> Tensor:
        """(..., D) options from their rows, their places, and their geometry (..., 14)."""
        if not self.shape.memory:
            geometry = torch.cat([geometry[..., :6], geometry[..., 6:] * 0], -1)
        found: Tensor = self.option(rows + beside + self.bearing(geometry))
        return found

    def decide(
        self,
        told: tuple[Tensor, Tensor],
        options: Tensor,
        taken: Tensor,
        standing: Tensor,
        bias: Tensor,
        rows: Rows | None = None,
    ) -> Tensor:
        """(B, P) scores of options (B, P, D) of any steps; (N,) of (N, D) where ``rows`` are given.

        ``taken`` (B, T, D) are the options taken at each step, ``standing`` (B, T, D) those of
        stopping; ``bias`` (B, 1, P, 2 T) hides from an option what it may not see of them.
        """
        steps = torch.arange(taken.shape[1], device=taken.device).clamp(
            max=MOST_STEPS - 1
        )
        walked = taken + self.when(steps) + self.kinds[1]
        if not self.shape.memory:
            walked = walked * 0
        context = torch.cat([told[0], walked, standing + self.kinds[2]], 1)
        hidden = torch.cat([told[1].expand(-1, -1, bias.shape[2], -1), bias], -1)
        x = options
        for layer in self.deciders:
            x = layer(x, hidden, context, rows)
        scores: Tensor = self.score(self.last_norm(self.drop(x, rows))).squeeze(-1)
        return scores


def one_step(
    policy: Policy, told: tuple[Tensor, Tensor], encoded: Tensor, past: Tensor
) -> Tensor:
    """(B, Q) scores of one step's options (B, Q, D), stopping first; ``past`` (B, T, D) was taken.

    The past is padded by one step, which no option sees: a first step has none.
    """
    count = encoded.shape[1]
    taken = torch.cat([past, torch.zeros_like(encoded[:, :1])], 1)
    gap = torch.zeros_like(taken[:, :-1, 0])
    hidden = torch.cat([gap, torch.full_like(encoded[:, :1, 0], HIDDEN)], 1)
    bias = torch.cat([hidden, torch.zeros_like(encoded[:, :1, 0])], 1)[:, None, None, :]
    return policy.decide(
        told, encoded, taken, encoded[:, :1], bias.expand(-1, -1, count, -1)
    )


SMALLEST = 1024
"""Tensors of fewer numbers stay in single precision: they are little, and scales matter most."""


REVISIT_PENALTY = 99.0
"""Subtracted from the score of a move to a visited viewpoint, so that no path has a loop."""
STOP_BONUS = 1.0
"""Added to the score of stopping; chosen on dev_unseen among -1, -0.5, 0, 0.5, 1 and 1.5."""


class PolicyStep(nn.Module):
    """One decision of one walk by the mean of several policies: scores and memories out.

    The memories of K policies of width D lie side by side: a history is (1, T, K * D).
    """

    def __init__(
        self,
        policies: Sequence[Policy],
        revisit: float = REVISIT_PENALTY,
        stop: float = STOP_BONUS,
    ) -> None:
        super().__init__()
        self.policies = nn.ModuleList(policies)
        self.revisit = revisit
        self.stop = stop

    def forward(
        self,
        words: Tensor,
        captions: Tensor,
        objects: Tensor,
        summary: Tensor,
        rows: Tensor,
        geometry: Tensor,
        history: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """(1, L), (1, V, C), (1, V, O), (1, S), (1, Q), (1, Q, 14), (1, T, K * D)."""
        scores = []
        memories = []
        pasts = history.chunk(len(self.policies), -1)
        for policy, past in zip(self.policies, pasts, strict=True):
            instruction = policy.read(words)
            seen, beside = policy.look(captions, objects, summary)
            chosen = rows.unsqueeze(-1).expand(-1, -1, seen.shape[-1])
            encoded = policy.encode(
                seen.gather(1, chosen), beside.unsqueeze(1), geometry
            )
            scores.append(
                torch.log_softmax(one_step(policy, instruction, encoded, past), -1)
            )
            memories.append(encoded)
        is_move = (geometry[..., 5] > 0).float()
        adjusted = self.stop * (1 - is_move) - self.revisit * geometry[..., 6] * is_move
        return torch.stack(scores).mean(0) + adjusted, torch.cat(memories, -1)


LENGTHS = {
    "words": {1: "L"},
    "captions": {1: "V", 2: "C"},
    "objects": {1: "V", 2: "O"},
    "summary": {1: "S"},
    "rows": {1: "Q"},
    "geometry": {1: "Q"},
    "history": {1: "T"},
}
"""The inputs, and which of their axes differ from step to step."""


def export(step: PolicyStep, vocabulary: dict[str, int], path: Path) -> None:
    """Write the ONNX file and, next to it, the vocabulary."""
    width = sum(policy.shape.width for policy in step.policies)
    given = {
        "words": torch.tensor([[2, 3, 4]]),
        "captions": torch.randint(1, 9, (1, 8, 5)),
        "objects": torch.randint(1, 9, (1, 8, 3)),
        "summary": torch.randint(1, 9, (1, 6)),
        "rows": torch.randint(0, 9, (1, 5)),
        "geometry": torch.randn(1, 5, 14).clamp(-1, 1),
        "history": torch.randn(1, 2, width),
    }
    export_onnx(step, given, ["scores", "kept"], LENGTHS, vocabulary, path)


def export_onnx(
    module: nn.Module,
    given: dict[str, Tensor],
    outputs: list[str],
    axes: dict[str, dict[int, str]],
    vocabulary: dict[str, int],
    path: Path,
) -> None:
    """Write a module as ONNX, large weights in half precision, and its vocabulary next to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(
        module.eval(),
        tuple(given.values()),
        str(path),
        input_names=list(given),
        output_names=outputs,
        dynamic_axes=axes,
        opset_version=17,
        dynamo=False,
    )
    _halve(path)
    listed = sorted(vocabulary, key=lambda word: vocabulary[word])
    path.with_suffix(".json").write_text(
        json.dumps(listed, separators=(",", ":")) + "\n"
    )


def _halve(path: Path) -> None:
    """Store the large tensors in half precision, each followed by a cast."""
    import onnx  # of the training environment
    from onnx import TensorProto, helper, numpy_helper

    model = onnx.load(str(path))
    graph = model.graph
    casts = []
    for tensor in list(graph.initializer):
        values = numpy_helper.to_array(tensor)
        if values.dtype != np.float32 or values.size < SMALLEST:
            continue
        name = tensor.name
        graph.initializer.remove(tensor)
        graph.initializer.append(
            numpy_helper.from_array(values.astype(np.float16), name + "/half")
        )
        casts.append(
            helper.make_node("Cast", [name + "/half"], [name], to=TensorProto.FLOAT)
        )
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    onnx.save(model, str(path))


def load(path: Path) -> tuple[Policy, dict[str, int], dict[str, Any]]:
    """The policy of a checkpoint (the mean of its weights), its vocabulary, and all of it."""
    state = torch.load(path, weights_only=False)
    policy = Policy(Sizes(**state["shape"]))
    policy.load_state_dict(state["mean"])
    return policy.eval(), state["vocabulary"], state


def main(out: str, *checkpoints: str) -> None:
    """Export checkpoints of one vocabulary together."""
    policies, vocabularies, _ = zip(
        *(load(Path(path)) for path in checkpoints), strict=True
    )
    if any(vocabulary != vocabularies[0] for vocabulary in vocabularies):
        raise SystemExit(
            "the checkpoints differ in vocabulary: train them on the same scenes"
        )
    export(PolicyStep(policies), vocabularies[0], Path(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
