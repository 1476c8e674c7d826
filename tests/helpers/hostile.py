"""Folders and files as an attacker would write them, each from a harmless one."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from helpers.records import records, rewrite
from wayword.runs.json_lines import member
from wayword.runs.plan import Plan
from wayword.runs.running import run

CONTROL = "\x1b]0;owned\x07\x1b[31m\x9b5m\x00\r\u202e"
HALF = "\ud800"
MARKUP = "[/red][link=file:///etc]<script>alert(1)</script>"
LONG = 10**399
DEEP = "[" * 100_000
EVIL = """import pathlib
pathlib.Path({sentinel!r}).write_text("imported")
"""

Change = Callable[[Path], None]


def harmless(folder: Path) -> Path:
    """A run of two episodes."""
    run(Plan("oracle", "houses", limit=2, out=folder))
    return folder


def evil_code(folder: Path, sentinel: Path) -> Path:
    """A Python file that leaves a sentinel when it is imported, also as a package."""
    folder.mkdir(parents=True, exist_ok=True)
    code = EVIL.format(sentinel=str(sentinel))
    for path in (folder / "evil.py", folder / "package" / "__init__.py"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(code, encoding="utf-8")
    program = folder / "evil.sh"
    program.write_text(f"#!/bin/sh\necho run > {sentinel}\n", encoding="utf-8")
    program.chmod(0o755)
    return folder / "evil.py"


def config_changes(evil: Path) -> dict[str, Mapping[str, Any]]:
    """Changes of ``run.json`` by dotted field."""
    code = str(evil)
    package = str(evil.parent / "package")
    fields = (
        "identity.agent", "identity.models.main", "identity.settings.note", "split", "started",
        "caveats.0", "perception", "metrics.0.label", "metrics.0.doc", "versions.python",
    )  # fmt: skip
    texts: dict[str, Mapping[str, Any]] = {}
    for kind, text in {"control": CONTROL, "half": HALF, "markup": MARKUP}.items():
        texts[f"text {kind}"] = dict.fromkeys(fields, text)
        texts[f"dataset {kind}"] = {"identity.dataset": text, "left_out": {text: 3}}
    numbers = {
        f"long {field}": {field: LONG}
        for field in (
            "identity.seed", "identity.max_steps", "identity.dataset_settings.episodes",
            "episodes_in_split", "left_out.cause", "identity.settings.shots",
        )
    }  # fmt: skip
    shapes = {
        f"{field} is {value!r:.20}": {field: value}
        for field in (
            "identity", "identity.models", "identity.models.main", "identity.actors",
            "identity.actors.follower", "identity.settings", "identity.dataset",
            "identity.dataset_settings", "identity.perturb", "identity.perceiver", "identity.seed",
            "identity.max_steps", "identity.shard", "identity.shuffle", "identity.continues",
            "metrics", "metrics.0", "metrics.0.key", "family", "success", "caveats", "left_out",
            "episodes_in_split", "started", "split", "versions", "checksums", "sees_answer",
            "identity.data_checksum", "format",
        )
        for value in ("text", 5, ["x"], {"x": ["y"]}, None, {"$bytes": 5}, -3, 1e308)
    }  # fmt: skip
    sizes = {
        "label long": {"metrics.0.label": "x" * 200_000},
        "caveat long": {"caveats.0": "x" * 200_000},
        "settings deep": {"identity.settings": nested(900)},
        "settings half as deep": {"identity.settings": nested(450)},
        "started never": {"started": "99999-13-99T99:99:99+99:99"},
    }
    names = {
        "dataset is code": {
            "identity.dataset": f"{code}:test", "identity.dataset_checksum": "sha256:0",
        },
        "dataset is a package": {"identity.dataset": f"{package}:test"},
        "dataset is a task": {"identity.dataset": f"{evil.with_suffix('.yaml')}:all"},
        "dataset is a module": {"identity.dataset": "os:system"},
        "robot base": {
            "identity.dataset": "robot:live",
            "identity.dataset_settings": {"target": "mug", "base": code},
        },
        "robot server": {
            "identity.dataset": "robot:live",
            "identity.dataset_settings": {"target": "mug", "url": "ws://127.0.0.1:9/"},
        },
        "simulator": {
            "identity.dataset": "pasture:hidden",
            "identity.dataset_settings": {
                "simulator": "thor", "build": str(evil.with_suffix(".sh")),
            },
        },
        "annotations": {
            "identity.dataset": "r2r:val_seen",
            "identity.dataset_settings": {"annotations": "/dev/zero"},
        },
        "perceiver is code": {"identity.perceiver": {"name": code, "settings": {}}},
        "perceiver folder": {
            "identity.perceiver": {"name": "recorded", "settings": {"folder": "/dev"}},
        },
        "agent is code": {"identity.agent": code, "identity.agent_checksum": "sha256:0"},
        "model is code": {"identity.models": {"main": f"{code}:x"}},
        "prompts": {"identity.settings.prompts": "/dev"},
        "family is a path": {"family": f"../../{evil.stem}"},
        "unknown setting": {"identity.dataset_settings.exec": code},
        "huge dataset": {"identity.dataset_settings.episodes": 10**12},
        "huge houses": {"identity.dataset_settings.rooms": 10**9},
        "turned": {"identity.continues": {"episode": "x", "step": -4, "before": 1}},
    }  # fmt: skip
    return {**texts, **numbers, **shapes, **sizes, **names}


def nested(depth: int) -> Any:
    """A mapping in a mapping, which JSON reads and Python's recursion does not."""
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"x": value}
    return value


