"""``config.json``: what was run, written once and whole, compared when a run is resumed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from wayword.core.episode import Json
from wayword.core.errors import RecordingError
from wayword.recording.lines import unusable
from wayword.recording.secrets import refuse_secrets
from wayword.recording.values import plain, restore

FORMAT = 1
"""The version of the folder's layout, the field ``format`` of ``config.json``."""

_ABSENT = "(absent)"


def prepared(config: Mapping[str, Any]) -> dict[str, Json]:
    """The config as it will be written. Raises ``RecordingError`` for a secret in it.

    ``config["identity"]`` must be there: the mapping whose every value makes it this run.
    """
    if not isinstance(config.get("identity"), Mapping):
        raise RecordingError("a run's config needs the field 'identity', a mapping")
    written: dict[str, Json] = {"format": FORMAT} | plain(config) | {"format": FORMAT}
    refuse_secrets(written, os.environ)
    return written


def write_config(path: Path, written: dict[str, Json]) -> None:
    """Write it whole or not at all: to a file beside it that is synced and then renamed."""
    beside = path.with_name(f".{path.name}.new")
    text = json.dumps(written, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with beside.open("w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_config(path: Path) -> dict[str, Json]:
    """The config that was written. Raises ``RecordingError``: missing, corrupt, another format."""
    try:
        written = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise RecordingError(f"{path.parent}: is no run folder: it has no {path.name}") from None
    except OSError as error:
        raise unusable(path, error) from error
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"{path}: is not JSON ({error}); give another folder") from error
    if not isinstance(written, dict) or not isinstance(written.get("identity"), dict):
        raise RecordingError(f"{path}: has no field 'identity': no config of a run")
    if written.get("format") != FORMAT:
        raise RecordingError(
            f"{path}: field 'format' is {written.get('format')!r}, and this version of wayword "
            f"reads {FORMAT}; use the version that wrote it, or give another folder"
        )
    return written


def same_run(path: Path, there: dict[str, Json], here: dict[str, Json]) -> None:
    """Raise ``RecordingError`` naming the first field of the identity that differs."""
    theirs, ours = dict(_leaves(there["identity"])), dict(_leaves(here["identity"]))
    for field in [*ours, *theirs]:
        was, now = theirs.get(field, _ABSENT), ours.get(field, _ABSENT)
        if was != now:
            raise RecordingError(
                f"{path}: this folder holds another run: {field!r} was {was!r} and is now {now!r}; "
                "give another folder, or the same settings to go on with this run"
            )


def readable(written: dict[str, Json]) -> dict[str, Any]:
    """The config as the caller gave it, without the layout's own field."""
    return {k: v for k, v in restore(written).items() if k != "format"}


def _leaves(value: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Every innermost value with its dotted path, in written order; lists are values."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else key)
    else:
        yield path, value
