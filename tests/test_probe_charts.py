import json
import subprocess
import sys
from itertools import pairwise

import polars as pl
import pytest
from checkpoints import REPOSITORY

from headscope.charts import theme
from headscope.charts.labels import spread
from headscope.charts.probe_curve import BASELINES, HEIGHT, PROBES, probe_curve
from headscope.charts.probe_weights import STRONGEST, probe_weights
from headscope.probes.tables import CURVE, TABLE3, WEIGHTS

TO_HEAD, TO_DEPENDENT = "dependent_to_head", "head_to_dependent"
HOSTILE = '</script><script>alert("x")</script>'
NAN = float("nan")


def weights_of(layers, heads, probes=("attention", "attention+words"), deviation=0.25):
    """Layer l, head h: w is 10 l + h, the odd heads' below 0; u is half of it; with words, both are a tenth."""
    rows = []
    for probe in probes:
        for direction, share in ((TO_HEAD, 1), (TO_DEPENDENT, 0.5)):
            for layer in range(1, layers + 1):
                for head in range(1, heads + 1):
                    weight = (10 * layer + head) * share * (-1) ** head / (10 if "words" in probe else 1)
                    rows.append((probe, layer, head, direction, weight, deviation))
    return pl.DataFrame(rows, WEIGHTS, orient="row")


def curve_of(points, probe="attention", sd=0.01):
    """Rows of `probes/curve`: every interval is the UAS ± 0.02."""
    rows = [(probe, trained, uas, sd, uas - 0.02, uas + 0.02, uas + 0.05, sd, 5) for trained, uas in points.items()]
    return pl.DataFrame(rows, CURVE, orient="row")


def baselines(**scores):
    rows = [
        dict.fromkeys(TABLE3) | {"probe": probe.replace("_", " " if "best" in probe else "-"), "uas": uas}
        for probe, uas in scores.items()
    ]
    return pl.DataFrame(rows, TABLE3)


LEVELS = baselines(right_branching=0.26, best_offset=0.3)
CURVES = pl.concat(
    [
        curve_of({100: 0.5, 1000: 0.55, 4000: 0.6}),
        curve_of({100: 0.48, 1000: 0.6, 4000: 0.7}, "attention+words"),
    ]
)


