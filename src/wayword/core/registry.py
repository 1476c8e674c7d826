"""Parts found by file name, without importing the others.

``agents/mine.py`` is the agent ``mine``. A part is a module directly inside ``wayword.agents`` (or
``datasets``, ``models``), or a folder with a module named after its kind, such as
``agents/navgpt/agent.py``. In a folder of agents without such a module, such as ``agents/search``,
each module may be an agent. The part itself is the module's attribute named after its kind:
``agent``, ``world``, ``dataset``, ``model``, ``perceiver``, ``base`` (of a robot). A module with
several assigns them by name: ``datasets = {"r2r": R2R, "r4r": R4R}``. In packages that also hold
other modules, a module is a part only if its text has such an assignment. A family's
``verbalizer``, ``scorer`` and ``map`` are found in the same way, by the family's name.
Other distributions add parts through the entry-point groups ``wayword.agents`` and so on.
``load("agent", "./mine.py")`` loads a file, ``load("agent", "./mine")`` a folder with an
``__init__.py``, and ``load("dataset", "./task.yaml")`` a task described in YAML.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
import sys
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args

from wayword.core.blame import check_class, user_frame
from wayword.core.errors import UsageError, near, suggest
from wayword.core.files import text_checksum
from wayword.core.other_files import but_is
from wayword.core.visible import plural, single_line

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
FAMILY_KINDS: frozenset[Kind] = frozenset({"verbalizer", "scorer", "map"})
"""Kinds whose parts are named after a family; other modules in their packages are not parts."""
MIXED_KINDS: frozenset[Kind] = frozenset(
    {"agent", "dataset", "perceiver", "display", "base"}
)
"""Kinds whose packages also hold modules that are not parts."""
BASES: Mapping[Kind, str] = {
    "agent": "wayword.core.agent.Agent",
    "world": "wayword.core.world.World",
    "dataset": "wayword.core.dataset.Dataset",
    "model": "wayword.core.model.Model",
    "perceiver": "wayword.core.perceiver.Perceiver",
}
"""The base class of each kind whose parts are classes."""
CLASSES: dict[tuple[Kind, str], type] = {}
"""Classes registered in this process without a file, for example from a notebook."""
_LOADED: dict[Path, tuple[Mapping[Path, bytes], ModuleType]] = {}
"""Users' files loaded in this process, each with the source that was loaded."""

YAML_READERS: Mapping[Kind, str] = {"dataset": "wayword.datasets.sources.own"}
"""Kinds that a YAML file can describe, each with the module whose ``KIND_of`` reads it."""


def render_html(item: object) -> str:
    """Return HTML of an object for notebooks, from the display called ``notebook``."""
    return str(load("display", "notebook")(item))


def is_path(name: str) -> bool:
    """True for a user's file or folder: for ``./lift``, not for ``lift``."""
    file = name.endswith(".py") or is_described(name)
    return file or (name != Path(name).name and Path(name).is_dir())


def is_described(name: str) -> bool:
    """True for the name of a YAML file, which describes a part, or of a folder of such files."""
    folder = Path(name)
    # A name without a slash is a part's, even if a folder of that name is here.
    if name == folder.name or not folder.is_dir() or (folder / "__init__.py").is_file():
        return name.endswith((".yaml", ".yml"))
    return any(folder.glob("*.[yY]*[mM][lL]"))


def names(kind: Kind) -> list[str]:
    """Return every registered name of a kind, sorted. Imports none of the parts."""
    return sorted({*_modules(kind), *_entry_points_of(kind)})


def listing(kind: str = "") -> str:
    """Return names and first lines of the docstrings of all parts, grouped by kind."""
    plurals = {each: plural(each) for each in KINDS}
    # Singular and plural are both accepted, as people type either.
    kinds = [each for each in KINDS if kind in ("", each, plurals[each])]
    if not kinds:
        raise UsageError(f"unknown kind {kind!r}; {suggest(kind, plurals.values())}")
    blocks = []
    for each in kinds:
        rows = [plurals[each]]
        for name, about in summaries(each).items():
            rows.append(f"  {name:<18} {about}")
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks)


def summaries(kind: Kind) -> dict[str, str]:
    """Return the summary of every registered part of a kind, by name; the error of a broken one."""
    found = {}
    for name in names(kind):
        try:
            found[name] = summary(kind, name)
        except Exception as error:  # noqa: BLE001 - a broken part must not hide the others
            found[name] = f"-- cannot be loaded: {' '.join(str(error).split())}"
    return found


