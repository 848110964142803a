"""The pipeline as a user meets it: a study from nothing, and what is said where it cannot be."""

import csv
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import torch

from tests import plain
from tests.copies import ROOT
from tests.pipeline.conftest import Project

SEEDS = (1, 2)


class TestFinishedStudy:
    """What a study from nothing leaves behind."""

    def test_files(self, finished: Project) -> None:
        names = set(finished.results())
        expected = {"claims.csv", "explore.html"}
        for seed in SEEDS:
            for q in ("0", "0.3"):
                expected |= {
                    f"sft/q{q}/seed{seed}.pt",
                    f"sft/q{q}/seed{seed}.csv",
                    f"sft/q{q}/prompts/seed{seed}.csv",
                }
            for name in ("weak", "long", "cold"):
                expected |= {f"grpo/{name}/seed{seed}.csv", f"grpo/{name}/seed{seed}.pt"}
                expected |= {
                    f"grpo/{name}/{kind}/seed{seed}.csv" for kind in ("prompts", "answers")
                }
        figures = ("fig1_rlvr_overturns", "fig2_unhackable_reward", "fig3_cold_start")
        expected |= {f"figures/{name}.pdf" for name in figures}
        expected |= {f"questions/{name}.csv" for name in (*figures, "cost", "predictions")}
        assert names == expected

    def test_columns(self, finished: Project) -> None:
        results = finished.path / "results"
        sft = pd.read_csv(results / "sft/q0.3/seed1.csv")
        assert list(sft)[:3] == ["accuracy", "accuracy_carry", "accuracy_sampled"]
        assert len(sft) == 1
        grpo = pd.read_csv(results / "grpo/weak/seed1.csv")
        assert list(grpo)[:6] == [
            *("iteration", "accuracy", "accuracy_carry"),
            *("reward", "kl", "frac_reward_zero_std"),
        ]
        assert list(grpo.iteration) == [1, 3, 6]
        assert list(pd.read_csv(results / "grpo/long/seed2.csv").iteration) == [1, 3, 6, 8]
        claims = pd.read_csv(results / "claims.csv")
        assert list(claims) == [
            *("claim", "question", "source", "statement", "chapter", "rule", "observed", "verdict")
        ]

    def test_a_checkpoint_opens_in_the_stock_module(self, finished: Project) -> None:
        path = finished.path / "results/sft/q0.3/seed1.pt"
        stock = plain.PlainTransformer()
        stock.load_state_dict(torch.load(path, weights_only=True), strict=True)
        prompts = pd.read_csv(finished.path / "results/sft/q0.3/prompts/seed1.csv")
        a, b = (torch.tensor(prompts[name].to_list()) for name in ("a", "b"))
        with torch.no_grad():
            log_probs = plain.completion_log_probs(
                stock, plain.encode_prompts(a, b), plain.encode_answers(a + b)
            )
        probability = torch.tensor(prompts.probability.to_list(), dtype=torch.float64)
        torch.testing.assert_close(log_probs.exp().double(), probability, rtol=1e-4, atol=1e-7)

    def test_claims_of_the_chapter_do_not_apply_to_a_smoke_study(self, finished: Project) -> None:
        with (finished.path / "results/claims.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert {row["verdict"] for row in rows} == {"not applicable"}
        assert {row["observed"] for row in rows} == {"sft.steps is 30, not 1200"}

    def test_logs_show_progress(self, finished: Project) -> None:
        log = (finished.path / "results/logs/grpo/weak/seed1.log").read_text()
        assert re.search(r"iteration 3/6 .*accuracy .*reward .*kl .*iterations/s .*s left", log)
        log = (finished.path / "results/logs/sft/q0/seed2.log").read_text()
        assert re.search(r"step 30/30 .*loss .*steps/s", log)

    def test_training_is_benchmarked(self, finished: Project) -> None:
        for job in ("sft/q0.3", "grpo/long"):
            table = pd.read_csv(
                finished.path / f"results/benchmarks/{job}/seed1.tsv", sep="\t", na_values="-"
            )
            assert table["s"].item() > 0

    def test_the_manifest_lists_every_result_and_what_made_it(self, finished: Project) -> None:
        manifest = json.loads((finished.path / "results/manifest.json").read_text())
        checksums = {
            f"results/{name}": hashlib.sha256(content).hexdigest()
            for name, content in finished.results().items()
        }
        captions = {name for name in manifest["sha256"] if name.endswith(".rst")}
        assert len(captions) == 5
        assert {k: v for k, v in manifest["sha256"].items() if k not in captions} == checksums
        assert manifest["study"]["seeds"] == list(SEEDS)
        assert manifest["study"]["experiments"]["long"]["grpo"]["iterations"] == 8
        assert {"commit", "uncommitted_changes"} <= manifest.keys()
        [training] = [machine for machine in manifest["machines"] if "torch" in machine]
        assert training["torch"] == torch.__version__ and training["torch_threads"] == 1
        assert training["cpu"]
        assert any(software.get("torch") == "2.13.0" for software in manifest["software"])
        assert any(entry.startswith("workflow/lib/training/grpo.py@") for entry in manifest["code"])

    def test_each_result_has_a_record_and_its_code_is_kept(self, finished: Project) -> None:
        records = finished.path / "results/records"
        record = json.loads((records / "grpo/weak/seed1.json").read_text())
        assert record["settings"]["grpo"]["iterations"] == 6
        assert record["seconds"] > 0
        assert any(entry.startswith("workflow/scripts/grpo.py@") for entry in record["code"])
        runs = [json.loads(path.read_text())["settings"] for path in records.glob("[sg]*/*/*.json")]
        assert len({(run["seed"], run["run"]) for run in runs}) == len(runs) == 10
        for entry in record["code"]:
            source = finished.path / entry.partition("@")[0]
            assert (records / "code" / entry).read_text() == source.read_text()

    def test_nothing_is_left_half_written(self, finished: Project) -> None:
        assert not list(finished.path.rglob("*.part"))

    def test_other_cores_and_another_day_give_the_same_bytes(
        self, finished: Project, project: Project
    ) -> None:
        environment = {"TZ": "Asia/Shanghai", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
        done = project.snakemake(cores=1, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        assert project.results() == finished.results()
        assert "12 not applicable" in done.stdout
        following = "Next:     snakemake --report report.html --configfile smoke.yaml"
        assert following in done.stdout

    def test_an_interrupted_run_goes_on_to_the_same_bytes(
        self, finished: Project, project: Project
    ) -> None:
        """Ctrl-C while GRPO runs, then the ordinary command again."""
        running = project.start()
        deadline = time.monotonic() + 300
        while not list((project.path / "results").glob("logs/grpo/**/*.log")):
            assert running.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(60) != 0
        done = project.snakemake()
        assert done.returncode == 0, done.stdout + done.stderr
        assert project.results() == finished.results()
        assert not list(project.path.rglob("*.part"))

    def test_a_failing_job_shows_its_log(self, finished: Project, tmp_path: Path) -> None:
        project = finished.copy(tmp_path / "project")
        content = b"no checkpoint"
        (project.path / "results/sft/q0.3/seed1.pt").write_bytes(content)
        record = project.path / "results/records/sft/q0.3/seed1.json"
        made = json.loads(record.read_text())
        made["sha256"]["results/sft/q0.3/seed1.pt"] = hashlib.sha256(content).hexdigest()
        record.write_text(json.dumps(made))
        done = project.snakemake("--forcerun", "grpo", "--", "results/grpo/weak/seed1.csv")
        assert done.returncode != 0
        output = done.stdout + done.stderr
        assert "results/sft/q0.3/seed1.pt is no checkpoint" in output


def overlay(project: Project, text: str) -> subprocess.CompletedProcess[str]:
    """A dry run with a configuration of the user's own laid over the smoke study."""
    (project.path / "mine.yaml").write_text(text)
    return project.snakemake("mine.yaml", "--dry-run")


BAD = {
    "seeds: [1, 1]": ["seeds", "1 is listed twice"],
    "seeds: one": ["seeds", "'one' is not a list"],
    "grpo: {num_generations: 1}": ["grpo.num_generations", "1", "2"],
    "grpo: {minibatch_size: 5}": ["minibatch_size 5", "does not divide"],
    "grpo: {num_generatoins: 4}": ["num_generatoins", "did you mean 'num_generations'?"],
    "experiments: {../x: {teacher_correctness: 0.1}}": ["'../x'", "no name for an experiment"],
    "experiments: {cold: null}": ["fig3_cold_start", "'cold'", "'experiments'"],
    "figures: [fig1_rlvr_overturns]": ["figures", "is called 'questions' now"],
    "experiments: {weak: {save_policy: true}}": ["save_policy", "every run keeps"],
    "questions: [fig4_cold_start_dat]": ["did you mean 'fig4_cold_start_data'?"],
    "questions: []": ["nothing to run"],
    "device: tpu": ["device", "'tpu'", "auto, cpu, cuda"],
    "grpo: {beta: 0, beta: 1}": ["mine.yaml", "the key 'beta' stands in line 1"],
    "grpo: {beta: .nan}": ["grpo.beta", "nan is not a finite number"],
    "seeds: &a [*a]": ["seeds", "nested"],
    f"seeds: [0x{'f' * 5000}]": ["seeds.0", "too large"],
    "seeds:\n\t- 1": ["YAML"],
    "seeds: [010, 011]": ["mine.yaml, line 1", "takes '010' for 8"],
    "seeds: [1:30]": ["mine.yaml, line 1", "takes '1:30' for 90"],
    "seeds: [07, 08, 09]": ["mine.yaml, line 1", "takes '07' for 7"],
    "seeds: [08]": ["'08' is not a whole number but text", "written 8"],
}


def contents(project: Project) -> dict[Path, bytes]:
    """All files but Snakemake's own."""
    files = [path for path in project.path.rglob("*") if path.is_file()]
    return {path: path.read_bytes() for path in files if ".snakemake" not in path.parts}


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:40])
def test_a_bad_setting_ends_before_anything_runs(text: str, project: Project) -> None:
    before = contents(project)
    done = overlay(project, text)
    assert done.returncode != 0
    output = (done.stdout + done.stderr).strip()
    message = [line for line in output.splitlines() if not line.startswith("Using")]
    assert len(message) <= 3, output
    for part in BAD[text]:
        assert part in output
    assert "Traceback" not in output
    after = contents(project)
    assert after.pop(project.path / "mine.yaml") == text.encode()
    assert {path: text for path, text in after.items() if "__pycache__" not in path.parts} == before


def test_a_figure_without_its_experiment_is_named(project: Project) -> None:
    (project.path / "mine.yaml").write_text(
        "experiments: {weak: null}\nquestions: [fig2_unhackable_reward]"
    )
    figure = "results/figures/fig1_rlvr_overturns.pdf"
    done = project.snakemake("mine.yaml", "--dry-run", "--", figure)
    assert done.returncode != 0
    output = done.stdout + done.stderr
    assert f"No rule to produce {figure}" in output
    assert "Traceback" not in output


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_cuda_where_there_is_none_ends_before_anything_runs(project: Project) -> None:
    done = overlay(project, "device: cuda")
    assert done.returncode != 0
    assert "no CUDA GPU can be used here" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(("gpu", "said"), [(1, "gpu=1"), (0, "gives training no GPU")])
def test_what_is_said_of_gpus_goes_before_what_is_here(
    gpu: int, said: str, project: Project
) -> None:
    """As on a cluster, where jobs have GPUs and the machine that submits them often has none."""
    told = [f"{rule}:gpu={gpu}" for rule in ("train_sft", "grpo")]
    (project.path / "mine.yaml").write_text("device: cuda")
    done = project.snakemake("mine.yaml", "--dry-run", "--set-resources", *told)
    output = done.stdout + done.stderr
    assert (done.returncode == 0) == (gpu == 1), output
    assert said in output and "Traceback" not in output


def test_more_seeds_and_experiments_need_no_code(project: Project) -> None:
    text = "seeds: [7]\nexperiments: {mine: {teacher_correctness: 0.1, beta: 0.05, iterations: 4}}"
    done = overlay(project, text)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "GRPO of seed 7, experiment mine" in done.stdout
    assert "SFT of seed 7 on a teacher that is right with probability 0.1" in done.stdout


def test_weak_and_long_share_a_checkpoint_and_the_study_has_15_training_jobs() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--dry-run", "--forceall", "--quiet", "rules"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    counts = dict(re.findall(r"^(\w+)\s+(\d+)$", done.stdout, flags=re.MULTILINE))
    assert counts["train_sft"] == "6" and counts["grpo"] == "9"


def test_a_gpu_is_used_only_where_there_is_one_and_it_is_wanted() -> None:
    """As far as it can be told without a GPU: with two pretended."""
    script = (
        "import workflow.lib.training.device as h, json;"
        "none = [h.uses_gpu('auto'), h.uses_gpu('cpu')];"
        "h.cuda_device_count = lambda: 2;"
        "print(json.dumps([none, [h.uses_gpu('auto'), h.uses_gpu('cuda'), h.uses_gpu('cpu')]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    without, with_two = json.loads(done.stdout)
    if not torch.cuda.is_available():
        assert without == [False, False]
    assert with_two == [True, True, False]


def rules() -> dict[str, str]:
    """The text of every rule, by its name or, in a loop, by its file's."""
    texts = {}
    for file in sorted((ROOT / "workflow/rules").glob("*.smk")):
        parts = re.split(r"^ *rule *(\w*):$", file.read_text(), flags=re.MULTILINE)
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            texts[name or file.stem] = body
    return texts


def test_every_rule_is_filled_in_like_a_form() -> None:
    wanted = {"output", "log", "message", "threads", "resources", "conda", "params", "script"}
    training = {"train_sft", "train_reward", "grpo"}
    filled = {}
    for name, body in rules().items():
        filled[name] = set(re.findall(r"^    (?:    )?(\w+):", body, flags=re.MULTILINE))
        assert wanted <= filled[name], f"rule {name} lacks {wanted - filled[name]}"
        assert ("gpu=GPUS_PER_JOB" in body) == (name in training)
        assert ("benchmark" in filled[name]) == (name in training)
    assert {*training, "questions", "plot_curves", "collect_claims", "manifest"} <= set(filled)


def test_one_param_says_all_of_a_job_with_names() -> None:
    """Snakemake compares params as a set of values, so that two of them could swap places."""
    for name, body in rules().items():
        [params] = re.findall(r"params:\n(.*?)\n +message:", body, flags=re.DOTALL)
        first, *others = params.splitlines()
        assert re.fullmatch(r" +job=[^=].*", first), name
        depth = len(first) - len(first.lstrip())
        assert not [line for line in others if re.match(rf" {{{depth}}}\w", line)], name


def test_a_rules_fingerprint_is_of_the_script_that_it_runs(finished: Project) -> None:
    for name, body in rules().items():
        [script] = re.findall(r'script:\n +f?"\.\./(.*)\.py"', body)
        if name == "questions":
            assert script == "questions/{question}"
        else:
            [kind] = re.findall(r'job=made_by\("(\w+)"', body)
            jobs = (ROOT / "workflow/rules/jobs.smk").read_text()
            [of_kind] = re.findall(
                rf'"{kind}": (.*?)(?=\n    "|\n}})', jobs.split("JOBS = ")[1], re.S
            )
            function = re.match(r"\w+_job", of_kind)
            text = jobs.split(f"def {function[0]}(")[1] if function else of_kind
            fingerprinted = re.findall(r'job\(\s*"([\w.]+)"', text)[0]
            assert script == fingerprinted.replace(".", "/")
    for path in (finished.path / "results/records/questions").glob("*.json"):
        code = json.loads(path.read_text())["code"]
        assert any(entry.startswith(f"workflow/questions/{path.stem}.py@") for entry in code)


PLAN = """
import sys
from snakemake.cli import main
try:
    main([*sys.argv[1:], "--dry-run", "--quiet", "all"])
except SystemExit as end:
    assert not end.code
found = {"torch", "matplotlib"} & set(sys.modules)
assert not found, f"planning imported {found}"
"""


def test_planning_imports_neither_torch_nor_matplotlib() -> None:
    command = [sys.executable, "-c", PLAN, "--cores", "1", "--config", "questions=all"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
