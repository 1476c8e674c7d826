"""Small trained policy: follows written routes from captions, without a language model.

    wayword run imitation --on houses
    wayword run imitation --on r2r:val_seen --data DATA

It shows what text alone holds, and whether a language model earns its cost: a transformer of about
a million weights over the words of the instruction, the words that describe each direction, and
the walk so far, trained with DAgger (``recipes/imitation`` of the repository).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode
from wayword.core.errors import UsageError, needing
from wayword.core.geometry import sector
from wayword.core.perceiver import Sector
from wayword.core.world import Feedback
from wayword.worlds.indoor.graph import Neighbor
from wayword.worlds.indoor.world import IndoorObservation

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
WEIGHTS = Path(__file__).parents[2] / "weights"
WORD = re.compile(r"[a-z]+|[0-9]+")
PAD, UNKNOWN = 0, 1
"""The first two numbers of a vocabulary: no word, and a word that is not in it."""
LONGEST = {"instruction": 80, "caption": 48, "objects": 16, "summary": 64}
"""Words that are read of each kind of text; the rest is cut off."""
FEATURES = 14
"""Numbers that describe an option beside its words."""


def words(text: str) -> list[str]:
    """The words of a text, lower case, punctuation dropped."""
    return WORD.findall(text.lower())


def numbered(text: Sequence[str], vocabulary: Mapping[str, int], kind: str) -> list[int]:
    """The numbers of words, at most as many as are read of that kind of text; never empty."""
    found = [vocabulary.get(word, UNKNOWN) for word in text[: LONGEST[kind]]]
    return found or [PAD]


def object_words(part: Sector) -> list[str]:
    """The words of the things recorded in a direction, nearest things first."""
    near = sorted(part.sightings, key=lambda seen: (seen.distance or 0.0, seen.name))
    return [word for seen in near for word in words(seen.name)]


def features(
    heading: Floats,
    elevation: Floats,
    length: Floats,
    facing: Floats,
    start: Floats,
    offset: Floats,
    memory: Floats,
    step: int,
) -> Floats:
    """(..., 14) numbers for each option; angles in radians, lengths in metres.

    ``heading``, ``elevation`` and ``length`` (...,) are those of the way, all 0 for stopping;
    ``facing`` and ``start`` the agent's headings now and at first; ``offset`` (..., 3) the way's
    end relative to the first viewpoint (east, north, up); ``memory`` (..., 2) whether the end was
    visited, and whether it is the viewpoint before this one.
    """
    turn, since = heading - facing, heading - start
    moves = (length > 0).astype(np.float32)
    right = offset[..., 0] * np.cos(start) - offset[..., 1] * np.sin(start)
    ahead = offset[..., 0] * np.sin(start) + offset[..., 1] * np.cos(start)
    columns = [
        np.sin(turn) * moves, np.cos(turn) * moves,
        np.sin(2 * turn) * moves, np.cos(2 * turn) * moves,
        np.sin(elevation) * 2, length / 5, memory[..., 0], memory[..., 1],
        right / 10, ahead / 10, offset[..., 2] / 3, np.full_like(turn, step / 10),
        np.sin(since) * moves, np.cos(since) * moves,
    ]  # fmt: skip
    return np.stack(columns, axis=-1).astype(np.float32)


class PolicyWeights:
    """The trained weights: safe to share, since it holds nothing of any walk.

    ``vocabulary`` numbers the words, ``width`` is the length of what is remembered of a step.
    """

    def __init__(self, path: Path) -> None:
        with needing("the trained policy needs onnxruntime", "prior"):
            import onnxruntime  # type: ignore[import-untyped]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # a step is a few million products: more only wait
        options.log_severity_level = 3
        providers = ["CPUExecutionProvider"]
        self._session = onnxruntime.InferenceSession(str(path), options, providers=providers)
        listed = path.with_suffix(".json")
        self.vocabulary = {word: n for n, word in enumerate(json.loads(listed.read_text()))}
        shapes = {one.name: one.shape for one in self._session.get_inputs()}
        self.width = int(shapes["history"][-1])

    def __call__(self, given: Mapping[str, Any]) -> tuple[Floats, Floats]:
        """Scores of the options (Q,), and what is to be remembered of each (Q, D)."""
        scores, kept = self._session.run(None, dict(given))
        return scores[0], kept[0]


@lru_cache(maxsize=2)
def network(path: Path) -> PolicyWeights:
    """The network of a file, read once. Raises ``UsageError`` where that is not possible."""
    if not path.is_file():
        raise UsageError(f"{path}: no such weights; train them, or leave out the setting `weights`")
    return PolicyWeights(path)


@dataclass(frozen=True, slots=True)
class ImitationSettings:
    """``weights``: an ONNX file with its ``.json`` vocabulary beside it; empty: the shipped one."""

    weights: str = ""


class ImitationAgent(Agent):
    """Follows written routes on viewpoint graphs with a small trained network, from text alone.

        wayword run imitation --on houses --limit 20

    At each viewpoint it reads the captions and objects of every direction and the summary, as
    NavGPT does, and scores each way and stopping; the best score is taken. It sees no viewpoint
    that it has not stood at. Needs onnxruntime (extra ``[prior]``), no model and no torch; the
    weights' card is ``wayword/weights/imitation.md``.
    """

    Settings: ClassVar[type[ImitationSettings]] = ImitationSettings
    families: ClassVar[frozenset[str]] = frozenset({"indoor"})

    def __init__(self, settings: ImitationSettings, toolkit: Toolkit) -> None:
        self._network = network(Path(settings.weights or WEIGHTS / "imitation.onnx"))
        self._toolkit = toolkit
        self._words: list[int] = []
        self._walk = Walk()
        self._pending: Floats | None = None
        self._empty = np.zeros((1, 0, self._network.width), dtype=np.float32)

    async def begin(self, episode: Episode) -> None:
        self._words = numbered(words(episode.instruction), self._network.vocabulary, "instruction")
        self._walk, self._pending = Walk(), None

    async def act(self, observation: IndoorObservation, space: ActionSpace) -> Decision | Rejection:
        if self._toolkit.perceiver is None:
            raise UsageError("the trained policy reads captions, and this dataset has none")
        percept = self._toolkit.perceiver.perceive(observation.scene, observation.viewpoint)
        self._walk.arrive(observation)
        known, parts, walk = self._network.vocabulary, percept.sectors, self._walk
        captions = [numbered(words(part.caption), known, "caption") for part in parts]
        objects = [numbered(object_words(part), known, "objects") for part in parts]
        sides = [sector(way.heading, len(parts)) for way in observation.neighbors]
        given = {  # a batch of one
            "words": np.array([self._words], dtype=np.int64),
            "captions": _padded(captions)[None],
            "objects": _padded(objects)[None],
            "summary": np.array([numbered(words(percept.summary), known, "summary")]),
            "rows": np.array([[len(parts), *sides]], dtype=np.int64),
            "geometry": walk.geometry(observation)[None],
            "history": np.stack(walk.history)[None] if walk.history else self._empty,
        }
        scores, kept = self._network(given)
        best = int(np.argmax(scores))
        self._pending = kept[best]
        if best == 0:
            return Decision(STOP)
        way = observation.neighbors[best - 1]
        walk.leave(way)
        return Decision(Action("goto", (way.viewpoint,)))

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        if self._pending is not None:
            self._walk.history.append(self._pending)


def _padded(rows: Sequence[Sequence[int]]) -> Ints:
    """(N, W) numbers, zeros after the end of a row."""
    table = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table


class Walk:
    """What the agent knows of its own walk: the way back, where it was, and its memories.

    Positions are metres from the first viewpoint (east, north, up), by the ways' own lengths.
    """

    def __init__(self) -> None:
        self.history: list[Floats] = []
        self._at = np.zeros(3)
        self._places: dict[str, NDArray[np.float64]] = {}
        self._here, self._before = "", ""
        self._facing = 0.0
        self._again = False

    def arrive(self, seen: IndoorObservation) -> None:
        """Note where it stands; the position follows from the ways it took."""
        if not self._places:
            self._facing = seen.heading
        if seen.viewpoint != self._here:
            self._before, self._here = self._here, seen.viewpoint
            self._again = seen.viewpoint in self._places
        self._at = self._places.setdefault(seen.viewpoint, self._at)

    def leave(self, way: Neighbor) -> None:
        self._at = self._at + _step(way)

    def geometry(self, seen: IndoorObservation) -> Floats:
        """(1 + K, 14): stopping first, then the ways; see :func:`features`."""
        ways = [(way.heading, way.elevation, way.distance) for way in seen.neighbors]
        table = np.array([(0.0, 0.0, 0.0), *ways])
        ends = [self._at, *(self._at + _step(way) for way in seen.neighbors)]
        memory = [(self._again, False)]
        memory += [
            (way.viewpoint in self._places, way.viewpoint == self._before) for way in seen.neighbors
        ]
        return features(
            np.radians(table[:, 0]).astype(np.float32),
            np.radians(table[:, 1]).astype(np.float32),
            table[:, 2].astype(np.float32),
            np.array(math.radians(seen.heading), dtype=np.float32),
            np.array(math.radians(self._facing), dtype=np.float32),
            np.array(ends, dtype=np.float32),
            np.array(memory, dtype=np.float32),
            len(self.history),
        )


def _step(way: Neighbor) -> NDArray[np.float64]:
    """The way's end relative to its beginning, in metres east, north and up."""
    heading, rise = math.radians(way.heading), math.radians(way.elevation)
    flat = way.distance * math.cos(rise)
    return np.array(
        [flat * math.sin(heading), flat * math.cos(heading), way.distance * math.sin(rise)]
    )


agent = ImitationAgent
