"""The largest things that a user has: processor time, memory, and whether they are linear.

R2R's train split (14,039 episodes) and RoboTHOR's (108,000), RxR's instructions (126,000, made from
R2R's train paths) and a graph of 10,000 viewpoints. Each is opened at half and at full size, in a
process of its own. The time is a multiple of a fixed loop's, see ``_rows.calibrate``; the growth is
the full size's seconds per item as a multiple of the half's. Rows of published data need
``$WAYWORD_DATA``. Records are measured in ``large``.

``python -m benchmarks.scale`` prints the rows and exits with 1 where a bound is missed.
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._rows import Rows, in_loops
from wayword.core import registry
from wayword.worlds.indoor.graph import build

RXR = 126_000
VIEWPOINTS = 10_000


def _records(data: Path) -> list[dict[str, Any]]:
    text = gzip.decompress((data / "r2r/annotations/R2R_train.json.gz").read_bytes())
    records: list[dict[str, Any]] = json.loads(text)
    return records


def _r2r(data: Path, share: float, made: Path) -> int:
    """A split of the first records, next to the published graphs."""
    records = _records(data)
    (made / "r2r/annotations").mkdir(parents=True)
    (made / "r2r/connectivity").symlink_to(data / "r2r/connectivity")
    part = records[: int(share * len(records))]
    (made / "r2r/annotations/R2R_train.json").write_text(json.dumps(part))
    return sum(len(record["instructions"]) for record in part)


def _rxr(data: Path, share: float, made: Path) -> int:
    """Guide annotations: R2R's paths over and over, with instructions of RxR's length."""
    records = _records(data)
    count = int(share * RXR)
    (made / "rxr").mkdir()
    (made / "r2r/annotations").mkdir(parents=True)
    (made / "r2r/connectivity").symlink_to(data / "r2r/connectivity")
    with (made / "rxr/rxr_train_guide.jsonl").open("w") as file:
        for number in range(count):
            record = records[number % len(records)]
            guide = {key: record[key] for key in ("scan", "path", "heading")}
            guide |= {"path_id": record["path_id"], "instruction_id": number}
            text = " ".join(record["instructions"])
            file.write(
                json.dumps({**guide, "language": "en-US", "instruction": text}) + "\n"
            )
    return count


def _robothor(data: Path, share: float, made: Path) -> int:
    """The first files of the train split."""
    episodes = made / "robothor/episodes/train"
    episodes.mkdir(parents=True)
    files = sorted((data / "robothor/episodes/train").iterdir())
    for file in files[: int(share * len(files))]:
        (episodes / file.name).symlink_to(file)
    for file in (data / "robothor").glob("*.json.gz"):
        (made / "robothor" / file.name).symlink_to(file)
    return 0


MAKERS = {"r2r": _r2r, "rxr": _rxr, "robothor": _robothor}


def opened(name: str, data: Path) -> int:
    """Open a train split, and draw its last task; its number of episodes."""
    dataset_class = registry.load("dataset", name)
    dataset = dataset_class("train", data, dataset_class.Settings())
    assert dataset.tasks[len(dataset.tasks) - 1].episode.id
    return len(dataset.tasks)


def _graph(count: int) -> int:
    """A scan on a square grid with four neighbors a viewpoint."""
    side = int(count**0.5)
    number = np.arange(side * side).reshape(side, side)
    east = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    north = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    one_way = np.concatenate([east, north])
    edges = np.concatenate([one_way, one_way[:, ::-1]]).astype(np.int32)
    edges = edges[np.lexsort(edges.T[::-1])]
    y, x = np.divmod(number.ravel(), side)
    positions = np.stack([2.0 * x, 2.0 * y, np.zeros(len(x))], axis=1)
    ids = tuple(str(each) for each in number.ravel().tolist())
    graph = build("grid", ids, positions, edges)
    assert graph.shortest_path("0", ids[-1])[-1] == ids[-1]
    return len(ids)


def measured(name: str, share: float) -> tuple[float, float, int]:
    """Seconds and MiB of a process that opens a share, and the number of its items."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "data"
        made.mkdir()
        if name in MAKERS:
            MAKERS[name](Path(os.environ["WAYWORD_DATA"]).resolve(), share, made)
        command = [sys.executable, "-m", "benchmarks.scale", name, str(share)]
        environment = {
            **os.environ,
            "MADE": str(made),
            "WAYWORD_CACHE": str(Path(folder) / "cache"),
        }
        text = subprocess.check_output(command, env=environment, text=True)
    seconds, mib, count = text.split()
    return float(seconds), float(mib), int(count)


def child(name: str, share: float) -> None:
    """Print processor seconds, MiB and items of this process."""
    began = time.process_time()
    if name in MAKERS:
        count = opened(name, Path(os.environ["MADE"]))
    else:
        count = _graph(int(share * VIEWPOINTS))
    seconds = time.process_time() - began
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{seconds:.4f} {mib:.1f} {count}")


def main() -> int:
    """Print the rows; 1 where a bound is missed."""
    rows = Rows("scale")
    if os.environ.get("WAYWORD_DATA"):
        found = {name: _both(name) for name in MAKERS}
        rows.add("r2r_loops", in_loops(found["r2r"][0]), at_most=65)
        rows.add("r2r_mib", found["r2r"][1], at_most=80)
        rows.add("r2r_growth", found["r2r"][2], at_most=1.3)
        rows.add("rxr_loops", in_loops(found["rxr"][0]), at_most=600)
        rows.add("rxr_mib", found["rxr"][1], at_most=500)
        rows.add("rxr_growth", found["rxr"][2], at_most=1.3)
        rows.add("robothor_loops", in_loops(found["robothor"][0]), at_most=80)
        rows.add("robothor_mib", found["robothor"][1], at_most=92)
        rows.add("robothor_growth", found["robothor"][2], at_most=1.3)
    graph = _both("graph")
    rows.add("graph_loops", in_loops(graph[0]), at_most=70)
    rows.add("graph_mib", graph[1], at_most=104)
    rows.add("graph_growth", graph[2], at_most=1.3)
    return rows.exit_code()


def _both(name: str) -> tuple[float, float, float]:
    """Seconds and MiB at full size, and the growth of seconds an item from half of it."""
    half, _, few = measured(name, 0.5)
    full, mib, many = measured(name, 1.0)
    print(f"  {name:9} {few:8,} {half:6.2f} s   {many:8,} {full:6.2f} s {mib:6.0f} MiB")
    return full, mib, (full / many) / (half / few)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        child(sys.argv[1], float(sys.argv[2]))
        sys.exit(0)
    sys.exit(main())
