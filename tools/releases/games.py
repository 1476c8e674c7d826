"""The ten games of each system: episodes, scripted answers, and the differences that are meant."""

from __future__ import annotations

import ast
import gzip
import json
import math
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tools.releases.stubs import similarity

from wayword.agents.released import settings_of
from wayword.core.dataset import of_ids
from wayword.core.model import Message, Prompt, Sampling
from wayword.core.perceiver import Perceiver
from wayword.core.rollout import Setup, rollout
from wayword.models.scripted import ScriptedModel
from wayword.runs.opening import open_agent, open_dataset
from wayword.runs.plan import Plan
from wayword.runs.reproduce import open_recipe

Call = str | list[dict[str, str]]
"""A prompt: a text, or messages with ``role`` and ``content``."""
Stream = list[Call]
Level = Callable[[str, str], tuple[str, str]]
"""Removes a named difference from our text and the released one."""


@dataclass(frozen=True, slots=True)
class Game:
    """An episode with its answers; ``calls`` are our prompts, ``item`` what the release reads.

    With ``reply``, an answer follows from the prompt, and is appended to ``answers``. ``roles``
    are those of the models that were asked.
    """

    episode: str
    answers: list[str]
    item: Any
    calls: Stream = field(default_factory=list)
    reply: Callable[[str], str] | None = None
    agents: list[Any] = field(default_factory=list)
    roles: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Part:
    """Games of a system with one recipe: agent and settings are those of its row ``row``.

    ``script`` makes the games from the dataset and its data folder. ``split`` replaces that of the
    row. ``prompts`` is the subfolder of imported prompts; its first name is the variant.
    """

    recipe: str
    row: str
    script: Callable[[Any, Path], list[Game]]
    split: str = ""
    prompts: str = ""


@dataclass(frozen=True, slots=True)
class System:
    """The ten games of a system, in parts.

    ``released_input``: what the released code reads. ``perceiver`` replaces the dataset's.
    """

    parts: tuple[Part, ...]
    released_input: Callable[[Path, Path, Sequence[Game]], dict[str, Any]]
    differences: Mapping[str, Level]
    perceiver: Callable[[], Any] | None = None


def import_all(
    system: str, clone: Path, folder: Path, import_prompts: Callable[..., Any]
) -> None:
    """Import the prompts of a system, each variant into a subfolder with its name."""
    variants = {part.prompts.partition("/")[0] for part in SYSTEMS[system].parts}
    for variant in variants:
        import_prompts(system, clone, folder / variant, variant)


async def play(system: str, data: Path, prompts: Path) -> list[Game]:
    """Play the games with a folder of prompts, and the settings of the recipes."""
    games = []
    for part in SYSTEMS[system].parts:
        games += await _play_part(part, SYSTEMS[system].perceiver, data, prompts)
    return games


async def _play_part(
    part: Part, perceiver: Callable[[], Any] | None, data: Path, prompts: Path
) -> list[Game]:
    recipe = open_recipe(part.recipe)
    row = next(each for each in recipe.playable if each.name == part.row)
    source = row.sources[0]
    folder = prompts / part.prompts
    settings = {**row.settings, **source.settings, **settings_of(folder)}
    settings |= {"prompts": str(folder), "dataset": dict(source.dataset)}
    plan = Plan(
        row.agent, part.split or source.split, "scripted:first", settings, data=data
    )
    dataset = open_dataset(plan)
    if perceiver is not None:
        dataset.perceiver = perceiver  # type: ignore[method-assign]
    agent = open_agent(plan, dataset)
    games = part.script(dataset, data)
    # The played ones alone: a split may have a hundred thousand.
    tasks = of_ids(dataset.tasks, [game.episode for game in games])
    for game in games:
        models = {
            role: ScriptedModel(answers=_recorder(game, role))
            for role in ("main", *agent.roles)
        }
        make = partial(_make_kept, agent.make, game)
        setup = Setup(dataset, make, models, max_steps=row.steps or 0)
        played = await rollout(tasks[game.episode], setup)
        if played.ended == "failed":
            raise SystemExit(f"{game.episode}: {played.error}")
    return games


