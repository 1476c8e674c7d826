"""A tiny network learns to pick things up in generated homes, with TRL's GRPO, on a CPU.

    python examples/training/grpo_pick_up.py

The homes have one room. The network (two layers, from scratch; a word is a token) is told the task
and writes one action; the reward is the environment's own success. It starts at chance, one in a
dozen, and must find out by trial which thing each task means. The curve is printed at the end.

Needs: pip install 'wayword[trl]'
"""

from __future__ import annotations

import re
import sys
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

from datasets import Dataset
from wayword.envs.trl import plan_reward, prompts

NAME = "grounding_homes:generated_train"
VERBS = ["go_explore", "go_grab", "stop"]
SETTINGS = {"rooms": 1, "homes": 12, "episodes": 12, "kind": "pick_up", "actions": VERBS}
OPENING = ["go_explore[studio]"]


def rows() -> list[dict[str, Any]]:
    """The task of each episode as the prompt; what is seen is left to the larger networks."""
    found = prompts(NAME, SETTINGS["episodes"], OPENING, settings=SETTINGS)
    tasks = [row["prompt"][-1]["content"].splitlines()[0] for row in found]
    return [
        {"prompt": f"{task} :", "episode": row["episode"]}
        for task, row in zip(tasks, found, strict=True)
    ]


def words(texts: list[str], commands: list[str]) -> PreTrainedTokenizerFast:
    """A tokenizer of whole words; a command is one."""
    split = re.compile(r"[A-Za-z_]+\[[^\]]*\]|\w+|[^\w\s]")
    known = sorted({word for text in texts for word in split.findall(text)} | set(commands))
    vocabulary = {word: n for n, word in enumerate(["<pad>", "<end>", "<unknown>", *known])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unknown>"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex(split.pattern), "removed", invert=True)
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<end>", unk_token="<unknown>"
    )


def train(steps: int = 80, out: str = "grpo_pick_up") -> list[float]:
    """Success in every step's batch."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = rows()
    things = sorted(
        {one for row in data for one in re.findall(r"[a-z]+(?: [a-z]+)*", row["prompt"])}
    )
    named = {"_".join(part.split()[-n:]) for part in things for n in (1, 2)}
    commands = [f"go_grab[{name}_1]" for name in sorted(named)]
    tokenizer = words([row["prompt"] for row in data], commands)
    network = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128,
            num_hidden_layers=2, num_attention_heads=2, max_position_embeddings=64,
            pad_token_id=0, eos_token_id=1, bos_token_id=1,
        )
    )  # fmt: skip
    config = GRPOConfig(
        output_dir=out, max_steps=steps, learning_rate=3e-3, lr_scheduler_type="constant",
        per_device_train_batch_size=96, num_generations=16, max_completion_length=1,
        logging_steps=1, save_strategy="no", report_to="none", use_cpu=True, beta=0.0, seed=0,
        disable_tqdm=True, dataloader_num_workers=0, bf16=False,
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=network, args=config, train_dataset=Dataset.from_list(data),
        reward_funcs=[
            plan_reward(NAME, OPENING, settings=SETTINGS),
            plan_reward(NAME, OPENING, settings=SETTINGS, reward={"rejected": 0.1}),
        ],
        processing_class=tokenizer,
    )  # fmt: skip
    trainer.train()
    key = "rewards/success/mean"
    return [float(line[key]) for line in trainer.state.log_history if key in line]


if __name__ == "__main__":
    curve = train(int(sys.argv[1]) if len(sys.argv) > 1 else 80)
    tenth = max(1, len(curve) // 8)
    for n in range(0, len(curve), tenth):
        part = curve[n : n + tenth]
        print(f"steps {n:3d}-{n + len(part) - 1:3d}: success {sum(part) / len(part):.2f}")
