"""The command line as a user meets it: what works, and one clear line for what does not."""

from __future__ import annotations

import gc
import inspect
import io
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer

from helpers.line_world import WORLD
from helpers.records import records
from wayword.cli import GC_THRESHOLDS, main
from wayword.cli.app import HELP_SECTIONS, SHIPPED, _part, app, documented
from wayword.cli.running import run as run_command
from wayword.runs.record import RunFolder


@dataclass(frozen=True)
class Done:
    """What a command printed, and how it ended."""

    returncode: int
    stdout: str
    stderr: str


def wayword(*words: object) -> Done:
    """Run the command in this process: what a shell would see, without the start-up time."""
    out = io.StringIO()
    err = io.StringIO()
    code = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["wayword", *map(str, words)])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


def complaint(*words: object) -> str:
    """The one line on stderr of a command that must fail."""
    done = wayword(*words)
    assert done.returncode not in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("wayword: ")]
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An oracle's and a random walker's run on the generated houses."""
    folder = tmp_path_factory.mktemp("runs")
    for agent in ("oracle", "random"):
        done = wayword(
            "run", agent, "--on", "houses", "--limit", 12, "--out", folder / agent
        )
        assert done.returncode == 0, done.stderr
    return folder


def test_garbage_is_looked_for_seldom() -> None:
    before = gc.get_threshold()
    try:
        gc.set_threshold(700, 10, 10)
        assert wayword("--help").returncode == 0
        assert gc.get_threshold() == GC_THRESHOLDS
    finally:
        gc.set_threshold(*before)


def test_run_ends_in_a_table_and_the_folder(tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = wayword("run", "oracle", "--on", "houses", "--limit", 5, "--out", out)
    assert done.returncode == 0
    assert re.search(r"\b5\b.* of 180", " ".join(done.stdout.split()))
    assert done.stdout.rstrip().endswith(str(out))


@pytest.mark.local_model
def test_the_demo_ends_in_ten_lines_that_name_the_pages_to_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = wayword("demo", "--episodes", 1)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.strip().splitlines()) <= 10
    assert re.search(
        r"houses, 1 of 180: SR % +towns, 1 of 200: TC %\noracle +100", done.stdout
    )
    pages = re.findall(r"file://(\S+)", done.stdout)
    assert all(Path(page).is_file() for page in pages)
    failed, solved, *overviews = pages
    assert len(overviews) == 2
    assert Path(failed).name == Path(solved).name
    assert failed != solved
    assert "failed" in Path(failed).read_text(encoding="utf-8").lower()
    (tables,) = re.findall(r"All metrics: (\S+)\. ", done.stdout)
    assert "walker" in Path(tables).read_text(encoding="utf-8")


def test_a_language_model_is_a_partner_by_one_switch(tmp_path: Path) -> None:
    """The scripted commander and a model that follows it talk, and a command is carried out."""
    turns = [
        ("chat", "Where is door_1?"),
        ("goto[hallway]", ""),
        ("goto[door_1]", ""),
        ("open[door_1]", ""),
        ("chat", "Done."),
        ("stop", ""),
    ]
    answers = tmp_path / "answers.jsonl"
    messages = [
        json.dumps({"thought": "", "action": a, "argument": message})
        for a, message in turns
    ]
    answers.write_text(
        "".join(json.dumps(line) + "\n" for line in messages), encoding="utf-8"
    )
    done = wayword(
        *("run", "team", "--on", "ma_household", "--actor", "follower=react"),
        *("--model", f"scripted:{answers}", "--limit", 1, "--max-steps", 7),
        *(
            "--set",
            "dataset.homes=1",
            "--set",
            "dataset.episodes=1",
            "--out",
            tmp_path / "run",
        ),
    )
    assert done.returncode == 0, done.stderr
    (record,) = RunFolder.read(tmp_path / "run").records()
    request_count = {step.actor: len(step.calls) for step in record.trajectory.steps}
    assert request_count == {"commander": 0, "follower": 1}
    assert [step.feedback.status for step in record.trajectory.of("follower")] == [
        "ok"
    ] * 6
    talk = [(actor, text) for actor, _, text in record.trajectory.state["messages"]]
    assert [actor for actor, _ in talk] == ["commander", "follower"] * 2 + ["commander"]
    assert talk[0] == ("commander", "Please open door_1 in the hallway.")
    assert talk[2][1].startswith("door_1 is in "), "the question is answered"
    assert talk[4][1].startswith("Please bring "), "and the next command follows"


def test_a_folder_is_found_again_without_naming_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = wayword("run", "random", "--limit", 2).stdout.splitlines()[-1]
    second = wayword("run", "random", "--limit", 4).stdout.splitlines()[-1]
    other = wayword("run", "random", "--limit", 2, "--seed", 1).stdout.splitlines()[-1]
    assert first == second
    assert other != first
    assert len(records(tmp_path / first)) == 4


def test_table_as_json_gives_rates_as_fractions_with_intervals(runs: Path) -> None:
    record = json.loads(wayword("table", runs, "--format", "json").stdout)
    by_agent = {row["agent"]: row for row in record["rows"]}
    assert by_agent["oracle"]["metrics"]["sr"] == {
        "mean": 1.0, "low": pytest.approx(0.025 ** (1 / 12)), "high": 1.0,
    }  # fmt: skip
    assert by_agent["oracle"]["metrics"]["spl"]["mean"] == pytest.approx(1.0)
    assert 0 <= by_agent["random"]["metrics"]["sr"]["mean"] < 1
    assert by_agent["random"]["n"] == 12
    assert by_agent["random"]["of"] == 180


def test_table_shows_only_the_metrics_requested(runs: Path) -> None:
    output = wayword("table", runs, "--format", "csv", "--metrics", "sr,ne").stdout
    head = output.splitlines()[0]
    assert "ndtw" not in head
    assert "ne" in head.split(",")
    assert "'srr'" in complaint("table", runs, "--metrics", "srr")


def test_compare_pairs_episodes(runs: Path) -> None:
    output = wayword(
        "compare", runs / "random", runs / "oracle", "--metrics", "sr,spl"
    ).stdout
    assert "12 shared episodes" in output


def test_score_takes_a_submission_and_prints_a_line_an_episode(tmp_path: Path) -> None:
    from wayword.runs.opening import open_dataset
    from wayword.runs.plan import Plan

    task = open_dataset(Plan("score", "houses")).tasks[0]
    file = tmp_path / "walks.json"
    walk = [[place, 0.0, 0.0] for place in task.reference.path]  # type: ignore[attr-defined]
    file.write_text(json.dumps([{"instr_id": task.episode.id, "trajectory": walk}]))
    record = json.loads(
        wayword("score", file, "--on", "houses", "--per-episode").stdout
    )
    assert record["episode"] == task.episode.id
    assert record["sr"] == 1.0
    assert record["illegal_moves"] == 0


@pytest.mark.parametrize("seed", ["dataset:\n  seed: 3\n", "dataset.seed: 3\n"])
def test_settings_reach_the_part_they_are_for(tmp_path: Path, seed: str) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(f"steps: 2\n{seed}")
    out = tmp_path / "run"
    options = ("--config", config, "--set", "steps=3", "--limit", 1, "--out", out)
    assert wayword("run", "random", "--on", "houses", *options).returncode == 0
    identity = json.loads((out / "run.json").read_text())["identity"]
    assert identity["settings"]["steps"] == 3
    assert identity["dataset_settings"]["seed"] == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "navgtp"), "did you mean 'navgpt'"),
        (("run", "navgpt"), "add --model"),
        (("run", "navgpt", "--model", "local:nonesuch"), "local:nonesuch"),
        (
            ("run", "navgpt", "--model", "gpt-5-mini"),
            "did you mean 'openai:gpt-5-mini'?",
        ),
        (("run", "random", "--on", "hauses"), "did you mean 'houses'"),
        (("run", "random", "--on", "houses:tset"), "did you mean 'test'"),
        (("run", "random", "--set", "step=2"), "did you mean 'steps'"),
        (
            ("run", "random", "--set", "steps=many"),
            "steps must be a whole number, got 'many'",
        ),
        (("run", "random", "--set", "steps"), "write key=value"),
        (("run", "random", "--limit", "0"), "limit must be at least 1"),
        (
            ("run", "random", "--concurrency", "100000000"),
            "concurrency must be at most 10,000",
        ),
        (("run", "random", "--workers", "100000000"), "workers must be at most 10,000"),
        (
            ("run", "random", "--sweep", "seed=" + ",".join(map(str, range(20_000)))),
            "a sweep must have at most 1,000 runs, got 20,000; give fewer values",
        ),
        (
            ("run", "random", "--seeds", "20000"),
            "a sweep must have at most 1,000 runs, got 20,000",
        ),
        (("run", "random", "--shard", "5/4"), "--shard 5/4"),
        (("run", "random", "--config", "none.yaml"), "none.yaml"),
        (("run", "oracle", "--on", "r2r:val_seen", "--data", "/none"), "/none"),
        (("table", "/none"), "/none"),
        (("score", "/none.json", "--on", "houses"), "/none.json"),
        (("list", "agnts"), "did you mean 'agents'?"),
        (("run",), "missing argument 'agent'; see wayword run --help"),
        (
            ("run", "random", "--limit", "ten"),
            "invalid value for '--limit': 'ten' is not a valid integer",
        ),
        (
            ("run", "random", "--lmit", "3"),
            "no such option: --lmit (Possible options: --first, --limit, --with)",
        ),
        (("table", "x", "--format", "xls"), "'xls' is not one of 'rich', 'json'"),
        (
            ("plot", "x", "--kind", "curv"),
            "'pairs'; did you mean 'curve'? See wayword plot --help",
        ),
        (("plot", "x", "--kind", "maps"), "; did you mean 'map'? See"),
        (("plot", "x", "--kind", "zzz"), "'pairs'; see wayword plot --help"),
        (("runz",), "no such command 'runz'"),
        (("rnu",), "no such command 'rnu'; did you mean 'run'? See wayword --help"),
        (("view", "x", "--with", "none.py"), "'none.py' does not exist"),
        (
            ("run", "velma", "--model", "scripted:first"),
            "velma acts in street worlds, and houses is",
        ),
    ],
)
def test_a_mistake_is_answered_in_one_line(
    words: tuple[str, ...], message: str
) -> None:
    assert message in complaint(*words)


def test_a_missing_file_is_named_before_a_missing_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "r2r" / "annotations").mkdir(parents=True)
    run = ("run", "act", "--on", "r2r", "--model", "openai:any", "--data", tmp_path)
    assert "R2R_val_seen.json: no such file" in complaint(*run)


def test_an_error_in_a_file_of_the_user_names_file_and_line(tmp_path: Path) -> None:
    agent = tmp_path / "mine.py"
    agent.write_text("import json\nfrom wayword.core.agent import Agnet\n")
    problem = "cannot import name 'Agnet' from 'wayword.core.agent'"
    expected = f"{agent}:2: {problem}; did you mean 'Agent'?"
    assert expected in complaint("run", agent)


def test_a_file_is_no_run_folder(tmp_path: Path) -> None:
    file = tmp_path / "submission.json"
    file.write_text("[]")
    use = f"it is JSON; of predictions, `wayword score {file} --on DATASET` shows"
    for command in ("table", "compare"):
        said = complaint(command, file, *[file] * (command == "compare"))
        assert f"{file}: a file, not a run folder; {use}" in said


def test_a_table_without_a_named_run_fails(tmp_path: Path) -> None:
    """The others are shown; a script must not take it for a table of all."""
    run = tmp_path / "runs" / "first"
    words = ("run", "random", "--on", "houses", "--limit", 1, "--out", run)
    assert wayword(*words).returncode == 0
    file = tmp_path / "submission.json"
    file.write_text("[]")
    shown = wayword("table", run, file)
    assert shown.returncode == 1
    assert "first" in shown.stdout
    assert "left out: " in shown.stderr
    # A folder of runs may hold a broken one.
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "run.json").write_text("{}")
    assert wayword("table", tmp_path / "runs").returncode == 0


def test_nothing_that_drives_a_terminal_is_printed(tmp_path: Path) -> None:
    config = tmp_path / "run.yaml"
    config.write_text("steps: 2\n")
    words = ("run", "random", "--on", "houses", "--limit", 1, "--out", tmp_path / "run")
    assert wayword(*words).returncode == 0
    with RunFolder.open(
        tmp_path / "run", json.loads((tmp_path / "run" / "run.json").read_text())
    ):
        lock = tmp_path / "run" / ".lock"
        lock.write_text(
            "\x1b]0;mine\x07\x1b[2J\x9b31m 7 on host\r\u202e", encoding="utf-8"
        )
        line = complaint(*words)
    assert "process ␛]0;mine␇␛[2J⟨U+009B⟩31m 7 on host" in line
    assert line.isprintable()


START = """
import os, signal, sys
signal.signal(signal.{signal}, {default})  # a parent may have it ignored, as nohup does
class Loading:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.{signal})
sys.meta_path.insert(0, Loading())
sys.argv[1:] = {command!r}.split()
from wayword.cli import main
main()
"""


@pytest.mark.parametrize("name", ["wayword.core.errors", "wayword.cli.app", "typer"])
@pytest.mark.parametrize(
    ("number", "code"), [("SIGHUP", 129), ("SIGTERM", 143), ("SIGINT", 130)]
)
def test_a_signal_while_the_library_is_loaded_is_one_line(
    name: str, number: str, code: int
) -> None:
    default = "signal.default_int_handler" if number == "SIGINT" else "signal.SIG_DFL"
    source = START.format(
        name=name, signal=number, default=default, command="run random"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("wayword: stopped; finished episodes are kept")
    assert done.stderr.count("\n") == 1


def test_detectors_are_listed_by_their_names() -> None:
    listed = wayword("list", "detectors").stdout
    assert listed.startswith("detectors\n")
    for name in ("perfect", "glip", "owlv2:WEIGHTS", "colors:WEIGHTS"):
        assert f"\n  {name} " in listed


@pytest.mark.parametrize("command", ["list agents", "table runs", "compare a b"])
def test_a_stopped_command_that_plays_nothing_promises_nothing(command: str) -> None:
    source = START.format(
        name="typer",
        signal="SIGINT",
        default="signal.default_int_handler",
        command=command,
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (130, "wayword: stopped\n")


def test_a_corrupt_data_file_is_named_with_record_and_field(tmp_path: Path) -> None:
    folder = tmp_path / "r2r" / "annotations"
    folder.mkdir(parents=True)
    file = folder / "R2R_val_seen.json"
    requests = (
        "run",
        "oracle",
        "--on",
        "r2r:val_seen",
        "--data",
        tmp_path,
        "--out",
        tmp_path / "o",
    )
    file.write_text(
        '[{"path_id": 1, "path": ["a"], "instructions": ["Go."], "scan": "s"'
    )
    assert f"{file}: record 0: is not valid JSON" in complaint(*requests)
    file.write_text(
        '[{"path_id": 1, "path": ["a"], "instructions": ["Go."], "scan": "s"}]'
    )
    assert "record 0, field 'heading': is missing" in complaint(*requests)
    file.write_text(
        '[{"path_id": 1, "path": "a", "heading": 0, "instructions": ["Go."]}]'
    )
    assert "record 0, field 'path': must be a list" in complaint(*requests)
    # The content decides, not the name: these are the first bytes of gzip.
    file.write_bytes(b"\x1f\x8b\x00broken")
    assert f"{file}: is incomplete" in complaint(*requests)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    text = complaint("run", "random", "--limit", 1, "--out", blocked / "run")
    assert str(blocked) in text


def test_a_full_disk_ends_in_one_line_and_keeps_what_was_finished(
    tmp_path: Path,
) -> None:
    out = tmp_path / "run"
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000)); "
        f"sys.argv = ['wayword', 'run', 'random', '--on', 'houses', '--out', {str(out)!r}]; "
        "from wayword.cli import GC_THRESHOLDS, main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert done.returncode == 2, done.stderr
    assert "episodes.jsonl.gz" in done.stderr.splitlines()[-1]
    assert len(records(out)) > 2
    assert wayword("run", "random", "--on", "houses", "--out", out).returncode == 0
    assert len(records(out)) == 180


def test_a_spent_budget_stops_in_order_and_can_be_continued(tmp_path: Path) -> None:
    out = tmp_path / "run"
    requests = (
        "run",
        "navgpt",
        "--model",
        "scripted:first",
        "--limit",
        6,
        "--out",
        out,
    )
    short = wayword(*requests, "--max-tokens", 20000, "--concurrency", 1)
    assert short.returncode == 1
    assert "the budget of 20,000 tokens does not cover another episode" in short.stderr
    finished = len(records(out))
    assert 0 < finished < 6
    again = wayword(*requests, "--max-tokens", 20000, "--concurrency", 1)
    assert again.returncode == 1, "the budget covers all sessions of a run"
    assert len(records(out)) == finished
    assert wayword(*requests).returncode == 0
    assert len(records(out)) == 6


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("run wal", ["walker"]),
        ("run walker --on ho", ["household", "houses"]),
        ("run walker --on houses", ["houses", "houses:test", "houses:train"]),
        ("run walker --model regression:w", ["regression:walker"]),
        ("play tow", ["towns", "towns:test", "towns:train"]),
        ("export --as reac", ["react", "react_emmem"]),
    ],
)
def test_a_shell_completes_values(
    line: str, offered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = f"wayword {line}"
    monkeypatch.setenv("_WAYWORD_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert wayword().stdout.split() == offered


def test_doctor_names_the_remedy_of_each_failed_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WAYWORD_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "cache"))
    lines = wayword("doctor").stdout.splitlines()
    assert f"ok  cache: {tmp_path / 'cache'}" in lines
    for failed, remedy in (
        ("--  data: none", "set WAYWORD_DATA to the folder of published data"),
        (
            "--  OPENAI_API_KEY: not set",
            "export it to use openai: models that need a key",
        ),
    ):
        assert lines[lines.index(failed) + 1].strip() == remedy


def test_doctor_fails_a_cache_that_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("")
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "cache"))
    lines = wayword("doctor").stdout.splitlines()
    failed = lines.index(f"--  cache: {tmp_path / 'cache'}")
    assert lines[failed + 1].strip() == "set WAYWORD_CACHE to a writable folder"


def test_models_check_verifies_the_weights_and_asks_the_model() -> None:
    shown = wayword("models", "check", "smollm2").stdout
    assert ": SHA-256 verified" in shown
    assert "answer: " in shown


def test_a_mistyped_episode_leaves_no_folder(tmp_path: Path) -> None:
    out = tmp_path / "run"
    line = complaint(
        "run", "oracle", "--on", "houses", "--episodes", "nobody", "--out", out
    )
    assert "houses has no episode 'nobody'; there are: test-s0-r9-0000_0_0, " in line
    assert line.endswith("… 180 in all")
    near = "test-s0-r9-0093_0_1"
    line = complaint(
        "run", "oracle", "--on", "houses", "--episodes", f"{near}x", "--out", out
    )
    assert "did you mean 'test-s0-r9-00" in line
    assert not out.exists()


def test_every_option_of_run_is_in_a_section_of_its_help() -> None:
    names = {name for part in HELP_SECTIONS["run"].values() for name in part}
    options = set(inspect.signature(run_command).parameters)
    assert names == options - {"context", "agent"}
    listed = [name for part in HELP_SECTIONS["run"].values() for name in part]
    assert len(listed) == len(names), "each in one section"


def test_help_of_options_comes_from_the_docstring() -> None:
    def command(
        file: Path, *, on: str, set_: str = "", wide: bool = False, seed: int = 0
    ) -> None:
        """Do it.

        Args:
            file: What to read,
              and where.
            on: A dataset.
            set_: A setting.
            wide: All of it.
        """

    single = typer.Typer(add_completion=False)
    single.command()(documented(command))
    built = typer.main.get_command(single)
    assert built.help == "Do it."
    shown = {}
    for param in built.params:
        shown[param.name] = (param.opts, param.secondary_opts, param.required)
    assert shown == {
        "file": (["file"], [], True),
        "on": (["--on"], [], True),
        "set_": (["--set"], [], False),
        "wide": (["--wide"], [], False),
        "seed": (["--seed"], [], False),
    }
    assert built.params[0].help == "What to read, and where."


def test_every_parameter_of_a_command_has_help() -> None:
    built = typer.main.get_command(app)
    commands = []
    for name in SHIPPED:
        command = built.get_command(None, name)
        commands += [command, *getattr(command, "commands", {}).values()]
    for command in commands:
        for param in command.params:
            assert param.help, f"{command.name}: {param.name} has no help"


@pytest.mark.parametrize("name", SHIPPED)
def test_the_docstring_of_a_command_names_its_own_parameters(name: str) -> None:
    part = _part(name)
    functions = [part]
    if isinstance(part, typer.Typer):
        functions = [each.callback for each in part.registered_commands]
    for function in functions:
        function = inspect.unwrap(function)
        listed = (inspect.getdoc(function) or "").partition("\nArgs:\n")[2]
        named = re.findall(r"^    (\w+):", listed, re.MULTILINE)
        assert set(named) <= set(inspect.signature(function).parameters)


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        (
            "reproduce navgpt/table-1 --on houses",
            "--on; a recipe names its own data: --row chooses rows, and `wayword run AGENT",
        ),
        ("reproduce navgpt/table-1 --episodes 3", "--episodes; use --limit, and --row"),
        ("run random --dataset houses", "--dataset; use --on; see wayword run --help"),
        ("run random --output runs", "--output; use --out; see"),
        ("run random --limt 3", "--limit"),
        ("table --dataset houses runs", "no such option: --dataset"),
        (
            "table runs -o t.tex",
            "no such option: -o; the command prints: end it with > FILE",
        ),
        ("view runs -o t.tex", "no such option: -o; see wayword view --help"),
    ],
)
def test_an_option_of_another_command_or_program_names_ours(
    words: str, instead: str
) -> None:
    assert instead in complaint(*words.split())


def test_a_misspelled_file_or_family_names_the_near_one(tmp_path: Path) -> None:
    (tmp_path / "bandit.py").write_text(WORLD.replace('"line"', '"vault"'))
    file = f"{tmp_path}/bandti.py"
    expected = f"{file}: no such file; did you mean 'bandit.py'?"
    assert expected in complaint("run", "random", "--on", file)
    other = f"{tmp_path}/quite/other.py"
    assert complaint("run", "random", "--on", other).strip().endswith("no such file")

    agent = tmp_path / "mine.py"
    text = (
        "from wayword.core.agent import Agent\n\n\nclass Mine(Agent):\n"
        '    families = frozenset({"valt"})\n\n    async def act(self, observation, space):\n'
        "        pass\n\n\nagent = Mine\n"
    )
    run = ("run", agent, "--on", f"{tmp_path}/bandit.py")
    agent.write_text(text)
    assert "is a vault dataset; did you mean 'vault'?" in complaint(*run)
    # A family that exists is meant.
    agent.write_text(text.replace("valt", "indoor"))
    assert "is a vault dataset; choose another agent or dataset" in complaint(*run)
