"""The report: complete, self-contained, and only of results that are those of the present code."""

import base64
import csv
import io
import json
import re
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from matplotlib import image

from tests.pipeline.browser import CHROMIUM, Page, chromium
from tests.pipeline.conftest import Project
from tests.pipeline.test_reruns import planned
from workflow.lib.jobs.fingerprint import digest

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium here (Debian's package is called chromium)"
)
OFFLINE = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
FIGURES = ("fig1_rlvr_overturns", "fig2_unhackable_reward", "fig3_cold_start")
BLUE, RED, GREY = (0x21, 0x66, 0xAC), (0xD6, 0x60, 0x4D), (0x6B, 0x6B, 0x6B)


@pytest.fixture(scope="module")
def reported(finished: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the finished study with its report, as a page and as an archive."""
    project = finished.copy(tmp_path_factory.mktemp("reported") / "project")
    for name in ("report.html", "report.zip"):
        done = project.snakemake("--report", name, env=OFFLINE)
        assert done.returncode == 0, done.stdout + done.stderr
    with zipfile.ZipFile(project.path / "report.zip") as archive:
        archive.extractall(project.path / "unpacked")
    return project


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    with chromium(tmp_path / "profile") as page:
        yield page


def open_report(page: Page, file: Path) -> None:
    page.open(file)
    page.wait_for("document.querySelector('#rulegraph svg, #rulegraph canvas') !== null")


def choose(page: Page, row: str) -> None:
    """Click on the eye of a row of a list of results."""
    page.wait_for(
        "(() => { const row = [...document.querySelectorAll('nav tr')]"
        f".find(e => e.innerText.includes({json.dumps(row)}));"
        " if (row) row.querySelector('a').click(); return Boolean(row); })()"
    )


def wait_for_colour(page: Page, colour: tuple[int, int, int], pixels: int = 40) -> None:
    """Wait until so many pixels of the page have a colour: what is in a frame has been drawn."""
    deadline = time.monotonic() + 30
    while True:
        picture = image.imread(io.BytesIO(page.picture()))[..., :3] * 255
        if (np.abs(picture - np.array(colour)).max(axis=-1) < 3).sum() >= pixels:
            return
        assert time.monotonic() < deadline, f"{colour} does not show"
        time.sleep(0.2)


def check_nothing_from_outside(page: Page) -> None:
    """Nothing was asked of a network, and no script failed."""
    assert page.requests
    inside = ("file:", "data:", "blob:", "about:", "chrome-extension:", "chrome:")
    assert [url[:200] for url in page.requests if not url.startswith(inside)] == []
    assert page.errors == []


@needs_chromium
@pytest.mark.parametrize("file", ["report.html", "unpacked/report/report.html"])
def test_a_reader_walks_through_the_report(reported: Project, page: Page, file: str) -> None:
    screen = {"width": 1920, "height": 1080, "mobile": False, "deviceScaleFactor": 1}
    page.command("Emulation.setDeviceMetricsOverride", **screen)
    open_report(page, reported.path / file)
    front = page.text()
    for words in ("A verifiable reward corrects", "seeds 1, 2", "not applicable", "torch", "cpu"):
        assert words in front
    assert page.ask("document.querySelector('h1.title').getBoundingClientRect().top") >= 0

    page.click("Statistics")
    page.wait_for("document.querySelectorAll('#runtimes svg, #runtimes canvas').length")

    page.click("Figures")
    for number in ("1", "2", "3"):
        choose(page, number)
        wait_for_colour(page, BLUE)
        page.ask("app.setView({content: 'stats'})")
    page.click("Results")

    page.click("Claims")
    choose(page, "Claims and verdicts")
    wait_for_colour(page, GREY)
    page.click("Results")

    page.click("Explore")
    choose(page, "Every curve, to explore")
    wait_for_colour(page, RED, pixels=300)
    page.click("Results")

    page.click("Metrics")
    for group in ("GRPO, cold", "GRPO, long", "GRPO, weak", "SFT, q = 0", "SFT, q = 0.3"):
        assert group in page.text()
    page.click("GRPO, long")
    page.click("Results")

    page.click("Provenance")
    choose(page, "What made each result")
    page.wait_for("document.querySelector('iframe') !== null")
    check_nothing_from_outside(page)


@needs_chromium
def test_the_reports_results_are_the_results(reported: Project, page: Page) -> None:
    open_report(page, reported.path / "report.html")
    shown = page.ask("results")
    expected = {
        *(f"results/figures/{name}.pdf" for name in FIGURES),
        *(f"results/grpo/{name}/seed{s}.csv" for name in ("weak", "long", "cold") for s in (1, 2)),
        *(f"results/sft/q{q}/seed{seed}.csv" for q in ("0", "0.3") for seed in (1, 2)),
        *("results/claims.csv", "results/report/claims.html", "results/report/provenance.html"),
        "results/report/answers.html",
        "results/explore.html",
    }
    assert set(shown) == expected
    for path, entry in shown.items():
        content = base64.b64decode(entry["data_uri"].partition("base64,")[2])
        assert content == (reported.path / path).read_bytes()
        assert "<p>" in entry["caption"]
    for path in (f"results/figures/{name}.pdf" for name in FIGURES):
        assert "What this run saw" in shown[path]["caption"]
    assert shown["results/sft/q0.3/seed1.csv"]["labels"] == {"seed": "1"}


@needs_chromium
def test_every_link_of_the_provenance_leads_somewhere(reported: Project, page: Page) -> None:
    page.open(reported.path / "results/report/provenance.html")
    page.wait_for("document.querySelectorAll('section.source pre').length > 10")
    dead = page.ask(
        "[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))"
        ".filter(href => !href.startsWith('#') || !document.getElementById(href.slice(1)))"
    )
    assert dead == []
    check_nothing_from_outside(page)


def test_captions_say_what_the_claims_saw(finished: Project) -> None:
    results = finished.path / "results"
    with (results / "questions/fig2_unhackable_reward.csv").open(encoding="utf-8") as file:
        [claim] = csv.DictReader(file)
    caption = (results / "questions/fig2_unhackable_reward.rst").read_text(encoding="utf-8")
    assert f"* {claim['statement']}. *Not applicable*: {claim['observed']}." in caption


def test_provenance_holds_the_code_of_every_result(finished: Project) -> None:
    results = finished.path / "results"
    page = (results / "report/provenance.html").read_text()
    records = [json.loads(file.read_text()) for file in results.glob("records/**/*.json")]
    assert len(records) == 4 + 6 + 5 + 4
    for entry in {entry for record in records for entry in record["code"]}:
        assert f'id="{entry}"' in page
        assert (results / "records/code" / entry).exists()
    assert "<pre>This text was not kept" not in page
    assert "def train_grpo" in page
    for sha in json.loads((results / "manifest.json").read_text())["sha256"].values():
        assert sha in page
    assert str(finished.path) not in page


def test_code_is_shown_as_it_was_when_the_results_were_made(
    finished: Project, tmp_path: Path
) -> None:
    project = finished.copy(tmp_path / "project")
    file = project.path / "workflow/lib/training/grpo.py"
    file.write_text(file.read_text() + "\n# A later remark.\n")
    provenance = project.path / "results/report/provenance.html"
    before = provenance.read_text()
    provenance.unlink()
    done = project.snakemake()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "A later remark" not in provenance.read_text()
    assert provenance.read_text() == before


def test_figures_name_what_made_them(finished: Project) -> None:
    for name, title in zip(FIGURES, ("Verifiable", "An unhackable", "Cold start"), strict=True):
        pdf = (finished.path / f"results/figures/{name}.pdf").read_bytes()
        record = json.loads((finished.path / f"results/records/questions/{name}.json").read_text())
        assert f"/Title ({title}".encode() in pdf
        assert f"/Subject (settings {digest(record['settings'])})".encode() in pdf
        assert f"/Keywords (code {digest(record['code'])})".encode() in pdf
        assert not re.search(rb"/(CreationDate|ModDate)", pdf)


def test_no_report_before_the_results_exist(project: Project) -> None:
    done = project.snakemake("--report", "report.html")
    assert done.returncode != 0
    output = done.stdout + done.stderr
    assert "results/" in output and "does not exist" in output
    assert "Traceback" not in output
    assert not (project.path / "report.html").exists()


def test_no_report_of_what_the_code_would_no_longer_make(finished: Project, tmp_path: Path) -> None:
    project = finished.copy(tmp_path / "project")
    figures = project.path / "workflow/lib/drawing/look.py"
    figures.write_text(figures.read_text() + "\n\nNEW = 1\n")
    done = project.snakemake("--report", "report.html")
    assert done.returncode != 0
    output = done.stdout + done.stderr
    assert "are not what the code and the settings would make now: " in output
    for name in FIGURES:
        assert f"results/figures/{name}.pdf" in output
    assert "results/grpo" not in output and "results/sft" not in output
    assert "Traceback" not in output
    assert not (project.path / "report.html").exists()

    done = project.snakemake("--report", "report.html", "--report-after-run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (project.path / "report.html").exists()


def test_a_comment_does_not_hinder_the_report(finished: Project, tmp_path: Path) -> None:
    project = finished.copy(tmp_path / "project")
    for file in project.path.glob("workflow/lib/**/*.py"):
        file.write_text(file.read_text() + "\n# The end.\n")
    done = project.snakemake("--report", "report.html")
    assert done.returncode == 0, done.stdout + done.stderr


def test_other_words_make_only_the_pages_again(finished: Project, tmp_path: Path) -> None:
    project = finished.copy(tmp_path / "project")
    front = project.path / "workflow/report/workflow.rst"
    front.write_text(front.read_text() + "\nOne more sentence.\n")
    assert planned(project) == {"report"}
    front.write_text(front.read_text() + "\nAnd $another.\n")
    done = project.snakemake()
    assert done.returncode != 0
    assert "another" in done.stdout + done.stderr
