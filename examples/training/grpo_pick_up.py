"""A tiny network learns to pick things up in generated homes, with TRL's GRPO, on a CPU.

    python examples/training/grpo_pick_up.py
    python examples/training/grpo_pick_up.py --tools

The homes have one room. The network (two layers, from scratch; a word is a token) is told the task
and writes one action; the reward is the environment's own success. It starts at chance, one in a
dozen, and must find out by trial which thing each task means. The curve is printed at the end.

The action is a plan of one line. With ``--tools`` it is a call of the tool ``act`` instead, in an
environment of each rollout's own, and what came of it goes into the chat: ``environment_factory``.

Needs: make extra-trl; for --tools TRL 1.16 and transformers 5.15 or later.
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
from wayword.envs.trl import environment_factory, episode_reward, plan_reward, prompts

NAME = "grounding_homes:generated_train"
VERBS = ["go_explore", "go_grab", "stop"]
SETTINGS = {
    "rooms": 1,
    "homes": 12,
    "episodes": 12,
    "kind": "pick_up",
    "actions": VERBS,
}
OPENING = ["go_explore[studio]"]
CHAT = """{% for message in messages %}{% if message.role == 'assistant' %}<says> \
{% for call in message.tool_calls or [] %}{{ call.function.name }} \
{{ call.function.arguments | tojson }} {% endfor %}{{ message.content or '' }} \
{% else %}{{ message.content }} {% endif %}{% endfor %}\
{% if add_generation_prompt %}<says> {% endif %}"""
"""A chat as plain words; the assistant's turns begin with a token of their own."""
CALLS = {
    "defaults": {"role": "assistant", "content": ""},
    "start_anchor": "<says>",
    "fields": {
        "tool_calls": {
            "content": "text",
            "repeats": True,
            "transform": {
                "type": "function",
                "function": {"name": "act", "arguments": {"action": "{content}"}},
            },
        }
    },
}
"""How a turn is read: all of it is one call of ``act``."""


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
    known = sorted(
        {word for text in texts for word in split.findall(text)} | set(commands)
    )
    special = ["<pad>", "<end>", "<unknown>", "<says>"]
    vocabulary = {word: n for n, word in enumerate([*special, *known])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unknown>"))
    made.pre_tokenizer = pre_tokenizers.Split(
        Regex(split.pattern), "removed", invert=True
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<end>", unk_token="<unknown>",
        additional_special_tokens=["<says>"], chat_template=CHAT,
    )  # fmt: skip


def train(
    steps: int = 80, out: str = "grpo_pick_up", tools: bool = False
) -> list[float]:
    """Success in every step's batch. With ``tools``, where a rollout has one call and cannot stop,
    the share of goal conditions met, less a tenth for an illegal action."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = rows()
    names: set[str] = set()
    for row in data:
        names.update(re.findall(r"[a-z]+(?: [a-z]+)*", row["prompt"]))
    # The last word of a name, and the last two: "mug" and "coffee_mug".
    named = {"_".join(name.split()[-1:]) for name in names}
    named |= {"_".join(name.split()[-2:]) for name in names}
    commands = [f"go_grab[{name}_1]" for name in sorted(named)]
    tokenizer = words([row["prompt"] for row in data], commands)
    network = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128,
            num_hidden_layers=2, num_attention_heads=2, max_position_embeddings=1024,
            pad_token_id=0, eos_token_id=1, bos_token_id=1,
        )
    )  # fmt: skip
    config = GRPOConfig(
        output_dir=out, max_steps=steps, learning_rate=3e-3, lr_scheduler_type="constant",
        per_device_train_batch_size=96, num_generations=16, max_completion_length=1,
        logging_steps=1, save_strategy="no", report_to="none", use_cpu=True, beta=0.0, seed=0,
        disable_tqdm=True, dataloader_num_workers=0, bf16=False,
    )  # fmt: skip
    if tools:
        tokenizer.response_template = CALLS
        config.max_tool_calling_iterations = 1
        data = [
            {**row, "prompt": [{"role": "user", "content": row["prompt"]}]}
            for row in data
        ]
        acting: dict[str, Any] = {
            "reward_funcs": [episode_reward],
            "environment_factory": environment_factory(
                NAME,
                OPENING,
                settings=SETTINGS,
                reward={"conditions": 1.0, "rejected": 0.1},
            ),
        }
    else:
        paid = [{"success": 1.0}, {"rejected": 0.1}]
        acting = {
            "reward_funcs": [
                plan_reward(NAME, OPENING, settings=SETTINGS, reward=one)
                for one in paid
            ]
        }
    trainer = GRPOTrainer(
        model=network, args=config, train_dataset=Dataset.from_list(data),
        processing_class=tokenizer, **acting,
    )  # fmt: skip
    trainer.train()
    key = "rewards/episode_reward/mean" if tools else "rewards/success/mean"
    return [float(line[key]) for line in trainer.state.log_history if key in line]


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:] if one.isdigit()]
    curve = train(*numbers[:1], tools="--tools" in sys.argv)
    tenth = max(1, len(curve) // 8)
    for n in range(0, len(curve), tenth):
        part = curve[n : n + tenth]
        print(
            f"steps {n:3d}-{n + len(part) - 1:3d}: success {sum(part) / len(part):.2f}"
        )
