"""One look: fonts, titles, legends, and a file that is the same bytes every time."""

import os
import subprocess
import sys
from pathlib import Path

import matplotlib
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

from workflow.lib.drawing import colours, look
from workflow.lib.jobs.fingerprint import digest
from workflow.lib.study.runs import Frames

ROOT = Path(__file__).parents[3]


def frames(*seeds: int) -> Frames:
    return {seed: pd.DataFrame({"iteration": [1.0, 5.0], "kl": [0.0, seed]}) for seed in seeds}


@look.look()
def a_figure(title: str = "A title", seeds: tuple[int, ...] = (1, 2)) -> Figure:
    """A plain one, in the look of all."""
    figure, panels = look.new_figure(look.DOUBLE, title, [frames(*seeds)], columns=2)
    for axes in panels:
        axes.plot([1, 5], [0, 1], color=colours.BLUE, label="a line")
        look.label_axes(axes, "iteration", "kl", look.FRACTION)
    look.add_legend(figure, frames(*seeds))
    return figure


def test_only_installed_fonts_are_asked_for() -> None:
    assert look.serif_fonts({"DejaVu Serif", "Arial"}) == ["DejaVu Serif"]
    both = ["Times New Roman", "DejaVu Serif"]
    assert look.serif_fonts(set(both)) == both


def test_a_machine_without_fonts_will_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = matplotlib.get_data_path()
    fonts = [font for font in fontManager.ttflist if font.fname.startswith(own)]
    monkeypatch.setattr(fontManager, "ttflist", fonts)
    look.save(a_figure("β ± −"), tmp_path / "figure.pdf", "title", {}, [])
    assert caplog.records == []


def test_drawing_leaves_no_setting_changed(tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    look.save(a_figure(), tmp_path / "figure.pdf", "title", {}, [])
    assert dict(matplotlib.rcParams) == before


def test_frames_are_open_and_grids_behind_the_curves() -> None:
    for axes in a_figure().axes:
        visible = {side for side, spine in axes.spines.items() if spine.get_visible()}
        assert visible == {"left", "bottom"}
        assert axes.get_axisbelow() is True


def test_titles_count_the_seeds() -> None:
    assert a_figure().get_suptitle() == "A title (2 seeds)"
    assert a_figure(seeds=(7,)).get_suptitle() == "A title (1 seed)"


def test_experiments_in_one_figure_share_their_seeds() -> None:
    assert look.count_seeds(frames(1, 2), frames(2, 1)) == "2 seeds"
    with pytest.raises(ValueError, match=r"seeds \[1, 2\] with seeds \[1, 3\]"):
        look.new_figure(look.SINGLE, "A title", [frames(1, 2), frames(1, 3)])


def test_panels_come_row_by_row() -> None:
    figure, panels = look.new_figure((5, 4), "A title", [frames(1)], rows=2, columns=3)
    assert tuple(figure.get_size_inches()) == (5, 4)
    places = [axes.get_subplotspec() for axes in panels]
    assert [(p.rowspan.start, p.colspan.start) for p in places if p] == [
        *((0, 0), (0, 1), (0, 2)),
        *((1, 0), (1, 1), (1, 2)),
    ]


def test_axes_are_named_after_what_they_show() -> None:
    left, right = a_figure().axes
    for axes in (left, right):
        assert axes.get_xlabel() == "GRPO iteration"
        assert axes.get_ylabel() == "KL to the SFT reference (nats)"
        assert axes.get_ylim() == (-0.05, 1.05)
    look.label_axes(right, "Teacher correctness q", "In words", title="Panel")
    assert (right.get_xlabel(), right.get_ylabel()) == ("Teacher correctness q", "In words")
    assert right.get_title() == "Panel"


def test_iterations_are_whole_numbers() -> None:
    [axes, _] = a_figure().axes
    axes.set_xlim(0, 3)
    assert all(tick == int(tick) for tick in axes.get_xticks())


def test_the_legend_says_a_thing_once_and_what_bands_are() -> None:
    [legend] = a_figure().legends
    assert [text.get_text() for text in legend.get_texts()] == ["a line"]
    assert legend.get_title().get_text() == "mean ± 1 s.d. over seeds"
    [legend] = a_figure(seeds=(1,)).legends
    assert legend.get_title().get_text() == "one seed"


def test_the_legend_stays_clear_of_the_axes(tmp_path: Path) -> None:
    figure = a_figure()
    look.save(figure, tmp_path / "figure.pdf", "title", {}, [])  # lays the figure out
    legend = figure.legends[0].get_window_extent()
    assert not any(legend.overlaps(axes.get_window_extent()) for axes in figure.axes)


def test_eight_experiments_have_eight_colours() -> None:
    assert len(set(colours.PALETTE)) == 8
    assert {colours.BLUE, colours.RED, colours.GREY} < set(colours.PALETTE)


# The file


def test_fonts_are_embedded_as_type_42(tmp_path: Path) -> None:
    path = tmp_path / "figure.pdf"
    look.save(a_figure("β"), path, "title", {}, [])
    content = path.read_bytes()
    assert b"/FontFile2" in content and b"/CIDFontType2" in content
    assert b"/Type3" not in content


def test_the_properties_name_title_settings_and_code(tmp_path: Path) -> None:
    path = tmp_path / "figure.pdf"
    settings, code = {"beta": 0}, ["workflow/lib/drawing/look.py@0123456789ab"]
    look.save(Figure(), path, "A title", settings, code)
    content = path.read_bytes()
    assert b"/Title (A title)" in content
    assert f"/Subject (settings {digest(settings)})".encode() in content
    assert f"/Keywords (code {digest(code)})".encode() in content
    assert b"Date" not in content
    assert matplotlib.__version__.encode() not in content


def test_a_figure_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "figure.pdf"
    path.write_text("an older one")
    figure = Figure()
    figure.text(0.5, 0.5, "$\\nonsense$")
    with pytest.raises(ValueError, match="nonsense"):
        look.save(figure, path, "A title", {}, [])
    assert [file.read_text() for file in tmp_path.iterdir()] == ["an older one"]


def test_the_same_figure_is_the_same_bytes_whatever_the_readers_settings(tmp_path: Path) -> None:
    first, second = tmp_path / "first.pdf", tmp_path / "second.pdf"
    look.save(a_figure(), first, "title", {}, [])
    with matplotlib.rc_context({"lines.linewidth": 9, "pdf.fonttype": 3, "axes.grid": False}):
        look.save(a_figure(), second, "title", {}, [])
    assert first.read_bytes() == second.read_bytes()


ELSEWHERE = """
import sys
from tests.unit.drawing.test_look import a_figure, look
look.save(a_figure(), sys.argv[1], 'β', {}, [])
"""


def test_the_same_figure_is_the_same_bytes_at_another_time_and_place(tmp_path: Path) -> None:
    here, there = tmp_path / "here.pdf", tmp_path / "there.pdf"
    look.save(a_figure(), here, "β", {}, [])
    (tmp_path / "matplotlibrc").write_text("axes.grid: False\nfont.size: 30\npdf.fonttype: 3\n")
    elsewhere = {
        "TZ": "Pacific/Kiritimati",
        "LC_ALL": "C",
        "PYTHONHASHSEED": "7",
        "SOURCE_DATE_EPOCH": "4000000000",
        "MATPLOTLIBRC": str(tmp_path),
    }
    subprocess.run(
        [sys.executable, "-c", ELSEWHERE, there],
        cwd=ROOT,
        env={**os.environ, **elsewhere},
        check=True,
    )
    assert here.read_bytes() == there.read_bytes()
