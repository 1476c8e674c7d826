"""The command line: parse, call, print. No logic lives here.

Every import of the library happens inside the command that needs it, so that ``wayword --help``
answers at once.
"""

from __future__ import annotations

import sys

INTERRUPTED = 130
"""The exit code of a command that was stopped with Ctrl-C."""


def main() -> None:
    """The ``wayword`` command. Errors a user can mend are one line on stderr and exit code 2."""
    from wayword.cli.app import app
    from wayword.core.errors import WaywordError

    try:
        app()
    except WaywordError as error:
        _say(str(error))
        sys.exit(2)
    except SystemExit as end:
        if end.code == INTERRUPTED:  # typer has turned Ctrl-C into this, without a word
            _say("stopped; finished episodes are kept, the same command goes on from here")
        raise
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        _say(f"{error.filename or 'system'}: {error.strerror or error}")
        sys.exit(2)


def _say(line: str) -> None:
    from wayword.core.secrets import redacted

    sys.stderr.write(f"wayword: {redacted(line)}\n")