def with_fields(content: Any, changes: Mapping[str, Any]) -> Any:
    """A copy of JSON with other values at dotted names; numbers index lists."""
    changed = deepcopy(content)
    for field, value in changes.items():
        *above, last = field.split(".")
        holder = changed
        for key in above:
            if isinstance(holder, list):
                holder = holder[int(key)] if holder else {}
            else:
                holder = holder.setdefault(key, {}) if isinstance(holder, dict) else {}
        if isinstance(holder, list):
            holder[:1] = [value]
        elif isinstance(holder, dict):
            holder[last] = value
    return changed


RECORDS: Mapping[str, Mapping[str, Any]] = {
    "id control": {"episode": f"e{CONTROL}", "trajectory.episode_id": f"e{CONTROL}"},
    "id half": {"episode": f"e{HALF}"},
    "id markup": {"episode": MARKUP},
    "id a path": {"episode": "../../../../tmp/evil"},
    "id empty": {"episode": ""},
    "id missing": {"episode": None},
    "score long": {"scores.sr": LONG},
    "score control": {f"scores.{CONTROL}": 0.5},
    "score text": {"scores.sr": "1"},
    "scores list": {"scores": [1]},
    "scores empty": {"scores": {}},
    "score deep": {"scores.sr": nested(900)},
    "state deep": {"trajectory.state": nested(450)},
    "id of a megabyte": {"episode": "e" * 1_000_000},
    "score mark": {"scores.sr": {"$float": "evil"}},
    "steps text": {"trajectory.steps": "evil"},
    "steps null": {"trajectory.steps": [None]},
    "step shape": {"trajectory.steps.0": {"decision": [], "actor": 5}},
    "decision text": {"trajectory.steps.0.decision": "goto"},
    "action control": {"trajectory.steps.0.decision.action": CONTROL},
    "thought half": {"trajectory.steps.0.decision.thought": HALF},
    "actor control": {"trajectory.steps.0.actor": CONTROL},
    "pose long": {"trajectory.steps.0.pose": {"x": LONG, "y": -LONG, "heading": LONG}},
    "pose text": {"trajectory.steps.0.pose": "here"},
    "place control": {"trajectory.steps.0.pose.viewpoint": CONTROL},
    "seconds long": {"trajectory.seconds": LONG},
    "state list": {"trajectory.state": [1]},
    "start list": {"trajectory.start": [1]},
    "start control": {f"trajectory.start.{CONTROL}": {}},
    "earlier number": {"trajectory.earlier": 5},
    "earlier itself": {"trajectory.earlier": [{"steps": []}]},
    "ended control": {"trajectory.ended": CONTROL},
    "ended list": {"trajectory.ended": ["stopped"]},
    "mark": {"trajectory.state": {"$bytes": 5}},
    "calls": {"trajectory.steps.0.calls": [{"role": CONTROL, "prompt": HALF}]},
    "call tokens": {
        "trajectory.steps.0.calls": [
            {"role": "main", "prompt": [{"role": "user", "content": HALF}],
             "answer": {"texts": [CONTROL], "finish": ["stop"],
                        "usage": {"prompt": LONG, "completion": -LONG}}},
        ],
    },
    "notes": {"trajectory.steps.0.notes": [{"kind": CONTROL, "details": {"x": HALF}}]},
}  # fmt: skip


