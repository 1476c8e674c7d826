"""What a run leaves: its weights as a GGUF file for ``local:``, a model card, and the dev curve.

Only networks of the Llama kind are written (SmolLM2, Llama, TinyLlama); for others run llama.cpp's
``convert_hf_to_gguf.py`` on the ``best/`` folder. Rows of the query and key projections are
reordered for llama.cpp's rotary embedding. The tokeniser's rules, special tokens and chat template
are the base's.

Source: llama.cpp ``convert_hf_to_gguf.py`` (class LlamaModel), ggml ``docs/gguf.md``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recipes.language.shape import Shape, is_gguf
from recipes.language.student import Student
from wayword.core.errors import UsageError, needing
from wayword.models.parts.weights import located

KINDS = ("Q8_0", "Q5_1", "Q5_0", "Q4_1", "Q4_0", "F16")
"""Quantisations, the most faithful integers first; embeddings and norms keep Q8_0 and F32."""

_NAMES = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write(
    student: Student, path: Path, kind: str = "Q8_0", name: str = "", note: str = ""
) -> int:
    """Write a GGUF file; it appears whole or not at all. Returns its size in bytes.

    ``kind``: how matrices are quantised. ``note`` goes into ``general.description``. Raises
    ``UsageError`` for a network of another kind or an unknown quantisation.
    """
    with needing("writing GGUF needs gguf", "train"):
        import gguf
    network = student.merged()
    if network.config.model_type != "llama":
        raise UsageError(
            f"{network.config.model_type} networks: merge with `recipes.sft`, then convert "
            "best/ with llama.cpp's convert_hf_to_gguf.py"
        )
    if kind not in KINDS:
        raise UsageError(f"no quantisation {kind!r}; there are: {', '.join(KINDS)}")
    beside = path.with_name(f".{path.name}.new")
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(str(beside), "llama")
    _describe(gguf, writer, network.config, name or path.stem, note)
    _tokens(gguf, writer, student)
    for title, weights, wanted in _tensors(network, kind):
        quantised = gguf.GGMLQuantizationType[wanted]
        writer.add_tensor(
            title, gguf.quants.quantize(weights, quantised), raw_dtype=quantised
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(beside, path)
    return path.stat().st_size


def _describe(gguf: Any, writer: Any, config: Any, name: str, note: str) -> None:
    writer.add_name(name)
    if note:
        writer.add_description(note)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(_rope_base(config))
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_vocab_size(config.vocab_size)
    writer.add_file_type(int(gguf.LlamaFileType.ALL_F32))
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)


def _rope_base(config: Any) -> float:
    rope: dict[str, float] = getattr(config, "rope_parameters", None) or {}
    return float(rope.get("rope_theta", getattr(config, "rope_theta", 10000.0)))


def _tokens(gguf: Any, writer: Any, student: Student) -> None:
    """The tokeniser: tokens in order of their numbers, and the merges."""
    record = json.loads(student.words.to_str())
    vocabulary: dict[str, int] = record["model"]["vocab"]
    special = {one["content"] for one in record.get("added_tokens", ())}
    tokens = sorted(vocabulary, key=lambda token: vocabulary[token])
    merges = [
        m if isinstance(m, str) else " ".join(m) for m in record["model"]["merges"]
    ]
    control, plain = int(gguf.TokenType.CONTROL), int(gguf.TokenType.NORMAL)
    base = _base_fields(gguf, student.shape.base)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(base.get("tokenizer.ggml.pre", "smollm"))
    writer.add_token_list(tokens)
    writer.add_token_types([control if token in special else plain for token in tokens])
    writer.add_token_merges(merges)
    writer.add_add_space_prefix(False)
    writer.add_add_bos_token(bool(base.get("tokenizer.ggml.add_bos_token", False)))
    config = student.network.config
    for add, field in (
        (writer.add_bos_token_id, "bos_token_id"),
        (writer.add_eos_token_id, "eos_token_id"),
        (writer.add_pad_token_id, "pad_token_id"),
    ):
        number = getattr(config, field, None)
        if isinstance(number, int):
            add(number)
    if template := base.get("tokenizer.chat_template"):
        writer.add_chat_template(template)


def _base_fields(gguf: Any, base: str) -> dict[str, Any]:
    """What only the base's file knows of its tokeniser; empty for a base of another format."""
    if not is_gguf(base):
        return {}
    reader = gguf.GGUFReader(str(located(base)))
    wanted = (
        "tokenizer.ggml.pre",
        "tokenizer.ggml.add_bos_token",
        "tokenizer.chat_template",
    )
    return {k: reader.fields[k].contents() for k in wanted if k in reader.fields}


def _tensors(network: Any, kind: str) -> list[tuple[str, NDArray[np.float32], str]]:
    """Names, float32 weights and quantisations, in llama.cpp's terms."""
    config, found = network.config, []
    state = {name: _floats(weights) for name, weights in network.state_dict().items()}
    found.append(("token_embd.weight", state["model.embed_tokens.weight"], "Q8_0"))
    if not config.tie_word_embeddings:
        found.append(("output.weight", state["lm_head.weight"], "Q8_0"))
    for number in range(config.num_hidden_layers):
        for theirs, ours in _NAMES.items():
            weights = state[f"model.layers.{number}.{theirs}.weight"]
            if ours == "attn_q":
                weights = _interleaved(weights, config.num_attention_heads)
            elif ours == "attn_k":
                weights = _interleaved(weights, config.num_key_value_heads)
            wanted = kind if weights.ndim == 2 else "F32"
            found.append((f"blk.{number}.{ours}.weight", weights, wanted))
    found.append(("output_norm.weight", state["model.norm.weight"], "F32"))
    return found


