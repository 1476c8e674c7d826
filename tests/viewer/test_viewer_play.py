"""Games in the browser: the same game as at the terminal, by requests."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest

from helpers.parsed_page import Page, check_safe
from helpers.rooms_scenes import flat, start
from helpers.two_in_a_flat import named
from wayword.core.action import Action, Decision
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.viewer.app import Server
from wayword.viewer.content import Content
from wayword.viewer.games import PlayEvent, PlayTable, Seat
from wayword.viewer.library import Library
from wayword.viewer.markup import Letters
from wayword.viewer.observed import (
    Look,
    _MapBuilder,
    arrow_keys,
    arrows,
    idle,
    landmarks,
    observed_map,
    room_of,
)
from wayword.viewer.play import answers_of, in_words, moves_of, readable
from wayword.worlds.babyai.level import VIEW_SIZE


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "runs").mkdir()
    with (
        Server(Content(Library([tmp_path / "runs"]))) as running,
        running.in_background(),
    ):
        yield running


def ask(server: Server, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
    port = int(server.address.split(":")[2].partition("/")[0])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    sent = {"Origin": f"http://127.0.0.1:{port}", **headers}
    text = None if body is None else body if isinstance(body, str) else json.dumps(body)
    connection.request("GET" if body is None else "POST", path, text, sent)
    response = connection.getresponse()
    found = response.status, response.read().decode()
    connection.close()
    return found


def until(condition: Any, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def turn_of(table: PlayTable, *actors: str) -> Seat:
    """The seat whose turn it is, once there is one."""
    until(lambda: table.ended or any(table.seat(actor).waiting for actor in actors))
    return next(table.seat(actor) for actor in actors if table.seat(actor).waiting)


def board(server: Server, game: str, actor: str) -> Page:
    status, text = ask(server, f"/play/{game}/board?as={quote(actor)}")
    assert status == 200, text
    return Page.parse(f"<body>{text}</body>")


def test_a_game_by_requests_is_recorded_like_any_run(
    server: Server, tmp_path: Path
) -> None:
    status, form = ask(server, "/play?on=houses")
    page = Page.parse(form)
    check_safe(page)
    options = page.all("input", type="radio")
    (chosen,) = [each for each in options if "checked" in each.attributes]
    assert chosen.attributes["value"] == "houses"
    status, text = ask(
        server, "/play", {"on": "houses", "split": "", "episode": "2", "with": ""}
    )
    assert (status, json.loads(text)) == (200, {"href": "/play/1/"})
    table = server.games.table("1")
    turn_of(table, "agent")
    check_safe(Page.parse(ask(server, "/play/1/seat?as=agent")[1]))
    shown = board(server, "1", "agent")
    (instruction,) = shown.all("h1", class_="task")
    assert len(instruction.text.split()) > 4
    assert shown.all("svg", class_="map")
    (rule,) = shown.all("details", class_="rule")
    assert "within 3 meters" in rule.text, "what counts, as agents read it"
    goto = [
        e
        for e in shown.all("button", class_="act")
        if "goto[" in e.attributes["data-action"]
    ]
    assert goto
    refused = {"as": "agent", "number": 1, "words": "fly"}
    text = json.loads(ask(server, "/play/1/say", refused)[1])["problem"]
    assert text == "no action is called fly; actions: goto, stop"
    moved = {"as": "agent", "number": 1, "words": goto[0].attributes["data-words"]}
    assert json.loads(ask(server, "/play/1/say", moved)[1]) == {"problem": ""}
    again = json.loads(ask(server, "/play/1/say", moved)[1])
    assert again == {"problem": "that turn is over; reload the page"}, (
        "a second press is no second move"
    )
    stop = {"as": "agent", "number": 2, "words": "stop"}
    answer = json.loads(ask(server, "/play/1/say", stop)[1])
    assert answer == {"problem": "", "question": "stop ends the game. Stop here?"}
    assert not table.ended
    ask(server, "/play/1/say", {**stop, "sure": 1})
    until(lambda: table.ended)
    end = board(server, "1", "agent")
    assert "expert" in end.text
    assert "You stopped" in end.text
    assert "after 2 moves; the expert needs 4." in end.text
    assert "1 game, 0 solved ✗" in end.text
    (link,) = [
        e.attributes["href"]
        for e in end.all("a")
        if "episode?id=" in e.attributes["href"]
    ]
    assert ask(server, link)[0] == 200
    (record,) = RunFolder.read(tmp_path / "runs" / "play-houses").records()
    actions = [str(s.decision.action) for s in record.trajectory.steps
               if isinstance(s.decision, Decision)]  # fmt: skip
    assert actions == [goto[0].attributes["data-action"], "stop"]


def test_a_game_leads_to_the_next_one_and_to_the_same_again(
    server: Server, tmp_path: Path
) -> None:
    def answer(body: dict[str, str]) -> str:
        return str(json.loads(ask(server, "/play", body)[1]).get("href"))

    def stop(name: str) -> tuple[str, str]:
        """The episode and the run folder of the game, once it has ended."""
        table = server.games.table(name)
        me = turn_of(table, "agent")
        me.put(me.waiting, "stop")
        until(lambda: table.ended)
        assert table.game is not None
        return table.game.episode, table.game.result.path.name

    out = tmp_path / "runs" / "mine"
    server.games.begin(Plan("human", "houses", out=out))  # as from the command line
    assert server.games.begin(Plan("human", "houses", out=out)).name == "1", (
        "the open one"
    )
    turn_of(server.games.table("1"), "agent")
    form = ask(server, "/play")[1]
    assert 'name="on" value="houses"' in form
    assert 'name="on" value="robot"' not in form, "it needs a target"
    assert "Not on this machine: " in form
    assert "Resume: houses, turn 1" in form
    assert answer({"after": "1"}) == "None", "it has not ended"
    first, folder = stop("1")
    assert folder == "mine"
    assert "Resume" not in ask(server, "/play")[1]
    letters = server.games.table("1").seat("agent").letters
    assert answer({"after": "1", "again": "1"}) == "/play/2/"
    assert server.games.table("2").seat("agent").letters is letters, (
        "a place keeps its letter"
    )
    assert stop("2") == (first, "mine-again1")
    assert "✗ you, earlier" in board(server, "2", "agent").text
    assert answer({"after": "2"}) == "/play/3/", (
        "after another attempt, the series goes on"
    )
    turn_of(server.games.table("3"), "agent")
    assert "1 game, 0 solved" in board(server, "3", "agent").text
    second, folder = stop("3")
    assert (second != first, folder) == (True, "mine")
    assert answer({"after": "none"}) == "None"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"on": "./mine.py"}, "no dataset is called './mine.py'"),
        ({"on": "houses", "with": "../mine.py"}, "no agent is called '../mine.py'"),
        ({"on": ""}, "no dataset is called ''"),
    ],
)
def test_a_game_is_made_of_installed_parts_alone(
    server: Server, body: dict[str, str], message: str
) -> None:
    assert message in json.loads(ask(server, "/play", body)[1])["problem"]
    assert not server.games.tables


@pytest.mark.parametrize(
    ("body", "status"),
    [
        *(("", 400), ("[]", 400), ("{", 400), ("x" * 70_000, 413)),
        ("[" * 60_000, 400),
        ('{"on": ' + "[" * 900 + "]" * 900 + "}", 400),
        ('{"on": {"a": 1}}', 400),
        ('{"on": "houses", "seed": [1]}', 400),
        ('{"on": null}', 400),
        ('{"on": NaN}', 400),
        ('{"on": "\\ud800"}', 400),
        ('{"on": 1' + "0" * 5_000 + "}", 400),
    ],
    ids=range(12),
)
def test_a_broken_request_is_refused_in_one_line(
    server: Server, body: str, status: int
) -> None:
    found, text = ask(server, "/play", body)
    assert found == status
    assert text.startswith("the request")
    assert "\n" not in text
    assert not server.games.tables


def test_odd_headers_and_endless_bodies_are_refused(server: Server) -> None:
    assert ask(server, "/play", "{}", Origin="http://[")[0] == 403
    port = int(server.address.split(":")[2].partition("/")[0])
    head = f"POST /play HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(
            f"{head}Content-Length: 300000000\r\n\r\n".encode() + b"x" * 200_000
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 413")


def test_only_this_servers_pages_play(server: Server) -> None:
    body = {"on": "houses"}
    assert ask(server, "/play", body, Origin="http://evil.example")[0] == 403
    assert ask(server, "/play", body, Host="evil.example")[0] == 403
    assert not server.games.tables
    assert ask(server, "/play/1/")[0] == 404
    assert ask(server, "/play/1/say", {})[0] == 404


@pytest.mark.parametrize(("own", "limit"), [(None, 15), (7, 7)])
def test_a_game_states_the_limit_of_the_plan_and_else_of_its_dataset(
    server: Server, tmp_path: Path, own: int | None, limit: int
) -> None:
    plan = Plan("human", "houses", episode="1", max_steps=own, out=tmp_path / "game")
    table = server.games.begin(plan)
    turn_of(table, "agent")
    shown = " ".join(board(server, "1", "agent").text.split())
    assert f"Turn 1 of at most {limit}" in shown
    assert table.limit == limit
    table.leave()
    until(lambda: table.ended)


def test_two_people_play_and_what_they_say_is_text(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named(monkeypatch)
    monkeypatch.setattr("wayword.viewer.app._installed", lambda kind, name: None)
    ask(server, "/play", {"on": "flat", "episode": "1", "with": ""})
    table = server.games.table("1")
    ann = turn_of(table, "ann", "bob")
    assert (ann.actor, table.humans) == ("ann", ("ann", "bob"))
    lobby = Page.parse(ask(server, "/play/1/")[1])
    assert [e.attributes["href"] for e in lobby.all("a")][2:] == [
        "seat?as=ann", "seat?as=bob", "watch",
    ]  # fmt: skip
    assert ask(server, "/play/1/seat?as=eve")[0] == 404
    assert ann.put(ann.waiting, "chat <script>alert(1)</script>") == ""
    bob = turn_of(table, "bob")
    heard = board(server, "1", "bob")
    assert "<script>alert(1)</script>" in heard.text
    assert not heard.all("script")
    bob.put(bob.waiting, "stop")
    ann = turn_of(table, "ann")
    ann.put(ann.waiting, "stop")
    until(lambda: table.ended)
    assert bob.situation is not None
    (record,) = RunFolder.read(tmp_path / "runs" / "play-flat").records()
    assert [step.actor for step in record.trajectory.steps[:2]] == ["ann", "bob"]
    assert "chat" in board(server, "1", "").text, "who watches sees every turn"


def test_a_map_of_several_actors_has_the_view_of_each() -> None:
    nothing: Any = None
    poses = [(1.0, 1.0, 0.0), (3.0, 1.5, 180.0)]
    table = PlayTable("1", "flat")
    world = start(flat(), *poses)
    table.enter(nothing, world)
    for number, place in enumerate(poses, 1):
        alone = PlayTable("2", "flat")
        single = start(flat(), place)
        alone.enter(nothing, single)
        mine = table.look(f"agent_{number}")
        assert mine.view == alone.look("agent").view
        assert mine.reach == alone.look("agent").reach


def test_a_question_reaches_who_watches(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named(monkeypatch)
    plan = Plan("human", "flat", episode="1", out=tmp_path / "runs" / "asked")
    table = server.games.begin(plan, "ann", "random")
    ann = turn_of(table, "ann")
    ann.put(ann.waiting, "ask Where is the <b>box</b>?")
    until(lambda: bool(table.question))
    watched = board(server, "1", "")
    assert "ann asks: Where is the <b>box</b>?" in watched.text
    wrong = json.loads(ask(server, "/play/1/answer", {"number": 7, "words": "no"})[1])
    assert wrong == {"problem": "this question is already answered"}
    ask(server, "/play/1/answer", {"number": 1, "words": "in the hall"})
    turn_of(table, "ann")
    assert "in the hall" in board(server, "1", "ann").text
    ask(server, "/play/1/leave", {"as": "ann"})
    until(lambda: table.ended)
    assert "this game does not count" in board(server, "1", "ann").text
    assert list(RunFolder.read(tmp_path / "runs" / "asked").records()) == []


def test_what_is_wrong_with_a_game_stands_on_its_page(
    server: Server, tmp_path: Path
) -> None:
    table = server.games.begin(
        Plan("human", "houses", episode="none", out=tmp_path / "x")
    )
    until(lambda: table.ended)
    assert "houses has no episode 'none'" in board(server, "1", "agent").text


def test_the_map_holds_what_was_seen_and_no_more() -> None:
    way = {"viewpoint": "north0f1t", "heading": 0.0, "elevation": 0.0, "distance": 2.0}
    looked = {"viewpoint": "start9place", "heading": 0.0, "neighbors": (way,)}
    letters = Letters()
    drawn = observed_map(
        [Look({"viewpoint": "start9place", "heading": 0.0}, looked)], letters
    )
    assert drawn is not None
    assert letters.by_place == {"start9place": "A", "north0f1t": "B"}
    assert letters.put("goto[north0f1t]") == (
        'goto[<abbr class="letter" title="north0f1t" data-letter="B">north0f1t</abbr>]'
    )
    assert "gold" not in drawn
    assert arrows(looked) == {"north0f1t": "↑ 2.0 m"}
    assert (
        observed_map([Look({"place": "room"}, {"objects": ("cup",)})], letters) is None
    )


def test_an_arrow_takes_the_place_nearest_to_the_front_of_its_side() -> None:
    headings = {"kitchen": -53.0, "back": -122.0, "behind": 170.0, "rear": 140.0}
    routes = [{"viewpoint": name, "heading": turn} for name, turn in headings.items()]
    observed = {"viewpoint": "here", "heading": 0.0, "neighbors": routes}
    space = SimpleNamespace(listed=[Action("goto", (name,)) for name in headings])
    now: Any = SimpleNamespace(observation=observed, space=space)
    assert arrow_keys(now) == {
        "ArrowLeft": "goto[kitchen]",
        "ArrowDown": "goto[behind]",
    }


BALL = {
    "name": "red_ball_1",
    "color": "red",
    "kind": "ball",
    "ahead": 2,
    "right": 1,
    "state": "",
}
DOOR = {"name": "red_door_1", "color": "red", "kind": "door", "ahead": 3, "right": 0,
        "state": "closed"}  # fmt: skip


def grid(
    objects: Any, walls: Any = (None, None, None), holding: Any = ()
) -> dict[str, Any]:
    return {"heading": 0.0, "objects": objects, "walls": walls, "holding": holding}


def test_the_map_of_a_grid_ends_at_walls_and_doors_and_forgets_what_has_gone() -> None:
    here = {"x": 5, "y": 5, "heading": 0.0}
    builder = _MapBuilder(Letters())
    assert builder.add(Look(here, grid((BALL, DOOR), (None, 2, None))))
    walls = {square for square, wall in builder.squares.items() if wall}
    assert walls == {(3.0, y) for y in (-5.0, -4.0, -3.0, -2.0)} | {
        (x, -2.0) for x in (4.0, 6.0, 7.0, 8.0)
    }
    assert set(builder.grid) == {"red_ball_1", "red_door_1"}
    motions = builder.motions()
    assert motions[6.0, -3.0] == "move_ahead", "the ball is walked up to"
    assert (5.0, -2.0) in motions, "the closed door is faced"
    assert not [square for square in motions if square[1] > -2], (
        "nothing is seen behind it"
    )
    builder.add(Look(here, grid((DOOR,), (None, 2, None))))
    assert set(builder.grid) == {"red_door_1"}, "the ball is in view no more"
    builder.add(Look(here, grid((), (None, 2, None), [{"name": "red_door_1"}])))
    assert not builder.grid


def test_the_map_of_a_grid_looks_through_an_open_door_and_leaves_its_frame_behind() -> (
    None
):
    builder = _MapBuilder(Letters())
    door = {**DOOR, "ahead": 1, "state": "open"}
    builder.add(Look({"x": 5, "y": 5, "heading": 0.0}, grid((door,), (5, None, None))))
    assert not any(builder.squares[5.0, -y] for y in (4.0, 3.0, 2.0, 1.0)), (
        "up to the wall"
    )
    assert (5.0, 0.0) not in builder.squares
    builder.add(Look({"x": 5, "y": 4, "heading": 0.0}, grid((), (4, 1, 1))))
    assert "red_door_1" in builder.grid, "who stands on it does not see it"
    assert builder.squares[4.0, -4.0]
    assert builder.squares[6.0, -4.0]
    assert not {(4.0, -3.0), (6.0, -3.0)} & builder.squares.keys(), (
        "the next room may be wider"
    )


def test_behind_an_open_door_all_is_free_up_to_the_end_of_the_view() -> None:
    builder = _MapBuilder(Letters())
    door = {**DOOR, "ahead": 1, "state": "open"}
    builder.add(Look({"x": 5, "y": 5, "heading": 0.0}, grid((door,))))
    seen = [builder.squares.get((5.0, -float(y))) for y in range(5, -3, -1)]
    assert seen == [False] * VIEW_SIZE + [None]


def test_actions_without_an_effect_are_dimmed() -> None:
    assert idle(grid(())) == ["pick_up", "drop", "toggle"]
    assert idle(grid(({**BALL, "ahead": 1, "right": 0},))) == ["drop", "toggle"]
    assert idle(grid(({**DOOR, "ahead": 1},), holding=[BALL])) == ["pick_up", "drop"]
    assert idle({"objects": ()}) == []


def test_landmarks_and_rooms_are_read_from_the_text() -> None:
    text = (
        "Front: A bench by the wall. Near: oak bench (ahead, 1.5 m), doorway to the kitchen"
        " (left 90°, 2.0 m). Ways: goto[89be07] (left 90°, 2.0 m).\nRight: Only the wall of the"
        " hallway.\nRear: A sofa can be seen in the living room."
    )
    assert list(landmarks(text)) == [
        ("oak bench", 0, 1.5),
        ("doorway to the kitchen", -90, 2.0),
    ]
    assert room_of(text) == "hallway"
    assert room_of("A doorway to the kitchen.") == ""
    assert list(landmarks("You see Red Door Shoes on your right.")) == [
        ("Red Door Shoes", 90, 1)
    ]


def test_texts_are_for_people_and_a_move_is_one_line() -> None:
    letters = Letters()
    letters.assign("scene_12a")
    assert readable("cabinet_1 at 359.81°, scene_12a", letters).startswith(
        "cabinet 1 at 0°, <abbr"
    )
    event = PlayEvent("you", "open[x]")
    heard = PlayEvent("", "You opened it.")
    assert moves_of([heard, event, heard, heard, event]) == [
        [heard],
        [event, heard, heard],
        [event],
    ]


def test_a_recorded_episode_is_played_on_from_a_step(
    server: Server, tmp_path: Path
) -> None:
    walk = tmp_path / "runs" / "walk"
    run(Plan("oracle", "houses", limit=1, out=walk))
    (record,) = RunFolder.read(walk).records()
    query = f"?id={quote(record.episode_id)}&step=2"
    status, text = ask(server, f"/run/walk/continue{query}")
    assert status == 200
    assert (
        text.splitlines()[1] == f"wayword play --continue {walk}:{record.episode_id}:2"
    )
    assert ask(server, "/run/walk/continue?id=none&step=2")[0] == 404
    output = ask(server, "/play", {"run": "walk", "id": record.episode_id, "step": "2"})
    assert json.loads(output[1]) == {"href": "/play/1/"}
    table = server.games.table("1")
    me = turn_of(table, "agent")
    assert me.situation is not None
    assert me.situation.turn == 2
    assert "recorded: goto[" in board(server, "1", "agent").text
    me.put(me.waiting, "stop")
    until(lambda: table.ended)
    assert table.game is not None
    (after,) = RunFolder.read(table.game.result.path).records()
    assert len(after.trajectory.steps) == 2
    assert json.loads(
        ask(server, "/play", {"run": "../..", "id": "x", "step": "1"})[1]
    ) == {"problem": "no run is called '../..'; the first page lists them"}


@pytest.mark.parametrize(
    ("instruction", "answers"),
    [
        ("Is there a cup? Answer yes or no.", ("yes", "no")),
        ("How many cups? Answer with a number.", ("0", "1", "2", "3")),
        ("Find the cup.", ()),
    ],
)
def test_a_question_has_buttons_for_its_answers(
    instruction: str, answers: tuple[str, ...]
) -> None:
    assert answers_of(instruction) == answers


def seen(name: str, bearing: float, container: str = "") -> dict[str, Any]:
    return {"name": name, "bearing": bearing, "distance": 2, "container": container}


def test_a_receptacle_has_one_label_with_the_number_of_what_is_on_it() -> None:
    names = ["cup_1", "bowl_1", "key_1"]
    held = [seen("table_1", 0), seen("shelf_1", 90), seen("vase_1", 90, "shelf_1")]
    held += [seen(name, 3 * n, "table_1") for n, name in enumerate(names)]
    held.append(seen("egg_1", 9, "bowl_1"))
    actions = [Action("goto", (name,)) for name in ("table_1", "egg_1")]
    observed = {"room": "den", "heading": 0.0, "objects": held}
    now: Any = SimpleNamespace(
        observation=observed, space=SimpleNamespace(listed=actions)
    )
    look = Look({"x": 0, "y": 0, "heading": 0.0, "room": "den"}, observed)
    page = Page.parse(str(observed_map([look], Letters(), now)))
    labels = [each.text for each in page.all("text", class_="label")]
    assert "table 1: 4 objects" in labels
    assert "shelf 1: vase 1" in labels
    contained = [each.text for each in page.all("text", class_="contained")]
    assert sorted(contained) == ["bowl 1", "cup 1", "egg 1", "key 1", "vase 1"]
    table, egg = page.all("g", class_="target")
    assert table.attributes["data-holds"] == "cup_1 bowl_1 key_1 egg_1"
    assert egg.attributes["data-within"] == "table_1", (
        "what is in a bowl is the table's"
    )


@pytest.mark.parametrize(
    ("room", "label"), [("den", "door 1 to the hall"), ("attic", "door 1")]
)
def test_a_door_is_named_with_the_room_behind_it(room: str, label: str) -> None:
    door = {"name": "door_1", "bearing": 0, "distance": 2, "open": False}
    observed = {
        "room": room,
        "heading": 0.0,
        "doors": [{**door, "rooms": ("den", "hall")}],
    }
    look = Look({"x": 0, "y": 0, "heading": 0.0}, observed)
    page = Page.parse(str(observed_map([look], Letters())))
    assert page.all("text", class_="landmarkname")[0].text == label


def test_what_ends_a_view_is_a_line_and_its_reach_is_none() -> None:
    rim = [(0.0, 0.0), (-0.2, 2.0), (0.0, 2.0), (0.2, 5.0), (0.4, 5.0)]
    look = Look({"x": 0, "y": 0, "heading": 0.0}, {}, view=rim, reach=5.0)
    builder = _MapBuilder(Letters())
    assert builder.add(look)
    assert [line for line in builder.obstacles if line] == [[(-0.2, 2.0), (0.0, 2.0)]]
    kinds = [shape.kind for shape in builder.shapes()]
    assert "seenwall" in kinds
    assert "inview" in kinds


def test_detections_of_one_name_are_one_object_only_where_they_are_near() -> None:
    builder = _MapBuilder(Letters())
    chairs = [
        {"name": "chair", "bearing": 0, "distance": 1.0},
        {"name": "chair", "bearing": 90, "distance": 1.0},
    ]
    assert builder.add(Look({"x": 0, "y": 0, "heading": 0.0}, {"shown": chairs}))
    assert sorted(builder.objects) == ["chair", "chair 2"]
    # From 0.2 m nearer, the first chair alone.
    again = [{"name": "chair", "bearing": 0, "distance": 0.8}]
    assert builder.add(Look({"x": 0, "y": 0.2, "heading": 0.0}, {"shown": again}))
    assert sorted(builder.objects) == ["chair", "chair 2"]


def test_exits_of_a_street_have_words_as_north_is_up_on_the_map() -> None:
    builder = _MapBuilder(Letters())
    pose = {"panorama": "corner", "heading": 120.0}
    assert builder.add(Look(pose, {"angles": (0, 90, 180, -90)}))
    labels = [shape.label for shape in builder.shapes() if shape.form == "label"]
    assert labels == ["ahead", "right", "behind", "left"]


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("go_explore[living room]", "look around in living room"),
        ("put[mug_1, table_1]", "put mug_1 → table_1"),
        ("toggle_on[lamp_1]", "switch on lamp_1"),
        ("fly[home]", "fly home"),
        ("toggle", "open / close"),
        ("You see a cup.", "You see a cup."),
    ],
)
def test_actions_have_the_words_of_people(action: str, words: str) -> None:
    assert in_words(action) == words


def test_two_detections_of_one_look_are_two_objects() -> None:
    builder = _MapBuilder(Letters())
    book = {"name": "book", "bearing": 22, "distance": 3.0}
    assert builder.add(Look({"x": 0, "y": 0, "heading": 0.0}, {"shown": (book, book)}))
    assert sorted(builder.objects) == ["book", "book 2"]


def test_only_what_is_seen_now_is_named_on_the_map_of_a_phone() -> None:
    builder = _MapBuilder(Letters())
    pose = {"x": 0, "y": 0, "heading": 0.0}
    assert builder.add(Look(pose, {"objects": (seen("cup_1", 0),)}))
    assert builder.add(Look(pose, {"objects": (seen("vase_1", 90),)}))
    kinds = {shape.label: shape.kind for shape in builder.shapes() if shape.label}
    assert "remembered" in kinds["cup_1"]
    assert "remembered" not in kinds["vase_1"]
