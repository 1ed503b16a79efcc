import numpy as np
import polars as pl
import pytest
from test_charts import BERT, drawn

from headscope.behaviours import BEHAVIOURS
from headscope.charts import divergence as matrix_chart
from headscope.charts.divergence import divergence_matrix
from headscope.charts.figure_6 import WIDTH, figure_6
from headscope.charts.labels import LETTER, LINE, place_labels
from headscope.charts.theme import save

UNIFORM = pl.DataFrame({"layer": [1, 2], "examples": [1200, 1200], "tokens": [150_000, 150_000]})
TESTS = pl.DataFrame({"within": [0.2], "between": [0.3], "p_value": [0.0123], "stress": [0.15]})
NOBODY = pl.DataFrame(schema={"layer": pl.UInt16, "head": pl.UInt16, "finding": pl.String})
KEYS = {"layer": pl.UInt16, "head": pl.UInt16}


@pytest.fixture
def heads():
    layer, head = np.indices((2, 3)).reshape(2, -1) + 1
    measures = {measure: np.linspace(0, 1, 6) for measure in BEHAVIOURS}
    return pl.DataFrame({"layer": layer, "head": head} | measures).cast(KEYS)


@pytest.fixture
def mapped():
    layer, head = np.indices((2, 3)).reshape(2, -1) + 1
    columns = {
        "layer": layer,
        "head": head,
        "x": [-0.3, -0.1, 0.0, 0.1, 0.2, 0.3],
        "y": [0.1, -0.1, 0.0, 0.05, -0.05, 0.1],
        "behaviour": ["next", "other", "broad", "cls", "other", "sep"],
        "place": [6, 1, 4, 2, 5, 3],
    }
    return pl.DataFrame(columns).cast(KEYS)


@pytest.fixture
def divergence():
    layer, head, other_layer, other_head = np.indices((2, 3, 2, 3)).reshape(4, -1) + 1
    values = np.abs(10 * layer + head - 10 * other_layer - other_head) / 20
    names = ("layer", "head", "other_layer", "other_head")
    numbers = dict(zip(names, (layer, head, other_layer, other_head), strict=True))
    return pl.DataFrame(numbers).cast(pl.UInt16).with_columns(divergence=values)


def panels(chart):
    """Each panel with the points that it draws."""
    specification = chart.to_dict()
    sources = [[panel["layer"][0], panel, specification] for panel in specification["hconcat"]]
    names = [next(part["data"]["name"] for part in source if "data" in part) for source in sources]
    return [
        (panel, specification["datasets"][name]) for panel, name in zip(specification["hconcat"], names, strict=True)
    ]


def test_figure_6_shows_every_head_once_in_each_panel_at_its_place(mapped, heads):
    shown = panels(figure_6(mapped, heads, UNIFORM, TESTS, NOBODY, BERT, "my-corpus"))
    assert len(shown) == 2
    for panel, points in shown:
        assert [(row["layer"], row["head"], row["x"], row["y"]) for row in points] == mapped.select(
            "layer", "head", "x", "y"
        ).rows()
        across, up = (panel["layer"][0]["encoding"][axis]["scale"]["domain"] for axis in "xy")
        assert (across[1] - across[0]) / panel["width"] == pytest.approx((up[1] - up[0]) / panel["height"])
        assert across[0] < -0.3
        assert across[1] > 0.3
        assert panel["width"] == WIDTH


def test_figure_6_names_behaviours_in_the_models_own_tokens_and_says_what_was_tested(mapped, heads):
    specification = figure_6(mapped, heads, UNIFORM, TESTS, NOBODY, BERT, "my-corpus").to_dict()
    colour = specification["hconcat"][0]["layer"][0]["encoding"]["color"]
    assert colour["scale"]["domain"] == ["next token", "broad", "[CLS]", "[SEP]", "none of these"]
    assert len(colour["scale"]["range"]) == 5
    said = " ".join(specification["title"]["subtitle"])
    for part in ("1,200 examples", "stress 0.150", "one layer 0.200", "different layers 0.300", "p = 0.012"):
        assert part in said
    untested = TESTS.with_columns(p_value=None, between=None)
    said = figure_6(mapped, heads, UNIFORM, untested, NOBODY, BERT, "my-corpus").to_dict()["title"]["subtitle"]
    assert "permutation" not in " ".join(said)


