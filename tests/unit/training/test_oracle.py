"""The library against the plain implementation: the same numbers, from the same batch."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests import plain
from workflow.lib.model.adam import Adam
from workflow.lib.model.transformer import Transformer
from workflow.lib.study.settings import GrpoSettings
from workflow.lib.task import addition, arithmetic
from workflow.lib.task.teacher import teacher_answers
from workflow.lib.training import evaluation, grpo, sft
from workflow.lib.training.advantages import group as group_advantages

TOLERANCE = 1e-5
SETTINGS = GrpoSettings(num_prompts=16, num_generations=4, minibatch_size=16)


def pair(seed: int = 0, sft_steps: int = 150) -> tuple[Transformer, plain.PlainTransformer]:
    """The same model twice: trained a little, so that it is neither blind nor certain."""
    torch.manual_seed(seed)
    stock = plain.PlainTransformer()
    optimizer = torch.optim.Adam(stock.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(sft_steps):
        a, b = plain.draw_operands(128, generator)
        targets = plain.teacher_answers(a, b, 0.5, generator)
        plain.sft_step(stock, optimizer, plain.encode_prompts(a, b), targets)
    model = Transformer.from_state_dict(stock.state_dict())
    model.theta.requires_grad_()
    return model, stock


@pytest.fixture(scope="module")
def trained() -> tuple[Transformer, plain.PlainTransformer]:
    return pair()


def copies(model: Transformer, dtype: torch.dtype) -> tuple[Transformer, plain.PlainTransformer]:
    """Copies that a test may train on."""
    model = Transformer(model.theta.detach().to(dtype, copy=True))
    model.theta.requires_grad_()
    stock = plain.PlainTransformer().to(dtype)
    stock.load_state_dict(model.state_dict())
    return model, stock


@pytest.fixture
def models(
    trained: tuple[Transformer, plain.PlainTransformer],
) -> tuple[Transformer, plain.PlainTransformer]:
    return copies(trained[0], torch.float32)


@pytest.fixture
def doubles(
    trained: tuple[Transformer, plain.PlainTransformer],
) -> tuple[Transformer, plain.PlainTransformer]:
    """In double precision, where rounding cannot be what tells two trainings apart.

    Adam divides a gradient by its own size: in single precision it makes full steps of the
    rounding of a gradient that is zero, as that of the keys' biases is.
    """
    return copies(trained[0], torch.float64)


def prompts_of(count: int, seed: int = 1) -> tuple[Tensor, Tensor]:
    return plain.draw_operands(count, torch.Generator().manual_seed(seed))


def flat_gradient(stock: plain.PlainTransformer) -> Tensor:
    gradients = {name: parameter.grad for name, parameter in stock.named_parameters()}
    return torch.cat([gradients[name].flatten() for name in stock.state_dict()])  # type: ignore[union-attr]


def assert_close(ours: Tensor, theirs: Tensor, tolerance: float = TOLERANCE) -> None:
    torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


def assert_same_weights(model: Transformer, stock: plain.PlainTransformer) -> None:
    for name, theirs in stock.state_dict().items():
        assert_close(model.weights[name], theirs, 1e-10)


def make_rollout(
    stock: plain.PlainTransformer, settings: GrpoSettings, seed: int = 2
) -> tuple[grpo.Rollout, Tensor]:
    """A rollout that the plain implementation sampled, and its rewards."""
    n, g = settings.num_prompts, settings.num_generations
    a, b = prompts_of(n, seed)
    prompts = plain.encode_prompts(a, b)
    repeated = prompts.repeat_interleave(g, dim=0)
    generator = torch.Generator().manual_seed(seed)
    completions = plain.sample(stock, repeated, settings.temperature, generator)
    with torch.no_grad():
        log_probs = plain.completion_log_probs(stock, repeated, completions, settings.temperature)
        tokens = torch.cat([repeated, completions[:, :-1]], dim=1)
        log_policy = (stock(tokens)[:, 6:] / settings.temperature).log_softmax(dim=-1)
    rewards = plain.verify(a.repeat_interleave(g), b.repeat_interleave(g), completions)
    rollout = grpo.Rollout(
        prompts, completions.view(n, g, 3), log_policy.view(n, g, 3, -1), log_probs.view(n, g)
    )
    return rollout, rewards.view(n, g)


def test_the_task_is_the_same() -> None:
    a, b = addition.all_prompts()
    assert addition.encode_prompts(a, b).equal(plain.encode_prompts(a, b))
    assert addition.encode_answers(a + b).equal(plain.encode_answers(a + b))
    assert arithmetic.no_carry_sum(a, b).equal(plain.no_carry_sum(a, b))
    assert arithmetic.has_carry(a, b).equal(plain.has_carry(a, b))


def test_logits(models: tuple[Transformer, plain.PlainTransformer]) -> None:
    model, stock = models
    a, b = prompts_of(300)
    answers = plain.encode_answers(a + b)
    ours = evaluation.teacher_forced_logits(model, a, b, answers)
    tokens = torch.cat([plain.encode_prompts(a, b), answers[:, :-1]], dim=1)
    assert_close(ours, stock(tokens)[:, 6:])


def test_log_probabilities_of_completions(
    models: tuple[Transformer, plain.PlainTransformer],
) -> None:
    model, stock = models
    settings = replace(SETTINGS, temperature=0.7)
    rollout, _ = make_rollout(stock, settings)
    theirs = plain.completion_log_probs(
        stock,
        rollout.prompts.repeat_interleave(settings.num_generations, dim=0),
        rollout.completions.flatten(0, 1),
        settings.temperature,
    )
    with torch.no_grad():
        log_policy = grpo.log_policy_of(model, rollout, settings.temperature)
    assert_close(log_policy, rollout.log_policy)
    assert_close(grpo.completion_log_probs(log_policy, rollout.completions).flatten(), theirs)


def test_greedy_answers_without_decoding(
    models: tuple[Transformer, plain.PlainTransformer],
) -> None:
    model, stock = models
    a, b = addition.all_prompts()
    decoded = plain.greedy_decode(stock, plain.encode_prompts(a, b))
    solved, log_probs = evaluation.score_prompts(model, a, b)
    assert solved.equal(plain.verify(a, b, decoded).bool())
    assert 0.1 < solved.double().mean() < 0.9, "the model should be half wrong for this to count"
    theirs = plain.completion_log_probs(
        stock, plain.encode_prompts(a, b), plain.encode_answers(a + b)
    )
    assert_close(log_probs, theirs)


def test_accuracy_of_prompts_in_any_order_and_more_than_once(
    models: tuple[Transformer, plain.PlainTransformer],
) -> None:
    model, stock = models
    a, b = (operands % 40 + 30 for operands in prompts_of(2048))
    assert len(set(zip(a.tolist(), b.tolist(), strict=True))) < 2000
    ours = evaluation.greedy_accuracy(model, a, b)
    assert ours[:2] == pytest.approx(plain.evaluate(stock, a, b), abs=1e-6)
    decoded = plain.greedy_decode(stock, plain.encode_prompts(a, b))
    solved = plain.verify(a, b, decoded).bool()
    units, total = a % 10 + b % 10 >= 10, a + b
    for accuracy, kind in [
        (ours.accuracy_units, units & (total < 100)),
        (ours.accuracy_tens, ~units & (total >= 100)),
        (ours.accuracy_both, units & (total >= 100)),
    ]:
        assert accuracy == pytest.approx(solved[kind].double().mean().item())


def test_samples_have_the_models_own_distribution(
    models: tuple[Transformer, plain.PlainTransformer],
) -> None:
    """Pearson's χ² of 40,000 samples of one prompt against the plain probabilities."""
    model, stock = models
    prompt = plain.encode_prompts(torch.tensor([38]), torch.tensor([47]))
    count = 40_000
    uniforms = torch.rand((1, count, 3), generator=torch.Generator().manual_seed(0))
    completions, log_policy = model.sample(prompt, uniforms, temperature=1.3)
    log_probs = grpo.completion_log_probs(log_policy, completions)
    every = torch.cartesian_prod(*[torch.arange(13)] * 3)
    with torch.no_grad():
        exact = plain.completion_log_probs(stock, prompt.expand(len(every), -1), every, 1.3)
    places = completions[0] @ torch.tensor([169, 13, 1])
    assert_close(log_probs[0], exact[places], 1e-4)
    expected = exact.exp().double() * count
    often = expected > 20
    observed = torch.bincount(places, minlength=13**3).double()
    statistic = ((observed - expected)[often] ** 2 / expected[often]).sum().item()
    freedom = int(often.sum()) - 1
    assert freedom > 10
    assert statistic < freedom + 5 * math.sqrt(2 * freedom)


