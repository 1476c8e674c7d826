"""What a notebook shows of a run, a record and a trajectory: the viewer's own pages, in a frame.

    result = wayword.run(plan)
    result                      # the last line of a cell: the run's page
    record.trajectory           # its steps, with the walk where poses have coordinates

A frame keeps the page's style and script to itself: it has no origin, so it can reach neither the
notebook nor the network, and every text in it is escaped as on any page of the viewer.
"""

from __future__ import annotations

from wayword.core.errors import WaywordError
from wayword.core.trajectory import Trajectory
from wayword.runs.record import EpisodeRecord, RunFolder
from wayword.runs.running import RunResult
from wayword.viewer.data import Sources
from wayword.viewer.episode import Links, episode_page
from wayword.viewer.index import Overview, index_page
from wayword.viewer.library import Rows
from wayword.viewer.markup import Html, tag

MOST = 2000
"""Episodes of a run that are listed; of more, the figures alone are shown."""
_TALL, _TALLER = 460, 640


def html(shown: object) -> str:
    """The page of a :class:`RunResult`, an :class:`EpisodeRecord` or a :class:`Trajectory`, as an
    element that stands alone. What cannot be shown is a line that says why."""
    try:
        if isinstance(shown, RunResult):
            return _framed(_run(shown), f"run {shown.path.name}", _TALLER)
        if isinstance(shown, Trajectory):
            shown = EpisodeRecord(shown.episode_id, {}, shown)
        if isinstance(shown, EpisodeRecord):
            return _framed(_episode(shown), f"episode {shown.episode_id}", _TALLER)
    except WaywordError as error:
        return tag("p", str(error))
    return tag("pre", repr(shown))


def _framed(document: str, title: str, tall: int) -> Html:
    return tag(
        "iframe", srcdoc=document, sandbox="allow-scripts", title=title, width="100%", height=tall,
        frameborder=0, loading="lazy",
    )  # fmt: skip


def _episode(record: EpisodeRecord) -> str:
    return episode_page(record, (), Sources(), "", Links(up=""))


def _run(result: RunResult) -> str:
    rows = Rows(RunFolder.read(result.path)).refresh()
    overview = Overview(
        result.path.name, rows, rows.row(), rows.heads()[:MOST], Sources(success=rows.success), {},
        f"wayword view {result.path}",
    )  # fmt: skip
    return index_page(overview)


display = html