def test_figure_6_names_the_heads_that_are_singled_out(mapped, heads):
    named = pl.DataFrame({"layer": [1, 2], "head": [2, 3], "finding": ["dobj, det", "coreference"]}).cast(KEYS)
    rows = drawn(figure_6(mapped, heads, UNIFORM, TESTS, named, BERT, "my-corpus"))
    assert {row["text"] for row in rows if "text" in row} == {"1-2 dobj, det", "2-3 coreference"}
    assert not [row for row in drawn(figure_6(mapped, heads, UNIFORM, TESTS, NOBODY, BERT, "c")) if "text" in row]


def test_figure_6_leaves_out_of_its_tooltip_what_the_model_does_not_have(mapped, heads):
    without = heads.with_columns(to_cls=pl.lit(None, pl.Float64), to_sep=pl.lit(None, pl.Float64))
    chart = figure_6(mapped, without, UNIFORM, TESTS, NOBODY, BERT, "c").to_dict()
    fields = [tip["field"] for tip in chart["hconcat"][0]["layer"][0]["encoding"]["tooltip"]]
    assert fields == ["name", "behaviour", "to_next", "to_previous", "to_punctuation", "entropy"]


def test_a_map_without_extent_can_be_drawn_and_saved(mapped, heads, tmp_path):
    flat = mapped.with_columns(x=pl.lit(0.0), y=pl.lit(0.0))
    paths = [tmp_path / f"figure.{ending}" for ending in ("html", "svg", "png")]
    save(figure_6(flat, heads, UNIFORM, TESTS, NOBODY, BERT, "c"), *paths)
    assert b"NaN" not in paths[1].read_bytes()


def test_labels_stay_inside_apart_from_each_other_and_off_the_points():
    generator = np.random.default_rng(0)
    points = generator.random((60, 2)) * [440, 300]
    texts = ["3-1 dobj, det", "8-10 coreference", "2-2 cc", "11-11 auxpass", "5-4 prep"]
    places = place_labels(points, points[:5], texts, (440, 300))
    halves = np.array([[LETTER * len(text) / 2, LINE / 2] for text in texts])
    assert (places.middles - halves >= 0).all()
    assert (places.middles + halves <= [440, 300]).all()
    for first in range(5):
        for other in range(first):
            assert (np.abs(places.middles[first] - places.middles[other]) >= halves[first] + halves[other]).any()
    covered = [
        (np.abs(points - middle) < half).all(1).sum() for middle, half in zip(places.middles, halves, strict=True)
    ]
    assert sum(covered) <= 1, "there is room beside nearly every one of sixty points"
    assert (np.linalg.norm(places.ends - points[:5], axis=1) < 80).all()


def test_the_matrix_shows_every_pair_in_the_order_of_the_clusters(divergence, mapped):
    rows = [row for row in drawn(divergence_matrix(divergence, mapped, UNIFORM, BERT, "c")) if "other_name" in row]
    assert len(rows) == 36
    by_cell = {(row["cell"], row["other_cell"]): row for row in rows}
    assert [by_cell[place, place]["name"] for place in range(6)] == ["1-2", "2-1", "2-3", "1-3", "2-2", "1-1"]
    pair = by_cell[0, 5]
    assert (pair["name"], pair["other_name"], pair["divergence"]) == ("1-2", "1-1", 0.05)
    assert all(row["divergence"] == by_cell[row["other_cell"], row["cell"]]["divergence"] for row in rows)


def test_heads_of_a_large_model_share_cells_that_show_their_mean(divergence, mapped, monkeypatch):
    monkeypatch.setattr(matrix_chart, "MOST_CELLS", 3)
    chart = divergence_matrix(divergence, mapped, UNIFORM, BERT, "c")
    rows = [row for row in drawn(chart) if "other_name" in row]
    assert len(rows) == 9
    (corner,) = [row for row in rows if (row["name"], row["other_name"]) == ("1-2, 2-1", "2-2, 1-1")]
    between = [abs(first - other) / 20 for first in (12, 21) for other in (22, 11)]
    assert corner["divergence"] == pytest.approx(np.mean(between))
    assert "2 × 2" in " ".join(chart.to_dict()["title"]["subtitle"])
