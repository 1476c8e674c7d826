"""Batches: examples as tokens, their crops and mirror images, their order, sequences as tensors."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

from recipes.language.student import Batch
from recipes.sft.finetuning import Encoded, encode
from wayword.agents.clauses import YES
from wayword.training.examples import Example, TextChoice

READ_AT_ONCE = 512
"""Texts that are cut into tokens together, on all cores."""


def encode_all(examples: Sequence[Example], words: Any) -> list[Encoded]:
    """Tokens and labels of many examples; ``words`` is a ``tokenizers.Tokenizer``.

    See :func:`recipes.sft.finetuning.encode`.
    """
    found = []
    for first in range(0, len(examples), READ_AT_ONCE):
        some = examples[first : first + READ_AT_ONCE]
        wholes = words.encode_batch([one.text for one in some])
        found += [
            encode(one, words, whole) for one, whole in zip(some, wholes, strict=True)
        ]
    return found


def schedule(step: int, steps: int, warm_up: float) -> float:
    """The rate's factor: linear up over the warm-up, linear down to zero after it."""
    first = max(1.0, warm_up * steps)
    return min((step + 1) / first, max(0.0, (steps - step) / max(1.0, steps - first)))


def batched(
    encoded: Sequence[tuple[Encoded, ...]], epochs: float, size: int, seed: str
) -> Iterator[list[Encoded]]:
    """Batches in an order that the seed decides; walks of like length stand together.

    ``encoded``: the versions of each walk; every epoch draws one of them.
    """
    left = round(epochs * len(encoded))
    for epoch in range(math.ceil(epochs)):
        rng = random.Random(f"{seed}/{epoch}")
        order = [rng.choice(one) for one in rng.sample(encoded, len(encoded))[:left]]
        left -= len(order)
        batches = []
        for first in range(0, len(order), 16 * size):
            near = sorted(
                order[first : first + 16 * size], key=lambda one: len(one.ids)
            )
            batches += [near[n : n + size] for n in range(0, len(near), size)]
        rng.shuffle(batches)
        yield from batches


def parts(
    batch: Sequence[Encoded], tokens: int, *, even: bool = False
) -> list[list[Encoded]]:
    """A batch in parts of at most ``tokens`` tokens, padding included; one sequence at least.

    ``even``: lengths are filled up as :func:`even_shape` has it.
    """
    found: list[list[Encoded]] = []
    for one in sorted(batch, key=lambda one: -len(one.ids)):
        if found:
            wide = len(found[-1][0].ids)
            wide = _filled(wide) if even else wide
        if not found or wide * (len(found[-1]) + 1) > tokens:
            found.append([])
        found[-1].append(one)
    return found


EVEN = (64, 96)
"""Lengths are filled up to one of these times a power of two where each is compiled once: a third
of what is read is filling at most, and ten shapes reach to two thousand tokens."""


def even_shape(part: Sequence[Encoded], size: int, tokens: int) -> tuple[int, int]:
    """Rows and length that a part is filled up to, so that few shapes are compiled.

    ``size``: examples of the whole batch; ``tokens``: the most a part holds.
    """
    length = _filled(max(len(one.ids) for one in part))
    return max(len(part), min(size, tokens // length)), length


def _filled(length: int) -> int:
    return min(
        even << power for even in EVEN for power in range(20) if even << power >= length
    )


def tensors(
    torch: Any, part: Sequence[Encoded], device: str, rows: int = 0, length: int = 0
) -> Batch:
    """Sequences as one batch, of at least so many rows and tokens."""
    longest = max([length, *(len(one.ids) for one in part)])
    ids = torch.zeros(max(rows, len(part)), longest, dtype=torch.long)
    for row, one in enumerate(part):
        ids[row, : len(one.ids)] = torch.tensor(one.ids)
    row_of = torch.tensor([row for row, one in enumerate(part) for _ in one.at])
    at = torch.tensor([place for one in part for place in one.at])
    told = torch.tensor([label for one in part for label in one.labels])
    lengths = torch.tensor([len(one.ids) for one in part])
    return Batch(*(each.to(device) for each in (ids, lengths, row_of, at, told)))


# Single decisions of a walk as short texts: what a network of new layers learns to read first.
#
# A walk that asks whether a clause is done writes the clause down before each such question, so the
# stretch from there to the next such place holds all that its answers hang on. Whole walks come
# after.

BEGINS = "Now: "
"""What the line with the clause begins with, in the shipped prompts of `walker` and `velma`; with
prompts of one's own that begin otherwise, walks stay whole."""


def cropped(example: Example) -> list[Example]:
    """The pieces of a walk; the walk itself where it asks about no clauses.

    A piece begins with a clause that is asked about, goes on with the next where that one was done,
    and ends before the next such line.
    """
    text = example.text
    begins, done = [], False
    for before, choice in zip([None, *example.choices], example.choices, strict=False):
        line = text.rfind("\n" + BEGINS, before.at if before else 0, choice.at) + 1
        if line and not done:
            begins.append(line)
        done = choice.taken.strip() == YES
    if not begins:
        return [example]
    pieces = []
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        inside = (
            one
            for one in example.choices
            if begin < one.at < end or one.at == end == len(text)
        )
        moved = tuple(
            TextChoice(one.at - begin, one.taken, one.label) for one in inside
        )
        piece = text[begin:end]
        pieces.append(
            Example(example.episode, example.source, piece, moved, example.success)
        )
    return pieces


# An example seen in a mirror: left and right exchanged in every word.
#
# A building or a street plan has a mirror image in which the exchanged instruction is right, so
# each walk is worth two, and no model can lean on a side. Neighbors that were listed from left to
# right are listed from right to left in it.

_SIDES = {"left": "right", "right": "left", "Left": "Right", "Right": "Left"}
_SIDE = re.compile(r"\b(?:left|right|Left|Right)\b")

MENU = "Action Space:"
"""Begins the line that lists the actions, which has no sides."""


def mirrored(example: Example) -> Example:
    """The mirror image of an example."""
    text, begin, choices = "", 0, []
    for choice in example.choices:
        text += _swapped(example.text[begin : choice.at])
        begin = choice.at + len(choice.taken)
        taken, label = (_SIDE.sub(_other, one) for one in (choice.taken, choice.label))
        choices.append(TextChoice(len(text), taken, label))
        text += taken
    text += _swapped(example.text[begin:])
    return Example(
        example.episode, example.source, text, tuple(choices), example.success
    )


def _swapped(text: str) -> str:
    """A text with its sides exchanged; the list of actions is the same in the mirror."""
    lines = text.split("\n")
    return "\n".join(
        one if one.startswith(MENU) else _SIDE.sub(_other, one) for one in lines
    )


def _other(side: re.Match[str]) -> str:
    return _SIDES[side[0]]
