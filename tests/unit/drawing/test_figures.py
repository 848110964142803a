"""The figures look as the chapter's do, say what they show, and are the same bytes every time."""

import os
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from workflow.lib.drawing import colours as colours_of
from workflow.lib.drawing import figures
from workflow.lib.jobs.fingerprint import digest

pytestmark = pytest.mark.filterwarnings("error")

BLUE, RED, GREY = "#2166ac", "#d6604d", "#808080"


def metrics(seed, last=300):
    """The metrics of one run, the shape of a real one: a quick rise, with noise."""
    random = np.random.default_rng(seed)
    iteration = np.array([1, *range(5, last + 1, 5)])
    rise = 1 - np.exp(-(iteration - 1) / 10)
    return pd.DataFrame(
        {
            "iteration": iteration,
            "accuracy": 0.33 + 0.66 * rise,
            "accuracy_carry": 0.03 + 0.96 * rise,
            "reward": 0.5 + 0.49 * rise,
            "kl": rise + random.normal(0, 0.02, len(rise)),
            "frac_reward_zero_std": 0.34 + 0.6 * rise + random.normal(0, 0.02, len(rise)),
        }
    )


def run_of(seeds, last=300):
    return {seed: metrics(seed, last) for seed in seeds}


def sft_of(seeds):
    rows = [
        {"accuracy": 0.32 + 0.01 * i, "accuracy_carry": 0.02 * i, "accuracy_sampled": 0.5}
        for i in range(len(seeds))
    ]
    return {seed: pd.DataFrame([row]) for seed, row in zip(seeds, rows, strict=True)}


def draw_all(seeds=(42, 43, 44), last=300):
    weak = run_of(seeds, last)
    return {
        "overturns": figures.rlvr_overturns(weak, sft_of(seeds)),
        "unhackable": figures.unhackable_reward(run_of(seeds, 2 * last)),
        "cold": figures.cold_start(weak, run_of(seeds, last)),
    }


def colours(axes):
    return [to_hex(line.get_color()) for line in axes.lines]


def bands(axes):
    return [item for item in axes.collections if isinstance(item, PolyCollection)]


def legend_of(figure):
    [legend] = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def visible_spines(axes):
    return {side for side, spine in axes.spines.items() if spine.get_visible()}


# The arithmetic of a band


def test_band_is_one_population_standard_deviation_around_the_mean():
    curves = {
        seed: pd.DataFrame({"iteration": [1, 5, 10], "kl": kl})
        for seed, kl in {7: [0.0, 1.0, 3.0], 8: [0.0, 2.0, 3.0], 9: [0.0, 6.0, 6.0]}.items()
    }
    iteration, mean, low, high = figures.mean_and_band(curves, "kl")
    # 1, 2, 6: squared deviations 4 + 1 + 9, over n = 3.  3, 3, 6: 1 + 1 + 4, over 3.
    deviation = [0, np.sqrt(14 / 3), np.sqrt(2)]
    np.testing.assert_array_equal(iteration, [1, 5, 10])
    np.testing.assert_allclose(mean, [0, 3, 4])
    np.testing.assert_allclose(mean - low, deviation)
    np.testing.assert_allclose(high - mean, deviation)


def test_the_band_of_one_seed_has_no_width():
    curves = run_of([42])
    _, mean, low, high = figures.mean_and_band(curves, "accuracy")
    for values in (mean, low, high):
        np.testing.assert_array_equal(values, curves[42]["accuracy"])


@pytest.mark.parametrize("column", ["kl", "iteration"])
def test_a_missing_column_is_named_with_its_seed(column):
    curves = run_of([42, 43])
    curves[43] = curves[43].drop(columns=column)
    with pytest.raises(ValueError, match=f"seed 43 have no column '{column}'"):
        figures.mean_and_band(curves, "kl")


@pytest.mark.parametrize("change", [lambda frame: frame[:-1], lambda frame: frame + 1])
def test_seeds_recorded_at_other_iterations_are_not_averaged(change):
    curves = run_of([42, 43])
    curves[43] = change(curves[43])
    with pytest.raises(ValueError, match=r"'kl': seed 43 .* other iterations than seed 42"):
        figures.mean_and_band(curves, "kl")


def test_no_seeds_at_all_is_an_error():
    with pytest.raises(ValueError, match="no seed to draw 'kl'"):
        figures.mean_and_band({}, "kl")