def _make_kept(make: Callable[..., Any], game: Game, toolkit: Any, actor: str) -> Any:
    agent = make(toolkit, actor)
    game.agents.append(agent)
    return agent


def _recorder(game: Game, role: str) -> Callable[[Prompt, Sampling], str]:
    def answer(prompt: Prompt, sampling: Sampling) -> str:
        game.roles.append(role)
        if isinstance(prompt, str):
            game.calls.append(prompt)
        else:
            game.calls.append([_message(each) for each in prompt])
        if game.reply is not None:
            text = prompt if isinstance(prompt, str) else prompt[-1].content
            game.answers.append(game.reply(text))
        return game.answers[len(game.calls) - 1]

    return answer


def _message(message: Message) -> dict[str, str]:
    return {"role": message.role, "content": message.content}


def read(path: Path) -> Any:
    """A JSON file, zipped or not."""
    if path.is_file():
        return json.loads(path.read_text())
    return json.loads(gzip.decompress(path.with_name(f"{path.name}.gz").read_bytes()))


# NavGPT.

NAVGPT_PARTS = {
    "navigable": "{}_navigable.json",
    "observations_list_summarized": "{}.json",
    "observations_summarized": "{}_summarized.json",
    "objects_list": "{}.json",
}
ABSENT_ID = "0" * 32  # no viewpoint has it
MOST_MOVES = 10


