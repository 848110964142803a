"""The hand-written Transformer against PyTorch's stock modules."""

import pytest
import torch
from torch import Tensor, nn

from workflow.lib.model.transformer import Transformer, log_softmax
from workflow.lib.model.weights import NUM_PARAMETERS, SHAPES

BOS, PLUS, EQUALS = 12, 10, 11


class Stock(nn.Module):
    """The model in PyTorch's own modules: what a reader of a checkpoint would write."""

    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(14, 64)
        self.pos = nn.Embedding(10, 64)
        layer = nn.TransformerEncoderLayer(64, 4, 128, 0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(64, 13)

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        x = self.emb(tokens) + self.pos(torch.arange(length))
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        logits: Tensor = self.head(self.encoder(x, mask=mask, is_causal=True))
        return logits


def perturbed(seed: int = 0) -> Transformer:
    """A model none of whose weights is at a special value (zero biases, norms of one)."""
    model = Transformer.initial(seed)
    noise = torch.randn(NUM_PARAMETERS, generator=torch.Generator().manual_seed(seed + 1))
    with torch.no_grad():
        model.theta += 0.1 * noise
    return model


def stock_of(model: Transformer) -> Stock:
    stock = Stock()
    stock.load_state_dict(model.state_dict(), strict=True)
    return stock


def random_case(
    num_prefixes: int, prefix_length: int, batch: int, count: int, seed: int = 0
) -> tuple[Tensor, Tensor, Tensor]:
    """Prefixes, parents and continuations: any tokens, since the model must not care."""
    generator = torch.Generator().manual_seed(seed)
    prefixes = torch.randint(0, 13, (num_prefixes, prefix_length), generator=generator)
    prefixes[:, 0] = BOS
    parent = torch.randint(0, num_prefixes, (batch,), generator=generator)
    continuations = torch.randint(0, 13, (batch, count), generator=generator)
    return prefixes, parent, continuations


def random_prompts(number: int, seed: int = 0) -> Tensor:
    digits = torch.randint(0, 10, (number, 4), generator=torch.Generator().manual_seed(seed))
    bos, plus, equals = (torch.full((number,), token) for token in (BOS, PLUS, EQUALS))
    return torch.stack((bos, *digits[:, :2].T, plus, *digits[:, 2:].T, equals), 1)


# N, P, B, C: a lone sequence; odd and even batches; the shapes of SFT and GRPO; prefixes encoded
# separately and not; prefixes that no sequence, or only one, or every one uses.
CASES = [
    (1, 6, 1, 3),
    (2, 6, 5, 3),
    (32, 6, 64, 3),
    (3, 6, 200, 3),
    (100, 4, 256, 5),
    (100, 4, 291, 5),
    (200, 4, 130, 5),
    (1, 1, 131, 8),
    (7, 4, 10, 5),
]


@pytest.mark.parametrize("case", CASES)
def test_logits_and_gradient_are_the_stock_modules(case: tuple[int, int, int, int]) -> None:
    model = perturbed()
    stock = stock_of(model)
    prefixes, parent, continuations = random_case(*case)
    weighting = torch.randn(len(parent), 3, 13, generator=torch.Generator().manual_seed(5))

    expected = stock(torch.cat((prefixes[parent], continuations), 1))[:, -3:]
    (expected.softmax(2) * weighting).sum().backward()
    gradients = {name: weight.grad for name, weight in stock.named_parameters()}

    model.theta.requires_grad_(True)
    logits = model.answer_logits(prefixes, parent, continuations)
    (logits.softmax(2) * weighting).sum().backward()

    assert logits.shape == (len(parent), 3, 13)
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=0)
    if len(parent) > 64:
        return  # Somewhere a ReLU's input may be on either side of zero, by rounding: see below.
    assert model.theta.grad is not None
    scale = model.theta.grad.abs().max().item()
    parts = model.theta.grad.split([weight.numel() for weight in model.weights.values()])
    for name, part in zip(SHAPES, parts, strict=True):
        gradient = gradients[name]
        assert gradient is not None
        torch.testing.assert_close(
            part.view(SHAPES[name]), gradient, atol=2e-6 * scale, rtol=1e-5, msg=name
        )


@pytest.mark.parametrize("case", CASES)
def test_in_double_precision_nothing_but_rounding_differs(case: tuple[int, int, int, int]) -> None:
    single = perturbed()
    stock = stock_of(single).double()
    model = Transformer(single.theta.double().requires_grad_(True))
    prefixes, parent, continuations = random_case(*case)
    expected = stock(torch.cat((prefixes[parent], continuations), 1))[:, -3:]
    expected.sin().mean().backward()
    logits = model.answer_logits(prefixes, parent, continuations)
    logits.sin().mean().backward()
    torch.testing.assert_close(logits, expected, atol=1e-12, rtol=0)
    weights = dict(stock.named_parameters())
    gradients = [weights[name].grad for name in SHAPES]
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients if gradient is not None])
    torch.testing.assert_close(model.theta.grad, flat, atol=1e-14, rtol=1e-9)


