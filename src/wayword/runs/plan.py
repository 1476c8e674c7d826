"""Plans: the options of a run, and the files that hold them.

:mod:`~wayword.runs.opening` opens what a plan names, and :mod:`~wayword.runs.identity` says which
runs are the same.

A recipe is a plan as a YAML file: ``wayword run recipe.yaml``.

    agent: navgpt
    on: r2r:val_seen
    model: openai:gpt-5-mini
    settings: {decoding: free, model.threads: 2}
    limit: 50
    max_dollars: 5

Keys are the options of ``wayword run`` with underscores; ``settings`` corresponds to ``--set`` and
``actors`` to ``--actor``. Command-line options override the file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le, Lt

from wayword.core.episode import Json, JsonObject
from wayword.core.errors import UsageError, errors_of, suggest
from wayword.core.files import read_text
from wayword.core.sight import EyesSettings
from wayword.datasets.perturbed import Perturbations
from wayword.models.parts.weights import trained_settings
from wayword.settings import check, load_yaml, make, merge

RESERVED = (
    "model",
    "models",
    "dataset",
    "actors",
    "perceiver",
    "perturb",
    "eyes",
    "picture_size",
    "picture_control",
    "picture_history",
)
"""Groups of settings that are not the agent's: ``model.threads=2``, ``dataset.houses=5``,
``models.summary=openai:gpt-5-mini``, ``actors.follower.decoding=free``, ``perceiver=./mine.py``,
``eyes=pictures``."""

SAMPLE_SEED = 0
"""Seed of the order of runs that may play a part of their split and state no order. No order is
None, as this seed is false to Python."""

Count = Annotated[int, Ge(1)]
Amount = Annotated[float, Ge(0), Lt(inf)]
AtOnce = Annotated[int, Ge(1), Le(10_000)]
"""Number of concurrent episodes or processes; limited because each allocates memory at once."""


@dataclass(frozen=True)
class Plan:
    """A run: an agent, a dataset and a model.

    ``Plan("navgpt", "r2r:val_seen", "local:smollm2", limit=30)``

    ``actors`` maps actors to agents; ``agent`` plays all others. ``settings`` is a tree of the
    agent's settings and the groups ``model``, ``models``, ``dataset``, ``actors``, ``perceiver``
    and ``perturb``. ``episode`` selects one episode: an id, a number from 1, ``next`` for the first
    unfinished one, or ``level`` for one that suits a person who plays; ``episodes`` selects several
    ids, and ``redo`` are finished ones to play again. ``ask`` is ``terminal`` or ``browser`` if a
    person answers agents' questions. ``limit`` selects N episodes; raising it later extends the
    same run, and results are of all episodes that its folder has by then. They are a random sample
    (see ``order``) drawn with the seed ``shuffle``, or the ``first`` of the split. ``continues``
    names a step of a recorded episode to start from (:mod:`wayword.runs.running`). ``max_tokens``
    and ``max_dollars`` are budgets for the whole run, ``rpm`` limits requests per minute, and
    ``cache`` is a file to reuse answers from. With the ``engine`` ``ray``, ``workers`` processes of
    a Ray cluster play ``concurrency`` episodes each; by default, this process plays. With
    ``remember="scene"``, agents keep what they learned for the next episode in the scene
    (:mod:`wayword.runs.tours`). ``trusted`` are files that the recorded run names and that may be
    opened (:mod:`wayword.runs.opening`).
    """

    agent: str
    on: str
    model: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    limit: Count | None = None
    first: bool = False
    shuffle: int | None = None
    shard: str = ""
    seed: int = 0
    max_steps: Count | None = None
    concurrency: AtOnce = 8
    data: Path | None = None
    out: Path | None = None
    max_tokens: Count | None = None
    max_dollars: Amount | None = None
    cache: Path | None = None
    rpm: Annotated[float, Gt(0), Lt(inf)] | None = None
    prices: Path | None = None
    retries: Annotated[int, Ge(0)] = 6
    actors: Mapping[str, str] = field(default_factory=dict)
    episode: str = ""
    ask: Literal["", "terminal", "browser"] = ""
    episodes: tuple[str, ...] = ()
    redo: tuple[str, ...] = ()
    continues: str = ""
    engine: Literal["", "ray"] = ""
    workers: AtOnce = 4
    remember: Literal["", "scene"] = ""
    trusted: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        # Options that contradict each other are refused, not ignored.
        check(self)
        engine = {"engine": self.engine}
        shard = {"shard": self.shard}
        if self.remember:
            _refuse(
                "--remember plays the tours of scenes in this process, from their start",
                {**engine, **shard, "continue": self.continues},
            )
        if self.continues:
            _refuse("--continue plays a single episode in this process", engine)
        model = self.settings.get("model", {})
        if self.engine and isinstance(model, Mapping) and model.get("tier") == "batch":
            raise UsageError(
                "--batch gathers the calls of one process; remove --engine"
            )
        self.shard_of()
        if self.episodes:
            options = {
                "episode": self.episode,
                "limit": self.limit,
                "first": self.first,
            }
            options |= {"shuffle": self.shuffle is not None, **shard}
            _refuse("--episodes selects the episodes", options)
        if self.first and self.shuffle is not None:
            raise UsageError(
                "--first plays the split in its own order; remove --shuffle"
            )

    @property
    def states_order(self) -> bool:
        """True if the user chose the order of the episodes."""
        return self.first or self.shuffle is not None

    @property
    def order(self) -> int | None:
        """The seed that shuffles the split, None for its own order.

        A part of a split must be a random sample, because published splits are sorted by scene or
        by task. All shards of a split need one order, with or without a limit. In tours, the order
        would otherwise be mistaken for learning.
        """
        if self.shuffle is not None:
            return self.shuffle
        # Named episodes are played in the order of the split.
        if self.first or self.episodes:
            return None
        # A whole split needs no order: every episode is played.
        is_part = self.limit or self.shard or self.remember
        return SAMPLE_SEED if is_part else None

    @property
    def dataset_name(self) -> str:
        """Name of the dataset, without its split."""
        return self.on.partition(":")[0]

    @property
    def split(self) -> str:
        """The split in ``on``; empty means the dataset's first split."""
        return self.on.partition(":")[2]

    def group(self, name: str) -> JsonObject:
        """Return the settings of a group. Raises ``UsageError`` if it is no group."""
        settings = self.settings.get(name, {})
        if not isinstance(settings, Mapping):
            raise UsageError(f"--set {name}={settings}: write {name}.KEY=VALUE")
        return settings

    def perceiver(self) -> tuple[str, JsonObject]:
        """Name or file and settings of the perceiver that replaces the dataset's; empty if none.
        Set by ``perceiver=NAME``, or ``perceiver.name=NAME`` and ``perceiver.KEY=VALUE``."""
        # A copy, from which the name is taken out.
        settings = named_group(self.settings.get("perceiver", {}))
        name = str(settings.pop("name", ""))
        if settings and not name:
            raise UsageError(
                "--set perceiver.KEY=VALUE: also set perceiver.name=FILE.py"
            )
        return name, settings

    def eyes(self) -> EyesSettings:
        """How the run sees: the settings ``eyes`` and those whose names begin with ``picture``."""
        # The group has no name of its own: its settings are those of the run.
        names = [field.name for field in fields(EyesSettings)]
        given = {name: self.settings[name] for name in names if name in self.settings}
        eyes: EyesSettings = make(EyesSettings, given, "")
        # A setting without effect would stay unnoticed.
        unused = [name for name in given if name != "eyes"]
        if eyes.eyes == "words" and unused:
            raise UsageError(
                f"{unused[0]} has no effect in words; set eyes=pictures or eyes=both"
            )
        return eyes

    def agent_settings(self) -> dict[str, Any]:
        """The agent's settings; those that the model was trained with are its defaults."""
        settings = {
            key: value for key, value in self.settings.items() if key not in RESERVED
        }
        return {**trained_settings(self.model, self.agent), **settings}

    def shard_of(self) -> tuple[int, int]:
        """Index from 0 and number of shards: (1, 8) for ``"2/8"``, (0, 1) without shards."""
        # Zero shards fail the check below, as does a text of another form.
        shard = shards = 0
        match = re.fullmatch(r"(\d+)/(\d+)", self.shard or "1/1")
        if match:
            shard = int(match[1])
            shards = int(match[2])
        if not 1 <= shard <= shards:
            raise UsageError(
                f"--shard {self.shard}: write i/n with 1 <= i <= n, for example 1/4"
            )
        return shard - 1, shards

    def perturbations(self) -> Perturbations:
        """The checked rates of the group ``perturb``."""
        rates: Perturbations = make(Perturbations, self.group("perturb"), "perturb")
        return rates


