"""The whole study as a plain script runs it: one job after the other, torch on all cores."""

import csv
import sys
from pathlib import Path

import matplotlib
import torch

from tests import plain

matplotlib.use("pdf")
import matplotlib.pyplot as plt


def main(folder: Path, scale: int) -> None:
    """The 15 training jobs with 1/scale of their steps, their CSVs, and three simple figures."""
    curves = {}
    for seed in (42, 43, 44):
        models = {}
        for q in (0.3, 0.0):
            model = models[q] = plain.train_sft(seed, q, steps=1200 // scale)
            plain.evaluate(model, *plain.draw_operands(2048))
            plain.accuracy_sampled(model, *plain.draw_operands(2048))
            torch.save(model.state_dict(), folder / f"sft_q{q}_seed{seed}.pt")
        for run, q, iterations in (("weak", 0.3, 300), ("long", 0.3, 600), ("cold", 0.0, 300)):
            rows = plain.train_grpo(models[q], seed, iterations // scale, run=run)
            with (folder / f"{run}_seed{seed}.csv").open("w", newline="") as file:
                writer = csv.DictWriter(file, fieldnames=list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
            curves[run, seed] = rows
    for run in ("weak", "long", "cold"):
        for seed in (42, 43, 44):
            rows = curves[run, seed]
            plt.plot([row["iteration"] for row in rows], [row["accuracy"] for row in rows])
        plt.savefig(folder / f"{run}.pdf")
        plt.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
