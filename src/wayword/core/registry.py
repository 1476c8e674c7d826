"""Parts found by their file's name, without importing the others.

``agents/mine.py`` is the agent ``mine``: a module directly inside ``wayword.agents`` (or
``datasets``, ``models``) is a part, and so is a folder with a module named for its kind, such as
``worlds/indoor/world.py`` or ``agents/navgpt/agent.py``. A folder of agents without one, such as
``agents/search``, holds agents in its modules. The part is the module's attribute named for its
kind: ``agent``, ``world``, ``dataset``, ``model``, ``perceiver``, ``base`` (a robot's); a module
with several agents assigns them by name, ``agents = {"lgx": LGX, "prior": PriorAgent}``. What
belongs to a family of worlds is found in the same way, by the family's name: ``verbalizer``,
``scorer``, ``map``. The packages ``agents`` and ``perception`` hold other modules too, so a module
there is a part only if its text assigns ``agent``, ``agents`` or ``perceiver``.
Other distributions add parts through the entry-point groups ``wayword.agents`` and so on, and
``load("agent", "./mine.py")`` takes a file, ``load("agent", "./mine")`` a folder with an
``__init__.py``, and ``load("dataset", "./task.yaml")`` the task that a file describes.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args

from wayword.core.errors import UsageError, suggest

_YAML = (".yaml", ".yml")


Kind = Literal[
    "agent",
    "world",
    "dataset",
    "model",
    "perceiver",
    "family",
    "verbalizer",
    "scorer",
    "map",
    "display",
    "base",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
PACKAGES: Mapping[Kind, str] = {
    "agent": "wayword.agents",
    "world": "wayword.worlds",
    "dataset": "wayword.datasets",
    "model": "wayword.models",
    "perceiver": "wayword.perception",
    "family": "wayword.worlds",
    "verbalizer": "wayword.verbalize",
    "scorer": "wayword.metrics",
    "map": "wayword.viewer.maps",
    "display": "wayword.viewer",
    "base": "wayword.worlds.objectnav",
}
OF_A_FAMILY: frozenset[Kind] = frozenset({"verbalizer", "scorer", "map"})
"""Kinds whose parts are named for a family; other modules next to them are not parts."""
AMONG_OTHERS: frozenset[Kind] = frozenset({"agent", "perceiver", "display", "base"})
"""Kinds whose packages hold other modules, too."""


BASES: Mapping[Kind, str] = {
    "agent": "wayword.core.agent.Agent",
    "world": "wayword.core.world.World",
    "dataset": "wayword.core.dataset.Dataset",
    "model": "wayword.core.model.Model",
    "perceiver": "wayword.core.perceiver.Perceiver",
}
"""The base class of each kind whose parts are classes."""


def displayed(thing: object) -> str:
    """What a notebook shows of a thing, as HTML: the display that is called ``notebook``."""
    return str(load("display", "notebook")(thing))


DESCRIBED: Mapping[Kind, str] = {"dataset": "wayword.datasets.sources.own"}
"""Kinds of which a YAML file can describe one, and the module whose ``KIND_of`` reads it."""


def is_path(name: str) -> bool:
    """Whether a name is a user's own file or folder: ``./lift`` is, ``lift`` is not."""
    own = name.endswith(".py") or is_described(name)
    return own or (name != Path(name).name and Path(name).is_dir())


def names(kind: Kind) -> list[str]:
    """Every registered name of a kind, sorted. Imports none of the parts."""
    return sorted({*_modules(kind), *_plugged(kind)})


def is_described(name: str) -> bool:
    """Whether a name is that of a YAML file, which describes a part and holds no code."""
    return name.endswith(_YAML)


