"""The plain implementation against facts that need no implementation: counts, hand arithmetic,
stock PyTorch, and models rigged to answer in a known way.
"""

import copy
import inspect
import math
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests import plain

ALL_A = torch.arange(100).repeat_interleave(100)
ALL_B = torch.arange(100).repeat(100)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """A model this small is slower on more threads, above all where other jobs have the cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Rigged(nn.Module):
    """Answers every prompt as a function of its operands says, with near certainty."""

    def __init__(self, answer: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.answer = answer

    def forward(self, tokens: Tensor) -> Tensor:
        a = 10 * tokens[:, 1] + tokens[:, 2]
        b = 10 * tokens[:, 4] + tokens[:, 5]
        said = plain.encode_answers(self.answer(a, b))
        following = torch.cat([tokens[:, 1:7], said, said[:, :1]], dim=1)  # the last is never asked
        return 50.0 * F.one_hot(following[:, : tokens.shape[1]], plain.N_CLASSES).float()


def right(a: Tensor, b: Tensor) -> Tensor:
    return a + b


def new_model(seed: int = 0) -> plain.PlainTransformer:
    torch.manual_seed(seed)
    return plain.PlainTransformer()


def batch_of(n: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    return plain.draw_operands(n, torch.Generator().manual_seed(seed))


# --- The task -------------------------------------------------------------------------------------


def test_prompt_and_answer_tokens() -> None:
    a, b = torch.tensor([7, 95]), torch.tensor([80, 38])
    assert plain.encode_prompts(a, b).tolist() == [
        [12, 0, 7, 10, 8, 0, 11],
        [12, 9, 5, 10, 3, 8, 11],
    ]
    assert plain.encode_answers(a + b).tolist() == [[0, 8, 7], [1, 3, 3]]


def test_no_carry_sum_by_hand() -> None:
    a, b = torch.tensor([12, 19, 99, 60]), torch.tensor([34, 25, 99, 70])
    assert plain.no_carry_sum(a, b).tolist() == [46, 34, 88, 30]


def test_carry_by_hand() -> None:
    a, b = torch.tensor([12, 19, 45, 60, 0]), torch.tensor([34, 25, 55, 40, 0])
    assert plain.has_carry(a, b).tolist() == [False, True, True, True, False]


def test_3025_prompts_have_no_carry_and_there_the_teacher_is_right() -> None:
    no_carry = ~plain.has_carry(ALL_A, ALL_B)
    assert no_carry.sum() == 3025
    assert torch.equal(plain.no_carry_sum(ALL_A, ALL_B) == ALL_A + ALL_B, no_carry)


def test_verify_wants_all_three_digits() -> None:
    a, b = torch.tensor([95] * 4), torch.tensor([38] * 4)
    completions = torch.tensor([[1, 3, 3], [0, 3, 3], [1, 2, 3], [1, 3, 10]])
    assert plain.verify(a, b, completions).tolist() == [1.0, 0.0, 0.0, 0.0]


def test_operands_are_uniform_on_0_to_99() -> None:
    for operands in batch_of(20_000):
        counts = torch.bincount(operands, minlength=100)
        assert len(counts) == 100
        assert (counts - 200).abs().max() < 5 * math.sqrt(200)


def test_teacher_is_right_with_probability_q() -> None:
    generator = torch.Generator().manual_seed(0)
    true = plain.encode_answers(ALL_A + ALL_B)
    flawed = plain.encode_answers(plain.no_carry_sum(ALL_A, ALL_B))
    assert torch.equal(plain.teacher_answers(ALL_A, ALL_B, 0.0, generator), flawed)
    assert torch.equal(plain.teacher_answers(ALL_A, ALL_B, 1.0, generator), true)
    answers = plain.teacher_answers(ALL_A, ALL_B, 0.3, generator)
    is_true, is_flawed = (answers == true).all(dim=1), (answers == flawed).all(dim=1)
    assert (is_true | is_flawed).all()
    carry = plain.has_carry(ALL_A, ALL_B)
    assert is_true[carry].float().mean().item() == pytest.approx(0.3, abs=0.025)  # 4.5 deviations


# --- The model ------------------------------------------------------------------------------------


def test_model_has_69325_parameters_and_two_equal_blocks() -> None:
    model = new_model()
    assert sum(p.numel() for p in model.parameters()) == 69_325
    first, second = model.encoder.layers
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, other)


def test_state_dict_holds_nothing_but_parameters() -> None:
    model = new_model()
    assert list(model.state_dict()) == [name for name, _ in model.named_parameters()]
    assert {name.split(".")[0] for name in model.state_dict()} == {"emb", "pos", "encoder", "head"}
    assert "encoder.layers.1.self_attn.in_proj_weight" in model.state_dict()


def test_model_is_causal() -> None:
    model = new_model()
    prompts = plain.encode_prompts(*batch_of(16))
    full = model(torch.cat([prompts, torch.randint(0, 10, (16, 3))], dim=1))
    torch.testing.assert_close(full[:, :7], model(prompts))


def test_forward_is_the_written_out_pre_norm_transformer() -> None:
    model = new_model()
    tokens = plain.encode_prompts(*batch_of(8))
    n, length = tokens.shape
    allowed = torch.ones(length, length).tril().bool()

    def heads(x: Tensor) -> Tensor:
        return x.view(n, length, 4, 16).transpose(1, 2)

    x = model.emb.weight[tokens] + model.pos.weight[:length]
    for layer in model.encoder.layers:
        attention = layer.self_attn
        q, k, v = F.linear(layer.norm1(x), attention.in_proj_weight, attention.in_proj_bias).chunk(
            3, dim=-1
        )
        scores = heads(q) @ heads(k).transpose(-1, -2) / 4.0
        weights = scores.masked_fill(~allowed, -math.inf).softmax(dim=-1)
        mixed = (weights @ heads(v)).transpose(1, 2).reshape(n, length, 64)
        x = x + attention.out_proj(mixed)
        x = x + layer.linear2(layer.linear1(layer.norm2(x)).relu())
    torch.testing.assert_close(model(tokens), model.head(x))


def test_train_and_eval_mode_agree() -> None:
    model = new_model()
    prompts = plain.encode_prompts(*batch_of(16))
    with torch.no_grad():
        torch.testing.assert_close(model.eval()(prompts), model.train()(prompts))


def test_probabilities_of_all_completions_sum_to_one() -> None:
    model = new_model()
    completions = torch.cartesian_prod(*[torch.arange(13)] * 3)
    prompts = plain.encode_prompts(torch.tensor([47]), torch.tensor([85])).expand(13**3, -1)
    for temperature in (1.0, 0.5):
        with torch.no_grad():
            logs = plain.completion_log_probs(model, prompts, completions, temperature)
        assert logs.exp().sum().item() == pytest.approx(1.0, abs=1e-4)


def test_samples_follow_the_probabilities() -> None:
    model = new_model()
    with torch.no_grad():
        model.head.weight.mul_(3.0)
    n = 4000
    prompt = plain.encode_prompts(torch.tensor([47]), torch.tensor([85]))
    completions = plain.sample(model, prompt.expand(n, -1), 1.0, torch.Generator().manual_seed(0))
    everything = torch.cartesian_prod(*[torch.arange(13)] * 3)
    with torch.no_grad():
        probs = plain.completion_log_probs(model, prompt.expand(13**3, -1), everything).exp()
    for place in range(3):
        expected = torch.zeros(13).index_add_(0, everything[:, place], probs)
        seen = torch.bincount(completions[:, place], minlength=13) / n
        assert (seen - expected).abs().max() < 4.5 * math.sqrt(0.25 / n)


def test_greedy_is_the_limit_of_sampling() -> None:
    model = new_model()
    prompts = plain.encode_prompts(*batch_of(32))
    cold = plain.sample(model, prompts, 1e-6, torch.Generator().manual_seed(0))
    assert torch.equal(cold, plain.greedy_decode(model, prompts))


# --- Evaluation -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "expected"), [(right, (1.0, 1.0)), (plain.no_carry_sum, (0.3025, 0.0))]
)
def test_evaluate_rigged_models(
    answer: Callable[[Tensor, Tensor], Tensor], expected: tuple[float, float]
) -> None:
    assert plain.evaluate(Rigged(answer), ALL_A, ALL_B) == pytest.approx(expected)
    assert plain.accuracy_sampled(Rigged(answer), ALL_A, ALL_B) == pytest.approx(expected[0])


def test_carry_accuracy_is_nan_without_carry_prompts() -> None:
    accuracy, accuracy_carry = plain.evaluate(Rigged(right), torch.tensor([1]), torch.tensor([2]))
    assert accuracy == 1.0
    assert math.isnan(accuracy_carry)


# --- SFT ------------------------------------------------------------------------------------------


def test_sft_loss_is_the_mean_over_three_tokens() -> None:
    model = new_model()
    a, b = batch_of(32)
    prompts, targets = plain.encode_prompts(a, b), plain.encode_answers(a + b)
    expected = -plain.completion_log_probs(model, prompts, targets).mean() / 3
    torch.testing.assert_close(plain.sft_loss(model, prompts, targets), expected)


def test_sft_steps_are_those_of_adam_on_fresh_gradients() -> None:
    model, other = new_model(), new_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    twin = torch.optim.Adam(other.parameters(), lr=3e-3)
    for seed in range(3):
        a, b = batch_of(16, seed)
        prompts, targets = plain.encode_prompts(a, b), plain.encode_answers(a + b)
        plain.sft_step(model, optimizer, prompts, targets)
        gradient = torch.autograd.grad(
            plain.sft_loss(other, prompts, targets), list(other.parameters())
        )
        for parameter, g in zip(other.parameters(), gradient, strict=True):
            parameter.grad = g
        twin.step()
    torch.testing.assert_close(model.head.weight, other.head.weight)
    torch.testing.assert_close(model.emb.weight, other.emb.weight)


def test_sft_lowers_the_loss() -> None:
    model = new_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    a, b = batch_of(64)
    prompts, targets = plain.encode_prompts(a, b), plain.encode_answers(a + b)
    losses = [plain.sft_step(model, optimizer, prompts, targets) for _ in range(20)]
    assert losses[0] > 2.0
    assert losses[-1] < 0.7 * losses[0]


def test_train_sft_depends_on_seed_and_q_and_on_no_global_state() -> None:
    def head(seed: int, q: float, steps: int = 2) -> Tensor:
        return plain.train_sft(seed, q, steps, batch_size=8).head.weight.detach()

    first = head(42, 0.3)
    before = torch.get_rng_state()
    assert torch.equal(first, head(42, 0.3))
    assert torch.equal(before, torch.get_rng_state())
    assert not torch.equal(first, head(43, 0.3))
    assert not torch.equal(head(42, 0.3, steps=0), head(42, 0.0, steps=0))  # nor a stream


# --- GRPO -----------------------------------------------------------------------------------------


def test_advantages_by_hand() -> None:
    rewards = torch.tensor([[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]])
    std = [0.5, math.sqrt(1 / 3)]  # with n - 1 = 3
    expected = [[x / (std[0] + 1e-4) for x in (0.75, -0.25, -0.25, -0.25)]]
    expected += [[x / (std[1] + 1e-4) for x in (0.5, 0.5, -0.5, -0.5)]]
    torch.testing.assert_close(plain.advantages(rewards), torch.tensor(expected))
    wide = plain.advantages(rewards, eps=0.5)[0]
    torch.testing.assert_close(wide, torch.tensor([0.75, -0.25, -0.25, -0.25]))


def test_groups_of_equal_rewards_teach_nothing() -> None:
    rewards = torch.tensor([[1.0] * 8, [0.0] * 8, [1.0] + [0.0] * 7])
    assert plain.zero_signal(rewards).tolist() == [True, True, False]
    assert (plain.advantages(rewards)[:2] == 0).all()


def grpo_batch(
    model: nn.Module, n: int = 16, seed: int = 0
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Prompts, completions, their log-probabilities under the model, and made-up advantages."""
    generator = torch.Generator().manual_seed(seed)
    prompts = plain.encode_prompts(*plain.draw_operands(n, generator))
    completions = plain.sample(model, prompts, generator=generator)
    with torch.no_grad():
        old = plain.completion_log_probs(model, prompts, completions)
    return prompts, completions, old, torch.randn(n, generator=generator)


