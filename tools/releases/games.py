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
from wayword.core.model import Message, Prompt, Sampling
from wayword.core.perceiver import Perceiver
from wayword.core.rollout import Setup, rollout
from wayword.models.scripted import ScriptedModel
from wayword.runs.plan import Plan, open_agent, open_dataset
from wayword.runs.reproduce import open_recipe

Call = str | list[dict[str, str]]
"""A prompt: a text, or messages with ``role`` and ``content``."""
Stream = list[Call]
Level = Callable[[str, str], tuple[str, str]]
"""Removes a named difference from our text and the released one."""


@dataclass(frozen=True, slots=True)
class Game:
    """An episode with its answers; ``calls`` are our prompts, ``item`` what the release reads.

    With ``reply``, an answer follows from the prompt, and is appended to ``answers``.
    """

    episode: str
    answers: list[str]
    item: Any
    calls: Stream = field(default_factory=list)
    reply: Callable[[str], str] | None = None
    agents: list[Any] = field(default_factory=list)


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
    tasks = {task.episode.id: task for task in dataset.tasks}
    games = part.script(dataset, data)
    for game in games:
        model = ScriptedModel(answers=_recorder(game))
        make = partial(_make_kept, agent.make, game)
        setup = Setup(dataset, make, {"main": model}, max_steps=row.steps or 0)
        played = await rollout(tasks[game.episode], setup)
        if played.ended == "failed":
            raise SystemExit(f"{game.episode}: {played.error}")
    return games


def _make_kept(make: Callable[..., Any], game: Game, toolkit: Any, actor: str) -> Any:
    agent = make(toolkit, actor)
    game.agents.append(agent)
    return agent


def _recorder(game: Game) -> Callable[[Prompt, Sampling], str]:
    def answer(prompt: Prompt, sampling: Sampling) -> str:
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
    whole = kept[kept.find("\nObservation: ") :]
    if len(kept) < SCRATCHPAD * 0.9 or not history.endswith(whole):
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
        asked = [turn for turn in turns if not any(target in each for each in turn[0])]
        game.calls[:] = [call for _, call, _ in asked]
        item = {**game.item, "seen": [seen for seen, _, _ in asked]}
        listed.append({**item, "answers": [answer for _, _, answer in asked]})
    return {"games": listed}


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
}
