"""The command line: parse, call, print. No logic lives here.

Every import of the library happens inside the command that needs it, so that ``wayword --help``
answers at once.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
from types import FrameType
from typing import Any, NoReturn

INTERRUPTED = 130
"""The exit code of a command that was stopped with Ctrl-C."""
SELDOM = (50_000, 20, 20)
"""Thresholds of Python's garbage collector: start-up creates hundreds of thousands of objects that
stay alive, and scanning them repeatedly took a fifth of its time."""
RESUMES = "finished episodes are kept; run the same command to resume"


def main() -> None:
    """The ``wayword`` command. Errors that a user can fix are one line on stderr, exit code 2."""
    stopped = _stop_as_ctrl_c()
    try:
        from wayword.core.errors import WaywordError

        gc.set_threshold(*SELDOM)
        _open_streams()
        from wayword.cli.app import app

        code = app(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except KeyboardInterrupt:
        _end(stopped)
    except WaywordError as error:
        _say(str(error))
        sys.exit(2)
    except SystemExit as end:
        if end.code == INTERRUPTED:  # typer turns Ctrl-C into this silently
            _end(stopped)
        raise
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        _say(f"{error.filename or 'system'}: {error.strerror or error}")
        sys.exit(2)
    except Exception as error:
        kind = type(error).__name__  # typer's errors are in other modules in each of its versions
        if kind == "NoArgsIsHelpError":
            sys.stderr.write(f"{error}\n")
        elif kind == "Abort":  # the end of the input at a prompt
            _say("stopped")
        elif hasattr(error, "format_message"):
            _say(_usage(error))
        else:
            raise
        sys.exit(2)


def _usage(error: Any) -> str:
    """A usage error in one line: an unknown option, a missing argument, a value of another type."""
    text = error.format_message().rstrip(".").replace("Value error, ", "")
    text = re.sub(r"Input should be a valid (\w+)(, .*)?", r"is not a valid \1", text)
    command = error.ctx.command_path if error.ctx else "wayword"
    return f"{text[:1].lower()}{text[1:]}; see {command} --help"


def _end(stopped: list[int]) -> NoReturn:
    """Exit as a command stopped by the first of these signals, or by Ctrl-C."""
    viewing = sys.argv[1:2] == ["view"]  # it plays no episodes
    _say("stopped" if viewing else f"stopped; {RESUMES}")
    sys.exit(128 + stopped[0] if stopped else INTERRUPTED)


def _open_streams() -> None:
    """Replace closed streams (``>&-``), which Python sets to None, by the null device."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for good


def _stop_as_ctrl_c() -> list[int]:
    """Let SIGTERM (from a cluster) and SIGHUP (lost terminal) end a command as Ctrl-C does.

    Returns the list that will receive the signal's number. ``nohup`` still works.
    """
    stopped: list[int] = []
    interrupt = {signal.SIGINT}
    mask = getattr(signal, "pthread_sigmask", None)  # POSIX alone has it, and SIGHUP
    if mask and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A script's background job (`&`) ignores Ctrl-C. Blocking the signal instead of ignoring it
        # keeps its handlers, asyncio's too, so that SIGTERM can still end the command in order.
        mask(signal.SIG_BLOCK, interrupt)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def stop(number: int, frame: FrameType | None) -> None:
        stopped.append(number)
        if mask:
            mask(signal.SIG_UNBLOCK, interrupt)
        signal.raise_signal(signal.SIGINT)

    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, stop)
    return stopped


def _say(line: str) -> None:
    from wayword.core.secrets import redacted

    shown = (c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in line)
    sys.stderr.write(f"wayword: {redacted(''.join(shown))}\n")  # no terminal control codes
