"""Mistakes in a user's parts, each in one line with the file and line of the user's code.

    place_of(Mine.act)           # "mine.py:9", where it is defined
    describe(error)              # "ZeroDivisionError: division by zero (line.py:53)"

A part is compared with its base class when it is loaded; :func:`wayword.core.dataset.check_opened`
checks a dataset. What only shows while an episode is played raises :class:`CodeError` there.
"""

from __future__ import annotations

import ast
import inspect
import logging
import math
import re
import sysconfig
import textwrap
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import cache, wraps
from pathlib import Path
from types import FrameType
from typing import Any, ParamSpec, SupportsFloat, TypeVar

from wayword.core.errors import DataError, UsageError, WaywordError, similar
from wayword.core.visible import single_line

P = ParamSpec("P")
R = TypeVar("R")

_PACKAGE = str(Path(__file__).parents[1])
# Folders of code that no user wrote; the import machinery has files such as <frozen importlib>, and
# dataclasses have methods in <string>.
_FOREIGN = (_PACKAGE, sysconfig.get_path("stdlib"), "<frozen", "<string>")


_ATTRIBUTES: Sequence[tuple[type, tuple[type, ...], str]] = (
    (bool, (bool,), "True or False"),
    (int, (int,), "a whole number"),
    (frozenset, (frozenset, set), "a set of names"),
    (tuple, (tuple, list), "a tuple"),
)
"""Type of a base class's attribute -> the types that a user's class may give it, in words."""


class CodeError(WaywordError, TypeError):
    """A mistake in a user's part that shows while an episode is played: the episode fails."""

    def __init__(self, message: str) -> None:
        # The text of an array has lines.
        super().__init__(single_line(message))


def place_of(part: Any) -> str:
    """Return ``file:line`` where a class or function is defined; its name if there is no file."""
    part = inspect.unwrap(part) if callable(part) else part
    try:
        file = inspect.getsourcefile(part) or ""
        _, line = inspect.getsourcelines(part)
    except (OSError, TypeError):
        return str(getattr(part, "__qualname__", part))
    return f"{file}:{line}"


def is_shipped(cls: type) -> bool:
    """True for a class of this package, which has tests of its own."""
    return cls.__module__.startswith("wayword.")


def of_users_data(problem: DataError | str, dataset: type) -> str:
    """Return a problem with the line of a user's dataset that it comes from: where the dataset
    called what raised it, or else where its class is."""
    if is_shipped(dataset):
        return str(problem)
    # An error of a part of the dataset's has its own.
    if re.match(r"\S+\.py:\d+: ", str(problem)):
        return str(problem)
    place = place_of(dataset)
    if isinstance(problem, DataError) and (frame := user_frame(problem)):
        place = f"{frame.filename}:{frame.lineno}"
    return f"{place}: {problem}"


def is_own(method: Any) -> bool:
    """True for a method of a user's class, also of one that a run has wrapped."""
    return not str(getattr(method, "__module__", "")).startswith("wayword.")


def returned(method: Any, value: Any, kinds: Any, expected: str) -> Any:
    """Return what a user's method returned. Raises ``CodeError`` unless it is of these types."""
    if not isinstance(value, kinds):
        raise CodeError(
            f"{place_of(method)}: {method.__name__} must return {expected}, got {value!r:.80}"
        )
    return value


def returns_nothing(method: Any) -> bool:
    """True for a function whose text has no ``return`` with a value: one that was forgotten."""
    tree = _parsed(method)
    if tree is None:
        return False
    # A generator's caller gets the generator, and a function that always raises says why.
    speaks = ast.Yield | ast.YieldFrom | ast.Raise
    for node in ast.walk(tree):
        is_answer = isinstance(node, ast.Return) and node.value is not None
        if is_answer or isinstance(node, speaks):
            return False
    return True


def line_without_return(method: Any) -> int:
    """Return the line at whose end a function ends without ``return``, although others have one;
    0 if there is none."""
    tree = _parsed(method)
    if tree is None or returns_nothing(method):
        return 0
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(tree)):
        return 0
    last = _falling(tree.body)
    if last is None:
        return 0
    _, first = inspect.getsourcelines(inspect.unwrap(method))
    return first + last.lineno - 1