def summary(kind: Kind, name: str) -> str:
    """Return the first sentence of the docstring of a part's class, without markup; for other
    parts, of its module. Shipped modules are not imported: all of them would take seconds."""
    module = _modules(kind).get(name)
    if module is None:
        return first_sentence(load(kind, name).__doc__ or "")
    # Read as text: importing every module would take seconds.
    path = Path(__file__).parents[1].joinpath(*module.split(".")[1:])
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = file.read_text(encoding="utf-8")
    # The class that is assigned to ``agent``, or to a name in ``agents``, then its docstring.
    assigned = rf'^{kind}(?:s = \{{[^}}]*"{name}":| =) (\w+)'
    # Of several assignments the first counts, as in the module itself.
    cls = re.search(assigned, text, re.MULTILINE)
    headed = rf"^class {cls and cls[1]}\b[^:]*:\n +"
    docstring_text = r'"""(.+?)"""'
    docstring = re.search(headed + docstring_text, text, re.MULTILINE | re.DOTALL)
    docstring = docstring or re.match(docstring_text, text, re.DOTALL)
    return first_sentence(docstring[1]) if docstring else ""


def first_sentence(docstring: str) -> str:
    """Return the first sentence of a docstring, without markup of code and roles.

    >>> first_sentence("Asks a :class:`~wayword.Model` about ``x``.\\nMore, e.g. examples.")
    'Asks a Model about x.'
    """
    paragraph = " ".join(docstring.strip().split("\n\n")[0].split())
    # A sentence ends with a full stop before a capital letter, which no abbreviation here has.
    sentence = re.split(r"(?<=[.!?])(?<!al\.) (?=[A-Z`])", paragraph)[0]
    sentence = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"\1", sentence)
    return sentence.replace("`", "")


def name_of(kind: Kind, cls: type) -> str:
    """Return the registered name of a class; without one, register it in this process under its
    own. Raises ``UsageError`` if a shipped part has that name."""
    # A shipped class is known by another name than its own.
    if cls.__module__.partition(".")[0] == "wayword":
        for name in names(kind):
            part = load(kind, name)
            # An open dataset is an instance of a guarded subclass with the same names.
            if (part.__module__, part.__qualname__) == (
                cls.__module__,
                cls.__qualname__,
            ):
                return name
    name = cls.__name__
    # A class of a notebook must not hide a shipped part.
    if name in names(kind):
        raise UsageError(f"{kind} {name!r} exists already; rename the class")
    if kind in BASES:
        module, _, base = BASES[kind].rpartition(".")
        check_class(cls, getattr(importlib.import_module(module), base))
    CLASSES[kind, name] = cls
    return name


def load(kind: Kind, name: str) -> Any:
    """Return the part with that name. Raises ``UsageError`` with a suggestion if unknown."""
    # Registered classes first: the same name may be redefined in a notebook.
    if (kind, name) in CLASSES:
        return CLASSES[kind, name]

    # A user's file: YAML, or Python.
    if is_described(name) and kind in YAML_READERS:
        read = getattr(importlib.import_module(YAML_READERS[kind]), f"{kind}_of")
        return read(Path(name))
    if is_path(name):
        return _check_part(kind, _get_part(kind, _import_file(Path(name)), name), name)
    # A path that is no file would otherwise be reported as an unknown name.
    if "/" in name and not Path(name).exists():
        raise UsageError(f"{name}: no such file or folder{_near_file(Path(name))}")

    # A name: of another distribution, which may replace a shipped part, or of this package.
    if name not in names(kind):
        if use := but_is(Path(name)):
            raise UsageError(f"no {kind} is called {name!r}{use}")
        hint = suggest(name, names(kind))
        # The name of a benchmark, such as babyai, stands in the description of its parts.
        word = re.compile(rf"\b{re.escape(name)}\b", re.IGNORECASE)
        described = [
            each for each in _modules(kind) if word.search(summary(kind, each))
        ]
        if described and len(name) > 2 and hint.startswith("there are"):
            hint = f"did you mean {' or '.join(map(repr, sorted(described)))}?"
        raise UsageError(f"no {kind} is called {name!r}; {hint}")
    # Installed extensions come before shipped parts, so that they can replace them.
    entry_point = _entry_points_of(kind).get(name)
    if entry_point is not None:
        return _check_part(kind, pkgutil.resolve_name(entry_point), name)
    return _get_part(kind, importlib.import_module(_modules(kind)[name]), name)


