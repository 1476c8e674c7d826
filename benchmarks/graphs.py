"""Loading 11 scans with all-pairs distances: against networkx, and from the cache.

The plain version reads the same connectivity files and computes the same all-pairs distances with
networkx, as the common R2R evaluation scripts do. Both must agree to 1e-9. With ``$WAYWORD_DATA``
eleven of the R2R scans are used, small and large ones, otherwise generated files of like size.

Loaded anew, most of the time goes into unzipping and parsing, which the plain version does in the
same way; so the bound is low there, and it is the cache that makes starts fast.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import networkx as nx

from benchmarks._rows import Rows
from wayword.worlds.indoor import graph as viewpoints

SCANS = 11


def plain(path: Path) -> dict[str, dict[str, float]]:
    """All-pairs distances the way the common evaluation scripts compute them."""
    if path.suffix == ".gz":
        text = gzip.decompress(path.read_bytes())
    else:
        text = path.read_bytes()
    records = json.loads(text)
    graph = nx.Graph()
    for here in records:
        if here["included"]:
            graph.add_node(here["image_id"])
            for j, free in enumerate(here["unobstructed"]):
                if free and records[j]["included"]:
                    away = _away(here["pose"], records[j]["pose"])
                    graph.add_edge(
                        here["image_id"], records[j]["image_id"], weight=away
                    )
    return dict(nx.all_pairs_dijkstra_path_length(graph))


def _away(one: list[float], other: list[float]) -> float:
    return math.dist((one[3], one[7], one[11]), (other[3], other[7], other[11]))


def files(folder: Path) -> tuple[list[Path], str]:
    """The scans to load, and where they are from."""
    data = os.environ.get("WAYWORD_DATA")
    if data:
        there = sorted(Path(data, "r2r", "connectivity").glob("*_connectivity.json*"))
        if len(there) >= SCANS:
            # every eighth of ninety: small and large ones, as the val_unseen scans are
            return there[:: len(there) // SCANS][:SCANS], "R2R"
    return [_generated(folder, number) for number in range(SCANS)], "generated"


def _generated(folder: Path, number: int, places: int = 117) -> Path:
    rng = random.Random(number)
    at = [(rng.uniform(0, 30), rng.uniform(0, 30), 1.5) for _ in range(places)]
    records: list[dict[str, Any]] = []
    for i, (x, y, z) in enumerate(at):
        nearest = set(
            sorted(range(places), key=lambda j, i=i: math.dist(at[i], at[j]))[1:5]
        )
        pose = [1, 0, 0, x, 0, 1, 0, y, 0, 0, 1, z, 0, 0, 0, 1]
        free = [j in nearest for j in range(places)]
        records.append(
            {
                "image_id": f"viewpoint{i:023d}",
                "pose": pose,
                "visible": free,
                "included": True,
                "unobstructed": free,
            }
        )
    path = folder / f"scan{number}_connectivity.json.gz"
    path.write_bytes(gzip.compress(json.dumps(records).encode()))
    return path


def best(work: Any, rounds: int = 3) -> tuple[float, Any]:
    """The least processor time of some rounds, and what the work gave."""
    times = []
    given = None
    for _ in range(rounds):
        began = time.process_time()
        given = work()
        times.append(time.process_time() - began)
    return min(times), given


def main() -> int:
    """Print both ratios; 1 when a bound is missed."""
    with tempfile.TemporaryDirectory() as scratch:
        cache = Path(scratch, "cache")
        paths, origin = files(Path(scratch))
        slow, expected = best(lambda: [plain(path) for path in paths], rounds=2)
        fresh, graphs = best(lambda: [viewpoints.load(path) for path in paths])
        for path in paths:
            viewpoints.load(path, cache)
        cached, again = best(
            lambda: [viewpoints.load(path, cache) for path in paths], rounds=9
        )
        for graph, other, table in zip(graphs, again, expected, strict=True):
            for start, row in table.items():
                for end, away in row.items():
                    assert abs(graph.distance(start, end) - away) < 1e-9
                    assert graph.distance(start, end) == other.distance(start, end)
    nodes = sum(len(graph.ids) for graph in graphs)
    print(f"{SCANS} {origin} scans, {nodes} viewpoints; plain {1e3 * slow:.0f} ms")
    rows = Rows("graphs")
    rows.add("load_cold", slow / fresh, at_least=7)
    rows.add("load_warm", slow / cached, at_least=200)
    return rows.exit_code()


if __name__ == "__main__":
    sys.exit(main())
