"""The page to explore, in a browser: on a screen of a desk and on one of a phone."""

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.pipeline.browser import Page, chromium
from tests.pipeline.conftest import Project
from tests.pipeline.test_report import check_nothing_from_outside, needs_chromium

POINT = """(() => {
    const plot = document.getElementById("plot-accuracy");
    plot.scrollIntoView({block: "center"});
    const {xaxis, yaxis} = plot._fullLayout, box = plot.getBoundingClientRect();
    return [box.left + xaxis._offset + xaxis.d2p(%s), box.top + yaxis._offset + yaxis.d2p(%s)];
})()"""
"""Where on the screen a value of the accuracy is."""


def choose(page: Page, *values: str) -> None:
    """Click on boxes."""
    for value in values:
        page.ask(f"document.querySelector('input[value={json.dumps(value)}]').click()")


def drawn(page: Page) -> dict[str, list[str]]:
    """The plots on the page, and the lines that are visible in each."""
    return page.ask(
        "Object.fromEntries([...document.querySelectorAll('.plot:not([hidden])')].map(plot => "
        "[plot.id.slice(5), plot.data.filter(t => t.visible && t.name).map(t => t.name)]))"
    )


@needs_chromium
@pytest.mark.parametrize(("width", "height", "phone"), [(1440, 900, False), (390, 844, True)])
def test_a_reader_explores(
    width: int, height: int, phone: bool, tmp_path: Path, finished: Project
) -> None:
    with chromium(tmp_path / "profile") as page:
        screen = {"width": width, "height": height, "mobile": phone, "deviceScaleFactor": 1}
        page.command("Emulation.setDeviceMetricsOverride", **screen)
        page.command("Emulation.setTouchEmulationEnabled", enabled=phone)
        page.open(finished.path / "results/explore.html")
        page.wait_for("document.querySelectorAll('.plot .main-svg').length")

        means = ["weak, mean", "long, mean", "cold, mean"]
        assert drawn(page) == {"accuracy": means, "accuracy_carry": means}
        assert page.ask("document.documentElement.scrollWidth") <= width
        plot = page.ask("document.querySelector('.main-svg').getBoundingClientRect().width")
        assert plot > 300

        choose(page, "accuracy_carry", "kl", "cold", "seeds")
        lines = [f"{name}, {n}" for name in ("weak", "long") for n in ("seed 1", "seed 2", "mean")]
        assert drawn(page) == {"accuracy": lines, "kl": lines}

        page.click("none")
        assert drawn(page) == {"accuracy": [], "kl": []}
        choose(page, "weak", "kl", "mean", "band")
        assert drawn(page) == {"accuracy": ["weak, seed 1", "weak, seed 2"]}
        second = pd.read_csv(finished.path / "results/grpo/weak/seed2.csv").iloc[1]
        x, y = page.ask(POINT % (second.iteration, second.accuracy))
        page.command("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        page.wait_for("document.querySelector('#plot-accuracy .hovertext') !== null")
        value = page.ask("document.querySelector('#plot-accuracy .hoverlayer').textContent")
        assert f"iteration {second.iteration:.0f}: {second.accuracy:.4f}" in value
        check_nothing_from_outside(page)