def _falling(block: Sequence[ast.stmt]) -> ast.stmt | None:
    """Return the statement after which a block's end is reached; None if it never is."""
    last = block[-1]
    match last:
        case ast.Return() | ast.Raise() | ast.Continue() | ast.Break():
            return None
        case ast.If():
            if not last.orelse:
                return last
            return _falling(last.body) or _falling(last.orelse)
        case ast.With():
            return _falling(last.body)
        case ast.While(test=ast.Constant(value=value)) if value:
            return last if _has_break(last.body) else None
        case ast.For() | ast.While() if last.orelse and not _has_break(last.body):
            return _falling(last.orelse)
        case ast.Try():
            if last.finalbody and _falling(last.finalbody) is None:
                return None
            blocks = [
                [*last.body, *last.orelse],
                *(each.body for each in last.handlers),
            ]
            return next(filter(None, map(_falling, blocks)), None)
        case ast.Match():
            # Without a case that fits everything, the end is reached.
            pattern = last.cases[-1].pattern
            is_any = isinstance(pattern, ast.MatchAs) and pattern.pattern is None
            if not is_any or last.cases[-1].guard:
                return last
            return next(
                filter(None, (_falling(case.body) for case in last.cases)), None
            )
        case _:
            return last


def _has_break(block: Sequence[ast.AST]) -> bool:
    """True if a loop's block breaks out of it; what breaks out of an inner loop does not."""
    for statement in block:
        if isinstance(statement, ast.Break):
            return True
        # Of an inner loop, only its ``else`` belongs to the outer one.
        fields = ["body", "orelse", "finalbody", "handlers", "cases"]
        if isinstance(statement, ast.For | ast.While):
            fields = ["orelse"]
        for name in fields:
            inner = getattr(statement, name, [])
            if not isinstance(statement, ast.FunctionDef) and _has_break(inner):
                return True
    return False


def _parsed(method: Any) -> ast.FunctionDef | None:
    """Return the syntax tree of a function; None without its text."""
    try:
        text = textwrap.dedent(inspect.getsource(inspect.unwrap(method)))
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError):
        return None
    # The text of a lambda is the line around it.
    function = tree.body[0]
    return function if isinstance(function, ast.FunctionDef) else None


def finite(value: Any) -> float | None:
    """Return a number of a user's method as a float; None for anything but a finite number."""
    # Arrays of one number have the method, and refuse.
    with suppress(TypeError, ValueError, OverflowError):
        if isinstance(value, SupportsFloat) and math.isfinite(float(value)):
            return float(value)
    return None


def describe(error: BaseException) -> str:
    """Return an error in one line with the innermost line outside of Wayword, if there is one."""
    frames = traceback.extract_tb(error.__traceback__)
    text = single_line(error)
    if isinstance(error, AttributeError):
        text += _similar_attribute(error)
    for part, remedy in _REMEDIES.items():
        if part in text:
            text += f"; {remedy}"
            _close_coroutines(error)
    problem = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if not frames:
        return problem
    where = user_frame(error)
    # Python replaces a StopIteration that leaves a coroutine by an error without its frames.
    if where is None and error.__cause__ is not None:
        where = user_frame(error.__cause__)
    where = where or frames[-1]
    return f"{problem} ({where.filename}:{where.lineno})"


_REMEDIES = {
    "'coroutine' object": "write `await` before the call",
    "asyncio.run() cannot be called": "write `await` in place of asyncio.run()",
    # Python's text for a class without slots below a frozen dataclass with them.
    "super(type, obj): obj must be": "write @dataclass(frozen=True) above the class",
    "'ActionSpace' object is not": "the legal actions are in space.listed",
    "'Action' has no len()": "give texts: tuple(map(str, space.listed))",
    "no attribute 'toolkit'": "call super().__init__(settings, toolkit) in its __init__",
}
"""Parts of Python's messages that name no cause, and what to do."""


def _similar_attribute(error: AttributeError) -> str:
    """Return which attribute may be meant by a missing one, or those of a small object of this
    package; empty if there is nothing to suggest."""
    cls = type(error.obj)
    names = {name for name in dir(error.obj) if not name.startswith("_")}
    if near := get_close_matches(error.name or "", names, 1, 0.7):
        return f"; did you mean {near[0]!r}?"
    if is_shipped(cls) and is_dataclass(cls):
        return f"; it has {', '.join(each.name for each in fields(cls))}"
    return ""


