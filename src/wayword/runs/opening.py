"""Open the data that a run folder names, without running or reading any file that it names.

A run folder may come from anyone, so all of it is data. Every command, page and export opens a
run's dataset here. Datasets and perceivers must be installed, or registered in this process. A file
or folder that the record names (a custom dataset, a robot's base, annotations) is replaced by the
user's own, which ``--with FILE`` names: a dataset or perceiver by its checksum, the file of a
setting by its name. Recipes are opened by the same rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PureWindowsPath
from typing import Any, NoReturn

from wayword.core import registry
from wayword.core.dataset import Dataset
from wayword.core.episode import Json
from wayword.core.errors import UsageError
from wayword.runs.config import Checksums
from wayword.runs.plan import Plan, open_dataset, source_checksum
from wayword.runs.record import RecordedRun
from wayword.settings import file_fields

Trusted = Sequence[Path]
"""Files and folders that the user named with ``--with``."""


def dataset_of(
    run: RecordedRun, data: Path | None = None, trusted: Trusted = ()
) -> Dataset:
    """Open a run's dataset with its settings. Raises ``UsageError`` if it is not installed, is a
    file that ``trusted`` does not name, or if the data have changed."""
    return open_plan(plan_of(run.config["identity"], data, trusted), run)


def open_plan(plan: Plan, run: RecordedRun) -> Dataset:
    """Open the dataset of a run's plan. Raises ``UsageError`` if the data have changed."""
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
    raise UsageError("a run with a robot cannot be replayed: the robot would move")


def plan_of(
    identity: Mapping[str, Any], data: Path | None, trusted: Trusted = ()
) -> Plan:
    """The plan that opens a run's data. It has the run's perceiver only if that is installed."""
    name, colon, split = identity["dataset"].partition(":")
    part = trusted_part("dataset", name, identity["dataset_checksum"], trusted)
    values = _with_files(
        registry.load("dataset", part).Settings,
        identity["dataset_settings"],
        "dataset",
        trusted,
    )
    settings = {"dataset": values, "perturb": identity["perturb"]}
    eyes = identity.get("eyes") or {}
    for name in ("eyes", "picture_size"):
        if name in eyes:
            settings[name] = eyes[name]
    perceiver = identity["perceiver"]
    name = perceiver.get("name") or ""
    if name in registry.names("perceiver"):
        cls = registry.load("perceiver", name)
        values = perceiver.get("settings") or {}
        values = _with_files(cls.Settings, values, "perceiver", trusted)
        settings["perceiver"] = {"name": name, **values}
    return Plan("recorded", f"{part}{colon}{split}", settings=settings, data=data)


def trusted_part(
    kind: registry.Kind, name: str, checksum: str, trusted: Trusted
) -> str:
    """The name of an installed part, or the trusted file with its checksum. Raises
    ``UsageError``."""
    if (kind, name) in registry.CLASSES or name in registry.names(kind):
        return name
    paths = [str(path) if path.suffix else f"./{path}" for path in trusted]
    for path in paths:
        if checksum and source_checksum(kind, path) == checksum:
            return path
    if trusted:
        raise UsageError(
            f"{', '.join(map(str, trusted))} is not the file of the run's {kind} {name!r}, or has "
            "changed since; give the original file with --with FILE"
        )
    if checksum or _is_file_name(name):
        raise UsageError(
            f"the run's {kind} {name!r} is a Python file or a task file, and no file that you "
            "have not named is opened; if it is yours and unchanged since the run, open the run "
            "again with --with FILE"
        )
    raise UsageError(f"no {kind} called {name!r} is installed; install its package")


def _with_files(
    cls: type[Any], settings: Mapping[str, Json], group: str, trusted: Trusted
) -> dict[str, Json]:
    """Settings with the user's files in place of those that they name. Raises ``UsageError``."""
    values = dict(settings)
    for field in file_fields(cls):
        if named := values.get(field):
            # The record may be from another system: both kinds of slash separate folders.
            name = PureWindowsPath(str(named)).name
            own = [path for path in trusted if path.absolute().name == name]
            if not own:
                raise UsageError(
                    f"the setting {group}.{field} is the file {str(named)!r}, and no file that "
                    "you have not named is opened; if it is yours, name it with --with FILE"
                )
            values[field] = str(own[0])
    return values


def _is_file_name(name: str) -> bool:
    return name.endswith((".py", ".yaml", ".yml")) or "/" in name or "\\" in name


def check_recipe(path: Path, recipe: Plan, trusted: Trusted) -> None:
    """Raise ``UsageError`` if a recipe names code or data files that the user does not trust."""
    own = {file.absolute() for file in trusted}
    for text in _code_files(recipe):
        if Path(text).absolute() not in own:
            raise UsageError(
                f"{path}: names the file {text!r}, and a recipe runs no file that you have not "
                f"named; if you trust it, add --with {text}"
            )


def _code_files(recipe: Plan) -> Iterator[str]:
    """The files in a recipe's values and sweeps that name a part, and those of its dataset's
    settings."""
    values = [recipe.agent, recipe.on, recipe.model, *recipe.actors.values()]
    values += _texts(recipe.settings)
    values += getattr(recipe, "sweep", ())
    for value in values:
        for word in re.split(r"[,=\s]+", value):
            name = word.partition(":")[0]
            if _is_file_name(name) and registry.is_path(name):
                yield name
    if recipe.dataset_name in registry.names("dataset"):
        settings = recipe.group("dataset")
        fields = file_fields(registry.load("dataset", recipe.dataset_name).Settings)
        yield from (str(settings[field]) for field in fields if settings.get(field))


def _texts(value: Json) -> Iterator[str]:
    """All texts in a tree."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
