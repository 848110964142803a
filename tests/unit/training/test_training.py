"""The loops: what they record, and which random numbers they see."""

from dataclasses import asdict, replace

import pytest
import torch

from workflow.lib.model.transformer import Transformer
from workflow.lib.study.layout import format_q
from workflow.lib.study.settings import GrpoSettings, SftSettings
from workflow.lib.task.addition import verify
from workflow.lib.task.teacher import teacher_answers
from workflow.lib.training import grpo, sft
from workflow.lib.training.randomness import stream

SETTINGS = GrpoSettings(
    iterations=10, num_prompts=8, num_generations=4, minibatch_size=16, eval_prompts=128
)
SHORT = SftSettings(steps=20, batch_size=32)


@pytest.fixture(scope="module")
def reference() -> Transformer:
    return sft.train_sft(1, "sft/q0.5", 0.5, SftSettings(steps=150, batch_size=128))


def rows(reference: Transformer, settings: GrpoSettings, run: str = "grpo/weak") -> dict:
    recorded = grpo.train_grpo(1, run, reference.copy(), verify, settings)
    return {row.iteration: asdict(row) for row in recorded}


def test_the_first_each_fifth_and_the_last_iteration_are_recorded(reference: Transformer) -> None:
    assert list(rows(reference, replace(SETTINGS, iterations=12))) == [1, 5, 10, 12]


def test_another_eval_every_changes_only_which_rows_there_are(reference: Transformer) -> None:
    every_fifth = rows(reference, SETTINGS)
    every = rows(reference, replace(SETTINGS, eval_every=1))
    assert list(every) == list(range(1, 11))
    assert every_fifth == {iteration: every[iteration] for iteration in every_fifth}


def test_a_longer_run_begins_as_a_shorter_one(reference: Transformer) -> None:
    longer = rows(reference, replace(SETTINGS, iterations=15))
    shorter = rows(reference, SETTINGS)
    assert shorter == {iteration: longer[iteration] for iteration in shorter}


def test_a_run_is_the_same_again_and_another_run_is_not(reference: Transformer) -> None:
    assert rows(reference, SETTINGS) == rows(reference, SETTINGS)
    assert rows(reference, SETTINGS) != rows(reference, SETTINGS, "grpo/long")


def test_the_first_row_is_about_the_references_own_batch(reference: Transformer) -> None:
    before = reference.theta.clone()
    first = rows(reference, replace(SETTINGS, iterations=1))[1]
    assert first["kl"] == pytest.approx(0, abs=1e-5)
    assert first["kl_full"] == pytest.approx(0, abs=1e-5)
    policy = reference.copy()
    list(grpo.train_grpo(1, "grpo/weak", policy, verify, replace(SETTINGS, iterations=3)))
    assert not policy.theta.equal(before), "a policy is trained in place"


def test_a_kl_penalty_holds_the_policy_back(reference: Transformer) -> None:
    """The mean over the second half: a single row is up to its batch, and that to rounding."""
    settings = replace(SETTINGS, iterations=60, learning_rate=3e-4)
    free, held = (
        [row["kl_full"] for row in rows(reference, replace(settings, beta=beta)).values()][-6:]
        for beta in (0.0, 1.0)
    )
    assert sum(held) < sum(free) / 2


def test_sft_is_the_same_again_and_calls_back_each_step() -> None:
    losses: dict[int, float] = {}
    one = sft.train_sft(
        3, "sft/q0.3", 0.3, SHORT, on_step=lambda step, loss: losses.update({step: loss.item()})
    )
    two = sft.train_sft(3, "sft/q0.3", 0.3, SHORT)
    assert one.theta.equal(two.theta)
    assert list(losses) == list(range(1, 21))
    assert losses[20] < losses[1]
    other = sft.train_sft(3, "sft/q0", 0.3, SHORT)
    assert not other.theta.equal(one.theta)


def test_a_teacher_is_right_with_probability_q() -> None:
    a, b = torch.full((20_000,), 47), torch.full((20_000,), 38)
    numbers = torch.from_numpy(stream(0, "test", "teacher").random(20_000))
    answers = teacher_answers(a, b, 0.3, numbers)
    right = (answers == torch.tensor([0, 8, 5])).all(dim=1).double().mean().item()
    wrong = (answers == torch.tensor([0, 7, 5])).all(dim=1).double().mean().item()
    assert right == pytest.approx(0.3, abs=5 * (0.21 / 20_000) ** 0.5)
    assert right + wrong == 1
    assert teacher_answers(a, b, 1.0, numbers).eq(torch.tensor([0, 8, 5])).all()
    assert teacher_answers(a, b, 0.0, numbers).eq(torch.tensor([0, 7, 5])).all()


def test_sft_is_evaluated_on_prompts_of_its_own(reference: Transformer) -> None:
    one = sft.evaluate_sft(1, "sft/q0.5", reference, 256)
    assert one == sft.evaluate_sft(1, "sft/q0.5", reference, 256)
    assert set(one) == {"accuracy", "accuracy_carry", "accuracy_sampled"}
    assert all(0 <= value <= 1 for value in one.values())


def test_no_two_runs_of_a_seed_share_a_stream(
    reference: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The streams that a seed's five runs ask for, by all that decides their numbers."""
    asked: list[tuple[object, ...]] = []

    def spy(*name: object) -> object:
        asked.append(name)
        return stream(*name)  # type: ignore[arg-type]

    monkeypatch.setattr(sft, "stream", spy)
    monkeypatch.setattr(grpo, "stream", spy)
    for q in (0.3, 0.0):
        model = sft.train_sft(1, f"sft/q{format_q(q)}", q, SHORT)
        sft.evaluate_sft(1, f"sft/q{format_q(q)}", model, 64)
    for name in ("weak", "long", "cold"):
        rows(reference, SETTINGS, f"grpo/{name}")
    assert len(set(asked)) == len(asked) == 2 * 5 + 3 * (4 + 3)
