"""The speaker of the agent ``imitation_preexplored``: how probable an instruction is, given a path.

    python -m weights.imitation.speaker train --data R2R --start THIRD.pt --out speaker.pt
    python -m weights.imitation.speaker export speaker.pt imitation_speaker.onnx

It reads the words of a path's viewpoints as the policy does, from whose third network it starts,
and predicts the instruction word by word, as the speaker of Fried et al. (2018) does from images.
It is trained on the gold paths of the scenes and episodes that :mod:`weights.imitation.trainer`
trains on, and on generated houses; half of the batches have left and right swapped.

Shapes: B paths, S viewpoints of the longest, N distinct viewpoints, L words, D the width.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from wayword.agents.baselines.imitation import LONGEST, Floats, Ints, features
from weights.imitation.network import (
    HIDDEN,
    Policy,
    PolicyRecipe,
    Sizes,
    export_onnx,
    load,
)
from weights.imitation.tables import MIRROR, SECTORS, Scenes, swap_sides
from weights.imitation.trainer import Material, gather

LONGEST_PATH = 16
"""Viewpoints that have an embedding of their own; later ones share the last."""
WARM_UP = 100
"""Training steps until the full learning rate."""
UNUSED = (
    "readers",
    "deciders",
    "score",
    "read_norm",
    "last_norm",
    "where",
    "when",
    "kinds",
)
"""Parts of the policy that decide on moves; a speaker only sees."""


class Speaker(nn.Module):
    """Log-probability of an instruction, given a path.

    Each viewpoint of the path has two rows: the place itself, and the option that the path takes
    there, both encoded as the policy's options are.
    """

    def __init__(self, sizes: Sizes, layers: int = 2) -> None:
        super().__init__()
        width = sizes.width
        self.eyes = Policy(sizes)
        self.when = nn.Embedding(LONGEST_PATH, width)
        nn.init.normal_(self.when.weight, std=0.1)
        self.kinds = nn.Parameter(torch.randn(2, width) * 0.1)
        self.position = nn.Embedding(LONGEST["instruction"] + 1, width)
        nn.init.normal_(self.position.weight, std=0.1)
        self.begin = nn.Parameter(torch.randn(width) * 0.1)

        def layer(kind: Any) -> Any:
            options: dict[str, Any] = {"batch_first": True, "norm_first": True}
            shape = width, sizes.heads, 2 * width, sizes.dropout
            return kind(*shape, functional.gelu, **options)

        self.encoder = nn.ModuleList(
            layer(nn.TransformerEncoderLayer) for _ in range(layers)
        )
        self.decoder = nn.ModuleList(
            layer(nn.TransformerDecoderLayer) for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.out = nn.Linear(width, sizes.word)
        self.bias = nn.Parameter(torch.zeros(sizes.vocabulary))

    def read_path(
        self, seen: Tensor, here: Tensor, rows: Tensor, geometry: Tensor, count: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the path's rows (B, 2 S, D) and which of them to ignore (B, 2 S).

        ``seen`` (B, S, 9, D) and ``here`` (B, S, D) are texts as :meth:`Policy.look` encodes them;
        ``rows`` (B, S, 2) and ``geometry`` (B, S, 2, 14) select the place and the option taken;
        ``count`` (B,) is the number of viewpoints.
        """
        index = rows[..., None].expand(-1, -1, -1, seen.shape[-1])
        x = self.eyes.encode(seen.gather(2, index), here.unsqueeze(2), geometry)
        steps = torch.arange(rows.shape[1])
        x = x + self.when(steps.clamp(max=LONGEST_PATH - 1))[None, :, None] + self.kinds
        last = count[:, None] - 1  # no option is taken at the last viewpoint
        hidden = torch.stack([steps > last, steps >= last], -1).flatten(1)
        x = x.flatten(1, 2)
        for layer in self.encoder:
            x = layer(x, src_key_padding_mask=hidden)
        return self.norms[0](x), hidden

    def speak(self, words: Tensor, path: Tensor, hidden: Tensor) -> Tensor:
        """Return the log-probability (B, L + 1) of each word (B, L) and of the end; 0 after it."""
        length = words.shape[1]
        x = self.begun(words)
        future = torch.triu(torch.full((length + 1, length + 1), float("-inf")), 1)
        for layer in self.decoder:
            x = layer(x, path, tgt_mask=future, memory_key_padding_mask=hidden)
        return self.judged(x, words)

    def begun(self, words: Tensor) -> Tensor:
        """Return the decoder's input (B, L + 1, D): a beginning, then the words."""
        x = self.eyes.lift(self.eyes.words(words))
        x = torch.cat([self.begin.expand(len(words), 1, -1), x], 1)
        return x + self.position(torch.arange(words.shape[1] + 1))

    def judged(self, x: Tensor, words: Tensor) -> Tensor:
        """Return the log-probabilities (B, L + 1), given the decoder's output."""
        batch, length = words.shape
        logits = self.out(self.norms[1](x)) @ self.eyes.words.weight.T + self.bias
        target = torch.cat([words, words.new_zeros(batch, 1)], 1)
        logs = -functional.cross_entropy(
            logits.transpose(1, 2), target, reduction="none"
        )
        return logs * (torch.arange(length + 1) <= (words > 0).sum(1, keepdim=True))


