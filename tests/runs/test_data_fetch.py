"""``wayword data fetch`` against a server on loopback: cuts, lies and bad archives."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import socket
import ssl
import tarfile
import zipfile
from contextlib import suppress
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import OpenerDirector

import pytest
from typer.testing import CliRunner

from helpers.file_site import CONTENT, Site, quiet, serving
from wayword.cli.app import app
from wayword.core.errors import DataError, UsageError
from wayword.runs.fetching import download as downloading
from wayword.runs.fetching import fetch as fetching
from wayword.runs.fetching import table
from wayword.runs.fetching.download import Expected, download, git_blob, mirrored
from wayword.runs.fetching.fetch import bring, listing, steps
from wayword.runs.fetching.table import Download, Published, Put
from wayword.runs.fetching.unpack import git_tree


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """No mirror or proxy of the user's."""
    monkeypatch.delenv("WAYWORD_MIRROR", raising=False)
    monkeypatch.setenv("no_proxy", "*")


def fetched(site: Site, folder: Path, tries: int = 4, **expected: str | int) -> Path:
    """Download the site's content, without pauses."""
    known = Expected(**expected)  # type: ignore[arg-type]
    return download(site.address, folder / "a.json", known, quiet, tries, 0.0)


def sha(content: bytes = CONTENT) -> str:
    """SHA-256 of a content."""
    return hashlib.sha256(content).hexdigest()


