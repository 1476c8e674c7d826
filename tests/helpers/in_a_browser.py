"""What is wrong with a page, as a real browser shows it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from axe_playwright_python.base import AXE_FILE_PATH
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# Each new window has a process for the suggestions below its address bar, which takes as much time
# as the page. The browser heeds the last list alone, so that the others repeat Playwright's own
# (server/chromium/chromiumSwitches.ts): these keep it off the network and its pages as they are.
DISABLED = (
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)
ARGUMENTS = ("--no-sandbox", f"--disable-features={','.join(DISABLED)}")
FAULTS = """async () => {
  // A new size of the window reaches the page with its next frame.
  await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
  const found = [];
  const meet = (p, q) => p.left < q.right - 1 && q.left < p.right - 1
    && p.top < q.bottom - 1 && q.top < p.bottom - 1;
  for (const map of document.querySelectorAll("svg.map, svg.dial")) {
    // A number is as large as the pill around it.
    const labels = [...map.querySelectorAll("text:not(.number), .stop rect:has(+ .number)")];
    const boxes = labels.map((each) => [(each.matches("rect") ? each.nextElementSibling : each)
      .textContent, each.getBoundingClientRect()]).filter(([, box]) => box.width);
    boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
      if (meet(p, q)) found.push("label " + a + " covers " + b);
    }));
    for (const line of map.querySelectorAll(".leader")) {
      const { a, d, e, f } = line.getScreenCTM();
      for (let part = 0.05; part < 1; part += 0.05) {
        const { x, y } = line.getPointAtLength(part * line.getTotalLength());
        const at = boxes.find(([, p]) => p.left + 2 < a * x + e && a * x + e < p.right - 2
          && p.top + 2 < d * y + f && d * y + f < p.bottom - 2);
        if (at) found.push("a line crosses " + at[0]);
      }
    }
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
"""Labels of a map or compass that cover each other or that a line to a mark crosses, a page wider
than its window, cut words."""


NEXT_FRAME = """() => new Promise((go) => requestAnimationFrame(
  () => requestAnimationFrame(() => requestAnimationFrame(go))))"""
"""Wait until a page has handled a scroll, which it does in the frame after it."""
# Contrast is most of the time of axe. Text of the same color, size and weight on the same stack of
# backgrounds has the same contrast, so that one element of each combination is enough.
CONTRASTS = """() => {
  const combinations = new Set();
  for (const element of document.querySelectorAll("body *")) {
    const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
    const hasText = texts.some((text) => text.data.trim());
    const hasHint = element.matches("input, textarea, select");
    if (!(hasText || hasHint) || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const combination = [style.color, style.fill, style.fontSize, style.fontWeight];
    for (let part = element; part; part = part.parentElement) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(part);
      combination.push(backgroundColor, backgroundImage, opacity);
    }
    const key = combination.join(" ");
    element.toggleAttribute("data-contrast", !combinations.has(key));
    combinations.add(key);
  }
  axe.configure({ rules: [{ id: "color-contrast", selector: "[data-contrast]" }] });
}"""
"""Mark one element of each combination of colors, and restrict the rule of contrasts to these."""
BY_STYLE = (
    "color-contrast",
    "link-in-text-block",
    "scrollable-region-focusable",
    "target-size",
)
"""Rules of axe that depend on the color scheme or on the width of the window."""


@contextmanager
def chromium() -> Iterator[tuple[Browser, Callable[[], AbstractContextManager[None]]]]:
    """Debian's browser without a window, and the context in which it may be used.

    Playwright keeps an event loop suspended, which counts as the running one of the
    thread. Runs begin a loop of their own and refuse to do so within another, so that
    Playwright's is the running one only while the browser is in use.
    """
    with sync_playwright() as play:
        loop = asyncio.get_running_loop()

        @contextmanager
        def in_use() -> Iterator[None]:
            asyncio._set_running_loop(loop)
            try:
                yield
            finally:
                asyncio._set_running_loop(None)

        opened = play.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        asyncio._set_running_loop(None)
        try:
            yield opened, in_use
        finally:
            asyncio._set_running_loop(loop)
            opened.close()


def wrong(page: Page, axe: bool = True, only_style: bool = False) -> list[str]:
    """Faults in the geometry of a page, and all of accessibility but minor ones.

    ``only_style`` leaves out what does not depend on the color scheme and the width,
    for a page that was checked in another one.
    """
    found: list[str] = page.evaluate(FAULTS)
    if axe:
        if not page.evaluate("typeof axe !== 'undefined'"):
            page.evaluate(Path(AXE_FILE_PATH).read_text(encoding="utf-8"))
        page.evaluate(CONTRASTS)
        options: dict[str, object] = {"resultTypes": ["violations"]}
        if only_style:
            options["runOnly"] = BY_STYLE
        violations = page.evaluate(
            "async (options) => (await axe.run(options)).violations", options
        )
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
