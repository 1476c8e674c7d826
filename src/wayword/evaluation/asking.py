"""Questions that a model answered, and which of the answers counted."""

from __future__ import annotations

from wayword.core.trajectory import Trajectory


def psr(trajectory: Trajectory) -> dict[str, float]:
    """Prompt success rate: answers that name something offered, over questions asked.

    Agents leave a note ``asked`` an answer, with ``valid`` true or false; nothing where there is
    none. Source: LGX (Dorbala et al. 2024, section V-A).
    """
    asked = [bool(n.details.get("valid")) for n in trajectory.notes() if n.kind == "asked"]
    return {"psr": sum(asked) / len(asked)} if asked else {}