def test_without_gradient_the_logits_are_the_same_and_nothing_is_kept() -> None:
    model = perturbed()
    case = random_case(100, 4, 256, 5)
    plain = model.answer_logits(*case)
    assert not plain.requires_grad
    model.theta.requires_grad_(True)
    with torch.no_grad():
        off = model.answer_logits(*case)
    assert off.grad_fn is None
    kept = model.answer_logits(*case)
    assert kept.requires_grad
    assert torch.equal(plain, off)
    assert torch.equal(plain, kept)


def test_same_inputs_give_same_bytes() -> None:
    model = perturbed()
    model.theta.requires_grad_(True)
    case = random_case(100, 4, 256, 5)
    gradients = []
    for _ in range(2):
        (gradient,) = torch.autograd.grad(model.answer_logits(*case).square().sum(), model.theta)
        gradients.append(gradient)
    assert torch.equal(*gradients)


def test_gradients_of_several_backward_passes_add_up() -> None:
    model = perturbed()
    model.theta.requires_grad_(True)
    separate = []
    for case in (random_case(100, 4, 256, 5), random_case(3, 2, 7, 3)):
        (gradient,) = torch.autograd.grad(model.answer_logits(*case).square().sum(), model.theta)
        separate.append(gradient)
        model.answer_logits(*case).square().sum().backward()
    assert model.theta.grad is not None
    assert torch.equal(model.theta.grad, separate[0] + separate[1])
    assert (separate[1][14 * 64 :].view(-1)[5 * 64 : 10 * 64] == 0).all(), "positions not reached"


def test_changing_the_weights_before_the_backward_is_an_error() -> None:
    model = perturbed()
    model.theta.requires_grad_(True)
    loss = model.answer_logits(*random_case(2, 6, 4, 3)).sum()
    with torch.no_grad():
        model.theta.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_an_optimizer_step_on_theta_changes_the_weights() -> None:
    model = perturbed()
    model.theta.requires_grad_(True)
    optimizer = torch.optim.Adam([model.theta], lr=0.1)
    case = random_case(2, 6, 4, 3)
    before = model.answer_logits(*case)
    before.logsumexp(2).sum().backward()
    optimizer.step()
    prefixes, parent, continuations = case
    expected = stock_of(model)(torch.cat((prefixes[parent], continuations), 1))[:, -3:]
    after = model.answer_logits(*case)
    torch.testing.assert_close(after, expected, atol=1e-4, rtol=1e-4)
    assert not torch.allclose(after, before, atol=1e-2)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize(("number", "repeats"), [(1, 1), (3, 5), (5, 12), (2, 16), (32, 8)])
def test_samples_invert_the_stock_models_distribution(
    number: int, repeats: int, temperature: float
) -> None:
    model = perturbed()
    stock = stock_of(model)
    prompts = random_prompts(number)
    uniforms = torch.rand(number, repeats, 3, generator=torch.Generator().manual_seed(3))
    completions, log_policy = model.sample(prompts, uniforms, temperature)
    assert completions.shape == (number, repeats, 3)
    assert completions.dtype == torch.int64
    assert log_policy.shape == (number, repeats, 3, 13)
    assert not log_policy.requires_grad

    sequences = torch.cat((prompts.repeat_interleave(repeats, 0), completions.view(-1, 3)), 1)
    logits = stock(sequences)[:, 6:9].detach().double()
    log_p = (logits / temperature).log_softmax(2)
    chosen = log_p.gather(2, completions.view(-1, 3, 1)).squeeze(2)
    torch.testing.assert_close(log_policy.view(-1, 3, 13), log_p.float(), atol=2e-5, rtol=0)
    # Each uniform lies in its token's step of the cumulative distribution.
    upper = log_p.exp().cumsum(2).gather(2, completions.view(-1, 3, 1)).squeeze(2)
    lower = upper - chosen.exp()
    u = uniforms.view(-1, 3).double()
    assert (lower - 1e-5 <= u).all()
    assert (u <= upper + 1e-5).all()


def test_a_grid_of_uniforms_yields_the_distribution() -> None:
    model = perturbed()
    prompts = random_prompts(1)
    grid = 20_000
    uniforms = torch.full((1, grid, 3), 0.5)
    uniforms[0, :, 0] = (torch.arange(grid) + 0.5) / grid
    completions, _ = model.sample(prompts, uniforms)
    frequencies = torch.bincount(completions[0, :, 0], minlength=13) / grid
    expected = stock_of(model)(prompts)[0, -1].softmax(0)
    torch.testing.assert_close(frequencies, expected.detach(), atol=2 / grid, rtol=0)


