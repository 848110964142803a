"""Rewards that are learned from the teacher's answers."""

import pytest
import torch

from workflow.lib.model.transformer import Transformer
from workflow.lib.study.settings import RewardModelSettings
from workflow.lib.task import addition
from workflow.lib.training import reward_model, reward_training
from workflow.lib.training.randomness import stream, uniforms


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