@cache
def _modules(kind: Kind) -> Mapping[str, str]:
    """Name -> module of the shipped parts."""
    # A family is the package of its world.
    if kind == "family":
        return {
            name: module.rpartition(".")[0]
            for name, module in _modules("world").items()
        }
    folder = Path(__file__).parents[1].joinpath(*PACKAGES[kind].split(".")[1:])
    modules = _find_modules(kind, folder, PACKAGES[kind])
    if kind in FAMILY_KINDS:
        return {
            name: module
            for name, module in modules.items()
            if name in _modules("world")
        }
    return modules


def _find_modules(kind: Kind, folder: Path, package: str) -> dict[str, str]:
    """Name -> module of the parts in one folder."""
    modules: dict[str, str] = {}
    for module in pkgutil.iter_modules([str(folder)]):
        name = f"{package}.{module.name}"
        path = folder / module.name
        # A folder is one part, or holds the parts of a kind of agent.
        # A package with a module of the kind's name is a part; in others, parts are
        # deeper.
        if module.ispkg:
            if (path / f"{kind}.py").is_file():
                modules[module.name] = f"{name}.{kind}"
            elif kind == "agent":
                modules |= _find_modules(kind, path, name)
        elif kind not in MIXED_KINDS:
            modules[module.name] = name
        else:  # the module's text says which parts it assigns
            text = path.with_suffix(".py").read_text(encoding="utf-8")
            assignment = re.search(rf"^{kind}s = \{{([^}}]*)\}}", text, re.MULTILINE)
            if assignment is not None:
                modules |= dict.fromkeys(
                    re.findall(r'"(\w+)":', assignment.group(1)),
                    name,
                )
            elif f"\n{kind} = " in text:
                modules[module.name] = name
    return modules


def _entry_points_of(kind: Kind) -> Mapping[str, str]:
    """Name -> ``module:attribute`` of the parts in other distributions."""
    return entry_points(f"wayword.{plural(kind)}")


def entry_points(group: str) -> Mapping[str, str]:
    """Return name -> ``module:attribute`` of the entry points of installed distributions."""
    return _read_entry_points(tuple(sys.path)).get(group, {})


@cache
def _read_entry_points(path: tuple[str, ...]) -> Mapping[str, Mapping[str, str]]:
    """Group -> its entry points. importlib.metadata takes five times as long."""
    groups: dict[str, dict[str, str]] = {}
    for folder in path:
        # The metadata of every installed distribution, in the order of the path.
        for file in Path(folder).glob("*-info/entry_points.txt"):
            entries: dict[str, str] = {}
            for line in file.read_text("utf-8").splitlines():
                name, is_entry, value = line.partition("=")
                if line.startswith("["):
                    entries = groups.setdefault(line.strip("[] "), {})
                elif is_entry:  # the first folder of the path wins
                    entries.setdefault(name.strip(), value.partition("[")[0].strip())
    return groups


def _get_part(kind: Kind, module: ModuleType, name: str) -> Any:
    """Return the part that a module assigns to ``agent``, or to its name in ``agents``."""
    # Several parts of a module, or its only one.
    parts = getattr(module, f"{kind}s", None)
    part = parts.get(name) if isinstance(parts, dict) else getattr(module, kind, None)
    if part is None:
        raise UsageError(
            f"{name}: the module defines no {kind!r}; end it with '{kind} = MyClass'"
        )
    return part


def _check_part(kind: Kind, part: Any, name: str) -> Any:
    """Return a part from a user's file or another distribution. Raises ``UsageError`` unless it is
    a complete class of its kind; kinds without a class in ``BASES`` are not checked."""
    if kind in BASES:
        module, _, class_name = BASES[kind].rpartition(".")
        expected = getattr(importlib.import_module(module), class_name)
        # An instance instead of a class is the most common mistake.
        if isinstance(part, expected):
            own = type(part).__name__
            raise UsageError(
                f"{name}: write '{kind} = {own}', without parentheses: a run makes the objects"
            )
        if not (isinstance(part, type) and issubclass(part, expected)):
            raise UsageError(f"{name}: {kind!r} must be a subclass of {BASES[kind]}")
        check_class(part, expected)
    return part


def user_file(path: Path) -> Path:
    """Return a user's file, of a folder its ``__init__.py``. Raises ``UsageError`` without one."""
    file = path / "__init__.py" if path.is_dir() else path
    if not file.is_file():
        raise UsageError(f"{file}: no such file{but_is(path) or _near_file(path)}")
    return file


