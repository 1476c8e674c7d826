"""Networks with the real classes and processors and a few random weights, stored as a hub does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import transformers as hub

LETTERS = [chr(code) for code in range(33, 127)]
TEXT = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
TEXT |= {"num_attention_heads": 4}
EDGE = 32
"""Pixels: pictures are made that small."""


def words() -> list[str]:
    """A vocabulary of letters, for tokenizers that know pieces of words."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "?"]
    return [*special, *LETTERS, *(f"##{letter}" for letter in LETTERS)]


def bert(folder: Path) -> Any:
    """A BERT tokenizer of single letters."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys(words())))
    return hub.BertTokenizerFast.from_pretrained(folder, model_max_length=64)


def letters(folder: Path, **special: str) -> Any:
    """A tokenizer of single letters for language models that decode."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    known = ["<pad>", "<s>", "</s>", "<unk>", " ", *LETTERS, "\n"]
    made = Tokenizer(
        models.WordLevel({w: i for i, w in enumerate(known)}, unk_token="<unk>")
    )
    made.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    made.decoder = decoders.Fuse()
    return hub.PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=256,
        **special,
    )


def clip_tokenizer(folder: Path) -> tuple[Any, int]:
    """A CLIP tokenizer of letters, and its number of tokens."""
    folder.mkdir(parents=True, exist_ok=True)
    known = [*LETTERS, *(f"{letter}</w>" for letter in LETTERS)]
    known += ["<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(
        json.dumps({word: i for i, word in enumerate(known)})
    )
    (folder / "merges.txt").write_text("#version: 0.2\n")
    return hub.CLIPTokenizerFast.from_pretrained(folder), len(known)


def store(folder: Path, model: Any, processor: Any) -> str:
    """Both under one folder; its name is what an eye is opened with."""
    torch.manual_seed(0)
    model.eval().save_pretrained(folder)
    processor.save_pretrained(folder)
    return str(folder)


def yolos(folder: Path) -> str:
    config = hub.YolosConfig(
        **TEXT,
        image_size=[EDGE, EDGE],
        patch_size=8,
        num_detection_tokens=5,
        id2label={0: "chair", 1: "lamp"},
        label2id={"chair": 0, "lamp": 1},
    )
    processor = hub.YolosImageProcessor(
        size={"height": EDGE, "width": EDGE}, do_pad=False
    )
    torch.manual_seed(0)
    return store(folder, hub.YolosForObjectDetection(config), processor)


def detr(folder: Path) -> str:
    backbone = hub.ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 8, 8, 8],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        out_features=["stage4"],
    )
    config = hub.DetrConfig(
        use_timm_backbone=False,
        use_pretrained_backbone=False,
        backbone=None,
        backbone_config=backbone,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        num_queries=6,
        id2label={0: "chair", 1: "lamp"},
        label2id={"chair": 0, "lamp": 1},
    )
    processor = hub.DetrImageProcessor(size={"height": 64, "width": 64})
    torch.manual_seed(0)
    return store(folder, hub.DetrForObjectDetection(config), processor)


def grounding_dino(folder: Path) -> str:
    tokenizer = bert(folder / "tokens")
    backbone = hub.SwinConfig(
        image_size=64,
        patch_size=4,
        embed_dim=8,
        depths=[1, 1, 1, 1],
        num_heads=[1, 2, 2, 4],
        window_size=2,
        out_features=["stage2", "stage3", "stage4"],
    )
    text = hub.BertConfig(**TEXT, vocab_size=len(tokenizer), max_position_embeddings=64)
    config = hub.GroundingDinoConfig(
        backbone_config=backbone,
        use_timm_backbone=False,
        use_pretrained_backbone=False,
        backbone=None,
        text_config=text,
        d_model=32,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        num_queries=8,
        max_text_len=64,
    )
    pictures = hub.GroundingDinoImageProcessor(size={"height": 64, "width": 64})
    torch.manual_seed(0)
    model = hub.GroundingDinoForObjectDetection(config)
    return store(folder, model, hub.GroundingDinoProcessor(pictures, tokenizer))


