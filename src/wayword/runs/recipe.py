"""A whole run in one file: ``wayword run recipe.yaml``.

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

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from wayword.core.errors import UsageError
from wayword.runs.plan import Plan
from wayword.settings import load_yaml, make, merge

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
    sign: bool = False

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
