"""The command's streams in encodings that lack signs of its tables."""

from __future__ import annotations

import io
import sys

import pytest
from rich.text import Text

from wayword import cli
from wayword.metrics.table import console_text


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252"])
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


@pytest.mark.parametrize("kind", ["dumb", "unknown", ""])
@pytest.mark.parametrize("columns", ["40", "0", "abc", "1e3", ""])
def test_a_table_has_its_width_on_any_terminal(
    kind: str, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert console_text(Text("x" * 120), width=200) == f"{'x' * 120}\n"