def owlv2(folder: Path) -> str:
    tokenizer, count = clip_tokenizer(folder / "tokens")
    text = {**TEXT, "vocab_size": count, "max_position_embeddings": 32}
    text |= {
        "bos_token_id": count - 2,
        "eos_token_id": count - 1,
        "pad_token_id": count - 1,
    }
    vision = {**TEXT, "image_size": EDGE, "patch_size": 8}
    config = hub.Owlv2Config(text_config=text, vision_config=vision, projection_dim=32)
    pictures = hub.Owlv2ImageProcessor(size={"height": EDGE, "width": EDGE})
    torch.manual_seed(0)
    model = hub.Owlv2ForObjectDetection(config)
    tokenizer.model_max_length = 32
    return store(folder, model, hub.Owlv2Processor(pictures, tokenizer))


def _blip_parts(tokens: int) -> dict[str, Any]:
    vision = {**TEXT, "image_size": EDGE, "patch_size": 8}
    vision.pop("num_hidden_layers")
    text = {"model_type": "opt", "vocab_size": tokens, "hidden_size": 32, "ffn_dim": 64}
    text |= {
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": 256,
    }
    text |= {
        "word_embed_proj_dim": 32,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    return {
        "vision_config": {**vision, "num_hidden_layers": 2},
        "qformer_config": {**TEXT, "encoder_hidden_size": 32, "vocab_size": 256},
        "text_config": text,
        "num_query_tokens": 4,
    }


def blip2(folder: Path) -> str:
    tokenizer = letters(folder)
    tokenizer.add_tokens(["<image>"], special_tokens=True)
    config = hub.Blip2Config(
        **_blip_parts(len(tokenizer)),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    pictures = hub.BlipImageProcessor(size={"height": EDGE, "width": EDGE})
    torch.manual_seed(0)
    model = hub.Blip2ForConditionalGeneration(config)
    return store(
        folder, model, hub.Blip2Processor(pictures, tokenizer, num_query_tokens=4)
    )


CHAT = (
    "{% for message in messages %}{% for part in message.content %}"
    "{% if part.type == 'image' %}<image>{% else %}{{ part.text }}{% endif %}"
    "{% endfor %}{% endfor %}"
)


def llava(folder: Path) -> str:
    tokenizer = letters(folder)
    tokenizer.add_tokens(["<image>"], special_tokens=True)
    vision = hub.CLIPVisionConfig(**TEXT, image_size=EDGE, patch_size=8)
    text = hub.LlamaConfig(
        **TEXT,
        vocab_size=len(tokenizer),
        max_position_embeddings=256,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    config = hub.LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_select_strategy="default",
        vision_feature_layer=-1,
    )
    pictures = hub.CLIPImageProcessor(
        size={"shortest_edge": EDGE}, crop_size={"height": EDGE, "width": EDGE}
    )
    processor = hub.LlavaProcessor(
        pictures,
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        chat_template=CHAT,
        num_additional_image_tokens=1,
    )
    torch.manual_seed(0)
    return store(folder, hub.LlavaForConditionalGeneration(config), processor)


def depth(folder: Path) -> str:
    config = hub.DPTConfig(
        **{**TEXT, "num_hidden_layers": 4},
        image_size=EDGE,
        patch_size=8,
        backbone_out_indices=[0, 1, 2, 3],
        neck_hidden_sizes=[8, 8, 8, 8],
        fusion_hidden_size=8,
        reassemble_factors=[4, 2, 1, 0.5],
        is_hybrid=False,
    )
    processor = hub.DPTImageProcessor(size={"height": EDGE, "width": EDGE})
    torch.manual_seed(0)
    return store(folder, hub.DPTForDepthEstimation(config), processor)


def clip(folder: Path) -> str:
    tokenizer, count = clip_tokenizer(folder / "tokens")
    ends = {"eos_token_id": count - 1, "bos_token_id": count - 2}
    text = {**TEXT, **ends, "vocab_size": count, "max_position_embeddings": 64}
    vision = {**TEXT, "image_size": EDGE, "patch_size": 8}
    config = hub.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    pictures = hub.CLIPImageProcessor(
        size={"shortest_edge": EDGE}, crop_size={"height": EDGE, "width": EDGE}
    )
    torch.manual_seed(0)
    return store(folder, hub.CLIPModel(config), hub.CLIPProcessor(pictures, tokenizer))