def lay_out(
    scenes: Scenes, facing: Floats, paths: Sequence[Sequence[int]]
) -> tuple[Ints, Ints, Floats, Ints]:
    """Return places (B, S), rows (B, S, 2), geometry (B, S, 2, 14) and counts (B,) of paths.

    ``facing`` (B,) is the first heading, in radians; shorter paths repeat their last viewpoint.
    """
    count = np.array([len(path) for path in paths])
    longest = int(count.max())
    place = np.array([[*path, *[path[-1]] * (longest - len(path))] for path in paths])
    after = np.concatenate([place[:, 1:], place[:, -1:]], 1)
    slot = (scenes.ends[place] == after[..., None]).argmax(-1)
    moves = np.arange(longest) < (count - 1)[:, None]
    ways = np.take_along_axis(scenes.ways[place], slot[..., None, None], 2)[:, :, 0]
    ways = ways * moves[..., None]
    sides = np.take_along_axis(scenes.sectors[place], slot[..., None], 2)[..., 0]
    before = np.concatenate([facing[:, None], ways[:, :-1, 0]], 1)
    both = np.stack([np.zeros_like(ways), ways], 2)
    start = scenes.places[place[:, :1]]
    offset = np.stack([scenes.places[place] - start, scenes.places[after] - start], 2)
    # A path visits no place twice
    memory = np.zeros((len(paths), longest, 2, 2), np.float32)
    angles = (
        both[..., 0],
        both[..., 1],
        both[..., 2],
        before[..., None],
        facing[:, None, None],
    )
    geometry = features(*angles, offset, memory, 0)
    geometry[..., 11] = (np.arange(longest) / 10)[None, :, None]  # the step
    return place, np.stack([np.full_like(sides, SECTORS), sides], -1), geometry, count


def gold_paths(material: Material) -> list[list[int]]:
    """Return the shortest path of every episode, as numbers of viewpoints."""
    scenes = material.scenes
    found = []
    for here, goal in zip(
        material.episodes.start.tolist(), material.episodes.goal.tolist(), strict=True
    ):
        number = scenes.scene[here]
        first = scenes.first[number]
        metres = scenes.distances[number]
        path = [here]
        while path[-1] != goal:
            ends = scenes.ends[path[-1]]
            left = (
                scenes.ways[path[-1], :, 2]
                + metres[np.maximum(ends - first, 0), goal - first]
            )
            path.append(int(ends[np.where(ends >= 0, left, np.inf).argmin()]))
        found.append(path)
    return found


