"""Plans, and the parts that they name: dataset, agents, models, and the identity of a run.

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
import platform
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from wayword.core import registry, rollout
from wayword.core.agent import Agent, Toolkit, check_family
from wayword.core.dataset import Dataset, DrawnTasks, Task
from wayword.core.episode import Episode
from wayword.core.errors import DataError, UsageError, suggest
from wayword.core.files import reading
from wayword.core.model import Model
from wayword.core.perceiver import Perceiver
from wayword.core.world import World
from wayword.models.parts.weights import is_small, trained_settings
from wayword.runs.config import Checksums, pictures_checksum
from wayword.settings import load_yaml, make, merge

RESERVED = ("model", "models", "dataset", "actors", "perceiver")
"""Groups of ``--set`` that do not go to the agent: ``model.threads=2``, ``dataset.houses=5``,
``models.summary=openai:gpt-5-mini``, ``actors.follower.decoding=free``, ``perceiver=./mine.py``."""

ANSWERERS = ("", "terminal", "browser")
"""Who answers when an agent asks: no one, or a person at the terminal or in the browser."""

ENGINES = ("", "ray")
"""What plays the episodes: this process, or the workers of a Ray cluster."""


MOST_AT_ONCE = 10_000
"""Episodes under way in a process, and processes: each takes memory before its first call."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One run: an agent, on a dataset, with a model.

    ``Plan("navgpt", "r2r:val_seen", "local:smollm2", limit=30)``

    ``actors`` names agents for single actors; the others are played by ``agent``. ``settings`` is
    the tree of ``--set``: keys go to the agent, except for the groups ``model``, ``models``,
    ``dataset``, ``actors`` and ``perceiver``. ``episode`` plays one episode: an id, a number from
    1, or ``next`` for the first that is not finished; ``episodes`` plays those of some ids. ``ask``
    says who answers an agent's questions: ``terminal`` or ``browser``. ``limit`` plays the first N
    episodes (of the order that ``shuffle``, a seed, gives); a later run with a higher limit
    continues in the same folder. ``continues`` starts from a step of a recorded episode: see
    :mod:`wayword.runs.play`. ``max_tokens`` and ``max_dollars`` are budgets for the whole run,
    ``rpm`` limits requests a minute. ``cache`` is a file for answers. ``engine`` is ``ray`` to play
    in ``workers`` processes of a Ray cluster, each with ``concurrency`` episodes at once; else this
    process plays.
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
    max_tokens: int | None = None
    max_dollars: float | None = None
    cache: Path | None = None
    rpm: float | None = None
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
        for name in ("limit", "max_steps", "concurrency", "max_tokens", "workers"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name.replace('_', '-')} must be at least 1, not {value}")
        for name in ("concurrency", "workers"):
            if (value := getattr(self, name)) > MOST_AT_ONCE:
                raise UsageError(f"{name} must be at most {MOST_AT_ONCE:,}, not {value:,}")
        for name in ("max_dollars", "rpm", "retries"):
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
        return self.on.partition(":")[0]

    @property
    def split(self) -> str:
        """The split of ``on``; empty means the dataset's first."""
        return self.on.partition(":")[2]

    def group(self, name: str) -> Mapping[str, Any]:
        """The settings of one reserved group."""
        found = self.settings.get(name, {})
        if not isinstance(found, Mapping):
            raise UsageError(f"--set {name}={found}: write {name}.KEY=VALUE")
        return found

    def perceiver(self) -> tuple[str, Mapping[str, Any]]:
        """The perceiver that replaces the dataset's: its name or file, and its settings.

        ``perceiver=NAME``, or ``perceiver.name=NAME`` with settings next to it; empty for none.
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


@dataclass(frozen=True, slots=True)
class RunRecipe(Plan):
    """The options of ``wayword run``: a plan, and what is done with it.

    ``sweep`` and ``seeds`` make several runs of it, ``track`` logs to an experiment tracker.
    """

    on: str = "houses"
    sweep: tuple[str, ...] = ()
    seeds: int = 1
    track: str = ""

    def over(self, below: RunRecipe, given: Collection[str]) -> RunRecipe:
        """The fields named in ``given`` from here, all others from ``below``; settings are merged
        key by key."""
        mine = {each.name: getattr(self, each.name) for each in fields(self) if each.name in given}
        mine.pop("agent", None)
        return replace(below, **{**mine, "settings": merge(below.settings, self.settings)})


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
    tree = None if path is None else _yaml(path, f"--config {path}")
    if tree is not None and not isinstance(tree, dict):
        raise UsageError(f"--config {path}: must hold keys and values, like decoding: free")
    return tree or {}


def _yaml(path: Path, name: str) -> Any:
    import yaml

    try:
        return load_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{name}: {str(error.strerror).lower()}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{name}: is not valid YAML: {' '.join(str(error).split())}") from error


def is_recipe(name: str) -> bool:
    """True if the argument AGENT is a file that holds a whole run."""
    return name.endswith((".yaml", ".yml"))


def read_recipe(path: Path) -> RunRecipe:
    """The run that a file describes. Raises ``UsageError``, one line with the file and the field.

    >>> read_recipe(Path("none.yaml"))
    Traceback (most recent call last):
    wayword.core.errors.UsageError: none.yaml: no such file or directory
    """
    tree = _yaml(path, str(path))
    if not isinstance(tree, dict) or not tree.get("agent"):
        raise UsageError(f"{path}: names no agent; write agent: NAME, and on: DATASET")
    renamed = {"True": "on", "continue": "continues"}  # YAML 1.1 reads the key ``on`` as true
    found = {renamed.get(str(key), str(key)): value for key, value in tree.items()}
    settings = found.get("settings") or {}
    if not isinstance(settings, dict):
        raise UsageError(f"{path}: settings must hold keys and values, like decoding: free")
    found["settings"] = {}
    for key, value in settings.items():
        for part in reversed(str(key).split(".")):  # a dotted key is a tree
            value = {part: value}
        found["settings"] = merge(found["settings"], value)
    try:
        recipe: RunRecipe = make(RunRecipe, found, str(path))
    except UsageError as error:
        line = str(error)  # ``make`` names the file, the plan's own checks do not
        raise UsageError(line if line.startswith(str(path)) else f"{path}: {line}") from None
    return recipe


def data_folder(named: Path | None) -> Path | None:
    """``--data``, else ``$WAYWORD_DATA``, else the user's data folder; None if there is none."""
    variable = os.environ.get("WAYWORD_DATA")
    if named is not None or variable:
        folder = Path(variable or "") if named is None else named
        if not folder.is_dir():
            source = "WAYWORD_DATA=" if named is None else "--data "
            raise UsageError(f"{source}{folder}: no such folder")
        return folder
    from platformdirs import user_data_path

    folder = user_data_path("wayword")
    return folder if folder.is_dir() else None


