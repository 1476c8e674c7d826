"""Names to parts: the dataset a plan asks for, and what makes a run the run it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from wayword.core import registry, rollout
from wayword.core.agent import Agent, Toolkit, check_family, needs_person, roles_of, sees_answer
from wayword.core.dataset import Dataset, DrawnTasks, Incomplete, Task
from wayword.core.episode import Episode
from wayword.core.errors import DataError, UsageError, suggest
from wayword.core.files import reading
from wayword.core.model import Model, identity_of
from wayword.core.perceiver import Perceiver
from wayword.core.world import World
from wayword.models.parts.weights import is_small, trained_settings
from wayword.runs.config import Checksums, pictures_checksum
from wayword.runs.plan import Plan, data_folder
from wayword.settings import make, merge

# Who plays whom: the agent of a plan, and those of single actors, with their settings and models.
#
# >>> from wayword.runs import Plan
# >>> from wayword.runs.parts import open_dataset
# >>> plan = Plan("random", "houses", actors={"agent": "oracle"})
# >>> open_agent(plan, open_dataset(plan)).sees_answer
# True


@dataclass(frozen=True, slots=True)
class AgentParts:
    """An agent's class and its checked settings; ``others`` are the agents of single actors.

    ``actors`` are the names of a dataset's actors, where the plan speaks of them.
    """

    cls: type[Agent]
    settings: Any
    name: str = ""
    others: Mapping[str, AgentParts] = field(default_factory=dict)
    actors: tuple[str, ...] = ()

    def playing(self) -> Iterator[AgentParts]:
        """Every agent that plays somebody, the plan's own first."""
        if not self.actors or set(self.actors) - set(self.others):
            yield self
        yield from self.others.values()

    @property
    def sees_answer(self) -> bool:
        """Whether any of them is shown the reference."""
        return any(sees_answer(parts.cls) for parts in self.playing())

    @property
    def needs_person(self) -> bool:
        """Whether any of them is a person at the terminal."""
        return any(needs_person(parts.cls) for parts in self.playing())

    @property
    def roles(self) -> list[str]:
        """The model roles of all of them, in order."""
        found = (role for parts in self.playing() for role in roles_of(parts.cls))
        return list(dict.fromkeys(found))

    def maker(self) -> rollout.MakeAgent:
        """Builds one agent an actor and episode. A model named for an actor is its main one."""

        def build(toolkit: Toolkit, actor: str) -> Agent:
            parts, own = self.others.get(actor, self), toolkit.models.get(actor)
            if own is not None:
                toolkit = replace(toolkit, models={**toolkit.models, "main": own})
            made: Agent = parts.cls(parts.settings, toolkit)  # type: ignore[call-arg]
            return made

        return build

    def identity(self) -> dict[str, Any]:
        """What of it makes a run the run it is: ``actors`` only where they have agents of their
        own."""
        own = {
            "agent": self.name,
            "settings": asdict(self.settings),
            "prompts_checksum": _prompts_checksum(self.settings),
            "agent_checksum": file_checksum(self.name),
            **_named_files(asdict(self.settings), but="prompts"),
        }
        others = {actor: parts.identity() for actor, parts in sorted(self.others.items())}
        return {**own, "actors": others} if others else own


def open_agent(plan: Plan, dataset: Dataset) -> AgentParts:
    """The agents' classes and settings. Raises ``UsageError`` where one does not fit the dataset,
    an actor does not exist, or a model is missing."""
    own = _parts(plan, dataset, plan.agent, plan.agent_settings())
    actors = _actors(plan, dataset)
    given = plan.group("actors")
    others: dict[str, AgentParts] = {}
    for actor in dict.fromkeys((*plan.actors, *given)):
        name, settings = plan.actors.get(actor, plan.agent), given.get(actor, {})
        if not isinstance(settings, Mapping):
            raise UsageError(f"--set actors.{actor}={settings}: write actors.{actor}.KEY=VALUE")
        same = name == plan.agent
        settings = merge(plan.agent_settings(), settings) if same else settings
        others[actor] = _parts(plan, dataset, name, settings)
    cast = replace(own, others=others, actors=actors)
    _check_models(plan, cast)
    return cast


