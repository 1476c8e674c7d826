"""Plan: everything that makes a run what it is, and what only says how to carry it out.

A recipe is a plan in a file: ``wayword run recipe.yaml``.

    agent: navgpt
    on: r2r:val_seen
    model: openai:gpt-5-mini
    settings: {decoding: free, model.threads: 2}
    limit: 50
    max_dollars: 5

Keys are the names of the options of ``wayword run``, underlined; ``settings`` is the tree of
``--set`` and ``actors`` those of ``--actor``. An option on the command line wins over the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from wayword.core import registry
from wayword.core.errors import UsageError
from wayword.models.parts.weights import trained_settings
from wayword.settings import load_yaml, make, merge

RESERVED = ("model", "models", "dataset", "actors", "perceiver")
"""Groups of ``--set`` that do not go to the agent: ``model.threads=2``, ``dataset.houses=5``,
``models.summary=openai:gpt-5-mini``, ``actors.follower.decoding=free``, ``perceiver=./mine.py``."""

ANSWERERS = ("", "terminal", "browser")
"""Who answers when an agent asks: nobody, or a person at the terminal or in the browser."""

ENGINES = ("", "ray")
"""What plays the episodes: this process, or the workers of a Ray cluster."""


MOST_AT_ONCE = 10_000
"""Episodes under way in a process, and processes: each takes memory before its first call."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One run: an agent, on a dataset, with a model.

    ``Plan("navgpt", "r2r:val_seen", "local:smollm2", limit=30)``

    ``actors`` names agents for single actors; the others are played by ``agent``. ``settings`` is
    the tree of ``--set``: keys go to the agent, save the groups ``model``, ``models``, ``dataset``
    and ``actors``. ``episode`` plays one episode: an id, a number from 1, or ``next`` for the first
    that is not finished; ``episodes`` plays those of some ids. ``ask`` says who answers an agent's
    questions: ``terminal`` or ``browser``, a person there, or nobody. ``limit`` plays the first so
    many episodes (of the order that ``shuffle``, a seed, gives); a later run with a higher limit
    goes on in the same folder.
    ``continues`` goes on from a step of a recorded episode: see :mod:`wayword.runs.continuing`.
    ``tokens`` and ``dollars`` are budgets for the whole run. ``cache`` is a file for answers.
    ``engine`` is ``ray`` to play in ``workers`` processes of a Ray cluster, each with
    ``concurrency`` episodes under way; else this process plays.
    """

    agent: str
    on: str
    model: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    shuffle: int | None = None
    shard: str = ""
    seed: int = 0
    max_steps: int | None = None
    concurrency: int = 8
    data: Path | None = None
    out: Path | None = None
    tokens: int | None = None
    dollars: float | None = None
    cache: Path | None = None
    requests_per_minute: float | None = None
    prices: Path | None = None
    retries: int = 6
    actors: Mapping[str, str] = field(default_factory=dict)
    episode: str = ""
    ask: str = ""
    episodes: tuple[str, ...] = ()
    continues: str = ""
    engine: str = ""
    workers: int = 4

    def __post_init__(self) -> None:
        for name in ("limit", "max_steps", "concurrency", "tokens", "workers"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name.replace('_', '-')} must be at least 1, not {value}")
        for name in ("concurrency", "workers"):
            if (value := getattr(self, name)) > MOST_AT_ONCE:
                raise UsageError(f"{name} must be at most {MOST_AT_ONCE:,}, not {value:,}")
        for name in ("dollars", "requests_per_minute", "retries"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise UsageError(f"{name.replace('_', '-')} must be 0 or more, not {value}")
        if self.engine not in ENGINES:
            raise UsageError(f"--engine {self.engine}: there is {ENGINES[1]}, or leave it out")
        if self.engine and self.continues:
            raise UsageError("--continue plays one episode in this process; leave --engine out")
        if self.ask not in ANSWERERS:
            raise UsageError(
                f"--ask {self.ask}: questions are answered by {' or '.join(ANSWERERS[1:])}"
            )
        self.shard_of()
        if self.episodes and (self.episode or self.shard or self.limit or self.shuffle is not None):
            raise UsageError(
                "--episodes names what is played; leave --limit, --shuffle, --shard out"
            )

    @property
    def dataset_name(self) -> str:
        return registry.current("dataset", self.on.partition(":")[0])

    @property
    def split(self) -> str:
        """The split asked for; empty means the dataset's first."""
        return self.on.partition(":")[2]

    def group(self, name: str) -> Mapping[str, Any]:
        """The settings of one reserved group."""
        found = self.settings.get(name, {})
        if not isinstance(found, Mapping):
            raise UsageError(f"--set {name}={found}: write {name}.KEY=VALUE")
        return found

    def perceiver(self) -> tuple[str, Mapping[str, Any]]:
        """The perceiver that replaces the dataset's: its name or file, and its settings.

        ``perceiver=NAME``, or ``perceiver.name=NAME`` with settings beside it; empty for none.
        """
        given = self.settings.get("perceiver", {})
        own = dict(given) if isinstance(given, Mapping) else {"name": given}
        name = str(own.pop("name", ""))
        if own and not name:
            raise UsageError("--set perceiver.KEY=VALUE: name it too, with perceiver.name=FILE.py")
        return name, own

    def agent_settings(self) -> dict[str, Any]:
        """The settings that are the agent's own, over those that the model was trained with."""
        given = {key: value for key, value in self.settings.items() if key not in RESERVED}
        return {**trained_settings(self.model, self.agent), **given}

    def shard_of(self) -> tuple[int, int]:
        """``"2/8"`` -> (1, 8): the second of eight. The whole is (0, 1)."""
        if not self.shard:
            return 0, 1
        match = re.fullmatch(r"(\d+)/(\d+)", self.shard)
        part, parts = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= part <= parts:
            raise UsageError(f"--shard {self.shard}: write i/n with 1 <= i <= n, for example 1/4")
        return part - 1, parts


