"""Settings of parts: validates ``key=value`` pairs as the fields of a frozen dataclass.

Every part declares a frozen dataclass ``Settings``. Values from the command line, YAML and Python
are converted to its field types.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, make_dataclass
from functools import cache, wraps
from importlib.resources.abc import Traversable
from numbers import Integral
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    Self,
    TypeVar,
    get_args,
    get_type_hints,
)

from annotated_types import Ge

from wayword.core.blame import is_shipped, users_errors
from wayword.core.episode import JsonObject
from wayword.core.errors import UsageError, door, suggest

Count = Annotated[int, Ge(1)]
"""A whole number above 0."""


@dataclass(frozen=True)
class _NamesFile:
    """Mark of a field that names a file."""


P = ParamSpec("P")
R = TypeVar("R")

FileName = Annotated[str, _NamesFile()]
"""The path of a file or folder. It is used if a user sets it, but not if a run folder names it: see
:mod:`wayword.runs.opening`."""

# Per YAML text: nine lines of aliases can expand to a billion values
_MAX_VALUES = 100_000

_DEEPEST = (
    100  # levels of lists and mappings in a YAML text; those of users have under ten
)

_LARGEST = 2**63  # whole numbers below this fit every array

_MAX_QUOTED = 80  # characters of an invalid value shown in an error


def make(settings: type[Any], values: Mapping[str, Any], owner: str) -> Any:
    """Return an instance of ``settings`` for a part, the ``owner``; strings are converted to the
    field's type. Raises ``UsageError`` for unknown keys and invalid values."""
    names = [field.name for field in fields(settings)]
    for key in values:
        if key not in names:
            raise UsageError(f"{owner} has no setting {key!r}; {suggest(key, names)}")
    return _validated(settings, values, f"{owner}: setting ")


def file_fields(settings: type[Any]) -> list[str]:
    """Return the fields of settings that name files or folders."""
    hints = get_type_hints(settings, include_extras=True)
    return [
        name
        for name, hint in hints.items()
        if hint is Path or _NamesFile() in getattr(hint, "__metadata__", ())
    ]


def check(instance: Any) -> None:
    """Check the fields of a frozen dataclass, and convert them to their types: ``"5"`` to 5.

    For the ``__post_init__`` of classes that :func:`make` does not build. Raises ``UsageError``.
    """
    values = {field.name: getattr(instance, field.name) for field in fields(instance)}
    # Importing pydantic takes as long as a short command, and a test checks shipped defaults.
    is_default = all(values[field.name] is field.default for field in fields(instance))
    if is_default and is_shipped(type(instance)):
        return
    cls = _plain_copy(type(instance))  # type: ignore[arg-type]
    for key, value in vars(_validated(cls, values, "")).items():
        object.__setattr__(instance, key, value)


@dataclass(frozen=True)
class Checked:
    """Base of settings that are checked when a program creates them, too; see :func:`check`."""

    def __new__(cls, *_values: Any, **named: Any) -> Self:
        """Raise ``UsageError`` for a name that is no setting, which would be a ``TypeError``."""
        options = [each.name for each in fields(cls)]
        for name in named:
            if name in options:
                continue
            hint = suggest(name, options)
            for narrower in cls.__subclasses__():
                if name in narrower.__dataclass_fields__:
                    hint = f"use {narrower.__name__}, which has it"
            raise UsageError(f"{cls.__name__} has no setting {name!r}; {hint}")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        check(self)


_PLAIN: Mapping[str, tuple[type, str]] = {
    "int": (Integral, "a whole number"),  # also one of NumPy
    "str": (str, "a string"),
    "bool": (bool, "true or false"),
}
"""Annotations that :func:`checked_call` checks: type and description."""