def takes_a_person(plan: Plan) -> bool:
    """Whether somebody at the terminal is to play or to answer."""
    agents = (registry.load("agent", name) for name in (plan.agent, *plan.actors.values()))
    return bool(plan.ask) or any(needs_person(cls) for cls in agents)


def cast_of(identity: Mapping[str, Any]) -> str:
    """Who played in a run, for tables: ``team, follower: human``."""
    actors = identity.get("actors")
    named = [
        f"{actor}: {parts.get('agent', '')}"
        for actor, parts in (actors.items() if isinstance(actors, Mapping) else ())
        if isinstance(parts, Mapping)  # a folder from elsewhere may hold anything
    ]
    return ", ".join([str(identity.get("agent", "")), *named])


def _parts(plan: Plan, dataset: Dataset, name: str, settings: Mapping[str, Any]) -> AgentParts:
    cls = registry.load("agent", name)
    check_family(cls, dataset.family.name, plan.dataset_name, name)
    if is_small(plan.model) and not trained_settings(plan.model, name):
        settings = {**getattr(cls, "small_model", {}), **settings}
    return AgentParts(cls, make(cls.Settings, settings, name), name)


def _actors(plan: Plan, dataset: Dataset) -> tuple[str, ...]:
    """The dataset's actors, looked at only where the plan names some."""
    named = [*plan.actors, *plan.group("actors")]
    if not (named or plan.group("models")):
        return ()
    actors = dataset.tasks[0].episode.actors
    if set(named) - set(actors):  # episodes may differ in who acts
        every = (name for task in dataset.tasks for name in task.episode.actors)
        actors = tuple(dict.fromkeys(every))
    for name in named:
        if name not in actors:
            there = suggest(name, list(actors))
            raise UsageError(f"nobody in {plan.dataset_name} is called {name!r}; {there}")
    return actors


def _check_models(plan: Plan, cast: AgentParts) -> None:
    """Every agent that asks a model has one: the run's, or its actor's own."""
    named = plan.group("models")
    unnamed: Sequence[str] = [a for a in cast.actors if a not in cast.others] or [""]
    for parts in cast.playing():
        actors = [a for a, other in cast.others.items() if other is parts] or unnamed
        if parts.cls.needs_model and not plan.model and not set(actors) <= set(named):
            raise UsageError(f"{parts.name} asks a language model; add --model local:smollm2")


def model_choices(plan: Plan, agent: AgentParts) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Role -> model name and its settings.

    ``main`` is ``--model`` with the group ``model``; another role is ``models.ROLE=NAME``, which
    shares the main model's settings where it names the same model, or ``models.ROLE.name=NAME``
    with settings of its own beside it. An actor's name is a role too: its agent's main model.
    Raises ``UsageError`` for a role that nobody has.
    """
    chosen: dict[str, tuple[str, Mapping[str, Any]]] = {}
    if plan.model:
        chosen["main"] = plan.model, plan.group("model")
    known = [*agent.roles, *agent.actors]
    for role, given in plan.group("models").items():
        if role not in known:
            there = suggest(role, agent.roles or list(agent.actors))
            raise UsageError(f"{plan.agent} has no model role {role!r}; {there}")
        own = dict(given) if isinstance(given, Mapping) else {"name": given}
        name = str(own.pop("name", plan.model))
        chosen[role] = name, own or (plan.group("model") if name == plan.model else {})
    return chosen


def file_checksum(name: str) -> str:
    """A part of one's own is another part once its file has changed; empty for shipped ones."""
    if not registry.is_path(name):
        return ""
    path = Path(name)
    inside = sorted(path.rglob("*.py")) if path.is_dir() else []
    own = {str(file.relative_to(path)): file for file in inside}
    return Checksums().combined(own) if own else Checksums().of(path)


def _prompts_checksum(settings: Any) -> str:
    """A run with prompts of one's own is another run once a text in that folder has changed."""
    folder = getattr(settings, "prompts", "")
    texts = {path.name: path for path in sorted(Path(folder).glob("*.txt"))} if folder else {}
    return Checksums().combined(texts)


