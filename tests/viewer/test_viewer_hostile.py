"""Nothing that a model, a dataset or a run folder says becomes markup, code or a path."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jinja2 import TemplateAssertionError, nodes
from tests.helpers.metric_keys import columns

from helpers.parsed_page import Page, check_safe
from helpers.recorded import trajectories
from helpers.recorded_run import make_run, recorded_trajectory
from helpers.shown import episode_page
from wayword import viewer
from wayword.core.model import Image, Message
from wayword.core.trajectory import ModelCall, Trajectory
from wayword.core.visible import visible
from wayword.runs.codec import dump, from_json
from wayword.runs.record import EpisodeRecord
from wayword.viewer import markup
from wayword.viewer.data import Sources
from wayword.viewer.episode import Links
from wayword.viewer.markup import Html, data
from wayword.viewer.pages import file_name

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</title></style></textarea></pre><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x=\'',
    "' onload='alert(1)",
    "../../../../tmp/evil",
    "..\\..\\evil",
    "/etc/passwd",
    "a\x00b\x1b[31mc",
    "<!-- --!> <!--<script>",
    "]]><svg/onload=alert(1)>",
    "javascript:alert(1)",
    "&lt;b&gt; &amp;",
    "\u202egnp.exe\u2066",
    "\ud800 half a pair",
    "{{7*7}} ${7*7} {said}",
    "line\r\nline\u2028line",
    "CON",
    "." * 300,
]


@pytest.mark.parametrize("reply", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_everywhere_is_shown_as_text(reply: str, tmp_path: Path) -> None:
    run = make_run(
        tmp_path / "run",
        [reply, "plain"],
        reply,
        {f"{reply}!": recorded_trajectory("x", reply), "y": None},
    )
    index = viewer.write(run)
    pages = sorted(index.parent.rglob("*.html"))
    assert len(pages) == 5
    for path in pages:
        assert path.parent in (index.parent, index.parent / "episodes")
        assert "\x00" not in path.read_text(encoding="utf-8")
        check_safe(Page.read(path))
    plain = Page.read(index.parent / "episodes" / "plain.html")
    assert all(visible(line) in plain.text for line in reply.split("\n"))
    assert visible(reply) in [row[0] for row in Page.read(index).data["rows"]]


def test_no_template_can_insert_a_text_as_markup() -> None:
    templates = sorted(Path(markup.__file__).parent.glob("templates/*.html"))
    assert len(templates) > 20
    for path in templates:
        tree = markup._TEMPLATES.parse(path.read_text(encoding="utf-8"))
        filters = {each.name for each in tree.find_all(nodes.Filter)}
        assert filters <= markup._TEMPLATES.filters.keys(), path.name
        assert not any(tree.find_all(nodes.ScopedEvalContextModifier)), path.name
    with pytest.raises(TemplateAssertionError, match="No filter named 'safe'"):
        markup._TEMPLATES.from_string("{{ text | safe }}")


def test_a_hostile_run_opens_no_dataset_from_a_file(tmp_path: Path) -> None:
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n", encoding="utf-8")
    written = viewer.write_pages(make_run(tmp_path / "run", dataset=f"{evil}:test"))
    assert not (tmp_path / "ran").exists()
    assert "no file that you have not named is opened" in written.notice


@given(st.text(max_size=200))
def test_every_id_has_a_safe_file_name(name: str) -> None:
    found = file_name(name)
    assert Path(found).name == found
    assert len(found) < 110
    assert set(found) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-.")
    assert found.endswith(".html")
    assert not found.startswith((".", "-"))


@pytest.mark.parametrize("name", ["con", "prn", "aux", "nul", "com1", "lpt9", "CON"])
def test_no_file_name_is_a_device_of_windows(name: str) -> None:
    # A device is one with any ending, ``con.html`` too.
    assert file_name(name).partition(".")[0] != name.lower()


@given(st.text(max_size=20), st.text(max_size=20))
def test_two_ids_never_share_a_file(one: str, other: str) -> None:
    assert (file_name(one) == file_name(other)) == (one == other)


@given(st.text(max_size=40))
def test_a_name_made_up_for_an_id_is_no_other_ids_name(name: str) -> None:
    made = file_name(name).removesuffix(".html")
    assert made == name or file_name(made) != file_name(name)


@given(st.text(st.characters(codec=None), max_size=60))
def test_text_comes_back_from_an_element_and_from_data(reply: str) -> None:
    shown = Html('<p title="{0}">{0}</p>').format(reply)
    page = Page.parse(f"<body>{shown}{data('data', [reply])}</body>")
    assert [e.tag for e in page.elements] == ["body", "p", "script"]
    assert page.elements[1].text == visible(reply)
    assert page.elements[1].attributes["title"] == visible(reply)
    assert page.data == [reply]


@given(st.text("<>&/!- script", max_size=60))
def test_no_text_closes_the_element_of_data(reply: str) -> None:
    """A browser ends it at `</script `, too, which parsers for tests may overlook."""
    _, _, rest = data("data", [reply]).partition(">")
    assert not set("<>&") & set(rest.removesuffix("</script>"))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(trajectories)
def test_any_trajectory_that_can_be_recorded_has_a_safe_page(text: Trajectory) -> None:
    metrics = columns("indoor")
    again = from_json(json.loads(dump(text)))
    for each in (text, again):
        record = EpisodeRecord(text.episode_id, {"sr": 1.0, "ne": float("inf")}, each)
        check_safe(Page.parse(episode_page(record, metrics, Sources(), "run", Links())))


def test_only_pictures_are_shown_as_pictures() -> None:
    images = (
        Image(b"\x89PNG", "image/png"),
        Image(b"<svg onload=alert(1)>", "image/svg+xml"),
    )
    call = ModelCall("main", (Message("user", "look", images),), None, error="none")
    trajectory = Trajectory("one", {}, opening_calls=[call])
    page = Page.parse(
        episode_page(
            EpisodeRecord("one", {}, trajectory), [], Sources(), "run", Links()
        )
    )
    assert [e.attributes["src"] for e in page.all("img")] == [
        "data:image/png;base64,iVBORw=="
    ]
    assert "not shown" in page.all("section")[0].text
