"""Small trained policy that follows written routes from captions, without a language model.

    wayword run imitation --on houses
    wayword run imitation --on r2r:val_seen --data DATA

A baseline for the cost of a language model: a transformer of about a million weights over the words
of the instruction, the words that describe each direction, and the walk so far, trained with DAgger
(``recipes/imitation`` in the repository).
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
PAD, UNKNOWN = 0, 1  # first two indices of a vocabulary: padding, and words that are not in it
LONGEST = {"instruction": 80, "caption": 48, "objects": 16, "summary": 64}
"""Maximum number of words read per kind of text."""
FEATURES = 14  # geometric features of an option


def tokenize(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation."""
    return WORD.findall(text.lower())


def encode(text: Sequence[str], vocabulary: Mapping[str, int], kind: str) -> list[int]:
    """Return the vocabulary indices of words, cut to the maximum for ``kind``; never empty."""
    numbers = [vocabulary.get(word, UNKNOWN) for word in text[: LONGEST[kind]]]
    return numbers or [PAD]


def object_words(sector: Sector) -> list[str]:
    """Return the words of the objects recorded in a direction, nearest first."""
    nearest_first = sorted(sector.sightings, key=lambda each: (each.distance or 0.0, each.name))
    return [word for sighting in nearest_first for word in tokenize(sighting.name)]


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
    """Return the geometric features (..., 14) of options; angles in radians, lengths in metres.

    ``heading``, ``elevation`` and ``length`` (...,) describe the move to a neighbor, all 0 for
    stopping. ``facing`` and ``start`` are the current and the first heading. ``offset`` (..., 3)
    is the neighbor's position relative to the first viewpoint (east, north, up). ``memory``
    (..., 2) is 1 if the neighbor was visited, and if it is the previous viewpoint.
    """
    turn, since_start = heading - facing, heading - start
    is_move = (length > 0).astype(np.float32)
    right = offset[..., 0] * np.cos(start) - offset[..., 1] * np.sin(start)
    ahead = offset[..., 0] * np.sin(start) + offset[..., 1] * np.cos(start)
    columns = [
        np.sin(turn) * is_move, np.cos(turn) * is_move,
        np.sin(2 * turn) * is_move, np.cos(2 * turn) * is_move,
        np.sin(elevation) * 2, length / 5, memory[..., 0], memory[..., 1],
        right / 10, ahead / 10, offset[..., 2] / 3, np.full_like(turn, step / 10),
        np.sin(since_start) * is_move, np.cos(since_start) * is_move,
    ]  # fmt: skip
    return np.stack(columns, axis=-1).astype(np.float32)


class PolicyWeights:
    """The trained network. It has no state, so episodes share it.

    ``vocabulary`` maps words to indices; ``width`` is the size D of the state stored per step.
    """

    def __init__(self, path: Path) -> None:
        with needing("the trained policy needs onnxruntime", "prior"):
            import onnxruntime  # type: ignore[import-untyped]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # a step is a few million products: more threads only wait
        options.log_severity_level = 3
        providers = ["CPUExecutionProvider"]
        self._session = onnxruntime.InferenceSession(str(path), options, providers=providers)
        listing = path.with_suffix(".json")
        self.vocabulary = {word: n for n, word in enumerate(json.loads(listing.read_text()))}
        shapes = {tensor.name: tensor.shape for tensor in self._session.get_inputs()}
        self.width = int(shapes["history"][-1])

    def __call__(self, inputs: Mapping[str, Any]) -> tuple[Floats, Floats]:
        """Return the scores (Q,) of the options, and the state (Q, D) to store for each."""
        scores, memory = self._session.run(None, dict(inputs))
        return scores[0], memory[0]


@lru_cache(maxsize=2)
def load_network(path: Path) -> PolicyWeights:
    """Return the network in a file, cached. Raises ``UsageError`` if the file does not exist."""
    if not path.is_file():
        raise UsageError(f"{path}: no such weights; train them, or remove the setting `weights`")
    return PolicyWeights(path)


@dataclass(frozen=True, slots=True)
class ImitationSettings:
    """``weights``: an ONNX file with its ``.json`` vocabulary; empty: the shipped one."""

    weights: str = ""