def run_folder(plan: Plan, identity: Mapping[str, Any]) -> Path:
    """The run folder where ``--out`` is not given: the same plan finds the same folder again."""
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()
    model = plan.model.rsplit("/", 1)[-1]
    cast = [Path(plan.agent).stem, *(f"{a}.{Path(name).stem}" for a, name in plan.actors.items())]
    name = "-".join(part for part in (*cast, plan.on, model, digest[:8]) if part)
    return Path("runs") / re.sub(r"[^A-Za-z0-9._-]+", "-", name)


# The agents: that of the plan, and those of single actors, with their settings and models.
#
# >>> plan = Plan("random", "houses", actors={"agent": "oracle"})
# >>> open_agent(plan, open_dataset(plan)).sees_answer
# True


@dataclass(frozen=True, slots=True)
class AgentParts:
    """An agent's class and its checked settings; ``others`` are the agents of single actors.

    ``actors`` are the names of a dataset's actors, where the plan names any.
    """

    cls: type[Agent]
    settings: Any
    name: str = ""
    others: Mapping[str, AgentParts] = field(default_factory=dict)
    actors: tuple[str, ...] = ()

    def playing(self) -> Iterator[AgentParts]:
        """Every agent that plays an actor, the plan's own first."""
        if not self.actors or set(self.actors) - set(self.others):
            yield self
        yield from self.others.values()

    @property
    def sees_answer(self) -> bool:
        """True if any of them is shown the reference."""
        return any(parts.cls.sees_answer for parts in self.playing())

    @property
    def needs_person(self) -> bool:
        """True if any of them is a person at the terminal."""
        return any(parts.cls.needs_person for parts in self.playing())

    @property
    def roles(self) -> list[str]:
        """The model roles of all of them, in order."""
        return list(dict.fromkeys(role for parts in self.playing() for role in parts.cls.roles))

    def maker(self) -> rollout.MakeAgent:
        """Builds one agent an actor and episode. A model named for an actor is its main one."""

        def build(toolkit: Toolkit, actor: str) -> Agent:
            parts, own = self.others.get(actor, self), toolkit.models.get(actor)
            if own is not None:
                toolkit = replace(toolkit, models={**toolkit.models, "main": own})
            return parts.cls(parts.settings, toolkit)

        return build

    def identity(self) -> dict[str, Any]:
        """The agents' part of a run's identity: ``actors`` only where they have agents of their
        own. Custom prompts count by their texts."""
        prompts = getattr(self.settings, "prompts", "")
        texts = sorted(Path(prompts).glob("*.txt")) if prompts else []
        own = {
            "agent": self.name,
            "settings": asdict(self.settings),
            "prompts_checksum": Checksums().combined({path.name: path for path in texts}),
            "agent_checksum": file_checksum(self.name),
            **_named_files(asdict(self.settings), but="prompts"),
        }
        others = {actor: parts.identity() for actor, parts in sorted(self.others.items())}
        return {**own, "actors": others} if others else own


