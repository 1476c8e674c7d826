"""``wayword data fetch``: from names of published datasets to files in the data folder."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from wayword.core.errors import UsageError, WaywordError, remedy_of
from wayword.core.files import find_any, folder_of, make_parent, reading, sha256
from wayword.core.visible import count
from wayword.runs.catalog import data_check
from wayword.runs.fetching.download import (
    Expected,
    OnBytes,
    RefusedError,
    download,
    mirrored,
)
from wayword.runs.fetching.forms import FORMS
from wayword.runs.fetching.table import Download, Published, Put, published
from wayword.runs.fetching.unpack import unpack
from wayword.runs.json_lines import Appender

NOT_FETCHED = "not fetched"
SCRATCH = ".fetch"
"""Folder in the data folder for what is not finished; a move from there is atomic."""
CHECKSUM = re.compile(r"^  \S{64}  .*\n", re.MULTILINE)
"""A line of ``data check`` with a file's SHA-256."""
MIRROR = "WAYWORD_MIRROR"
"""Environment variable with the address of a mirror."""


def target_folder(named: Path | None) -> Path:
    """Return the data folder, as of all commands, created if it does not exist.

    Raises ``UsageError`` if it cannot be created.
    """
    folder = _chosen_folder(named)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{folder}: cannot be created: {error.strerror}; set --data FOLDER or WAYWORD_DATA"
        ) from None
    return folder.absolute()


def terms(entry: Published) -> str:
    """Title, size, license, terms and source of an entry, for a user who has to accept them."""
    rows = [f"{entry.name}: {entry.title}"]
    if entry.downloads:
        rows.append(f"  download: {_amount(entry)} to {', '.join(entry.folders)}")
    rows += [
        f"  license:  {entry.license}",
        f"  terms:    {entry.terms}",
        f"  source:   {entry.source}",
    ]
    return "\n".join(rows)


def steps(entry: Published) -> str:
    """Numbered steps by hand of an entry."""
    rows = [f"{entry.name}, by hand:"]
    rows += [f"  {number}. {step}" for number, step in enumerate(entry.steps, 1)]
    return "\n".join(rows)


def listing(folder: Path | None) -> str:
    """All entries of the table: what is here, license, terms, addresses, checksums and steps."""
    present = _chosen_folder(folder)
    blocks = [
        "Published datasets. `wayword data fetch NAME` downloads one from its publisher."
    ]
    for entry in published().values():
        rows = [terms(entry), f"  here:     {_state(entry, present)}"]
        if entry.needs:
            rows.append(f"  needs:    {', '.join(entry.needs)}")
        rows += [f"  file:     {_described(each)}" for each in entry.downloads]
        rows += [f"  by hand:  {step}" for step in entry.steps]
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks)


def bring(
    entry: Published,
    folder: Path,
    report: OnBytes,
    mirror: str = "",
) -> Iterator[str]:
    """Download what is missing of an entry; yield a line for each file or folder, or for a file
    that its publisher refuses.

    Files that are there stay as they are. Raises ``UsageError`` with the remedy if a download
    fails otherwise; what arrived earlier stays, and the next call resumes.
    """
    mirror = mirror or os.environ.get(MIRROR, "")
    scratch = folder / SCRATCH
    with _locked(scratch):
        for each in entry.downloads:
            if each.is_complete(folder):
                yield from _kept(each, folder)
                continue
            try:
                yield from _bring(entry, each, folder, scratch, report, mirror)
            except RefusedError as error:
                places = ", ".join(put.to for put in each.puts)
                yield f"  {places}: {NOT_FETCHED}: {error}"


def checks(entries: Sequence[Published], folder: Path) -> Iterator[tuple[str, bool]]:
    """Run ``data check`` on the splits of entries; yield each report and True if it is good.

    Reports have no checksums: ``data check`` prints them, a hundred for a split of homes.
    """
    for entry in entries:
        for on in entry.checks:
            try:
                text, is_valid = data_check(on, folder, {})
            except WaywordError as error:
                text, is_valid = f"{on}: {error}", False
            yield CHECKSUM.sub("", text), is_valid


def _bring(
    entry: Published,
    each: Download,
    folder: Path,
    scratch: Path,
    report: OnBytes,
    mirror: str,
) -> Iterator[str]:
    """Download, check, unpack and convert one address."""
    # Two addresses of an entry may end in the same name.
    number = entry.downloads.index(each)
    path = scratch / f"{entry.name}-{number}-{each.file_name}"
    expected = Expected(each.size, each.sha256, each.git)
    address = mirrored(each.address, mirror)
    if not path.is_file():
        download(address, path, expected, report)
    try:
        with tempfile.TemporaryDirectory(dir=scratch, prefix="unpack-") as name:
            _place(path, each, folder, Path(name), report)
    except WaywordError:
        # A damaged file would be met again by the next call.
        path.unlink(missing_ok=True)
        raise
    except OSError as error:
        remedy = remedy_of(error, "check the folder's permissions")
        raise UsageError(
            f"{error.filename or folder}: cannot be written: {error.strerror}; {remedy}, then run "
            "the same command again"
        ) from None
    path.unlink(missing_ok=True)
    for put in each.puts:
        yield f"  {put.to}: {_proof(each, put)}"


