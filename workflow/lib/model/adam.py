"""Adam, for one flat vector of weights."""

import torch
from torch import Tensor


class Adam:
    """Adam (Kingma & Ba 2015, arXiv:1412.6980, Algorithm 1), through torch's own fused kernel.

    `torch.optim.Adam(fused=True)` runs the same kernel. But its constructor imports torch's
    compiler, which would take each job as long again as importing torch.
    """

    def __init__(
        self,
        theta: Tensor,
        learning_rate: float,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
    ) -> None:
        """Start with moments of zero.

        Args:
            theta: the weights, which each step moves in place.
            learning_rate: the step size α.
            betas: decay rates of the first and the second moment.
            epsilon: added to the root of the second moment.
        """
        self.theta = theta
        self.learning_rate = learning_rate
        self.betas = betas
        self.epsilon = epsilon
        self.steps = torch.zeros((), device=theta.device)
        self.first_moment = torch.zeros_like(theta, requires_grad=False)
        self.second_moment = torch.zeros_like(theta, requires_grad=False)

    @torch.no_grad()
    def step(self, gradient: Tensor) -> None:
        """Move the weights by θ ← θ − α m̂ / (√v̂ + ε), also where the gradient is zero."""
        self.steps += 1
        torch._fused_adam_(
            [self.theta],
            [gradient],
            [self.first_moment],
            [self.second_moment],
            [],
            [self.steps],
            lr=self.learning_rate,
            beta1=self.betas[0],
            beta2=self.betas[1],
            weight_decay=0.0,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
        )
