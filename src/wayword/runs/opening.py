"""Open what a plan or a run folder names: its dataset, agents and models.

A plan is the user's own: its files are opened. A run folder may come from anyone, so all of it is
data. Every command, page and export opens a run's dataset by :func:`dataset_of`, which neither runs
nor reads any file that the folder names. Datasets and perceivers must be installed, or registered
in this process. A file or folder that the record names (a custom dataset, a robot's base,
annotations) is replaced by the user's own, which ``--with FILE`` names: a dataset or perceiver by
its checksum, the file of a setting by its name. Recipes are opened by the same rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache, cached_property, wraps
from itertools import chain
from pathlib import Path, PureWindowsPath
from typing import Any, NoReturn, TypeAlias

from wayword.core import registry
from wayword.core.agent import Agent, check_family
from wayword.core.blame import describe, make_part, of_users_data, place_of
from wayword.core.dataset import FIRST_WORDING, Dataset, DrawnTasks, Task, check_opened
from wayword.core.episode import Episode, Json, JsonObject
from wayword.core.errors import DataError, UsageError, WaywordError, suggest
from wayword.core.files import reading
from wayword.core.model import Model
from wayword.core.perceiver import Perceiver
from wayword.core.sight import EyesSettings, with_eyes
from wayword.core.trajectory import ModelCall
from wayword.core.world import World
from wayword.datasets.perturbed import Perturbations, perturbed
from wayword.metrics import scoring
from wayword.models.middleware.budget import Account
from wayword.models.middleware.prices import load_prices
from wayword.models.middleware.rate import RateLimit
from wayword.models.parts.opening import Options, open_model, wrap
from wayword.models.parts.weights import (
    is_chat,
    is_small,
    regression_model_names,
    trained_settings,
)
from wayword.runs.cast import AgentParts
from wayword.runs.config import Checksums
from wayword.runs.identity import source_checksum
from wayword.runs.machine import data_folder
from wayword.runs.plan import Plan, named_group
from wayword.runs.record import RecordedRun, RunFolder
from wayword.settings import file_fields, make, merge

# Agents.


def open_agent(plan: Plan, dataset: Dataset) -> AgentParts:
    """Return the agents' classes and settings, checked against the dataset.

    Raises ``UsageError`` if an agent does not support the dataset, an actor does not
    exist, a model is missing, or a memory is requested of an agent that has none.
    """
    settings = plan.agent_settings()
    groups = plan.group("actors")
    models = plan.group("models")
    named = dict.fromkeys((*plan.actors, *groups))
    # Reading an episode takes time, so look up its actors only if the plan names any.
    actors: tuple[str, ...] = ()
    if named or models:
        actors = dataset.tasks[0].episode.actors
    if set(named) - set(actors):  # episodes may differ in their actors
        of_all = chain.from_iterable(task.episode.actors for task in dataset.tasks)
        actors = tuple(dict.fromkeys(of_all))

    # The agents of the actors that the plan names, with their settings.
    others: dict[str, AgentParts] = {}
    for actor in named:
        if actor not in actors:
            hint = suggest(actor, actors)
            raise UsageError(f"{plan.dataset_name} has no actor {actor!r}; {hint}")
        name = plan.actors.get(actor, plan.agent)
        overrides = groups.get(actor, {})
        if not isinstance(overrides, Mapping):
            raise UsageError(
                f"--set actors.{actor}={overrides}: write actors.{actor}.KEY=VALUE"
            )
        if name == plan.agent:
            overrides = merge(settings, overrides)
        others[actor] = _parts(plan, dataset, name, overrides)
    agents = replace(
        _parts(plan, dataset, plan.agent, settings), others=others, actors=actors
    )

    if dataset.live and plan.engine:
        raise UsageError(
            f"{plan.on}: --engine {plan.engine} plays several episodes at once, which cannot share "
            "a robot; remove it"
        )
    # Each agent that plays needs the models and the memory that the plan asks of it.
    unnamed = [actor for actor in actors if actor not in others] or [""]
    for parts in agents.playing():
        played = [actor for actor, other in others.items() if other is parts] or unnamed
        if parts.cls.needs_model and not plan.model and not set(played) <= set(models):
            remedy = "add --model local:smollm2"
            if parts.name in regression_model_names():
                remedy += (
                    f", or --model regression:{parts.name}, which is trained for it"
                )
            raise UsageError(f"{parts.name} needs a language model; {remedy}")
        if dataset.live:
            # A robot must not wait, half connected, for weights that are missing.
            parts.cls.load_detectors(parts.settings)
            _check_detector(parts, dataset)
        _check_learner(parts)
        if plan.remember and parts.cls.remember is Agent.remember:
            raise UsageError(
                f"{parts.name} keeps nothing between episodes; remove --remember, or choose an "
                "agent that does: mapgpt, frontier_llm"
            )
    return agents


def _check_learner(parts: AgentParts) -> None:
    """Raise ``UsageError`` for an agent that learns, without settings that limit its trials."""
    lacking = {"trials", "verdict"} - {*dir(parts.settings)}
    if parts.cls.learns and lacking:
        raise UsageError(
            f"{place_of(parts.cls)}: {parts.cls.__name__}.learns is True, so its Settings must "
            f"have {' and '.join(sorted(lacking))}, such as trials: int = 3 and verdict: str = "
            "'judge'"
        )


def _check_detector(parts: AgentParts, dataset: Dataset) -> None:
    """Raise ``UsageError`` for an agent that would search without ever learning of an object."""
    # Searchers have detectors, and load them.
    loads = getattr(parts.cls.load_detectors, "__func__", None)
    has_detector = loads is not getattr(Agent.load_detectors, "__func__", None)
    if parts.cls.needs_model and not (has_detector or dataset.names_objects):
        raise UsageError(
            f"{parts.name} has no detector, and the robot's messages name no objects: it would "
            "search blindly; choose an agent with a detector, such as lgx, or give a base that "
            "fills View.shown (dataset.base)"
        )


def _parts(plan: Plan, dataset: Dataset, name: str, settings: JsonObject) -> AgentParts:
    """Return an agent's class and settings, with the defaults for its model.

    Raises ``UsageError`` for an agent that does not play the dataset, or cannot see its
    pictures.
    """
    cls = registry.load("agent", name)
    family = dataset.family.name
    check_family(cls, family, plan.dataset_name, name, dataset.solutions)
    if dataset.eyes is not None and cls.needs_model and not cls.has_eyes:
        raise UsageError(
            f"{name} plays in words alone; remove eyes={dataset.eyes.eyes}, or choose an agent "
            "that looks at pictures: mapgpt, navgpt, navcot, discussnav, velma, act, react, "
            "react_emmem, reflexion, reflexion_emmem, planner, lgx, frontier_llm"
        )
    keeps_none = cls.needs_model and not cls.keeps_looks
    if dataset.eyes is not None and dataset.eyes.picture_history and keeps_none:
        raise UsageError(
            f"{name} has no conversation that keeps pictures; remove picture_history, or choose "
            "act, react, react_emmem, reflexion, reflexion_emmem or navcot"
        )
    # The user's settings win over defaults for small and for chat models.
    # A model trained for this agent keeps the settings that it was trained with.
    if is_small(plan.model) and not trained_settings(plan.model, name):
        settings = {**getattr(cls, "small_model", {}), **settings}
    elif is_chat(plan.model):
        settings = {**getattr(cls, "chat_model", {}), **settings}
    return AgentParts(cls, make(cls.Settings, settings, name), name)


def takes_a_person(plan: Plan) -> bool:
    """True if a person plays an actor or answers questions."""
    names = (plan.agent, *plan.actors.values())
    agents = [registry.load("agent", name) for name in names]
    return bool(plan.ask) or any(cls.needs_person for cls in agents)


# Models.

Choices = Mapping[str, tuple[str, JsonObject]]
"""Name and settings of the model of each role."""


def model_choices(plan: Plan, agent: AgentParts) -> Choices:
    """Return name and settings of each role's model.

    ``--model`` and the group ``model`` define the role ``main``. Other roles are set by
    ``models.ROLE=NAME``, with the main model's settings if it is the same model, or by
    ``models.ROLE.KEY=VALUE``. The name of an actor is the role of its main model.
    Raises ``UsageError`` for a role that no agent has.
    """
    chosen: dict[str, tuple[str, JsonObject]] = {}
    if plan.model:
        chosen["main"] = plan.model, plan.group("model")
    elif settings := plan.group("model"):
        raise UsageError(
            f"model.{next(iter(settings))} is set without a model; add --model"
        )
    # Other roles, each with a name or with settings of the main model.
    for role, group in plan.group("models").items():
        if role not in (*agent.roles, *agent.actors):
            hint = suggest(role, agent.roles or list(agent.actors))
            raise UsageError(f"{plan.agent} has no model role {role!r}; {hint}")
        options = named_group(group)
        name = str(options.pop("name", plan.model))
        if not options and name == plan.model:
            options = dict(plan.group("model"))
        chosen[role] = name, options
    return chosen


def open_models(
    plan: Plan,
    choices: Choices,
    account: Account | None = None,
    limiter: Callable[[str], RateLimit] | None = None,
) -> dict[str, Model]:
    """Open the models by role, with the run's wrappers. Roles with the same model share it.

    ``account`` tracks spending and enforces the budget; ``limiter`` maps a model's name and
    settings to a rate limiter that several processes share. Raises ``UsageError`` for an
    unknown model or setting.
    """

    def recorded(folder: str) -> Iterable[ModelCall]:  # for ``replay:RUN``
        for record in RunFolder.read(folder).records():
            yield from record.trajectory.calls()

    options = Options(plan.cache, plan.retries, plan.rpm or 0, prices=plan.prices)
    # A missing file is named before a missing key is asked for.
    if plan.prices is not None:
        load_prices(plan.prices)
    keys = {}
    bare = {}
    for role, (name, given) in choices.items():
        keys[role] = f"{name} {sorted(given.items())!r}"
        if keys[role] not in bare:
            bare[keys[role]] = open_model(name, given, recorded)
    # Wrap only after every name has been accepted: wrapping opens the cache file, which an error
    # for a later name would leave open.
    opened = {}
    for key, model in bare.items():
        shared = None
        if limiter is not None:
            shared = limiter(key)
        opened[key] = wrap(model, options, account, shared)
    return {role: opened[key] for role, key in keys.items()}


def model_notices(models: Mapping[str, Model]) -> list[str]:
    """Return notices about how requests were adapted to servers, and warnings of models."""
    lessons = chain.from_iterable(model.lessons for model in models.values())
    warnings = chain.from_iterable(model.warnings for model in models.values())
    adapted = [f"requests were adapted to the server: {line}" for line in lessons]
    return [*dict.fromkeys(adapted), *dict.fromkeys(warnings)]


# Datasets.

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
    """Open the dataset and split of ``plan.on``.

    By default the dataset's ``default_split``. Raises ``UsageError``, and ``DataError`` for
    malformed files, here or when episodes are listed.
    """
    cls = registry.load("dataset", plan.dataset_name)
    settings = make(cls.Settings, plan.group("dataset"), plan.dataset_name)
    split = plan.split or cls.default_split()
    # A user's class may read it without a check.
    if split not in cls.splits:
        raise UsageError(
            f"{plan.dataset_name} has no split {split!r}; {suggest(split, cls.splits)}"
        )
    folder = data_folder(plan.data)
    wrappers = (plan.perceiver(), plan.group("perturb"), plan.eyes())
    # Plans that share a dataset have equal parts here.
    opened = _SHARED.get()
    if opened is None:
        opened = {}
    key = repr((cls, split, folder, settings, wrappers))
    if key not in opened:
        opener = _class_of(plan, cls)
        # Errors in custom code are the user's; those of readers name the file and record.
        if _is_custom(plan):
            try:
                opened[key] = opener(split, folder, settings)
            except DataError as error:
                raise UsageError(of_users_data(error, cls)) from error
            except WaywordError:
                raise
            except Exception as error:
                raise UsageError(f"{plan.on}: {describe(error)}") from error
            check_opened(opened[key])
        else:
            with reading(plan.on):
                opened[key] = opener(split, folder, settings)
        scoring.check_success(opened[key])
    if opened[key].eyes is not None and opened[key].painter() is None:
        raise UsageError(
            f"eyes={plan.eyes().eyes}: {plan.on} draws no pictures; remove the setting, "
            "or choose a dataset that does: houses, towns, household (generated), grounding, "
            "apartments:paintable"
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
    """Return the dataset's class with the plan's perceiver, eyes and perturbations.

    All errors in episodes and worlds of an installed dataset become ``DataError``;
    those in custom code keep their traceback.
    """
    base: Any = cls
    name, group = plan.perceiver()
    if name:
        build: Any = registry.load("perceiver", name)
        perceiver_settings = make(build.Settings, group, "perceiver")

        @cache
        def replacement(dataset: Dataset) -> Perceiver:
            replaced = cls.perceiver(dataset)
            perceiver: Perceiver = make_part(build, perceiver_settings, replaced)
            return perceiver

        base = type(cls.__name__, (cls,), {"perceiver": replacement})
    eyes = plan.eyes()
    if eyes.eyes != "words":
        base = with_eyes(base, eyes)
    # Perturbations change what the perceiver says, so they come after it.
    rates = plan.perturbations()
    if rates.active():
        _check_sight(eyes, rates)
        base = perturbed(base, rates)
    if _is_custom(plan) or registry.is_path(plan.dataset_name):
        return base  # errors in custom code keep their traceback
    return _guarded(plan, cls, base)


def _check_sight(eyes: EyesSettings, rates: Perturbations) -> None:
    """Raise ``UsageError`` if rates change words about what agents see in pictures."""
    if eyes.eyes == "words":
        return
    for name in rates.active():
        if name in ("captions_missing", "captions_wrong", "orders"):
            raise UsageError(
                f"--perturb {name} changes the words of a scene, and with eyes={eyes.eyes} "
                "agents see it in pictures; remove one of them"
            )


def _guarded(plan: Plan, cls: Any, base: Any) -> Any:
    """Return a subclass of ``base`` with ``DataError`` for all errors in its episodes and worlds.

    ``cls`` is the dataset's own class, which messages name. It can be pickled, for
    players of a cluster, by opening the plan again.
    """

    @wraps(cls, updated=())  # messages name the dataset's own class
    class Guarded(base):  # type: ignore[misc]
        @cached_property
        def tasks(self) -> Sequence[Task]:
            with reading(plan.on):
                tasks: Sequence[Task] = super().tasks
                count = len(tasks)
            if not count:
                path = next(iter(self.files.values()), plan.on)
                remedy = "" if self.replaced_by else "fetch it again"
                raise DataError(path, "", EMPTY, remedy)
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

    return Guarded


# Datasets of recorded runs.

Trusted: TypeAlias = Path | str | Sequence[Path | str]
"""Files and folders that the user named with ``--with``."""
# The way out of a refusal, on the command line and in Python.
_NAME_IT = "{} with --with FILE (in Python: trusted=[FILE])"


def dataset_of(
    run: RecordedRun, data: Path | None = None, trusted: Trusted = ()
) -> Dataset:
    """Open a run's dataset with its settings.

    Raises ``UsageError`` if it is not installed, is a file that ``trusted`` does not
    name, or if the data have changed.
    """
    return open_plan(plan_of(run.config["identity"], data, trusted), run)


def open_plan(plan: Plan, run: RecordedRun) -> Dataset:
    """Open the dataset of a run's plan. Raises ``UsageError`` if the data have changed.

    Worlds with a robot are refused: replaying a run must not move it.
    """
    dataset = open_dataset(plan)
    if dataset.live:
        vars(dataset)["world"] = _refuse_robot
    recorded = run.config["identity"]["data_checksum"]
    current = Checksums().combined(dataset.files)
    if current != recorded:
        raise UsageError(
            f"{run.path}: the data differ from the run's (checksum {current}, recorded "
            f"{recorded}); give the run's data folder with --data"
        )
    return dataset


def _refuse_robot(episode: object) -> NoReturn:
    """Raise ``UsageError`` in place of opening a world whose robot would move."""
    raise UsageError("a run with a robot cannot be replayed: the robot would move")


def plan_of(
    identity: JsonObject,
    data: Path | None,
    trusted: Trusted,
) -> Plan:
    """Return the plan that opens a run's data.

    ``identity`` is untrusted: it names installed parts, and the user's own files in
    ``trusted``. The plan has the run's perceiver only if that is installed. Raises
    ``UsageError``.
    """
    name, colon, split = identity["dataset"].partition(":")
    part = trusted_part("dataset", name, identity["dataset_checksum"], trusted)
    cls = registry.load("dataset", part).Settings
    recorded = identity["dataset_settings"]
    # A run that does not record a wording is older than the setting.
    if "wording" in cls.__dataclass_fields__:
        recorded = {"wording": FIRST_WORDING, **recorded}
    values = _with_files(cls, recorded, "dataset", trusted)
    settings = {"dataset": values, "perturb": identity["perturb"]}
    eyes = identity.get("eyes") or {}
    for name in ("eyes", "picture_size", "picture_control"):
        if name in eyes:
            settings[name] = eyes[name]
    # A custom perceiver is a file, which is not opened.
    perceiver = identity["perceiver"]
    name = perceiver.get("name") or ""
    if name in registry.names("perceiver"):
        cls = registry.load("perceiver", name)
        values = perceiver.get("settings") or {}
        values = _with_files(cls.Settings, values, "perceiver", trusted)
        settings["perceiver"] = {"name": name, **values}
    return Plan("recorded", f"{part}{colon}{split}", settings=settings, data=data)


def trusted_files(trusted: Trusted) -> tuple[Path, ...]:
    """Return the files that the user names: one, as a path or as a text, or several."""
    # The characters of a text are no files: "." and "/" would be folders to trust.
    if isinstance(trusted, Path | str):
        trusted = [trusted]
    return tuple(map(Path, trusted))


def trusted_part(
    kind: registry.Kind, name: str, checksum: str, trusted: Trusted
) -> str:
    """Return the name of an installed part, or the trusted file with its checksum.

    Raises ``UsageError`` for anything else, with the way to name the file.
    """
    if (kind, name) in registry.CLASSES or name in registry.names(kind):
        return name
    # A file is the run's if its content is.
    files = trusted_files(trusted)
    for file in files:
        path = str(file)
        if not file.suffix and not file.is_absolute():
            path = f"./{path}"  # a folder, not a name
        if checksum and source_checksum(kind, path) == checksum:
            return path
    # Nothing is opened: say what to do.
    if files:
        raise UsageError(
            f"{', '.join(map(str, files))} is not the file of the run's {kind} {name!r}, or has "
            f"changed since; {_NAME_IT.format('give the original file')}"
        )
    if checksum or _is_file_name(name):
        raise UsageError(
            f"the run's {kind} {name!r} is a Python file or a task file, and no file that you "
            "have not named is opened; if it is yours and unchanged since the run, "
            + _NAME_IT.format("open the run again")
        )
    raise UsageError(f"no {kind} called {name!r} is installed; install its package")


def _with_files(
    cls: type[Any], settings: JsonObject, group: str, trusted: Trusted
) -> dict[str, Json]:
    """Return settings with the user's files in place of those that they name.

    Files are matched by their names alone, as folders differ between machines. Raises
    ``UsageError`` for a file that ``trusted`` does not have.
    """
    values = dict(settings)
    for key in file_fields(cls):
        if named := values.get(key):
            # The record may be from another system: both kinds of slash separate folders.
            name = PureWindowsPath(str(named)).name
            files = trusted_files(trusted)
            own = [path for path in files if path.absolute().name == name]
            if not own:
                raise UsageError(
                    f"the setting {group}.{key} is the file {str(named)!r}, and no file that "
                    f"you have not named is opened; if it is yours, {_NAME_IT.format('name it')}"
                )
            values[key] = str(own[0])
    return values


def _is_file_name(name: str) -> bool:
    """True if a part's name is that of a file: installed parts have no ending and no slash."""
    return name.endswith((".py", ".yaml", ".yml")) or "/" in name or "\\" in name


