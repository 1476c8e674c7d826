"""The table of published datasets, ``published.toml``: files, addresses, checksums and terms."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from wayword.core.episode import JsonObject
from wayword.core.errors import UsageError, suggest
from wayword.core.files import find_any

TABLE = Path(__file__).with_name("published.toml")


@dataclass(frozen=True)
class Put:
    """A file or folder of the data folder, and its part of a download.

    ``to``: path below the data folder. ``member``: path inside an archive, whose first segment may
    be ``*`` (any one folder) or ``**`` (any depth); empty for a plain file. ``git``: Git's object
    id of the file or folder. ``form``: name of the conversion in ``wayword.runs.fetching.forms``;
    empty if the content stays as published. ``count``: number of files in a complete folder ``to``;
    0 if ``to`` is a file.
    """

    to: str
    member: str = ""
    git: str = ""
    form: str = ""
    count: int = 0

    def is_complete(self, folder: Path) -> bool:
        """True if the data folder has the file, plain or gzipped, or all files of the folder."""
        if not self.count:
            return find_any(folder, self.to.removesuffix(".gz")) is not None
        present = folder / self.to
        return present.is_dir() and sum(1 for _ in present.iterdir()) >= self.count


@dataclass(frozen=True)
class Download:
    """One address, and what its content becomes.

    ``size`` (bytes), ``sha256`` and ``git`` (Git's object id) are 0 or empty where no publisher
    states them. ``archive`` is ``tar`` (gzipped) or ``zip``, or empty for a plain file;
    ``most_files`` and ``most_bytes`` limit what is unpacked.
    """

    address: str
    puts: tuple[Put, ...]
    size: int = 0
    sha256: str = ""
    git: str = ""
    archive: str = ""
    most_files: int = 0
    most_bytes: int = 0

    @property
    def file_name(self) -> str:
        """Last segment of the address, without its query."""
        return PurePosixPath(self.address.partition("?")[0]).name

    def is_complete(self, folder: Path) -> bool:
        """True if the data folder has everything that this download brings."""
        return all(put.is_complete(folder) for put in self.puts)


@dataclass(frozen=True)
class Published:
    """A dataset, or a part that several share.

    ``needs``: names of other entries. ``checks``: splits to check at the end. ``steps``: what to do
    by hand where no address can be fetched; may come on top of downloads.
    """

    name: str
    title: str
    license: str
    terms: str
    source: str
    downloads: tuple[Download, ...] = ()
    needs: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all downloads whose size is known."""
        return sum(download.size for download in self.downloads)

    @property
    def folders(self) -> list[str]:
        """Folders below the data folder that receive files, without repetition."""
        folders = dict[str, None]()
        for download in self.downloads:
            for put in download.puts:
                path = PurePosixPath(put.to)
                folders[str(path if put.count else path.parent)] = None
        return list(folders)

    def missing(self, folder: Path) -> list[Download]:
        """Downloads of which something is not in the data folder."""
        return [each for each in self.downloads if not each.is_complete(folder)]


@cache
def published() -> Mapping[str, Published]:
    """Return all entries of the table by name."""
    raw = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {name: _entry(name, fields) for name, fields in raw.items()}


def selected(names: Iterable[str]) -> list[Published]:
    """Return entries with all that they need, each once, needed ones first. A name may have a
    split, ``r2r:val_seen``. Raises ``UsageError`` for an unknown name."""
    return list(dict.fromkeys(_with_needs(names)))


def _with_needs(names: Iterable[str]) -> Iterator[Published]:
    """Yield entries, each after those that it needs."""
    table = published()
    for given in names:
        name = given.partition(":")[0]
        if name not in table:
            raise UsageError(
                f"no published dataset is called {name!r}; {suggest(name, table)}"
            )
        yield from _with_needs(table[name].needs)
        yield table[name]


def _entry(name: str, fields: JsonObject) -> Published:
    """Return an entry of the TOML file."""
    downloads = [_download(each) for each in fields.get("download", ())]
    return Published(
        name,
        fields["title"],
        fields["license"],
        fields["terms"],
        fields["source"],
        tuple(downloads),
        needs=tuple(fields.get("needs", ())),
        checks=tuple(fields.get("checks", ())),
        steps=tuple(fields.get("steps", ())),
    )


def _download(fields: JsonObject) -> Download:
    """Return a download: either with ``to``, or an archive with ``put``."""
    rest = {key: fields[key] for key in fields if key not in ("put", "to", "form")}
    if "put" in fields:
        puts = [Put(**each) for each in fields["put"]]
    else:
        puts = [Put(fields["to"], form=fields.get("form", ""))]
    return Download(puts=tuple(puts), **rest)
