"""Released prompts become a prompt folder: files of the releases' layout, in words of our own."""

from __future__ import annotations

import ast
import json
import pickle
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helpers.playing import Scripted, play
from wayword.agents.navgpt.agent import NavGPT, NavGPTSettings
from wayword.agents.pages import Prompts
from wayword.agents.released import (
    Strings,
    describe_folder,
    import_prompts,
    settings_of,
    systems,
    variants,
)
from wayword.agents.strategies import strategy
from wayword.cli.app import app
from wayword.core.errors import DataError, UsageError
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run

PLANNER = """from nowhere import Nothing
MAKE_ACTION_TOOL_NAME = "action_maker"
MAKE_ACTION_TOOL_DESCRIPTION = f'Goes next door.\\nAction: {MAKE_ACTION_TOOL_NAME}'
VLN_GPT4_PROMPT = \"\"\"You walk. All after "Begin!" is past.
Tools: {tool_descriptions}
Action: one of [{tool_names}]
Begin!

Way: {action_plan}
Seen: {init_observation}
Thought: {agent_scratchpad}\"\"\"
"""
WALKER = """from nowhere import Nothing
class Walker:
    def get_history(self, obs, angle):
        history = f'{angle}\\nAt "{obs["viewpoint"]}": a {obs["obs_summary"]}'
    def begin(self, obs):
        return f'Nothing yet.\\nAt "{obs[0]["viewpoint"]}": a {obs[0]["obs_summary"]}'
    def make_equiv_action(self):
        action_description = f'By {turned_angle:.2f} from {cur_heading} to {new_heading}.'
    def around(self):
        part = f"{direction} ({left_right1}, {left_right2}): \\n'{observation_list[idx]}'"
        part += f"\\n{direction} holds {object_dict}"
        part += f"\\n{direction} holds none"
        part += f"\\n{direction} leads to{candidate_range[idx]}"
        part += f"\\n{direction} leads nowhere"
    def act(self):
        first = f"\\n\\tHere:\\n{feature}"
        return f'\\nAt "{action}":\\n{new_feature}'
"""
EXPERTS = """raise SystemExit("a clone is never run")
class First:
    def detect_actions(self, instruction):
        prompt = [
            {"role": "system", "content": "List what is done."},
            {"role": "user", "content": f"What does \\"{instruction}\\" ask? Acts: "},
        ]
    def detect_landmarks(self, actions):
        prompt = [{"role": "system", "content": "Marks."},
                  {"role": "user", "content": f"In {actions}?"}]
    def summarize_observation(self, curr_observe):
        prompt = [{"role": "system", "content": "Cut views."},
                  {"role": "user", "content": f"V {curr_observe}"}]
    def summarize_thought(self, thought):
        prompt = [{"role": "system", "content": "Cut ideas."},
                  {"role": "user", "content": f"T {thought}"}]
    def estimate_completion(self, actions, landmarks, history_traj):
        prompt = [{"role": "system", "content": "What is done?"},
                  {"role": "user", "content": f"{history_traj}; {landmarks}; {actions}"}]
    def pred_vp(self, current_step, instruction, actions):
        pred_definition = "Choose the next place. \\
            Think first."
        input_info = f"Turn {current_step} Way: {instruction} ({actions}) Marks: {landmarks} \\
            Past: {history_traj} Done: {estimation} Around: {observation} -> Thought"
    def thought_fusion(self, value):
        prompt = [{"role": "system", "content": "Melt."},
                  {"role": "user", "content": f"From {multiple_thoughts}"}]
    def test_decisions(self, observation, instruction):
        decision_prompt = [{"role": "system", "content": "Weigh."},
            {"role": "user", "content": f"{observation} {instruction} {fused_pred_thought_}"}]
"""
STREET = """def get_observations_str(observations):
    out.append(f'Traffic comes {traffic_flow} you.')
    out.append(f'{num_ways} streets meet.')
    out.append(f'{landmarks} stands {direction}.')
"""
SEARCH = """def parse_scene(data):
    prompt = (f"Where is {target}? Before: {front_cmd}."
              f" East: {right_cmd}. After: {back_cmd}. West: {left_cmd}. One of {directions}.")
    prompt = "For {} I go to which of {}?".format(target_corrected, objlist)
"""
HOME = {
    "intro": {"default": ["Home of {max_view_steps} steps, {left_degree} and {right_degree}, "
                          "{inventory_capacity} in hand.\n{example}\nStart?\n\n"
                          "Please respond YES if you can.\n"]},
    "example": {"default": ["Job: wipe.\n> Act: stop []"]},
    "Start": {"default": ["Job: {task_description}\nView: {observation}\nNext?"]},
    "MoveAhead": {"success.default": ["Result: One step.\nView: {observation}"]},
}  # fmt: skip
RELEASES = {
    "navgpt": {"nav_src/prompt/planner_prompt.py": PLANNER, "nav_src/agent.py": WALKER},
    "velma": {
        "llm/prompts/map2seq/landmarks/5shot.txt": "Pass a zoo.\nMarks:\n1. a zoo\n\n{}\nMarks:",
        "llm/prompts/map2seq/navigation/2shot.txt": "Walk.\n\nMoves: a, b\n\nWay:\n{}\nDo:\n{}"
        "\n\nWay:\n{}\nDo:\n",
        "vln/prompt_builder.py": STREET,
    },
    "lgx": {"lgx-run.py": SEARCH},
    "discussnav": {"DiscussNav.py": EXPERTS},
    "langsuite": {
        f"templates/alfred/alfred_{agent}.json": json.dumps(HOME, indent=1)
        for agent in ("act", "react", "react_emmem")
    },
}
EXPECTED = {
    "navgpt": {
        "system": "",
        "gap": "",
        "begin": 'You walk. All after "Begin!" is past.\nTools: action_maker: '
        "Goes next door.\nAction: action_maker\nAction: one of [action_maker]\nBegin!\n\n"
        "Way: {instruction}",
        "range": "{direction} ({start}, {end}): ",
        "caption": "'{caption}'",
        "objects_near": "{direction} holds {objects}",
        "exits": "{direction} leads to{exits}",
        "no_exits": "{direction} leads nowhere",
        "first": "Initial Observation: \n\tHere:\n{description}",
        "now": 'Observation: \nAt "{viewpoint}":\n{description}',
        "refused": "Observation: {event}\n\tHere:\n{description}",
        "past": 'Observation: {event}\nAt "{viewpoint}": a {scene}\nThought:{answer}',
        "past_first": 'Initial Observation: Nothing yet.\nAt "{viewpoint}": a {scene}\n'
        "Thought: {answer}",
        "cue_first": "Thought: ",
        "turned": "By {unwrapped} from {start} to {end}.",
    },
    "velma": {
        "task": "Walk.\n\nMoves: a, b",
        "route": "Way:\n{instruction}\nDo:",
        "landmarks": "Pass a zoo.\nMarks:\n1. a zoo\n\n{instruction}\nMarks:",
        "junction": "{ways} streets meet.",
        "flow_against": "Traffic comes against you.",
    },
    "lgx": {
        "captions": "Where is {target_type}? Before: {front}. East: {right}. After: {behind}. "
        "West: {left}. One of {direction_list}.",
        "i": "For {target_name} I go to which of {object_list}?",
    },
    "discussnav": {
        "decomposition_question": 'What does "{instruction}" ask? Acts: ',
        "summary_question": "V {observation}\nT {thought}",
        "completion_question": "{trajectory}; {landmarks}; {actions}",
        "decision": "Choose the next place.             Think first.",
        "user": "Turn {number} Way: {instruction} ({actions}) Marks: {landmarks}             "
        "Past: {trajectory} Done: {completed} Around: {event}{scene} Navigable Viewpoint IDs "
        "(numbers of directions): {directions} -> Thought",
        "testing_question": "{scene} {instruction} {pairs}",
    },
    "langsuite": {
        "act/system": "Home of {view_steps} steps, {side_degrees} and {side_degrees}, "
        "{capacity} in hand.\nJob: wipe.\n> Act: stop []\nStart?\n\n"
        "Please respond YES if you can.",
        "react/handshake": "YES",
        "react/task": "Job: {instruction}",
        "react/first_observation": "View: {view}\nNext?",
        "react_emmem/observation": "Result: {feedback}\nView: {view}",
        "act/thought_only": "OK.",
    },
}