def _interleaved(weights: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Rows of each head's two halves in turn. ``weights`` (heads * size, width)."""
    rows, width = weights.shape
    halves = weights.reshape(heads, 2, rows // heads // 2, width)
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(rows, width))


def _floats(weights: Any) -> NDArray[np.float32]:
    found: NDArray[np.float32] = weights.detach().float().cpu().numpy()
    return found


def best_of(folder: Path) -> dict[str, Any]:
    """The best evaluation of a run. Raises ``UsageError`` where there is none yet."""
    path = folder / "curve.jsonl"
    if not path.is_file():
        raise UsageError(f"{folder}: holds no evaluated weights yet")
    curve = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return max(curve, key=lambda one: one["score"])


def finish(folder: Path, path: Path, kind: str, best: Mapping[str, Any]) -> int:
    """The run's best weights as a GGUF file; beside it the agent's settings, and a model card.

    Returns the file's size in bytes.
    """
    record = json.loads((folder / "recipe.json").read_text(encoding="utf-8"))
    base = str(record["shape"]["base"])
    student = Student.from_folder(folder / "best", Shape(base=base))
    note = f"trained from {base}; see {path.stem}.md"
    size = write(student, path, kind, path.stem, note)
    (task,) = (
        record["tasks"]
        if len(record["tasks"]) == 1
        else ({"agent": "", "settings": {}},)
    )
    told = {"agent": task["agent"], "settings": task["settings"]}
    path.with_suffix(".json").write_text(json.dumps(told) + "\n", "utf-8")
    path.with_suffix(".md").write_text(
        card(path.stem, record, folder, kind, best), "utf-8"
    )
    return size


def card(
    name: str,
    record: Mapping[str, Any],
    folder: Path,
    kind: str,
    best: Mapping[str, Any],
) -> str:
    """A model card: data, split, seed, hours, dev curve, best of how many."""
    lines = (folder / "curve.jsonl").read_text(encoding="utf-8").splitlines()
    curve = [json.loads(line) for line in lines]
    told = [
        f"# local:{name}",
        "",
        f"Trained from {record['shape']['base']}, {kind}.",
        "",
    ]
    told += [f"- method: {record['method']}, seed {record['seed']}"]
    for task in record["tasks"]:
        data = "; ".join(map(_said, task["sources"]))
        told.append(
            f"- agent {task['agent']}: trained on {data}; dev: {_said(task['dev'])}"
        )
    told.append(
        f"- best of {len(curve)} evaluations, by dev success: {best.get('score', 0.0):.3f}"
    )
    if curve:
        hours, worked = (
            curve[-1]["seconds"] / 3600,
            curve[-1].get("cpu_seconds", 0) / 3600,
        )
        told.append(
            f"- training steps: {hours:.2f} hours, {worked:.2f} hours of processor time"
        )
    told += ["", "| round | step | loss | dev success |", "| --- | --- | --- | --- |"]
    told += [
        f"| {one['round']} | {one['step']} | {one['loss']} | "
        + ", ".join(f"{key} {value:.2f}" for key, value in one["dev"].items())
        + " |"
        for one in curve
    ]
    return "\n".join([*told, ""])


def _said(source: Mapping[str, Any]) -> str:
    """A source in one line: its name, and what was set of it."""
    rest = ", ".join(
        f"{key} {value}" for key, value in source.items() if value and key != "data"
    )
    return f"{source['data']} ({rest})" if rest else str(source["data"])


def drawn(curve: Sequence[Mapping[str, Any]]) -> str:
    """The dev scores of a run as a small SVG: a line a task, success from 0 to 1 upwards."""
    names = list(curve[-1]["dev"]) if curve else []
    colours = ("#1f5fa8", "#c2571a", "#3d7a3d", "#7a3d7a")
    wide, high, edge = 640, 320, 40
    across = (wide - 2 * edge) / max(1, len(curve) - 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" '
        'font-family="sans-serif" font-size="11">'
    ]
    for tenth in range(0, 11, 2):
        y = high - edge - tenth / 10 * (high - 2 * edge)
        parts.append(f'<path d="M{edge} {y:.0f}H{wide - edge}" stroke="#ddd"/>')
        parts.append(f'<text x="8" y="{y + 4:.0f}">{tenth / 10:.1f}</text>')
    for number, name in enumerate(names):
        points = " ".join(
            f"{edge + place * across:.1f},{high - edge - one['dev'][name] * (high - 2 * edge):.1f}"
            for place, one in enumerate(curve)
        )
        colour = colours[number % len(colours)]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}"/>')
        parts.append(
            f'<text x="{edge + 160 * number}" y="20" fill="{colour}">{name}</text>'
        )
    minutes = round(curve[-1]["seconds"] / 60) if curve else 0
    parts.append(
        f'<text x="{edge}" y="{high - 12}">evaluations, {minutes} minutes of steps</text>'
    )
    return "\n".join([*parts, "</svg>", ""])
