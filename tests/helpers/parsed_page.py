"""A page as a browser's parser sees it, as far as the tests ask."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

KNOWN = re.findall(
    r"\w+",
    """
    html head meta title style body script main header section div p span b i a nav h1 h2 h3 h4
    dl dt dd ul ol li table thead tbody tr th td details summary pre code bdi button aside figure
    svg tspan g line circle rect text path polyline defs marker blockquote input select option
    output noscript kbd abbr img small meter label br wbr form textarea dialog
    """,
)
"""Every tag that the viewer writes."""
VOID = {"meta", "br", "wbr", "img", "input", "link", "hr"}


@dataclass
class Element:
    """A tag with its attributes and all text inside it."""

    tag: str
    attributes: dict[str, str | None]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """Everything on a page, in order. Fails on tags that do not match."""

    elements: list[Element] = field(default_factory=list)
    _open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    @classmethod
    def read(cls, path: Path) -> Page:
        return cls.parse(path.read_text(encoding="utf-8"))

    @classmethod
    def parse(cls, text: str) -> Page:
        page = cls()
        page.feed(text)
        page.close()
        assert not page._open, f"never closed: {[e.tag for e in page._open]}"
        return page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"<{tag}> has an attribute twice"
        element = Element(tag, dict(attrs))
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop().tag == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Elements of that tag; ``class_`` matches any one of the classes."""
        found = [element for element in self.elements if element.tag == tag]
        for key, value in attributes.items():
            name = key.rstrip("_").replace("_", "-")
            found = [
                e
                for e in found
                if value in ((e.attributes.get(name) or "").split() if name == "class"
                             else [e.attributes.get(name)])
            ]  # fmt: skip
        return found

    @property
    def text(self) -> str:
        return self.all("body")[0].text

    @property
    def data(self) -> Any:
        """The JSON for the page's script."""
        (element,) = self.all("script", type="application/json")
        return json.loads(element.text)

    @property
    def policy(self) -> dict[str, list[str]]:
        """The Content-Security-Policy by directive."""
        metas = [e.attributes for e in self.all("meta")]
        (policy,) = [
            m["content"]
            for m in metas
            if m.get("http-equiv") == "Content-Security-Policy"
        ]
        parts = [part.split() for part in (policy or "").split(";")]
        return {part[0]: part[1:] for part in parts}


def digest(text: str) -> str:
    """As a policy names a script."""
    return (
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
    )


def check_safe(page: Page) -> None:
    """Only what the viewer itself writes can run or load anything."""
    policy = page.policy
    assert policy["default-src"] == ["'none'"]
    assert policy.get("connect-src", ["'self'"]) == ["'self'"]
    code = [
        e for e in page.all("script") if e.attributes.get("type") != "application/json"
    ]
    assert [digest(e.text) for e in code] == policy["script-src"]
    assert [digest(e.text) for e in page.all("style")] == policy["style-src"]
    for element in page.elements:
        assert element.tag in KNOWN, f"<{element.tag}> is not of the viewer"
        for name, value in element.attributes.items():
            assert not name.startswith("on"), f"<{element.tag} {name}>"
            assert name not in ("style", "srcdoc", "action", "formaction"), name
            if name in ("href", "src", "xlink:href"):
                assert re.fullmatch(LINK, value or ""), f"{name}={value!r}"


LINK = (
    r"#main|#(trial-\d+-)?step-\d+|#end|(\.\./)?index\.html|(episodes/)?[a-z0-9_-]+\.html"
    r"|data:image/(png|jpeg|webp|gif);base64,[A-Za-z0-9+/=]*"
    r"|/|\./|\.\./\.\./|play|(run/[A-Za-z0-9_.-]+/)?(episode\?id=[A-Za-z0-9_.~%-]*)?"
    r"|/play|watch|seat\?as=[A-Za-z0-9_.~%-]*"
    r"|/run/[A-Za-z0-9_.-]+/episode\?id=[A-Za-z0-9_.~%-]*"
    r"|(\.\./)*(compare|play|continue|prompts)\?[A-Za-z0-9_.~%&=-]*"
)
"""What a page may point at: its own steps, the pages beside it, and pictures inside it."""