def file_changes() -> dict[str, Change]:
    """Changes of a run's files that no JSON value makes."""

    def pipe(name: str) -> Change:
        def change(folder: Path) -> None:
            (folder / name).unlink(missing_ok=True)
            os.mkfifo(folder / name)

        return change

    def text(name: str, content: str) -> Change:
        def change(folder: Path) -> None:
            (folder / name).write_text(content, encoding="utf-8")

        return change

    def sparse(name: str) -> Change:
        def change(folder: Path) -> None:
            with (folder / name).open("ab") as file:
                file.truncate(20 << 30)

        return change

    def folder_instead(folder: Path) -> None:
        (folder / "episodes.jsonl.gz").unlink()
        (folder / "episodes.jsonl.gz").mkdir()

    def utf_16(folder: Path) -> None:
        text = (folder / "run.json").read_text(encoding="utf-8")
        (folder / "run.json").write_text(text, encoding="utf-16")

    def loop(folder: Path) -> None:
        (folder / "episodes.jsonl.gz").unlink()
        (folder / "episodes.jsonl.gz").symlink_to(folder / "episodes.jsonl.gz")

    def device(folder: Path) -> None:
        (folder / "episodes.jsonl.gz").unlink()
        (folder / "episodes.jsonl.gz").symlink_to("/dev/zero")

    def bomb(folder: Path) -> None:
        with (folder / "episodes.jsonl.gz").open("ab") as file:
            file.write(member(b" " * 600_000_000))

    def deep(folder: Path) -> None:
        with (folder / "episodes.jsonl.gz").open("ab") as file:
            file.write(member(b'{"episode": ' + DEEP.encode()))

    def no_file(folder: Path) -> None:
        (folder / "episodes.jsonl.gz").unlink()

    progress = {
        "process": os.getpid(),
        "done": LONG,
        "total": CONTROL,
        "episodes": [[5]],
    }
    moving = {
        "process": os.getpid(), "done": 0, "total": 5, "over": False, "began": -LONG,
        "episodes": [{"id": CONTROL, "step": LONG, "moves": [{"pose": {"x": LONG}, "action": 5}]}],
    }  # fmt: skip
    return {
        "pipe episodes": pipe("episodes.jsonl.gz"),
        "pipe failures": pipe("failures.jsonl.gz"),
        "pipe calls": pipe("calls.jsonl"),
        "pipe sessions": pipe("sessions.jsonl"),
        "pipe progress": pipe(".progress.json"),
        "sparse episodes": sparse("episodes.jsonl.gz"),
        "sparse config": sparse("run.json"),
        "sparse calls": sparse("calls.jsonl"),
        "sparse progress": sparse(".progress.json"),
        "utf-16 config": utf_16,
        "folder episodes": folder_instead,
        "link to itself": loop,
        "link to a device": device,
        "no episodes": no_file,
        "bomb": bomb,
        "deep record": deep,
        "deep config": text("run.json", '{"identity": ' + DEEP),
        "config is a number": text("run.json", "5"),
        "config is empty": text("run.json", ""),
        "config is half a pair": text("run.json", '{"identity": {"\\ud800": 1}, "format": 2}'),
        "calls": text("calls.jsonl", '{"tokens": "x"}\n'),
        "calls long": text("calls.jsonl", f'{{"tokens": {LONG}, "dollars": 1}}\n'),
        "sessions": text("sessions.jsonl", f'{{"seconds": {LONG}, "started": 5}}\n[]\n'),
        "failures": text("failures.jsonl.gz", "evil"),
        "progress": text(".progress.json", json.dumps(progress)),
        "progress moves": text(".progress.json", json.dumps(moving)),
    }  # fmt: skip


