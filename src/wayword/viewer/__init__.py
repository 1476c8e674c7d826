"""Runs in the browser: what was run, how it went, every step of an episode; live, and compared.

    from wayword import viewer

    print(viewer.write(Path("runs/first")))     # runs/first/pages/index.html

    library content app     run folders, their pages and runs that go on, the server (wayword view)
    index episode compare   a page each; words, steps, figures and maps are parts of them
    letters course          short names of places; where each step of an episode led
    causes play             why episodes failed, a person who plays
    pages                   the same pages as files that need no server

Every text from models, datasets and ids is shown as text, never taken for markup.
"""

from __future__ import annotations

from wayword.viewer.pages import WrittenPages, write, write_pages

__all__ = ["WrittenPages", "write", "write_pages"]