def checked_call(function: Callable[P, R]) -> Callable[P, R]:
    """Return a public function whose wrong arguments raise a ``UsageError`` of one line.

    Checked are names, numbers of arguments, and the types of arguments with an annotation of
    ``_PLAIN``; the module needs ``from __future__ import annotations``, by which these are texts.
    Decorate functions that people call in notebooks.
    """
    signature = inspect.signature(function)
    title = function.__name__

    @door
    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        try:
            given = signature.bind(*args, **options).arguments
        except TypeError as error:
            known = [name for name in signature.parameters if name != "self"]
            kinds = {each.kind for each in signature.parameters.values()}
            # A function with ``**options`` takes any name, so another argument is wrong.
            takes_any = inspect.Parameter.VAR_KEYWORD in kinds
            for name in options:
                if name not in known and not takes_any:
                    hint = suggest(name, known)
                    raise UsageError(
                        f"{title} has no option {name!r}; {hint}"
                    ) from None
            raise UsageError(f"{title}: {error}") from None
        for name, value in given.items():
            annotation = signature.parameters[name].annotation
            if annotation not in _PLAIN:
                continue
            kind, expected = _PLAIN[annotation]
            # To Python, True is a whole number.
            is_switch = kind is Integral and isinstance(value, bool)
            if is_switch or not isinstance(value, kind):
                raise UsageError(f"{name} must be {expected}, got {value!r:.80}")
        return function(*args, **options)

    return call


_VALUE = r"""("[^"]*"|'[^']*'|[^\s;,]*[^\s;,:)])"""
"""A value of an option, in quotes if it has spaces. What follows it ends a sentence's part."""
_OPTION = r"(?<![\w./'\"-])--"
"""Where an option begins: not within a path or a word, nor in a user's own value."""
# Options of the command line in a message: a remedy, a setting, several of them, its name alone,
# one that is repeated, any other. Commands between backticks stay.
_IN_PYTHON = (
    # An option whose Python form the message gives itself
    (rf"{_OPTION}[a-z-]+ \S+ \(in Python: ([^()]+)\)", r"\1"),
    (rf"\badd --model {_VALUE}", lambda found: f"add model={_literal(found[1])}"),
    (
        rf"{_OPTION}set ([\w.]+)={_VALUE}",
        lambda found: f"settings={{{found[1]!r}: {_literal(found[2])}}}",
    ),
    (r"\} settings=\{", ", "),
    (rf"{_OPTION}set\b", "settings"),
    (rf"{_OPTION}label\b", "labels"),  # each one a label; in Python a list of all
    (
        rf"{_OPTION}([a-z]+)(?:-([a-z]+))?\b",
        lambda found: "_".join(filter(None, found.groups())),
    ),
)


def _literal(word: str) -> str:
    """Return a word of the shell as a literal of Python, without the shell's quotes."""
    if word[0] in "\"'" and word[-1] == word[0]:
        word = word[1:-1]
    return repr(word)


def in_python(message: str) -> str:
    """Return an error's message with options of the command line as arguments of a call.

    >>> in_python("--kind lenght: did you mean 'length'?")
    "kind lenght: did you mean 'length'?"
    >>> in_python("give --out or --seed; `wayword run --help` lists them")
    'give out or seed; `wayword run --help` lists them'
    >>> in_python('add --set dataset.target="cat-shaped mug"')
    "add settings={'dataset.target': 'cat-shaped mug'}"
    >>> in_python("add --set shots=1 --set plan=no; ./my--agent.py: no such file")
    "add settings={'shots': '1', 'plan': 'no'}; ./my--agent.py: no such file"
    >>> in_python("name it with --with FILE (in Python: trusted=[FILE])")
    'name it with trusted=[FILE]'
    """
    # Every second part is between backticks.
    parts = re.split(r"(`[^`]*`)", message)
    for index in range(0, len(parts), 2):
        for pattern, new in _IN_PYTHON:
            parts[index] = re.sub(pattern, new, parts[index])
    return "".join(parts)


def python_call(function: Callable[P, R]) -> Callable[P, R]:
    """Return a :func:`checked_call` whose errors name arguments, not options of a command, and that
    raises errors of a user's code in one line (:func:`~wayword.core.blame.users_errors`)."""
    checked = users_errors(checked_call(function))

    @door
    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        with errors_in_python():
            return checked(*args, **options)

    return call


@contextmanager
def errors_in_python() -> Iterator[None]:
    """Raise errors of the body in Python's terms (:func:`in_python`)."""
    try:
        yield
    except UsageError as error:
        error.args = (in_python(str(error)), *error.args[1:])
        raise


@cache
def _hints(cls: type[Any]) -> JsonObject:
    """Types of a class's fields; resolving them takes longer than checking values."""
    return get_type_hints(cls)


