"""The folders in examples/environments, run by the other side.

That is verifiers' `vf-eval`, verl's registry of interactions, and OpenEnv's `validate` and client.
"""

from __future__ import annotations

import asyncio
import importlib.util
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
from types import ModuleType
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from openenv import GenericEnvClient
from policies import served_policy

FOLDER = Path(__file__).parents[3] / "examples" / "environments"
BIN = Path(sys.executable).parent
TOKEN = "a-word-for-the-test"


def test_vf_eval_finds_the_environment_by_name_and_pays_it(tmp_path: Path) -> None:
    """Installed by `make test-envs` from its folder, as `vf-install` and the hub do."""
    found = importlib.util.find_spec("wayword_env")
    assert found is not None
    assert found.origin is not None
    assert Path(found.origin).parent == FOLDER / "hub"

    def policy(messages: list[dict[str, Any]]) -> str:
        return "go[hallway]" if len(messages) < 3 else "stop"

    with served_policy(policy) as url:
        arguments = {"name": "two_phase", "count": 2, "eval_count": 2, "max_turns": 4}
        command = [str(BIN / "vf-eval"), "wayword-env", "-m", "scripted", "-b", url, "-k", "NO_KEY",
                   "-n", "2", "-r", "1", "-a", json.dumps(arguments), "--save-results",
                   "--output-dir", str(tmp_path), "--disable-tui"]  # fmt: skip
        environment = {**os.environ, "NO_KEY": "none", "HOME": str(tmp_path)}
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment,
            timeout=300,
        )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (results,) = tmp_path.rglob("results.jsonl")
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    assert len(lines) == 2
    for line in lines:
        answers = [m["content"] for m in line["completion"] if m["role"] == "assistant"]
        assert answers == ["go[hallway]", "stop"]
        assert line["reward"] == line["success"]


@pytest.fixture
def interaction(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, on verl's own base class. verl's package as a whole imports Ray and tensordict,
    so only its folder of interactions is opened."""
    found = importlib.util.find_spec("verl")
    assert found is not None
    assert found.submodule_search_locations is not None
    package = ModuleType("verl")
    package.__path__ = list(found.submodule_search_locations)
    monkeypatch.setitem(sys.modules, "verl", package)
    monkeypatch.syspath_prepend(str(FOLDER / "verl"))
    return importlib.import_module("wayword_interaction")


def test_verls_registry_opens_the_interaction_and_a_rollout_is_paid(
    interaction: ModuleType,
) -> None:
    registry = importlib.import_module("verl.interactions.utils.interaction_registry")
    opened = registry.initialize_interactions_from_config(
        str(FOLDER / "verl" / "interaction.yaml")
    )
    assert list(opened) == ["wayword"]
    agent = opened["wayword"]
    assert isinstance(
        agent, importlib.import_module("verl.interactions.base").BaseInteraction
    )
    from wayword.envs import make

    rows = interaction.rows("houses:train", 3, max_steps=30)

    async def rollout(row: dict[str, Any], number: int) -> tuple[float, int]:
        """As verl's ``ToolAgentLoop`` plays a row, with an expert as its model."""
        given = row["extra_info"]["interaction_kwargs"]
        expert = make("houses:train", include=["expert_action"], max_steps=30)
        _, info = expert.reset(episode=given["episode"])
        messages = list(row["prompt"])
        scores = list[float]()
        over = False
        await agent.start_interaction(f"request-{number}", **given)
        while not over:
            command = info["expert_action"]
            messages.append({"role": "assistant", "content": command})
            over, text, score, _ = await agent.generate_response(
                f"request-{number}", messages, **given
            )
            expected, *_, info = expert.step(command)
            assert text == expected
            messages.append({"role": "user", "content": text})
            scores.append(score)
        extra = {**row["extra_info"], "turn_scores": scores}
        return interaction.compute_score(row["data_source"], "", "", extra), len(scores)

    async def play() -> list[tuple[float, int]]:
        return await asyncio.gather(
            *(rollout(row, number) for number, row in enumerate(rows))
        )

    results = asyncio.run(play())
    assert [paid for paid, _ in results] == [1.0, 1.0, 1.0]
    assert all(turns > 1 for _, turns in results)
    assert not agent._environments, "finished environments are released"


def test_rows_for_verl_are_written_as_its_dataset_reads_them(
    interaction: ModuleType, tmp_path: Path
) -> None:
    from datasets import load_dataset

    path = tmp_path / "train.jsonl"
    path.write_text(
        "".join(json.dumps(row) + "\n" for row in interaction.rows("two_phase", 2))
    )
    table = load_dataset(
        "json", data_files=str(path), split="train", cache_dir=str(tmp_path / "c")
    )
    assert {"data_source", "prompt", "reward_model", "extra_info"} <= set(
        table.column_names
    )
    assert {row["extra_info"]["interaction_kwargs"]["name"] for row in table} == {
        "wayword"
    }


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
    command = [str(BIN / "openenv"), "validate", "--url", container]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    report = json.loads(done.stdout)
    failed = [each for each in report["criteria"] if not each["passed"]]
    assert (done.returncode, report["passed"], failed) == (0, True, [])
    assert len(report["criteria"]) >= 6
    with GenericEnvClient(base_url=container).sync() as env:
        assert env.reset(seed=0).observation["text"]
        assert env.step({"text": "stop"}).done


def test_openenv_finds_the_folder_complete_but_for_a_lock_file(tmp_path: Path) -> None:
    command = [str(BIN / "openenv"), "validate", str(FOLDER / "openenv"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "uv.lock" in done.stdout
    copied = tmp_path / "env"
    shutil.copytree(FOLDER / "openenv", copied)
    (copied / "uv.lock").touch()  # where one publishes it, `uv lock` writes it
    done = subprocess.run(
        [*command[:2], str(copied)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


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
    assert project["project"]["dependencies"] == ["openenv-core>=0.3", "wayword[serve]"]
