"""Parts found by their file's name, without importing the others.

``agents/mine.py`` is the agent ``mine``: a module directly inside ``wayword.agents`` (or
``datasets``, ``models``) is a part, and so is a folder with a module named for its kind, such as
``worlds/indoor/world.py``. The part is the module's attribute named for its kind: ``agent``,
``world``, ``dataset``, ``model``, ``perceiver``. The package ``perception`` holds other modules
too, so a module there is a part only if its text assigns ``perceiver``.
Other distributions add parts through the entry-point groups ``wayword.agents`` and so on, and
``load("agent", "./mine.py")`` takes a file.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from wayword.core.errors import UsageError, suggest

Kind = Literal["agent", "world", "dataset", "model", "perceiver"]
KINDS: tuple[Kind, ...] = ("agent", "world", "dataset", "model", "perceiver")


RENAMED: Mapping[Kind, Mapping[str, str]] = {
    "dataset": {"lost_things": "apartments", "homes": "household"},
    "world": {"rooms": "household", "grid": "babyai", "finding": "objectnav"},
}
"""Other names that parts answer to: those of earlier versions, and ``homes`` beside ``houses``."""


def current(kind: Kind, name: str) -> str:
    """The name that a part has now."""
    return RENAMED.get(kind, {}).get(name, name)


def names(kind: Kind) -> list[str]:
    """Every registered name of a kind, sorted. Imports none of the parts."""
    package = importlib.import_module(_package(kind))
    own = {m.name for m in pkgutil.iter_modules(package.__path__) if _module(kind, m)}
    return sorted(own | set(_plugged(kind)))


def load(kind: Kind, name: str) -> Any:
    """The part of that name. Raises ``UsageError`` with a suggestion for an unknown one."""
    if name.endswith(".py"):
        return _part(kind, _from_file(Path(name)), name)
    name = current(kind, name)
    if name not in names(kind):
        raise UsageError(f"no {kind} is called {name!r}; {suggest(name, names(kind))}")
    plugged = _plugged(kind).get(name)
    if plugged is not None:
        return plugged.load()
    package = importlib.import_module(_package(kind))
    found = next(m for m in pkgutil.iter_modules(package.__path__) if m.name == name)
    return _part(kind, importlib.import_module(_module(kind, found)), name)


def _module(kind: Kind, found: pkgutil.ModuleInfo) -> str:
    """The module that a part is in, or nothing where a folder holds none of the kind."""
    name = f"{_package(kind)}.{found.name}"
    folder = Path(getattr(found.module_finder, "path", ""))
    if found.ispkg:
        return f"{name}.{kind}" if (folder / found.name / f"{kind}.py").is_file() else ""
    if kind == "perceiver":
        text = (folder / f"{found.name}.py").read_text(encoding="utf-8")
        return name if "\nperceiver = " in text else ""
    return name


def _package(kind: Kind) -> str:
    return "wayword.perception" if kind == "perceiver" else f"wayword.{kind}s"


def _plugged(kind: Kind) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=f"wayword.{kind}s")}


def _part(kind: Kind, module: ModuleType, name: str) -> Any:
    part = getattr(module, kind, None)
    if part is None:
        raise UsageError(f"{name}: the module defines no {kind!r}; end it with '{kind} = MyClass'")
    return part


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    spec = importlib.util.spec_from_file_location(f"wayword_user_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module
