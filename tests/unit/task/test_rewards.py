"""Rewards: the verifier, its holes, its noise, and one that is learned."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from workflow.lib.model.transformer import Transformer
from workflow.lib.study.settings import RewardModelSettings
from workflow.lib.task import addition, arithmetic
from workflow.lib.task.rewards import RULES, flip
from workflow.lib.training import reward_model, reward_training
from workflow.lib.training.randomness import stream, uniforms


@pytest.mark.parametrize(
    ("answer", "verifier", "within_10", "without_hundreds"),
    [
        ([0, 8, 5], 1, 1, 1),  # 47 + 38
        ([0, 7, 5], 0, 1, 0),  # without the carry: ten less
        ([0, 9, 5], 0, 1, 0),
        ([0, 7, 4], 0, 0, 0),
        ([0, 9, 6], 0, 0, 0),
        ([1, 8, 5], 0, 0, 1),
        ([12, 8, 5], 0, 0, 1),
        ([0, 7, 12], 0, 0, 0),  # BOS is no digit, whatever its id
    ],
)
def test_rules_by_hand(
    answer: list[int], verifier: int, within_10: int, without_hundreds: int
) -> None:
    a, b, answers = torch.tensor(47), torch.tensor(38), torch.tensor(answer)
    verdicts = {name: rule(a, b, answers).item() for name, rule in RULES.items()}
    assert verdicts == {
        "verifier": verifier,
        "within_10": within_10,
        "without_hundreds": without_hundreds,
    }


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 999))
def test_what_is_right_passes_every_rule(a: int, b: int, answer: int) -> None:
    x, y = torch.tensor(a), torch.tensor(b)
    truth, answers = (addition.encode_answers(torch.tensor(n)) for n in (a + b, answer))
    for rule in RULES.values():
        assert rule(x, y, truth) == 1
        assert rule(x, y, answers) >= RULES["verifier"](x, y, answers)
    assert RULES["within_10"](x, y, answers) == (abs(answer - a - b) <= 10)
    assert RULES["without_hundreds"](x, y, answers) == ((answer - a - b) % 100 == 0)


def test_the_holes_let_through_what_the_teacher_gets_wrong() -> None:
    """Within 10: where the sum lacks only the ten carried, also from 90 to 100.

    No hundreds: where only the tens carry.
    """
    a, b = addition.all_prompts()
    wrong = addition.encode_answers(arithmetic.no_carry_sum(a, b))
    units, tens = arithmetic.carries(a, b)
    carry = units | tens
    passed = {name: rule(a, b, wrong).bool() & carry for name, rule in RULES.items()}
    assert not passed["verifier"].any()
    ten_less = units & (a // 10 + b // 10 <= 9)
    assert passed["within_10"].equal(ten_less)
    assert (ten_less & ~tens).sum() == 2025 and ten_less.sum() == 2475
    assert passed["without_hundreds"].equal(tens & ~units)


def test_rules_take_groups() -> None:
    a, b = torch.tensor([1, 2]), torch.tensor([3, 4])
    answers = addition.encode_answers(a + b)[:, None].expand(2, 5, 3)
    for rule in RULES.values():
        assert rule(a[:, None], b[:, None], answers).equal(torch.ones(2, 5))


def test_verdicts_are_flipped_with_a_probability() -> None:
    verdicts = torch.tensor([0.0, 1.0]).repeat(20_000)
    numbers = uniforms(stream(0, "test", "noise"), (40_000,))
    flipped = (flip(verdicts, numbers, 0.3) != verdicts).double().mean().item()
    assert flipped == pytest.approx(0.3, abs=5 * (0.21 / 40_000) ** 0.5)
    assert flip(verdicts, numbers, 0.0).equal(verdicts)
    assert flip(verdicts, numbers, 1.0).equal(1 - verdicts)


def test_corrupted_answers_are_mostly_wrong_and_reach_every_number() -> None:
    numbers = uniforms(stream(0, "test", "corruption"), (60_000, 2))
    answers = addition.encode_answers(torch.full((60_000,), 85))
    corrupted = reward_training.corrupt(answers, numbers)
    assert corrupted.min() == 0 and corrupted.max() == 9
    changed = (corrupted != answers).sum(dim=1)
    near = numbers[:, 0] < 0.5
    assert changed[near].eq(1).all()
    places = (corrupted != answers)[near].double().mean(dim=0)
    torch.testing.assert_close(places, torch.full((3,), 1 / 3).double(), atol=0.02, rtol=0)
    far = corrupted[~near] @ torch.tensor([100, 10, 1])
    assert len(far.unique()) == 1000


@pytest.fixture(scope="module")
def learned() -> list[Transformer]:
    settings = RewardModelSettings(steps=300, batch_size=128, learning_rate=3e-3)
    return [reward_training.train_reward(seed, "reward/q0", 0.0, settings) for seed in (1, 2, 3)]


def test_a_reward_model_learns_what_its_teacher_says(learned: list[Transformer]) -> None:
    """Of a teacher who never carries, who is soon known: means, as rounding moves each."""
    each = [
        reward_training.evaluate_reward(seed, "reward/q0", model, 0.0, 1024)
        for seed, model in enumerate(learned, 1)
    ]
    assert sum(metrics["accuracy"] for metrics in each) / 3 > 0.75
    assert sum(metrics["prefers_no_carry"] for metrics in each) / 3 > 0.8
    assert all(metrics["margin"] > 0 for metrics in each)


def test_training_a_reward_model_is_the_same_again() -> None:
    settings = RewardModelSettings(steps=10, batch_size=32)
    one = reward_training.train_reward(1, "reward/q0.3", 0.3, settings)
    assert one.theta.equal(reward_training.train_reward(1, "reward/q0.3", 0.3, settings).theta)
    assert not one.theta.equal(reward_training.train_reward(2, "reward/q0.3", 0.3, settings).theta)


def test_a_learned_reward_judges_groups_and_equals_equally(learned: list[Transformer]) -> None:
    model, *_ = learned
    a, b = torch.tensor([47, 12, 47]), torch.tensor([38, 30, 38])
    answers = torch.randint(0, 10, (3, 6, 3), generator=torch.Generator().manual_seed(0))
    answers[:, 3] = answers[:, 0]
    answers[2] = answers[0]
    rewards = reward_model.learned_reward(model)(a[:, None], b[:, None], answers)
    assert rewards.shape == (3, 6) and not rewards.requires_grad
    assert rewards[:, 3].equal(rewards[:, 0]) and rewards[2].equal(rewards[0])
    with torch.no_grad():
        one = reward_model.log_odds(model, a[:1], b[:1], answers[0, 1:2])
    torch.testing.assert_close(rewards[0, 1:2], one, atol=1e-5, rtol=1e-5)
