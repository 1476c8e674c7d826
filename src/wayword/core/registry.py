"""Parts found by their file's name, without importing the others.

``agents/mine.py`` is the agent ``mine``. A module directly inside ``wayword.agents`` (or
``worlds``, ``datasets``, ``models``) is a part, unless the package lists it in ``SHARED``; the
part is the module's attribute named for its kind: ``agent``, ``world``, ``dataset``, ``model``.
Other distributions add parts through the entry-point groups ``wayword.agents`` and so on, and
``load("agent", "./mine.py")`` takes a file.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from wayword.core.errors import UsageError, suggest

Kind = Literal["agent", "world", "dataset", "model"]
KINDS: tuple[Kind, ...] = ("agent", "world", "dataset", "model")


def names(kind: Kind) -> list[str]:
    """Every registered name of a kind, sorted. Imports none of the parts."""
    package = importlib.import_module(f"wayword.{kind}s")
    shared: tuple[str, ...] = getattr(package, "SHARED", ())
    own = {m.name for m in pkgutil.iter_modules(package.__path__) if m.name not in shared}
    return sorted(own | set(_plugged(kind)))


def load(kind: Kind, name: str) -> Any:
    """The part of that name. Raises ``UsageError`` with a suggestion for an unknown one."""
    if name.endswith(".py"):
        return _part(kind, _from_file(Path(name)), name)
    if name not in names(kind):
        raise UsageError(f"no {kind} is called {name!r}; {suggest(name, names(kind))}")
    plugged = _plugged(kind).get(name)
    if plugged is not None:
        return plugged.load()
    return _part(kind, importlib.import_module(f"wayword.{kind}s.{name}"), name)


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