def test_experiments_in_one_figure_share_their_seeds():
    with pytest.raises(ValueError, match=r"seeds \[1, 2\] with seeds \[1, 3\]"):
        figures.cold_start(run_of([1, 2]), run_of([1, 3]))


def test_an_sft_frame_without_its_column_is_named():
    sft = sft_of([42])
    sft[42] = sft[42].drop(columns="accuracy_carry")
    with pytest.raises(ValueError, match="seed 42 have no column 'accuracy_carry'"):
        figures.rlvr_overturns(run_of([42]), sft)


# The three figures


def test_figure_1():
    figure = draw_all()["overturns"]
    [axes] = figure.axes
    assert figure.get_suptitle() == "Verifiable reward overturns a systematic error (3 seeds)"
    assert tuple(figure.get_size_inches()) == (7.2, 4.8)
    assert axes.get_ylim() == (-0.05, 1.05)
    assert colours(axes) == [BLUE, BLUE, RED, RED]
    assert [line.get_linestyle() for line in axes.lines] == ["-", ":", "-", ":"]
    np.testing.assert_allclose(axes.lines[1].get_ydata(), 0.33)
    np.testing.assert_allclose(axes.lines[3].get_ydata(), 0.02)
    assert legend_of(figure) == [
        "GRPO, overall",
        "SFT, overall: 0.330",
        "GRPO, carry prompts",
        "SFT, carry prompts: 0.020",
    ]
    assert visible_spines(axes) == {"left", "bottom"}


def test_figure_2():
    figure = draw_all()["unhackable"]
    left, right = figure.axes
    assert figure.get_suptitle() == "β = 0, 600 iterations: nothing collapses (3 seeds)"
    assert tuple(figure.get_size_inches()) == (7.2, 4.8)
    assert left.get_ylim() == (0.25, 1.05)
    assert (colours(left), colours(right)) == ([BLUE], [GREY])
    assert "nats" in right.get_ylabel()
    assert visible_spines(left) == {"left", "bottom"}
    assert "right" in visible_spines(right)
    assert right.yaxis.get_ticks_position() == "right"
    low, high = right.get_ylim()
    assert low < right.dataLim.ymin and right.dataLim.ymax < high


def test_a_kl_of_zero_still_has_an_axis():
    curves = {seed: frame.assign(kl=0.0) for seed, frame in run_of([42, 43]).items()}
    assert figures.unhackable_reward(curves).axes[1].get_ylim() == (-0.05, 1)


def test_figure_3():
    figure = draw_all()["cold"]
    assert figure.get_suptitle() == "Cold start: all-same groups carry no gradient (3 seeds)"
    assert tuple(figure.get_size_inches()) == (10, 4.2)
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "Greedy accuracy",
        "Fraction of zero-signal groups",
    ]
    for axes in figure.axes:
        assert axes.get_ylim() == (-0.05, 1.05)
        assert colours(axes) == [BLUE, RED]
        assert visible_spines(axes) == {"left", "bottom"}
    assert legend_of(figure) == ["Weak start", "Cold start"]


@pytest.mark.parametrize("name", ["overturns", "unhackable", "cold"])
def test_every_curve_has_a_light_band_and_the_figure_says_what_it_is(name):
    figure = draw_all()[name]
    for axes in figure.axes:
        curves = [line for line in axes.lines if line.get_linestyle() == "-"]
        assert len(bands(axes)) == len(curves)
        for band, curve in zip(bands(axes), curves, strict=True):
            assert to_hex(band.get_facecolor()[0]) == to_hex(curve.get_color())
            assert band.get_alpha() <= 0.3
        assert axes.get_xlabel() or axes.get_ylabel()
    assert "mean ± 1 s.d." in figure.legends[0].get_title().get_text()


@pytest.mark.parametrize("name", ["overturns", "unhackable", "cold"])
def test_the_legend_stays_clear_of_the_axes(name, tmp_path):
    figure = draw_all(seeds=range(20))[name]
    figures.save(figure, tmp_path / "figure.pdf", "title", {}, [])  # lays the figure out
    legend = figure.legends[0].get_window_extent()
    assert not any(legend.overlaps(axes.get_window_extent()) for axes in figure.axes)


def test_one_seed_is_one_seed():
    for figure in draw_all(seeds=[42]).values():
        assert figure.get_suptitle().endswith("(1 seed)")
        assert figure.legends[0].get_title().get_text() == "one seed"


# The look