def load(kind: Kind, name: str) -> Any:
    """The part of that name. Raises ``UsageError`` with a suggestion for an unknown one."""
    if is_described(name) and kind in DESCRIBED:
        return getattr(importlib.import_module(DESCRIBED[kind]), f"{kind}_of")(Path(name))
    if is_path(name):
        return _checked(kind, _part(kind, _from_file(Path(name)), name), name)
    if name not in names(kind):
        raise UsageError(f"no {kind} is called {name!r}; {suggest(name, names(kind))}")
    plugged = _plugged(kind).get(name)
    if plugged is not None:
        return _checked(kind, plugged.load(), name)
    return _part(kind, importlib.import_module(_modules(kind)[name]), name)


@cache
def _modules(kind: Kind) -> Mapping[str, str]:
    """Name -> module of the parts in the tree."""
    if kind == "family":
        return {name: module.rpartition(".")[0] for name, module in _modules("world").items()}
    folder = Path(__file__).parents[1].joinpath(*PACKAGES[kind].split(".")[1:])
    found = _inside(kind, folder, PACKAGES[kind])
    if kind in OF_A_FAMILY:
        return {name: module for name, module in found.items() if name in _modules("world")}
    return found


def _inside(kind: Kind, folder: Path, package: str) -> dict[str, str]:
    """Name -> module of the parts in one folder."""
    found: dict[str, str] = {}
    for module in pkgutil.iter_modules([str(folder)]):
        name, path = f"{package}.{module.name}", folder / module.name
        if not module.ispkg:
            parts = _assigned(path.with_suffix(".py"), kind) if kind in AMONG_OTHERS else [""]
            found |= {part or module.name: name for part in parts}
        elif (path / f"{kind}.py").is_file():
            found[module.name] = f"{name}.{kind}"
        elif kind == "agent":
            found |= _inside(kind, path, name)
    return found


def _assigned(path: Path, kind: str) -> list[str]:
    """Names of the parts that a module's text assigns; an empty name for that of its file."""
    text = path.read_text(encoding="utf-8")
    several = re.search(rf"^{kind}s = \{{([^}}]*)\}}", text, re.MULTILINE)
    if several is not None:
        return re.findall(r'"(\w+)":', several.group(1))
    return [""] if f"\n{kind} = " in text else []


def _plugged(kind: Kind) -> dict[str, EntryPoint]:
    """Parts that other packages bring."""
    group = "wayword.families" if kind == "family" else f"wayword.{kind}s"
    return _entries(group, tuple(sys.path))


@cache
def _entries(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in _all_entries(path).select(group=group)}


@cache
def _all_entries(path: tuple[str, ...]) -> Any:
    """All entry points. Reading every distribution's metadata takes tens of milliseconds, so it is
    done once for each ``sys.path``. The type differs by version of Python."""
    return entry_points()


def _part(kind: Kind, module: ModuleType, name: str) -> Any:
    several = getattr(module, f"{kind}s", None)
    part = several.get(name) if isinstance(several, dict) else getattr(module, kind, None)
    if part is None:
        raise UsageError(f"{name}: the module defines no {kind!r}; end it with '{kind} = MyClass'")
    return part


def _checked(kind: Kind, part: Any, name: str) -> Any:
    """A part from outside the tree. Raises ``UsageError`` if its base class is another one."""
    if kind in BASES:
        module, _, base = BASES[kind].rpartition(".")
        expected = getattr(importlib.import_module(module), base)
        if not (isinstance(part, type) and issubclass(part, expected)):
            raise UsageError(f"{name}: {kind!r} must be a subclass of {BASES[kind]}")
    return part


def _from_file(path: Path) -> ModuleType:
    inside = [str(path)] if path.is_dir() else None
    file = path / "__init__.py" if inside else path
    if not file.is_file():
        raise UsageError(f"{file}: no such file")
    spec = importlib.util.spec_from_file_location(
        f"wayword_user_{path.stem}", file, submodule_search_locations=inside
    )
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up by name
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        where = f"{error.filename or file}:{error.lineno}"
        raise UsageError(f"{where}: {error.msg}: {(error.text or '').strip()!r}") from None
    except ModuleNotFoundError as error:
        raise UsageError(f"{file}: {error}; install it, or put its folder on PYTHONPATH") from error
    return module
