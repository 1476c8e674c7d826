"""Plans, the dataset, agents and models they name, and the identity of a run.

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

import hashlib
import json
import platform
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from math import inf
from pathlib import Path
from types import CodeType, FunctionType
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, Lt

from wayword.core import registry
from wayword.core.agent import Agent, Toolkit, check_family
from wayword.core.blame import describe
from wayword.core.dataset import Dataset, DrawnTasks, Task, check_opened
from wayword.core.episode import Episode
from wayword.core.errors import DataError, UsageError, WaywordError, suggest
from wayword.core.files import reading
from wayword.core.model import Model
from wayword.core.perceiver import Perceiver
from wayword.core.sight import EyesSettings, with_eyes
from wayword.core.world import World
from wayword.datasets.perturbed import Perturbations, perturbed
from wayword.models.parts.weights import is_chat, is_small, trained_settings
from wayword.runs.config import Checksums, pictures_checksum, series
from wayword.runs.machine import data_folder
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
)
"""Groups of settings that are not the agent's: ``model.threads=2``, ``dataset.houses=5``,
``models.summary=openai:gpt-5-mini``, ``actors.follower.decoding=free``, ``perceiver=./mine.py``,
``eyes=pictures``."""

SAMPLE = 0
"""Seed of the order of runs that may play a part of their split and state no order."""

Count = Annotated[int, Ge(1)]
Amount = Annotated[float, Ge(0), Lt(inf)]
AtOnce = Annotated[int, Ge(1), Le(10_000)]
"""Number of concurrent episodes or processes; limited because each allocates memory at once."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A run: an agent, a dataset and a model.

    ``Plan("navgpt", "r2r:val_seen", "local:smollm2", limit=30)``

    ``actors`` maps actors to agents; ``agent`` plays all others. ``settings`` is a tree of the
    agent's settings and the groups ``model``, ``models``, ``dataset``, ``actors``, ``perceiver``
    and ``perturb``. ``episode`` selects one episode: an id, a number from 1, ``next`` for the first
    unfinished one, or ``level`` for one that suits a person who plays; ``episodes`` selects several
    ids, and ``redo`` are finished ones to play again. ``ask`` is ``terminal`` or ``browser`` if a
    person answers agents' questions. ``limit`` selects N episodes; raising it later extends the
    same run. They are a random sample (see ``order``) drawn with the seed ``shuffle``, or the
    ``first`` of the split. ``continues`` names a step of a recorded episode to start from
    (:mod:`wayword.runs.running`). ``max_tokens`` and ``max_dollars`` are budgets for the whole run,
    ``rpm`` limits requests per minute, and ``cache`` is a file to reuse answers from. With the
    ``engine`` ``ray``, ``workers`` processes of a Ray cluster play ``concurrency`` episodes each;
    by default, this process plays. With ``remember="scene"``, agents keep what they learned for the
    next episode in the scene (:mod:`wayword.runs.tours`). ``trusted`` are files that the recorded
    run names and that may be opened (:mod:`wayword.runs.opening`).
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
    rpm: Amount | None = None
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
        check(self)
        if self.remember and (self.engine or self.shard or self.continues):
            raise UsageError(
                "--remember plays the tours of scenes in this process, from their start; remove "
                "--engine, --shard, --continue"
            )
        if self.engine and self.continues:
            raise UsageError(
                "--continue plays a single episode in this process; remove --engine"
            )
        self.shard_of()
        if self.episodes and (
            self.episode or self.shard or self.limit or self.states_order
        ):
            raise UsageError(
                "--episodes selects the episodes; remove --episode, --limit, --first, --shuffle, "
                "--shard"
            )
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
        if self.states_order or self.episodes:
            return self.shuffle
        if self.limit or self.shard or self.remember:
            return SAMPLE
        return None

    @property
    def dataset_name(self) -> str:
        return self.on.partition(":")[0]

    @property
    def split(self) -> str:
        """The split in ``on``; empty means the dataset's first split."""
        return self.on.partition(":")[2]

    def group(self, name: str) -> Mapping[str, Any]:
        settings = self.settings.get(name, {})
        if not isinstance(settings, Mapping):
            raise UsageError(f"--set {name}={settings}: write {name}.KEY=VALUE")
        return settings

    def perceiver(self) -> tuple[str, Mapping[str, Any]]:
        """Name or file and settings of the perceiver that replaces the dataset's; empty if none.
        Set by ``perceiver=NAME``, or ``perceiver.name=NAME`` and ``perceiver.KEY=VALUE``."""
        group = self.settings.get("perceiver", {})
        settings = dict(group) if isinstance(group, Mapping) else {"name": group}
        name = str(settings.pop("name", ""))
        if settings and not name:
            raise UsageError(
                "--set perceiver.KEY=VALUE: also set perceiver.name=FILE.py"
            )
        return name, settings

    def eyes(self) -> EyesSettings:
        """How the run sees: the settings ``eyes`` and ``picture_size``."""
        names = [field.name for field in fields(EyesSettings)]
        given = {name: self.settings[name] for name in names if name in self.settings}
        eyes: EyesSettings = make(EyesSettings, given, "")
        if eyes.eyes == "words" and "picture_size" in given:
            raise UsageError(
                "picture_size has no effect in words; add --set eyes=pictures or eyes=both"
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
        match = re.fullmatch(r"(\d+)/(\d+)", self.shard or "1/1")
        shard, shards = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= shard <= shards:
            raise UsageError(
                f"--shard {self.shard}: write i/n with 1 <= i <= n, for example 1/4"
            )
        return shard - 1, shards


@dataclass(frozen=True, slots=True)
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
        names = [name for name in overridden if name != "agent" and hasattr(self, name)]
        mine = {name: getattr(self, name) for name in names}
        return replace(
            defaults, **{**mine, "settings": merge(defaults.settings, self.settings)}
        )


def agents_of(pairs: Sequence[str]) -> dict[str, str]:
    """Parse the values of ``--actor``: ``["follower=human"]`` -> ``{"follower": "human"}``."""
    agents: dict[str, str] = {}
    for pair in pairs:
        actor, _, agent = pair.partition("=")
        if not (actor and agent):
            raise UsageError(
                f"--actor {pair}: write ACTOR=AGENT, for example follower=human"
            )
        if actor in agents:
            raise UsageError(f"--actor {pair}: {actor} already has an agent")
        agents[actor] = agent
    return agents


def read_config(path: Path | None) -> Mapping[str, Any]:
    """The settings in a YAML file. Raises ``UsageError``."""
    tree = None if path is None else _yaml(path, f"--config {path}")
    if tree is not None and not isinstance(tree, dict):
        raise UsageError(f"--config {path}: must be a mapping, such as decoding: free")
    return tree or {}


def _yaml(path: Path, name: str) -> Any:
    import yaml

    try:
        return load_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{name}: {str(error.strerror).lower()}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
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
    renamed = {
        "True": "on",
        "continue": "continues",
    }
    values = {renamed.get(str(key), str(key)): value for key, value in tree.items()}
    settings = values.get("settings") or {}
    if not isinstance(settings, dict):
        raise UsageError(f"{path}: settings must be a mapping, such as decoding: free")
    values["settings"] = expand_keys(settings)
    options = [each.name for each in fields(RunRecipe) if each.name != "trusted"]
    for key in values:
        if key not in options:
            raise UsageError(f"{path}: unknown option {key!r}; {suggest(key, options)}")
    try:
        return RunRecipe(**values)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def expand_keys(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """``{"model.threads": 2}`` -> ``{"model": {"threads": 2}}``."""
    tree: Mapping[str, Any] = {}
    for key, value in settings.items():
        for part in reversed(str(key).split(".")):
            value = {part: value}
        tree = merge(tree, value)
    return tree


def run_folder(plan: Plan, identity: Mapping[str, Any]) -> Path:
    """The default run folder. Equal identities get the same folder, so that a run resumes; with
    and without a limit, unless the plan states an order."""
    named = {**identity, "shuffle": plan.shuffle}
    if plan.first:
        named["first"] = True
    digest = hashlib.sha256(
        json.dumps(named, sort_keys=True, default=str).encode()
    ).hexdigest()
    agents = [
        Path(plan.agent).stem,
        *(f"{a}.{Path(name).stem}" for a, name in plan.actors.items()),
    ]
    parts = (*agents, plan.on, plan.model.rsplit("/", 1)[-1], digest[:8])
    return Path("runs") / re.sub(
        r"[^A-Za-z0-9._-]+", "-", "-".join(filter(None, parts))
    )


@dataclass(frozen=True, slots=True)
class AgentParts:
    """The class and checked settings of a plan's agent; ``others`` are the agents in ``actors``,
    which are the dataset's actors; empty if the plan names no actor."""

    cls: type[Agent]
    settings: Any
    name: str = ""
    others: Mapping[str, AgentParts] = field(default_factory=dict)
    actors: tuple[str, ...] = ()

    def playing(self) -> Iterator[AgentParts]:
        """Iterate over the agents that play an actor, the plan's ``agent`` first."""
        if not self.actors or set(self.actors) - set(self.others):
            yield self
        yield from self.others.values()

    @property
    def roles(self) -> list[str]:
        """The model roles of all agents, in order."""
        return list(
            dict.fromkeys(role for parts in self.playing() for role in parts.cls.roles)
        )

    def make(self, toolkit: Toolkit, actor: str) -> Agent:
        """Create the agent of an actor for an episode. If a model role has the actor's name, it
        becomes the agent's main model."""
        parts = self.others.get(actor, self)
        model = toolkit.models.get(actor)
        if model is not None:
            toolkit = replace(toolkit, models={**toolkit.models, "main": model})
        return parts.cls(parts.settings, toolkit)

    def identity(self) -> dict[str, Any]:
        """The agents' entries in a run's identity. Custom prompts are identified by their text."""
        prompts = getattr(self.settings, "prompts", "")
        texts = sorted(Path(prompts).glob("*.txt")) if prompts else []
        entry = {
            "agent": self.name,
            "settings": asdict(self.settings),
            "prompts_checksum": Checksums().combined(
                {path.name: path for path in texts}
            ),
            "agent_checksum": source_checksum("agent", self.name),
            **_named_files(asdict(self.settings), except_="prompts"),
        }
        others = {
            actor: parts.identity() for actor, parts in sorted(self.others.items())
        }
        return {**entry, "actors": others} if others else entry


def open_agent(plan: Plan, dataset: Dataset) -> AgentParts:
    """The agents' classes and settings. Raises ``UsageError`` if an agent does not support the
    dataset, an actor does not exist, or a model is missing."""
    settings = plan.agent_settings()
    groups = plan.group("actors")
    models = plan.group("models")
    named = dict.fromkeys((*plan.actors, *groups))
    # Reading an episode takes time, so look up its actors only if the plan names any.
    actors = dataset.tasks[0].episode.actors if named or models else ()
    if set(named) - set(actors):  # episodes may differ in their actors
        every = (actor for task in dataset.tasks for actor in task.episode.actors)
        actors = tuple(dict.fromkeys(every))
    others: dict[str, AgentParts] = {}
    for actor in named:
        if actor not in actors:
            hint = suggest(actor, list(actors))
            raise UsageError(f"{plan.dataset_name} has no actor {actor!r}; {hint}")
        name = plan.actors.get(actor, plan.agent)
        overrides = groups.get(actor, {})
        if not isinstance(overrides, Mapping):
            raise UsageError(
                f"--set actors.{actor}={overrides}: write actors.{actor}.KEY=VALUE"
            )
        overrides = merge(settings, overrides) if name == plan.agent else overrides
        others[actor] = _parts(plan, dataset, name, overrides)
    agents = replace(
        _parts(plan, dataset, plan.agent, settings), others=others, actors=actors
    )
    unnamed = [actor for actor in actors if actor not in others] or [""]
    for parts in agents.playing():
        played = [actor for actor, other in others.items() if other is parts] or unnamed
        if parts.cls.needs_model and not plan.model and not set(played) <= set(models):
            raise UsageError(
                f"{parts.name} needs a language model; add --model local:smollm2"
            )
        if plan.remember and parts.cls.remember is Agent.remember:
            raise UsageError(
                f"{parts.name} keeps nothing between episodes; remove --remember, or choose an "
                "agent that does: mapgpt, frontier_llm"
            )
    return agents


def _parts(
    plan: Plan, dataset: Dataset, name: str, settings: Mapping[str, Any]
) -> AgentParts:
    cls = registry.load("agent", name)
    check_family(cls, dataset.family.name, plan.dataset_name, name)
    if dataset.eyes is not None and cls.needs_model and not cls.has_eyes:
        raise UsageError(
            f"{name} plays in words alone; remove eyes={dataset.eyes.eyes}, or choose an agent "
            "that looks at pictures: mapgpt, navgpt"
        )
    if is_small(plan.model) and not trained_settings(plan.model, name):
        settings = {**getattr(cls, "small_model", {}), **settings}
    elif is_chat(plan.model):
        settings = {**getattr(cls, "chat_model", {}), **settings}
    return AgentParts(cls, make(cls.Settings, settings, name), name)


def takes_a_person(plan: Plan) -> bool:
    """True if a person plays an actor or answers questions."""
    agents = (
        registry.load("agent", name) for name in (plan.agent, *plan.actors.values())
    )
    return bool(plan.ask) or any(cls.needs_person for cls in agents)


def cast_of(identity: Mapping[str, Any]) -> str:
    """The agents of a run, for tables: ``team, follower: human``."""
    named = [f"{actor}: {part['agent']}" for actor, part in identity["actors"].items()]
    return ", ".join([identity["agent"], *named])


Choices = Mapping[str, tuple[str, Mapping[str, Any]]]
"""Name and settings of the model of each role."""


def model_choices(plan: Plan, agent: AgentParts) -> Choices:
    """Name and settings of each role's model.

    ``--model`` and the group ``model`` define the role ``main``. Other roles are set by
    ``models.ROLE=NAME``, with the main model's settings if it is the same model, or by
    ``models.ROLE.KEY=VALUE``. The name of an actor is the role of its main model. Raises
    ``UsageError`` for a role that no agent has.
    """
    chosen: dict[str, tuple[str, Mapping[str, Any]]] = {}
    if plan.model:
        chosen["main"] = plan.model, plan.group("model")
    elif settings := plan.group("model"):
        raise UsageError(
            f"model.{next(iter(settings))} is set without a model; add --model"
        )
    for role, group in plan.group("models").items():
        if role not in (*agent.roles, *agent.actors):
            hint = suggest(role, agent.roles or list(agent.actors))
            raise UsageError(f"{plan.agent} has no model role {role!r}; {hint}")
        options = dict(group) if isinstance(group, Mapping) else {"name": group}
        name = str(options.pop("name", plan.model))
        chosen[role] = (
            name,
            options or (plan.group("model") if name == plan.model else {}),
        )
    return chosen


# The dataset.

_SHARED: ContextVar[dict[str, Dataset] | None] = ContextVar(
    "shared datasets", default=None
)


@contextmanager
def shared_datasets() -> Iterator[None]:
    """Context in which plans on the same data share one dataset, read or generated only once."""
    token = _SHARED.set({})
    try:
        yield
    finally:
        _SHARED.reset(token)


def open_dataset(plan: Plan) -> Dataset:
    """Open the dataset and split of ``plan.on``. Raises ``UsageError``, and ``DataError`` for
    malformed files, here or when episodes are listed."""
    cls = registry.load("dataset", plan.dataset_name)
    settings = make(cls.Settings, plan.group("dataset"), plan.dataset_name)
    split = plan.split or cls.splits[0]
    folder = data_folder(plan.data)
    wrappers = (plan.perceiver(), plan.group("perturb"), plan.eyes())
    shared = _SHARED.get()
    opened = {} if shared is None else shared
    key = repr((cls, split, folder, settings, wrappers))
    if key not in opened:
        opener = _class_of(plan, cls)
        if _is_custom(plan):
            try:
                opened[key] = opener(split, folder, settings)
            except WaywordError:
                raise
            except Exception as error:
                raise UsageError(f"{plan.on}: {describe(error)}") from error
            check_opened(opened[key])
        else:
            with reading(plan.on):
                opened[key] = opener(split, folder, settings)
    if opened[key].eyes is not None and opened[key].painter() is None:
        raise UsageError(
            f"eyes={plan.eyes().eyes}: {plan.dataset_name} draws no pictures; remove the setting, "
            "or choose a dataset that does: houses"
        )
    return opened[key]


EMPTY = "contains no episodes"
"""Problem of a file without a single record."""


def _is_custom(plan: Plan) -> bool:
    """True for a dataset in a user's own Python file or notebook."""
    name = plan.dataset_name
    in_python = registry.is_path(name) and not registry.is_described(name)
    return in_python or ("dataset", name) in registry.CLASSES


def _class_of(plan: Plan, cls: Any) -> Any:
    """The dataset's class with the plan's perceiver and perturbations, and with ``DataError`` for
    all errors in its episodes and worlds."""
    name, group = plan.perceiver()
    base: Any = cls
    if name:
        build: Any = registry.load("perceiver", name)
        perceiver_settings = make(build.Settings, group, "perceiver")

        @cache
        def replacement(dataset: Dataset) -> Perceiver:
            perceiver: Perceiver = build(perceiver_settings, cls.perceiver(dataset))
            return perceiver

        base = type(cls.__name__, (cls,), {"perceiver": replacement})
    eyes = plan.eyes()
    if eyes.eyes != "words":
        base = with_eyes(base, eyes)
    if (rates := perturbations(plan)).active():
        _check_sight(eyes, rates)
        base = perturbed(base, rates)
    if _is_custom(plan) or registry.is_path(plan.dataset_name):
        return base  # errors in custom code keep their traceback

    class Guarded(base):  # type: ignore[misc]
        @cached_property
        def tasks(self) -> Sequence[Task]:
            with reading(plan.on):
                tasks: Sequence[Task] = super().tasks
                count = len(tasks)
            if not count:
                path = next(iter(self.files.values()), plan.on)
                raise DataError(path, "", EMPTY, "fetch it again")
            if not isinstance(tasks, DrawnTasks):
                return tasks

            def draw(number: int) -> Task:
                with reading(plan.on):
                    return tasks[number]

            return DrawnTasks(count, draw, tasks.ids, tasks.scenes)

        def world(self, episode: Episode) -> World:
            with reading(plan.on):
                world: World = super().world(episode)
            return world

        def __reduce__(self) -> tuple[Any, ...]:
            return open_dataset, (plan,)

    Guarded.__name__ = cls.__name__
    Guarded.__qualname__ = cls.__qualname__
    Guarded.__module__ = cls.__module__
    Guarded.__doc__ = cls.__doc__
    return Guarded


def _check_sight(eyes: EyesSettings, rates: Perturbations) -> None:
    """Raise ``UsageError`` if rates change words about what agents see in pictures."""
    of_words = [
        name
        for name in rates.active()
        if name in ("captions_missing", "captions_wrong", "orders")
    ]
    if of_words and eyes.eyes != "words":
        raise UsageError(
            f"--perturb {of_words[0]} changes the words of a scene, and with eyes={eyes.eyes} "
            "agents see it in pictures; remove one of them"
        )


def perturbations(plan: Plan) -> Perturbations:
    """The checked rates of the group ``perturb``."""
    rates: Perturbations = make(Perturbations, plan.group("perturb"), "perturb")
    return rates


def caveats(dataset: Dataset, agent: AgentParts) -> list[str]:
    """Caveats of a run's results, from its dataset, perceiver and agents."""
    perceiver = dataset.perceiver()
    lines = [*dataset.caveats, *(perceiver.caveats if perceiver else ())]
    if dataset.eyes is not None:
        lines.append(f"schematic pictures (eyes={dataset.eyes.eyes})")
    for parts in agent.playing():
        if dataset.family.name not in parts.cls.sightless:
            lines += parts.cls.caveats(parts.settings, perceiver)
        if getattr(parts.settings, "shots", 0) and dataset.examples_caveat:
            lines.append(dataset.examples_caveat)
    return list(dict.fromkeys(lines))


def omitted(dataset: Dataset) -> Mapping[str, int]:
    """Numbers of published records that were left out, by cause."""
    counts = dataset.omissions.items()
    return {
        str(cause).replace("_", " "): int(count) for cause, count in counts if count
    }


def split_name(plan: Plan, dataset: Dataset) -> str:
    """Name of the dataset with its split: ``houses:test`` for ``houses``."""
    return f"{plan.dataset_name}:{plan.split or dataset.splits[0]}"


def shown_split(plan: Plan, dataset: Dataset) -> str:
    """Name of the split in tables; if a custom file replaces it, the file's name."""
    split = split_name(plan, dataset)
    if dataset.replaced_by:
        split = f"{plan.dataset_name}:{dataset.replaced_by}"
    else:
        split = split
    return ", ".join(
        [split, *(f"{k}={v:g}" for k, v in perturbations(plan).active().items())]
    )


_LOOPBACK = re.compile(r"//(?:127\.0\.0\.1|localhost|\[::1\]):\d+")
"""A server on this machine, whose port may change between sessions."""


def identity(
    plan: Plan,
    dataset: Dataset,
    agent: AgentParts,
    models: Mapping[str, Model],
    checksum: str,
) -> dict[str, Any]:
    """All settings that determine a run's behavior: runs with equal identities do the same.

    Concurrency, budgets, cache and number of episodes may change when a run is resumed. Files and
    folders in settings are identified by their content.
    """
    cls: Any = type(dataset)
    data_settings = asdict(make(cls.Settings, plan.group("dataset"), plan.dataset_name))
    options = {
        "ask": plan.ask,
        "remember": plan.remember,
        "perturb": perturbations(plan).active(),
    }
    optional: dict[str, Any] = {name: value for name, value in options.items() if value}
    if checksum_of_file := source_checksum("dataset", plan.dataset_name):
        optional["dataset_checksum"] = checksum_of_file
    if named := _named_files(data_settings, except_="pictures"):
        optional["dataset_files"] = named["files_checksum"]
    if pictures := str(data_settings.get("pictures", "")):
        optional["pictures_checksum"] = pictures_checksum(
            Path(pictures), _files(Path(pictures))
        )
    if dataset.eyes is not None and (painter := dataset.painter()):
        optional["eyes"] = {**asdict(dataset.eyes), "painter": painter.name}
    name, group = plan.perceiver()
    if name:
        settings = asdict(
            make(registry.load("perceiver", name).Settings, group, "perceiver")
        )
        optional["perceiver"] = {"name": name, "settings": settings}
        if name.endswith(".py"):
            optional["perceiver"]["checksum"] = source_checksum("perceiver", name)
        if named := _named_files(settings):
            optional["perceiver"]["data_checksum"] = named["files_checksum"]
    return {
        **agent.identity(),
        "dataset": split_name(plan, dataset),
        "dataset_settings": data_settings,
        "data_checksum": checksum,
        "models": {role: model.name for role, model in models.items()},
        "model_identity": {
            role: _LOOPBACK.sub("//loopback", model.identity)
            for role, model in models.items()
        },
        "seed": plan.seed,
        "max_steps": plan.max_steps or dataset.max_steps,
        "wayword": series(version("wayword")),
        "shuffle": plan.order,
        "shard": plan.shard,
        **optional,
    }


def local_servers(models: Mapping[str, Model]) -> dict[str, str]:
    """Return the addresses of models on this machine, by role. They are not part of the identity,
    because a port may change between sessions; a change is reported."""
    found = {role: _LOOPBACK.search(model.identity) for role, model in models.items()}
    return {role: match[0].strip("/") for role, match in found.items() if match}


def source_checksum(kind: registry.Kind, name: str) -> str:
    """Checksum of a custom component (a file, folder or class); empty for a shipped one."""
    if cls := registry.CLASSES.get((kind, name)):
        members = [
            member for base in cls.__mro__[:-1] for member in vars(base).values()
        ]
        codes = [
            member.__code__ for member in members if isinstance(member, FunctionType)
        ]
        # A class in a notebook has no file; its bytecode and constants do not depend on positions.
        content = [(code.co_code, _constants(code), code.co_names) for code in codes]
        return hashlib.sha256(repr(content).encode()).hexdigest()
    if not registry.is_path(name):
        return ""
    path = Path(name)
    pattern = "*.y*ml" if registry.is_described(name) else "*.py"
    inside = sorted(path.rglob(pattern)) if path.is_dir() else []
    files = {str(file.relative_to(path)): file for file in inside}
    return Checksums().combined(files) if files else Checksums().of(path)


def _constants(code: CodeType) -> list[Any]:
    inner = (
        _constants(each) if isinstance(each, CodeType) else each
        for each in code.co_consts
    )
    return [
        sorted(map(repr, each)) if isinstance(each, frozenset) else each
        for each in inner
    ]


def _named_files(settings: Mapping[str, Any], except_: str = "") -> dict[str, str]:
    """Checksum of all files and folders named in settings; empty if there are none.

    Results depend on the content of VELMA's ``scores_file`` or a folder of pictures, not its path.
    A folder must be written as a path, as in ``./pictures``, because ``prompt=robot`` is a word.
    """
    files: dict[str, Path] = {}
    for key, value in settings.items():
        if (
            value
            and key != except_
            and isinstance(value, str | Path)
            and len(str(value)) < 1024
        ):
            top = Path(value)
            if top.is_file() or str(value) != top.name:
                files |= {
                    f"{key}/{path.relative_to(top)}": path for path in _files(top)
                }
    return {"files_checksum": Checksums().combined(files)} if files else {}


def _files(top: Path) -> list[Path]:
    if top.is_file():
        return [top]
    if top.is_dir():
        return sorted(path for path in top.rglob("*") if path.is_file())
    return []


def versions() -> Mapping[str, str]:
    """Versions of Python, Wayword and the packages that results may depend on."""
    installed = {"python": platform.python_version()}
    for name in ("wayword", "numpy", "scipy", "openai", "xllamacpp"):
        with suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed
