"""Viewer: runs in the browser, with every step of an episode, live or compared.

    from wayword import viewer

    print(viewer.write(Path("runs/first")))     # runs/first/pages/index.html

    library data            run folders with their status; the dataset of a run
    document                an episode as JSON, derived once: progress, causes, conditions, map
    index episode compare   one page each, rendered from data with figures
    content app             pages made on request, and the server (wayword view)
    pages                   the same pages as files or in a notebook
    play                    games played by a person

All text from models, datasets and ids is escaped, so none of it is interpreted as markup.
"""

from __future__ import annotations

from wayword.viewer.pages import WrittenPages, write, write_pages

__all__ = ["WrittenPages", "write", "write_pages"]
