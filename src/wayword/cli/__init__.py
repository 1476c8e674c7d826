"""The command line: parse, call, print. It contains no logic.

The library is imported inside the commands that need it, so that ``wayword --help`` is fast.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from types import FrameType
from typing import Any, NoReturn, TextIO, cast

INTERRUPTED = 130
"""Exit code of a command stopped with Ctrl-C."""
GC_THRESHOLDS = (50_000, 20, 20)
"""Start-up creates hundreds of thousands of permanent objects; with Python's default thresholds,
the garbage collector scans them repeatedly, which takes a fifth of the start-up time."""
RESUMES = "finished episodes are kept; run the same command to resume"
ENDINGS = {
    **dict.fromkeys(("", "run", "reproduce", "demo", "play", "bench"), RESUMES),
    "data": "what was fetched is kept; run the same command to resume",
    "perceive": "what was described is kept; run the same command to resume",
}
"""What a stopped command leaves; the others leave nothing. Empty: the command is not known yet."""


def main() -> None:
    """Run the ``wayword`` command.

    An error that a user can fix is printed in one line, with exit code 2; a defect
    keeps its traceback, as it is to be reported. A stopped command exits as shells
    expect.
    """
    # Before all imports, which take long enough to be interrupted.
    stopped = _stop_as_ctrl_c()
    try:
        from wayword.core.errors import WaywordError
        from wayword.core.limits import check_limits

        check_limits()
        gc.set_threshold(*GC_THRESHOLDS)
        # Libraries write to these without looking.
        for stream in ("stdin", "stdout", "stderr"):
            if getattr(sys, stream) is None:  # closed by `>&-`
                mode = "r" if stream == "stdin" else "w"
                setattr(sys, stream, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        # A sign that the terminal's encoding lacks is shown as "?", and ends no command.
        for output in (sys.stdout, sys.stderr):
            if isinstance(output, io.TextIOWrapper):
                output.reconfigure(errors="replace")
        sys.stderr = cast(TextIO, _Messages(sys.stderr))
        from wayword.cli.app import app

        # In standalone mode Typer would print errors and exit by itself.
        # Named, as a program that imports this module has another name.
        code = app(prog_name="wayword", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except KeyboardInterrupt:
        _end(stopped)
    except WaywordError as error:
        _say(str(error))
        sys.exit(2)
    except SystemExit as end:
        if end.code == INTERRUPTED:  # typer's response to Ctrl-C
            _end(stopped)
        raise
    except Exception as error:
        # A command without arguments shows its help, which is no error of the program.
        if type(error).__name__ == "NoArgsIsHelpError":
            sys.stderr.write(f"{error}\n")
            sys.exit(2)
        # An unknown error keeps its traceback, as it is to be reported.
        if (problem := _problem(error)) is None:
            raise
        _say(problem)
        sys.exit(2)


class _Messages:
    """The error stream, without an error where a log cannot be written.

    On a full disk a run plays on and is complete.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text if there is room, and return its length."""
        with _unless_full():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what is buffered if there is room."""
        with _unless_full():
            self._stream.flush()


