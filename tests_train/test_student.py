"""The real network classes at toy size: overfitting, resuming, ranking, and the GGUF file.

Runs in an environment of its own, with torch: ``make test-train``.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import peft
import pytest
import tokenizers
import torch
import transformers as hub
from recipes.language import student as training_student
from recipes.language import together as training_together
from recipes.language.config import Recipe, Source, Task
from recipes.language.export import write
from recipes.language.loop import Run
from recipes.language.shape import Shape, pruned
from recipes.language.student import ADAPTER, LeanPass, Student, StudentModel, halves
from recipes.language.together import BatchedStudent, gathered
from recipes.walks import read

from wayword.core.errors import UsageError
from wayword.models.local import LocalModel

HOUSES = {"houses": 2, "episodes": 4}
TERSE = {"words": 1, "here": 0, "near": 0}
STREETS = ("towns:train", {"towns": 1, "episodes": 3}, {"shots": 0})


def base(folder: Path) -> Path:
    """A Llama of random weights, and a byte-level tokeniser trained on a few words."""
    words = tokenizers.Tokenizer(tokenizers.models.BPE())
    words.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [tokenizers.pre_tokenizers.Digits(individual_digits=True),
         tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )  # fmt: skip
    words.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    text = (
        "Follow the instruction through the building. At each place "
        "choose the letter of a way, or "
    )
    text += "stop where the instruction ends.\nInstruction: Here: a room Choice: stop Now: one\n"
    text += " A ahead "
    text += (
        "slightly half sharp left right far behind doorway kitchen hallway bedroom "
        "(back) (seen)\n"
    )
    text += " Done? yes Done? no Now: Here: no steps, one step, sees all, sees some, through\n"
    text += (
        " B: C: D: E: F: G: H: I: go through turn the and wait by same view bathroom "
        "living room\n"
    )
    words.train_from_iterator([text] * 20, trainer)
    torch.manual_seed(0)
    config = hub.LlamaConfig(
        vocab_size=words.get_vocab_size(),
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
    )
    hub.LlamaForCausalLM(config).save_pretrained(folder)
    hub.PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return base(tmp_path_factory.mktemp("base"))


def recipe(base: Path, **changes: object) -> Recipe:
    """A handful of episodes, learnt by heart: dev and training are the same."""
    source = Source("houses:train", settings=HOUSES)
    made = Recipe(
        [Task("walker", [source], source, TERSE)], Shape(str(base)), epochs=80, batch=4, rate=4e-3,
        evaluate=40, tokens=9000, length=4000, clip=1.0, checkpoint=0.0, threads=1,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def losses(folder: Path) -> list[float]:
    lines = (folder / "curve.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["loss"] for line in lines]


def test_it_overfits_a_handful_of_episodes(tiny: Path, tmp_path: Path) -> None:
    best = Run(recipe(tiny, epochs=120), tmp_path / "run", None).train()
    assert losses(tmp_path / "run")[-1] < 0.3
    assert best["score"] >= 0.75
    assert (tmp_path / "run" / "curve.svg").read_text().startswith("<svg")


def test_killed_at_any_step_it_goes_on_to_the_same_curve(
    tiny: Path, tmp_path: Path
) -> None:
    short = recipe(tiny, epochs=6, evaluate=3)
    Run(short, tmp_path / "whole", None).train()
    for last in (1, 3, 4):
        folder = tmp_path / f"killed-{last}"
        run = Run(short, folder, None)
        learn, steps = run._learn, []

        def dies(batch, count, learn=learn, steps=steps, last=last):  # type: ignore[no-untyped-def]
            if len(steps) == last:
                raise KeyboardInterrupt
            steps.append(1)
            return learn(batch, count)

        run._learn = dies  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            run.train()
        Run(short, folder, None).train()
        whole, again = (
            Student.from_folder(f / "best", Shape())
            for f in (tmp_path / "whole", folder)
        )
        for name, weights in whole.network.state_dict().items():
            assert torch.allclose(
                weights, again.network.state_dict()[name], atol=1e-5
            ), name


@pytest.mark.parametrize("agent", ["walker", "velma"])
def test_a_round_of_its_own_walks_follows_the_gold_ones(
    agent: str, tiny: Path, tmp_path: Path
) -> None:
    walks = {
        "walker": ("dagger", "houses:train", HOUSES, TERSE),
        "velma": ("rbl", *STREETS),
    }
    method, on, places, settings = walks[agent]
    source = Source(on, settings=places)
    changes = {"tasks": [Task(agent, [source], source, settings)], "method": method}
    Run(
        recipe(tiny, epochs=1, rounds=1, walks=3, **changes), tmp_path / "run", None
    ).train()
    own = read(tmp_path / "run" / "examples-1.jsonl")
    assert len(own) == 3
    assert any(choice.taken != choice.label for one in own for choice in one.choices)


def test_adapters_alone_are_trained_and_merged(tiny: Path, tmp_path: Path) -> None:
    run = Run(
        recipe(tiny, shape=Shape(str(tiny), lora=4), epochs=2), tmp_path / "run", None
    )
    run.train()
    merged = Student.from_folder(
        tmp_path / "run" / "best", Shape()
    ).network.state_dict()
    plain = hub.AutoModelForCausalLM.from_pretrained(tiny).state_dict()
    changed = {name for name in plain if not torch.equal(plain[name], merged[name])}
    assert changed
    assert all("q_proj" in name or "v_proj" in name for name in changed)


@pytest.mark.parametrize("half", [False, True])
def test_the_lean_pass_is_the_library_s(tiny: Path, half: bool) -> None:
    network = hub.AutoModelForCausalLM.from_pretrained(tiny)
    ids = torch.randint(0, network.config.vocab_size, (2, 40))
    lean = LeanPass(network, half=half, compiled=False)(ids)
    plain = network.model(input_ids=ids).last_hidden_state
    assert torch.allclose(lean.float(), plain, atol=0.15 if half else 1e-4)


@pytest.mark.parametrize("masked", [True, False])
def test_the_lean_pass_adds_adapters_to_their_weights(tiny: Path, masked: bool) -> None:
    student = Student.from_base(Shape(str(tiny), lora=4, every=True, dropout=0.0))
    for name, weights in student.network.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weights, std=0.1)
    ids = torch.randint(0, student.network.config.vocab_size, (2, 40))
    lean, plain = (
        LeanPass(student.network, half=False, compiled=False),
        halves(student.network)[0],
    )
    if not masked:  # as on a GPU, whose attention needs no mask
        angles = lean._made(40, ids.device)[:2]
        lean._tables[40] = (*angles, None)
    assert torch.allclose(lean(ids), plain(input_ids=ids).last_hidden_state, atol=1e-4)
    lean(ids).sum().backward()
    assert all(weights.grad is not None for weights in student.trained())


def test_adapters_are_kept_beside_the_merged_weights(
    tiny: Path, tmp_path: Path
) -> None:
    shape = Shape(str(tiny), lora=4, every=True, dropout=0.0)
    Run(
        recipe(tiny, shape=shape, epochs=2, compiled=True), tmp_path / "run", None
    ).train()
    best = tmp_path / "run" / "best"
    merged = hub.AutoModelForCausalLM.from_pretrained(best)
    told = peft.PeftModel.from_pretrained(
        hub.AutoModelForCausalLM.from_pretrained(tiny), best / ADAPTER
    )
    ids = torch.randint(0, merged.config.vocab_size, (1, 30))
    assert torch.allclose(merged(ids).logits, told(ids).logits, atol=1e-3)
    assert any(
        "down_proj" in name for name, _ in told.named_parameters() if "lora_A" in name
    )


def test_many_prompts_in_one_batch_are_answered_as_one_by_one(tiny: Path) -> None:
    student = Student.from_base(Shape(str(tiny)))
    student.network.eval()
    first = "Here: a room\n A ahead: hallway\nChoice:"
    asked = [
        (first, ("A", "stop")),
        (
            first + " A\nHere: kitchen\n A left: room\nChoice:",
            ("stop", "turn around", "A"),
        ),
        ("Here: a kitchen\nDone?", ("yes", "no")),
    ]
    batched, single = BatchedStudent(student, 48), StudentModel(student)
    jobs = [partial(batched.choose, *one) for one in asked]
    passes: list[int] = []
    told, student.hidden = (
        student.hidden,
        lambda ids: passes.append(len(ids)) or told(ids),
    )  # type: ignore[assignment, func-returns-value]
    found = asyncio.run(gathered(jobs, 3))
    assert sum(passes) < 6  # the first prompt is read with the second one
    for choice, one in zip(found, asked, strict=True):
        alone = asyncio.run(single.choose(*one))
        assert choice.best == alone.best
        assert max(choice.logprobs) == pytest.approx(max(alone.logprobs), abs=1e-3)


def test_training_goes_on_after_a_batch_was_answered(tiny: Path) -> None:
    student = Student.from_base(Shape(str(tiny)))
    student.lean = LeanPass(student.network, half=False, compiled=False)
    student.network.eval()
    asyncio.run(BatchedStudent(student).choose("Here: a room Done?", ("yes", "no")))
    length = len(student.words.encode("Here: a room Done?").ids)
    student.network.train()
    student.hidden(torch.zeros(1, length, dtype=torch.long)).sum().backward()
    assert any(weights.grad is not None for weights in student.trained())


def test_an_error_reaches_everyone_who_asked(tiny: Path) -> None:
    student = Student.from_base(Shape(str(tiny)))
    model = BatchedStudent(student)
    student.network = None
    jobs = [partial(model.choose, "Done?", ("yes", "no"))] * 2
    with pytest.raises(AttributeError):
        asyncio.run(gathered(jobs, 2))


def test_playing_together_changes_no_walk(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (
        training_student,
        training_together,
    ):  # in whole floats no two answers tie
        monkeypatch.setattr(module, "fast_bf16", lambda torch: False)
    for together in (1, 3):
        changes = {
            "epochs": 1,
            "rounds": 1,
            "walks": 4,
            "method": "dagger",
            "together": together,
        }
        Run(recipe(tiny, **changes), tmp_path / str(together), None).train()
    one, three = (read(tmp_path / n / "examples-1.jsonl") for n in ("1", "3"))
    assert [each.text for each in one] == [each.text for each in three]
    assert losses(tmp_path / "1") == pytest.approx(losses(tmp_path / "3"), abs=1e-3)


def test_single_decisions_come_before_whole_walks(tiny: Path, tmp_path: Path) -> None:
    said: list[str] = []
    Run(recipe(tiny, pieces=1.0, epochs=1), tmp_path / "run", None, said.append).train()
    rounds = [
        json.loads(line)["round"] for line in (tmp_path / "run" / "curve.jsonl").open()
    ]
    assert rounds == [-1, 0]


def test_ranking_reads_every_token_once_and_agrees_with_one_pass(tiny: Path) -> None:
    student = Student.from_base(Shape(str(tiny)))
    student.network.eval()
    model = StudentModel(student)
    first = "Here: a room\n A ahead: hallway\nChoice:"
    second = first + " A\nHere: kitchen\n A left: room\nChoice:"
    asyncio.run(model.choose(first, ["A", "stop"]))
    choice = asyncio.run(model.choose(second, ["A", "stop"]))
    assert choice.usage.reused >= len(student.words.encode(first).ids) - 1
    fresh = asyncio.run(StudentModel(student).choose(second, ["A", "stop"]))
    assert choice.logprobs == pytest.approx(fresh.logprobs, abs=1e-2)


def test_fewer_tokens_split_the_texts_as_before(tiny: Path) -> None:
    words = Student.from_base(Shape(str(tiny))).words
    text = " A ahead far: kitchen doorway\nChoice: stop"
    smaller, kept = pruned(words, 0, [text])
    assert len(kept) < words.get_vocab_size()
    assert smaller.encode(text).tokens == words.encode(text).tokens
    assert smaller.decode(smaller.encode("an unknown word").ids) == "an unknown word"
    assert [kept[new] for new in smaller.encode(text).ids] == words.encode(text).ids


def test_a_cut_student_keeps_the_ends(tiny: Path) -> None:
    whole, cut = (
        Student.from_base(Shape(str(tiny), layers=n, top=1)).network for n in (0, 2)
    )
    assert cut.config.num_hidden_layers == len(cut.model.layers) == 2
    kept = cut.model.layers[1].mlp.up_proj.weight
    assert torch.equal(kept, whole.model.layers[2].mlp.up_proj.weight)


def test_new_layers_stand_on_the_base_s_embeddings(tiny: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    student = Student.from_base(Shape(str(tiny), layers=2, width=64))
    old = Student.from_base(Shape(str(tiny))).network.get_input_embeddings().weight
    new = student.network.get_input_embeddings().weight
    assert student.network.config.num_hidden_layers == 2
    near = torch.pdist((old - old.mean(0)).detach()) / torch.pdist(new.detach())
    assert (
        near.std() / near.mean() < 1e-3
    )  # as wide as the base: distances hold but for the scale
    student.network.eval()
    assert write(student, tmp_path / "new.gguf") > 0
    local, prompt = LocalModel(str(tmp_path / "new.gguf")), "Here: a kitchen\nChoice:"
    try:
        found = asyncio.run(local.choose(prompt, ["A", "stop"]))
    finally:
        asyncio.run(local.aclose())
    mine = asyncio.run(StudentModel(student).choose(prompt, ["A", "stop"]))
    assert found.logprobs == pytest.approx(mine.logprobs, abs=0.1)
    with pytest.raises(UsageError, match="wider than"):
        Student.from_base(Shape(str(tiny), layers=2, width=128))


def test_the_text_itself_is_learnt_where_asked(tiny: Path, tmp_path: Path) -> None:
    curves = []
    for number, weight in enumerate((0.0, 1.0)):
        folder = tmp_path / str(number)
        Run(recipe(tiny, epochs=1, language=weight, mirror=True), folder, None).train()
        curves.append(losses(folder))
    assert (
        curves[1][0] > curves[0][0] + 1
    )  # choices among few letters, words among hundreds


def test_the_gguf_file_ranks_as_the_student_does(tiny: Path, tmp_path: Path) -> None:
    student = Student.from_base(Shape(str(tiny)))
    student.network.eval()
    write(student, tmp_path / "tiny.gguf", "F16")
    local = LocalModel(str(tmp_path / "tiny.gguf"))
    prompt, options = "Here: a kitchen\n A ahead: hallway\nChoice:", ["A", "stop"]
    try:
        found = asyncio.run(local.choose(prompt, options))
    finally:
        asyncio.run(local.aclose())
    mine = asyncio.run(StudentModel(student).choose(prompt, options))
    assert found.logprobs == pytest.approx(mine.logprobs, abs=0.1)
    assert found.usage.prompt == len(student.words.encode(prompt).ids)


def test_another_recipe_in_the_same_folder_is_refused(
    tiny: Path, tmp_path: Path
) -> None:
    Run(recipe(tiny, epochs=1), tmp_path / "run", None).train()
    with pytest.raises(UsageError, match="another recipe"):
        Run(recipe(tiny, epochs=2), tmp_path / "run", None).train()


def test_a_full_disk_is_one_line_and_the_last_checkpoint_stays(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(recipe(tiny, epochs=1), tmp_path / "run", None)

    def full(state: object, path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run.torch, "save", full)
    with pytest.raises(UsageError, match="last checkpoint is whole"):
        run.train()


def test_out_of_memory_is_one_line(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(recipe(tiny, epochs=1), tmp_path / "run", None)

    def large(batch: object, steps: int) -> float:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(run, "_learn", large)
    with pytest.raises(UsageError, match="lower `tokens`"):
        run.train()


def test_a_test_split_is_refused_before_anything_is_built(
    tiny: Path, tmp_path: Path
) -> None:
    wrong = Source("houses:test")
    with pytest.raises(UsageError, match="not a training split"):
        Run(
            recipe(tiny, tasks=[Task("walker", [wrong], wrong)]), tmp_path / "run", None
        )