class ImitationAgent(Agent):
    """Follows written routes on viewpoint graphs with a small trained network, from text alone.

        wayword run imitation --on houses --limit 20

    At each viewpoint it reads the captions and objects of every direction and the summary, as
    NavGPT does, scores each neighbor and stopping, and takes the best one. Needs onnxruntime (extra
    ``[prior]``), but no language model and no torch; the weights are described in
    ``wayword/weights/imitation.md``.
    """

    Settings: ClassVar[type[ImitationSettings]] = ImitationSettings
    families: ClassVar[frozenset[str]] = frozenset({"indoor"})

    def __init__(self, settings: ImitationSettings, toolkit: Toolkit) -> None:
        self._network = load_network(Path(settings.weights or WEIGHTS / "imitation.onnx"))
        self._toolkit = toolkit
        self._words: list[int] = []
        self._walk = Walk()
        self._pending_state: Floats | None = None
        self._empty_history = np.zeros((1, 0, self._network.width), dtype=np.float32)

    async def begin(self, episode: Episode) -> None:
        self._words = encode(tokenize(episode.instruction), self._network.vocabulary, "instruction")
        self._walk, self._pending_state = Walk(), None

    async def act(self, observation: IndoorObservation, space: ActionSpace) -> Decision | Rejection:
        if self._toolkit.perceiver is None:
            raise UsageError("imitation reads captions, but this dataset has none; set a perceiver")
        percept = self._toolkit.perceiver.perceive(observation.scene, observation.viewpoint)
        self._walk.arrive(observation)
        vocabulary, parts, walk = self._network.vocabulary, percept.sectors, self._walk
        captions = [encode(tokenize(part.caption), vocabulary, "caption") for part in parts]

        def table(rows: list[list[int]]) -> Ints:
            """Return the rows as one array (1, N, W), padded with zeros."""
            width = max(map(len, rows))
            return np.array([[row + [PAD] * (width - len(row)) for row in rows]], dtype=np.int64)

        sides = [sector(neighbor.heading, len(parts)) for neighbor in observation.neighbors]
        inputs = {  # a batch of one
            "words": np.array([self._words], dtype=np.int64),
            "captions": table(captions),
            "objects": table([encode(object_words(part), vocabulary, "objects") for part in parts]),
            "summary": np.array([encode(tokenize(percept.summary), vocabulary, "summary")]),
            "rows": np.array([[len(parts), *sides]], dtype=np.int64),
            "geometry": walk.geometry(observation)[None],
            "history": np.stack(walk.history)[None] if walk.history else self._empty_history,
        }
        scores, states = self._network(inputs)
        best = int(np.argmax(scores))
        self._pending_state = states[best]
        if best == 0:
            return Decision(STOP)
        neighbor = observation.neighbors[best - 1]
        walk.leave(neighbor)
        return Decision(Action("goto", (neighbor.viewpoint,)))

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        if self._pending_state is not None:
            self._walk.history.append(self._pending_state)


class Walk:
    """The walk so far: the position of each visited viewpoint, and the state stored per step.

    Positions are metres from the first viewpoint (east, north, up), added up from the moves.
    """

    def __init__(self) -> None:
        self.history: list[Floats] = []
        self._position = np.zeros(3)
        self._positions: dict[str, NDArray[np.float64]] = {}
        self._viewpoint, self._previous = "", ""
        self._first_heading = 0.0
        self._is_revisit = False

    def arrive(self, observation: IndoorObservation) -> None:
        """Add the current viewpoint at the position that the moves lead to."""
        if not self._positions:
            self._first_heading = observation.heading
        if observation.viewpoint != self._viewpoint:
            self._previous, self._viewpoint = self._viewpoint, observation.viewpoint
            self._is_revisit = observation.viewpoint in self._positions
        self._position = self._positions.setdefault(observation.viewpoint, self._position)

    def leave(self, neighbor: Neighbor) -> None:
        self._position = self._position + _displacement(neighbor)

    def geometry(self, observation: IndoorObservation) -> Floats:
        """Return the features (1 + K, 14) of stopping and of the K neighbors; see
        :func:`features`."""
        table, ends, memory = [(0.0, 0.0, 0.0)], [self._position], [(self._is_revisit, False)]
        for neighbor in observation.neighbors:
            table.append((neighbor.heading, neighbor.elevation, neighbor.distance))
            ends.append(self._position + _displacement(neighbor))
            name = neighbor.viewpoint
            memory.append((name in self._positions, name == self._previous))
        headings, elevations, lengths = np.array(table).T
        return features(
            np.radians(headings).astype(np.float32),
            np.radians(elevations).astype(np.float32),
            lengths.astype(np.float32),
            np.array(math.radians(observation.heading), dtype=np.float32),
            np.array(math.radians(self._first_heading), dtype=np.float32),
            np.array(ends, dtype=np.float32),
            np.array(memory, dtype=np.float32),
            len(self.history),
        )


def _displacement(neighbor: Neighbor) -> NDArray[np.float64]:
    """Return a neighbor's relative position, in metres east, north and up."""
    heading, rise = math.radians(neighbor.heading), math.radians(neighbor.elevation)
    flat = neighbor.distance * math.cos(rise)
    return np.array(
        [flat * math.sin(heading), flat * math.cos(heading), neighbor.distance * math.sin(rise)]
    )


agent = ImitationAgent