def _validated(cls: type[Any], values: Mapping[str, Any], owner: str) -> Any:
    """Return settings of a class, checked by pydantic. Raises ``UsageError`` in one line."""
    from pydantic import ValidationError

    for key, hint in _hints(cls).items():  # type: ignore[arg-type]
        types = {hint, *get_args(hint)}
        value = values.get(key)
        if isinstance(value, bool) and bool not in types and types & {int, float}:
            raise UsageError(
                f"{owner}{key} must be a number, got {value}"
            )  # pydantic reads 1 or 0
        if isinstance(value, int) and abs(value) >= _LARGEST:
            raise UsageError(f"{owner}{key} must be below 2**63, got {value}")
    # A shell expands the home folder and variables in few places; a folder "~" or "$HOME" is
    # never meant.
    values = dict(values)
    for key, given in values.items():
        if not (isinstance(given, str | Path) and str(given).startswith(("~", "$"))):
            continue
        hint = _hints(cls).get(key)  # type: ignore[arg-type]
        if Path not in (hint, *get_args(hint)) and key not in file_fields(cls):
            continue
        if str(given).startswith("$"):
            problem = f"{owner}{key}: variables are not read, got {str(given)!r}"
            raise UsageError(f"{problem}; write the path itself")
        values[key] = os.path.expanduser(given)
    try:
        return type_adapter(cls).validate_python(values)  # type: ignore[arg-type]
    except ValidationError as error:
        first, *others = error.errors()
        if first["type"] == "missing":
            raise UsageError(f"{owner}{first['loc'][-1]} is missing") from None
        path = first["loc"]
        if not path:  # raised by the class itself, about settings together
            problem = str(first["msg"]).removeprefix("Value error, ")
            raise UsageError(f"{owner.removesuffix('setting ')}{problem}") from None
        expected = [_expected(first)]
        # A field of several types has an error for each of them; so has each item of a list, but
        # for values of their own.
        if same_field := [
            each
            for each in others
            if isinstance(path[-1], str)
            and path[1:]
            and each["loc"][:-1] == path[:-1]
            and each["input"] is first["input"]
        ]:
            path = path[:-1]
            expected += map(_expected, same_field)
        key = ".".join(map(str, path))
        value = repr(first["input"])
        value = value if len(value) <= _MAX_QUOTED else f"{value[:_MAX_QUOTED]}…"
        raise UsageError(
            f"{owner}{key} must be {' or '.join(expected)}, got {value}"
        ) from None


_TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a string",
    "boolean": "true or false",
    "path": "a path",
}
"""Pydantic's type names -> descriptions in errors."""


def _expected(error: JsonObject) -> str:
    """Return the expected value from a pydantic error: ``a whole number``, ``at least 1``."""
    limits = error.get("ctx", {})
    text = str(error["msg"])
    for sign, words in (("ge", "at least"), ("le", "at most")):
        if sign in limits:
            return f"{words} {limits[sign]:,}"
    kind = re.match(r"Input (?:should be|is not) a valid (\w+)", text)
    if kind:
        return _TYPES.get(kind[1], f"a {kind[1]}")
    # Of a mapping, or text, where a list is expected.
    if "as a Sequence" in text or "instance of Sequence" in text:
        return "a list"
    return text.removeprefix("Input should be ")


@cache
def type_adapter(cls: type[Any]) -> Any:
    """Return pydantic's validator of a type, cached because building one takes milliseconds."""
    from pydantic import TypeAdapter

    return TypeAdapter(cls)


@cache
def _plain_copy(cls: type[Any]) -> type[Any]:
    """Return a class with the same fields but no methods, whose ``__post_init__`` would recurse."""
    return make_dataclass(
        cls.__name__,
        get_type_hints(cls, include_extras=True).items(),
    )


