"""Stand-ins for packages that a released code imports and that its prompts do not depend on."""

from __future__ import annotations

import hashlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Absent(ModuleType):
    """A module whose every attribute exists: a class that accepts anything."""

    __path__: list[str] = []  # noqa: RUF012 - marks a package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (Anything,), {})


class Anything:
    """An object that accepts every call and attribute."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        return Anything()

    def __getitem__(self, key: Any) -> Any:
        return Anything()

    def __iter__(self) -> Any:
        return iter(())

    def __float__(self) -> float:
        return 0.0

    def __class_getitem__(cls, item: Any) -> Any:
        return cls


class _Finder(MetaPathFinder, Loader):
    def __init__(self, names: set[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] not in self._names:
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Absent(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


def replace_packages(*names: str) -> None:
    """Import these packages, and all of their modules, as stand-ins."""
    sys.meta_path.insert(0, _Finder(set(names)))
    # packages that the environment has already imported
    for name in list(sys.modules):
        if name.partition(".")[0] in names:
            del sys.modules[name]


def similarity(panorama: str, heading: int, landmark: str) -> float:
    """A standardized score from 0 to 5, always the same for a view and a landmark."""
    digest = hashlib.sha256(f"{panorama}/{heading % 360}/{landmark}".encode()).digest()
    return 5.0 * int.from_bytes(digest[:4], "big") / 2**32