def _close_coroutines(error: BaseException) -> None:
    """Close coroutines that were not awaited: Python would warn of each, with a line of Wayword."""
    values: list[Any] = [getattr(error, "obj", None)]
    for frame, _ in traceback.walk_tb(error.__traceback__):
        values += frame.f_locals.values()
    for value in values:
        if not inspect.iscoroutine(value):
            continue
        if inspect.getcoroutinestate(value) == inspect.CORO_CREATED:
            value.close()


def make_part(cls: Any, *args: Any) -> Any:
    """Return an object of a user's class. Raises ``UsageError`` if that is impossible, with its
    line and the arguments that its constructor must take."""
    try:
        inspect.signature(cls).bind(*args)
    except TypeError as error:
        if not isinstance(cls, type):
            own = type(cls).__name__
            problem = f"is an object; give the class: {own}, without parentheses"
            raise UsageError(f"{place_of(type(cls))}: {own} {problem}") from None
        names = ", ".join(["self", *("settings", "replaced")[: len(args)]])
        raise UsageError(
            f"{place_of(cls)}: {cls.__name__}.__init__ must take ({names}): {error}"
        ) from None
    except ValueError:
        pass  # a class in another language has no signature
    try:
        return cls(*args)
    except WaywordError:
        raise
    except Exception as error:
        raise UsageError(f"{place_of(cls)}: {describe(error)}") from error


def user_frame(error: BaseException) -> traceback.FrameSummary | None:
    """Return the innermost frame in a user's code. A library below it is no help."""
    own = None
    for frame in traceback.extract_tb(error.__traceback__):
        if _is_users(frame.filename):
            own = frame
    return own


def place_named(text: str) -> str:
    """Return the ``file:line`` of a user's code that the text of an error names; else empty.

    >>> place_named("IndexError: tuple index out of range (agents/mine.py:6)")
    'agents/mine.py:6'
    """
    for place in re.findall(r"([^\s(]+\.py:\d+)\b", text):
        if _is_users(place):
            return str(place)
    return ""


def users_errors(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that raises exceptions from a user's code as a ``CodeError`` of one line,
    with the file and line.

    Its cause is the exception, with the traceback from the user's first frame on. Exceptions
    without a frame of a user's code pass: they are no mistake of the user's.
    """

    # No context manager: it would be entered at each step of an environment.
    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        try:
            return function(*args, **options)
        except WaywordError:
            raise
        except Exception as error:
            for cause in (error, error.__cause__):
                frame = cause.__traceback__ if cause is not None else None
                while frame and not _is_users(frame.tb_frame.f_code.co_filename):
                    frame = frame.tb_next
                if cause is not None and frame is not None:
                    raise CodeError(describe(error)) from cause.with_traceback(frame)
            raise

    return call


def running_place(frame: FrameType | None, caller: str = "asyncio.events") -> str:
    """Return ``file:line: method`` of a user's code that an event loop (or another module,
    ``caller``) runs, from the innermost frame of its thread; empty if it runs none."""
    place = ""
    method = ""
    while frame is not None and frame.f_globals.get("__name__") != caller:
        code = frame.f_code
        if _is_users(code.co_filename):
            # The innermost line is the one that takes long, in the outermost method.
            place = place or f"{code.co_filename}:{frame.f_lineno}"
            method = code.co_name
        frame = frame.f_back
    return f"{place}: {method}" if frame and place else ""


def _is_users(filename: str) -> bool:
    """True for a file of a user's code."""
    return not filename.startswith(_FOREIGN) and "site-packages" not in filename