def parse(pairs: Sequence[str]) -> dict[str, Any]:
    """Parse ``["shots=2", "model.threads=2"]`` to ``{"shots": 2, "model": {"threads": 2}}``.

    Values are parsed as YAML: ``true``, ``3``, ``0.5`` and ``[a, b]`` get their types.
    """
    tree: dict[str, Any] = {}
    if not pairs:
        return tree
    import yaml

    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign or not key:
            raise UsageError(
                f"--set {pair}: write key=value, for example --set decoding=free"
            )
        try:
            value = load_yaml(text) if text else ""
            # A colon at the end of a name is no key without a value: ``owlv2:``.
            if isinstance(value, dict) and text.endswith(":"):
                value = text
        # Text that is no YAML, such as an open bracket, is meant literally.
        except (yaml.YAMLError, RecursionError, ValueError):
            value = text
        inner, (*above, last) = tree, key.split(".")
        for part in above:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise UsageError(f"--set {pair}: {part!r} already has a value")
        inner[last] = value
    return tree


@cache
def _loader() -> Any:
    """Return PyYAML's safe loader with the numbers and unique keys of YAML 1.2, and a bound on
    nesting.

    PyYAML follows YAML 1.1, where ``010`` is eight, ``1:30`` is ninety and ``1e-3`` is a text.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        """The safe loader with its own tables."""

        depth = 0

        # Without a bound, a line of brackets is read for seconds until Python's stack ends.
        def compose_node(self, parent: Any, index: Any) -> Any:
            self.depth += 1
            if self.depth > _DEEPEST:
                mark: Any = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                problem = f"is nested more than {_DEEPEST} levels deep"
                raise yaml.composer.ComposerError(None, None, problem, mark)
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

        # PyYAML takes the last of two equal keys.
        def compose_mapping_node(self, anchor: Any) -> Any:
            node = super().compose_mapping_node(anchor)
            seen = set()
            for key, _ in node.value:
                name = key.tag, str(key.value)
                # Several merges are merged all.
                if name in seen and name[1] != "<<":
                    problem = f"has the key {key.value!r} twice"
                    raise yaml.composer.ComposerError(
                        None, None, problem, key.start_mark
                    )
                seen.add(name)
            return node

    numbers = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
    Loader.yaml_implicit_resolvers = {
        first: [row for row in rows if row[0] not in numbers]
        for first, rows in Loader.yaml_implicit_resolvers.items()
    }
    patterns = (
        r"[-+]?\d[\d_]*$",
        r"[-+]?(\d[\d_]*\.?\d*|\.\d+)(e[-+]?\d+)?$|[-+]?\.(inf|nan)$",
    )
    for tag, pattern in zip(numbers, patterns, strict=True):
        regex = re.compile(pattern, re.IGNORECASE)
        # The signs that a number may begin with: PyYAML looks patterns up by them.
        Loader.add_implicit_resolver(tag, regex, list("-+.0123456789"))
    Loader.add_constructor(numbers[0], lambda _, node: int(node.value.replace("_", "")))
    return Loader


def load_yaml(text: str) -> Any:
    """Return the values of a YAML text. Raises ``yaml.YAMLError`` if it is malformed, or if aliases
    form a cycle or expand to too many values."""
    import yaml

    loaded = yaml.load(text, Loader=_loader())
    # Aliases let a few lines expand to billions of values, which code would visit.
    remaining = [_MAX_VALUES]

    def walk(value: Any, above: tuple[int, ...]) -> None:
        remaining[0] -= 1
        if id(value) in above or remaining[0] < 0:
            raise yaml.YAMLError("aliases form a cycle or expand to too many values")
        if isinstance(value, int) and abs(value) >= _LARGEST:
            raise yaml.YAMLError("a whole number must be below 2**63")
        if isinstance(value, dict | list):
            inner = value.values() if isinstance(value, dict) else value
            for item in inner:
                walk(item, (*above, id(value)))

    try:
        walk(loaded, ())
    except RecursionError:
        raise yaml.YAMLError("is nested too deeply") from None
    return loaded


def load_shipped(path: Traversable, kind: Literal["Safe", "Base"] = "Safe") -> Any:
    """Return the values of a YAML file of this package, ``Base``: all as texts. Only for these:
    libyaml is ten times as fast as :func:`load_yaml`, and crashes on lists that are nested too
    deeply."""
    import yaml

    name = f"{kind}Loader"
    loader = getattr(yaml, f"C{name}", getattr(yaml, name))
    return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)


def merge(below: JsonObject, above: JsonObject) -> dict[str, Any]:
    """Merge two trees; ``above`` wins on conflict."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        both = isinstance(under, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(under, value) if both else value  # type: ignore[arg-type]
    return merged