def names(folder: Path) -> list[str]:
    """Names of all files below a folder."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_cut_download_asks_for_the_rest(tmp_path: Path) -> None:
    with serving(Site(cuts=[4000, 3000])) as site:
        path = fetched(site, tmp_path, sha256=sha())
    assert path.read_bytes() == CONTENT
    assert site.ranges_requested == ["", "bytes=4000-", "bytes=7000-"]
    assert names(tmp_path) == ["a.json"]


def test_the_progress_of_a_resumed_download_counts_the_bytes_that_are_there(
    tmp_path: Path,
) -> None:
    seen: list[tuple[int, int]] = []
    with serving(Site(cuts=[4000])) as site:
        for tries in (1, 1):
            with suppress(UsageError):
                download(
                    site.address,
                    tmp_path / "a.json",
                    Expected(),
                    lambda name, received, total: seen.append((received, total)),
                    tries,
                )
    assert seen == [(4000, len(CONTENT)), (len(CONTENT), len(CONTENT))]


def test_a_later_call_resumes_where_the_last_one_gave_up(tmp_path: Path) -> None:
    with serving(Site(cuts=[4000])) as site:
        with pytest.raises(
            UsageError, match=r"cut at 0\.0 of 0\.0 MB .*; run the same command"
        ):
            fetched(site, tmp_path, tries=1)
        assert names(tmp_path) == ["a.json.part", "a.json.part.json"]
        assert fetched(site, tmp_path).read_bytes() == CONTENT
    assert site.ranges_requested == ["", "bytes=4000-"]


@pytest.mark.parametrize(
    ("change", "requests"),
    [
        # The whole file as it comes, without another request
        ("no ranges", ["bytes=4000-"]),
        ("no Content-Range", ["bytes=4000-", ""]),
        ("other version", ["bytes=4000-", ""]),
        ("shorter", ["bytes=4000-", ""]),
    ],
)
def test_a_download_that_cannot_resume_starts_again(
    change: str, requests: list[str], tmp_path: Path
) -> None:
    with serving(Site(cuts=[4000])) as site:
        with pytest.raises(UsageError):
            fetched(site, tmp_path, tries=1)
        site.ranges = change != "no ranges"
        site.quirk = change
        if change == "other version":
            site.etag, site.content = '"two"', CONTENT[::-1]
        if change == "shorter":
            site.etag, site.content = '"two"', CONTENT[:4000]
        assert fetched(site, tmp_path).read_bytes() == site.content
    assert site.ranges_requested[1:] == requests


def test_without_a_version_or_a_checksum_nothing_is_resumed(tmp_path: Path) -> None:
    with serving(Site(cuts=[4000], etag="")) as site:
        assert fetched(site, tmp_path).read_bytes() == CONTENT
    assert site.ranges_requested == ["", ""]


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ({"sha256": sha(b"other")}, "SHA-256 "),
        ({"git": "0" * 40}, "Git id "),
        ({"size": 99_999}, "10,240 bytes instead of the published 99,999"),
        ({"size": 5}, "more than the published 5 bytes"),
    ],
)
def test_wrong_content_is_deleted(
    expected: dict[str, str | int], problem: str, tmp_path: Path
) -> None:
    # A file that is longer than published is stopped while it arrives.
    with serving(Site()) as site, pytest.raises(UsageError, match=problem):
        fetched(site, tmp_path, tries=1, **expected)
    assert not (tmp_path / "a.json").exists()


@pytest.mark.parametrize(
    ("site", "problem"),
    [
        (
            Site(b"<html>log in</html>", "text/html"),
            "sent a web page in place of the file",
        ),
        (Site(b"\n<!DOCTYPE html><p>log in"), "sent a web page in place of the file"),
        (Site(status=404), "HTTP 404 Not Found; fetch it by hand"),
        (Site(status=503), r"cut at 0\.0 MB \(HTTP 503 "),
    ],
)
def test_an_answer_that_is_no_file_leaves_nothing(
    site: Site, problem: str, tmp_path: Path
) -> None:
    with serving(site), pytest.raises(UsageError, match=problem) as raised:
        fetched(site, tmp_path, tries=2)
    assert "\n" not in str(raised.value)
    assert names(tmp_path) == []


def test_a_cut_before_the_first_byte_names_the_published_size(tmp_path: Path) -> None:
    problem = r"cut at 0\.0 of 3\.0 MB \(HTTP 503 "
    with serving(Site(status=503)) as site, pytest.raises(UsageError, match=problem):
        fetched(site, tmp_path, tries=1, size=3_000_000)


def test_a_server_that_is_away_and_a_full_disk_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(Site()) as site:
        pass
    with pytest.raises(UsageError, match=r"HTTPS_PROXY|run the same command"):
        fetched(site, tmp_path, tries=1)
    monkeypatch.setattr(downloading, "SPARE_BYTES", 1 << 60)
    with serving(Site()) as site, pytest.raises(UsageError, match="free some space"):
        fetched(site, tmp_path)
    assert names(tmp_path) == []


NETWORK_ERRORS = (
    ssl.SSLError("record layer failure"),
    OSError(errno.EHOSTUNREACH, "No route to host"),
    OSError(errno.ENETUNREACH, "Network is unreachable"),
    ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
)


@pytest.mark.parametrize("step", ["open", "read"])
@pytest.mark.parametrize("error", NETWORK_ERRORS)
def test_an_error_of_the_network_is_none_of_the_disk(
    error: OSError, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner: Any = {"open": OpenerDirector, "read": HTTPResponse}[step]
    works = getattr(owner, step)
    errors = [error]

    def failing(*args: Any, **options: Any) -> Any:
        if errors:
            raise errors.pop()
        return works(*args, **options)

    monkeypatch.setattr(owner, step, failing)
    with serving(Site()) as site:
        assert fetched(site, tmp_path, tries=2).read_bytes() == CONTENT
        errors.append(error)
        with pytest.raises(UsageError, match="the connection was cut at"):
            fetched(site, tmp_path, tries=1)


@pytest.mark.parametrize(
    ("reason", "requests"),
    [
        (OSError(errno.EHOSTUNREACH, "No route to host"), 3),
        (OSError(errno.ENETUNREACH, "Network is unreachable"), 3),
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure"), 3),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), 3),
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), 1),
        (ssl.SSLCertVerificationError("self-signed certificate"), 1),
    ],
)
def test_a_host_out_of_reach_gets_another_request_if_that_may_help(
    reason: OSError, requests: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = []

    def unreachable(*args: Any, **options: Any) -> None:
        addresses.append(args)
        raise URLError(reason)

    monkeypatch.setattr(OpenerDirector, "open", unreachable)
    with pytest.raises(UsageError, match=r"cannot be reached \(.*HTTPS_PROXY"):
        fetched(Site(address="https://example.org/a.json"), tmp_path, tries=3)
    assert len(addresses) == requests


# Archives.


def tarred(members: dict[str, bytes], links: dict[str, str] | None = None) -> bytes:
    """A gzipped tar archive of files and symbolic links."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for name, target in (links or {}).items():
            link = tarfile.TarInfo(name)
            link.type = tarfile.SYMTYPE
            link.linkname = target
            tar.addfile(link)
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return raw.getvalue()


