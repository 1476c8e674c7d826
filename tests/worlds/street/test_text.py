"""The fast reading of even files gives what the reading of any file gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wayword.worlds.street import text as streettext

EVEN = b"aa,7,40.742253,-73.991273,seen\nbb,117,40.742299,-73.991389,unseen\ncc,59,40.7,-73.9,gone"
LINES = [*EVEN.split(b"\n")[:2], b"cc,59,40.742211,-73.991168,gone"]


def test_even_lines_are_read_like_any_lines() -> None:
    text = b"\n".join(LINES)
    fast = streettext._even_nodes(text)
    slow = streettext._any_nodes(Path("nodes.txt"), text, 5)
    assert fast is not None
    assert fast[0] == slow[0] == [b"aa", b"bb", b"cc"]
    for one, other in zip(fast[1:], slow[1:], strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    "text",
    [
        EVEN,  # coordinates of different widths
        b"aa,1,40.7,-73.9,seem",
        b"aa,1,40x7,-73.9,seen",
        b"aa,1x,40.7,-73.9,seen",
        b"aa,1,40.7,-73.9,seen\nb,1,40.7,-73.9,seen",
        b"aa,1,40.7,-73.9,seen\nbb,1,40.7,-73.9",
        b"aa,1,40.7,-73.9,seen\nbb,1,40.7,173.9,seen",
    ],
)
def test_uneven_lines_are_left_to_the_other_reading(text: bytes) -> None:
    assert streettext._even_nodes(text) is None


@pytest.mark.real
def test_the_published_nodes_are_even_and_read_the_same(data: Path) -> None:
    import gzip

    path = data / "touchdown" / "graph" / "nodes.txt.gz"
    text = gzip.decompress(path.read_bytes()).rstrip(b"\n")
    fast, slow = streettext._even_nodes(text), streettext._any_nodes(path, text, 5)
    assert fast is not None
    assert len(fast[0]) == 29_641
    assert fast[0] == slow[0]
    for one, other in zip(fast[1:], slow[1:], strict=True):
        assert np.array_equal(one, other)
