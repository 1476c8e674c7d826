"""``wayword view`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from helpers.parsed_page import Page
from helpers.recorded_run import make_run
from wayword import viewer
from wayword.cli.viewing import view
from wayword.core.errors import UsageError
from wayword.viewer.app import Server

app = typer.Typer()
app.command()(view)


def test_it_writes_pages_and_prints_their_address(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "a run")
    done = CliRunner().invoke(app, [str(folder), "--write", "--limit", "1"])
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == (folder / "pages" / "index.html").as_uri()
    assert "1 of 2 episodes have pages, 1 new." in done.stdout
    assert "--episode ID" in done.stdout
    assert "Instructions and maps are not available" in done.output


def test_what_is_missing_is_one_line_with_its_commands_as_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WAYWORD_DATA", raising=False)
    folder = make_run(tmp_path / "run")
    path = folder / "run.json"
    config = json.loads(path.read_text())
    config["identity"]["dataset"] = "r2r"
    path.write_text(json.dumps(config))
    done = CliRunner().invoke(app, [str(folder), "--write"])
    assert done.exit_code == 0, done.output
    page = Page.read(folder / "pages" / "index.html")
    (notice,) = [
        each for each in page.all("p") if each.attributes.get("id") == "notice"
    ]
    assert notice.text == (
        "Instructions and maps are not available: r2r needs its data: set --data FOLDER, or see "
        "wayword data list --published"
    )


def test_a_folder_of_one_run_is_written_and_one_of_several_names_a_run(
    tmp_path: Path,
) -> None:
    folder = make_run(tmp_path / "runs" / "first")
    done = CliRunner().invoke(app, [str(tmp_path / "runs"), "--write"])
    assert done.exit_code == 0, done.output
    assert (folder / "pages" / "index.html").is_file()
    make_run(tmp_path / "runs" / "second")
    done = CliRunner().invoke(app, [str(tmp_path / "runs"), "--write"])
    assert isinstance(done.exception, UsageError)
    problem = f"--write takes one run, and {tmp_path / 'runs'} holds 2"
    assert f"{problem}; write one of them: wayword view {folder} --write" in str(
        done.exception
    )


def test_another_file_than_the_runs_says_that_it_is(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    other = tmp_path / "other.py"
    other.touch()
    done = CliRunner().invoke(
        app, [str(folder), "--write", "--limit", "1", "--with", str(other)]
    )
    output = " ".join(done.output.split())
    assert (
        "other.py is not the file of the run's dataset 'hello', or has changed since"
        in output
    )


def test_a_run_on_a_file_says_how_to_name_it_and_one_on_a_missing_package_does_not(
    tmp_path: Path,
) -> None:
    own = viewer.write_pages(make_run(tmp_path / "own", dataset_checksum="sha256:0"))
    assert "the run's dataset 'hello' is a Python file" in own.notice
    way_out = "open the run again with --with FILE (in Python: trusted=[FILE])"
    assert own.notice.endswith(way_out)
    page = (own.index.parent / "episodes" / "one.html").read_text(encoding="utf-8")
    assert "no dataset" not in page
    assert "--with FILE" in page
    missing = viewer.write_pages(make_run(tmp_path / "missing"))
    assert "no dataset called 'hello' is installed" in missing.notice
    assert "--with" not in missing.notice


def test_it_serves_until_it_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[str] = []
    monkeypatch.setattr(Server, "serve", lambda server: served.append(server.address))
    run = str(make_run(tmp_path / "run"))
    done = CliRunner().invoke(app, [run, "--port", "0"])
    assert done.exit_code == 0, done.output
    assert served[0] in done.stdout
    assert served[0].startswith("http://127.0.0.1:")
    open_to_all = CliRunner().invoke(app, [run, "--port", "0", "--host", "0.0.0.0"])
    assert "?token=" in open_to_all.stdout


def test_a_port_that_is_none_is_one_line(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, [str(make_run(tmp_path / "run")), "--port", "99999"])
    assert str(done.exception).startswith("port 99999: ")
    assert str(done.exception).endswith("0-65535; give another --port")


def test_runs_and_the_version_are_a_line_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wayword.cli.app import app as whole

    make_run(tmp_path / "runs" / "one")
    listed = CliRunner().invoke(whole, ["runs", str(tmp_path / "runs")])
    assert listed.exit_code == 0, listed.output
    (line,) = listed.stdout.splitlines()
    assert "2 of 180" in line
    assert line.endswith("runs/one  (hello, hello, hello:x)")
    monkeypatch.chdir(tmp_path / "runs")
    nothing = CliRunner().invoke(whole, ["runs"])
    assert nothing.exit_code == 0
    assert "no runs yet" in nothing.stderr
    output = CliRunner().invoke(whole, ["--version"])
    assert output.exit_code == 0
    assert output.stdout.startswith("wayword 0.")


def test_runs_of_several_seeds_are_watched_too(tmp_path: Path) -> None:
    from wayword.cli.app import app as whole

    requests = [
        "run",
        "oracle",
        "--on",
        "houses",
        "--limit",
        "1",
        "--seeds",
        "2",
        "--watch",
    ]
    done = CliRunner().invoke(
        whole, [*requests, "--out", str(tmp_path / "runs" / "seeds")]
    )
    assert done.exit_code == 0, done.output
    assert done.output.count("live: http://127.0.0.1:") == 1