def zipped(members: dict[str, bytes]) -> bytes:
    """A zip archive."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return raw.getvalue()


def entry(address: str, **more: object) -> Published:
    """A dataset of one archive, of which the folder ``graphs`` is kept."""
    fields = {"archive": "tar", "most_files": 3, "most_bytes": 100, **more}
    put = Put("r2r/graphs", member="*/graphs", count=2)
    archive = Download(address, (put,), **fields)  # type: ignore[arg-type]
    return Published(
        "small", "a test", "MIT", "None.", "https://example.org", (archive,)
    )


GOOD = {"top/graphs/a.json": b"1", "top/graphs/b.json": b"2", "top/x.py": b"3"}


def test_a_refused_file_does_not_keep_the_others_from_coming(tmp_path: Path) -> None:
    with serving(Site(status=404)) as away, serving(Site()) as site:
        files = (
            Download(away.address, (Put("b"),)),
            Download(site.address, (Put("a"),)),
        )
        small = Published("small", "", "", "", "", files)
        lines = list(bring(small, tmp_path, quiet))
    assert lines[0].startswith("  b: not fetched: http://127.0.0.1:")
    assert "HTTP 404" in lines[0]
    assert lines[1].startswith("  a: fetched")
    assert small.missing(tmp_path) == [files[0]]


@pytest.mark.parametrize(
    "published", [{"size": 99_999}, {"sha256": sha(b"other")}, {"git": "0" * 40}]
)
def test_content_that_the_table_does_not_state_is_not_put_in_place(
    published: dict[str, Any], tmp_path: Path
) -> None:
    with serving(Site()) as site:
        file = Download(site.address, (Put("a"),), **published)
        small = Published("small", "", "", "", "", (file,))
        with pytest.raises(UsageError, match="wrong content: "):
            list(bring(small, tmp_path, quiet))
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("published", "proof"),
    [
        ({"sha256": sha()}, "fetched, SHA-256 verified"),
        ({"git": "b40e4ddb"}, "fetched, Git id verified"),
        ({}, "fetched; its publisher states no checksum"),
    ],
)
def test_a_fetched_file_is_named_with_how_it_was_verified(
    published: dict[str, Any], proof: str, tmp_path: Path
) -> None:
    if "git" in published:
        (tmp_path / "content").write_bytes(CONTENT)
        published = {"git": git_blob(tmp_path / "content")}
    with serving(Site()) as site:
        file = Download(site.address, (Put("a"),), **published)
        small = Published("small", "", "", "", "", (file,))
        (line,) = bring(small, tmp_path, quiet)
    assert line == f"  a: {proof}"


def test_an_archive_is_unpacked_where_the_table_says(tmp_path: Path) -> None:
    # A file of the user stays as it is.
    (tmp_path / "r2r" / "graphs").mkdir(parents=True)
    (tmp_path / "r2r" / "graphs" / "b.json").write_bytes(b"mine")
    with serving(Site(tarred(GOOD))) as site:
        first = list(bring(entry(site.address), tmp_path, quiet))
        again = list(bring(entry(site.address), tmp_path, quiet))
    assert "fetched" in first[0]
    assert "here already" in again[0]
    assert len(site.ranges_requested) == 1
    assert (tmp_path / "r2r/graphs/a.json").read_bytes() == b"1"
    assert (tmp_path / "r2r/graphs/b.json").read_bytes() == b"mine"
    assert names(tmp_path) == ["a.json", "b.json", "lock"]


@pytest.mark.parametrize("mine", ["b.json", "b.json.gz"])
def test_files_of_the_user_stay_plain_or_gzipped(mine: str, tmp_path: Path) -> None:
    folder = tmp_path / "r2r" / "graphs"
    folder.mkdir(parents=True)
    (folder / mine).write_bytes(b"mine")
    with serving(Site(tarred(GOOD))) as site:
        list(bring(entry(site.address), tmp_path, quiet))
    assert (folder / mine).read_bytes() == b"mine"
    assert names(folder) == ["a.json", mine]


def test_a_download_is_not_taken_for_another_of_the_same_name(tmp_path: Path) -> None:
    """As when a session was killed before the file was moved to its place."""
    with serving(Site(CONTENT)) as one, serving(Site(CONTENT[::-1])) as other:
        files = tuple(
            Download(site.address, (Put(name),))
            for site, name in ((one, "a"), (other, "b"))
        )
        assert files[0].file_name == files[1].file_name
        small = Published("small", "", "", "", "", files)
        scratch = tmp_path / fetching.SCRATCH
        scratch.mkdir()
        (scratch / f"small-0-{files[0].file_name}").write_bytes(CONTENT)
        (tmp_path / "a").write_bytes(b"by hand")
        list(bring(small, tmp_path, quiet))
    assert (tmp_path / "a").read_bytes() == b"by hand"
    assert (tmp_path / "b").read_bytes() == CONTENT[::-1]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (tarred({"top/graphs/../../../evil": b"1"}), "unsafe member"),
        (tarred({"top/graphs/c:\\evil": b"1"}), "unsafe member"),
        (tarred({}, {"top/graphs/link": "/etc/passwd"}), "unsafe member"),
        (tarred({"top/graphs/a/b": b"1", "top/graphs/a": b"1"}), "twice"),
        (tarred({f"top/graphs/{n}": b"1" for n in range(4)}), "more files or bytes"),
        (tarred({"top/graphs/zeros": bytes(1 << 20)}), "more files or bytes"),
        (tarred({"top/elsewhere/a": b"1"}), "contains no folder graphs"),
        (tarred(GOOD)[:-30], "not a readable tar archive"),
        (b"no archive", "not a readable tar archive"),
    ],
)
def test_an_evil_or_damaged_archive_leaves_nothing(
    content: bytes, problem: str, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    with serving(Site(content)) as site, pytest.raises(UsageError, match=problem):
        list(bring(entry(site.address), folder, quiet))
    assert names(tmp_path) == ["lock"]


def test_a_zip_archive_is_held_to_the_same_rules(tmp_path: Path) -> None:
    evil = zipped({"top/graphs/../../evil": b"1"})
    with serving(Site(evil)) as site, pytest.raises(UsageError, match="unsafe"):
        list(bring(entry(site.address, archive="zip"), tmp_path, quiet))
    with serving(Site(zipped({"/": b"", **GOOD}))) as site:
        list(bring(entry(site.address, archive="zip"), tmp_path, quiet))
    assert names(tmp_path) == ["a.json", "b.json", "lock"]


def test_git_ids_are_those_of_git(tmp_path: Path) -> None:
    """Of `git hash-object` and `git write-tree`, sorted as Git does."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_bytes(b"")
    (tmp_path / "a.json").write_bytes(b"{}\n")
    assert git_blob(tmp_path / "a" / "x") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert git_blob(tmp_path / "a.json") == "0967ef424bce6791893e9a57bb952f80fd536e93"
    assert git_tree(tmp_path) == "d1208cdefb926eb6e8b81bdceb97f7afd31a5074"


