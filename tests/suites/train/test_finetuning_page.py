"""The page on fine-tuning elsewhere: its TRL functions take one step on exported calls.

Runs in an environment of its own, with torch: ``make test-train``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import transformers as hub
from tiny_llama import base

from wayword.models.scripted import ScriptedModel
from wayword.runs import run
from wayword.runs.calls import export_calls

PAGE = Path(__file__).parents[3] / "docs" / "finetuning.md"
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="module")
def trl() -> dict[str, Any]:
    """The names of the page's block ``with_trl.py``."""
    (text,) = re.findall(
        r'```python title="with_trl.py"\n(.*?)```', PAGE.read_text(), re.DOTALL
    )
    names: dict[str, Any] = {}
    exec(compile(text, "with_trl.py", "exec"), names)
    return names


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = base(tmp_path_factory.mktemp("tiny"))
    words = hub.PreTrainedTokenizerFast.from_pretrained(folder)
    words.eos_token = words.pad_token = "<|endoftext|>"
    words.chat_template = TEMPLATE
    words.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calls")
    answers = ("go[hallway]", "stop", "go[kitchen]")
    for name in answers:
        player = ScriptedModel(
            name, answers=lambda prompt, sampling, a=name: json.dumps({"Action": a})
        )
        run(
            "act", on="two_phase", model=player, limit=4, max_steps=3, out=folder / name
        )
    export_calls(
        [folder / name for name in answers], folder / "out", {}, everything=True
    )
    return folder / "out"


@pytest.mark.parametrize("name", ["sft", "dpo", "kto"])
def test_a_trainer_of_trl_takes_a_step_on_exported_calls(
    name: str, trl: dict[str, Any], model: str, calls: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    assert (calls / f"{name}.jsonl").read_text().strip()
    monkeypatch.chdir(tmp_path)
    options = {
        "max_steps": 1,
        "logging_steps": 1,
        "use_cpu": True,
        "bf16": False,
        "report_to": "none",
    }
    trained = trl["train"](
        str(calls), name, model, per_device_train_batch_size=2, **options
    )
    assert trained.state.global_step == 1
    assert any("loss" in each for each in trained.state.log_history)
