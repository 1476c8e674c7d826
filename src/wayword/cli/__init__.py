"""The command line: parse, call, print. No logic lives here.

Every import of the library happens inside the command that needs it, so that ``wayword --help``
answers at once.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
"""The exit code of a command that was stopped with Ctrl-C."""
SELDOM = (50_000, 20, 20)
"""When Python looks for cycles of garbage: a start makes hundreds of thousands of objects that
stay, and to look through them again and again took a fifth of its time."""
KEPT = "finished episodes are kept, the same command goes on from here"


def main() -> None:
    """The ``wayword`` command. Errors a user can mend are one line on stderr and exit code 2."""
    stopped = _stop_as_ctrl_c()
    try:
        from wayword.core.errors import WaywordError

        gc.set_threshold(*SELDOM)
        _open_streams()
        from wayword.cli.app import app

        app()
    except KeyboardInterrupt:
        _end(stopped)
    except WaywordError as error:
        _say(str(error))
        sys.exit(2)
    except SystemExit as end:
        if end.code == INTERRUPTED:  # typer has turned Ctrl-C into this, without a word
            _end(stopped)
        raise
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        _say(f"{error.filename or 'system'}: {error.strerror or error}")
        sys.exit(2)


def _end(stopped: list[int]) -> NoReturn:
    """Exit as a command that was stopped, by one of these signals or by Ctrl-C."""
    viewing = sys.argv[1:2] == ["view"]  # it plays no episodes
    _say("stopped" if viewing else f"stopped; {KEPT}")
    sys.exit(128 + stopped[0] if stopped else INTERRUPTED)


def _open_streams() -> None:
    """Started with a closed stream (``>&-``), Python has None in its place: write to nowhere."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for good


def _stop_as_ctrl_c() -> list[int]:
    """A cluster's SIGTERM and a lost terminal's SIGHUP end a command as Ctrl-C does.

    Returns the list that the signal's number is put into. ``nohup`` stays as it is.
    """
    stopped: list[int] = []
    interrupt = {signal.SIGINT}
    mask = getattr(signal, "pthread_sigmask", None)  # POSIX alone has it, and SIGHUP
    if mask and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A job that a script started with `&` goes on at Ctrl-C. Blocked instead of ignored, the
        # signal has a handler, asyncio's too, and can end the command in order when it is to end.
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
    sys.stderr.write(f"wayword: {redacted(''.join(shown))}\n")  # nothing that drives a terminal
