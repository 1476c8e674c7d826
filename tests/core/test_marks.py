"""Marks fit into any picture that the settings allow."""

from __future__ import annotations

import numpy as np
import pytest

from wayword.core.marks import INK, Mark, draw_marks


@pytest.mark.parametrize(
    ("rows", "columns", "number", "dot"),
    [
        (360, 480, 1, 2),
        (360, 480, 1234, 2),
        (32, 2048, 42, 1),
        (2048, 32, 1, 6),
        (2048, 32, 42, 3),
        (2048, 32, 1234, 1),
    ],
)
def test_a_mark_fits_into_wide_and_narrow_pictures(
    rows: int, columns: int, number: int, dot: int
) -> None:
    color = np.zeros((rows, columns, 3), np.uint8)
    draw_marks(color, np.ones((rows, columns), np.int32), {1: Mark(number, "mug_1")})
    inked_rows, inked_columns = np.nonzero((color == INK).all(axis=2))
    # A digit has 5 rows and 3 columns of dots, and a column stands between two digits.
    assert np.ptp(inked_rows) + 1 == 5 * dot
    assert np.ptp(inked_columns) + 1 == (4 * len(str(number)) - 1) * dot
