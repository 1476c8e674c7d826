"""Inspect's own runner on a task by its name; the log opens."""

from __future__ import annotations

from inspect import signature
from pathlib import Path

from inspect_ai import eval as run
from inspect_ai import list_tasks
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model

from wayword.envs import inspect


def says(*words: str) -> Model:
    """A model that says these words in turn."""
    outputs = []
    for one in words:
        output = ModelOutput.from_content("mockllm/model", one)
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        outputs.append(output)
    return get_model("mockllm/model", custom_outputs=outputs)


def test_a_task_is_played_scored_and_logged(tmp_path: Path) -> None:
    model = says("go[hallway]", "Action: go[fridge]", "dance", "stop")
    (log,) = run(
        "wayword/two_phase", model=model, task_args={"count": 2}, max_samples=1,
        log_dir=str(tmp_path), display="none",
    )  # fmt: skip
    assert log.status == "success"
    (written,) = list_eval_logs(str(tmp_path))
    opened = read_eval_log(written)
    assert opened.samples is not None
    found = [
        sample.scores["family"].value for sample in opened.samples if sample.scores
    ]
    assert sorted(one["sr"] for one in found) == [0.0, 1.0]  # type: ignore[index,call-overload]
    assert [one["steps"] for one in found] == [2, 2]  # type: ignore[index,call-overload]
    roles = [message.role for message in opened.samples[0].messages]
    assert roles[:4] == ["system", "user", "assistant", "user"]
    assert opened.results is not None
    named = {score.name for score in opened.results.scores}
    assert "sr" in named


def test_messages_hold_the_pictures_that_come_with_an_observation(
    tmp_path: Path,
) -> None:
    (log,) = run(
        "wayword/houses", model=says("stop"), max_samples=1, display="none",
        task_args={"count": 1, "eyes": "pictures"}, log_dir=str(tmp_path),
    )  # fmt: skip
    assert log.status == "success"
    (sample,) = log.samples or ()
    content = sample.messages[1].content
    assert [part.type for part in content] == ["text"] + ["image"] * 4  # type: ignore[union-attr]


def test_inspect_lists_the_tasks_of_the_file() -> None:
    """As `inspect list tasks` and the register do: by reading the file."""
    file = Path(str(inspect.__file__))
    found = list_tasks(file.name, root_dir=file.parent)
    names = [task.name for task in found]
    assert names == [
        *("apartments", "grounding", "household", "houses", "iqa", "r2r"),
        *("rearrangement", "towns", "two_phase"),
    ]
    signatures = {str(signature(getattr(inspect, name))) for name in names}
    assert len(signatures) == 1
