"""A resumed download has the bytes of one answer only, and a page is no data."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from helpers.file_site import CONTENT, Site, quiet, serving
from wayword.core.errors import UsageError
from wayword.runs.fetching.download import Expected, RefusedError, download

TABLE = Path(__file__).with_name("cases.toml")
CASES = tomllib.loads(TABLE.read_text(encoding="utf-8"))["case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_bytes_of_two_answers_are_not_mixed(
    case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    path = tmp_path / "a.json"
    with serving(Site(cuts=[4000])) as site:
        with pytest.raises(UsageError):
            download(site.address, path, Expected(), quiet, tries=1)
        site.ranges = case.get("ranges", True)
        site.quirk = case.get("quirk", "")
        if page := case.get("page"):
            site.content, site.etag = page.encode(), ""
            with pytest.raises(RefusedError, match="sent a web page"):
                download(site.address, path, Expected(), quiet, tries=1)
            assert not list(tmp_path.iterdir())
        else:
            download(site.address, path, Expected(), quiet, tries=1)
            assert path.read_bytes() == CONTENT