# The command.


def invoke(*arguments: str) -> tuple[int, str]:
    """Exit code and output of ``wayword data …``."""
    done = CliRunner().invoke(app, ["data", *arguments])
    return done.exit_code, f"{done.output}{done.exception or ''}"


def test_terms_must_be_accepted_and_steps_are_printed(tmp_path: Path) -> None:
    code, text = invoke("fetch", "r2r", "--data", str(tmp_path / "data"))
    assert code != 0
    assert "Terms of Use" in text
    assert "must be accepted; add --accept-terms" in text
    assert names(tmp_path) == []
    code, text = invoke("fetch", "virtualhome", "--data", str(tmp_path))
    assert code == 1
    assert "1. Clone xavierpuigf/watch_and_help" in text


@pytest.mark.parametrize("valid", [True, False])
def test_steps_are_printed_until_their_splits_are_valid(
    valid: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Published(
        "made", "a test", "MIT", "None.", "here", checks=("a:b",), steps=("Run it.",)
    )
    monkeypatch.setattr(table, "published", lambda: {"made": made})
    monkeypatch.setattr(fetching, "data_check", lambda *given: ("a:b: 1", valid))
    code, text = invoke("fetch", "made", "--data", str(tmp_path))
    assert (code, "Run it." in text) == ((0, False) if valid else (1, True))


@pytest.mark.parametrize(
    ("download", "put", "content", "is_foreign"),
    [
        ({"sha256": sha()}, {}, b"mine", True),
        ({"sha256": sha()}, {}, CONTENT, False),
        ({}, {}, b"mine", False),
        ({"sha256": sha(), "archive": "zip"}, {"member": "a"}, b"mine", False),
        ({"sha256": sha()}, {"form": "boxes"}, b"mine", False),
    ],
    ids=["changed", "as published", "without checksum", "unpacked", "converted"],
)
def test_content_is_compared_only_with_a_checksum_of_this_very_file(
    download: dict[str, Any],
    put: dict[str, str],
    content: bytes,
    is_foreign: bool,
    tmp_path: Path,
) -> None:
    (tmp_path / "a.json").write_bytes(content)
    file = Download("https://example.org/a", (Put("a.json", **put),), **download)
    entry = Published("small", "a test", "MIT", "None.", "here", (file,))
    (line,) = bring(entry, tmp_path, quiet)
    assert line.startswith("  a.json: is here already")
    assert ("other content than the published file" in line) == is_foreign
    assert (tmp_path / "a.json").read_bytes() == content


def test_fetched_data_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Content from a mirror; the check of a split that is not there ends with code 1."""
    routes = b'{"id": 1}\n'
    put = Put("towns_x/dev.json")
    file = Download("https://example.org/dev.json", (put,), sha256=sha(routes))
    small = Published(
        "small", "a test", "MIT", "None.", "here", (file,), checks=("r2r:val_seen",)
    )
    monkeypatch.setattr(table, "published", lambda: {"small": small})
    with serving(Site(routes)) as site:
        mirror = site.address.removesuffix("/data/a.json")
        arguments = ("fetch", "small", "--data", str(tmp_path), "--mirror", mirror)
        code, text = invoke(*arguments, "--accept-terms")
        assert code == 1
        assert "towns_x/dev.json: fetched, SHA-256 verified" in text
        assert "r2r:val_seen: " in text
        # Nothing is missing any more, so there is nothing to accept; a good check ends well.
        report = f"  {'0' * 64}  /a.json\nr2r:val_seen: 1 episodes"
        monkeypatch.setattr(fetching, "data_check", lambda *given: (report, True))
        code, text = invoke(*arguments)
    assert code == 0
    assert "towns_x/dev.json: is here already" in text
    assert "r2r:val_seen: 1 episodes" in text
    assert "0000" not in text
    (tmp_path / "towns_x" / "dev.json").write_bytes(b"mine")
    assert "other content than the published file" in invoke(*arguments)[1]
    assert "no published dataset is called 'smal'" in invoke("fetch", "smal")[1]


def test_a_mirror_has_the_layout_of_wget() -> None:
    address = "https://example.org/data/a.json?dl=1"
    assert mirrored(address, "") == address
    assert mirrored(address, "http://m/x/") == "http://m/x/example.org/data/a.json"
    # Two ports of a host are two sites.
    other = mirrored("https://example.org:8443/a.json", "http://m")
    assert other == "http://m/example.org:8443/a.json"
    with pytest.raises(UsageError, match="must begin with http"):
        mirrored(address, "file:///etc")


# The table.


def test_every_entry_of_the_table_is_complete(tmp_path: Path) -> None:
    entries = table.published().values()
    # A folder that does not exist yet has nothing.
    text = listing(tmp_path / "new")
    for each in entries:
        assert each.license
        assert each.terms
        assert each.source.startswith("https://")
        assert each.downloads or each.steps
        assert f"{each.name}: {each.title}" in text
        assert steps(each).count("\n") == len(each.steps)
        for file in each.downloads:
            assert file.address.startswith("https://")
            assert bool(file.archive) == bool(file.most_bytes and file.most_files)
            assert len(file.sha256) in (0, 64)
            assert len(file.git) in (0, 40)
            for put in file.puts:
                assert ".." not in put.to
                assert not put.to.startswith("/")
                assert bool(file.archive) == bool(put.member)
    needed = [each.name for each in table.selected(["reverie:val_seen", "r2r"])]
    assert needed == ["connectivity", "r2r", "reverie"]


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("ithor_scenes", b'{"kitchens": [[5]]}'),
        ("robothor_scenes", b'{"robothor": [[]]}'),
        ("episodes", gzip.compress(b"P1\n.")),  # a reference to an object elsewhere
        ("episodes", gzip.compress(b"h\x05.")),  # a value that was not stored
        ("episodes", gzip.compress(b"")[:10] + b"\xff" * 20),
    ],
    ids=["object", "scenes", "elsewhere", "not stored", "damaged"],
)
def test_content_of_another_form_is_one_line_and_is_fetched_anew(
    form: str, content: bytes, tmp_path: Path
) -> None:
    with serving(Site(content)) as site:
        file = Download(site.address, (Put("a", form=form),))
        small = Published("small", "", "", "", "", (file,))
        for _ in range(2):
            with pytest.raises(DataError) as raised:
                list(bring(small, tmp_path, quiet))
            assert "\n" not in str(raised.value)
    assert len(site.ranges_requested) == 2


def test_a_length_that_is_no_number_is_taken_as_unknown(tmp_path: Path) -> None:
    with serving(Site(length="many")) as site:
        assert fetched(site, tmp_path).read_bytes() == CONTENT