def open_agent(plan: Plan, dataset: Dataset) -> AgentParts:
    """The agents' classes and settings. Raises ``UsageError`` where one does not fit the dataset,
    an actor does not exist, or a model is missing."""
    settings, given = plan.agent_settings(), plan.group("actors")
    actors = _actors(plan, dataset)
    others: dict[str, AgentParts] = {}
    for actor in dict.fromkeys((*plan.actors, *given)):
        name, own = plan.actors.get(actor, plan.agent), given.get(actor, {})
        if not isinstance(own, Mapping):
            raise UsageError(f"--set actors.{actor}={own}: write actors.{actor}.KEY=VALUE")
        own = merge(settings, own) if name == plan.agent else own
        others[actor] = _parts(plan, dataset, name, own)
    cast = replace(_parts(plan, dataset, plan.agent, settings), others=others, actors=actors)
    named = plan.group("models")
    unnamed = [actor for actor in actors if actor not in others] or [""]
    for parts in cast.playing():
        played = [actor for actor, other in others.items() if other is parts] or unnamed
        if parts.cls.needs_model and not plan.model and not set(played) <= set(named):
            raise UsageError(f"{parts.name} asks a language model; add --model local:smollm2")
    return cast


def _parts(plan: Plan, dataset: Dataset, name: str, settings: Mapping[str, Any]) -> AgentParts:
    cls = registry.load("agent", name)
    check_family(cls, dataset.family.name, plan.dataset_name, name)
    if is_small(plan.model) and not trained_settings(plan.model, name):
        settings = {**getattr(cls, "small_model", {}), **settings}
    return AgentParts(cls, make(cls.Settings, settings, name), name)


def _actors(plan: Plan, dataset: Dataset) -> tuple[str, ...]:
    """The dataset's actors, read only where the plan names some."""
    named = [*plan.actors, *plan.group("actors")]
    if not (named or plan.group("models")):
        return ()
    actors = dataset.tasks[0].episode.actors
    if set(named) - set(actors):  # episodes may differ in who acts
        every = (name for task in dataset.tasks for name in task.episode.actors)
        actors = tuple(dict.fromkeys(every))
    for name in named:
        if name not in actors:
            hint = suggest(name, list(actors))
            raise UsageError(f"nobody in {plan.dataset_name} is called {name!r}; {hint}")
    return actors


def takes_a_person(plan: Plan) -> bool:
    """True if a person at the terminal is to play or to answer."""
    agents = (registry.load("agent", name) for name in (plan.agent, *plan.actors.values()))
    return bool(plan.ask) or any(cls.needs_person for cls in agents)


def cast_of(identity: Mapping[str, Any]) -> str:
    """The agents of a run, for tables: ``team, follower: human``."""
    actors = identity.get("actors")
    named = [
        f"{actor}: {parts.get('agent', '')}"
        for actor, parts in (actors.items() if isinstance(actors, Mapping) else ())
        if isinstance(parts, Mapping)  # a folder from elsewhere may hold anything
    ]
    return ", ".join([str(identity.get("agent", "")), *named])


