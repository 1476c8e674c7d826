"""Episodes of runs as Harbor tasks, so that its agents play them in containers.

    wayword run expert --on household --limit 20 --out runs/gold
    wayword export runs/gold --as harbor --out tasks
    harbor run --path tasks/household-0001 --agent oracle

A task holds one solved episode. Its world is a container of its own, with which the agent talks
through MCP, so the agent can read neither the world nor its goal. The reference solution takes the
recorded actions. The verifier gets the world's run folder, replays it, and reads the scores.

Format: Harbor's tasks (harborframework.com, schema 1.4).
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from importlib.metadata import version
from importlib.resources import files
from math import isfinite
from pathlib import Path
from textwrap import shorten
from typing import Any

from wayword.agents.strategies.briefing import instruction
from wayword.core import registry
from wayword.core.dataset import Dataset, Task, of_ids
from wayword.core.errors import UsageError, WaywordError
from wayword.core.files import make_parent
from wayword.core.metric import is_solved
from wayword.core.visible import escaped, visible
from wayword.runs.config import success_of
from wayword.runs.export import OnEpisode, records, require_new
from wayword.runs.opening import Trusted, dataset_of, plan_of
from wayword.runs.record import EpisodeRecord, RecordedRun, RunFolder
from wayword.runs.verify import verify

SCHEMA = "1.4"
PORT = 8765
WORLD_RUN = "/runs/world"
"""The run folder in the world's container, and, as an artifact, in the verifier's."""

SECONDS_PER_STEP = 60
"""Time that an agent gets for each step of its limit."""

IMAGE = f"wayword-world:{version('wayword')}"

TASK = """schema_version = {schema}

[[artifacts]]
source = {run}
service = "world"

[task]
name = {name}
description = {description}
keywords = ["embodied", {family}]

[metadata]
dataset = {dataset}
episode = {episode}
wayword = {version}

[agent]
timeout_sec = {seconds}
user = "agent"

[verifier]
environment_mode = "separate"
timeout_sec = 600.0

[environment]
network_mode = "public"

[[environment.mcp_servers]]
name = "world"
transport = "streamable-http"
url = "http://world:{port}/mcp"
headers = {{ Authorization = "Bearer ${{WAYWORD_ENV_TOKEN}}" }}

[solution.env]
WAYWORD_ENV_TOKEN = "${{WAYWORD_ENV_TOKEN}}"
"""

INSTRUCTION = """You act in a world that you know only through the tools of the MCP server `world`.

Call `begin` to get the task and the rules. Then call `act` for each action, one at a time.
`actions` lists what is possible now, `look` repeats the last observation. When the task is done,
act `stop`. There is one episode, and it can be begun once; at most {limit} actions count.

The task: {instruction}
"""

# The names of images are arguments, so that users can pin their own.
AGENT_IMAGE = """ARG BASE_IMAGE=python:3.12-slim
FROM ${BASE_IMAGE}
RUN useradd --create-home agent
WORKDIR /home/agent
"""

VERIFIER_IMAGE = f"""ARG WORLD_IMAGE={IMAGE}
FROM ${{WORLD_IMAGE}}
COPY test.sh /tests/test.sh
"""

WORLD_IMAGE = """ARG BASE_IMAGE=python:3.12-slim
FROM ${{BASE_IMAGE}}
COPY . /src
RUN pip install --no-cache-dir '/src[{extras}]'
"""

SERVING = ("mcp", "serve")
WORLDS: Mapping[str, str] = {"babyai": "babyai", "alfworld": "alfworld"}
"""A family whose worlds need another package -> the extra that installs it."""

COMPOSE = """services:
  main:
    depends_on:
      world:
        condition: service_healthy
  world:
    image: ${{WAYWORD_WORLD_IMAGE:-{image}}}
    command: {command}
    environment:
      WAYWORD_ENV_TOKEN: ${{WAYWORD_ENV_TOKEN}}
    healthcheck:
      test:
        - CMD
        - python
        - -c
        - import socket; socket.create_connection(("127.0.0.1", {port}))
      interval: 1s
      timeout: 5s
      retries: 60
"""

SOLVE = f"""#!/bin/bash
exec python3 /solution/solve.py http://world:{PORT}/mcp /solution/actions.json
"""

TEST = f"""#!/bin/bash
mkdir -p /logs/verifier
exec python -m wayword.runs.harbor {WORLD_RUN} /logs/verifier/reward.json
"""

README = """# Tasks of Wayword for Harbor

Build the image of the worlds once, in a checkout of Wayword, and choose a token:

    docker build -t {image} -f {out}/world/Dockerfile .
    export WAYWORD_ENV_TOKEN=$(openssl rand -hex 16)

Then run the reference solutions, or an agent:

    harbor run --path {out} --agent oracle
    harbor run --path {out} --agent claude-code --model MODEL

