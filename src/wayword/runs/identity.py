"""The identity of a run: all that determines what it does, and what tells it from others.

Runs with equal identities do the same, so that one can resume the other. Files and folders are part
of it by their content, never by their path.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, asdict
from dataclasses import fields as fields_of
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from wayword.core import registry
from wayword.core.dataset import FIRST_WORDING, Dataset
from wayword.core.episode import JsonObject
from wayword.core.files import text_checksum
from wayword.core.model import Model
from wayword.core.visible import spaced
from wayword.metrics import scoring
from wayword.models.parts.weights import settings_file, training_caveat
from wayword.perception.detectors import OF_ROBOT, WITHOUT_ERROR
from wayword.runs.cast import AgentParts
from wayword.runs.config import Checksums, pictures_checksum, series
from wayword.runs.plan import Plan
from wayword.settings import make

# A server on this machine, whose port may change between sessions.
_LOOPBACK = re.compile(r"//(?:127\.0\.0\.1|localhost|\[::1\]):\d+")


def identity(
    plan: Plan,
    dataset: Dataset,
    agent: AgentParts,
    models: Mapping[str, Model],
    checksum: str,
) -> JsonObject:
    """All settings that determine a run's behavior; ``checksum`` is that of the dataset's files.

    Concurrency, budgets, cache and number of episodes may change when a run is resumed. Files and
    folders in settings are identified by their content.
    """
    data_settings = dataset_settings(plan, dataset)
    addresses = {
        role: _LOOPBACK.sub("//loopback", model.identity)
        for role, model in models.items()
    }
    fields = {
        **agents_identity(agent),
        "dataset": split_name(plan, dataset),
        "dataset_settings": data_settings,
        "data_checksum": checksum,
        "models": {role: model.name for role, model in models.items()},
        "model_identity": addresses,
        "seed": plan.seed,
        "max_steps": plan.max_steps or dataset.max_steps,
        "wayword": series(version("wayword")),
        "shuffle": plan.order,
        "shard": plan.shard,
    }
    # Fields that most runs lack are left out, so that runs recorded before they existed resume.
    optional = {
        "ask": plan.ask,
        "remember": plan.remember,
        "perturb": plan.perturbations().active(),
        "dataset_checksum": source_checksum("dataset", plan.dataset_name),
        "dataset_files": _files_checksum(data_settings, except_="pictures"),
    }
    fields |= {name: value for name, value in optional.items() if value}
    if pictures := str(data_settings.get("pictures", "")):
        folder = Path(pictures)
        fields["pictures_checksum"] = pictures_checksum(folder, _files(folder))
    painter = dataset.painter()
    if dataset.eyes is not None and painter is not None:
        eyes = {**asdict(dataset.eyes), "painter": painter.name}
        # Runs recorded before there were these settings have no such fields, and still resume.
        for name in ("picture_control", "picture_history"):
            if not eyes[name]:
                del eyes[name]
        fields["eyes"] = eyes
    if perceiver := _perceiver_identity(plan):
        fields["perceiver"] = perceiver
    return fields


def stated_settings(plan: Plan, agent: AgentParts) -> list[str]:
    """Return the agent's settings that a user has given other values than their defaults: a table
    shows them even where no other run differs."""
    return [*_changed(agent.settings, plan.settings)]


def _changed(settings: Any, given: JsonObject) -> Iterator[str]:
    """Yield the names of given settings whose values are not the defaults."""
    for each in fields_of(settings):
        default = each.default
        if each.default_factory is not MISSING:
            default = each.default_factory()
        if each.name in given and getattr(settings, each.name) != default:
            yield each.name


def dataset_settings(plan: Plan, dataset: Dataset) -> JsonObject:
    """A dataset's settings as a run's identity has them."""
    # Settings with their defaults, which a later version may change.
    cls: Any = type(dataset)
    settings = asdict(make(cls.Settings, plan.group("dataset"), plan.dataset_name))
    # Runs recorded before there was a second wording have no such field, and still resume.
    if dataset.wording == FIRST_WORDING:
        settings.pop("wording", None)
    return settings


def agents_identity(agent: AgentParts) -> JsonObject:
    """The agents' entries in a run's identity. Custom prompts are identified by their text."""
    settings = asdict(agent.settings)
    # Shipped prompts belong to the version of the package.
    prompts: dict[str, Path] = {}
    if folder := getattr(agent.settings, "prompts", ""):
        prompts = {path.name: path for path in Path(folder).glob("*.txt")}
    entry = {
        "agent": agent.name,
        "settings": settings,
        "prompts_checksum": Checksums().combined(prompts),
        "agent_checksum": source_checksum("agent", agent.name),
    }
    if checksum := _files_checksum(settings, except_="prompts"):
        entry["files_checksum"] = checksum
    if agent.others:
        entry["actors"] = {
            actor: agents_identity(agent.others[actor])
            for actor in sorted(agent.others)
        }
    return entry


def _perceiver_identity(plan: Plan) -> JsonObject:
    """The entry of the perceiver that replaces the dataset's; empty if there is none."""
    name, group = plan.perceiver()
    if not name:
        return {}
    cls = registry.load("perceiver", name)
    settings = asdict(make(cls.Settings, group, "perceiver"))
    entry: dict[str, Any] = {"name": name, "settings": settings}
    if name.endswith(".py"):
        entry["checksum"] = source_checksum("perceiver", name)
    if checksum := _files_checksum(settings):
        entry["data_checksum"] = checksum
    return entry


