"""Training of the agent ``imitation``: DAgger on viewpoint graphs, from text.

    python -m weights.imitation.trainer --data DATA --out OUT --epochs 20

Each episode is walked once an epoch, by the expert or by the student's own draws, and every
viewpoint on the way is labelled with the first step of a shortest path to the goal (Ross et al.
2011). Ten scenes of the train split are held out for all choices (``dev_unseen``), and paths of
the other scenes (``dev_seen``); ``--all`` trains on everything once the choices are made.
"""

from __future__ import annotations

import argparse
import copy
import json
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wayword.agents.baselines.imitation import LONGEST, Ints, encode
from wayword.datasets.houses import Houses
from wayword.datasets.r2r import R2R
from wayword.worlds.indoor import SUCCESS_METRES
from weights.imitation.network import (
    HIDDEN,
    Policy,
    PolicyRecipe,
    Rows,
    Sizes,
    load,
    one_step,
)
from weights.imitation.tables import (
    MIRROR,
    SECTORS,
    Episodes,
    Scenes,
    WalkBatch,
    draw_homes,
    make_vocabulary,
    number_texts,
    pack,
    read_episodes,
    read_scenes,
    split_parts,
    swap_sides,
)

SAVE_EVERY = 300.0
"""Seconds between checkpoints inside an epoch."""
BFLOAT16 = torch.cpu._is_avx512_bf16_supported()
"""Emulated, bfloat16 is eight times as slow as single precision."""
MOST_STEPS = 15
"""Decisions of an episode when scoring, as in ``r2r``'s own limit."""


Views = tuple[Tensor, Tensor]
"""What is seen at N viewpoints: (N, 9, D) options and (N, D) places, see :meth:`Policy.look`."""


@dataclass
class Material:
    """All scenes and episodes, the parts by number, and the words of every viewpoint."""

    scenes: Scenes
    episodes: Episodes
    parts: dict[str, NDArray[Any]]
    vocabulary: dict[str, int]
    texts: dict[str, Tensor]
    told: Ints


def gather(data: Path | None, recipe: PolicyRecipe) -> Material:
    """Read R2R's train split and make the houses, and set the held-out parts aside.

    Without ``data`` the generated houses are all there is.
    """
    tasks: list[Any] = []
    names: list[str] = []
    sources: list[tuple[Any, list[str]]] = []
    if data is not None:
        rooms = R2R("train", data, R2R.Settings())
        tasks += rooms.tasks
        names = sorted({task.episode.scene for task in tasks})
        sources.append((rooms, names))
    if recipe.houses:
        made = recipe.houses
        # The shipped weights were fitted on the first wording of the instructions.
        settings = Houses.Settings(
            houses=made, episodes=made * 36, seed=1000, wording=1
        )
        homes = Houses("train", None, settings)
        drawn = draw_homes(homes)
        tasks += drawn
        sources.append((homes, sorted({task.episode.scene for task in drawn})))
    scenes = read_scenes(sources)
    episodes = read_episodes(scenes, tasks)
    parts = split_parts(scenes, episodes, names)
    if recipe.everything:
        parts["train"] = np.concatenate(
            [parts[p] for p in ("train", "dev_seen", "dev_unseen")]
        )
    learnt = np.concatenate([parts["train"], parts["homes"]])
    vocabulary = make_vocabulary(scenes, episodes, learnt)
    numbers = number_texts(scenes, vocabulary)
    told = np.zeros((len(episodes.ids), LONGEST["instruction"]), dtype=np.int64)
    for row, text in enumerate(episodes.words):
        known = encode(text, vocabulary, "instruction")
        told[row, : len(known)] = known
    texts = {kind: torch.from_numpy(rows) for kind, rows in numbers.items()}
    return Material(scenes, episodes, parts, vocabulary, texts, told)