def clone(folder: Path, system: str, **changes: bytes) -> Path:
    """A clone of a release; ``changes`` are files by their last name, with other content."""
    for name, text in RELEASES[system].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(changes.get(path.stem, text.encode()))
    return folder


@pytest.mark.parametrize("system", RELEASES)
def test_a_release_becomes_a_folder_with_our_slots(tmp_path: Path, system: str) -> None:
    out = tmp_path / "out"
    names = import_prompts(system, clone(tmp_path / "clone", system), out)
    texts = {name.removesuffix(".txt"): (out / name).read_text()[:-1] for name in names}
    assert {name: texts[name] for name in EXPECTED[system]} == EXPECTED[system]
    source = json.loads((out / "source.json").read_text())
    assert source["files"].keys() == RELEASES[system].keys()
    assert source["texts"].keys() == texts.keys()
    for folder in {(out / name).parent for name in names}:
        assert describe_folder(folder).startswith(
            f"prompts of {system}'s released code"
        )
    assert describe_folder(tmp_path).endswith("not the shipped ones")


@pytest.mark.parametrize(
    ("system", "file", "content", "problem"),
    [
        ("navgpt", "planner_prompt", b"A = (", r"planner_prompt.py:1: is not valid Python"),
        ("navgpt", "planner_prompt", b"A = 1", "assigns no text to MAKE_ACTION_TOOL_NAME"),
        (
            "navgpt",
            "planner_prompt",
            PLANNER.replace("{action_plan}", "").encode(),
            r"planner_prompt.py:4: has no slot \{action_plan\}",
        ),
        (
            "navgpt",
            "planner_prompt",
            PLANNER.replace("Seen:", "Seen {twice}:").encode(),
            r"planner_prompt.py:4: has the unknown slot \{twice\}",
        ),
        (
            "navgpt",
            "planner_prompt",
            PLANNER.replace("Seen:", "Seen {:").encode(),
            "planner_prompt.py:4: has unbalanced braces",
        ),
        ("navgpt", "planner_prompt", b"# \n# caf\xe9", "planner_prompt.py:2: is not UTF-8 text"),
        ("velma", "2shot", pickle.dumps({"a": 1}), "2shot.txt: is a binary file, such as a pickle"),
        ("velma", "2shot", b"Walk.\n\nWay:\nDo:", r"2shot.txt:3: must have one slot \{\}"),
        ("velma", "prompt_builder", STREET.replace(" {direction}", "").encode(),
         r"prompt_builder.py:4: has no slot \{direction\}"),
        ("lgx", "lgx-run", SEARCH.replace(", objlist", "").encode(), r"4: has no slot \{objlist\}"),
        ("discussnav", "DiscussNav", EXPERTS.replace("Done: {estimation}", "").encode(),
         r"DiscussNav.py:\d+: has no slot \{estimation\}"),
        ("langsuite", "alfred_act", b'{"intro":\n {}', "alfred_act.json:2: is not valid JSON"),
        ("langsuite", "alfred_act", b"[" * 200_000, "alfred_act.json: is nested too deeply"),
        ("langsuite", "alfred_act", b'{"intro":\n {}}', "json:1: intro.default: is missing"),
        (
            "langsuite",
            "alfred_act",
            json.dumps({**HOME, "Start": {"default": ["go"]}}, indent=1).encode(),
            r"json:\d+: has no slot",
        ),
    ],
)  # fmt: skip
def test_a_damaged_release_is_one_clear_line(
    tmp_path: Path, system: str, file: str, content: bytes, problem: str
) -> None:
    folder = clone(tmp_path / "clone", system, **{file: content})
    with pytest.raises(DataError, match=problem) as caught:
        import_prompts(system, folder, tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_the_expression_of_another_text_does_not_matter() -> None:
    text = 'print(f"{a != b} {max({a, b})}")\nGOAL = f"Go to {place}."\n'
    strings = Strings(ast.parse(text), Path("prompts.py"), templates=False)
    assert strings.with_slots("place").text == "Go to {place}."


def test_texts_of_coroutines_have_the_name_of_their_function() -> None:
    text = 'async def ask():\n    GOAL = f"Go to {place}."\n'
    strings = Strings(ast.parse(text), Path("prompts.py"), templates=False)
    assert strings["ask.GOAL"].text == "Go to {place}."


def test_the_template_of_velmas_adapters_is_read_from_its_function(
    tmp_path: Path,
) -> None:
    folder = clone(tmp_path / "clone", "velma")
    (folder / "utils.py").write_text(
        "def get_prompt_template():\n"
        "    text = 'Walk!\\n'\n"
        "    text += 'Way: \"{}\"\\n'\n"
        "    whole = text + 'Moves:\\n'\n"
        "    instructions_prompt = whole\n"
    )
    command = ["prompts", "import", "velma", str(folder), "--variant", "finetuned"]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    texts = {path.stem: path.read_text() for path in (tmp_path / "out").glob("*.txt")}
    assert texts["route"] == 'Walk!\nWay: "{instruction}"\nMoves:\n'
    assert texts["task"] == "\n"
    assert texts["junction"] == "{ways} streets meet.\n"


def test_navgpt_writes_a_walk_as_the_release_does(tmp_path: Path) -> None:
    """The first observation and thought have their own labels; a refusal is still explained."""
    out = tmp_path / "out"
    import_prompts("navgpt", clone(tmp_path / "clone", "navgpt"), out)
    move = 'Thought: On.\nAction: action_maker\nAction Input: "{}"'
    model = Scripted([move.format("x"), move.format("b"), "Final Answer: Finished!"])
    settings = NavGPTSettings(decoding="free", prompts=str(out))
    play(NavGPT, settings, {"main": model})
    first, refused, moved = model.prompts
    assert "Initial Observation: \n\tHere:\nFront (left 22.50" in first
    assert "Rear leads nowhere\n" in first
    assert "Observation: That was no legal move:" in refused
    assert 'Initial Observation: Nothing yet.\nAt "s": a ' in refused
    assert 'Observation: \nAt "b":\nFront (left 22.50' in moved
    assert moved.count("Initial Observation") == 1


def test_what_cannot_be_imported_is_named(tmp_path: Path) -> None:
    command = ["prompts", "import", "lgx", str(clone(tmp_path / "lgx", "lgx")), "--out"]
    done = CliRunner().invoke(app, [*command, str(tmp_path / "out")])
    assert "2 prompts: captions.txt, i.txt" in done.output
    with pytest.raises(UsageError, match="exists and is not empty"):
        import_prompts("lgx", tmp_path / "lgx", tmp_path / "out")
    with pytest.raises(
        UsageError, match="no variant 'nyc'; there are: finetuned, map2seq, touchdown"
    ):
        import_prompts("velma", tmp_path, tmp_path / "new", "nyc")
    with pytest.raises(UsageError, match="no release 'navgtp'; did you mean 'navgpt'"):
        import_prompts("navgtp", tmp_path, tmp_path / "new")
    with pytest.raises(UsageError, match="none: no such folder"):
        import_prompts("lgx", tmp_path / "none", tmp_path / "new")
    with pytest.raises(DataError, match=r"DiscussNav\.py: cannot be read"):
        import_prompts("discussnav", tmp_path / "lgx", tmp_path / "new")


@pytest.mark.parametrize(
    ("system", "agent", "on", "settings", "words"),
    [
        ("navgpt", "navgpt", "houses", {"decoding": "free"}, "You walk."),
        ("velma", "velma", "towns", {}, "Moves: a, b"),
        ("lgx", "lgx", "apartments", {"prompt": "i"}, "I go to which of"),
        (
            "discussnav",
            "discussnav",
            "houses",
            {"samples": 1},
            "Choose the next place.",
        ),
        (
            "langsuite",
            "react",
            "household:generated_test",
            {"decoding": "free"},
            "> Act: stop []",
        ),
    ],
)
def test_an_agent_plays_with_them(
    tmp_path: Path,
    system: str,
    agent: str,
    on: str,
    settings: dict[str, object],
    words: str,
) -> None:
    out = tmp_path / "prompts"
    import_prompts(system, clone(tmp_path / "clone", system), out)
    folder = out / agent if (out / agent).is_dir() else out
    settings = {**settings, "prompts": str(folder)}
    plan = Plan(
        agent,
        on,
        "scripted:first",
        settings,
        limit=1,
        max_steps=20,
        out=tmp_path / "run",
    )
    run(plan)
    (record,) = RunFolder.read(tmp_path / "run").records()
    assert record.trajectory.ended != "failed", record.trajectory.error
    prompts = [str(call.prompt) for call in record.trajectory.calls()]
    assert any(words in prompt for prompt in prompts)
    assert RunFolder.read(tmp_path / "run").config["identity"]["prompts_checksum"]


def test_an_answer_in_the_form_of_the_release_is_read(tmp_path: Path) -> None:
    import_prompts(
        "langsuite", clone(tmp_path / "clone", "langsuite"), tmp_path / "out"
    )
    texts = Prompts(
        strategy.__file__, str(tmp_path / "out" / "react"), "strategy.jinja"
    )
    assert texts["react"] == "Thought: why\nAct: one action"
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        json.dumps("Thought: there is nothing to do.\nAct: turn_left") + "\n"
    )
    settings = {"decoding": "free", "prompts": str(tmp_path / "out" / "react")}
    plan = Plan("react", "household:generated_test", f"scripted:{answers}", settings, limit=1,
                max_steps=1, out=tmp_path / "run")  # fmt: skip
    run(plan)
    (record,) = RunFolder.read(tmp_path / "run").records()
    assert [str(action) for action in record.trajectory.actions("agent")] == [
        "turn_left"
    ]


