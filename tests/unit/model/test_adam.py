"""Our Adam against torch's."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from workflow.lib.model.adam import Adam

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("learning_rate", [3e-3, 1e-4])
def test_the_same_weights_as_torchs(learning_rate: float) -> None:
    """Also through steps whose gradient is zero, at the start and later."""
    generator = torch.Generator().manual_seed(0)
    ours = torch.randn(1000, generator=generator)
    theirs = ours.clone().requires_grad_()
    adam, reference = Adam(ours, learning_rate), torch.optim.Adam([theirs], lr=learning_rate)
    for step in range(200):
        gradient = torch.randn(1000, generator=generator) * 10.0 ** (step % 7 - 4)
        if step < 2 or step % 5 == 0:
            gradient = torch.zeros(1000)
        theirs.grad = gradient.clone()
        adam.step(gradient)
        reference.step()
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)


def test_it_steps_on_a_gradient_of_zeros() -> None:
    theta, nothing = torch.ones(3), torch.zeros(3)
    adam = Adam(theta, 0.1)
    adam.step(nothing)
    assert theta.tolist() == [1, 1, 1]
    adam.step(torch.tensor([1.0, -2.0, 0.0]))
    moved = theta.clone()
    assert moved[0] < 1 < moved[1] and moved[2] == 1
    adam.step(nothing)
    assert theta[0] < moved[0], "the moments go on without a gradient"


def test_training_does_not_import_torchs_compiler() -> None:
    """It would take as long as importing torch, in every job."""
    program = (
        "import sys\n"
        "from workflow.lib.task.addition import verify\n"
        "from workflow.lib.training.grpo import train_grpo\n"
        "from workflow.lib.study.settings import GrpoSettings\n"
        "from workflow.lib.training.device import prepare_torch\n"
        "from workflow.lib.training.sft import evaluate_sft, train_sft\n"
        "from workflow.lib.study.settings import SftSettings\n"
        "prepare_torch('cpu', gpus=0)\n"
        "model = train_sft(1, 'sft', 0.3, SftSettings(steps=2))\n"
        "evaluate_sft(1, 'sft', model, 64)\n"
        "list(train_grpo(1, 'grpo', model, verify, GrpoSettings(iterations=2, eval_prompts=64)))\n"
        "print('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
