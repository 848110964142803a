"""What models answer to a few prompts, and the page that shows it."""

import pytest
import torch

from tests import plain
from workflow.lib.model.transformer import Transformer
from workflow.lib.study.settings import SftSettings
from workflow.lib.task import addition, arithmetic
from workflow.lib.training import answers
from workflow.lib.training.sft import train_sft


@pytest.fixture(scope="module")
def model() -> Transformer:
    return train_sft(1, "sft/q0.5", 0.5, SftSettings(steps=150, batch_size=128))


def test_three_prompts_of_each_kind() -> None:
    a, b = torch.tensor(answers.PROMPTS).unbind(dim=1)
    units, tens = arithmetic.carries(a, b)
    kinds = (2 * tens.int() + units.int()).tolist()
    assert kinds == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert (99, 99) in answers.PROMPTS


def test_greedy_answers_and_probabilities_are_the_plain_ones(model: Transformer) -> None:
    stock = plain.PlainTransformer()
    stock.load_state_dict(model.state_dict())
    a, b = torch.tensor(answers.PROMPTS).unbind(dim=1)
    prompts = plain.encode_prompts(a, b)
    assert answers.greedy_answers(model, a, b).equal(plain.greedy_decode(stock, prompts))
    with torch.no_grad():
        log_probs = plain.completion_log_probs(stock, prompts, plain.encode_answers(a + b))
    ours = answers.probability_of(model, a, b, addition.encode_answers(a + b))
    torch.testing.assert_close(ours, log_probs.exp(), rtol=1e-4, atol=1e-6)


def test_a_row_for_each_prompt(model: Transformer) -> None:
    rows = answers.answers_table({"sft": model, "grpo": model})
    assert [(row["a"], row["b"]) for row in rows] == list(answers.PROMPTS)
    for row in rows:
        assert row["sft_right"] == row["grpo_right"] and 0 <= row["sft_no_carry"] <= 1
        assert -1 <= row["grpo_greedy"] <= 999


def test_a_model_that_answers_no_number(model: Transformer) -> None:
    mute = model.copy()
    mute.weights["head.weight"].zero_()
    mute.weights["head.bias"].copy_(torch.arange(13.0))
    [row, *_] = answers.answers_table({"mute": mute})
    assert row["mute_greedy"] == -1