def test_a_thought_alone_is_answered_and_costs_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    import_prompts("langsuite", clone(tmp_path / "clone", "langsuite"), out)
    answers = tmp_path / "answers.jsonl"
    messages = ["Thought: I look first.", "Act: turn_left", "Act: stop [n/a]"]
    answers.write_text("".join(f"{json.dumps(each)}\n" for each in messages))
    settings = {"decoding": "free", "prompts": str(out / "react")}
    plan = Plan("react", "household:generated_test", f"scripted:{answers}", settings, limit=1,
                max_steps=5, out=tmp_path / "run")  # fmt: skip
    run(plan)
    (record,) = RunFolder.read(tmp_path / "run").records()
    trajectory = record.trajectory
    assert list(map(str, trajectory.actions("agent"))) == ["turn_left", "stop"]
    opening, _, start, _, reply = list(trajectory.calls())[1].prompt
    assert opening.role == "user"
    assert opening.content.endswith("respond YES if you can.")
    assert start.content.startswith("Job: ")
    assert start.content.endswith("\nNext?")
    assert reply.content == "OK."
    assert settings_of(out / "react") == {"shots": 0}


TABLE = {
    **dict.fromkeys(
        ("robot", "i", "third_person", "objects_first", "closest", "one_word_first"),
        "The {target}, or {objects}?",
    ),
    "captions": "{target}: {front}, {right}, {behind}, {left}",
}


