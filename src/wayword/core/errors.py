"""Errors that users see as one line: what is wrong, where, and how to fix it."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar

from wayword.core.visible import single_line

if TYPE_CHECKING:
    from wayword.core.model import Usage


class WaywordError(Exception):
    """An error that a user can fix. The command line prints it as one line and exits with 2."""


class UsageError(WaywordError):
    """A name, option or setting that does not exist or has an invalid value."""


class DataError(WaywordError):
    """A file that is missing, corrupt or in the wrong format.

    ``DataError(path, "record 3, field 'heading'", "is not a number", "fetch the file again")``
    reads ``path: record 3, field 'heading': is not a number; fetch the file again``. Without
    ``where``, the file itself is the problem.
    """

    def __init__(
        self,
        path: Path | str,
        where: str,
        problem: str,
        remedy: str = "",
    ) -> None:
        self.where = where
        self.problem = problem
        self.remedy = remedy
        line = ": ".join(filter(None, (str(path), where, problem)))
        super().__init__(f"{line}; {remedy}" if remedy else line)


P = ParamSpec("P")
R = TypeVar("R")


def door(function: Callable[P, R]) -> Callable[P, R]:
    """Return a public function whose errors of usage have no frames of this package below it: the
    message says all that a user needs. What an error was raised from is kept."""

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        try:
            return function(*args, **options)
        except WaywordError as error:
            raise error.with_traceback(None) from error.__cause__

    return call


Lost = Literal["", "error", "cut off", "time limit"]
"""Why an answer was lost: the server replied with an error instead; a gateway or a broken
connection cut it off; or it took longer than this client waits."""


class ModelError(WaywordError):
    """A language model did not answer.

    ``retryable``: the same call may succeed later; ``retry_after`` is the wait that the server
    requests, in seconds. ``fatal``: every other call will fail the same way (a wrong key, an
    unknown model), so the run ends. ``away``: the server was unreachable or had no capacity.
    ``billed`` holds the tokens that may have been billed despite the error: the server's count, or
    an upper estimate. ``lost``: the model may have worked on an answer that did not arrive, for
    this reason; its bill is estimated, and ``billed`` is the most that it can be.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        fatal: bool = False,
        away: bool = False,
        billed: Usage | None = None,
        lost: Lost = "",
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after
        self.fatal = fatal
        self.away = away
        self.billed = billed
        self.lost = lost


class ModelUnusable(WaywordError):
    """A model that will refuse every further call. Not a subclass of ``ModelError``: agents that
    catch a failed call must not catch this. The run can resume once the cause is fixed."""


class BudgetExhausted(WaywordError):
    """The run's token or cost budget is spent. Finished episodes are kept; the run can resume."""


class RecordingError(WaywordError):
    """The run folder cannot be written or read: disk full, read-only, locked, foreign."""


_REMEDIES = {
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "close other programs, or raise the system's limit of open files",
    errno.EFBIG: "raise the limit of file sizes (ulimit -f)",
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space, or ask for a larger quota",
    errno.EAGAIN: "raise the limit of processes (ulimit -u)",
    errno.ENOMEM: "free some memory, or raise the limit (ulimit -v)",
}


def remedy_of(error: OSError, default: str = "") -> str:
    """Return what to do about an error of the operating system."""
    return _REMEDIES.get(error.errno or 0, default)


def reason_of(error: OSError) -> str:
    """Return what the operating system says of an error, without its number and file."""
    return (error.strerror or str(error)).lower()


def limit_problem(error: Exception) -> str | None:
    """Return the problem and remedy of an error that a limit of this process has caused, else
    None."""
    text = single_line(error)
    if "can't start new thread" in text:
        return (
            "no more threads can be started; raise the limit of processes (ulimit -u)"
        )
    if "failed to map segment" in text or "annot allocate memory" in text:
        return "not enough memory; raise the limit (ulimit -v)"
    return None


def similar(name: str, options: Collection[str], cutoff: float = 0.6) -> list[str]:
    """Return the options that a misspelled name may mean: one, or those in another case."""
    from difflib import get_close_matches

    # A name in another case is this one, whatever else looks alike.
    matches = [each for each in options if each.lower() == name.lower()]
    return matches or get_close_matches(name, options, n=1, cutoff=cutoff)


def suggest(name: str, options: Collection[str]) -> str:
    """Return ``did you mean 'x'?`` for a misspelled or partial name, else a list of the options."""
    from textwrap import shorten

    matches = similar(name, options)
    if not matches and len(name) > 2:
        matches = sorted(each for each in options if name in each)[:4]
    if matches:
        return f"did you mean {' or '.join(map(repr, matches))}?"
    more = f" … {len(options):,} in all"
    return f"there are: {shorten(', '.join(sorted(options)), 400, placeholder=more) or 'none'}"


def near(name: str, options: Collection[str]) -> str:
    """Return ``; did you mean 'x'?`` for a misspelled name; empty if no option is like it."""
    hint = suggest(name, options)
    return f"; {hint}" if hint.startswith("did you mean") else ""


def install_command(extra: str) -> str:
    """Return a command that adds an extra to the environment of this process.

    ``make extra-NAME`` where uv made the environment, as it has no pip of its own; else pip with
    the interpreter that runs. A copy that was installed without its clone names the clone.
    """
    from importlib.util import find_spec

    clone = Path(__file__).parents[3]
    if not (clone / "pyproject.toml").is_file():
        return f"pip install '.[{extra}]' in a clone of Wayword"
    if find_spec("pip") is None:
        return f"make -C {quote(str(clone))} extra-{extra}"
    return f"{quote(sys.executable)} -m pip install -e {quote(f'{clone}[{extra}]')}"


def missing(error: ModuleNotFoundError, extra: str) -> ModuleNotFoundError:
    """Return the import error of an optional library, with the command that installs it."""
    line = f"module {error.name!r} is not installed: {install_command(extra)}"
    return ModuleNotFoundError(line, name=error.name, path=error.path)


@contextmanager
def errors_of(name: str) -> Iterator[None]:
    """Begin the message of a ``UsageError`` with the name of the part or file that it is about."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None


@contextmanager
def needing(what: str, extra: str) -> Iterator[None]:
    """Turn a failed import of an optional library, missing or unloadable, into a one-line
    ``UsageError``. ``extra`` may be a full command.

    >>> with needing("ssd needs OpenCV", "pip install opencv-python-headless"):
    ...     import opencv_is_not_here
    Traceback (most recent call last):
    wayword.core.errors.UsageError: ssd needs OpenCV: pip install opencv-python-headless
    """
    try:
        yield
    except ModuleNotFoundError:
        remedy = extra if " " in extra else install_command(extra)
        raise UsageError(f"{what}: {remedy}") from None
    except ImportError as error:
        # The package is there but cannot be loaded: often a system library is missing.
        problem = single_line(error, 200)
        packages = [
            package
            for name, package in _DEB_PACKAGES.items()
            if f"{name}.so" in problem
        ]
        remedy = "".join(
            f"; on Debian and Ubuntu: apt-get install {each}" for each in packages
        )
        raise UsageError(f"{what}, which cannot be loaded: {problem}{remedy}") from None


_DEB_PACKAGES = {"libgomp": "libgomp1", "libGL": "libgl1", "libstdc++": "libstdc++6"}
"""Libraries that slim container images lack, and the Debian and Ubuntu packages with them."""
