"""Supervised fine-tuning by TRL on the prompts of an agent.

    from weights.sft.finetuning import FineTuning, finetune

    plan = FineTuning("velma", ("towns:train",), base="HuggingFaceTB/SmolLM2-135M-Instruct")
    finetune(plan, Path("runs/velma"), data=None)

The loss is on the agent's decisions alone. Each label is the oracle's action; the text keeps the
action that was taken (VELMA, section 6.3.1), so a label may differ from the token under it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from wayword.core import registry
from wayword.core.dataset import Dataset, Task
from wayword.core.errors import DataError, UsageError, needing
from wayword.models.parts.opening import open_model
from wayword.models.parts.weights import located
from wayword.training.examples import Example, ExampleMaker, Method
from weights.sft.alignment import align
from weights.walks import read, refuse_test, save

Report = Callable[[str], None]
Track = Callable[[Mapping[str, float], int], None]

IGNORED = -100
"""Label of a token that is not learned, as torch's cross entropy has it."""

TRAINED_WITH: Mapping[str, Mapping[str, Any]] = {"velma": {"shots": 0}}
"""Settings of an agent without which its prompt is no single growing text, or would be long."""


@dataclass(frozen=True, slots=True)
class FineTuning:
    """Settings of a fine-tuning run.

    ``base``: a Hugging Face name or folder, a GGUF file, or a name that ``local:`` knows. ``walks``
    names a model (``hf:FOLDER``, ``local:NAME`` …) that walks itself and is corrected by ``method``
    (``rbl`` or ``dagger``); without it the walks are the gold ones. ``rank`` 0 trains all weights,
    else LoRA adapters on every linear layer. ``length``: longer walks, in tokens, are left out.
    ``limit``: episodes of each split, 0 for all. ``batch``: walks of a step, one at a time through
    the network.
    """

    agent: str
    on: Sequence[str]
    base: str = "smollm2"
    settings: Mapping[str, Any] = field(default_factory=dict)
    method: Method = "ft"
    walks: str = ""
    limit: int = 0
    rank: int = 16
    alpha: int = 32
    dropout: float = 0.05
    rate: float = 2e-4
    epochs: float = 3.0
    batch: int = 16
    length: int = 2048
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.on:
            raise UsageError(f"train {self.agent}: name a training split with --on")
        for on in self.on:
            refuse_test(on, _area(on))
        if (self.method == "ft") == bool(self.walks):
            raise UsageError(
                "--method rbl and dagger learn from a model's own walks: name it with --walks"
            )


class Tokenizer(Protocol):
    """A ``tokenizers.Tokenizer``: token ids, and their offsets in characters."""

    def __hash__(self) -> int: ...

    def encode(self, text: str) -> Any: ...


@dataclass(frozen=True, slots=True)
class Encoded:
    """``ids`` (T,) tokens; ``at`` (L,) positions whose next token is labelled; ``labels`` (L,)."""

    ids: tuple[int, ...]
    at: tuple[int, ...]
    labels: tuple[int, ...]

    def row(self, end: int) -> dict[str, list[int]]:
        """``input_ids`` and ``labels`` as trainers take them; ``end`` closes the text."""
        labels = [IGNORED] * (len(self.ids) + 1)
        for place, label in zip(self.at, self.labels, strict=True):
            labels[place + 1] = label
        return {"input_ids": [*self.ids, end], "labels": labels}


def encode(example: Example, words: Tokenizer, encoding: Any = None) -> Encoded:
    """Tokens and labels. A label that differs from what was taken is learned up to the difference.

    After it the text continues with what was taken, so later tokens of the label have no place.
    ``encoding``: the text as ``words`` encode it, where a caller has it. Raises ``DataError`` where
    a choice does not begin at a token.
    """
    encoding = words.encode(example.text) if encoding is None else encoding
    ids = list(encoding.ids)
    ends = [end for _, end in encoding.offsets]
    at = []
    labels = []
    token = 0
    for choice in example.choices:
        while token < len(ends) and ends[token] <= choice.at:
            token += 1
        taken = _ids(words, choice.taken)
        label = _ids(words, choice.label)
        split = ids[token : token + len(taken)] != taken or ends[token - 1] != choice.at
        if token == 0 or split:
            raise DataError(
                example.source, f"episode {example.episode}", "splits a choice's token"
            )
        if not taken:
            at.append(token - 1)
            labels.append(label[0])
        for place, (was, right) in enumerate(zip(taken, label, strict=False), token):
            at.append(place - 1)
            labels.append(right)
            if was != right:
                break
    return Encoded(tuple(ids), tuple(at), tuple(labels))


@lru_cache(maxsize=4096)
def _ids(words: Tokenizer, text: str) -> list[int]:
    """Tokens of a choice; thousands of walks have few different ones."""
    return list(words.encode(text).ids)


def examples(
    plan: FineTuning, data: Path | None, report: Report = print
) -> list[Example]:
    """Played walks of every split, labelled; gold walks that do not arrive are left out."""
    return asyncio.run(_played(plan, data, report))