def check_class(cls: type, base: type) -> None:
    """Raise ``UsageError`` for a class with abstract methods, whose methods do not take the
    arguments that the base class's take, or with an attribute of another type than its."""
    if lacking := sorted(getattr(cls, "__abstractmethods__", ())):
        problem = (
            f"{place_of(cls)}: {cls.__name__} does not define {', '.join(lacking)}"
        )
        added = set(dir(cls)) - set(dir(base))
        similar = {
            each for name in lacking for each in get_close_matches(name, added, 1)
        }
        # Of a class with none of the methods, no attribute is meant by one.
        if similar:
            problem += (
                f"; did you mean it by {' and '.join(map(repr, sorted(similar)))}?"
            )
        raise UsageError(problem)
    settings = getattr(cls, "Settings", None)
    if settings is not None and not (
        isinstance(settings, type) and is_dataclass(settings)
    ):
        raise UsageError(
            f"{place_of(cls)}: {cls.__name__}.Settings must be a dataclass; add "
            f"@dataclass(frozen=True), got {settings!r:.60}"
        )
    for name, method in vars(base).items():
        own = inspect.getattr_static(cls, name)
        for kind, accepted, expected in _ATTRIBUTES:
            is_given = own is not method and not hasattr(type(own), "__get__")
            if type(method) is kind and is_given and type(own) not in accepted:
                raise UsageError(
                    f"{place_of(cls)}: {cls.__name__}.{name} must be {expected}, got {own!r:.60}"
                )
        is_public = name == "__init__" or not name.startswith("_")
        if not is_public or not inspect.isfunction(method) or own is method:
            continue
        if not inspect.isfunction(own):
            continue  # a property or a classmethod of the same name
        if inspect.iscoroutinefunction(own) and not inspect.iscoroutinefunction(method):
            raise UsageError(
                f"{place_of(own)}: {cls.__name__}.{name} must be declared with `def`, not "
                "`async def`"
            )
        parameters = list(inspect.signature(method).parameters)
        try:
            inspect.signature(own).bind(*parameters)
        except TypeError:
            problem = f"{cls.__name__}.{name} must take ({', '.join(parameters)})"
            # A helper may have the name of a method by accident; an abstract one is meant.
            is_required = getattr(method, "__isabstractmethod__", False)
            if name != "__init__" and not is_required:
                problem += (
                    f", as it overrides {base.__name__}.{name}; rename it if that is not "
                    "meant"
                )
            raise UsageError(f"{place_of(own)}: {problem}") from None
    _warn_of_similar(cls, base)


@cache
def _warn_of_similar(cls: type, base: type) -> None:
    """Log a warning for each name of a user's class that nothing reads, and that is nearly that of
    an optional attribute or method of its base class.

    A method is meant only if it takes the same arguments, and nothing is while the class has the
    optional name as well. Datasets without ``succeeded`` say so themselves.
    """
    optional = {name for name in dir(base) if not name.startswith("_")}
    optional -= {"succeeded", *getattr(base, "__abstractmethods__", ())}
    users = [each for each in cls.__mro__ if each.__module__ == cls.__module__]
    given: dict[str, Any] = {}
    for each in reversed(users):
        given |= vars(each)
    for name, value in given.items():
        if name.startswith("_") or hasattr(base, name):
            continue
        near = similar(name, optional - given.keys(), _NEAR)
        if near and _is_alike(value, inspect.getattr_static(base, near[0])):
            where = _line_of(name, value, users)
            logging.getLogger("wayword").warning(
                "wayword: %s: nothing reads %s.%s; did you mean %r?",
                where,
                cls.__name__,
                name,
                near[0],
            )


_NEAR = 0.85  # finds max_step, beginn and famlies, but not plans or stop


def _is_alike(value: Any, meant: Any) -> bool:
    """True for two methods with the same arguments, or two attributes that are no methods."""
    if not inspect.isfunction(meant) or not inspect.isfunction(value):
        return not callable(meant) and not callable(value)
    try:
        inspect.signature(value).bind(*inspect.signature(meant).parameters)
    except TypeError:
        return False
    return True


def _line_of(name: str, value: Any, classes: Sequence[type]) -> str:
    """Return ``file:line`` of a name in the body of one of some classes."""
    if inspect.isfunction(value):
        return place_of(value)
    for cls in classes:
        with suppress(OSError, TypeError):
            lines, first = inspect.getsourcelines(cls)
            for number, line in enumerate(lines, first):
                if re.match(rf"\s.*\b{name}\b[^=]*=", line):
                    return f"{inspect.getsourcefile(cls)}:{number}"
    return place_of(classes[0])
