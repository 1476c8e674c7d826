"""Exported tasks by Harbor's own reader and its own checks. Harbor needs Python 3.12."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest
import yaml
from harbor.lint.models import LintRule
from harbor.lint.task import lint_task
from harbor.models.task.task import Task

import wayword
from wayword.runs.harbor import export_harbor

# Compose itself is rarely installed where tests run: its file is read, and its variables filled in.
COMPOSE = """#!{python}
import json, os, re, sys, yaml
text = open(sys.argv[sys.argv.index("-f") + 1]).read()
filled = re.sub(r"\\$\\{{(\\w+):-([^}}]*)\\}}", lambda m: os.environ.get(m[1], m[2]), text)
filled = re.sub(r"\\$\\{{(\\w+)\\}}", lambda m: os.environ[m[1]], filled)
print(json.dumps(yaml.safe_load(filled)))
"""


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tasks of four families."""
    folder = tmp_path_factory.mktemp("harbor")
    played = {
        "oracle": ("houses", "towns", "two_phase", "apartments"),
        "expert": ("household", "iqa"),
    }
    runs = []
    for agent, datasets in played.items():
        for dataset in datasets:
            runs.append(folder / dataset)
            wayword.run(agent, on=dataset, limit=2, out=runs[-1])
    export_harbor(runs, folder / "tasks")
    return folder / "tasks"


def test_every_task_passes_harbors_checks(
    tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker = tmp_path / "docker"
    docker.write_text(COMPOSE.format(python=sys.executable))
    docker.chmod(docker.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("WAYWORD_ENV_TOKEN", "secret-word")
    folders = sorted(path for path in tasks.iterdir() if (path / "task.toml").exists())
    assert len(folders) >= 10
    for folder in folders:
        findings = lint_task(folder)
        # The images are built on the user's machine, so there is no digest to pin.
        left = [each for each in findings if each.rule is not LintRule.UNPINNED_IMAGE]
        assert not left


def test_harbor_reads_a_task(tasks: Path) -> None:
    folder = next(tasks.glob("household*-0001"))
    task = Task(folder)
    assert task.config.task is not None
    assert task.config.task.name == f"wayword/{folder.name}"
    (server,) = task.config.environment.mcp_servers
    assert server.transport == "streamable-http"
    assert "secret" not in json.dumps(task.config.model_dump(mode="json"))
    assert yaml.safe_load((folder / "environment/docker-compose.yaml").read_text())
