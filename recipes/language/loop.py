"""The training loop: examples, steps, a dev score by task success, checkpoints that resume.

A run is a folder: ``examples-N.jsonl`` (a file a round), ``checkpoint.pt`` (the newest whole
state, replaced at once), ``best/`` (the student with the best dev score, Hugging Face layout),
``curve.jsonl`` (a line an evaluation) and ``curve.svg``. A run that was killed at any moment goes
on from its checkpoint with the same batches in the same order; nothing but time is lost.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from recipes.language.batches import (
    Encoded,
    batched,
    cropped,
    encode_all,
    even_shape,
    mirrored,
    parts,
    schedule,
    tensors,
)
from recipes.language.config import Recipe, Source, Task
from recipes.language.export import drawn
from recipes.language.shape import libraries
from recipes.language.student import Student, StudentModel
from recipes.language.together import BatchedStudent, gathered
from recipes.sft.alignment import align
from recipes.walks import read, refuse_test, save
from wayword.core import dataset as core
from wayword.core import registry
from wayword.core.dataset import Dataset
from wayword.core.errors import UsageError
from wayword.core.model import Model
from wayword.core.rollout import Setup, rollout
from wayword.metrics.scoring import judge
from wayword.settings import make
from wayword.training.examples import Example, ExampleMaker

Report = Callable[[str], None]
"""Told a line for a person."""
Track = Callable[[Mapping[str, float], int], None]
"""Told the figures of each evaluation, and its number from 1."""
PIECES = -1
"""The round before the first, in which single decisions are learnt."""


Opened = tuple[Dataset, Sequence[core.Task]]
"""A dataset, and those of its tasks that are meant."""


def vocabulary(source: Source, folder: Path | None) -> Iterator[str]:
    """A dataset's instructions, and the words for its places in lower case: no walks are played."""
    dataset, tasks = source.open(folder)
    yield from (f'"{task.episode.instruction}"' for task in tasks)
    perceiver, seen = dataset.perceiver(), set()
    if perceiver is None:
        return
    for scene in sorted({task.episode.scene for task in tasks}):
        for place in dataset.graph(scene).ids:  # type: ignore[attr-defined]
            percept = perceiver.perceive(scene, place)
            told = [percept.summary, *(part.caption for part in percept.sectors)]
            told += [thing.name for part in percept.sectors for thing in part.sightings]
            seen.update(re.findall(r"[a-z]+", " ".join(told).lower()))
    yield from (f": {word}; {word}, {word}" for word in sorted(seen))