def hostile_runs(good: Path, evil: Path) -> dict[str, Change]:
    """Name of each hostile run -> a function that writes it to a folder."""
    config = json.loads((good / "run.json").read_text(encoding="utf-8"))
    first, *others = records(good)

    def copied(folder: Path) -> None:
        shutil.copytree(good, folder)

    def with_config(changes: Mapping[str, Any]) -> Change:
        def make(folder: Path) -> None:
            copied(folder)
            text = json.dumps(with_fields(config, changes))
            (folder / "run.json").write_text(text, encoding="utf-8")

        return make

    def without(field: str) -> Change:
        def make(folder: Path) -> None:
            copied(folder)
            changed = deepcopy(config)
            (changed if field in changed else changed["identity"]).pop(field)
            text = json.dumps(changed)
            (folder / "run.json").write_text(text, encoding="utf-8")

        return make

    def with_record(changes: Mapping[str, Any], name: str) -> Change:
        def make(folder: Path) -> None:
            copied(folder)
            changed = with_fields(first, changes)
            if name == "failures.jsonl.gz":
                changed = {**changed, "reason": CONTROL + HALF}
                changed.pop("scores", None)
            rewrite(folder, [changed, *others], name)

        return make

    def with_files(change: Change) -> Change:
        def make(folder: Path) -> None:
            copied(folder)
            change(folder)

        return make

    made = {f"config: {k}": with_config(v) for k, v in config_changes(evil).items()}
    fields = [*config, *config["identity"]]
    made |= {f"without {field}": without(field) for field in fields}
    for name in ("episodes.jsonl.gz", "failures.jsonl.gz"):
        made |= {f"{name}: {k}": with_record(v, name) for k, v in RECORDS.items()}
    made |= {f"files: {k}": with_files(v) for k, v in file_changes().items()}
    return made


class _Evil:
    def __init__(self, sentinel: Path) -> None:
        self.sentinel = sentinel

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"echo unpickled > {self.sentinel}",)


def weights_folder(folder: Path, sentinel: Path) -> Path:
    """A folder of weights, with code in every form in which a library might run it."""
    folder.mkdir(parents=True)
    evil = pickle.dumps(_Evil(sentinel))
    for name in (
        "landmarks.pickle", "images_60_460_800.pickle", "landmarks_mean_std.pickle",
        "pytorch_model.bin", "model.pt", "adapter_model.bin",
    ):  # fmt: skip
        (folder / name).write_bytes(evil)
    code = EVIL.format(sentinel=str(sentinel))
    (folder / "modeling_evil.py").write_text(code, encoding="utf-8")
    config = {
        "model_type": "evil",
        "auto_map": {
            "AutoConfig": "modeling_evil.Evil",
            "AutoModelForCausalLM": "modeling_evil.Evil",
            "AutoTokenizer": ["modeling_evil.Evil", None],
        },
    }
    for name in ("config.json", "tokenizer_config.json", "vocabulary.json"):
        (folder / name).write_text(json.dumps(config), encoding="utf-8")
    (folder / "model.gguf").write_bytes(b"GGUF" + b"\xff" * 64)
    (folder / "model.onnx").write_bytes(b"\x08\xff" * 64)
    (folder / "model.json").write_text(DEEP, encoding="utf-8")
    return folder


def prompt_folders(folder: Path) -> dict[str, Path]:
    """Folders of prompts for NavGPT."""
    contents: dict[str, bytes] = {
        "not text": b"\xff\xfe\x00\x9b",
        "control": CONTROL.encode(errors="surrogatepass"),
        "slots": b"{__class__} {history.__init__.__globals__} {0}",
        "template": b"{{ ''.__class__.__mro__ }} {% import os %} ${7*7}",
    }
    made = {}
    for name, content in contents.items():
        made[name] = folder / name
        made[name].mkdir(parents=True)
        (made[name] / "principle.txt").write_bytes(content)
    made["pipe"] = folder / "pipe"
    made["pipe"].mkdir()
    os.mkfifo(made["pipe"] / "principle.txt")
    made["folder"] = folder / "folder"
    (made["folder"] / "principle.txt").mkdir(parents=True)
    return made