def _refuse(reason: str, options: Mapping[str, object]) -> None:
    """Raise ``UsageError`` if any of the options is given, and name those that are."""
    if given := [f"--{name}" for name, value in options.items() if value]:
        raise UsageError(f"{reason}; remove {', '.join(given)}")


def named_group(value: Any) -> dict[str, Any]:
    """A group of settings of a part with a name: ``KEY=VALUE`` stands for ``KEY.name=VALUE``."""
    if isinstance(value, Mapping):
        return dict(value)
    return {"name": value}


@dataclass(frozen=True)
class RunRecipe(Plan):
    """The options of ``wayword run``: a plan, the ``sweep`` and ``seeds`` that turn it into several
    runs, and ``track``, an experiment tracker."""

    on: str = "houses"
    sweep: tuple[str, ...] = ()
    seeds: int = 1
    track: str = ""

    def over(self, defaults: RunRecipe, overridden: Collection[str]) -> RunRecipe:
        """``defaults`` with the fields in ``overridden`` taken from ``self``, and the settings of
        both merged."""
        # The agent is the recipe's: on the command line stands the file's name instead.
        names = [name for name in overridden if name != "agent" and hasattr(self, name)]
        mine = {name: getattr(self, name) for name in names}
        return replace(
            defaults,
            **{**mine, "settings": merge(defaults.settings, self.settings)},
        )


