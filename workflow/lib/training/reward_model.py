"""A learned reward: what a model thinks of an answer.

A model of the policy's own shape reads a prompt with an answer; how sure it is that the teacher
gave that answer is the reward. `reward_training` makes such models.
"""

import torch
from torch import Tensor

from workflow.lib.model.transformer import Transformer
from workflow.lib.task import addition
from workflow.lib.task.rewards import Reward


def log_odds(model: Transformer, a: Tensor, b: Tensor, answers: Tensor) -> Tensor:
    """How sure the model is that answers [B, 3] to a + b [B] are the teacher's, in nats [B].

    That is its first logit after the last digit; it has no use for the others.
    """
    rest = addition.encode_prompts(a, b)[:, addition.FIRST_OPERAND_LENGTH :]
    beginnings = addition.first_operands(a.device)
    logits = model.answer_logits(beginnings, a, torch.cat([rest, answers], dim=1))
    return logits[:, -1, 0]


def learned_reward(model: Transformer) -> Reward:
    """The reward that a reward model gives: its log-odds, in nats."""

    @torch.no_grad()
    def reward(a: Tensor, b: Tensor, answers: Tensor) -> Tensor:
        asked = torch.broadcast_tensors(a, b, *answers.unbind(dim=-1))
        # Each question once: equal completions get equal rewards, and few differ.
        questions, places = (
            torch.stack(asked, dim=-1).flatten(0, -2).unique(dim=0, return_inverse=True)
        )
        scores = log_odds(model, questions[:, 0], questions[:, 1], questions[:, 2:])
        return scores[places].view(asked[0].shape)

    return reward