def test_grpo_loss_by_hand() -> None:
    model = new_model()
    prompts, completions, log_probs, _ = grpo_batch(model, 4)
    old = log_probs - torch.log(torch.tensor([1.5, 1.5, 0.5, 0.5]))  # so these are the ratios
    advantages = torch.tensor([1.0, -1.0, 1.0, -1.0])
    loss = plain.grpo_loss(model, prompts, completions, old, advantages)
    expected = -(1.2 - 1.5 + 0.5 - 0.8) / 4
    assert loss.item() == pytest.approx(expected, abs=1e-5)


def test_gradient_on_policy_is_the_policy_gradient() -> None:
    model = new_model()
    prompts, completions, old, advantages = grpo_batch(model)
    parameters = list(model.parameters())
    clipped = torch.autograd.grad(
        plain.grpo_loss(model, prompts, completions, old, advantages), parameters
    )
    log_probs = plain.completion_log_probs(model, prompts, completions)
    reinforce = torch.autograd.grad(-(log_probs * advantages).mean(), parameters)
    torch.testing.assert_close(clipped, reinforce, rtol=1e-3, atol=1e-6)


def test_update_favours_what_had_an_advantage() -> None:
    model = new_model()
    prompts, completions, old, _ = grpo_batch(model, 32)
    sign = torch.ones(32)
    sign[16:] = -1.0
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    orders = [torch.arange(32)[i::4] for i in range(4)] * 3
    plain.grpo_update(model, optimizer, prompts, completions, old, sign, orders)
    with torch.no_grad():
        change = plain.completion_log_probs(model, prompts, completions) - old
    assert change[:16].mean() > 0 > change[16:].mean()