def pairs(given: Sequence[str], option: str) -> dict[str, str]:
    """``["follower=human"]`` -> ``{"follower": "human"}``. Raises ``UsageError``."""
    found: dict[str, str] = {}
    for pair in given:
        key, sign, value = pair.partition("=")
        if not (key and sign and value):
            raise UsageError(f"{option} {pair}: write NAME=AGENT, for example follower=human")
        if key in found:
            raise UsageError(f"{option} {pair}: {key} has an agent already")
        found[key] = value
    return found


def read_config(path: Path | None) -> Mapping[str, Any]:
    """The settings tree of a YAML file. Raises ``UsageError``."""
    if path is None:
        return {}
    import yaml

    try:
        tree = load_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--config {path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = " ".join(str(error).split())
        raise UsageError(f"--config {path}: is not valid YAML: {problem}") from error
    if tree is not None and not isinstance(tree, dict):
        raise UsageError(f"--config {path}: must hold keys and values, like decoding: free")
    return tree or {}


def data_folder(named: Path | None) -> Path | None:
    """``--data``, else ``$WAYWORD_DATA``, else the user's data folder; None if there is none."""
    if named is not None:
        if not named.is_dir():
            raise UsageError(f"--data {named}: no such folder")
        return named
    if os.environ.get("WAYWORD_DATA"):
        folder = Path(os.environ["WAYWORD_DATA"])
        if not folder.is_dir():
            raise UsageError(f"WAYWORD_DATA={folder}: no such folder")
        return folder
    from platformdirs import user_data_path

    folder = user_data_path("wayword")
    return folder if folder.is_dir() else None


def run_folder(plan: Plan, identity: Mapping[str, Any]) -> Path:
    """Where a run lies when ``--out`` does not say: the same plan finds the same folder again."""
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()
    model = plan.model.rsplit("/", 1)[-1]
    cast = [Path(plan.agent).stem, *(f"{a}.{Path(name).stem}" for a, name in plan.actors.items())]
    name = "-".join(part for part in (*cast, plan.on, model, digest[:8]) if part)
    return Path("runs") / re.sub(r"[^A-Za-z0-9._-]+", "-", name)


# Recipes.

_RENAMED = {"continue": "continues", "actor": "actors", "True": "on"}
"""Options whose names are no names of fields. YAML 1.1 reads the key ``on`` as true."""
_OPTIONS = {"tokens": "max_tokens", "dollars": "max_dollars", "requests_per_minute": "rpm"}
"""Fields of a plan that the command line calls otherwise."""


@dataclass(frozen=True, slots=True)
class RunRecipe:
    """What ``wayword run`` is told. See :class:`~wayword.runs.plan.Plan` for what each means."""

    agent: str
    on: str = "houses"
    model: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    actors: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    shuffle: int | None = None
    shard: str = ""
    episodes: tuple[str, ...] = ()
    continues: str = ""
    seed: int = 0
    seeds: int = 1
    sweep: tuple[str, ...] = ()
    max_steps: int | None = None
    concurrency: int = 8
    ask: str = ""
    data: Path | None = None
    out: Path | None = None
    max_tokens: int | None = None
    max_dollars: float | None = None
    cache: Path | None = None
    rpm: float | None = None
    prices: Path | None = None
    retries: int = 6
    engine: str = ""
    workers: int = 4
    track: str = ""

    def plan(self) -> Plan:
        """The plan of its run. Raises ``UsageError`` for values that cannot be."""
        names = {each.name: _OPTIONS.get(each.name, each.name) for each in fields(Plan)}
        own = {each.name for each in fields(self)}
        return Plan(**{name: getattr(self, mine) for name, mine in names.items() if mine in own})

    def over(self, below: RunRecipe, given: Collection[str]) -> RunRecipe:
        """The fields named in ``given`` from here, all others from ``below``; of settings, those
        given here win one by one."""
        mine = {each.name: getattr(self, each.name) for each in fields(self)}
        kept = {each.name: getattr(below, each.name) for each in fields(below)}
        kept |= {name: mine[name] for name in given if name in mine and name != "agent"}
        kept["settings"] = merge(below.settings, self.settings)
        return RunRecipe(**kept)


def is_recipe(name: str) -> bool:
    """Whether what stands for an agent is a file that holds a whole run."""
    return name.endswith((".yaml", ".yml"))


def read_recipe(path: Path) -> RunRecipe:
    """The run that a file describes. Raises ``UsageError``, one line with the file and the field.

    >>> read_recipe(Path("none.yaml"))
    Traceback (most recent call last):
    wayword.core.errors.UsageError: none.yaml: no such file or directory
    """
    import yaml

    try:
        tree = load_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {str(error.strerror).lower()}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = " ".join(str(error).split())
        raise UsageError(f"{path}: is not valid YAML: {problem}") from error
    if not isinstance(tree, dict) or not tree.get("agent"):
        raise UsageError(f"{path}: names no agent; write agent: NAME, and on: DATASET")
    found = {_RENAMED.get(str(key), str(key)): value for key, value in tree.items()}
    if "settings" in found and not isinstance(found["settings"], dict):
        raise UsageError(f"{path}: settings must hold keys and values, like decoding: free")
    found["settings"] = _tree(found.get("settings") or {})
    recipe: RunRecipe = make(RunRecipe, found, str(path))
    try:
        recipe.plan()
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    return recipe


def _tree(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with their dotted keys as a tree."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        before, _, last = str(key).rpartition(".")
        one: dict[str, Any] = {last: value}
        for part in reversed(before.split(".") if before else []):
            one = {part: one}
        found = merge(found, one)
    return found
