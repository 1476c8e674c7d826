"""The door to figures: kinds, options, and the figure that a notebook shows.

plot(["runs/a", "runs/b"], "length").save("length.pdf")
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from wayword.core.errors import UsageError, needing, suggest
from wayword.core.files import make_parent
from wayword.runs.json_lines import unusable
from wayword.settings import checked_call
from wayword.viewer.plots.charts import (
    draw_causes,
    draw_costs,
    draw_lengths,
    draw_pairs,
)
from wayword.viewer.plots.curves import draw_curves
from wayword.viewer.plots.request import Drawing, FigureRequest
from wayword.viewer.plots.style import RC, width_of
from wayword.viewer.plots.walks import draw_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS: Mapping[str, tuple[str, Callable[[FigureRequest], Drawing]]] = {
    "length": ("success by length of the reference", draw_lengths),
    "curve": (
        "learning curves of training logs or of evaluated checkpoints",
        draw_curves,
    ),
    "cost": ("success against cost per episode", draw_costs),
    "map": ("an episode's trajectories on its map", draw_map),
    "causes": ("causes of failure", draw_causes),
    "pairs": ("differences to the first run on the same episodes", draw_pairs),
}
"""Kinds of figures: what each shows, and what draws it."""
FORMATS = ("pdf", "svg", "png")
_DPI = 300  # pixels per inch of a PNG, as journals ask for


def format_of(file: Path) -> str:
    """Return the format of a file by its ending. Raises ``UsageError`` for another ending."""
    form = file.suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise UsageError(f"{file}: must end in .pdf, .svg or .png")
    return form


@dataclass(frozen=True)
class Plot:
    """A figure with its caption.

    ``figure`` is matplotlib's, to be changed at will; ``notices`` say what it leaves
    out. A notebook shows it as SVG.
    """

    figure: Figure = field(repr=False)
    caption: str
    notices: tuple[str, ...] = ()

    def save(self, path: Path | str) -> Path:
        """Write the figure as PDF, SVG or PNG, by the name's ending.

        The same figure has the same bytes. Raises ``UsageError`` for another ending,
        ``RecordingError`` if it cannot be written.
        """
        file = Path(path)
        # Before the folder is made: an unknown ending must leave nothing behind.
        content = self._render(format_of(file))
        try:
            make_parent(file)
            file.write_bytes(content)
        except OSError as error:
            raise unusable(file, error) from error
        return file

    def _render(self, form: str) -> bytes:
        """Return the bytes of the figure in a format of ``FORMATS``."""
        import matplotlib

        # Dates would make every file differ.
        dated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
        out = io.BytesIO()
        with matplotlib.rc_context(RC):
            self.figure.savefig(
                out,
                format=form,
                dpi=_DPI,
                metadata=dated.get(form),
            )
        return out.getvalue()

    def _repr_svg_(self) -> str:
        return self._render("svg").decode()


@checked_call
def plot(
    runs: Sequence[Path | str] | Path | str,
    kind: str = "length",
    *,
    metric: str = "",
    labels: Sequence[str] = (),
    episode: str = "",
    width: str | float = "column",
    data: Path | None = None,
    trusted: Sequence[Path] = (),
    cluster: str = "",
) -> Plot:
    """Draw a figure of runs.

    ``kind`` is one of ``KINDS``, ``width`` is ``column``, ``page`` or inches; the other
    options are those of :class:`~wayword.viewer.plots.request.FigureRequest`. Raises
    ``UsageError`` for options that do not fit the runs, and without matplotlib.
    """
    if kind not in KINDS:
        raise UsageError(f"--kind {kind}: {suggest(kind, KINDS)}")
    # An option without effect would stay unnoticed.
    if episode and kind != "map":
        raise UsageError(f"--episode: only --kind map draws an episode, got {kind}")
    if metric and kind in ("map", "causes"):
        raise UsageError(f"--metric: has no effect with --kind {kind}; remove it")
    if isinstance(runs, Path | str):
        runs = [runs]
    if isinstance(labels, str):
        labels = [labels]
    request = FigureRequest(
        [Path(path) for path in runs],
        width=width_of(str(width)),
        metric=metric,
        labels=labels,
        episode=episode,
        data=data,
        trusted=trusted,
        cluster=cluster,
    )
    # Imported once the options are valid: matplotlib is optional and slow to load.
    with needing("figures need matplotlib", "plot"):
        import matplotlib
    _, draw = KINDS[kind]
    # In a context, as the user's own matplotlib settings must not change.
    with matplotlib.rc_context(RC):
        drawing = draw(request)
    return Plot(*drawing)


display = plot