class Trainer:
    """Policy, optimiser and material of one training, which may be continued."""

    def __init__(
        self, material: Material, shape: Sizes, recipe: PolicyRecipe, out: Path
    ) -> None:
        torch.manual_seed(recipe.seed)
        self.material = material
        self.recipe = recipe
        self.out = out
        self.rng = np.random.default_rng(recipe.seed)
        self.policy = Policy(shape)
        self.swapped = torch.from_numpy(swap_sides(material.vocabulary))
        if recipe.vectors:
            self._begin_from(np.load(recipe.vectors))
        self.optimiser = torch.optim.AdamW(
            self.policy.parameters(),
            lr=recipe.rate,
            weight_decay=recipe.decay,
            betas=(0.9, 0.98),
        )
        self.mean = copy.deepcopy(self.policy).eval()
        self.epoch = 0
        self.steps = 0
        self.seconds = 0.0
        self.curve: list[dict[str, float]] = []
        self.losses: list[float] = []
        self.plans = np.full(
            (len(material.episodes.ids), recipe.walk), -1, dtype=np.int64
        )

    @torch.no_grad()
    def _begin_from(self, known: Mapping[str, Any]) -> None:
        """Set the word vectors that are known: ``words`` (W,) and ``vectors`` (W, E)."""
        for word, vector in zip(known["words"].tolist(), known["vectors"], strict=True):
            if word in self.material.vocabulary:
                self.policy.words.weight[self.material.vocabulary[word]] = (
                    torch.from_numpy(vector)
                )

    def begin_from(self, start: tuple[Policy, dict[str, int], dict[str, Any]]) -> None:
        """Take the weights of another training, its word vectors by word."""
        policy, vocabulary, _ = start
        known = policy.state_dict()
        current = self.policy.state_dict()
        for name in ("words.weight", "weight.weight"):
            rows = current[name].clone()
            for word, number in self.material.vocabulary.items():
                if word in vocabulary:
                    rows[number] = known[name][vocabulary[word]]
            known[name] = rows
        known["some"] = current["some"]
        self.policy.load_state_dict(known)
        self.mean.load_state_dict(known)

    def run(self, until: int = 10**6) -> None:
        """Train to the last epoch, with a checkpoint and a line of the curve after each."""
        while self.epoch < min(until, self.recipe.epochs):
            began = time.time()
            loss = self._pass()
            self.epoch += 1
            self.seconds += time.time() - began
            row = {"epoch": float(self.epoch), "loss": loss, "seconds": self.seconds}
            for part in ("dev_seen", "dev_unseen", "dev_homes"):
                chosen = self.material.parts[part]
                if len(chosen):
                    some = chosen[:: max(1, len(chosen) // 500)]
                    row |= {f"{part}/{k}": v for k, v in self.score(some).items()}
            self.curve.append(row)
            print(json.dumps({k: round(v, 4) for k, v in row.items()}), flush=True)
            self.save()
            shutil.copyfile(
                self.out / "checkpoint.pt", self.out / f"epoch{self.epoch:02}.pt"
            )

    def _batches(self) -> Iterator[NDArray[Any]]:
        """Episodes of an epoch, in batches of few scenes and of instructions of like length."""
        material = self.material
        recipe = self.recipe
        # The same after a resumption
        rng = np.random.default_rng([recipe.seed, self.epoch])
        train = material.parts["train"]
        homes = material.parts["homes"]
        chosen = np.concatenate([train, rng.permutation(homes)[: self._homes()]])
        scene = material.scenes.scene[material.episodes.start[chosen]]
        length = (material.told[chosen] > 0).sum(1) * rng.uniform(
            0.85, 1.15, len(chosen)
        )
        chunks = []
        for number in np.unique(scene).tolist():
            rows = np.flatnonzero(scene == number)
            rows = rows[np.argsort(length[rows])]
            cuts = range(recipe.chunk, len(rows), recipe.chunk)
            chunks += [
                (length[part].mean(), chosen[part]) for part in np.split(rows, cuts)
            ]
        chunks.sort(key=lambda pair: float(pair[0]))
        batches: list[list[NDArray[Any]]] = [[]]
        for _, part in chunks:
            if sum(map(len, batches[-1])) >= recipe.batch:
                batches.append([])
            batches[-1].append(part)
        for number in rng.permutation(len(batches)).tolist():
            yield np.concatenate(batches[number])

    def _pass(self) -> float:
        """The rest of an epoch, from the batch that a checkpoint left off at; the mean loss."""
        self.policy.train()
        if self.epoch and not self.losses:
            self._ask()
        whole = self.recipe.epochs * self._per_epoch()
        saved = time.time()
        for batch in list(self._batches())[len(self.losses) :]:
            self._set_rate(self.steps / whole)
            with torch.autocast("cpu", torch.bfloat16, enabled=BFLOAT16):
                loss = self._loss(batch)
            self.optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
            self.optimiser.step()
            self.steps += 1
            self._follow()
            self.losses.append(float(loss.detach()))
            if time.time() - saved > SAVE_EVERY:
                self.save()
                saved = time.time()
        mean = float(np.mean(self.losses))
        self.losses = []
        return mean

    @torch.no_grad()
    def _follow(self) -> None:
        """Move the mean of the weights, which is what is scored and shipped."""
        share = min(self.recipe.smooth, self.steps / (self.steps + 20))
        for mean, now in zip(
            self.mean.parameters(), self.policy.parameters(), strict=True
        ):
            mean.lerp_(now, 1 - share)

    def _homes(self) -> int:
        """How many episodes in generated houses an epoch has: all, where there is nothing else."""
        train, homes = (len(self.material.parts[part]) for part in ("train", "homes"))
        return min(homes, int(self.recipe.homes_share * train)) if train else homes

    def _per_epoch(self) -> int:
        return (
            len(self.material.parts["train"]) + self._homes()
        ) // self.recipe.batch + 1

    def _set_rate(self, share: float) -> None:
        warm = min(1.0, (self.steps + 1) / 150)
        rate = (
            self.recipe.rate
            * warm
            * (0.02 + 0.98 * 0.5 * (1 + np.cos(np.pi * min(1.0, share))))
        )
        for group in self.optimiser.param_groups:
            group["lr"] = rate

    def _ask(self) -> None:
        """Let the student walk some of the episodes, drawing its moves."""
        parts = self.material.parts
        every = np.concatenate([parts["train"], parts["homes"]])
        wanted = (len(parts["train"]) + self._homes()) * self.recipe.refresh
        some = self.rng.permutation(every)[: int(wanted)]
        views = self._views(some)
        for first in range(0, len(some), 256):
            batch = some[first : first + 256]
            with torch.autocast("cpu", torch.bfloat16, enabled=BFLOAT16):
                self.plans[batch] = self._play(
                    batch, self.recipe.walk, views, draw=True
                )[1]

    def _loss(self, batch: NDArray[Any]) -> Tensor:
        """The mean loss of a batch's decisions, all labelled by the expert."""
        material = self.material
        recipe = self.recipe
        lead = self.rng.random(len(batch)) < recipe.guided
        plan = np.where(lead[:, None], -1, self.plans[batch])
        noise = recipe.noise * (self.rng.random(len(batch)) < 0.5)
        walks = WalkBatch(material.scenes, material.episodes.some(batch))
        packed = pack(walks, plan, noise, self.rng)
        sides = -1 if recipe.mirror and self.rng.random() < 0.5 else 1
        words = self._words(batch)
        geometry = torch.from_numpy(packed.geometry)
        if sides < 0:
            words = self.swapped[words]
            geometry = geometry * torch.from_numpy(MIRROR)
        told = self.policy.read(self._dropped(words, 1))
        valid = packed.step >= 0
        walk, _ = np.nonzero(valid)
        cell = torch.from_numpy(np.flatnonzero(valid))
        flat = Rows(torch.from_numpy(walk), cell, (valid.shape[0], valid.shape[1]))
        visited, place = np.unique(packed.place[valid], return_inverse=True)
        seen, beside = self._look(self.policy, visited, train=True, mirrored=sides < 0)
        at = torch.from_numpy(place)
        index = at * (SECTORS + 1) + torch.from_numpy(packed.row[valid])
        encoded = self.policy.encode(
            seen.flatten(0, 1).index_select(0, index),
            beside.index_select(0, at),
            geometry[torch.from_numpy(valid)],
        )
        whole = flat.spread(encoded)
        picked = torch.arange(len(batch))[:, None]
        taken = whole[picked, torch.from_numpy(packed.taken)]
        standing = whole[picked, torch.from_numpy(packed.standing)]
        steps = packed.answer.shape[1]
        step = torch.from_numpy(packed.step)[..., None]
        order = torch.arange(steps)
        before = torch.cat([order < step, order == step], -1)
        bias = (~before).float().unsqueeze(1) * HIDDEN
        scores = self.policy.decide(told, encoded, taken, standing, bias, flat)
        table = torch.full((len(batch) * (steps * packed.options + 1),), -1e9)
        where = flat.walk * (steps * packed.options + 1) + torch.from_numpy(
            packed.cell[valid]
        )
        table = table.scatter(0, where, scores.float()).view(len(batch), -1)
        flat_scores = table[:, :-1].reshape(-1, packed.options)
        logs = torch.log_softmax(flat_scores, 1)
        answer = torch.from_numpy(packed.answer).reshape(-1)
        right = logs.gather(1, answer.clamp(min=0).unsqueeze(1)).squeeze(1)
        may_stop = torch.from_numpy(packed.left).reshape(-1) < recipe.near
        either = torch.logaddexp(right, logs[:, 0])
        right = torch.where(may_stop & (answer > 0), either, right)
        return -right[answer >= 0].mean()

    def _words(self, batch: NDArray[Any]) -> Tensor:
        """(B, L) the instructions' word numbers, no longer than the longest."""
        told = self.material.told[batch]
        return torch.from_numpy(told[:, : max(1, int((told > 0).sum(1).max()))])

    @torch.no_grad()
    def _play(
        self, batch: NDArray[Any], most: int, views: Views, *, draw: bool
    ) -> tuple[WalkBatch, Ints]:
        """Walk episodes step by step with the mean of the weights: walks, and the options taken.

        With ``draw`` moves are drawn by their scores, and a walk ends at the goal and only there.
        """
        policy = self.mean
        walks = WalkBatch(self.material.scenes, self.material.episodes.some(batch))
        rows, beside = views
        told = policy.read(self._words(batch))
        past = torch.zeros(len(batch), 0, policy.shape.width)
        plan = np.full((len(batch), most), -1, dtype=np.int64)
        going = np.ones(len(batch), bool)
        for step in range(most):
            around = walks.observe()
            here = torch.from_numpy(walks.here)[:, None]
            encoded = policy.encode(
                rows[here, torch.from_numpy(around["rows"])],
                beside[here],
                torch.from_numpy(around["geometry"]),
            )
            scores = one_step(policy, told, encoded, past)
            scores = scores.masked_fill(~torch.from_numpy(around["legal"]), -1e9)
            if draw:
                scores[:, 0] = -1e8
                drawn = (
                    torch.multinomial(torch.softmax(scores.float(), 1), 1)
                    .squeeze(1)
                    .numpy()
                )
                options = np.where(walks.expert() == 0, 0, drawn)
            else:
                options = scores.argmax(1).numpy()
            plan[going, step] = options[going]
            taken = encoded[torch.arange(len(batch)), torch.from_numpy(options)]
            past = torch.cat([past, taken.unsqueeze(1)], 1)
            walks.move(options, going)
            going = going & (options > 0)
            if not going.any():
                break
        return walks, plan

    def _look(
        self, policy: Policy, places: Ints, *, train: bool, mirrored: bool = False
    ) -> Views:
        """The texts of these viewpoints as :meth:`Policy.look` reads them."""
        rows = torch.from_numpy(places)
        given = {kind: table[rows] for kind, table in self.material.texts.items()}
        if mirrored:
            given = {kind: self.swapped[words] for kind, words in given.items()}
        if train:
            given = {kind: self._dropped(words, 0) for kind, words in given.items()}
        return policy.look(**given)

    @torch.no_grad()
    def _views(self, batch: NDArray[Any]) -> Views:
        """What the mean of the weights sees at each viewpoint of these episodes' scenes.

        Rows of other scenes are empty.
        """
        scenes = self.material.scenes
        width = self.policy.shape.width
        rows = torch.empty(len(scenes.scene), SECTORS + 1, width)
        beside = torch.empty(len(scenes.scene), width)
        for n in np.unique(scenes.scene[self.material.episodes.start[batch]]).tolist():
            part = slice(scenes.first[n], scenes.first[n + 1])
            places = np.arange(part.start, part.stop)
            rows[part], beside[part] = self._look(self.mean, places, train=False)
        return rows, beside

    def _dropped(self, numbers: Tensor, instead: int) -> Tensor:
        """Words left out at random: none (0), or unknown (1), in their place."""
        gone = (torch.rand(numbers.shape) < self.recipe.word_drop) & (numbers > 0)
        return numbers.masked_fill(gone, instead)

    def score(self, chosen: NDArray[Any]) -> dict[str, float]:
        """Success and distance left (metres) of greedy walks of these episodes."""
        ends: list[Any] = []
        views = self._views(chosen)
        for first in range(0, len(chosen), 256):
            walks, _ = self._play(
                chosen[first : first + 256], MOST_STEPS, views, draw=False
            )
            ends.append(walks.remaining())
        left = np.concatenate(ends)
        return {"sr": float((left < SUCCESS_METRES).mean()), "ne": float(left.mean())}

    def save(self) -> None:
        """Everything that is needed to go on, written beside and then moved into place."""
        self.out.mkdir(parents=True, exist_ok=True)
        state = {
            "policy": self.policy.state_dict(),
            "mean": self.mean.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "shape": asdict(self.policy.shape),
            "recipe": asdict(self.recipe),
            "vocabulary": self.material.vocabulary,
            "epoch": self.epoch,
            "steps": self.steps,
            "seconds": self.seconds,
            "curve": self.curve,
            "losses": self.losses,
            "plans": self.plans,
            "draws": self.rng.bit_generator.state,
            "torch": torch.get_rng_state(),
        }
        partial = self.out / "checkpoint.partial"
        torch.save(state, partial)
        partial.replace(self.out / "checkpoint.pt")
        (self.out / "curve.json").write_text(json.dumps(self.curve, indent=1))

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on from a checkpoint of the same recipe and material."""
        self.policy.load_state_dict(state["policy"])
        self.mean.load_state_dict(state["mean"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.epoch = state["epoch"]
        self.steps = state["steps"]
        self.seconds = state["seconds"]
        self.curve = state["curve"]
        self.plans = state["plans"]
        self.losses = state["losses"]
        self.rng.bit_generator.state = state["draws"]
        torch.set_rng_state(state["torch"])


def main(arguments: list[str] | None = None) -> None:
    """Train, or go on with a training whose checkpoint lies in ``--out``."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument(
        "--data", type=Path, help="folder of r2r; without it houses alone"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--all", action="store_true", dest="everything")
    parser.add_argument(
        "--start", type=Path, help="checkpoint whose weights a new training takes"
    )
    parser.add_argument("--no-mirror", action="store_true")
    parser.add_argument("--no-text", action="store_true")
    parser.add_argument("--no-memory", action="store_true")
    changeable = (
        "epochs",
        "batch",
        "rate",
        "seed",
        "houses",
        "homes_share",
        "vectors",
        "walk",
        "refresh",
        "near",
    )
    for name in changeable:
        default = getattr(PolicyRecipe, name)
        parser.add_argument(f"--{name}", type=type(default), default=default)
    parser.add_argument("--width", type=int, default=Sizes.width)
    parser.add_argument("--dropout", type=float, default=Sizes.dropout)
    given = parser.parse_args(arguments)
    torch.set_num_threads(given.threads)
    changes = {name: getattr(given, name) for name in changeable}
    changes |= {"everything": given.everything, "mirror": not given.no_mirror}
    recipe = replace(PolicyRecipe(), **changes)
    material = gather(given.data, recipe)
    shape = Sizes(
        len(material.vocabulary),
        width=given.width,
        dropout=given.dropout,
        text=not given.no_text,
        memory=not given.no_memory,
    )
    trainer = Trainer(material, shape, recipe, given.out)
    print(json.dumps({part: len(rows) for part, rows in material.parts.items()}))
    stored = given.out / "checkpoint.pt"
    if stored.exists():
        trainer.resume(torch.load(stored, weights_only=False))
    elif given.start:
        trainer.begin_from(load(given.start))
    trainer.run()


if __name__ == "__main__":
    main()