def test_adam_steps_also_without_a_gradient() -> None:
    model = new_model()
    prompts, completions, old, advantages = grpo_batch(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    everything = [torch.arange(16)]
    nothing = torch.zeros(16)

    before = copy.deepcopy(model.state_dict())
    plain.grpo_update(model, optimizer, prompts, completions, old, nothing, everything)
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])  # no momentum yet: a step of zero

    plain.grpo_update(model, optimizer, prompts, completions, old, advantages, everything)
    before = copy.deepcopy(model.state_dict())
    plain.grpo_update(model, optimizer, prompts, completions, old, nothing, everything)
    assert not torch.equal(model.head.weight, before["head.weight"])  # momentum carries on
    assert optimizer.state[model.head.weight]["step"] == 3


def test_gradients_are_fresh_and_their_norm_is_clipped() -> None:
    model = new_model()
    prompts, completions, old, advantages = grpo_batch(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    start = copy.deepcopy(model.state_dict())
    batch = prompts, completions, old, 1000 * advantages
    plain.grpo_update(model, optimizer, *batch, [torch.arange(16)])
    moved = [(value - start[name]).square().sum() for name, value in model.state_dict().items()]
    assert torch.stack(moved).sum().sqrt().item() == pytest.approx(1.0, rel=1e-3)

    start = copy.deepcopy(model.state_dict())
    batch = prompts, completions, old, torch.zeros(16)
    plain.grpo_update(model, optimizer, *batch, [torch.arange(16)])
    assert all(torch.equal(value, start[name]) for name, value in model.state_dict().items())


def test_minibatches_go_through_everything_once_an_epoch() -> None:
    minibatches = plain.draw_minibatches(256, 2, 64, torch.Generator().manual_seed(0))
    assert [len(m) for m in minibatches] == [64] * 8
    first, second = torch.cat(minibatches[:4]), torch.cat(minibatches[4:])
    assert torch.equal(first.sort().values, torch.arange(256))
    assert torch.equal(second.sort().values, torch.arange(256))
    assert not torch.equal(first, second)


def test_iteration_metrics_of_a_fresh_copy() -> None:
    model, a_b = new_model(), batch_of(4)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    generator = torch.Generator().manual_seed(0)
    reference = copy.deepcopy(model)
    metrics = plain.grpo_iteration(model, reference, optimizer, *a_b, generator=generator)
    assert metrics == {"reward": 0.0, "kl": 0.0, "frac_reward_zero_std": 1.0}


def test_kl_is_that_of_the_policy_to_the_reference() -> None:
    """Of samples from the policy, which finds them likelier than another model does."""
    model, reference = new_model(0), new_model(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    assert plain.grpo_iteration(model, reference, optimizer, *batch_of(8))["kl"] > 0.1


def test_groups_hold_completions_of_one_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reward that only depends on the prompt tells the completions of a group nothing."""
    model = new_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    monkeypatch.setattr(plain, "verify", lambda a, b, completions: (a < b).float())
    a, b = torch.tensor([1, 2, 3, 4]), torch.tensor([2, 1, 4, 5])
    metrics = plain.grpo_iteration(model, copy.deepcopy(model), optimizer, a, b)
    assert metrics == {"reward": 0.75, "kl": 0.0, "frac_reward_zero_std": 1.0}


def test_beta_pulls_back_to_the_reference() -> None:
    """Without reward, only the anchor acts: it must lower the KL to another model."""
    reference = new_model(1)
    a, b = batch_of(32)

    def kl_after(beta: float) -> float:
        model = new_model(0)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        generator = torch.Generator().manual_seed(0)
        rows = [
            plain.grpo_iteration(model, reference, optimizer, a, b, beta=beta, generator=generator)
            for _ in range(6)
        ]
        return rows[-1]["kl"]

    assert kl_after(1.0) < 0.5 * kl_after(0.0)


def test_train_grpo_rows_and_untouched_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    def first_digit_is_even(a: Tensor, b: Tensor, completions: Tensor) -> Tensor:
        return (completions[:, 0] % 2 == 0).float()  # a reward that a new model earns at times

    monkeypatch.setattr(plain, "verify", first_digit_is_even)
    checkpoint = new_model()
    before = copy.deepcopy(checkpoint.state_dict())

    def train(run: str) -> list[plain.Row]:
        return plain.train_grpo(
            checkpoint, 42, 5, eval_every=2, run=run, num_prompts=4, num_eval_prompts=64
        )

    rows = train("weak")
    assert [row["iteration"] for row in rows] == [1, 2, 4, 5]
    columns = ["iteration", "accuracy", "accuracy_carry", "reward", "kl", "frac_reward_zero_std"]
    assert all(list(row) == columns for row in rows)
    assert rows[0]["kl"] == 0.0
    assert rows[-1]["kl"] != 0.0
    assert train("weak") == rows
    assert train("long") != rows
    for name, value in checkpoint.state_dict().items():
        assert torch.equal(value, before[name])


def test_streams_of_runs_differ() -> None:
    runs = ["sft q=0.3", "sft q=0.0", "grpo weak", "grpo long", "grpo cold"]
    seeds = {plain.random_stream(seed, run).initial_seed() for run in runs for seed in range(100)}
    assert len(seeds) == 500


def test_defaults_are_the_studys() -> None:
    defaults = {
        name: parameter.default
        for function in (plain.train_sft, plain.train_grpo)
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is not inspect.Parameter.empty and name not in ("learning_rate", "run")
    }
    assert defaults == {
        "steps": 1200,
        "batch_size": 256,
        "eval_every": 5,
        "beta": 0.0,
        "num_prompts": 32,
        "num_generations": 8,
        "num_iterations": 2,
        "minibatch_size": 64,
        "epsilon": 0.2,
        "max_grad_norm": 1.0,
        "temperature": 1.0,
        "num_eval_prompts": 2048,
    }
    for function, rate in ((plain.train_sft, 3e-3), (plain.train_grpo, 1e-4)):
        assert inspect.signature(function).parameters["learning_rate"].default == rate