def test_sft_loss_and_gradient(models: tuple[Transformer, plain.PlainTransformer]) -> None:
    model, stock = models
    a, b = prompts_of(256)
    targets = plain.teacher_answers(a, b, 0.3, torch.Generator().manual_seed(0))
    ours = sft.answer_loss(model, a, b, targets)
    theirs = plain.sft_loss(stock, plain.encode_prompts(a, b), targets)
    ours.backward()
    theirs.backward()
    assert_close(ours.detach(), theirs.detach())
    assert model.theta.grad is not None
    assert_close(model.theta.grad, flat_gradient(stock))


def test_a_teacher_answers_as_the_plain_one() -> None:
    a, b = prompts_of(500)
    uniforms = torch.rand(500, generator=torch.Generator().manual_seed(3))
    theirs = plain.teacher_answers(a, b, 0.3, torch.Generator().manual_seed(3))
    assert teacher_answers(a, b, 0.3, uniforms).equal(theirs)


def test_weights_after_a_few_sft_steps(
    doubles: tuple[Transformer, plain.PlainTransformer],
) -> None:
    model, stock = doubles
    ours = Adam(model.theta, 1e-3)
    theirs = torch.optim.Adam(stock.parameters(), lr=1e-3)
    for step in range(5):
        a, b = prompts_of(256, seed=step)
        targets = plain.encode_answers(a + b)
        ours.step(*torch.autograd.grad(sft.answer_loss(model, a, b, targets), model.theta))
        plain.sft_step(stock, theirs, plain.encode_prompts(a, b), targets)
    assert_same_weights(model, stock)