async def _played(plan: FineTuning, data: Path | None, report: Report) -> list[Example]:
    student = open_model(plan.walks) if plan.walks else None
    settings = {**TRAINED_WITH.get(plan.agent, {}), **plan.settings}
    played: list[Example] = []
    for on in plan.on:
        dataset, tasks = _open(on, data)
        tasks = tasks[: plan.limit or None]
        player = ExampleMaker(plan.agent, settings, on, dataset, align=align)
        walks = [await player.example(task, student, plan.method) for task in tasks]
        arrived = [walk for walk in walks if walk.success]
        report(f"{on}: {len(walks)} walks, {len(arrived)} arrive")
        played += walks if student else arrived
    if student is not None:
        await student.aclose()
    return played


def _open(on: str, data: Path | None) -> tuple[Dataset, Sequence[Task]]:
    """A dataset and its tasks to learn from."""
    name, _, split = on.partition(":")
    cls = registry.load("dataset", name)
    dataset = cls(split, data, cls.Settings())
    area = _area(on)
    return dataset, dataset.in_area(area) if area else dataset.tasks


def finetune(
    plan: FineTuning,
    folder: Path,
    data: Path | None,
    report: Report = print,
    track: Track | None = None,
) -> Path:
    """Fine-tune, and return the folder of the merged weights, which ``hf:`` plays.

    A run that was killed resumes from its newest checkpoint. Raises ``UsageError`` where the folder
    holds another run.
    """
    with needing("training needs torch, transformers, peft and trl", "train"):
        import torch
        from peft import LoraConfig
        from trl import SFTConfig, SFTTrainer

        from datasets import Dataset as Rows
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "training.json"
    text = json.dumps(asdict(plan), indent=2, default=list)
    if path.is_file() and json.loads(path.read_text()) != json.loads(text):
        raise UsageError(
            f"{folder}: holds a training run with other settings; name another folder"
        )
    path.write_text(text + "\n")
    walks = folder / "examples.jsonl"
    if not walks.is_file():
        save(walks, examples(plan, data, report))
    network, tokenizer = _open_base(plan.base)
    rows = _tokenize(read(walks), tokenizer, plan.length, report)
    adapters = None
    if plan.rank:
        shape = {"r": plan.rank, "lora_alpha": plan.alpha, "lora_dropout": plan.dropout}
        adapters = LoraConfig(
            task_type="CAUSAL_LM", target_modules="all-linear", **shape
        )
    settings = SFTConfig(
        output_dir=str(folder),
        num_train_epochs=plan.epochs,
        learning_rate=plan.rate,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=plan.batch,
        warmup_steps=0.1,
        seed=plan.seed,
        max_length=None,
        bf16=torch.cuda.is_available(),
        use_cpu=not torch.cuda.is_available(),
        save_total_limit=1,
        save_strategy="epoch",
        logging_steps=1,
        report_to="none",
        dataset_kwargs={"skip_prepare_dataset": True},
    )
    trainer = SFTTrainer(
        model=network,
        args=settings,
        train_dataset=Rows.from_list(rows),
        processing_class=tokenizer,
        peft_config=adapters,
        callbacks=[_callback(track)] if track else None,
    )
    trainer.train(resume_from_checkpoint=any(folder.glob("checkpoint-*")) or None)
    model = trainer.model.merge_and_unload() if adapters else trainer.model
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    return folder / "model"


def _open_base(base: str) -> tuple[Any, Any]:
    """Network and tokenizer of a Hugging Face name or folder, or of a GGUF file."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    gguf = base.endswith(".gguf") or ("/" not in base and not Path(base).exists())
    file = located(base) if gguf else None
    name, options = (str(file.parent), {"gguf_file": file.name}) if file else (base, {})
    network = AutoModelForCausalLM.from_pretrained(name, **options)
    tokenizer = AutoTokenizer.from_pretrained(name, **options)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if tokenizer.pad_token is None:
        raise UsageError(
            f"{base}: its tokenizer names no end-of-text token to close examples with"
        )
    return network, tokenizer


def _tokenize(
    walks: Sequence[Example], tokenizer: Any, length: int, report: Report
) -> list[dict[str, list[int]]]:
    encoded = [encode(walk, tokenizer.backend_tokenizer) for walk in walks]
    rows = [
        one.row(tokenizer.eos_token_id)
        for one in encoded
        if one.labels and len(one.ids) < length
    ]
    if dropped := len(encoded) - len(rows):
        report(
            f"{dropped} walks left out: longer than {length} tokens, or without a decision"
        )
    if not rows:
        raise UsageError(
            f"no walk fits into {length} tokens; raise it with --set length=N"
        )
    return rows


def _callback(track: Track) -> Any:
    """Hands each logged figure to an experiment tracker."""
    from transformers import TrainerCallback

    class Tracked(TrainerCallback):  # type: ignore[misc]
        def on_log(
            self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any
        ) -> None:
            track(
                {k: v for k, v in (logs or {}).items() if isinstance(v, float)},
                state.global_step,
            )

    return Tracked()


def _area(on: str) -> str:
    """Map2seq's *seen* files hold routes that leave the training area; only the others count."""
    return "seen" if on.startswith("map2seq:seen_") else ""