def _near_file(path: Path) -> str:
    """Return the file next to a missing one whose name is nearly its own; empty without one."""
    return near(path.name, [each.name for each in path.parent.glob("*")])


def _import_file(path: Path) -> ModuleType:
    """Import a user's file, or a folder as a package; one that has not changed is imported once, so
    that objects of it can be pickled. Raises ``UsageError`` with the line that is wrong."""
    file = user_file(path)
    location = file.resolve()
    source = _source_of(path)
    if location in _LOADED:
        loaded_source, loaded = _LOADED[location]
        if loaded_source == source and sys.modules.get(loaded.__name__) is loaded:
            return loaded
    name = _module_name(path, location)
    # Modules of a folder may have changed, too.
    for each in [*sys.modules]:
        if each.startswith(f"{name}."):
            del sys.modules[each]
    search_folders = None
    if path.is_dir():
        # A folder is imported as a package, so that its modules can import each other.
        search_folders = [str(path)]
    spec = importlib.util.spec_from_file_location(
        name,
        file,
        submodule_search_locations=search_folders,
    )
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up their module by name
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        # The user's line, not this module's.
        where = f"{error.filename or file}:{error.lineno}"
        raise UsageError(
            f"{where}: {error.msg}: {(error.text or '').strip()!r}"
        ) from None
    # An exit() in a user's file must not end this process without a word.
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"{_place_in(file, error)}: {_import_problem(error, file)}"
        ) from error
    _LOADED[location] = source, module
    return module


def _source_of(path: Path) -> dict[Path, bytes]:
    """Return the Python files of a user's file or folder with their content."""
    files = [path]
    if path.is_dir():
        files = sorted(path.rglob("*.py"))
    return {file.resolve(): file.read_bytes() for file in files}


def _module_name(path: Path, location: Path) -> str:
    """Return the name of a user's module, which no other file's module has: objects are pickled by
    it."""
    name = f"wayword_user_{path.resolve().stem}"
    holder = getattr(sys.modules.get(name), "__file__", None)
    if holder is None or Path(holder).resolve() == location:
        return name
    return f"{name}_{text_checksum(str(location), 8)}"


def _place_in(file: Path, error: BaseException) -> str:
    """Return ``file:line`` of the user's line that raised: of ``file`` as it was given, or of
    another file that it calls."""
    frame = user_frame(error)
    if frame is None:
        return str(file)
    where = Path(frame.filename)
    if where.resolve() == file.resolve():
        where = file
    return f"{where}:{frame.lineno}"


def _import_problem(error: BaseException, file: Path) -> str:
    """Return why a user's file cannot be imported, and the remedy."""
    problem = f"{type(error).__name__}: {single_line(error)}"
    if isinstance(error, SystemExit):
        return f"the file ends the program when it is imported ({problem})"
    if "'settings' and 'toolkit'" in problem:  # agent = Mine()
        return f"{problem}; give the class, as in 'agent = Mine', without parentheses"
    if not isinstance(error, ImportError):
        return problem
    name = error.name or ""
    is_missing = isinstance(error, ModuleNotFoundError)
    neighbor = name.partition(".")[0]
    if is_missing and (file.parent / f"{neighbor}.py").is_file():
        # A file of its own is identified by its content alone: a change of its neighbor would go
        # unnoticed when a run resumes.
        return (
            f"{single_line(error)}; to import {neighbor}.py, put both files in a folder with an "
            f"__init__.py, name that folder in place of the file, and write 'from .{neighbor} "
            "import …'"
        )
    if is_missing and neighbor != "wayword":
        return f"{single_line(error)}; install it, or put its folder on PYTHONPATH"
    # A module that does not exist, or a name that its module does not define.
    parent, _, word = name.rpartition(".")
    options: Collection[str] = ()
    if is_missing and parent in sys.modules:
        folders = getattr(sys.modules[parent], "__path__", ())
        options = [each.name for each in pkgutil.iter_modules(folders)]
    elif name in sys.modules:
        word = getattr(error, "name_from", None) or str(error).split("'")[1]
        options = [each for each in vars(sys.modules[name]) if each[0] != "_"]
        # What extensions build on has one home, wherever else it is looked for.
        if word in sys.modules["wayword.core"].__all__:
            options = [f"from wayword.core import {word}"]
    if not options:
        return single_line(error)
    # The path of the module in Python's own words says nothing more.
    return f"{single_line(error).partition(' (')[0]}; {suggest(word, options)}"
