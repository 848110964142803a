"""Made-up runs on which everything comes out as expected, for tests to spoil."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd

from workflow.lib.study.claims import silent_fraction
from workflow.lib.study.findings import Evidence
from workflow.lib.study.grpo_settings import GrpoSettings
from workflow.lib.study.metrics import Row
from workflow.lib.study.runs import Runs

SEEDS = (1, 2, 3)


def prompts(q: float) -> pd.DataFrame:
    """What a perfect imitator of a teacher makes of every prompt."""
    carries = np.arange(10_000) >= 3025
    probability = np.where(carries, max(q, 1e-3), 1.0)
    return pd.DataFrame({"a": 0.0, "b": 0.0, "solved": 1.0 - carries, "probability": probability})


def run(
    q: float = 0.3, iterations: int = 300, final: dict[str, Any] | None = None, **grpo: Any
) -> Runs:
    """Runs that change evenly, until `final` is reached halfway; silent at first as predicted."""
    settings = replace(GrpoSettings(), iterations=iterations, **grpo)
    start = prompts(q)
    at = np.array([1, 5, 10, *range(15, iterations + 1, 15)])
    share = np.minimum(1, at / min(15, iterations / 2))
    values = {field.name: np.zeros(len(at)) for field in fields(Row)}
    values["iteration"] = at.astype(float)
    last = {"accuracy": 1.0, "accuracy_carry": 1.0, "reward": 1.0, "kl": 0.84, **(final or {})}
    for name, value in last.items():
        values[name] = share * value
    values["frac_reward_zero_std"][0] = silent_fraction(start.probability, settings.num_generations)
    frame = pd.DataFrame(values)
    return Runs(
        q=q,
        settings=settings,
        metrics={seed: frame.copy() for seed in SEEDS},
        prompts=dict.fromkeys(SEEDS, start),
    )


def pass_at_k(sft: float, grpo: float) -> dict[int, pd.DataFrame]:
    k = 2.0 ** np.arange(9)
    table = {"k": k}
    for name, p in (("sft", sft), ("grpo", grpo)):
        table[name] = table[f"{name}_exact"] = 1 - (1 - p) ** k
    return {seed: pd.DataFrame(table) for seed in SEEDS}


def evidence() -> Evidence:
    """Everything as expected."""
    carry = {0.0: 0.0, 0.001: 0.02, 0.003: 0.3, 0.01: 0.4, 0.03: 0.6, 0.1: 0.95, 0.3: 1.0}
    data = {}
    for q, value in carry.items():
        runs = run(q, final={"accuracy_carry": value})
        if 0 < q < 0.1:
            runs = run(q, iterations=1500, final={"accuracy_carry": 0.95})
            for frame in runs.metrics.values():
                frame.loc[frame.iteration <= 300, "accuracy_carry"] = value
        data[f"q{q}"] = runs
    learned = {"accuracy": 0.31, "accuracy_carry": 0.02, "reward": 5.0}
    rewards = {
        "weak": run(),
        "learned": run(reward="learned", final=learned),
        "learned-anchored": run(reward="learned", beta=0.1, final=learned),
    }
    for reward, accuracy in (("within_10", 0.75), ("without_hundreds", 0.99)):
        for beta in (0.0, 0.1):
            rewards[f"{reward}{beta}"] = run(reward=reward, beta=beta, final={"accuracy": accuracy})
    advantages = {}
    for q in (0.3, 0.01, 0.0):
        for place, name in enumerate(("group", "group_mean", "leave_one_out", "batch", "none")):
            kl = 3.0 if name == "batch" else 0.1
            reached = {0.3: 1.0, 0.01: 0.2 * place, 0.0: 0.01}[q]
            advantages[f"{q}-{name}"] = run(
                q, advantage=name, final={"accuracy_carry": reached, "kl": kl}
            )
    return Evidence(
        runs={
            "fig4_cold_start_data": data,
            "fig6_reward_is_the_objective": rewards,
            "fig7_baseline": advantages,
            "fig8_group_size": {
                str(size): run(num_generations=size, num_prompts=256 // size)
                for size in (2, 4, 8, 16, 32)
            },
            "fig9_noisy_verifier": {
                str(noise): run(
                    reward_noise=noise, final={"accuracy_carry": 0.1 if noise == 0.5 else 1.0}
                )
                for noise in (0.0, 0.2, 0.4, 0.5)
            },
            "fig10_anchor": {
                str(beta): run(iterations=600, beta=beta, final={"kl": 0.9 - beta})
                for beta in (0.0, 0.1, 0.5)
            },
        },
        pass_at_k={"weak": pass_at_k(0.3, 0.999), "cold": pass_at_k(0.0, 0.0)},
        reward_models=[pd.DataFrame([{"accuracy": 0.96, "prefers_no_carry": 0.8, "margin": 0.5}])],
    )