def check_recipe(path: Path, recipe: Plan, trusted: Trusted) -> None:
    """Raise ``UsageError`` if a recipe names code or data files that the user does not trust."""
    own = {file.absolute() for file in trusted_files(trusted)}
    for text in named_files(recipe):
        if Path(text).absolute() not in own:
            raise UsageError(
                f"{path}: names the file {text!r}, and a recipe runs no file that you have not "
                f"named; if you trust it, add --with {text}"
            )


def named_files(plan: Plan) -> Iterator[str]:
    """Yield the files that a plan names: as parts, in sweeps, and in its dataset's settings."""
    # Any value may name a part.
    values = [plan.agent, plan.on, plan.model, *plan.actors.values()]
    values += _texts(plan.settings)
    values += getattr(plan, "sweep", ())
    for value in values:
        for word in re.split(r"[,=\s]+", value):
            name = word.partition(":")[0]
            if _is_file_name(name) and registry.is_path(name):
                yield name
    if plan.dataset_name in registry.names("dataset"):
        settings = plan.group("dataset")
        keys = file_fields(registry.load("dataset", plan.dataset_name).Settings)
        yield from (str(settings[key]) for key in keys if settings.get(key))


def _texts(value: Json) -> Iterator[str]:
    """Yield all texts in a tree of mappings and lists, without keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