def iteration(
    models: tuple[Transformer, plain.PlainTransformer],
    settings: GrpoSettings,
    rounds: int,
    zero_std: bool = False,
) -> None:
    """Whole iterations of both on the same rollouts and orders, and the same weights after them."""
    model, stock = models
    reference, stock_reference = copies(model, model.theta.dtype)
    ours = Adam(model.theta, settings.learning_rate)
    theirs = torch.optim.Adam(stock.parameters(), lr=settings.learning_rate)
    repeats = settings.num_generations
    for number in range(rounds):
        rollout, rewards = make_rollout(stock, settings, seed=10 + number)
        if zero_std and number > 0:
            rewards = torch.zeros_like(rewards)
        log_reference = grpo.log_policy_of(reference, rollout, settings.temperature)
        log_ratio = rollout.log_probs - grpo.completion_log_probs(
            log_reference, rollout.completions
        )
        prompts = rollout.prompts.repeat_interleave(repeats, dim=0)
        completions = rollout.completions.flatten(0, 1)
        with torch.no_grad():
            their_log_ratio = rollout.log_probs.flatten() - plain.completion_log_probs(
                stock_reference, prompts, completions, settings.temperature
            )
        advantages = group_advantages(rewards, settings.advantage_epsilon)
        advantages = advantages - settings.beta * log_ratio
        their_advantages = plain.advantages(rewards).flatten()
        their_advantages = their_advantages - settings.beta * their_log_ratio
        assert_close(advantages.flatten(), their_advantages)
        orders = plain.draw_minibatches(
            advantages.numel(), 2, settings.minibatch_size, torch.Generator().manual_seed(number)
        )
        for order in orders:
            grpo.update(model, ours, rollout, advantages, order, settings)
        plain.grpo_update(
            *(stock, theirs, prompts, completions, rollout.log_probs.flatten(), their_advantages),
            orders,
            settings.epsilon,
            settings.max_grad_norm,
            settings.temperature,
        )
        assert_same_weights(model, stock)
    moved = (model.theta.detach() - reference.theta).abs().max().item()
    assert moved > settings.learning_rate


