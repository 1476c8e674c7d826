"""A chat template without a system role, in a file."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest

from wayword.models.parts.llamacpp import Engine, EngineSettings
from wayword.models.parts.weights import located

BODY = (
    "{%% for message in messages %%}%s{{'<|im_start|>' + message['role'] + '\\n' + "
    "message['content'] + '<|im_end|>\\n'}}{%% endfor %%}"
)
GUARDS = {
    "no system": "{% if message['role'] == 'system' %}"
    "{{ raise_exception('no system') }}{% endif %}",
    "alternate": "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('alternate') }}{% endif %}",
}


@pytest.mark.parametrize("guard", GUARDS)
def test_the_system_text_opens_the_users_turn(tmp_path: Path, guard: str) -> None:
    path = tmp_path / "m.gguf"
    shutil.copy(located("smollm2"), path)
    head = path.read_bytes()[:8_000_000]
    name = b"tokenizer.chat_template"
    at = head.index(name) + len(name) + 4  # its value's type
    size = struct.unpack_from("<Q", head, at)[0]
    text = (BODY % GUARDS[guard]).encode()
    with path.open("r+b") as file:
        file.seek(at + 8)
        file.write(b"{#" + b" " * (size - len(text) - 4) + b"#}" + text)
    engine = Engine(path, EngineSettings(slots=1, context=256))
    turns = [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
    prompt = engine.apply_template(turns)
    engine.close()
    assert prompt.startswith("<|im_start|>user\nS\n")
    assert "U<|im_end|>" in prompt
