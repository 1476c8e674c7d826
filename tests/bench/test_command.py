"""``wayword bench`` and commands that other packages add."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from wayword.cli.app import app

ROOT = Path(__file__).parents[2]


def output(*arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_help_lists_the_bench_and_shows_examples() -> None:
    (line,) = (
        line for line in output("--help").splitlines() if line.split()[:1] == ["bench"]
    )
    assert "horizon" in output("bench", "--help")
    assert "doubling" in line
    assert "wayword bench --agent random" in output("bench", "--help")
    assert "wayword bench board runs/bench" in output("bench", "board", "--help")


def test_another_package_adds_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "lifts-1.0.dist-info"
    info.mkdir()
    info.joinpath("entry_points.txt").write_text(
        "[console_scripts]\nup = lifts:up\n\n"
        "[wayword.commands]\nlifts = lifts:app\nrun = lifts:app\n"
        "\n[wayword.agents]\nrider = lifts:Rider\n"
    )
    tmp_path.joinpath("lifts.py").write_text(
        "import typer\napp = typer.Typer()\n\n\n@app.command()\ndef up(floor: int) -> None:\n"
        '    """Ride up."""\n    typer.echo(f"on floor {floor}")\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    command = typer.main.get_command(app)
    names = command.list_commands(None)  # type: ignore[attr-defined]
    assert {"lifts", "bench"} <= set(names)
    assert not {"up", "rider"} & set(names)
    assert names.count("run") == 1
    assert output("lifts", "3") == "on floor 3\n"
    assert "Play episodes with an agent" in output(
        "run", "--help"
    )  # not the other package's


def test_the_wheel_holds_the_package_with_its_bench_and_the_command(
    tmp_path: Path,
) -> None:
    build = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        "wheel",
        "-d",
        str(tmp_path),
    ]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        names = set(files.namelist())
        (points,) = (
            name for name in names if name.endswith("dist-info/entry_points.txt")
        )
        text = files.read(points).decode()
    sources = [path for path in (ROOT / "src/wayword").rglob("*") if path.is_file()]
    packed = {path for path in sources if path.suffix != ".pyc"}
    assert {str(path.relative_to(ROOT / "src")) for path in packed} <= names
    assert {"wayword/bench/2026.yaml", "wayword/bench/2026.2.yaml"} <= set(names)
    assert "wayword/viewer/templates/card_page.html" in names
    assert "wayword = wayword.cli:main" in text