def test_a_file_with_the_prompts_of_a_table_is_imported(tmp_path: Path) -> None:
    path = tmp_path / "table-4.yaml"
    path.write_text(json.dumps(TABLE))
    out = tmp_path / "out"
    assert len(import_prompts("lgx", path, out)) == 7
    assert (out / "closest.txt").read_text() == f"{TABLE['closest']}\n"
    assert describe_folder(out).startswith("prompts of lgx's paper, from a user's file")
    settings = {"prompts": str(out), "prompt": "closest"}
    plan = Plan("lgx", "apartments", "scripted:first", settings, limit=1, max_steps=40,
                out=tmp_path / "run")  # fmt: skip
    run(plan)
    (record,) = RunFolder.read(tmp_path / "run").records()
    assert any(", or " in str(call.prompt) for call in record.trajectory.calls())


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"closest": None}, "closest: is no text"),
        ({"closest": " \n"}, "closest: is no text"),
        ({"nearest": "{target} {objects}"}, "nearest: is no prompt of the table"),
        ({"robot": "{objects}"}, r"robot: has no slot \{target\}"),
        ({"robot": "{target} {objects} {place}"}, r"has the unknown slot \{place\}"),
    ],
)
def test_a_wrong_file_of_prompts_is_one_clear_line(
    tmp_path: Path, changes: dict[str, object], problem: str
) -> None:
    path = tmp_path / "table-4.yaml"
    path.write_text(json.dumps({**TABLE, **changes}))
    with pytest.raises(DataError, match=problem):
        import_prompts("lgx", path, tmp_path / "out")
    fewer = {name: text for name, text in TABLE.items() if name != "i"}
    path.write_text(json.dumps(fewer))
    with pytest.raises(DataError, match="lacks i; add"):
        import_prompts("lgx", path, tmp_path / "out")
    path.write_text("robot: [")
    with pytest.raises(DataError, match="is not valid YAML"):
        import_prompts("lgx", path, tmp_path / "out")


def test_the_help_of_the_import_names_every_system_and_variant() -> None:
    text = CliRunner().invoke(app, ["prompts", "import", "--help"]).output
    words = {*re.findall(r"\w+", text)}
    assert words >= {*systems()}
    for system in systems():
        assert words >= {*filter(None, variants(system))}