def test_only_installed_fonts_are_asked_for():
    assert figures.serif_fonts({"DejaVu Serif", "Arial"}) == ["DejaVu Serif"]
    assert figures.serif_fonts({"DejaVu Serif", "Times New Roman"}) == [
        "Times New Roman",
        "DejaVu Serif",
    ]


@pytest.mark.parametrize(("seeds", "last"), [(1, 0), (2, 10), (1, 300), (3, 300), (20, 300)])
def test_drawing_and_saving_warn_of_nothing(seeds, last, tmp_path, caplog):
    for name, figure in draw_all(range(seeds), last).items():
        figures.save(figure, tmp_path / f"{name}.pdf", name, {}, [])
    assert caplog.records == []


def test_a_machine_without_fonts_will_do(tmp_path, caplog, monkeypatch):
    own = matplotlib.get_data_path()
    fonts = [font for font in figures.fontManager.ttflist if font.fname.startswith(own)]
    monkeypatch.setattr(figures.fontManager, "ttflist", fonts)
    for name, figure in draw_all().items():
        figures.save(figure, tmp_path / f"{name}.pdf", name, {}, [])
    assert caplog.records == []


def test_drawing_leaves_no_setting_changed(tmp_path):
    before = dict(matplotlib.rcParams)
    figures.save(draw_all()["cold"], tmp_path / "figure.pdf", "title", {}, [])
    assert dict(matplotlib.rcParams) == before


def test_eight_experiments_have_eight_colours():
    assert len(set(colours_of.PALETTE)) == 8
    assert {colours_of.BLUE, colours_of.RED, colours_of.GREY} < set(colours_of.PALETTE)


def test_a_metric_without_a_label_is_still_readable():
    assert figures.metric_label("kl") == "KL to the SFT reference (nats)"
    assert figures.metric_label("pass_at_8") == "Pass at 8"


# The file


@pytest.mark.parametrize("name", ["overturns", "unhackable", "cold"])
def test_fonts_are_embedded_as_type_42(name, tmp_path):
    path = tmp_path / "figure.pdf"
    figures.save(draw_all()[name], path, "title", {}, [])
    content = path.read_bytes()
    assert b"/FontFile2" in content and b"/CIDFontType2" in content
    assert b"/Type3" not in content


def test_the_properties_name_title_settings_and_code(tmp_path):
    path = tmp_path / "figure.pdf"
    settings, code = {"beta": 0}, ["workflow/lib/drawing/figures.py@0123456789ab"]
    figures.save(Figure(), path, "A title", settings, code)
    content = path.read_bytes()
    assert b"/Title (A title)" in content
    assert f"/Subject (settings {digest(settings)})".encode() in content
    assert f"/Keywords (code {digest(code)})".encode() in content
    assert b"Date" not in content
    assert matplotlib.__version__.encode() not in content


def test_a_figure_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "figure.pdf"
    path.write_text("an older one")
    figure = Figure()
    figure.text(0.5, 0.5, "$\\nonsense$")
    with pytest.raises(ValueError, match="nonsense"):
        figures.save(figure, path, "A title", {}, [])
    assert [file.read_text() for file in tmp_path.iterdir()] == ["an older one"]


def test_the_same_figure_is_the_same_bytes_whatever_the_users_settings(tmp_path):
    first, second = tmp_path / "first.pdf", tmp_path / "second.pdf"
    figures.save(draw_all()["unhackable"], first, "title", {}, [])
    with matplotlib.rc_context({"lines.linewidth": 9, "pdf.fonttype": 3, "axes.grid": False}):
        figures.save(draw_all()["unhackable"], second, "title", {}, [])
    assert first.read_bytes() == second.read_bytes()


def test_the_same_figure_is_the_same_bytes_at_another_time_and_place(tmp_path):
    here, there = tmp_path / "here.pdf", tmp_path / "there.pdf"
    figures.save(draw_all()["overturns"], here, "β", {}, [])
    code = (
        "import sys; from test_figures import draw_all, figures; "
        "figures.save(draw_all()['overturns'], sys.argv[1], 'β', {}, [])"
    )
    elsewhere = {
        "TZ": "Pacific/Kiritimati",
        "LC_ALL": "C",
        "PYTHONHASHSEED": "7",
        "SOURCE_DATE_EPOCH": "4000000000",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
    }
    subprocess.run([sys.executable, "-c", code, there], env={**os.environ, **elsewhere}, check=True)
    assert here.read_bytes() == there.read_bytes()
