"""A port that another server has is one line, for each server of environments."""

import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wayword.cli.app import app
from wayword.core.errors import UsageError


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (["serve-env", "houses", "--port"], "--port"),
        (["mcp", "houses", "--out", "OUT", "--http"], "--http"),
    ],
)
def test_a_busy_port_is_named_with_the_way_out(
    tmp_path: Path, command: list[str], option: str
) -> None:
    out = [str(tmp_path / "out") if each == "OUT" else each for each in command]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = CliRunner().invoke(app, [*out, str(port)])
    assert isinstance(found.exception, UsageError), found.output
    assert str(found.exception).startswith(f"port {port}: ")
    assert str(found.exception).endswith(f"; give another {option}")
