"""Settings that a command does not read."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from wayword.cli.app import app
from wayword.core.errors import UsageError


@pytest.mark.parametrize("command", ["serve-env houses", "mcp houses", "robot"])
@pytest.mark.parametrize("setting", ["homes=3", "model.base_url=x", "datasets.homes=3"])
def test_a_setting_without_effect_is_refused(command: str, setting: str) -> None:
    found = CliRunner().invoke(app, [*command.split(), "--set", setting])
    assert isinstance(found.exception, UsageError)
    key = setting.split("=")[0].split(".")[0]
    line = str(found.exception)
    assert line.startswith(f"--set {key}: settings here begin with dataset")