class Run:
    """One training run in its folder.

    >>> Run(recipe, Path("runs/walker"), data=None).train()             # doctest: +SKIP
    """

    def __init__(
        self,
        recipe: Recipe,
        folder: Path,
        data: Path | None,
        report: Report = lambda line: None,
        track: Track = lambda values, step: None,
    ) -> None:
        for task in recipe.tasks:
            for source in task.sources:
                refuse_test(source.data, source.area)
        self.recipe, self.folder, self.data = recipe, folder, data
        self.report, self.track = report, track
        self.torch = libraries()
        self.torch.set_num_threads(recipe.threads)
        self.round, self.step, self.seconds, self.cpu = (
            PIECES if recipe.pieces else 0,
            0,
            0.0,
            0.0,
        )
        self.curve: list[dict[str, Any]] = []
        self._dev: dict[str, Opened] = {}
        self._student: Student | None = None
        self._optimiser: Any = None

    def train(self) -> dict[str, Any]:
        """Train to the end; returns the best evaluation. Goes on where an earlier call ended."""
        try:
            return self._train()
        except OSError as error:
            place = error.filename or self.folder
            raise UsageError(f"training: {place}: {error.strerror or error}") from error
        except (MemoryError, RuntimeError) as error:
            if "memory" not in str(error).lower() and not isinstance(
                error, MemoryError
            ):
                raise
            raise UsageError(
                "training: out of memory; lower `tokens` (a batch's) or `length` in the recipe"
            ) from error

    def _train(self) -> dict[str, Any]:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._same_recipe()
        gold = self._examples(0, lambda: self._gold_walks())
        self._open(gold)
        self._restore()
        while self.round <= self.recipe.rounds:
            number, recipe = self.round, self.recipe
            if number == PIECES:
                pieces = [piece for walk in gold for piece in cropped(walk)]
                self._epochs(pieces, recipe.pieces, 4 * recipe.batch)
            elif number == 0:
                if self._epochs(gold, recipe.epochs, recipe.batch):
                    break
            else:
                own = self._mixed(self._examples(number, self._own_walks), gold, number)
                if self._epochs(own, 1.0, recipe.batch):
                    break
            self.round, self.step = number + 1, 0
            self._save()
        return max(self.curve, key=lambda one: one["score"], default={})

    def _same_recipe(self) -> None:
        path = self.folder / "recipe.json"
        text = json.dumps(asdict(self.recipe), indent=2, default=list)
        if path.is_file() and json.loads(path.read_text()) != json.loads(text):
            raise UsageError(
                f"{self.folder}: holds a run of another recipe; name another folder"
            )
        path.write_text(text + "\n")

    def _examples(
        self, number: int, make_them: Callable[[], list[Example]]
    ) -> list[Example]:
        """The examples of a round, played once and kept."""
        path = self.folder / f"examples-{number}.jsonl"
        if not path.is_file():
            began = time.perf_counter()
            found = make_them()
            save(path, found)
            rate = sum(one.success for one in found) / max(1, len(found))
            took = time.perf_counter() - began
            self.report(
                f"round {number}: {len(found)} walks, {rate:.0%} arrive ({took:.0f} s)"
            )
        return read(path)

    def _gold_walks(self) -> list[Example]:
        found: list[Example] = []
        for task in self.recipe.tasks:
            for source in task.sources:
                dataset, tasks = source.open(self.data)
                player = self._player(task, source, dataset)
                made = [asyncio.run(player.example(one, None, "ft")) for one in tasks]
                arrived = [one for one in made if one.success]
                left = f", {len(made) - len(arrived)} that do not arrive left out"
                self.report(
                    f"{source.data}: {len(arrived)} gold walks{left * (arrived != made)}"
                )
                found += arrived
        return found

    def _player(self, task: Task, source: Source, dataset: Dataset) -> ExampleMaker:
        near = self.recipe.near
        return ExampleMaker(
            task.agent, task.settings, source.data, dataset, near=near, align=align
        )

    def _own_walks(self) -> list[Example]:
        model, found = self._answering(), []
        rng = random.Random(f"{self.recipe.seed}/walks/{self.round}")
        for task in self.recipe.tasks:
            opened = [(source, *source.open(self.data)) for source in task.sources]
            total = sum(len(tasks) for _, _, tasks in opened)
            for source, dataset, tasks in opened:
                player = self._player(task, source, dataset)
                count = min(len(tasks), round(self.recipe.walks * len(tasks) / total))
                chosen = rng.sample(tasks, count)
                walk = partial(player.example, student=model, method=self.recipe.method)
                jobs = [partial(walk, one) for one in chosen]
                found += asyncio.run(gathered(jobs, self.recipe.together))
        return found

    def _answering(self) -> Model:
        """The student as it stands, as a model."""
        assert self._student is not None
        self._student.network.eval()
        if self.recipe.together > 1:
            return BatchedStudent(self._student)
        return StudentModel(self._student)

    def _mixed(
        self, own: list[Example], gold: list[Example], number: int
    ) -> list[Example]:
        rng = random.Random(f"{self.recipe.seed}/mix/{number}")
        return [
            *own,
            *rng.sample(gold, min(len(gold), round(self.recipe.mix * len(own)))),
        ]

    def _open(self, gold: Sequence[Example]) -> None:
        recipe = self.recipe
        self.torch.manual_seed(recipe.seed)
        first = self.folder / "first"
        if not first.is_dir():
            if recipe.start:
                student = Student.from_folder(Path(recipe.start), recipe.shape)
            else:
                known = [
                    line
                    for source in recipe.words
                    for line in vocabulary(source, self.data)
                ]
                student = Student.from_base(
                    recipe.shape, [*known, *(one.text for one in gold)]
                )
            if recipe.shape.lora:
                self._student = student
            else:
                student.save(self.folder / "first.new")
                os.replace(self.folder / "first.new", first)
        if self._student is None:
            self._student = Student.from_folder(first, recipe.shape)
        if recipe.compiled:
            self._student.compile()
        size = sum(weights.numel() for weights in self._student.trained())
        self.report(f"{size / 1e6:.1f} million parameters are trained")
        if recipe.together > 1 and self._student.device == "cpu":
            self.report(
                "together > 1 is slow on a CPU: whole prompts are read anew; 1 keeps them"
            )
        self._optimiser = self.torch.optim.AdamW(
            self._student.trained(), lr=recipe.rate, betas=(0.9, 0.98), weight_decay=recipe.decay,
            fused=True,
        )  # fmt: skip

    def _epochs(self, examples: Sequence[Example], epochs: float, size: int) -> bool:
        """Train on them in batches of that size; True to stop early."""
        assert self._student is not None
        recipe = self.recipe
        encoded = self._encoded(examples)
        usable = [
            one for one in encoded if len(one[0].ids) <= recipe.length and one[0].labels
        ]
        if left := len(encoded) - len(usable):
            self.report(
                f"{left} walks left out: longer than {recipe.length} tokens, or no choice"
            )
        batches = list(batched(usable, epochs, size, f"{recipe.seed}/{self.round}"))
        saved = shown = time.perf_counter()
        losses: list[float] = []
        read_tokens = 0
        while self.step < len(batches):
            began, worked = time.perf_counter(), time.process_time()
            losses.append(self._learn(batches[self.step], len(batches)))
            read_tokens += sum(len(one.ids) for one in batches[self.step])
            self.step += 1
            now = time.perf_counter()
            self.seconds += now - began
            self.cpu += time.process_time() - worked
            if self.step % 20 == 0:
                mean, rate = (
                    sum(losses[-20:]) / len(losses[-20:]),
                    read_tokens / (now - shown),
                )
                self.report(
                    f"round {self.round} step {self.step}/{len(batches)} loss {mean:.4f} "
                    f"{rate:.0f} tokens/s"
                )
                shown, read_tokens = now, 0
            due = self.step % recipe.evaluate == 0 and self.round != PIECES
            if due or self.step == len(batches):
                self._evaluate(sum(losses) / max(1, len(losses)))
                losses = []
                self._save()
                saved = shown = time.perf_counter()
                if self._exhausted():
                    self.report(
                        f"no better dev score in {recipe.patience} evaluations: stopped"
                    )
                    return True
            elif now - saved > recipe.checkpoint:
                self._save()
                saved = time.perf_counter()
        return False

    def _encoded(self, examples: Sequence[Example]) -> list[tuple[Encoded, ...]]:
        """Each example and, if asked, its mirror image."""
        assert self._student is not None
        words = self._student.words
        versions = [encode_all(examples, words)]
        if self.recipe.mirror:
            versions.append(encode_all([mirrored(one) for one in examples], words))
        return list(zip(*versions, strict=True))

    def _learn(self, batch: Sequence[Encoded], steps: int) -> float:
        """One step; returns its loss."""
        assert self._student is not None
        torch, student, recipe = self.torch, self._student, self.recipe
        for group in self._optimiser.param_groups:
            group["lr"] = recipe.rate * schedule(self.step, steps, recipe.warm_up)
        student.network.train()
        total, count = 0.0, sum(len(one.labels) for one in batch)
        even = student.lean is not None and student.lean.compiled
        for part in parts(batch, recipe.tokens, even=even):
            share = sum(len(one.labels) for one in part) / count
            shape = even_shape(part, len(batch), recipe.tokens) if even else (0, 0)
            told = tensors(torch, part, student.device, *shape)
            loss = student.loss(told, recipe.language) * share
            loss.backward()
            total += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(student.trained(), recipe.clip)
        self._optimiser.step()
        self._optimiser.zero_grad(set_to_none=True)
        return total

    def _evaluate(self, loss: float) -> None:
        """Play every task's dev episodes; keep the student where the mean is the best so far."""
        assert self._student is not None
        model, scores = self._answering(), {}
        began = time.perf_counter()
        for task in self.recipe.tasks:
            name = f"{task.agent} {task.dev.data}"
            if name not in self._dev:
                self._dev[name] = task.dev.open(self.data)
            scores[name] = success(task, self._dev[name], model, self.recipe.together)
        score = sum(scores.values()) / len(scores)
        best = max((one["score"] for one in self.curve), default=-1.0)
        line = {
            "round": self.round,
            "step": self.step,
            "loss": round(loss, 4),
            "score": round(score, 4),
            "dev": {name: round(value, 4) for name, value in scores.items()},
            "seconds": round(self.seconds),
            "cpu_seconds": round(self.cpu),
            "dev_seconds": round(time.perf_counter() - began),
        }
        self.curve.append(line)
        (self.folder / "curve.jsonl").write_text(
            "".join(json.dumps(c) + "\n" for c in self.curve)
        )
        (self.folder / "curve.svg").write_text(drawn(self.curve))
        self.track({"loss": loss, "score": score, **scores}, len(self.curve))
        self.report(
            f"dev {line['dev']} loss {loss:.4f} after {self.seconds / 60:.0f} min"
        )
        if score > best:
            shutil.rmtree(self.folder / "best.new", ignore_errors=True)
            self._student.save(self.folder / "best.new")
            shutil.rmtree(self.folder / "best", ignore_errors=True)
            os.replace(self.folder / "best.new", self.folder / "best")

    def _exhausted(self) -> bool:
        scores = [one["score"] for one in self.curve]
        patience = self.recipe.patience
        return (
            bool(patience) and len(scores) - 1 - scores.index(max(scores)) >= patience
        )

    def _save(self) -> None:
        assert self._student is not None
        state = {
            "student": self._student.state(),
            "optimiser": self._optimiser.state_dict(),
            "round": self.round,
            "step": self.step,
            "seconds": self.seconds,
            "cpu": self.cpu,
            "curve": self.curve,
            "torch": self.torch.get_rng_state(),
        }
        beside = self.folder / "checkpoint.new"
        try:
            self.torch.save(state, beside)
            os.replace(beside, self.folder / "checkpoint.pt")
        except (OSError, RuntimeError) as error:
            beside.unlink(missing_ok=True)
            raise UsageError(
                f"{beside}: cannot be written ({error}); the last checkpoint is whole: make room "
                "and start the same command again"
            ) from error

    def _restore(self) -> None:
        assert self._student is not None
        path = self.folder / "checkpoint.pt"
        if not path.is_file():
            return
        state = self.torch.load(path, weights_only=False)
        self._student.restore(state["student"])
        self._optimiser.load_state_dict(state["optimiser"])
        self.round, self.step = state["round"], state["step"]
        self.seconds, self.cpu = state["seconds"], state.get("cpu", 0.0)
        self.curve = state["curve"]
        self.torch.set_rng_state(state["torch"])
        self.report(f"goes on at round {self.round}, step {self.step}")


# The dev score: episodes that the student plays itself, judged by its family's metric of success.


def success(task: Task, opened: Opened, model: Model, together: int = 1) -> float:
    """The share of a task's dev episodes that succeed by their family's metric.

    ``together``: how many are played at once.
    """
    dataset, tasks = opened
    cls = registry.load("agent", task.agent)
    settings = make(cls.Settings, task.settings, task.agent)
    right = judge(dataset)
    setup = Setup(
        dataset,
        lambda toolkit, actor: cls(settings, toolkit),
        models={"main": model},
        max_steps=dataset.max_steps,
    )
    jobs = [partial(rollout, one, setup) for one in tasks]
    walks = asyncio.run(gathered(jobs, together))
    for one, trajectory in zip(tasks, walks, strict=True):
        if trajectory.error:
            raise UsageError(f"dev episode {one.episode.id}: {trajectory.error}")
    return sum(right(*both) for both in zip(tasks, walks, strict=True)) / len(tasks)