Choices = Mapping[str, tuple[str, Mapping[str, Any]]]
"""Role -> a model's name and settings."""


def model_choices(plan: Plan, agent: AgentParts) -> Choices:
    """Role -> model name and its settings.

    ``main`` is ``--model`` with the group ``model``; another role is ``models.ROLE=NAME``, which
    shares the main model's settings where it names the same model, or ``models.ROLE.name=NAME``
    with settings of its own next to it. An actor's name is a role too: its agent's main model.
    Raises ``UsageError`` for a role that no agent has.
    """
    chosen: dict[str, tuple[str, Mapping[str, Any]]] = {}
    if plan.model:
        chosen["main"] = plan.model, plan.group("model")
    for role, given in plan.group("models").items():
        if role not in (*agent.roles, *agent.actors):
            hint = suggest(role, agent.roles or list(agent.actors))
            raise UsageError(f"{plan.agent} has no model role {role!r}; {hint}")
        own = dict(given) if isinstance(given, Mapping) else {"name": given}
        name = str(own.pop("name", plan.model))
        chosen[role] = name, own or (plan.group("model") if name == plan.model else {})
    return chosen


# The dataset.

_SHARED: ContextVar[dict[str, Dataset] | None] = ContextVar("shared datasets", default=None)


@contextmanager
def shared_datasets() -> Iterator[None]:
    """Within, plans on the same data share one dataset: it is read or generated once."""
    token = _SHARED.set({})
    try:
        yield
    finally:
        _SHARED.reset(token)


def open_dataset(plan: Plan) -> Dataset:
    """The dataset and split of ``plan.on``. Raises ``UsageError``, ``DataError``.

    Malformed files raise ``DataError`` at worst, when it is opened and when episodes are listed.
    """
    cls = registry.load("dataset", plan.dataset_name)
    settings = make(cls.Settings, plan.group("dataset"), plan.dataset_name)
    split, folder = plan.split or cls.splits[0], data_folder(plan.data)
    opened, key = _SHARED.get(), repr((cls, split, folder, settings, plan.perceiver()))
    if opened is not None and key in opened:
        return opened[key]
    with reading(plan.on):
        dataset: Dataset = _guarded(plan, _perceived(plan, cls))(split, folder, settings)
    if opened is not None:
        opened[key] = dataset
    return dataset


def _guarded(plan: Plan, cls: Any) -> Any:
    """The dataset's class with ``DataError`` for whatever its episodes and worlds run into."""
    if registry.is_path(plan.dataset_name):
        return cls  # an error in a user's own file is shown where it is

    class Guarded(cls):  # type: ignore[misc]
        @cached_property
        def tasks(self) -> Sequence[Task]:
            with reading(plan.on):
                found: Sequence[Task] = super().tasks
                some = len(found) > 0
            if not some:
                path = next(iter(self.files.values()), plan.on)
                raise DataError(path, "", "holds no episodes", "fetch it again")
            if not isinstance(found, DrawnTasks):
                return found

            def drawn(number: int) -> Task:
                with reading(plan.on):
                    return found[number]

            return DrawnTasks(len(found), drawn, found.ids, found.scenes)

        def world(self, episode: Episode) -> World:
            with reading(plan.on):
                made: World = super().world(episode)
            return made

    Guarded.__name__, Guarded.__qualname__ = cls.__name__, cls.__qualname__
    Guarded.__module__, Guarded.__doc__ = cls.__module__, cls.__doc__
    return Guarded


def _perceived(plan: Plan, cls: Any) -> Any:
    """The dataset's class; if the plan names a perceiver, a subclass that returns that one."""
    name, given = plan.perceiver()
    if not name:
        return cls
    build: Any = registry.load("perceiver", name)
    settings = make(build.Settings, given, "perceiver")

    class Perceived(cls):  # type: ignore[misc]
        @cached_property
        def _replacement(self) -> Perceiver:
            made: Perceiver = build(settings, super().perceiver())
            return made

        def perceiver(self) -> Perceiver:
            return self._replacement

    Perceived.__name__ = cls.__name__
    return Perceived


def omitted(dataset: Dataset) -> Mapping[str, int]:
    """The number of published records that were left out, by cause."""
    found = dataset.omissions.items()
    return {str(cause).replace("_", " "): int(count) for cause, count in found if count}