class SpeakerTrainer:
    """Speaker, its mean over training steps, and the material of one training."""

    def __init__(
        self, material: Material, start: Policy, given: argparse.Namespace
    ) -> None:
        torch.manual_seed(given.seed)
        self.material = material
        self.given = given
        self.gold = gold_paths(material)
        self.swapped = torch.from_numpy(swap_sides(material.vocabulary))
        self.speaker = Speaker(start.shape)
        self.speaker.eyes.load_state_dict(start.state_dict())
        self.used = [
            weight
            for name, weight in self.speaker.named_parameters()
            if not name.startswith(tuple(f"eyes.{part}" for part in UNUSED))
        ]
        self.optimizer = torch.optim.AdamW(
            self.used, lr=given.rate, weight_decay=0.02, betas=(0.9, 0.98)
        )
        self.mean = copy.deepcopy(self.speaker).eval()
        self.epoch = 0
        self.steps = 0
        self.seconds = 0.0

    def log_probabilities(
        self,
        speaker: Speaker,
        batch: NDArray[Any],
        mirrored: bool = False,
        drop: float = 0.0,
    ) -> tuple[Tensor, Tensor]:
        """Return the log-probability of each word of the instructions, and their lengths (B,)."""
        material = self.material
        paths = [self.gold[number] for number in batch.tolist()]
        laid = lay_out(material.scenes, material.episodes.facing[batch], paths)
        visited, place = np.unique(laid[0], return_inverse=True)
        texts = {
            kind: table[torch.from_numpy(visited)]
            for kind, table in material.texts.items()
        }
        words = torch.from_numpy(material.told[batch])
        words = words[:, : max(1, int((words > 0).sum(1).max()))]
        geometry = torch.from_numpy(laid[2])
        if mirrored:
            texts = {kind: self.swapped[table] for kind, table in texts.items()}
            words = self.swapped[words]
            geometry = geometry * torch.from_numpy(MIRROR)
        if drop:
            for kind, table in texts.items():
                gone = (torch.rand(table.shape) < drop) & (table > 0)
                texts[kind] = table.masked_fill(gone, 0)
        seen, here = speaker.eyes.look(**texts)
        at = torch.from_numpy(place.reshape(laid[0].shape))
        rows = torch.from_numpy(laid[1])
        count = torch.from_numpy(laid[3])
        path, hidden = speaker.read_path(seen[at], here[at], rows, geometry, count)
        return speaker.speak(words, path, hidden), (words > 0).sum(1) + 1

    def run(self, until: int = 10**6) -> None:
        """Train to the last epoch, with a checkpoint and a line of the curve after each."""
        parts = self.material.parts
        given = self.given
        length = (self.material.told > 0).sum(1)
        homes_drawn = min(given.houses_drawn, len(parts["homes"]))
        per_epoch = (len(parts["train"]) + homes_drawn) // given.batch + 1
        while self.epoch < min(until, given.epochs):
            rng = np.random.default_rng([given.seed, self.epoch])
            began = time.process_time()
            torch.manual_seed(1000 * given.seed + self.epoch)
            homes = rng.permutation(parts["homes"])[:homes_drawn]
            chosen = np.concatenate([parts["train"], homes])
            chosen = chosen[
                np.argsort(length[chosen] * rng.uniform(0.85, 1.15, len(chosen)))
            ]
            batches = np.array_split(chosen, per_epoch)
            self.speaker.train()
            losses = []
            for number in rng.permutation(len(batches)).tolist():
                share = min(1.0, self.steps / (given.epochs * per_epoch))
                rate = given.rate * min(1.0, (self.steps + 1) / WARM_UP)
                rate *= 0.02 + 0.98 * 0.5 * (1 + np.cos(np.pi * share))
                for group in self.optimizer.param_groups:
                    group["lr"] = rate
                mirrored = bool(rng.random() < 0.5)
                logs, lengths = self.log_probabilities(
                    self.speaker, batches[number], mirrored, drop=0.1
                )
                losses.append(self._learn(-logs.sum() / lengths.sum()))
            self.epoch += 1
            self.seconds += time.process_time() - began
            row = {
                "epoch": self.epoch,
                "seconds": self.seconds,
                "loss": float(np.mean(losses)),
            }
            row |= {
                part: self.score(parts[part]) for part in ("dev_seen", "dev_unseen")
            }
            print(
                json.dumps({key: round(value, 4) for key, value in row.items()}),
                flush=True,
            )
            self.save()

    def _learn(self, loss: Tensor) -> float:
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.used, 1.0)
        self.optimizer.step()
        self.steps += 1
        share = min(0.998, self.steps / (self.steps + 20))
        with torch.no_grad():
            pairs = zip(self.mean.parameters(), self.speaker.parameters(), strict=True)
            for mean, now in pairs:
                mean.lerp_(now, 1 - share)
        return float(loss.detach())

    @torch.no_grad()
    def score(self, chosen: NDArray[Any]) -> float:
        """Return the mean loss of a word on a sample of some 400 episodes."""
        total = words = 0.0
        some = chosen[:: max(1, len(chosen) // 400)]
        for first in range(0, len(some), 128):
            logs, lengths = self.log_probabilities(self.mean, some[first : first + 128])
            total = total - float(logs.sum())
            words = words + float(lengths.sum())
        return total / max(words, 1.0)

    def save(self) -> None:
        """Write what is needed to resume, atomically."""
        state = {
            "now": self.speaker.state_dict(),
            "mean": self.mean.state_dict(),
            "opt": self.optimizer.state_dict(),
            "epoch": self.epoch,
            "steps": self.steps,
            "secs": self.seconds,
            "vocabulary": self.material.vocabulary,
            "shape": asdict(self.speaker.eyes.shape),
        }
        partial = self.given.out.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(self.given.out)

    def resume(self) -> None:
        """Continue from the checkpoint in ``out``."""
        state = torch.load(self.given.out, weights_only=False)
        self.speaker.load_state_dict(state["now"])
        self.mean.load_state_dict(state["mean"])
        self.optimizer.load_state_dict(state["opt"])
        self.epoch = state["epoch"]
        self.steps = state["steps"]
        self.seconds = state["secs"]


def attend(attention: Any, x: Tensor, context: Tensor, bias: Tensor) -> Tensor:
    """``nn.MultiheadAttention`` in plain operators: its own export fixes the lengths."""
    weights = zip(
        attention.in_proj_weight.chunk(3), attention.in_proj_bias.chunk(3), strict=True
    )
    query, key, value = (
        functional.linear(rows, *pair)
        .unflatten(-1, (attention.num_heads, -1))
        .transpose(1, 2)
        for rows, pair in zip((x, context, context), weights, strict=True)
    )
    scores = query @ key.transpose(2, 3) / attention.head_dim**0.5 + bias
    return attention.out_proj(
        (torch.softmax(scores, -1) @ value).transpose(1, 2).flatten(2)
    )


class SpokenPath(nn.Module):
    """The log-probability of an instruction, given one path of S viewpoints: what is exported."""

    def __init__(self, speaker: Speaker) -> None:
        super().__init__()
        self.speaker = speaker

    def forward(
        self,
        words: Tensor,
        captions: Tensor,
        objects: Tensor,
        summary: Tensor,
        rows: Tensor,
        geometry: Tensor,
    ) -> Tensor:
        """(1, L), (S, V, C), (S, V, O), (S, W), (S, 2), (S, 2, 14) -> (1,)."""
        speaker = self.speaker
        seen, here = speaker.eyes.look(captions, objects, summary)
        index = rows[..., None].expand(-1, -1, seen.shape[-1])
        x = speaker.eyes.encode(seen.gather(1, index), here.unsqueeze(1), geometry)
        steps = torch.arange(rows.shape[0]).clamp(max=LONGEST_PATH - 1)
        x = x + speaker.when(steps)[:, None] + speaker.kinds
        # No option is taken at the last viewpoint
        path = x.flatten(0, 1)[:-1].unsqueeze(0)
        for layer in speaker.encoder:
            y = layer.norm1(path)
            path = path + attend(layer.self_attn, y, y, torch.zeros(1))
            path = path + layer.linear2(
                functional.gelu(layer.linear1(layer.norm2(path)))
            )
        path = speaker.norms[0](path)
        x = speaker.begun(words)
        places = torch.arange(x.shape[1])
        future = (places[None, :] > places[:, None]).float() * HIDDEN
        for layer in speaker.decoder:
            y = layer.norm1(x)
            x = x + attend(layer.self_attn, y, y, future)
            x = x + attend(layer.multihead_attn, layer.norm2(x), path, torch.zeros(1))
            x = x + layer.linear2(functional.gelu(layer.linear1(layer.norm3(x))))
        return speaker.judged(x, words).sum(1)


AXES = {
    "words": {1: "L"},
    "captions": {0: "S", 2: "C"},
    "objects": {0: "S", 2: "O"},
    "summary": {0: "S", 1: "W"},
    "rows": {0: "S"},
    "geometry": {0: "S"},
}
"""Inputs, and their axes of variable size."""


def export(speaker: Speaker, vocabulary: dict[str, int], path: Path) -> None:
    """Write the ONNX file and, next to it, the vocabulary."""
    given = {
        "words": torch.tensor([[2, 3, 4]]),
        "captions": torch.randint(1, 9, (4, SECTORS, 5)),
        "objects": torch.randint(1, 9, (4, SECTORS, 3)),
        "summary": torch.randint(1, 9, (4, 6)),
        "rows": torch.randint(0, 9, (4, 2)),
        "geometry": torch.randn(4, 2, 14).clamp(-1, 1),
    }
    export_onnx(SpokenPath(speaker), given, ["logp"], AXES, vocabulary, path)


def main(arguments: list[str] | None = None) -> None:
    """Train, or continue the training whose checkpoint is ``--out``; or export a checkpoint."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else ""
    )
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser("train")
    train.add_argument(
        "--data", type=Path, help="folder of r2r; without it houses alone"
    )
    train.add_argument(
        "--start", type=Path, required=True, help="checkpoint of the policy"
    )
    train.add_argument("--out", type=Path, required=True)
    train.add_argument("--epochs", type=int, default=14)
    train.add_argument("--seed", type=int, default=0)
    train.add_argument("--rate", type=float, default=7e-4)
    train.add_argument("--batch", type=int, default=64)
    train.add_argument("--houses", type=int, default=PolicyRecipe.houses)
    train.add_argument(
        "--houses-drawn", type=int, default=1500, help="house episodes an epoch"
    )
    train.add_argument("--threads", type=int, default=1)
    write = commands.add_parser("export")
    write.add_argument("checkpoint", type=Path)
    write.add_argument("onnx", type=Path)
    given = parser.parse_args(arguments)
    if given.command == "export":
        state = torch.load(given.checkpoint, weights_only=False)
        speaker = Speaker(Sizes(**state["shape"]))
        speaker.load_state_dict(state["mean"])
        export(speaker.eval(), state["vocabulary"], given.onnx)
        return
    torch.set_num_threads(given.threads)
    material = gather(given.data, PolicyRecipe(houses=given.houses))
    start, vocabulary, _ = load(given.start)
    if vocabulary != material.vocabulary:
        raise SystemExit(
            f"{given.start} has another vocabulary: train it on the same scenes"
        )
    trainer = SpeakerTrainer(material, start, given)
    if given.out.exists():
        trainer.resume()
    trainer.run()


if __name__ == "__main__":
    main()
