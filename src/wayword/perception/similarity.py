"""How alike two texts are in meaning: a small sentence-embedding network, without PyTorch.

    alike = similarity()
    alike.best("remote control", ["sink", "tv", "bed"])     # 'tv'

all-MiniLM-L6-v2 (sentence-transformers; Wang et al. 2020), exported to ONNX with int8 weights: mean
of the token embeddings under the attention mask, scaled to length one, 384 numbers a text.

Source: https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import UsageError, needing
from wayword.models.parts.weights import MINILM, installed, verified

Floats = NDArray[np.float32]
LONGEST = 128
"""Tokens of a text that are read."""


class TextSimilarity:
    """Cosine similarities of sentence embeddings. Safe to share; remembers what it has embedded.

    ``network`` is the ONNX file, ``tokens`` its ``tokenizer.json``; both are read at the first
    question, which raises ``UsageError`` where onnxruntime or tokenizers is not installed.
    """

    def __init__(self, network: Path, tokens: Path) -> None:
        self._network, self._tokens = network, tokens
        self._loading = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None
        self._known: dict[str, Floats] = {}

    def embed(self, texts: Sequence[str]) -> Floats:
        """(N, 384) embeddings of length one, in order."""
        fresh = [text for text in dict.fromkeys(texts) if text not in self._known]
        for text in fresh:  # one by one: int8 results depend on what else is in a batch
            self._known[text] = self._embedded(text)
        return np.stack([self._known[text] for text in texts])

    def likeness(self, text: str, others: Sequence[str]) -> Floats:
        """(N,) cosines of ``text`` with each of ``others``, from -1 to 1."""
        vectors = self.embed([text, *others])
        return np.asarray(vectors[1:] @ vectors[0], dtype=np.float32)

    def best(self, text: str, others: Sequence[str]) -> str:
        """The most alike of ``others``; the first of equals."""
        return others[int(np.argmax(self.likeness(text, others)))]

    def _embedded(self, text: str) -> Floats:
        session, tokenizer = self._parts()
        encoded = tokenizer.encode(text)
        given = {
            "input_ids": [encoded.ids],
            "attention_mask": [encoded.attention_mask],
            "token_type_ids": [encoded.type_ids],
        }
        wanted = {one.name for one in session.get_inputs()}
        feed = {k: np.array(v, dtype=np.int64) for k, v in given.items() if k in wanted}
        states = session.run(None, feed)[0][0]
        mask = np.array(encoded.attention_mask, dtype=np.float32)[:, None]
        mean = (states * mask).sum(axis=0) / mask.sum()
        return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)

    def _parts(self) -> tuple[Any, Any]:
        with self._loading:
            if self._loaded is None:
                self._loaded = _session(self._network), _tokenizer(self._tokens)
            return self._loaded


@lru_cache(maxsize=1)
def similarity() -> TextSimilarity:
    """The shipped network, one for all of a process.

    Raises ``UsageError`` where its files are not on this machine or have the wrong checksum.
    """
    paths = []
    for part in MINILM.parts:
        path = installed(part)
        if path is None:
            raise UsageError(
                f"text embeddings need {part.file}; run `pip install 'wayword[prior]'` and "
                "`wayword models fetch minilm`"
            )
        verified(part, path)
        paths.append(path)
    return TextSimilarity(*paths)


def _session(path: Path) -> Any:
    with needing("text embeddings need onnxruntime", "prior"):
        import onnxruntime  # type: ignore[import-untyped]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # a name is a few tokens: more threads only wait
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _tokenizer(path: Path) -> Any:
    with needing("text embeddings need tokenizers", "prior"):
        from tokenizers import Tokenizer
    read = Tokenizer.from_file(str(path))
    read.no_padding()
    read.enable_truncation(LONGEST)
    return read