def navgpt_games(dataset: Any, data: Path) -> list[Game]:
    """First instructions of ten paths: straight walks, a detour, refused answers, long thoughts."""
    paths = read(data / "r2r/annotations/R2R_val_seen.json")
    games = []
    for number, path in enumerate(paths[:: len(paths) // 10][:10]):
        exits = read(data / f"r2r/navigable/{path['scan']}_navigable.json")
        moves = path["path"][1:]
        if number % 5 == 1:
            start = path["path"][0]
            aside = next(each for each in exits[start] if each not in path["path"])
            moves = [aside, start, *moves]
        if number % 5 == 4:  # walks until the limit
            moves = [*moves, *path["path"][-2::-1]] * 3
        answers = [_navgpt_move(step, to) for step, to in enumerate(moves, 1)]
        if number % 5 == 2:
            answers[1:1] = [
                "I would go on through the door.",
                _navgpt_move(0, ABSENT_ID),
            ]
        if number % 5 == 3:
            answers[0] = f"Thought: {answers[0]}"
        answers.append(" I have reached the place.\nFinal Answer: Finished!")
        item = {**path, "instruction": path["instructions"][0]}
        item["instr_id"] = f"{path['path_id']}_0"
        games.append(Game(item["instr_id"], answers[:MOST_MOVES], item))
    return games


def _navgpt_move(step: int, viewpoint: str) -> str:
    thought = (
        f" Step {step} of the instruction is next; the exit to {viewpoint[:6]} fits it."
    )
    return f'{thought}\nAction: action_maker\nAction Input: "{viewpoint}"'


def navgpt_input(data: Path, folder: Path, games: Sequence[Game]) -> dict[str, Any]:
    """Unzipped files of the games' scans, in the release's layout."""
    for scan in {game.item["scan"] for game in games}:
        for part, pattern in NAVGPT_PARTS.items():
            name = pattern.format(scan)
            path = folder / "R2R" / part / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(read(data / "r2r" / part / name)))
    episodes = [{"item": game.item, "answers": game.answers} for game in games]
    return {"data": str(folder), "model": "gpt-4", "episodes": episodes}


# Lines such as: Front Navigable Viewpoints:{'ID': 'left 3.10, 2.00m'}
_EXITS = re.compile(r"^([A-Z][A-Za-z ]+) Navigable Viewpoints:( None|\{.*\})$", re.M)
_RANGE = r"(?m)^{}, range \((left|right) ([\d.]+) to "


def _trimmed(ours: str, theirs: str) -> tuple[str, str]:
    theirs = re.sub(r"(\nInstruction: [^\n]*?) +\n", r"\1\n", theirs)
    return ours, re.sub(r"(?<=[\w]) +(?=': '(?:left|right) )", "", theirs)


def _exits_of(text: str) -> dict[str, dict[str, str]]:
    """The exits of each direction."""
    return {
        match[1]: ast.literal_eval(match[2].strip()) or {}
        for match in _EXITS.finditer(text)
    }


def _with_exits(text: str, exits: Mapping[str, Mapping[str, str]]) -> str:
    def line(match: re.Match[str]) -> str:
        listed = exits[match[1]]
        return f"{match[1]} Navigable Viewpoints:{listed or ' None'}"

    return _EXITS.sub(line, text)


def _hidden(ours: str, theirs: str) -> tuple[str, str]:
    """The wrongly rounded exits are the first 7.5 degrees of a direction."""
    shown = _exits_of(theirs)
    exits = _exits_of(ours)
    for direction, listed in exits.items():
        start = re.search(_RANGE.format(direction), ours)
        for viewpoint, words in list(listed.items()):
            side, degrees = words.partition(",")[0].split()
            begin = _signed(start[1], start[2]) if start else 0.0
            into = (_signed(side, degrees) - begin) % 360.0
            if viewpoint not in shown.get(direction, {}) and into < 7.5:
                del listed[viewpoint]
    return _with_exits(ours, exits), theirs


def _signed(side: str, degrees: str) -> float:
    return -float(degrees) if side == "left" else float(degrees)


def _order(ours: str, theirs: str) -> tuple[str, str]:
    def ordered(text: str) -> str:
        exits = _exits_of(text)
        return _with_exits(
            text, {name: dict(sorted(listed.items())) for name, listed in exits.items()}
        )

    return ordered(ours), ordered(theirs)


_FORMAT_ERROR = r"Invalid Format: Missing 'Action:' after 'Thought:"
_NOT_VALID = r'ViewpointID ["\']0{32}["\'] is not valid[^\n]*'


def _refusals(ours: str, theirs: str) -> tuple[str, str]:
    """The observation after a refused answer, in full or as a step of the history."""
    begin = r"(?<=\nObservation: )"
    place = r'\nCurrent viewpoint "\w+": [^\n]*'
    ours = re.sub(rf"{begin}That was no legal move:[^\n]*(?:{place})?", "-", ours)
    theirs = re.sub(rf"{begin}\n?(?:{_FORMAT_ERROR}|{_NOT_VALID})", "-", theirs)
    oriented = r"(?:Orientation:\n.*?\n\tCurrent )?"
    around = (
        rf"(?s)(?<=\nObservation: -)\n\tCurrent {oriented}Viewpoint:.*(?=\nThought:)"
    )
    return re.sub(around, "", ours), re.sub(around, "", theirs)


SCRATCHPAD = 7_000  # characters of the history that the release keeps


def _scratchpad(ours: str, theirs: str) -> tuple[str, str]:
    """The release keeps the end of the history. Its first whole step and the rest are compared."""
    cue = "Thought: I should start navigation according to the instruction, "
    head, _, kept = theirs.partition(cue)
    our_head, _, history = ours.partition(cue)
    kept_step = kept[kept.find("\nObservation: ") :]
    if len(kept) < SCRATCHPAD * 0.9 or not history.endswith(kept_step):
        return ours, theirs
    return our_head, head


def _behind(ours: str, theirs: str) -> tuple[str, str]:
    return ours.replace("left 180.00", "right 180.00"), theirs.replace(
        "left 180.00", "right 180.00"
    )


# VELMA.

NONSENSE = "Hmm, a difficult place."  # no action: the release and we go forward


class FixedScores(Perceiver):
    """Scores that are always the same for a view and a landmark, in place of CLIP's."""

    name = "fixed"

    def score(
        self, scene: str, place: str, headings: Sequence[int], landmarks: Sequence[str]
    ) -> Any:
        rows = [[similarity(place, h, name) for h in headings] for name in landmarks]
        return np.array(rows, np.float64).reshape(len(landmarks), len(headings))


def velma_games(dataset: Any, data: Path) -> list[Game]:
    """Routes of unseen_dev: solved ones, several actions in an answer, wrong turns, no stop."""
    games = []
    tasks = list(dataset.tasks)
    for number, task in enumerate(tasks[:: len(tasks) // 10][:10]):
        shown = dataset.demonstration(task)
        words = [decision.action.name for _, decision in shown.decisions()]
        if number % 5 == 1:
            words = [*words[:-1], *["forward"] * 60]
        if number % 5 == 2:
            words[3:3] = ["turn_around", "forward", "turn_around"]
        seed = zlib.crc32(f"0/{task.episode.id}".encode())
        shots = [_velma_item(each) for each in dataset.demonstrations(2, seed)]
        item = {"item": _velma_item(shown), "shots": shots}
        reply = partial(_velma_reply, words, number)
        games.append(Game(task.episode.id, [], item, reply=reply))
    return games


def _velma_item(demonstration: Any) -> dict[str, Any]:
    """A route as the release reads it."""
    episode = demonstration.episode
    game = demonstration.game()
    route = []
    for actor, decision in demonstration.decisions():
        panorama = game.observation(actor).panorama
        if panorama not in route[-1:]:
            route.append(panorama)
        game.carry_out(actor, decision)
    return {
        "id": episode.id,
        "navigation_text": episode.instruction,
        "start_heading": episode.start["heading"],
        "route_panoids": route,
        "unfiltered": list(episode.extra.get("landmarks", ())),
    }


def _velma_reply(words: Sequence[str], kind: int, prompt: str) -> str:
    """The next action, or the next three, after the number at the end of a prompt."""
    step = int(prompt.rsplit("\n", 1)[-1].removesuffix("."))
    rest = words[step - 1 :] or ["forward"]
    if kind % 5 == 3 and step % 7 == 0:
        return NONSENSE
    if kind % 5 != 4:
        return rest[0]
    lines = [f"{step + n}. {word}" for n, word in enumerate(rest[:3])]
    return "\n".join(lines).partition(" ")[2]


def velma_input(data: Path, folder: Path, games: Sequence[Game]) -> dict[str, Any]:
    """The unzipped graph, and the games."""
    for name in ("nodes.txt", "links.txt"):
        zipped = data / "map2seq/graph" / f"{name}.gz"
        (folder / name).write_bytes(gzip.decompress(zipped.read_bytes()))
    listed = [{**game.item, "answers": game.answers} for game in games]
    return {"graph": str(folder), "name": "map2seq", "games": listed}


# LangSuitE.

LANGSUITE_ACTIONS = {
    "move_ahead": "MoveAhead",
    "turn_left": "RotateLeft",
    "turn_right": "RotateRight",
    "open": "OpenObject",
}
LANGSUITE_BODY = {"step": 0.25, "focal_length": 10.0, "inventory_capacity": 1}
# Of react: a thought alone (in lower case, as the release tests it), no action, a move, a stop
REACT_ANSWERS = (
    "thought: I look around before I move.",
    "Thought: Left of me may be more.\nAct: turn_left",
    "I would walk on.",
    "Thought: On I go.\nAct: move_ahead",
    "Act: turn_right",
    "Thought: It is done.\nAct: stop [n/a]",
)
ACT_ANSWERS = (
    "Act: turn_left",
    "Act: move_ahead",
    "Act: turn_right",
    "Act: answer [True]",
)


def langsuite_games(
    template: str,
    example: str,
    answers: Sequence[str],
    count: int,
    dataset: Any,
    data: Path,
) -> list[Game]:
    """The first tasks, with the answers from another one on in each."""
    games = []
    for number, task in enumerate(dataset.tasks[:count]):
        body = {**LANGSUITE_BODY, **dataset.settings.body}
        values = {
            "max_view_steps": body["view_distance"] / body["step"],
            "left_degree": math.degrees(math.atan(18 / body["focal_length"])),
            "inventory_capacity": body["inventory_capacity"],
        }
        values["right_degree"] = values["left_degree"]
        item = {"template": template, "example": example, "body": values}
        item |= {"task": task.episode.instruction, "actions": LANGSUITE_ACTIONS}
        from_answer = number % (len(answers) - 2)
        games.append(Game(task.episode.id, list(answers[from_answer:]), item))
    return games


def langsuite_input(data: Path, folder: Path, games: Sequence[Game]) -> dict[str, Any]:
    """The games, with the views of our world in place of the release's."""
    listed = []
    for game in games:
        views = []
        for call in game.calls:
            text = call[-1]["content"] if isinstance(call, list) else call
            acted = not views or ("Obs: " in text and "Not an action:" not in text)
            if acted:
                view = text.partition("Obs: ")[2]
                views.append(
                    re.sub(r"(?i)(\s*what is your next step\?)?\s*$", "", view)
                )
        # what is in view after the stop is not sent
        item = {**game.item, "answers": game.answers, "views": [*views, ""]}
        listed.append(item)
    return {"games": listed}


def _roles(ours: str, theirs: str) -> tuple[str, str]:
    return ours, theirs.replace("<system>\n", "<user>\n")


def _numbers(ours: str, theirs: str) -> tuple[str, str]:
    def rounded(match: re.Match[str]) -> str:
        return f"{float(match[0]):g}"

    return ours, re.sub(r"\d+\.\d+(?= (?:step|degrees on))", rounded, theirs)


def _outer_lines(ours: str, theirs: str) -> tuple[str, str]:
    theirs = re.sub(r"\n+(?=\n<(?:user|assistant)>\n)", "", theirs)
    return ours, re.sub(r"(?<=<user>)\n+", "\n", theirs)


def _results(ours: str, theirs: str) -> tuple[str, str]:
    """Text after the label, and the view after a refused answer."""
    begin = r"(?s)(?<=<user>\n)Feedback: "
    end = r"(?=\n<|$)"
    ours = re.sub(rf"{begin}Not an action:.*?{end}", "-", ours)
    unread = r"Feedback: Action failed\. There is no valid|I can't find a valid"
    theirs = re.sub(rf"(?s)(?<=<user>\n)(?:{unread}) action.*?{end}", "-", theirs)
    result = rf"{begin}.*?(?=\nObs: )"
    return re.sub(result, "Feedback: -", ours), re.sub(result, "Feedback: -", theirs)


# LGX.


def lgx_games(is_caption: bool, dataset: Any, data: Path) -> list[Game]:
    """Five episodes: a listed object or direction, or an answer that is none of them."""
    games: list[Game] = []
    for task in dataset.tasks[is_caption :: len(dataset.tasks) // 5][:5]:
        name = str(task.episode.extra["target"]).title()
        item = {"target": name.replace(" ", ""), "captions": is_caption, "seen": []}
        game = Game(task.episode.id, [], item)
        reply = partial(_lgx_reply, game)
        games.append(replace(game, reply=reply))
    return games


def _lgx_reply(game: Game, prompt: str) -> str:
    """Note what is around, and pick by the number of the turn."""
    turn = len(game.item["seen"])
    listed = ast.literal_eval(re.findall(r"\[['\"].*?['\"]\]", prompt)[-1])
    if game.item["captions"]:
        game.item["seen"].append(dict(game.agents[-1].captions))
    else:
        game.item["seen"].append(listed)
    return "Zebra." if turn == 2 else f"{listed[turn % len(listed)]}."


def lgx_input(data: Path, folder: Path, games: Sequence[Game]) -> dict[str, Any]:
    """The games, without turns at which the list has the target: the release does not ask then
    (the difference ``found``)."""
    listed = []
    for game in games:
        target = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", game.item["target"]).lower()
        turns = zip(game.item["seen"], game.calls, game.answers, strict=True)
        kept_turns = [
            turn for turn in turns if not any(target in each for each in turn[0])
        ]
        game.calls[:] = [call for _, call, _ in kept_turns]
        item = {**game.item, "seen": [seen for seen, _, _ in kept_turns]}
        listed.append({**item, "answers": [answer for _, _, answer in kept_turns]})
    return {"games": listed}


# DiscussNav.

# Our experts, and the released functions that ask the same
EXPERTS = {
    "decomposition": "detect_actions",
    "landmarks": "detect_landmarks",
    "summary": "summary",  # two functions
    "completion": "estimate_completion",
    "main": "pred_vp",
    "fusion": "thought_fusion",
    "testing": "test_decisions",
}
MANY_ACTIONS = 6  # with more than 5, the release walks 7 steps
MOST_STEPS = 7
LANDMARKS = ("hall (room)", "door (infrastructure)")


def discussnav_games(dataset: Any, data: Path) -> list[Game]:
    """First instructions of ten paths: predictions that agree or differ, few and many actions."""
    paths = read(data / "r2r/annotations/R2R_val_seen.json")
    games = []
    for number, path in enumerate(paths[:: len(paths) // 10][:10]):
        clauses = re.split(r"[,.] +", path["instructions"][0].strip(" ."))
        if number % 5 == 4:
            clauses = [*clauses, *["Wait"] * MANY_ACTIONS][:MANY_ACTIONS]
        actions = _numbered(clauses[:MANY_ACTIONS])
        item = {
            "item": {**path, "instructions": path["instructions"][:1]},
            "differ": number % 3 != 0,
            "graph": read(data / f"r2r/navigable/{path['scan']}_navigable.json"),
            "actions": actions,
            "places": [],
            "answers": {},
            "asked": [],
        }
        game = Game(f"{path['path_id']}_0", [], item)
        games.append(replace(game, reply=partial(_discussnav_reply, game)))
    return games


def _numbered(lines: Sequence[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


def _discussnav_reply(game: Game, prompt: str) -> str:
    """Answer as one of the experts, and note the answer without the labels of our forms."""
    role = game.roles[-1]
    item = game.item
    places = item["places"]
    if role == "scene":
        return "A part of a room."
    if role == "main":
        return _discussnav_prediction(game)
    place = len(places)
    if role in ("fusion", "testing"):  # after the predictions at this place
        place -= 1
    item["asked"].append((EXPERTS[role], place))

    def note(function: str, answer: str) -> None:
        answers = item["answers"].setdefault(function, {})
        answers.setdefault(place, []).append(answer)

    match role:
        case "decomposition":
            note("translate", item["item"]["instructions"][0])
            note("detect_actions", item["actions"])
            return f"Actions:\n{item['actions']}"
        case "landmarks":
            note("detect_landmarks", "; ".join(LANDMARKS))
            lists = f"Actions:\n{item['actions']}\nLandmarks:\n{_numbered(LANDMARKS)}"
            return f"Check: They are in order.\n{lists}"
        case "completion":
            done = ("Leave the room", "Pass the hall")[:place]
            note("estimate_completion", f"Executed Actions: {'; '.join(done)}")
            lists = f"Executed:\n{_numbered(done)}\nIn progress:\n1. Walk on"
            return f"Thought: By the hall.\n{lists}\nWaiting:\n1. Wait"
        case "fusion":
            thought = f"Fused at place {place}: {len(item['asked'])}."
            note("thought_fusion", thought)
            return f"Thought: {thought}"
        case "testing":
            note("test_decisions", places[place]["next"])
            number = places[place]["predictions"][0]
            return f"Thought: The first.\nPrediction: {number}"
    note("summarize_observation", f"Hall {place}.")
    note("summarize_thought", f"Went on to place {place}.")
    return f"Observation: Hall {place}.\nThought: Went on to place {place}."


def _discussnav_prediction(game: Game) -> str:
    """Predict the first new exit; with ``differ``, two of five samples predict the last one."""
    item = game.item
    places = item["places"]
    if not places or len(places[-1]["predictions"]) == SAMPLES:
        directions = game.agents[-1].directions
        item["asked"].append((EXPERTS["main"], len(places)))
        places.append(_discussnav_place(item, directions))
    place = places[-1]
    sample = len(place["predictions"])
    # the release shows no visited place, so a move must leave enough new ones
    visited = {each["viewpoint"] for each in places}
    ahead = MOST_STEPS - len(places)
    numbers = [
        number
        for number, each in enumerate(place["directions"], 1)
        if each["is_new"] and _leads_on(item["graph"], each["exits"][0], visited, ahead)
    ]
    number = numbers[0]
    if item["differ"] and sample >= MAJORITY:
        number = numbers[-1]
    place["predictions"].append(number)
    viewpoint = place["directions"][number - 1]["exits"][0]
    place["next"] = place["next"] or viewpoint
    thought = f"Thought {sample} at place {len(places)}."
    answers = item["answers"].setdefault("pred_vp", {})
    answer = f"{thought}\nPrediction: {viewpoint}"
    answers.setdefault(len(places) - 1, []).append(answer)
    return f"Thought: {thought}\nPrediction: {number}"


def _leads_on(
    graph: Mapping[str, Any], start: str, visited: set[str], moves: int
) -> bool:
    """True if a walk from ``start`` can make ``moves`` moves to new viewpoints."""
    if moves == 0:
        return True
    seen = {*visited, start}
    new = [each for each in graph[start] if each not in seen]
    return any(_leads_on(graph, each, seen, moves - 1) for each in new)


def _discussnav_place(
    item: Mapping[str, Any], directions: Sequence[Any]
) -> dict[str, Any]:
    """A place for the release's simulator, with the exits of our directions."""
    places = item["places"]
    around = []
    for direction in directions:
        exits = list(direction.action.arguments) if direction.action else []
        around.append(
            {
                "exits": exits,
                "is_new": bool(exits) and "visited" not in direction.marks,
                "caption": " ".join(direction.captions),
                "tags": " | ".join(direction.tags),
            }
        )
    viewpoint = places[-1]["next"] if places else item["item"]["path"][0]
    return {
        "viewpoint": viewpoint,
        "directions": around,
        "predictions": [],
        "next": "",
    }


def discussnav_input(data: Path, folder: Path, games: Sequence[Game]) -> dict[str, Any]:
    """The games. Prompts on scenes, which the release does not have, are removed from ours, and
    five predictions are one prompt."""
    listed = []
    for game in games:
        calls: Stream = []
        for role, call in zip(game.roles, game.calls, strict=True):
            if role != "scene" and calls[-1:] != [call]:
                calls.append(call)
        game.calls[:] = calls
        item = game.item
        places = item["places"]
        end = {"viewpoint": places[-1]["next"], "directions": [{"exits": []}] * 12}
        # the release also asks about the start and the last step, and fuses thoughts that agree
        answers = item["answers"]
        spare = {
            str(place): ["Executed Actions: None"] * SAMPLES
            for place in range(len(places) + 1)
        }
        for function in EXTRA_FUNCTIONS:
            answer_by_place = answers.get(function, {})
            given = {
                str(place): answered for place, answered in answer_by_place.items()
            }
            answers[function] = {**spare, **given}
        del item["graph"]
        listed.append({**item, "places": [*places, end], "answers": answers})
    return {"games": listed}


SAMPLES = 5  # predictions of a step
MAJORITY = 3
EXTRA_FUNCTIONS = (
    "estimate_completion",
    "thought_fusion",
    "summarize_observation",
    "summarize_thought",
)


def _forms(ours: str, theirs: str) -> tuple[str, str]:
    return re.sub(
        r"(?s)\n\nANSWER in exactly this form.*?(?=\n<user>)", "", ours
    ), theirs


def _instruction(ours: str, theirs: str) -> tuple[str, str]:
    theirs = re.sub(r"(?s)(Instruction: [^\n]*?) +(?=, <| \()", r"\1", theirs)
    return ours, re.sub(r' +(?="\? Actions: )', "", theirs)


def _thoughts(ours: str, theirs: str) -> tuple[str, str]:
    thought = r'(?<=Given Thought Process ").*(?=", Summ)'
    return re.sub(thought, "-", ours), re.sub(thought, "-", theirs)


def _lists(ours: str, theirs: str) -> tuple[str, str]:
    ours = re.sub(r"\n(?=\d+\. )", " ", ours)
    theirs = re.sub(r"\n(?=\d+\. )", " ", theirs)
    theirs = re.sub(r"; Thought (\d+): ", r"\n(\1) ", theirs)
    return ours, re.sub(r"(?<=:)Thought (\d+): ", r"(\1) ", theirs)


def _history(ours: str, theirs: str) -> tuple[str, str]:
    """The observation and the thought of each step."""
    ours = re.sub(r"\[Step (\d+)\] .*? Observation: ", r"Step \1: ", ours)
    ours = re.sub(r"\n(?=Step \d+: )", " -> ", ours)
    begin = r"(Step \d+) Observation: Direction .*?\) "
    theirs = re.sub(begin, r"\1: ", theirs)
    start = "The walk has not started."
    return ours, theirs.replace("Step 0 start position.", start)


def _estimate(ours: str, theirs: str) -> tuple[str, str]:
    rest = r"In-progress actions: .*\nActions waiting to be executed: .*?(?= Current|$)"
    ours = re.sub(rf"Executed actions(: .*)\n{rest}", r"\1", ours)
    return ours, theirs


def _scenes(ours: str, theirs: str) -> tuple[str, str]:
    """What is around, in the decision, its test, and the summary of a step."""

    def without(text: str) -> str:
        text = re.sub(r"(?s)(Environment: ).*(?= -> Thought: )", r"\1-", text)
        text = re.sub(r"(?s)(Observation: ).*(?=, Navigation Instr)", r"\1-", text)
        return re.sub(r'(?s)(Environment Description ").*?(?=", Summ)', r"\1-", text)

    return without(ours), without(theirs)


def _directions(ours: str, theirs: str) -> tuple[str, str]:
    """Two thoughts, each with the number of a direction or a viewpoint's ID."""
    ours = re.sub(
        r"(?:^|\n|(?<=, ))\(\d\) Thought: (.*) Prediction: \d+", r"<\1>", ours
    )
    pair = r"(?:; )?Navigation Viewpoint ID: \w{32} Thought: (.*?)(?=; Navigation V|, Final)"
    return ours, re.sub(pair, r"<\1>", theirs)


HOUSEHOLD = partial(
    langsuite_games, "alfred/alfred_react.json", "default", REACT_ANSWERS, 4
)
EXISTS = partial(langsuite_games, "iqa/iqa_act.json", "0", ACT_ANSWERS, 3)
REARRANGE = partial(
    langsuite_games, "rearrange/rearrange_react_emmem.json", "default", REACT_ANSWERS, 3
)

LGX_ROW = ("lgx/table-4",)

SYSTEMS = {
    "navgpt": System(
        (Part("navgpt/table-1", "NavGPT", navgpt_games, "r2r:val_seen", "gpt4"),),
        navgpt_input,
        {
            "trimmed": _trimmed,
            "behind": _behind,
            "hidden": _hidden,
            "order": _order,
            "refusals": _refusals,
            "scratchpad": _scratchpad,
        },
    ),
    "velma": System(
        (
            Part(
                *("velma/table-2", "VELMA-GPT-4, Map2seq dev", velma_games),
                prompts="map2seq",
            ),
        ),
        velma_input,
        {},
        FixedScores,
    ),
    "langsuite": System(
        (
            Part(
                *("langsuite/table-3", "ReAct, low-level, Household", HOUSEHOLD),
                prompts="alfred/react",
            ),
            Part(
                *("langsuite/table-3", "Act, low-level, IQA exists", EXISTS),
                prompts="iqa/act",
            ),
            Part(
                *(
                    "langsuite/table-3",
                    "ReAct-EmMem, low-level, Rearrangement",
                    REARRANGE,
                ),
                prompts="rearrange/react_emmem",
            ),
        ),
        langsuite_input,
        {
            "roles": _roles,
            "numbers": _numbers,
            "trimmed": _outer_lines,
            "results": _results,
        },
    ),
    "lgx": System(
        (
            Part(*LGX_ROW, "I-Prompt", partial(lgx_games, False), "robothor:train"),
            Part(*LGX_ROW, "BLIP-Prompt", partial(lgx_games, True), "robothor:train"),
        ),
        lgx_input,
        {},
    ),
    "discussnav": System(
        (Part("discussnav/table-1", "DiscussNav", discussnav_games, "r2r:val_seen"),),
        discussnav_input,
        {
            "forms": _forms,
            "thoughts": _thoughts,
            "lists": _lists,
            "history": _history,
            "estimate": _estimate,
            "scene": _scenes,
            "directions": _directions,
            "trimmed": _instruction,
        },
    ),
}
