"""The task, against integer arithmetic written out."""

import numpy as np
import pandas as pd
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import tensor

from workflow.lib.task import addition, arithmetic

operand = st.integers(0, 99)


@given(operand, operand)
def test_prompt_and_answer_spell_the_sum(a: int, b: int) -> None:
    prompt = addition.encode_prompts(tensor([a]), tensor([b]))[0].tolist()
    answer = addition.encode_answers(tensor([a + b]))[0].tolist()
    assert prompt[0] == addition.BOS and prompt[3] == addition.PLUS and prompt[6] == addition.EQUALS
    assert "".join(map(str, prompt[1:3])) == f"{a:02}"
    assert "".join(map(str, prompt[4:6])) == f"{b:02}"
    assert "".join(map(str, answer)) == f"{a + b:03}"


@given(operand, operand)
def test_no_carry_sum_is_right_exactly_without_a_carry(a: int, b: int) -> None:
    wrong_sum = arithmetic.no_carry_sum(tensor(a), tensor(b)).item()
    columns = [(int(x) + int(y)) % 10 for x, y in zip(f"{a:02}", f"{b:02}", strict=True)]
    assert wrong_sum == columns[0] * 10 + columns[1]
    assert (wrong_sum == a + b) == (not arithmetic.has_carry(tensor(a), tensor(b)).item())


def test_share_of_prompts_without_a_carry() -> None:
    a, b = addition.all_prompts()
    assert len(a) == 10_000
    assert len({(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)}) == 10_000
    assert (~arithmetic.has_carry(a, b)).sum() == 3_025


@given(operand, operand, st.lists(st.integers(0, 12), min_size=3, max_size=3))
def test_verifier_wants_all_three_digits(a: int, b: int, answer: list[int]) -> None:
    reward = addition.verify(tensor(a), tensor(b), tensor(answer))
    assert reward.dtype == torch.float32
    assert reward.item() == float("".join(map(str, answer)) == f"{a + b:03}" and max(answer) < 10)


def test_verifier_judges_groups() -> None:
    answers = tensor([[[0, 0, 3], [0, 0, 4]], [[1, 9, 8], [0, 9, 8]]])
    rewards = addition.verify(tensor([[1], [99]]), tensor([[2], [99]]), answers)
    assert rewards.tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_first_operands_are_the_beginnings_of_all_prompts() -> None:
    a, b = addition.all_prompts()
    assert addition.encode_prompts(a, b)[:, :4].equal(addition.first_operands()[a])


@given(operand, operand)
def test_carries_are_the_same_for_numbers_of_any_kind(a: int, b: int) -> None:
    units, tens = int(f"{a:02}"[1]) + int(f"{b:02}"[1]) > 9, len(str(a + b)) == 3
    for make in (int, tensor, np.asarray, lambda n: pd.Series([float(n)])):
        found = arithmetic.carries(make(a), make(b))
        assert [bool(np.asarray(kind).item()) for kind in found] == [units, tens]
        assert bool(np.asarray(arithmetic.has_carry(make(a), make(b))).item()) == (units or tens)
