"""The heading convention: degrees clockwise from north (+y).

Convert once, at the dataset's door.
"""

from __future__ import annotations


def absolute(degrees: float) -> float:
    """The same heading in [0, 360)."""
    wrapped = degrees % 360.0
    return 0.0 if wrapped == 360.0 else wrapped  # -1e-15 % 360 rounds up to 360.0


def relative(heading: float, facing: float) -> float:
    """The angle from ``facing`` to ``heading`` in (-180, 180], right positive."""
    turn = absolute(heading - facing)
    return turn - 360.0 if turn > 180.0 else turn


def sector(heading: float, sectors: int = 8) -> int:
    """The sector a heading falls in; sector 0 is centred on north, and they go clockwise."""
    return round(absolute(heading) / (360.0 / sectors)) % sectors
