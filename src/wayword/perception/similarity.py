"""Semantic similarity of texts, from a small sentence-embedding network; needs no PyTorch.

    alike = similarity()
    alike.best("remote control", ["sink", "tv", "bed"])     # 'tv'

all-MiniLM-L6-v2 (sentence-transformers; Wang et al. 2020) as ONNX with int8 weights: the mean of
the token embeddings under the attention mask, normalized to length 1, with 384 dimensions.

Source: https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import needing
from wayword.models.parts.weights import MODELS, verified

Floats = NDArray[np.float32]
MAX_TOKENS = 128  # longer texts are truncated


class TextSimilarity:
    """Cosine similarities of sentence embeddings. Safe to share; caches its embeddings.

    ``network`` is the ONNX file, ``tokens`` its ``tokenizer.json``; both are read at the first
    use, which raises ``UsageError`` if onnxruntime or tokenizers is not installed.
    """

    def __init__(self, network: Path, tokens: Path) -> None:
        self._network = network
        self._tokens = tokens
        self._embeddings: dict[str, Floats] = {}

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return unit embeddings (N, 384) of the texts; each is computed once."""
        # One by one, because int8 results depend on the rest of a batch.
        for text in texts:
            if text not in self._embeddings:
                self._embeddings[text] = self._embed(text)
        return np.stack([self._embeddings[text] for text in texts])

    def _embed(self, text: str) -> Floats:
        """Return the unit embedding (384,) of one text."""
        session, tokenizer = self._loaded
        encoded = tokenizer.encode(text)
        arrays = {
            # The names of the ONNX file's inputs.
            "input_ids": encoded.ids,
            "attention_mask": encoded.attention_mask,
            "token_type_ids": encoded.type_ids,
        }
        # Only the arrays that the network asks for.
        names = [node.name for node in session.get_inputs()]
        feed = {name: np.array([arrays[name]], dtype=np.int64) for name in names}
        states = session.run(None, feed)[0][0]
        # Padding has weight 0.
        weights = np.array(encoded.attention_mask, dtype=np.float32)[:, None]
        mean = (states * weights).sum(axis=0) / weights.sum()
        return np.asarray((mean / np.linalg.norm(mean)).astype(np.float32))

    def likeness(self, text: str, others: Sequence[str]) -> Floats:
        """Return the cosine similarities (N,) of ``text`` with each of ``others``."""
        vectors = self.embed([text, *others])
        return np.asarray(vectors[1:] @ vectors[0], dtype=np.float32)

    def best(self, text: str, others: Sequence[str]) -> str:
        """Return the text of ``others`` that is most similar; of equal ones, the first."""
        return others[int(np.argmax(self.likeness(text, others)))]

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """The network's session and its tokenizer, loaded at first use.

        Raises ``UsageError`` where a package is missing.
        """
        # Both packages are optional, so each is named by its own error.
        with needing("text embeddings need onnxruntime", "prior"):
            import onnxruntime  # type: ignore[import-untyped]
        with needing("text embeddings need tokenizers", "prior"):
            from tokenizers import Tokenizer
        options = onnxruntime.SessionOptions()
        # Texts of a few tokens gain nothing from threads.
        options.intra_op_num_threads = 1
        options.log_severity_level = 3  # errors only
        providers = ["CPUExecutionProvider"]
        session = onnxruntime.InferenceSession(
            str(self._network),
            options,
            providers=providers,
        )
        tokenizer = Tokenizer.from_file(str(self._tokens))
        # One text at a time needs no padding.
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        return session, tokenizer


@lru_cache(maxsize=1)
def similarity() -> TextSimilarity:
    """Return the published network, loaded once per process. Raises ``UsageError`` if its files are
    not on this machine or have the wrong checksum."""
    return TextSimilarity(*map(verified, MODELS["minilm"].files))