def open_dataset(plan: Plan) -> Dataset:
    """The dataset and split of ``plan.on``. Raises ``UsageError``, ``DataError``.

    Whatever its files hold, opening it and listing its episodes ends in a ``DataError`` at worst.
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


_SHARED: ContextVar[dict[str, Dataset] | None] = ContextVar("shared datasets", default=None)


@contextmanager
def shared_datasets() -> Iterator[None]:
    """Within, plans on the same data share one dataset: it is read or generated once."""
    token = _SHARED.set({})
    try:
        yield
    finally:
        _SHARED.reset(token)


def _guarded(plan: Plan, cls: Any) -> Any:
    """The dataset's class, whose list of episodes is read through the same door as its files."""
    if registry.is_path(plan.dataset_name):
        return cls  # an error in one's own file is shown where it is

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
    chosen: Any = registry.load("perceiver", name)
    if not (isinstance(chosen, type) and issubclass(chosen, Perceiver)):
        base = f"{Perceiver.__module__}.{Perceiver.__name__}"
        raise UsageError(f"{name}: 'perceiver' must be a subclass of {base}")
    build: Any = chosen
    settings = make(chosen.Settings, given, "perceiver")

    class Perceived(cls):  # type: ignore[misc]
        @cached_property
        def _replacement(self) -> Perceiver:
            made: Perceiver = build(settings, super().perceiver())
            return made

        def perceiver(self) -> Perceiver:
            return self._replacement

    Perceived.__name__ = cls.__name__
    return Perceived


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


def _checksum_of(folder: Path) -> str:
    return pictures_checksum(folder, _files(folder))


def _files(top: Path) -> list[Path]:
    if top.is_file():
        return [top]
    return sorted(path for path in top.rglob("*") if path.is_file()) if top.is_dir() else []


def omitted(dataset: Dataset) -> Mapping[str, int]:
    """How many published records were left out, by cause, where the dataset counts them."""
    found = dataset.omissions if isinstance(dataset, Incomplete) else {}
    return {str(cause).replace("_", " "): int(count) for cause, count in found.items() if count}


def split_name(plan: Plan, dataset: Dataset) -> str:
    """``houses`` -> ``houses:test``: the name with the default split written out."""
    return f"{plan.dataset_name}:{plan.split or dataset.splits[0]}"


def identity(
    plan: Plan,
    dataset: Dataset,
    agent: AgentParts,
    models: Mapping[str, Model],
    checksum: str,
) -> dict[str, Any]:
    """What makes a run the run it is: two runs that agree here would do the same.

    How it is carried out (concurrency, budgets, cache, how many episodes) is left out, so that a
    run can be continued faster, further or with more money.
    """
    cls: Any = type(dataset)
    data_settings = make(cls.Settings, plan.group("dataset"), plan.dataset_name)
    own_file = file_checksum(plan.dataset_name)
    named = _named_files(asdict(data_settings), but="pictures")
    pictures = str(getattr(data_settings, "pictures", ""))
    return {
        **agent.identity(),
        "dataset": split_name(plan, dataset),
        "dataset_settings": asdict(data_settings),
        "data_checksum": checksum,
        "models": {role: model.name for role, model in models.items()},
        "model_identity": {role: _identity(model) for role, model in models.items()},
        "seed": plan.seed,
        "max_steps": plan.max_steps or dataset.max_steps,
        "wayword": version("wayword"),
        "shuffle": plan.shuffle,
        "shard": plan.shard,
        **({"ask": plan.ask} if plan.ask else {}),
        **({"dataset_checksum": own_file} if own_file else {}),
        **({"dataset_files": named["files_checksum"]} if named else {}),
        **({"pictures_checksum": _checksum_of(Path(pictures))} if pictures else {}),
        **_perceiver_identity(plan),
    }


def _identity(model: Model) -> str:
    """What decides about a model's answers. A server on this machine may change its port."""
    return re.sub(r"//(?:127\.0\.0\.1|localhost|\[::1\]):\d+", "//loopback", identity_of(model))


def versions() -> Mapping[str, str]:
    """Versions of Wayword, Python and the packages a result may depend on."""
    import platform

    found = {"python": platform.python_version()}
    for name in ("wayword", "numpy", "scipy", "openai", "xllamacpp"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