@contextmanager
def _unless_full() -> Iterator[None]:
    """Ignore that there is no room for a message; a closed pipe stays an error."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            raise


def _problem(error: Exception) -> str | None:
    """Return an error that a user can fix in one line; None for others.

    By the name of its class, since importing Typer's errors takes long.
    """
    from wayword.core.errors import limit_problem

    # The module of typer's errors depends on its version
    name = type(error).__name__
    if isinstance(error, OSError):
        return _system_problem(error)
    if isinstance(error, MemoryError):
        return "out of memory; lower --concurrency, or raise the limit (ulimit -v)"
    if name == "Abort":  # end of input at a prompt
        return "stopped"
    # Errors of usage, by what they can do.
    if hasattr(error, "format_message"):
        return _usage(error)
    return limit_problem(error)


def _system_problem(error: OSError) -> str:
    """Return an error of the system in one line, with the remedy where there is one."""
    from wayword.core.errors import remedy_of

    where = error.filename or "system"
    remedy = remedy_of(error)
    # Python raises this without a name if the current folder is gone.
    if error.errno == errno.ENOENT and not error.filename:
        where = "the current folder"
        remedy = "it was removed: change to another one"
    line = f"{where}: {error.strerror or error}"
    return f"{line}; {remedy}" if remedy else line


def _usage(error: Any) -> str:
    """Return a usage error (unknown option, missing argument, invalid value) in one line."""
    from wayword.core.errors import near

    # Pydantic's words are for programmers; ours are for users.
    text = error.format_message().rstrip(".").replace("Value error, ", "")
    text = re.sub(r"Input should be a valid (\w+)(, .*)?", r"is not a valid \1", text)
    # A converter's error has the value, which Typer's message of it has not.
    if hasattr(error.__cause__, "errors"):
        given = error.__cause__.errors()[0]["input"]
        text = text.replace(": is not", f": {given!r:.60} is not")
    if choice := re.search(r"'([^']*)' is not one of (.*)", text):
        text += near(choice[1], re.findall(r"'([^']*)'", choice[2]))
    command = error.ctx.command_path if error.ctx else "wayword"
    remedy = f"; see {command} --help"
    if instead := _instead(command, getattr(error, "option_name", ""), error.ctx):
        # What Click finds is alike in letters alone.
        text = text.partition(" (Possible")[0].partition(". Did you")[0]
        return f"{text[:1].lower()}{text[1:]}; {instead}{remedy}"
    if text.endswith("?"):
        text = text.replace(". Did you", "; did you")
        remedy = f" See {command} --help"
    return f"{text[:1].lower()}{text[1:]}{remedy}"


# Words of other programs for an option of ours
_SYNONYMS = {
    "--dataset": "--on",
    "--split": "--on",
    "--num-episodes": "--limit",
    "--n": "--limit",
    "--output": "--out",
}
_OF_REPRODUCE = (
    "a recipe names its own data: --row chooses rows, and `wayword run AGENT --on DATASET` plays "
    "other data"
)
_PRINTING = (
    "wayword table",
    "wayword compare",
    "wayword power",
    "wayword tours",
    "wayword verify",
    "wayword runs",
)
_INSTEAD = {
    ("wayword reproduce", "--on"): _OF_REPRODUCE,
    ("wayword reproduce", "--dataset"): _OF_REPRODUCE,
    ("wayword reproduce", "--split"): _OF_REPRODUCE,
    ("wayword reproduce", "--episodes"): "use --limit, and --row for rows",
    **dict.fromkeys(
        product(_PRINTING, ("-o", "--out", "--output")),
        "the command prints: end it with > FILE",
    ),
}
"""Command and an option that it has not -> what to do."""


def _instead(command: str, option: str, context: Any) -> str:
    """Return what to type for an option that a command has not; empty if unknown."""
    if words := _INSTEAD.get((command, option)):
        return words
    ours = _SYNONYMS.get(option, "")
    taken = (
        {name for each in context.command.params for name in each.opts} if ours else ()
    )
    return f"use {ours}" if ours in taken else ""


def _end(stopped: list[int]) -> NoReturn:
    """Exit with the code of the signal in ``stopped``, or of Ctrl-C if it is empty."""
    command = "".join(sys.argv[1:2])
    left = ENDINGS.get(command)
    _say("; ".join(filter(None, ["stopped", left])))
    # Shells and schedulers expect 128 plus the number of the signal.
    code = 128 + stopped[0] if stopped else INTERRUPTED
    # Only a run has threads; others may be stopped before this module is loaded.
    if "wayword.core.blocking" in sys.modules:
        from wayword.core.blocking import end_process

        end_process(code)
    sys.exit(code)


# Slurm and Grid Engine announce the end of a job by SIGUSR1, SIGUSR2 or SIGXCPU as well.
_STOPPING = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGXCPU")


def _stop_as_ctrl_c() -> list[int]:
    """Handle the signals of schedulers and of a lost terminal like Ctrl-C.

    Returns a list that will receive the signal's number. ``nohup`` still works.
    """
    stopped: list[int] = []
    interrupt = {signal.SIGINT}
    mask = getattr(signal, "pthread_sigmask", None)  # only on POSIX, like SIGHUP
    if mask and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Background jobs of a script (`&`) ignore Ctrl-C. Blocking SIGINT instead keeps its
        # handlers, including asyncio's, so that SIGTERM can still end the command normally.
        mask(signal.SIG_BLOCK, interrupt)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def stop(number: int, frame: FrameType | None) -> None:
        """Note the signal and interrupt the program, also while interrupts are blocked."""
        stopped.append(number)
        if mask:
            mask(signal.SIG_UNBLOCK, interrupt)
        signal.raise_signal(signal.SIGINT)

    for name in _STOPPING:
        number = getattr(signal, name, None)  # Windows has SIGTERM only
        # A handler that someone set, such as `nohup`, is kept.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, stop)
    return stopped


def _say(line: str) -> None:
    """Write a line to the error stream, without secrets and control characters."""
    from wayword.core.secrets import redacted
    from wayword.core.visible import visible

    sys.stderr.write(f"wayword: {visible(redacted(line))}\n")