Reward 1 means that the episode was solved, and that its record is equal to its replay. The other
values of `reward.json` are Wayword's metrics.
{data}
| Task | Episode | Steps of the solution |
| --- | --- | ---: |
{rows}
"""

DATA = """
The dataset has files. Copy them into an image made from {image}, set `WAYWORD_DATA` there to
their folder, and name that image in `$WAYWORD_WORLD_IMAGE`.
"""


@dataclass
class Summary:
    """What was exported: rows of the README, and the number of omitted episodes by reason."""

    rows: list[str] = field(default_factory=list)
    omitted: Counter[str] = field(default_factory=Counter)

    @property
    def line(self) -> str:
        """Summary for users, in one line."""
        left_out = ", ".join(f"{count} {why}" for why, count in self.omitted.items())
        return f"{len(self.rows):,} tasks; left out: {left_out or 'none'}"


def export_harbor(
    runs: Sequence[Path],
    out: Path,
    data: Path | None = None,
    trusted: Trusted = (),
    on_episode: OnEpisode | None = None,
) -> Summary:
    """Write a task for each solved episode of the runs to the folder ``out``, with a README and the
    Dockerfile of the worlds. Raises ``RecordingError`` if a run cannot be read or ``out`` is not
    empty, ``UsageError`` for a run whose world cannot be served from an image."""
    # All runs are opened before the first task is written: no half-written folder.
    opened = [RunFolder.read(path) for path in runs]
    require_new(out)
    worlds = {run: _World.of(run, data, trusted) for run in opened}
    summary = Summary()
    numbers = Counter[str]()
    for run, record in records(opened, on_episode):
        world = worlds[run]
        task = world.tasks.get(record.episode_id)
        if reason := _why_not(run, task, record):
            summary.omitted[reason] += 1
            continue
        assert task is not None
        # Counted per world, not per run: runs of one dataset share the folder.
        numbers[world.slug] += 1
        name = f"{world.slug}-{numbers[world.slug]:04d}"
        actions = [
            str(each) for each in record.trajectory.actions(task.episode.actors[0])
        ]
        for path, text in world.files_of(name, task, actions):
            file = out / name / path
            make_parent(file)
            file.write_text(text, encoding="utf-8", newline="\n")
        player = files("wayword.runs").joinpath("harbor_player.py").read_bytes()
        (out / name / "solution" / "solve.py").write_bytes(player)
        for script in ("solution/solve.sh", "tests/test.sh"):
            (out / name / script).chmod(0o755)
        # A line break or a bar in an episode's name would break the table.
        cell = " ".join(visible(record.episode_id).split()).replace("|", "\\|")
        summary.rows.append(f"| {name} | {cell} | {len(actions)} |")
    if summary.rows:
        _write_readme(out, worlds.values(), summary)
    return summary


def _why_not(run: RecordedRun, task: Task | None, record: EpisodeRecord) -> str:
    """Why an episode is no task; empty if it is one."""
    if task is None:
        return "not in the dataset"
    # A task needs a reference solution.
    if not is_solved(record.scores.get(success_of(run.config))):
        return "without success"
    # The world's command has a list of ids.
    if "," in record.episode_id or record.episode_id != record.episode_id.strip():
        return "with an id that wayword mcp --episodes cannot name"
    # The others' turns would depend on an agent in the world's container.
    if len(task.episode.actors) > 1:
        return "with several actors"
    return ""


@dataclass(frozen=True)
class _World:
    """The dataset of a run, and the command that serves it in a container."""

    dataset: Dataset
    name: str
    slug: str
    options: Sequence[str]
    limit: int
    tasks: Mapping[str, Task]

    @classmethod
    def of(cls, run: RecordedRun, data: Path | None, trusted: Trusted) -> _World:
        """The world of a run. Raises ``UsageError`` for worlds that no image contains."""
        identity = run.config["identity"]
        name = str(identity["dataset"])
        if registry.is_path(name.partition(":")[0]):
            raise UsageError(f"{run.path}: {name} is a file, which no image contains")
        if identity["perturb"]:
            remedy = "export a run without --robust and perturb"
            raise UsageError(f"{run.path}: tasks cannot be perturbed; {remedy}")
        dataset = dataset_of(run, data, trusted)
        # Only what differs from the defaults, as a person would write it.
        settings: Any = type(dataset).Settings
        usual = {each.name: default_of(each) for each in fields(settings)}
        values = plan_of(identity, data, trusted).settings["dataset"]
        options = []
        for key, value in values.items():
            if value != usual[key]:
                options += ["--set", f"dataset.{key}={json.dumps(value)}"]
        limit = identity.get("max_steps") or dataset.max_steps
        options += ["--max-steps", str(limit)]
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        tasks = of_ids(dataset.tasks, run.index.ids())
        return cls(dataset, name, slug, options, limit, tasks)

    def files_of(
        self,
        name: str,
        task: Task,
        actions: Sequence[str],
    ) -> Iterator[tuple[str, str]]:
        """Yield paths, relative to the task's folder, and contents of a task's files.

        ``actions`` are those of the solution. Values in ``task.toml`` are quoted, as an instruction
        may contain anything.
        """
        episode = task.episode
        text = instruction(episode, episode.actors[0])
        values = {
            "schema": SCHEMA,
            "run": WORLD_RUN,
            "name": f"wayword/{name}",
            "description": shorten(text, 200),
            "family": self.dataset.family.name,
            "dataset": self.name,
            "episode": episode.id,
            "version": version("wayword"),
        }
        quoted = {key: _quoted(value) for key, value in values.items()}
        seconds = float(SECONDS_PER_STEP * self.limit)
        yield "task.toml", TASK.format(**quoted, seconds=seconds, port=PORT)
        yield "instruction.md", INSTRUCTION.format(limit=self.limit, instruction=text)
        command = ["wayword", "mcp", self.name, "--episodes", episode.id]
        command += [*self.options, "--http", str(PORT), "--host", "0.0.0.0"]
        # Compose puts variables in the place of a single dollar sign.
        written = _quoted([*command, "--out", WORLD_RUN]).replace("$", "$$")
        compose = COMPOSE.format(image=IMAGE, command=written, port=PORT)
        yield "environment/docker-compose.yaml", compose
        yield "environment/Dockerfile", AGENT_IMAGE
        yield "solution/solve.sh", SOLVE
        yield "solution/actions.json", json.dumps(actions, indent=1) + "\n"
        yield "tests/Dockerfile", VERIFIER_IMAGE
        yield "tests/test.sh", TEST


def default_of(setting: Field[Any]) -> Any:
    """The default of a setting; ``MISSING`` if it has none."""
    if setting.default_factory is not MISSING:
        return setting.default_factory()
    return setting.default


def _quoted(value: str | Sequence[str]) -> str:
    """A text, or a list of texts, as TOML and YAML quote it, which is JSON's way but for a few
    characters, and for escapes in pairs, which neither reads."""
    written = escaped(json.dumps(value, ensure_ascii=False))
    # TOML refuses the first one, and the others end a line of YAML.
    for character in "\x7f\x85\u2028\u2029":
        written = written.replace(character, f"\\u{ord(character):04x}")
    return written


def _write_readme(out: Path, worlds: Iterable[_World], summary: Summary) -> None:
    """Write the README of all tasks, and the Dockerfile of their worlds."""
    families = sorted({world.dataset.family.name for world in worlds})
    extras = [*SERVING, *(WORLDS[name] for name in families if name in WORLDS)]
    with_files = any(world.dataset.files for world in worlds)
    data = DATA.format(image=IMAGE) if with_files else ""
    rows = "\n".join(summary.rows)
    text = README.format(image=IMAGE, out=out, data=data, rows=rows)
    (out / "README.md").write_text(text, encoding="utf-8")
    folder = out / "world"
    folder.mkdir()
    recipe = WORLD_IMAGE.format(extras=",".join(extras))
    (folder / "Dockerfile").write_text(recipe, encoding="utf-8")
    ignored = ".git\n.venv*\n.uv\nruns\n"
    (folder / "Dockerfile.dockerignore").write_text(ignored, encoding="utf-8")


# In the verifier's container.


def rewards(path: Path | str) -> tuple[dict[str, float], list[str]]:
    """The scores of a world's run folder, with its success as ``reward``, and the reasons for a
    reward of 0: an episode that was not finished, or a record that differs from its replay."""
    try:
        run = RunFolder.read(path)
        reasons = [text for _, text in verify(run) if text]
        finished = list(run.records())
    except WaywordError as error:
        return {"reward": 0.0}, [str(error)]
    if len(finished) != 1:
        return {"reward": 0.0}, ["the episode was not finished"]
    (record,) = finished
    scores = {key: value for key, value in record.scores.items() if isfinite(value)}
    # A family may have a metric of this name.
    if "reward" in scores:
        scores["metric_reward"] = scores.pop("reward")
    reward = scores.get(success_of(run.config), 0.0)
    if reasons:
        reward = 0.0
    return {**scores, "reward": reward}, reasons


def main(run: str, out: str) -> None:
    """Write the rewards of a run folder to a JSON file, and the reasons to standard error."""
    values, reasons = rewards(run)
    Path(out).write_text(json.dumps(values) + "\n", encoding="utf-8")
    sys.stderr.writelines(f"reward 0: {reason}\n" for reason in reasons)


if __name__ == "__main__":
    main(*sys.argv[1:])