TASKS: Mapping[str, str] = {
    "code": "instruction: !!python/object/apply:os.system ['touch owned']\n",
    "aliases": "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
    "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
    "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
    "deep": f"instruction: {'[' * 5_000}",
    "control": 'instruction: "\\e]0;owned\\a\\x9b"\nhome: {rooms: 4}\n',
    "half": 'instruction: "\\uD800"\nhome: {rooms: 4, "\\uD800": 1}\n',
    "long": f"instruction: x\nhome: {{rooms: {LONG}}}\n",
    "text": "evil",
    "list": "[1, 2]",
    "empty": "",
    "goal": "instruction: x\nhome: {rooms: 4}\ngoal: [{__class__: {object: mug}}]\n",
    "furniture": "instruction: x\nrooms: [{name: 5, at: x, size: [0, .inf]}]\n",
}
"""Task files. None of them is a task."""


def recipes(evil: Path) -> dict[str, str]:
    """Recipes that name code, and malformed ones."""
    act = "agent: act\non: houses\nlimit: 1\n"
    settings = {
        "role": f"models.summary: '{evil}:x'",
        "role by name": f"models: {{summary: {{name: '{evil}:x'}}}}",
        "perceiver": f"perceiver: {evil}",
        "perceiver name": f"perceiver.name: {evil}",
    }
    program = evil.with_suffix(".sh")
    return {
        "agent": f"agent: {evil}\non: houses\nlimit: 1\n",
        "package": f"agent: {evil.parent / 'package'}\non: houses\nlimit: 1\n",
        "dataset": f"agent: random\non: {evil}:all\nlimit: 1\n",
        "model": f"{act}model: {evil}:x\n",
        **{name: f"{act}settings: {{{line}}}\n" for name, line in settings.items()},
        "base": "agent: frontier\non: robot\n"
        f"settings: {{dataset.base: {evil}, dataset.target: mug}}\n",
        "simulator": "agent: frontier\non: pasture\n"
        f"settings: {{dataset.simulator: thor, dataset.build: {program}}}\n",
        "actor": f"agent: random\non: ma_household\nactors: {{follower: {evil}}}\n",
        "sweep": f"{act}sweep: ['perceiver={evil}']\n",
        "sweep of datasets": f"{act}sweep: ['on=houses,{evil}']\n",
        "trust": f"agent: {evil}\non: houses\ntrusted: [{evil}]\n",
        "control": 'agent: "\\e[31m\\x9b"\non: "\\uD800"\n',
        "long": f"agent: random\nseed: {LONG}\nlimit: 1\nmax_steps: {LONG}\n",
        **{f"task {name}": text for name, text in TASKS.items()},
    }


def hostile_cards(good: Mapping[str, Any], evil: Path) -> dict[str, str]:
    """Texts of ``card.json``."""
    changes: dict[str, Mapping[str, Any]] = {
        "agent is code": {"agent": str(evil)},
        "model is code": {"model": f"{evil}:x"},
        "perceiver": {"settings": {"perceiver": str(evil)}},
        "prompts": {"settings": {"prompts": "/dev"}},
        "dataset": {"settings": {"dataset": {"base": str(evil)}}},
        "version": {"bench": f"../../{evil.stem}"},
        "real path": {"real": [{"dataset": "../../x:y", "named": CONTROL, "missing": []}]},
        "track": {"tracks.evil": {"lengths": [1], "unit": "x"}},
        "control": {"agent": CONTROL, "model": HALF, "date": CONTROL, "wayword": MARKUP},
        "long": {"tokens": LONG, "dollars": LONG, "success": [LONG, 0, 1]},
        **{
            f"{field} is {value!r:.20}": {field: value}
            for field in ("agent", "model", "settings", "tracks", "success", "tokens", "dollars",
                          "bench", "quick", "private", "robust", "real", "tracks.follow",
                          "tracks.follow.levels", "tracks.follow.h50", "tracks.follow.lengths",
                          "date", "wayword")
            for value in ("text", 5, None, ["x"], {"x": 1}, [])
        },
    }  # fmt: skip
    made = {
        name: json.dumps(with_fields(good, change)) for name, change in changes.items()
    }
    return {
        **made,
        "deep": DEEP,
        "text": "evil",
        "empty": "",
        "list": "[]",
        "object": "{}",
    }