def _place(
    path: Path,
    each: Download,
    folder: Path,
    scratch: Path,
    report: OnBytes,
) -> None:
    """Move a verified download to its places, unpacked and converted. Raises ``OSError`` or
    ``UsageError``."""
    if each.archive:
        sources = unpack(path, each, scratch / "archive", report)
    else:
        sources = [path]
    for number, (put, source) in enumerate(zip(each.puts, sources, strict=True)):
        result = source
        if put.form:
            out = scratch / f"form-{number}"
            out.mkdir()
            # Content of another form is one line, and is fetched again.
            with reading(each.address):
                FORMS[put.form](source, out)
            result = out
            if not put.count:
                [result] = out.iterdir()  # such a form writes one file
        _move(result, folder / put.to, put)


def _move(result: Path, target: Path, put: Put) -> None:
    """Move a file, or each file of a folder that is not there yet, to its final name."""
    make_parent(target)
    if not put.count:
        result.replace(target)
        return
    # A folder that does not exist yet arrives at once.
    if not target.exists():
        result.replace(target)
        return
    # Files of the user stay, plain or gzipped.
    for path in sorted(result.iterdir()):
        if find_any(target, path.name) is None:
            path.replace(target / path.name)


def _kept(each: Download, folder: Path) -> Iterator[str]:
    """Lines on files that are there already; other content than the published one is named."""
    for put in each.puts:
        note = "is here already"
        path = folder / put.to
        plain = not (each.archive or put.form) and path.is_file()
        if plain and each.sha256 and sha256(path) != each.sha256:
            note += ", with other content than the published file; delete it to fetch that one"
        yield f"  {put.to}: {note}"


def _proof(each: Download, put: Put) -> str:
    """How a file or folder was verified."""
    if each.sha256:
        return "fetched, SHA-256 verified"
    if each.git or put.git:
        return "fetched, Git id verified"
    return "fetched; its publisher states no checksum"


def _amount(entry: Published) -> str:
    """Number of downloads and their size as far as it is known."""
    files = count(len(entry.downloads), "file")
    if not entry.size:
        return f"{files} of unknown size"
    unknown = sum(1 for each in entry.downloads if not each.size)
    more = f" and {unknown} of unknown size" if unknown else ""
    return f"{files}, {entry.size / 1e6:,.1f} MB{more}"


def _state(entry: Published, folder: Path) -> str:
    """What of an entry is in the data folder."""
    if not entry.downloads:
        return "see the steps by hand"
    total = len(entry.downloads)
    missing = len(entry.missing(folder))
    if not missing:
        return "complete"
    return f"{total - missing} of {total} downloads; `wayword data fetch {entry.name}`"


def _described(each: Download) -> str:
    """Address, size, checksum and places of a download."""
    parts = [each.address]
    if each.size:
        parts.append(f"{each.size:,} bytes")
    if each.sha256:
        parts.append(f"sha256 {each.sha256}")
    elif each.git:
        parts.append(f"git {each.git}")
    for put in each.puts:
        parts.append(f"-> {put.to}")
        if put.git:
            parts.append(f"git {put.git}")
    return "  ".join(parts)


def _chosen_folder(named: Path | None) -> Path:
    """The data folder, which need not exist. Raises ``UsageError`` where the user has none."""
    if folder := named or folder_of("WAYWORD_DATA"):
        return folder
    from platformdirs import user_data_path

    try:
        return user_data_path("wayword")
    except RuntimeError:  # a container's user without an entry in passwd, and no $HOME
        raise UsageError("no data folder; set --data FOLDER or WAYWORD_DATA") from None


@contextmanager
def _locked(scratch: Path) -> Iterator[None]:
    """Hold the lock of the scratch folder. Raises ``UsageError`` if another process holds it."""
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        lock = Appender(scratch / "lock")
    except OSError as error:
        raise UsageError(
            f"{scratch}: cannot be written: {error.strerror}; {remedy_of(error, 'set --data')}"
        ) from None
    try:
        # Two processes would mix their bytes in one partial file.
        if not lock.lock():
            raise UsageError(
                f"{scratch}: another `wayword data fetch` is at work; wait for its end"
            )
        yield
    finally:
        lock.close()