def local_servers(models: Mapping[str, Model]) -> dict[str, str]:
    """Return the addresses of models on this machine, by role. They are not part of the identity,
    because a port may change between sessions; a change is reported."""
    servers = {}
    for role, model in models.items():
        if match := _LOOPBACK.search(model.identity):
            servers[role] = match[0].strip("/")
    return servers


def source_checksum(kind: registry.Kind, name: str) -> str:
    """Checksum of a custom component (a file, folder or class); empty for a shipped one."""
    if cls := registry.CLASSES.get((kind, name)):
        # A class in a notebook has no file; its bytecode and constants do not depend on positions.
        content = []
        for base in cls.__mro__[:-1]:
            functions = [
                each for each in vars(base).values() if isinstance(each, FunctionType)
            ]
            content += [_content(function.__code__) for function in functions]
        return text_checksum(repr(content))
    if not registry.is_path(name):
        return ""
    # A folder counts with all its files, and a file with its content.
    path = Path(name)
    pattern = "*.py"
    if registry.is_described(name):
        pattern = "*.y*ml"
    files = {}
    if path.is_dir():
        files = {str(file.relative_to(path)): file for file in path.rglob(pattern)}
    if files:
        return Checksums().combined(files)
    return Checksums().of(path)


def _content(code: CodeType) -> tuple[Any, ...]:
    """What a function and its inner ones do, without positions in the source."""
    constants: list[Any] = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            constants.append(_content(constant))
        elif isinstance(constant, frozenset):
            constants.append(sorted(map(repr, constant)))
        else:
            constants.append(constant)
    return code.co_code, constants, code.co_names


def _files_checksum(settings: JsonObject, except_: str = "") -> str:
    """Checksum of all files and folders named in settings; empty if there are none.

    Results depend on the content of VELMA's ``scores_file`` or a folder of pictures, not its path.
    A folder must be written as a path, as in ``./pictures``, because ``prompt=robot`` is a word.
    """
    files: dict[str, Path] = {}
    for key, value in settings.items():
        if key == except_ or not value or not isinstance(value, str | Path):
            continue
        if len(str(value)) >= _MAX_PATH:
            continue
        # A word that names no file is not looked for.
        top = Path(value)
        if top.is_file() or str(value) != top.name:
            files |= {f"{key}/{path.relative_to(top)}": path for path in _files(top)}
    return Checksums().combined(files)


# Longer texts, such as a prompt, name no file: asking the system would be an error.
_MAX_PATH = 1024