def test_weights_after_whole_iterations(
    doubles: tuple[Transformer, plain.PlainTransformer],
) -> None:
    iteration(doubles, SETTINGS, rounds=3)


def test_weights_after_whole_iterations_with_a_kl_penalty_and_temperature(
    doubles: tuple[Transformer, plain.PlainTransformer],
) -> None:
    iteration(doubles, replace(SETTINGS, beta=0.1, temperature=0.8), rounds=3)


def test_adam_goes_on_moving_where_every_group_has_zero_std(
    doubles: tuple[Transformer, plain.PlainTransformer],
) -> None:
    iteration(doubles, SETTINGS, rounds=3, zero_std=True)


def test_a_clipped_gradient(doubles: tuple[Transformer, plain.PlainTransformer]) -> None:
    iteration(doubles, replace(SETTINGS, max_grad_norm=0.01), rounds=2)


def test_loss_and_gradient_of_one_minibatch(
    models: tuple[Transformer, plain.PlainTransformer],
) -> None:
    """With ratios far from one, on both sides of the clip, and completions that do not matter."""
    model, stock = models
    rollout, rewards = make_rollout(stock, SETTINGS)
    noise = torch.randn(rollout.log_probs.shape, generator=torch.Generator().manual_seed(0))
    rollout = replace(rollout, log_probs=rollout.log_probs + 0.3 * noise)
    advantages = group_advantages(rewards, 1e-4)
    minibatch = torch.arange(0, 64, 2)
    matters = advantages.flatten()[minibatch] != 0
    assert 0 < matters.sum() < len(minibatch), "some should matter, and some not"
    prompts = rollout.prompts.repeat_interleave(4, dim=0)[minibatch]
    completions = rollout.completions.flatten(0, 1)[minibatch]
    old = rollout.log_probs.flatten()[minibatch]
    theirs = plain.grpo_loss(stock, prompts, completions, old, advantages.flatten()[minibatch])
    theirs.backward()
    with torch.no_grad():
        log_ratio = plain.completion_log_probs(stock, prompts, completions) - old
        kept = advantages.flatten()[minibatch]
        loss, clipped = grpo.clipped_loss(log_ratio[matters], kept[matters], 0.2, len(minibatch))
    assert (log_ratio.exp() - 1).abs().max() > 0.2, "some ratios should be clipped"
    ratio = log_ratio.exp()
    beyond = ((ratio > 1.2) & (kept > 0)) | ((ratio < 0.8) & (kept < 0))
    assert clipped.item() == pytest.approx(beyond.float().mean().item()) and clipped > 0
    assert_close(loss, theirs.detach())

    seen: list[Tensor] = []

    class Spy(Adam):
        def step(self, gradient: Tensor) -> None:
            seen.append(gradient)

    settings = replace(SETTINGS, max_grad_norm=1e9)
    spy = Spy(model.theta, 1e-4)
    share, norm = grpo.update(model, spy, rollout, advantages, minibatch, settings)
    assert_close(seen[0], flat_gradient(stock))
    assert_close(norm, flat_gradient(stock).norm())
    assert_close(share, clipped)
