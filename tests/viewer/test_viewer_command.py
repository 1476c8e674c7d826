"""``wayword view`` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from helpers.recorded_run import make_run
from wayword.cli.playing import view
from wayword.viewer.pages import PageServer

app = typer.Typer()
app.command()(view)


def test_it_writes_pages_and_prints_their_address(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "a run")
    done = CliRunner().invoke(app, [str(folder), "--limit", "1"])
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == (folder / "pages" / "index.html").as_uri()
    assert "1 of 2 episodes have a page, 1 written now." in done.stdout
    assert "--episode ID" in done.stdout
    assert "Instructions and maps are left out" in done.output


def test_it_serves_until_it_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[str] = []

    def stop(server: PageServer) -> None:
        served.append(server.address)
        raise KeyboardInterrupt

    monkeypatch.setattr(PageServer, "serve_forever", stop)
    done = CliRunner().invoke(app, [str(make_run(tmp_path / "run")), "--serve"])
    assert done.exit_code == 0, done.output
    assert served[0] in done.stdout
