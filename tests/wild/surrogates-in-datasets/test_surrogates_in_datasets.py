"""Half of an emoji in an instruction."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from wayword.core.files import parsed, read_json, read_json_lines
from wayword.core.model import Sampling, user
from wayword.models.local import LocalModel, LocalSettings
from wayword.models.parts.decoding import broken

HALF = "left \ud83d"


@pytest.mark.parametrize(
    "half", ['"left \\ud83d"', '"left \\uDE00 x"', b'"left \xed\xa0\xbd"']
)
def test_a_file_has_none(half: str | bytes, tmp_path: Path) -> None:
    raw = half.encode() if isinstance(half, str) else half
    path = tmp_path / "d.json"
    path.write_bytes(b"[" + raw + b"]")
    (text,) = read_json(path)
    assert text.startswith("left \ufffd")
    lines = tmp_path / "d.jsonl"
    lines.write_bytes(raw + b"\n")
    assert [value for _, value in read_json_lines(lines)] == [text]


def test_complete_emojis_are_unchanged() -> None:
    text = "left \U0001f600 \u00e9"
    assert parsed(json.dumps(text)) == text
    assert parsed(json.dumps({"a": [text, 1.5, None]})) == {"a": [text, 1.5, None]}
    assert broken(text, lambda token: True) == text


def test_a_local_model_reads_the_rest() -> None:
    model = LocalModel("smollm2", LocalSettings(slots=1, context=256))
    for prompt in ([user(HALF)], HALF):
        answer = asyncio.run(model.complete(prompt, Sampling(max_tokens=2)))
        assert answer.usage.prompt > 1
    asyncio.run(model.aclose())