def agents_of(pairs: Sequence[str]) -> dict[str, str]:
    """Parse the values of ``--actor``: ``["follower=human"]`` -> ``{"follower": "human"}``."""
    agents: dict[str, str] = {}
    for pair in pairs:
        actor, _, agent = pair.partition("=")
        # Both sides are needed.
        if not (actor and agent):
            raise UsageError(
                f"--actor {pair}: write ACTOR=AGENT, for example follower=human"
            )
        # One of the two would be ignored.
        if actor in agents:
            raise UsageError(f"--actor {pair}: {actor} already has an agent")
        agents[actor] = agent
    return agents


def read_config(path: Path | None) -> JsonObject:
    """The settings in a YAML file, also those with dotted keys. Raises ``UsageError``."""
    if path is None:
        return {}
    tree = _yaml(path, f"--config {path}")
    # An empty file has no settings, which is no error.
    if tree is not None and not isinstance(tree, dict):
        raise UsageError(f"--config {path}: must be a mapping, such as decoding: free")
    with errors_of(f"--config {path}"):
        return expand_keys(tree or {})


_WINDOWS_PATH = re.compile(r"""^[^#\n]*"[A-Za-z]:\\(?!\\)""", re.MULTILINE)
"""``"C:\new"``, in which YAML reads a line break."""


def _yaml(path: Path, name: str) -> Any:
    """Read a YAML file. Raises ``UsageError`` naming it."""
    import yaml

    try:
        text = read_text(path)
        if _WINDOWS_PATH.search(text):
            problem = "a Windows path in double quotes loses its backslashes"
            raise UsageError(f"{name}: {problem}; write it with / or in single quotes")
        return load_yaml(text)
    except OSError as error:
        raise UsageError(f"{name}: {str(error.strerror).lower()}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # The parser's message takes several lines; errors take one.
        problem = " ".join(str(error).replace('in "<unicode string>", ', "at ").split())
        raise UsageError(f"{name}: invalid YAML: {problem}") from error


def read_recipe(path: Path) -> RunRecipe:
    """Read a recipe. Raises ``UsageError``, which names the file and the field.

    >>> read_recipe(Path("none.yaml"))
    Traceback (most recent call last):
    wayword.core.errors.UsageError: none.yaml: no such file or directory
    """
    tree = _yaml(path, str(path))
    if not isinstance(tree, dict) or not tree.get("agent"):
        raise UsageError(
            f"{path}: the recipe has no agent; add agent: NAME and on: DATASET"
        )
    # YAML 1.1 parses the key ``on`` as true
    renamed = {"True": "on", "continue": "continues"}
    values = {renamed.get(str(key), str(key)): value for key, value in tree.items()}
    if len(values) < len(tree):
        raise UsageError(f'{path}: has an option twice, such as on and "on"')
    # Keys with dots are a tree, as for ``--set``.
    settings = values.get("settings") or {}
    if not isinstance(settings, dict):
        raise UsageError(f"{path}: settings must be a mapping, such as decoding: free")
    with errors_of(str(path)):
        values["settings"] = expand_keys(settings)
    # A file cannot declare itself trusted.
    options = [each.name for each in fields(RunRecipe) if each.name != "trusted"]
    for key in values:
        if key not in options:
            raise UsageError(f"{path}: unknown option {key!r}; {suggest(key, options)}")
    with errors_of(str(path)):
        return RunRecipe(**values)


def expand_keys(settings: JsonObject) -> JsonObject:
    """``{"model.threads": 2}`` -> ``{"model": {"threads": 2}}``.

    Raises ``UsageError`` for two values of one setting, as in ``{"a": 1, "a.b": 2}``."""
    tree: JsonObject = {}
    for key, value in settings.items():
        # From the last part of the key outwards.
        for part in reversed(str(key).split(".")):
            value = {part: value}
        if twice := _conflict(tree, value):
            raise UsageError(f"setting {twice} has two values; {key} is one of them")
        tree = merge(tree, value)
    return tree


def _conflict(one: Json, other: Json) -> str:
    """The dotted key at which two trees differ in more than what they add; empty if none does."""
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return "."
    for key in one.keys() & other.keys():
        if inner := _conflict(one[key], other[key]):
            return f"{key}.{inner}".rstrip(".")
    return ""
