"""The plain implementation: the whole procedure as literally as PyTorch lets one write it.

It is the oracle that the library in `workflow/lib` is tested against, and the baseline that it is
timed against. So it imports nothing from there, and it saves nothing: it decodes by encoding the
whole sequence again for every token, samples every completion of a group from its own copy of the
prompt, and runs a separate pass for every log-probability it needs.

Numbers below are the study's; each is a keyword argument. A, B and C in shapes are batch sizes,
N is a number of prompts (groups) and G a number of completions per prompt.
"""

import copy
import random
from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

PLUS, EQUALS, BOS = 10, 11, 12
N_CLASSES = 13
EMBEDDING_ROWS = 14  # one more than there are tokens; it is in the parameter count
PROMPT_LENGTH = 7  # BOS, tens(a), units(a), +, tens(b), units(b), =
ANSWER_LENGTH = 3
MAX_LENGTH = PROMPT_LENGTH + ANSWER_LENGTH

Row = dict[str, float]


# --- The task -------------------------------------------------------------------------------------


def encode_prompts(a: Tensor, b: Tensor) -> Tensor:
    """Tokens of `a+b=` with BOS in front, [B, 7]."""
    bos, plus, equals = (torch.full_like(a, token) for token in (BOS, PLUS, EQUALS))
    return torch.stack([bos, a // 10, a % 10, plus, b // 10, b % 10, equals], dim=1)


def encode_answers(total: Tensor) -> Tensor:
    """The three digits of a number, zero-padded, [B, 3]."""
    return torch.stack([total // 100, total // 10 % 10, total % 10], dim=1)


def no_carry_sum(a: Tensor, b: Tensor) -> Tensor:
    """What a teacher who forgets every carry takes a + b to be."""
    tens = (a // 10 + b // 10) % 10
    units = (a % 10 + b % 10) % 10
    return 10 * tens + units


def has_carry(a: Tensor, b: Tensor) -> Tensor:
    """Whether the units or the tens of a + b carry, bool [B]."""
    units_carry = a % 10 + b % 10 >= 10
    tens_carry = a // 10 + b // 10 + units_carry.long() >= 10
    return units_carry | tens_carry


def verify(a: Tensor, b: Tensor, completions: Tensor) -> Tensor:
    """The verifiable reward: 1.0 where all three digits of a + b are right, else 0.0, [B]."""
    return (completions == encode_answers(a + b)).all(dim=1).float()


def draw_operands(n: int, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
    """Random operands of n prompts, uniform on 0..99 and independent."""
    a = torch.randint(0, 100, (n,), generator=generator)
    b = torch.randint(0, 100, (n,), generator=generator)
    return a, b


# --- The model ------------------------------------------------------------------------------------


class PlainTransformer(nn.Module):
    """A causal Transformer made of stock parts. Without dropout, train and eval mode agree."""

    causal_mask: Tensor

    def __init__(self) -> None:
        """Draw the stock initial weights from PyTorch's global random stream."""
        super().__init__()
        self.emb = nn.Embedding(EMBEDDING_ROWS, 64)
        self.pos = nn.Embedding(MAX_LENGTH, 64)
        layer = nn.TransformerEncoderLayer(
            64, 4, 128, dropout=0.0, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(64, N_CLASSES)
        mask = nn.Transformer.generate_square_subsequent_mask(MAX_LENGTH)
        self.register_buffer("causal_mask", mask, persistent=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of the token that follows each position: [B, T] to [B, T, 13]."""
        length = tokens.shape[1]
        positions = torch.arange(length, device=tokens.device)
        x = self.emb(tokens) + self.pos(positions)
        x = self.encoder(x, mask=self.causal_mask[:length, :length], is_causal=True)
        logits: Tensor = self.head(x)
        return logits


def completion_log_probs(
    model: nn.Module, prompts: Tensor, completions: Tensor, temperature: float = 1.0
) -> Tensor:
    """Log-probability of each completion given its prompt, summed over its tokens, [B]."""
    tokens = torch.cat([prompts, completions], dim=1)
    logits = model(tokens[:, :-1])[:, PROMPT_LENGTH - 1 :]
    log_probs = F.log_softmax(logits / temperature, dim=-1)
    return log_probs.gather(-1, completions.unsqueeze(-1)).squeeze(-1).sum(dim=1)


@torch.no_grad()
def greedy_decode(model: nn.Module, prompts: Tensor) -> Tensor:
    """The likeliest token at each step, [B, 3]."""
    tokens = prompts
    for _ in range(ANSWER_LENGTH):
        logits = model(tokens)[:, -1]
        tokens = torch.cat([tokens, logits.argmax(dim=-1, keepdim=True)], dim=1)
    return tokens[:, PROMPT_LENGTH:]


@torch.no_grad()
def sample(
    model: nn.Module,
    prompts: Tensor,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """One random completion per prompt, [B, 3]."""
    tokens = prompts
    for _ in range(ANSWER_LENGTH):
        probs = F.softmax(model(tokens)[:, -1] / temperature, dim=-1)
        next_token = torch.multinomial(probs, 1, generator=generator)
        tokens = torch.cat([tokens, next_token], dim=1)
    return tokens[:, PROMPT_LENGTH:]


# --- Evaluation -----------------------------------------------------------------------------------


def evaluate(model: nn.Module, a: Tensor, b: Tensor) -> tuple[float, float]:
    """Greedy accuracy on all prompts and on those that carry (NaN if none does)."""
    correct = verify(a, b, greedy_decode(model, encode_prompts(a, b)))
    return correct.mean().item(), correct[has_carry(a, b)].mean().item()


def accuracy_sampled(
    model: nn.Module,
    a: Tensor,
    b: Tensor,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
) -> float:
    """Accuracy of one random completion per prompt."""
    completions = sample(model, encode_prompts(a, b), temperature, generator)
    return verify(a, b, completions).mean().item()


# --- Supervised fine-tuning on a flawed teacher ---------------------------------------------------


def random_stream(seed: int, run: str) -> torch.Generator:
    """A random stream that no other seed or run has."""
    return torch.Generator().manual_seed(random.Random(f"{seed}/{run}").getrandbits(32))


def teacher_answers(
    a: Tensor, b: Tensor, q: float, generator: torch.Generator | None = None
) -> Tensor:
    """What the teacher answers: with probability q the true sum, else the no-carry sum, [B, 3]."""
    is_true = torch.rand(len(a), generator=generator) < q
    return encode_answers(torch.where(is_true, a + b, no_carry_sum(a, b)))


def sft_loss(model: nn.Module, prompts: Tensor, targets: Tensor) -> Tensor:
    """Mean negative log-likelihood of the completion tokens."""
    tokens = torch.cat([prompts, targets], dim=1)
    logits = model(tokens[:, :-1])[:, PROMPT_LENGTH - 1 :]
    return F.cross_entropy(logits.reshape(-1, N_CLASSES), targets.reshape(-1))


def sft_step(
    model: nn.Module, optimizer: torch.optim.Optimizer, prompts: Tensor, targets: Tensor
) -> float:
    """One step of gradient descent on a batch; returns its loss."""
    loss = sft_loss(model, prompts, targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train_sft(
    seed: int,
    q: float,
    steps: int = 1200,
    batch_size: int = 256,
    learning_rate: float = 3e-3,
) -> PlainTransformer:
    """A new model, taught by a teacher who is right with probability q."""
    generator = random_stream(seed, f"sft q={q}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(generator.initial_seed())
        model = PlainTransformer()
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    for _ in range(steps):
        a, b = draw_operands(batch_size, generator)
        targets = teacher_answers(a, b, q, generator)
        sft_step(model, optimizer, encode_prompts(a, b), targets)
    return model


# --- GRPO -----------------------------------------------------------------------------------------


def advantages(rewards: Tensor, eps: float = 1e-4) -> Tensor:
    """Each reward against its group's, in units of the group's unbiased deviation: [N, G]."""
    mean = rewards.mean(dim=1, keepdim=True)
    std = rewards.std(dim=1, keepdim=True)
    return (rewards - mean) / (std + eps)


def zero_signal(rewards: Tensor, threshold: float = 1e-6) -> Tensor:
    """Whether a group's rewards are all the same, so that it teaches nothing, bool [N]."""
    return rewards.std(dim=1) < threshold


def grpo_loss(
    model: nn.Module,
    prompts: Tensor,
    completions: Tensor,
    old_log_probs: Tensor,
    advantages: Tensor,
    epsilon: float = 0.2,
    temperature: float = 1.0,
) -> Tensor:
    """Minus the mean of PPO's clipped objective, with one ratio per completion."""
    log_probs = completion_log_probs(model, prompts, completions, temperature)
    ratio = torch.exp(log_probs - old_log_probs)
    clipped = ratio.clamp(1 - epsilon, 1 + epsilon)
    return -torch.minimum(ratio * advantages, clipped * advantages).mean()


def grpo_update(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    prompts: Tensor,
    completions: Tensor,
    old_log_probs: Tensor,
    advantages: Tensor,
    minibatch_orders: Iterable[Tensor],
    epsilon: float = 0.2,
    max_grad_norm: float = 1.0,
    temperature: float = 1.0,
) -> None:
    """One optimizer step for each minibatch, given by the indices of its completions."""
    for index in minibatch_orders:
        loss = grpo_loss(
            model,
            prompts[index],
            completions[index],
            old_log_probs[index],
            advantages[index],
            epsilon,
            temperature,
        )
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
        optimizer.step()


def draw_minibatches(
    n: int, num_iterations: int, minibatch_size: int, generator: torch.Generator | None = None
) -> list[Tensor]:
    """Indices of each minibatch: every epoch goes through all n in a random order of its own."""
    minibatches: list[Tensor] = []
    for _ in range(num_iterations):
        minibatches.extend(torch.randperm(n, generator=generator).split(minibatch_size))
    return minibatches


def grpo_iteration(
    model: nn.Module,
    reference: nn.Module,
    optimizer: torch.optim.Optimizer,
    a: Tensor,
    b: Tensor,
    num_generations: int = 8,
    num_iterations: int = 2,
    minibatch_size: int = 64,
    epsilon: float = 0.2,
    beta: float = 0.0,
    max_grad_norm: float = 1.0,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
) -> Row:
    """Sample, reward, compare within groups and update; returns the metrics of its batch."""
    a, b = a.repeat_interleave(num_generations), b.repeat_interleave(num_generations)
    prompts = encode_prompts(a, b)
    completions = sample(model, prompts, temperature, generator)
    with torch.no_grad():
        old_log_probs = completion_log_probs(model, prompts, completions, temperature)
        ref_log_probs = completion_log_probs(reference, prompts, completions, temperature)
    log_ratio = old_log_probs - ref_log_probs

    rewards = verify(a, b, completions).view(-1, num_generations)
    advantage = advantages(rewards).flatten()
    if beta > 0:
        advantage = advantage - beta * log_ratio

    grpo_update(
        model,
        optimizer,
        prompts,
        completions,
        old_log_probs,
        advantage,
        draw_minibatches(len(prompts), num_iterations, minibatch_size, generator),
        epsilon,
        max_grad_norm,
        temperature,
    )
    return {
        "reward": rewards.mean().item(),
        "kl": log_ratio.mean().item(),
        "frac_reward_zero_std": zero_signal(rewards).float().mean().item(),
    }


def train_grpo(
    checkpoint_model: nn.Module,
    seed: int,
    iterations: int,
    eval_every: int = 5,
    beta: float = 0.0,
    run: str = "weak",
    num_prompts: int = 32,
    num_generations: int = 8,
    num_iterations: int = 2,
    minibatch_size: int = 64,
    epsilon: float = 0.2,
    learning_rate: float = 1e-4,
    max_grad_norm: float = 1.0,
    temperature: float = 1.0,
    num_eval_prompts: int = 2048,
) -> list[Row]:
    """Train a copy of the checkpoint; a row for iteration 1, every `eval_every`th and the last.

    A row's accuracies are those after its iteration's update; its other metrics are those of the
    iteration's batch, which was sampled before. `run` names the random stream, so that two runs of
    a seed do not share one.
    """
    policy = copy.deepcopy(checkpoint_model)
    reference = copy.deepcopy(checkpoint_model).requires_grad_(False)
    optimizer = torch.optim.Adam(policy.parameters(), lr=learning_rate)
    generator = random_stream(seed, f"grpo {run}")
    rows: list[Row] = []
    for iteration in range(1, iterations + 1):
        a, b = draw_operands(num_prompts, generator)
        metrics = grpo_iteration(
            policy,
            reference,
            optimizer,
            a,
            b,
            num_generations,
            num_iterations,
            minibatch_size,
            epsilon,
            beta,
            max_grad_norm,
            temperature,
            generator,
        )
        if iteration in (1, iterations) or iteration % eval_every == 0:
            accuracy, accuracy_carry = evaluate(policy, *draw_operands(num_eval_prompts, generator))
            rows.append(
                {
                    "iteration": iteration,
                    "accuracy": accuracy,
                    "accuracy_carry": accuracy_carry,
                    **metrics,
                }
            )
    return rows
