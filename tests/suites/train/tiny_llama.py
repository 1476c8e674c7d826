"""A Llama of random weights for tests of training."""

from __future__ import annotations

from pathlib import Path

import tokenizers
import torch
import transformers as hub

SPECIAL_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

# The words of the walker's prompts: a prompt has a few hundred tokens instead of thousands.
TEXT = """Follow the instruction through the building. At each place choose the letter of a way,
or stop where the instruction ends. Instruction: Here: a room Choice: stop Now: one
 A ahead slightly half sharp left right far behind doorway kitchen hallway bedroom (back) (seen)
 Done? yes Done? no Now: Here: no steps, one step, sees all, sees some, through
 B: C: D: E: F: G: H: I: go through turn the and wait by same view bathroom living room
"""


def base(folder: Path) -> Path:
    """Write a tiny Llama and its byte-level tokenizer to the folder, and return the folder."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Digits(individual_digits=True),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=SPECIAL_TOKENS,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator([TEXT] * 20, trainer)

    torch.manual_seed(0)
    config = hub.LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
    )
    hub.LlamaForCausalLM(config).save_pretrained(folder)
    hub.PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)
    return folder
