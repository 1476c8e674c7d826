"""Monocular depth in metres.

Source: Ranftl et al. 2021 (DPT) and Yang et al. 2024 (Depth Anything V2, whose *metric* weights are
meant here: the relative ones give no metres).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wayword.perception.neural.loading import Network, sizes
from wayword.perception.projection import Floats, Picture


class MonocularDepth:
    """Whatever transformers loads for depth estimation."""

    def __init__(self, weights: str) -> None:
        self._network = Network(
            "depth", weights, "AutoModelForDepthEstimation", "AutoImageProcessor"
        )
        self.name = self._network.name

    async def depths(self, pictures: Sequence[Picture]) -> list[Floats]:
        """Metres (rows, columns) of each picture, at its own size."""
        network = self._network
        inputs = network.inputs(images=list(pictures))
        with network.thinking():
            outputs = network.model(**inputs)
        found = network.processor.post_process_depth_estimation(outputs, sizes(pictures))
        return [np.asarray(one["predicted_depth"].cpu().numpy(), np.float64) for one in found]
