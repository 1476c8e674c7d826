"""Runs in the browser: what was run, how it went, every step of an episode; live, and compared.

    from wayword import viewer

    print(viewer.write(Path("runs/first")))     # runs/first/pages/index.html

    library data            run folders and how each stands; the dataset behind one
    document                an episode as JSON, derived once: course, causes, conditions, map
    index episode compare   a page each, rendered from data; figures are parts of them
    content app             pages made on request, and the server (wayword view)
    pages                   the same as files and in a notebook
    play                    a person who plays

Every text from models, datasets and ids is shown as text, never taken for markup.
"""

from __future__ import annotations

from wayword.viewer.pages import WrittenPages, write, write_pages

__all__ = ["WrittenPages", "write", "write_pages"]