def rows_of(chart):
    """The rows that a chart draws, all its data sets together."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def files(folder, name="chart"):
    return {ending: folder / f"{name}.{ending}" for ending in ("html", "svg", "png")}


def panels(weights):
    """The panels by (number of the row, direction), with the rows that each draws."""
    chart = probe_weights(weights, "m", "t").to_dict()
    return {
        (number, panel["title"]["text"]): (panel, chart["datasets"][panel["data"]["name"]])
        for number, row in enumerate(chart["vconcat"])
        for panel in row["hconcat"]
    }


def colour_domain(panel):
    return panel["layer"][0]["encoding"]["color"]["scale"]["domain"]


def test_every_weight_stands_in_the_panel_of_its_probe_and_direction():
    found = {key: {row["name"]: row["weight"] for row in rows} for key, (_, rows) in panels(weights_of(2, 3)).items()}
    assert found[0, "Dependent to head (w)"] == {"1-1": -11, "1-2": 12, "1-3": -13, "2-1": -21, "2-2": 22, "2-3": -23}
    assert found[0, "Head to dependent (u)"]["2-2"] == 11
    assert found[1, "Dependent to head (w)"]["2-2"] == pytest.approx(2.2)
    assert found[1, "Head to dependent (u)"]["1-3"] == pytest.approx(-0.65)
    assert len(found) == 4


def test_both_maps_of_a_probe_share_a_scale_with_zero_in_the_middle():
    domains = {key: colour_domain(panel) for key, (panel, _) in panels(weights_of(2, 3)).items()}
    assert domains[0, "Dependent to head (w)"] == domains[0, "Head to dependent (u)"] == [-23, 23]
    assert domains[1, "Dependent to head (w)"] == pytest.approx([-2.3, 2.3])
    chart = probe_weights(weights_of(2, 3), "m", "t").to_dict()
    assert chart["resolve"] == {"scale": {"color": "independent"}}


def test_the_middle_colour_is_the_palest_and_both_sides_darken():
    def light(colour):
        return sum(int(colour[start : start + 2], 16) * share for start, share in ((1, 0.3), (3, 0.59), (5, 0.11)))

    lights = [light(colour) for colour in theme.DIVERGING]
    middle = len(lights) // 2
    assert lights[: middle + 1] == sorted(lights[: middle + 1])
    assert lights[middle:] == sorted(lights[middle:], reverse=True)
    assert len(lights) % 2 == 1


def test_the_strongest_heads_of_either_sign_are_named_and_outlined():
    panel, rows = panels(weights_of(2, 3))[0, "Dependent to head (w)"]
    assert panel["title"]["subtitle"] == ["2-3 (−23.00), 2-2 (+22.00), 2-1 (−21.00),", "1-3 (−13.00), 1-2 (+12.00)"]
    assert {row["name"] for row in rows if row["strong"]} == {"2-3", "2-2", "2-1", "1-3", "1-2"}
    assert STRONGEST == 5
    outline = panel["layer"][1]
    assert outline["transform"] == [{"filter": "datum.strong"}]


def test_a_weight_comes_with_its_deviation_where_there_are_several_runs():
    for deviation, shown in ((0.25, "+12.00 ± 0.25"), (None, "+12.00")):
        _, rows = panels(weights_of(2, 3, deviation=deviation))[0, "Dependent to head (w)"]
        assert {row["name"]: row["shown"] for row in rows}["1-2"] == shown
    panel, _ = panels(weights_of(2, 3))[0, "Head to dependent (u)"]
    tips = {tip["field"]: tip["title"] for tip in panel["layer"][0]["encoding"]["tooltip"]}
    assert tips == {"name": "Head", "way": "Direction", "shown": "Weight"}


def test_weights_say_whose_they_are_and_where_words_come_in():
    chart = probe_weights(weights_of(1, 2), "my-model", "my-train")
    assert chart.title.subtitle[0] == "my-model, learned from my-train; the mean over the runs"
    assert "logits" in chart.title.subtitle[1]
    titles = [row["title"]["text"] for row in chart.to_dict()["vconcat"]]
    assert titles == ["Attention", "Attention + words, at the mean word vector"]


def test_probes_come_in_one_order_and_those_that_are_not_there_are_left_out():
    table = weights_of(2, 2)
    reordered = probe_weights(table.reverse(), "m", "t").to_dict()
    assert reordered == probe_weights(table, "m", "t").to_dict()
    alone = probe_weights(table.filter(probe="attention+words"), "m", "t")
    assert [row["title"]["text"] for row in alone.to_dict()["vconcat"]] == [
        "Attention + words, at the mean word vector"
    ]


@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (24, 16)])
def test_models_of_any_size_are_drawn(tmp_path, layers, heads):
    theme.save(probe_weights(weights_of(layers, heads, ("attention",)), "m", "t"), **files(tmp_path))
    drawing = files(tmp_path)["svg"].read_text("utf-8")
    assert drawing.count("Direction: dependent to head; Weight:") >= layers * heads
    assert f"Head: {heads}; Layer: {layers};" in drawing


def test_the_curve_has_every_point_with_its_interval():
    rows = [row for row in rows_of(probe_curve(CURVES, LEVELS, "m", "c", "t")) if "x" in row and "trained" in row]
    points = {(row["name"], row["trained"]): row for row in rows if "label" not in row}
    assert len(points) == 6
    assert points["Attention", 1000]["uas"] == 0.55
    assert points["Attention + words", 4000]["uas_low"] == pytest.approx(0.68)
    layers = probe_curve(CURVES, LEVELS, "m", "c", "t").to_dict()["layer"]
    ends = [(layer["encoding"]["y"]["field"], layer["encoding"].get("y2", {}).get("field")) for layer in layers]
    assert ("uas_low", "uas_high") in ends


def test_points_at_the_same_number_of_sentences_stand_beside_each_other_around_it():
    places = {}
    for row in rows_of(probe_curve(CURVES, LEVELS, "m", "c", "t")):
        if row.get("trained") and "label" not in row:
            places.setdefault(row["trained"], []).append(row["x"])
    for trained, (one, other) in places.items():
        assert one != other
        assert one * other == pytest.approx(trained**2)  # alike on both sides, on a log axis
        assert max(one, other) / trained < 1.1


def axis_of(chart):
    return next(
        layer["encoding"]["x"] for layer in chart.to_dict()["layer"] if "axis" in layer["encoding"].get("x", {})
    )


def test_the_axis_of_sentences_is_logarithmic_and_shows_the_numbers_that_have_room():
    axis = axis_of(probe_curve(CURVES, LEVELS, "m", "c", "t"))
    assert axis["scale"]["type"] == "log"
    assert axis["axis"]["values"] == [100, 1000, 4000]
    close = axis_of(probe_curve(curve_of({100: 0.5, 10000: 0.6, 12543: 0.6}), LEVELS, "m", "c", "t"))
    assert close["axis"]["values"] == [100, 12543], "of two that overlap the larger, which is the whole corpus"


def test_a_single_number_of_sentences_is_drawn(tmp_path):
    chart = probe_curve(curve_of({250: 0.5}, sd=None), LEVELS, "m", "c", "t")
    axis = axis_of(chart)
    assert axis["axis"]["values"] == [250]
    low, high = axis["scale"]["domain"]
    assert low < 250 < high
    theme.save(chart, **files(tmp_path))
    assert "Attention 50.0 %" in files(tmp_path)["svg"].read_text("utf-8")


def test_lines_and_baselines_have_their_last_value_as_label():
    labels = {row["label"] for row in rows_of(probe_curve(CURVES, LEVELS, "m", "c", "t")) if "label" in row}
    assert labels == {
        "Attention 60.0 %",
        "Attention + words 70.0 %",
        "Right-branching 26.0 %",
        "Best fixed offset 30.0 %",
    }


@pytest.mark.parametrize("scores", [{}, {"right_branching": 0.26}, {"best_offset": None, "right_branching": NAN}])
def test_a_baseline_without_a_number_is_left_out(tmp_path, scores):
    chart = probe_curve(CURVES, baselines(**scores), "m", "c", "t")
    labels = [row["label"] for row in rows_of(chart) if "label" in row]
    assert len(labels) == 2 + ("best_offset" not in scores and len(scores))
    theme.save(chart, **files(tmp_path))
    assert "NaN" not in files(tmp_path)["svg"].read_text("utf-8")


def test_labels_of_equal_lines_do_not_overlap_and_keep_their_order():
    table = baselines(right_branching=0.29, best_offset=0.3)
    places = {
        row["label"]: row["label_at"] for row in rows_of(probe_curve(CURVES, table, "m", "c", "t")) if "label" in row
    }
    assert (places["Best fixed offset 30.0 %"] - places["Right-branching 29.0 %"]) * HEIGHT > 10
    assert places["Attention 60.0 %"] == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("heights", "expected"),
    [
        ([], []),
        ([5], [5]),
        ([0, 30, 60], [0, 30, 60]),
        ([10, 10], [5, 15]),
        ([12, 10], [16, 6]),
        ([0, 5, 10], [-5, 5, 15]),
        ([50, 0, 4, 50, 50], [40, -3, 7, 50, 60]),
        ([0, 9, 19, 100], [-0.667, 9.333, 19.333, 100]),
    ],
)
def test_labels_move_apart_as_little_as_they_must(heights, expected):
    placed = spread(heights, gap=10)
    assert placed == pytest.approx(expected, abs=1e-3)
    assert all(after - before > 9.999 for before, after in pairwise(sorted(placed)))


def test_lines_differ_in_dash_and_those_of_probes_in_colour_and_symbol():
    assert len({str(dash) for _, _, dash in (PROBES | BASELINES).values()}) == 4
    assert len({colour for colour, _, _ in PROBES.values()}) == len({symbol for _, symbol, _ in PROBES.values()}) == 2


def test_the_curve_says_what_was_learned_from_and_scored_on():
    subtitle = probe_curve(CURVES, LEVELS, "my-model", "my-test", "my-train").title.subtitle
    assert subtitle[0] == "my-model, learned from my-train, scored on my-test"
    assert "without punctuation" in subtitle[1]


def test_probes_that_are_not_there_still_give_files(tmp_path):
    missing = curve_of({100: 0.5}).with_columns(uas=pl.lit(NAN))
    for chart in (
        probe_curve(CURVES.clear(), LEVELS, "m", "c", "t"),
        probe_curve(missing, LEVELS, "m", "c", "t"),
        probe_weights(weights_of(1, 1).clear(), "m", "t"),
        probe_weights(weights_of(2, 2).with_columns(weight=pl.lit(0.0)), "m", "t"),
    ):
        theme.save(chart, **files(tmp_path))
        assert files(tmp_path)["png"].read_bytes().startswith(b"\x89PNG")
    assert [row["sentence"] for row in rows_of(probe_curve(missing, LEVELS, "m", "c", "t"))] == [
        "No probe over attention was learned."
    ]


def test_hostile_names_stay_text_in_the_figures(tmp_path):
    levels = LEVELS.with_columns(features=pl.lit("<img src=x>"))
    for chart in (
        probe_curve(CURVES, levels, HOSTILE, "<i>", "<b>"),
        probe_weights(weights_of(2, 2), HOSTILE, "<b>"),
    ):
        theme.save(chart, **files(tmp_path))
        page, drawing = (files(tmp_path)[ending].read_text("utf-8") for ending in ("html", "svg"))
        start = page.index('id="specification">') + len('id="specification">')
        specification = page[start : page.index("</script>", start)]
        assert "<" not in specification
        assert HOSTILE in json.dumps(json.loads(specification)).replace('\\"', '"')
        for tag in ("<script", "<img", "<i>", "<b>"):
            assert tag not in drawing


def test_probes_are_shown_without_torch():
    for module in ("charts.probe_weights", "charts.probe_curve", "probes.table3"):
        code = f"import sys, headscope.{module}; sys.exit('torch' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY / "scripts", check=False).returncode == 0


def test_scripts_write_what_they_name(tmp_path):
    import draw_probe_curve
    import draw_probe_weights

    for name, table in {"weights": weights_of(2, 2), "curve": CURVES, "table3": LEVELS}.items():
        table.write_parquet(tmp_path / f"{name}.parquet")
    draw_probe_weights.main(tmp_path / "weights.parquet", None, **files(tmp_path, "w"), model="m", train="my-train")
    draw_probe_curve.main(
        tmp_path / "curve.parquet",
        tmp_path / "table3.parquet",
        None,
        **files(tmp_path, "c"),
        model="m",
        corpus="c",
        train="t",
    )
    for name in ("w", "c"):
        assert all(path.stat().st_size > 1000 for path in files(tmp_path, name).values())
    assert "m, learned from my-train;" in files(tmp_path, "w")["svg"].read_text("utf-8")
