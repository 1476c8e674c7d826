"""Tags in the texts of a task and in the name of a run."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

from wayword.datasets.sources.own import accept
from wayword.runs import Plan, run
from wayword.viewer.pages import write

TAGS = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
TASK = f"""
instruction: "Put {TAGS} a \\"mug\\" onto the 'sofa'. <!-- \\u2028"
home: {{rooms: 2, seed: 3}}
objects: [{{kind: mug, place: counter_top}}]
goal:
  - inside: {{object: mug, place: sofa}}
"""


class Elements(HTMLParser):
    """Elements of a page that run, and attributes that do."""

    def __init__(self) -> None:
        super().__init__()
        self.images: list[str | None] = []
        self.handlers: list[str] = []
        self.scripts: list[str] = []
        self._is_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_script = tag == "script"
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        if tag == "img":
            self.images.append(dict(attrs).get("src"))

    def handle_data(self, data: str) -> None:
        if self._is_script:
            self.scripts.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._is_script = False


def test_tags_of_a_task_are_no_elements(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_text(TASK, encoding="utf-8")
    accept(path)
    out = tmp_path / "a<b onload=x>"
    run(Plan("random", str(path), max_steps=2, out=out))
    index = write(out, trusted=[path])
    pages = [*index.parent.rglob("*.html")]
    assert len(pages) > 1
    for page in pages:
        found = Elements()
        found.feed(page.read_text(encoding="utf-8"))
        assert "x" not in found.images
        assert not found.handlers
        assert not any(script.startswith("alert(1)") for script in found.scripts)
