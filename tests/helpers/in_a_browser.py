"""What is wrong with a page, as a real browser shows it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from axe_playwright_python.base import AXE_FILE_PATH
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FAULTS = """async () => {
  // A new size of the window reaches the page with its next frame.
  await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
  const found = [];
  const meet = (p, q) => p.left < q.right - 1 && q.left < p.right - 1
    && p.top < q.bottom - 1 && q.top < p.bottom - 1;
  for (const map of document.querySelectorAll("svg.map, svg.dial")) {
    const boxes = [...map.querySelectorAll("text")].map(
      (each) => [each.textContent, each.getBoundingClientRect()]).filter(([, box]) => box.width);
    boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
      if (meet(p, q)) found.push("label " + a + " covers " + b);
    }));
  }
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth + 1) found.push("the page is " + wide + " wide");
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node = walk.nextNode(); node && found.length < 9; node = walk.nextNode()) {
    if (node.parentElement.closest("pre, code, bdi, script, style, svg, .id, .grow")) continue;
    const words = /(?<![\\w|/.+-])[A-Z]?[a-z]{2,17}(?![\\w|/+-])/g;
    for (const word of node.textContent.matchAll(words)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const rows = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (rows.size > 1) found.push("cut inside " + word[0]);
    }
  }
  return found;
}"""
"""Labels of a map or compass that cover each other, a page wider than its window, cut words."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's browser, without a window."""
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


def wrong(page: Page, axe: bool = True) -> list[str]:
    """Faults in the geometry of a page, and all of accessibility but minor ones."""
    found: list[str] = page.evaluate(FAULTS)
    if axe:
        if not page.evaluate("typeof axe !== 'undefined'"):
            page.evaluate(Path(AXE_FILE_PATH).read_text(encoding="utf-8"))
        violations = page.evaluate("async () => (await axe.run()).violations")
        found += [
            f"{each['id']}: {each['nodes'][0]['target']}"
            for each in violations
            if each["impact"] in ("moderate", "serious", "critical")
        ]
    return found


def listen(page: Page, address: str) -> list[str]:
    """Everything that goes wrong from now on: errors, warnings, requests to elsewhere."""
    messages: list[str] = []
    page.on(
        "console",
        lambda m: messages.append(m.text) if m.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on(
        "request",
        lambda r: None if r.url.startswith(address) else messages.append(r.url),
    )
    return messages
