"""The command's streams in encodings that lack signs of its tables."""

from __future__ import annotations

import io
import sys

import pytest

from wayword import cli


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_a_sign_that_the_encoding_lacks_ends_no_command(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    monkeypatch.setattr(sys, "argv", ["wayword", "--version"])
    monkeypatch.setattr(cli, "_stop_as_ctrl_c", list)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0
    sys.stdout.write("─ 模型")
    sys.stdout.flush()
    assert written.getvalue().endswith("? ??".encode(encoding))