def split_name(plan: Plan, dataset: Dataset) -> str:
    """``houses`` -> ``houses:test``: the name with the default split written out."""
    return f"{plan.dataset_name}:{plan.split or dataset.splits[0]}"


# The identity of a run.


def identity(
    plan: Plan, dataset: Dataset, agent: AgentParts, models: Mapping[str, Model], checksum: str
) -> dict[str, Any]:
    """The settings that make a run the run it is: two runs that agree here would do the same.

    How it is carried out (concurrency, budgets, cache, number of episodes) is left out, so that a
    run can be continued faster, further or with more money.
    """
    cls: Any = type(dataset)
    data_settings = make(cls.Settings, plan.group("dataset"), plan.dataset_name)
    own_file = file_checksum(plan.dataset_name)
    named = _named_files(asdict(data_settings), but="pictures")
    pictures = str(getattr(data_settings, "pictures", ""))
    own: dict[str, Any] = {}
    if plan.ask:
        own["ask"] = plan.ask
    if own_file:
        own["dataset_checksum"] = own_file
    if named:
        own["dataset_files"] = named["files_checksum"]
    if pictures:
        own["pictures_checksum"] = pictures_checksum(Path(pictures), _files(Path(pictures)))
    return {
        **agent.identity(),
        "dataset": split_name(plan, dataset),
        "dataset_settings": asdict(data_settings),
        "data_checksum": checksum,
        "models": {role: model.name for role, model in models.items()},
        "model_identity": {
            role: _LOOPBACK.sub("//loopback", model.identity) for role, model in models.items()
        },
        "seed": plan.seed,
        "max_steps": plan.max_steps or dataset.max_steps,
        "wayword": version("wayword"),
        "shuffle": plan.shuffle,
        "shard": plan.shard,
        **own,
        **_perceiver_identity(plan),
    }


_LOOPBACK = re.compile(r"//(?:127\.0\.0\.1|localhost|\[::1\]):\d+")
"""A server on this machine, which may change its port."""


def _perceiver_identity(plan: Plan) -> dict[str, Any]:
    """Name, settings and content of a perceiver that replaces the dataset's own; empty for none.

    The content covers the perceiver's file, and every file and folder that its settings name.
    """
    name, given = plan.perceiver()
    if not name:
        return {}
    settings = asdict(make(registry.load("perceiver", name).Settings, given, "perceiver"))
    found = {"name": name, "settings": settings}
    if name.endswith(".py"):
        found["checksum"] = file_checksum(name)
    if named := _named_files(settings):
        found["data_checksum"] = named["files_checksum"]
    return {"perceiver": found}


def file_checksum(name: str) -> str:
    """The checksum of a user's own part, a file or a folder; empty for shipped ones."""
    if not registry.is_path(name):
        return ""
    path = Path(name)
    inside = sorted(path.rglob("*.py")) if path.is_dir() else []
    own = {str(file.relative_to(path)): file for file in inside}
    return Checksums().combined(own) if own else Checksums().of(path)


def _named_files(settings: Mapping[str, Any], but: str = "") -> dict[str, str]:
    """The checksum over every file, and every folder's files, that settings name; empty for none.

    A number depends on what VELMA's ``scores_file`` or a folder of pictures holds, not on its path.
    A folder has to be named as one, as in ``./pictures``: ``prompt=robot`` is a word. ``but`` is a
    setting that has a checksum of its own.
    """
    files: dict[str, Path] = {}
    for key, value in settings.items():
        if value and key != but and isinstance(value, str | Path) and len(str(value)) < 1024:
            top = Path(value)
            if top.is_file() or str(value) != top.name:
                files |= {f"{key}/{path.relative_to(top)}": path for path in _files(top)}
    return {"files_checksum": Checksums().combined(files)} if files else {}


def _files(top: Path) -> list[Path]:
    if top.is_file():
        return [top]
    return sorted(path for path in top.rglob("*") if path.is_file()) if top.is_dir() else []


def versions() -> Mapping[str, str]:
    """Versions of Wayword, Python and the packages a result may depend on."""
    found = {"python": platform.python_version()}
    for name in ("wayword", "numpy", "scipy", "openai", "xllamacpp"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
