"""Definitions: TEACh's tasks as data, read from its published files.

A definition names what must be there (components: things with properties, or other tasks) and what
must be in or on what (relations). ``#0``, ``#1`` … stand for its parameters.

Source: TEACh (Padmakumar et al. 2022), section 3.1, and its ``task_definitions`` (one JSON a task).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wayword.core.episode import Json
from wayword.core.errors import DataError
from wayword.core.files import field, read_json

FOLDER = Path("teach") / "meta_data_files"
_PARAMETER = re.compile(r"#(\d+)")
_BOTH = (str, int)


@dataclass(frozen=True, slots=True)
class Component:
    """Something a task is about: ``determiner`` of them (``a``, ``all``, a number, a parameter).

    ``conditions`` are AI2-THOR's properties and the values they must have; where ``task`` names
    another definition, that is to be done instead, with ``params``.
    """

    name: str
    determiner: str
    conditions: tuple[tuple[str, Json], ...] = ()
    task: str = ""
    params: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Relation:
    """``heads`` must be in or on the component ``tail``: any of those (``a``), or one and the same
    that the tail is (``the``)."""

    heads: tuple[str, ...]
    tail: str
    determiner: str


@dataclass(frozen=True, slots=True)
class Definition:
    """One task. ``anchor`` names the component that stands for its result, empty for none."""

    number: int
    name: str
    nparams: int
    description: str
    anchor: str
    components: tuple[Component, ...]
    relations: tuple[Relation, ...] = ()


def fill(text: str, params: tuple[str, ...]) -> str:
    """A text with the parameters in their places."""
    return _PARAMETER.sub(lambda found: params[int(found[1])], text)


def read_definitions(folder: Path) -> dict[str, Definition]:
    """Name -> definition, by TEACh's numbers. ``folder`` is the data folder. Raises ``DataError``
    that names file and field."""
    place = folder / FOLDER / "task_definitions"
    paths = sorted(place.glob("*.json")) if place.is_dir() else []
    if not paths:
        raise DataError(place, "", "holds no task definitions", "fetch TEACh's meta_data_files")
    found: dict[str, Definition] = {}
    source: dict[str, Path] = {}
    for path in paths:
        definition = read_definition(path)
        found[definition.name], source[definition.name] = definition, path
    for definition in found.values():
        for each in definition.components:
            if each.task and each.task not in found:
                where = f"component {each.name!r}, field 'task_name'"
                raise DataError(source[definition.name], where, f"no task is called {each.task!r}")
    return found


def read_definition(path: Path) -> Definition:
    """One file."""
    record = read_json(path)
    nparams = field(path, "task", record, "task_nparams", int)
    components = field(path, "task", record, "components", dict)
    relations = field(path, "task", record, "relations", list)
    anchor = field(path, "task", record, "task_anchor_object", (str, type(None)))
    made = Definition(
        field(path, "task", record, "task_id", int),
        field(path, "task", record, "task_name", str),
        nparams,
        field(path, "task", record, "desc", str),
        anchor or "",
        tuple(_component(path, name, each) for name, each in components.items()),
        tuple(_relation(path, n, each, components) for n, each in enumerate(relations)),
    )
    highest = max((int(n) for n in _PARAMETER.findall(str(record))), default=-1)
    if highest >= nparams:
        problem = f"is {nparams}, but the task speaks of #{highest}"
        raise DataError(path, "field 'task_nparams'", problem)
    return made


def _component(path: Path, name: str, record: Json) -> Component:
    where = f"component {name!r}"
    determiner = field(path, where, record, "determiner", str)
    if "task_name" in record:
        params = field(path, where, record, "task_params", list)
        task = field(path, where, record, "task_name", str)
        return Component(name, determiner, (), task, tuple(str(each) for each in params))
    conditions = field(path, where, record, "conditions", dict)
    for key, value in conditions.items():
        if not isinstance(value, _BOTH):
            raise DataError(path, f"{where}, condition {key!r}", f"has the wrong type: {value!r}")
    return Component(name, determiner, tuple(conditions.items()))


def _relation(path: Path, number: int, record: Json, components: Mapping[str, Json]) -> Relation:
    where = f"relation {number}"
    heads = field(path, where, record, "head_entity_list", list)
    tails = field(path, where, record, "tail_entity_list", list)
    determiners = field(path, where, record, "tail_determiner_list", list)
    if field(path, where, record, "property", str) != "parentReceptacles":
        problem = f"is {record['property']!r}; only 'parentReceptacles' is known"
        raise DataError(path, f"{where}, field 'property'", problem)
    if len(tails) != 1 or len(determiners) != 1 or determiners[0] not in ("a", "the"):
        raise DataError(path, f"{where}, field 'tail_entity_list'", "must hold one 'a' or 'the'")
    for name in (*heads, *tails):
        if name not in components:
            raise DataError(path, where, f"speaks of {name!r}, which is no component")
    return Relation(tuple(heads), tails[0], determiners[0])