def _files(top: Path) -> list[Path]:
    if top.is_file():
        return [top]
    if top.is_dir():
        return sorted(path for path in top.rglob("*") if path.is_file())
    return []


def run_folder(plan: Plan, identity: JsonObject) -> Path:
    """The default run folder. Equal identities get the same folder, so that a run resumes; with
    and without a limit, unless the plan states an order."""
    named = {**identity, "shuffle": plan.shuffle}
    if plan.first:
        named["first"] = True
    # The readable part of the name may be the same for two runs; the digest is not.
    text = json.dumps(named, sort_keys=True, default=str)
    digest = text_checksum(text)
    parts = [Path(plan.agent).stem]
    parts += [f"{actor}.{Path(name).stem}" for actor, name in plan.actors.items()]
    parts += [plan.on, plan.model.rpartition("/")[2], digest[:8]]
    name = "-".join(part for part in parts if part)
    return Path("runs") / re.sub(r"[^A-Za-z0-9._-]+", "-", name)


# What readers of a run are shown of it.


def split_name(plan: Plan, dataset: Dataset) -> str:
    """Name of the dataset with its split: ``houses:test`` for ``houses``."""
    return f"{plan.dataset_name}:{plan.split or dataset.split}"


def shown_split(plan: Plan, dataset: Dataset) -> str:
    """Name of the split in tables; if a custom file replaces it, the file's name."""
    name = split_name(plan, dataset)
    if dataset.replaced_by:
        name = f"{plan.dataset_name}:{dataset.replaced_by}"
    rates = plan.perturbations().active()
    return ", ".join([name, *(f"{key}={rate:g}" for key, rate in rates.items())])


def cast_of(identity: JsonObject) -> str:
    """The agents of a run, for tables: ``team, follower: human``."""
    named = [f"{actor}: {part['agent']}" for actor, part in identity["actors"].items()]
    return ", ".join([identity["agent"], *named])


def caveats(
    dataset: Dataset, agent: AgentParts, models: Iterable[str] = ()
) -> list[str]:
    """Caveats of a run's results, from its dataset, perceiver and agents, and from those of its
    ``models``, by name, that are weights trained for agents."""
    perceiver = dataset.perceiver()
    lines = [*dataset.caveats]
    if problem := scoring.missing_success(dataset):
        lines.append(problem)
    if perceiver:
        lines += perceiver.caveats
    if dataset.eyes is not None:
        lines.append(f"schematic pictures (eyes={dataset.eyes.eyes})")
        if control := dataset.eyes.picture_control:
            lines.append(f"not of what the actor saw (picture_control={control})")
    for parts in agent.playing():
        if dataset.family.name not in parts.cls.sightless:
            lines += parts.cls.caveats(parts.settings, perceiver)
        if getattr(parts.settings, "shots", 0) and dataset.examples_caveat:
            lines.append(dataset.examples_caveat)
    for name in dict.fromkeys(models):
        file = settings_file(name)
        # Next to a model of a user's that was trained for an agent, its settings are a file.
        if file is not None and file.is_file():
            lines.append(f"{name} is {training_caveat(file)}")
    # A robot has no ground truth: what its views show is from a detector of its base.
    if dataset.live:
        lines = [line.replace(WITHOUT_ERROR, OF_ROBOT) for line in lines]
    return list(dict.fromkeys(lines))


def omitted(dataset: Dataset) -> Mapping[str, int]:
    """Numbers of published records that were left out, by cause."""
    counts = dataset.omissions.items()
    return {spaced(cause): int(count) for cause, count in counts if count}


# Packages whose version may change results.
_REPORTED_PACKAGES = ("wayword", "numpy", "scipy", "openai", "xllamacpp")


@cache  # read once a process: a sweep begins many runs
def versions() -> Mapping[str, str]:
    """Versions of Python, Wayword and the packages that results may depend on."""
    installed = {"python": platform.python_version()}
    for name in _REPORTED_PACKAGES:
        with suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed
