"""Street graphs: what is read, what is refused and how, the cache, and the hop distances."""

from __future__ import annotations

import gzip
import random
from collections import deque
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayword.core.errors import DataError
from wayword.worlds.street.graph import Hops, StreetGraph, build, load

NODES = "aa,117,40.7,-73.9,seen\nbb,118,40.8,-73.8,unseen\ncc,119,40.9,-73.7,gone\n"
LINKS = "aa,10,bb\nbb,190,aa\nbb,300,cc\naa,200,cc\n"


def files(folder: Path, nodes: str = NODES, links: str = LINKS) -> tuple[Path, Path]:
    (folder / "nodes.txt").write_text(nodes)
    (folder / "links.txt").write_text(links)
    return folder / "nodes.txt", folder / "links.txt"


def same(one: StreetGraph, other: StreetGraph) -> bool:
    arrays = ("offsets", "targets", "headings", "yaw", "positions", "areas")
    return one.ids == other.ids and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays
    )


def test_reads_nodes_and_links(tmp_path: Path) -> None:
    graph = load(*files(tmp_path))
    assert graph.ids == ("aa", "bb", "cc")
    assert len(graph) == 3
    assert graph.exits(0) == [(10, 1), (200, 2)], (
        "in the file's order, also where it is not sorted"
    )
    assert graph.exits(1) == [(190, 0), (300, 2)]
    assert [graph.degree(i) for i in range(3)] == [2, 2, 0]
    assert graph.positions[1].tolist() == [40.8, -73.8]
    assert graph.yaw.tolist() == [117, 118, 119]
    assert [graph.area(i) for i in range(3)] == ["seen", "unseen", "gone"]


def test_reads_gzipped_files_windows_line_ends_and_nodes_without_an_area(
    tmp_path: Path,
) -> None:
    nodes = tmp_path / "nodes.txt.gz"
    links = tmp_path / "links.txt.gz"
    plain = "".join(line.rpartition(",")[0] + "\r\n" for line in NODES.splitlines())
    nodes.write_bytes(gzip.compress(plain.encode()))
    links.write_bytes(gzip.compress(LINKS.encode()))
    graph = load(nodes, links)
    assert graph.exits(0) == [(10, 1), (200, 2)]
    assert graph.area(0) == ""


def test_headings_become_integer_degrees_on_the_compass(tmp_path: Path) -> None:
    odd = "aa,-10.4,bb\nbb,360,aa\nbb,725,cc\naa,9.6,cc\n"
    graph = load(*files(tmp_path, links=odd))
    assert [heading for heading, _ in graph.exits(0)] == [350, 10]
    assert [heading for heading, _ in graph.exits(1)] == [0, 5]


ODD_NUMBERS = (
    "-0",
    "00.1",
    "1.",
    ".5",
    "+7",
    "1e-3",
    " 2",
    "1_0",
    "-73.991273",
    "0.1234567890123456789",
)


def test_numbers_are_those_of_float(tmp_path: Path) -> None:
    rng = random.Random(0)
    numbers = [
        *ODD_NUMBERS,
        *(f"{rng.uniform(-90, 90):.{n % 16}f}" for n in range(100)),
    ]
    nodes = "".join(f"p{n},0,{number},0\n" for n, number in enumerate(numbers))
    graph = load(*files(tmp_path, nodes=nodes, links="p0,0,p1\n"))
    expected = [float(number) for number in numbers]
    assert list(map(repr, graph.positions[:, 0].tolist())) == list(map(repr, expected))


BAD_LINKS = {
    "aa,10,zz\n": "links.txt: line 5, field 'to': 'zz' is not a panorama of nodes.txt",
    "zz,10,aa\n": "links.txt: line 5, field 'from': 'zz' is not a panorama of nodes.txt",
    "cc,nan,aa\n": "links.txt: line 5, field 'heading': is not a number: 'nan'",
    "cc,inf,aa\n": "links.txt: line 5, field 'heading': is not a number: 'inf'",
    "cc,east,aa\n": "links.txt: line 5, field 'heading': is not a number: 'east'",
    "cc,,aa\n": "links.txt: line 5, field 'heading': is not a number: ''",
    "aa,10,cc\n": "links.txt: line 5, field 'heading': 'aa' already has a link at 10 "
    "degrees, on line 1",
    "aa,10.2,cc\n": "links.txt: line 5, field 'heading': 'aa' already has a link at 10 "
    "degrees, on line 1",
    "cc,10\n": "links.txt: line 5: must have 3 fields, got 2: 'cc,10'",
    "\ncc,10,aa\n": "links.txt: line 5: must have 3 fields, got 1: ''",
    "cc\naa,20,cc,bb,bb\n": "links.txt: line 5: must have 3 fields, got 1: 'cc'",
}


@pytest.mark.parametrize("line", BAD_LINKS)
def test_bad_links_are_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(DataError) as caught:
        load(*files(tmp_path, links=LINKS + line))
    assert str(caught.value) == f"{tmp_path}/{BAD_LINKS[line]}"


BAD_NODES = {
    "aa,1,2,3,seen\n": "nodes.txt: line 4, field 'panorama': is a duplicate: 'aa'",
    ",1,2,3,seen\n": "nodes.txt: line 4, field 'panorama': is empty",
    "dd,nan,2,3,seen\n": "nodes.txt: line 4, field 'yaw': is not a number: 'nan'",
    "dd,1,north,3,seen\n": "nodes.txt: line 4, field 'lat': is not a number: 'north'",
    "dd,1,2,inf,seen\n": "nodes.txt: line 4, field 'lng': is not a number: 'inf'",
    "dd,1,2,3,sean\n": "nodes.txt: line 4, field 'area': must be seen, unseen or gone, got 'sean'",
    "dd,1,2,3\n": "nodes.txt: line 4: must have 5 fields, got 4: 'dd,1,2,3'",
    "dd\0,1,2,3,seen\n": "nodes.txt: contains zero bytes, or a field of over 255 characters; "
    "fetch it again",
    f"{256 * 'd'},1,2,3,seen\n": "nodes.txt: contains zero bytes, or a field of over 255 "
    "characters; fetch it again",
}


@pytest.mark.parametrize("line", BAD_NODES)
def test_bad_nodes_are_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(DataError) as caught:
        load(*files(tmp_path, nodes=NODES + line))
    assert str(caught.value) == f"{tmp_path}/{BAD_NODES[line]}"


def test_missing_empty_and_cut_files_are_named(tmp_path: Path) -> None:
    nodes, links = files(tmp_path)
    with pytest.raises(
        DataError, match=r"absent\.txt: cannot be read .*; check its name"
    ):
        load(nodes, tmp_path / "absent.txt")
    cut = tmp_path / "links.txt.gz"
    cut.write_bytes(gzip.compress(LINKS.encode())[:-9])
    with pytest.raises(DataError, match=r"links\.txt\.gz: is incomplete"):
        load(nodes, cut)
    nodes.write_text("\n")
    with pytest.raises(DataError, match=r"nodes\.txt: contains no panoramas"):
        load(nodes, links)
    nodes.write_text("just,text\n")
    with pytest.raises(
        DataError, match=r"nodes\.txt: line 1: must have 4 fields, got 2"
    ):
        load(nodes, links)


def test_a_graph_may_have_no_links(tmp_path: Path) -> None:
    graph = load(*files(tmp_path, links=""))
    assert graph.exits(2) == []


def test_the_cache_gives_the_same_graph_and_notices_change_and_damage(
    tmp_path: Path,
) -> None:
    nodes, links = files(tmp_path)
    cache = tmp_path / "cache"
    first = load(nodes, links, cache)
    (stored,) = cache.glob("*.arrays")
    assert same(load(nodes, links, cache), first)

    full = stored.read_bytes()
    for damaged in (b"", full[:40], full[:-1], full[:-1] + b"x", b"y" + full[1:]):
        stored.write_bytes(damaged)
        assert same(load(nodes, links, cache), first)
    assert stored.read_bytes() == full, "a damaged file is written anew"

    links.write_text(LINKS.replace("300", "301"))
    assert load(nodes, links, cache).exits(1) == [(190, 0), (301, 2)]
    assert len(list(cache.glob("*.arrays"))) == 2


def test_hop_distances_are_cached_and_a_damaged_file_is_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = files(tmp_path)
    cache = tmp_path / "cache"
    hops = load(*paths, cache).hops([0, 1, 2], 2)
    (stored,) = cache.glob("*.hops")
    full = stored.read_bytes()
    stored.write_bytes(full[:-1])
    assert np.array_equal(load(*paths, cache).hops([0, 1, 2], 2), hops)
    assert stored.read_bytes() == full, "a damaged file is written again"
    monkeypatch.setattr("wayword.worlds.street.graph.all_pairs", None)
    assert np.array_equal(load(*paths, cache).hops([0, 1, 2], 2), hops)


def test_half_degrees_round_to_even_as_in_the_released_navigators(
    tmp_path: Path,
) -> None:
    graph = load(*files(tmp_path, links="aa,0.5,bb\nbb,1.5,aa\nbb,-0.5,cc\n"))
    assert [graph.exits(i) for i in range(2)] == [[(0, 1)], [(2, 0), (0, 2)]]


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file in the way")
    graph = load(*files(tmp_path), tmp_path / "cache")
    assert graph.ids == ("aa", "bb", "cc")


def plain_hops(ways: list[list[int]], start: int) -> list[float]:
    found = {start: 0}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for there in ways[here]:
            if there not in found:
                found[there] = found[here] + 1
                queue.append(there)
    return [float(found.get(place, np.inf)) for place in range(len(ways))]


def csr(ways: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *map(len, ways)]).astype(np.int32)
    return offsets, np.array([t for around in ways for t in around], np.int32)


@st.composite
def streets(draw: st.DrawFn) -> list[list[int]]:
    """Rows and rings of panoramas, joined at some, with a few one-way links."""
    routes: list[set[int]] = []
    for length in draw(st.lists(st.integers(1, 6), min_size=1, max_size=5)):
        first = len(routes)
        routes += [set() for _ in range(length)]
        for here in range(first, first + length - 1):
            routes[here].add(here + 1)
            routes[here + 1].add(here)
        if length > 2 and draw(st.booleans()):
            routes[first].add(first + length - 1)
            routes[first + length - 1].add(first)
    place = st.integers(0, len(routes) - 1)
    for one, other, both in draw(
        st.lists(st.tuples(place, place, st.booleans()), max_size=6)
    ):
        routes[one].add(other)
        if both:
            routes[other].add(one)
    return [sorted(around) for around in routes]


@settings(max_examples=300, deadline=None)
@given(ways=streets())
def test_hops_are_those_of_a_breadth_first_search(ways: list[list[int]]) -> None:
    hops = Hops(*csr(ways))
    everywhere = np.arange(len(ways))
    expected = [plain_hops(ways, start) for start in range(len(ways))]
    assert hops(everywhere[:, None], everywhere[None, :]).tolist() == expected
    assert Hops(*csr(ways)).table(everywhere, everywhere).tolist() == expected


def grid(side: int) -> list[list[int]]:
    def around(i: int) -> list[int]:
        row, column = divmod(i, side)
        near = [
            (row - 1, column),
            (row + 1, column),
            (row, column - 1),
            (row, column + 1),
        ]
        return [r * side + c for r, c in near if 0 <= r < side and 0 <= c < side]

    return [around(i) for i in range(side * side)]


def test_distances_do_not_depend_on_the_order_in_which_hubs_are_searched() -> None:
    graph = grid(18)  # 324 panoramas, more than two blocks of hubs
    everywhere = np.arange(len(graph))
    hops = Hops(*csr(graph))
    singly = Hops(*csr(graph))
    at_once = hops(everywhere[:, None], everywhere[None, :])
    ends = (323, 17, 160, 0)
    assert [singly(everywhere, end).tolist() for end in ends] == at_once[
        :, ends
    ].T.tolist()
    assert at_once.tolist() == [plain_hops(graph, start) for start in range(len(graph))]


def test_build_refuses_what_load_refuses() -> None:
    with pytest.raises(
        DataError, match=r"town: line 2, field 'to': 'c' is not a panorama"
    ):
        build("town", ["a", "b"], [("a", 0, "b"), ("b", 180, "c")])
