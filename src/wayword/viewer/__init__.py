"""Pages of a run: what was run, how it went, and every step of an episode, in plain files.

    from wayword import viewer

    print(viewer.write(Path("runs/first")))     # runs/first/pages/index.html

The pages need no server, no network and no other file; what models, datasets and ids say is shown
as text and never taken for markup.
"""

from __future__ import annotations

from wayword.viewer.pages import Written, write, write_pages

__all__ = ["Written", "write", "write_pages"]