def test_sampled_log_probabilities_are_those_of_teacher_forcing() -> None:
    model = perturbed()
    prompts = random_prompts(32)
    uniforms = torch.rand(32, 8, 3, generator=torch.Generator().manual_seed(3))
    completions, log_policy = model.sample(prompts, uniforms)
    flat = completions.view(-1, 3)
    parent = torch.arange(32).repeat_interleave(8)
    continuations = torch.cat((prompts[parent, 6:], flat[:, :2]), 1)
    log_p = model.answer_logits(prompts[:, :6], parent, continuations).log_softmax(2)
    torch.testing.assert_close(log_policy.view(-1, 3, 13), log_p, atol=1e-5, rtol=0)


@pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
def test_uniforms_at_the_edges_choose_possible_tokens(scale: float) -> None:
    model = perturbed()
    with torch.no_grad():  # at the largest scale most tokens' probabilities underflow to zero
        model.weights["head.weight"].mul_(scale)
    prompts = random_prompts(64)
    for edge in (0.0, 1 - 2**-24):
        uniforms = torch.full((64, 2, 3), edge)
        completions, log_policy = model.sample(prompts, uniforms)
        assert completions.min() >= 0
        assert completions.max() <= 12
        log_probs = log_policy.gather(3, completions[..., None]).sum((2, 3))
        assert log_probs.isfinite().all()
        assert (log_probs > 3 * torch.tensor(1e-46).clamp(min=2**-149).log()).all()


def test_a_uniform_of_zero_chooses_the_first_possible_token() -> None:
    model = perturbed()
    with torch.no_grad():
        model.weights["head.weight"].zero_()
        model.weights["head.bias"].copy_(torch.arange(13.0))
        model.weights["head.bias"][:4] = -1e4
        model.weights["head.bias"][10:] = -1e4
    first, _ = model.sample(random_prompts(2), torch.zeros(2, 1, 3))
    last, _ = model.sample(random_prompts(2), torch.full((2, 1, 3), 1 - 2**-24))
    assert (first == 4).all()
    assert (last == 9).all()


def test_initial_weights_are_the_stock_modules() -> None:
    torch.manual_seed(7)
    expected = Stock().state_dict()
    torch.manual_seed(0)
    before = torch.get_rng_state()
    state = Transformer.initial(7).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    assert list(state) == list(expected)
    assert all(torch.equal(state[key], expected[key]) for key in expected)
    assert sum(weight.numel() for weight in state.values()) == NUM_PARAMETERS == 69_325


def test_initial_weights_are_moved_to_the_device() -> None:
    assert Transformer.initial(7, device="meta").theta.device.type == "meta"


def test_state_dict_round_trip() -> None:
    model = perturbed()
    state = model.state_dict()
    again = Transformer.from_state_dict(dict(reversed(state.items())))
    assert torch.equal(again.theta, model.theta)
    assert again.theta.is_leaf
    state["emb.weight"].zero_()
    assert model.weights["emb.weight"].abs().min() > 0
    storages = {weight.untyped_storage().data_ptr() for weight in state.values()}
    assert len(storages) == len(state)


def test_weights_are_views_of_theta() -> None:
    model = perturbed()
    with torch.no_grad():
        model.theta.fill_(2.0)
    assert all((weight == 2).all() for weight in model.weights.values())


def test_a_copy_is_independent() -> None:
    model = perturbed()
    model.theta.requires_grad_(True)
    duplicate = model.copy()
    assert torch.equal(duplicate.theta, model.theta)
    assert not duplicate.theta.requires_grad
    with torch.no_grad():
        model.theta.zero_()
    assert duplicate.theta.abs().max() > 0
    assert duplicate.weights["head.bias"].abs().max() > 0


def test_from_state_dict_names_what_is_wrong() -> None:
    state = Transformer.initial(0).state_dict()
    lacking = {key: value for key, value in state.items() if key != "pos.weight"}
    with pytest.raises(ValueError, match=r"lacks 'pos\.weight'"):
        Transformer.from_state_dict(lacking)
    with pytest.raises(ValueError, match=r"unexpected key 'norm\.weight'"):
        Transformer.from_state_dict({**state, "norm.weight": torch.ones(64)})
    with pytest.raises(ValueError, match=r"'head\.bias' has shape \(14,\), expected \(13,\)"):
        Transformer.from_state_dict({**state, "head.bias": torch.ones(14)})


def test_log_softmax_is_torchs() -> None:
    model = perturbed()
    model.theta.requires_grad_(True)
    logits = model.answer_logits(*random_case(32, 6, 64, 3))
    assert logits.permute(2, 1, 0).is_contiguous()
    weighting = torch.randn(logits.shape, generator=torch.Generator().manual_seed(5))
    ours, theirs = log_softmax(logits), torch.log_softmax(logits, -1)
    torch.testing.assert_close(ours, theirs)
    gradients = [
        torch.autograd.grad((y * weighting).sum(), logits, retain_graph=True)[0]
        for y in (ours, theirs)
    ]
    torch.testing.assert_close(*gradients)
