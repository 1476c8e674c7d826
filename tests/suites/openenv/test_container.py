"""examples/environments/openenv, checked by OpenEnv's `validate` and played by its client."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from openenv import GenericEnvClient

FOLDER = Path(__file__).parents[3] / "examples" / "environments"
BIN = Path(sys.executable).parent
TOKEN = "a-word-for-the-test"


def dockerfile() -> dict[str, list[str]]:
    """The instructions of the Dockerfile, by name."""
    found: dict[str, list[str]] = {}
    for line in (FOLDER / "openenv" / "server" / "Dockerfile").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, rest = line.partition(" ")
            found.setdefault(name, []).append(rest)
    return found


@pytest.fixture
def container(tmp_path: Path) -> Iterator[str]:
    """What the container runs, without a container: the folder copied, ENV set, CMD started."""
    copied = tmp_path / "env"
    shutil.copytree(FOLDER / "openenv", copied)
    lines = dockerfile()
    (setting,), (command,) = lines["ENV"], lines["CMD"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    environment = {**os.environ, **dict(re.findall(r"(\w+)=(\S+)", setting))}
    environment |= {"PORT": str(port), "HOST": "127.0.0.1", "WAYWORD_ENV_TOKEN": TOKEN}
    environment |= {"WAYWORD_DATASET": "two_phase"}
    arguments = [sys.executable, *json.loads(command)[1:]]
    with subprocess.Popen(arguments, cwd=copied, env=environment) as server:
        url = f"http://127.0.0.1:{port}"
        try:
            for _ in range(300):
                try:
                    with urlopen(f"{url}/health", timeout=5):
                        break
                except (URLError, ConnectionError):
                    assert server.poll() is None, "the server ended"
                    time.sleep(0.2)
            yield f"{url}/{TOKEN}"
        finally:
            server.terminate()


def test_openenv_validates_what_the_container_runs_and_its_client_plays(
    container: str,
) -> None:
    command = [str(BIN / "openenv"), "validate", "--url", container, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    report = json.loads(done.stdout)
    failed = [one for one in report["criteria"] if not one["passed"]]
    assert (done.returncode, report["passed"], failed) == (0, True, [])
    assert len(report["criteria"]) >= 6
    with GenericEnvClient(base_url=container).sync() as env:
        assert env.reset(seed=0).observation["text"]
        assert env.step({"text": "stop"}).done


def test_openenv_finds_the_folder_complete() -> None:
    command = [str(BIN / "openenv"), "validate", str(FOLDER / "openenv")]
    command += ["--json", "--level", "static"]  # higher levels build the image
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    report = json.loads(done.stdout)
    assert (done.returncode, report["verdict"]) == (0, "pass")


def test_a_container_that_others_can_reach_needs_a_token() -> None:
    environment = {**os.environ, "HOST": "0.0.0.0", "WAYWORD_DATASET": "two_phase"}
    environment.pop("WAYWORD_ENV_TOKEN", None)
    done = subprocess.run(
        [sys.executable, "-m", "server.app"], capture_output=True, text=True, timeout=120,
        cwd=FOLDER / "openenv", env=environment,
    )  # fmt: skip
    assert done.returncode != 0
    assert "set WAYWORD_ENV_TOKEN" in done.stderr


def test_the_dockerfile_copies_and_starts_what_is_there() -> None:
    lines = dockerfile()
    assert json.loads(lines["CMD"][0]) == ["python", "-m", "server.app"]
    assert "HOST=0.0.0.0" in lines["ENV"][0]
    assert lines["USER"] == ["player"], "not root"
    project = tomllib.loads((FOLDER / "openenv" / "pyproject.toml").read_text())
    assert project["project"]["dependencies"] == ["openenv>=0.10", "wayword[serve]"]
