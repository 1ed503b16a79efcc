"""The report in a real browser, on a run whose corpora are full of markup."""

import re
import shutil

import pytest
from small_report import DOCUMENTS, HOSTILE, QUOTED, TEXT, TREES, make_report

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine (Debian: chromium)")
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
DOWNLOADS = 8  # from one page: Chromium asks before the eleventh that comes without a pause
TRANSFERS = ("file:", "data:", "blob:")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    return make_report(folder)


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, report):
    """A function that opens the report; in the end nothing may have failed or been asked of another machine."""
    contexts, wrong = [], []

    def open_page(viewport=WIDE, colours="light"):
        context = browser.new_context(viewport=viewport, color_scheme=colours)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda sent: None if sent.url.startswith(TRANSFERS) else wrong.append(sent.url))
        page.goto(report.as_uri())
        page.wait_for_selector("#explorer[data-ready]", timeout=60_000)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


def status(page):
    return page.locator("#status").inner_text()


def seen(page):
    """What each view shows of the picked head."""
    return {
        "status": status(page),
        "head": page.locator("#head").input_value(),
        "row": page.locator("#row").inner_text(),
        "map": page.locator("#view-map .mark-text.role-mark text").first.text_content(),
        "lines": page.locator("#view-lines").inner_html(),
        "heat": page.locator("#view-heat").inner_html(),
        "titles": page.locator(".picked-head").all_inner_texts(),
    }


def cell(page, layer, head):
    """The square of a head on the grid, in a model of four heads a layer."""
    return page.locator("#view-grid .mark-rect.role-mark").first.locator("path").nth(4 * (layer - 1) + head - 1)


def settled(page):
    """Wait until Vega has drawn what it was told."""
    page.wait_for_selector("#explorer[aria-busy=false]")


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_the_page_has_no_sideways_scroll_and_draws_everything(opened, viewport, colours):
    page = opened(viewport, colours)
    page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    page.locator(".figure").last.scroll_into_view_if_needed()
    page.wait_for_selector(".figure.drawn svg")
    assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]
    for name in ("grid", "map", "best", "lines", "heat"):
        box = page.locator(f"#view-{name} svg").bounding_box()
        assert 250 < box["width"] <= viewport["width"], name
        assert box["height"] > 50, name
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    lightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
    assert (lightness[0] < lightness[1]) == (colours == "light")
    label = page.locator("#view-grid .role-axis-label text").first.evaluate("one => getComputedStyle(one).fill")
    assert label == ink, "the views have the colours of the page"


def test_a_click_on_a_head_changes_every_other_view(opened):
    page = opened()
    page.locator("#head").select_option("1-1")
    settled(page)
    before = seen(page)
    cell(page, 3, 2).click()
    settled(page)
    after = seen(page)
    assert after["status"].startswith("Head 3-2: ")
    assert (after["head"], after["map"], set(after["titles"])) == ("3-2", "3-2", {"3-2"})
    assert all(before[view] != after[view] for view in before)


def test_a_click_on_the_map_or_a_bar_picks_that_head(opened):
    page = opened()
    page.locator("#view-best .mark-rect.role-mark path").nth(1).click()
    named = page.locator("#view-best .role-axis-label text").all_text_contents()
    heads = [text for text in named if re.fullmatch(r"\d-\d", text)]
    assert page.locator("#head").input_value() == heads[1]
    before = status(page)
    page.locator("#view-map .mark-symbol.role-mark path").first.click(force=True)
    assert status(page) != before


def test_the_grid_is_reached_and_worked_by_keys(opened):
    page = opened()
    page.locator("#head").select_option("2-2")
    page.locator("#word").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "heads"
    assert page.locator("#heads").evaluate("one => getComputedStyle(one).outlineStyle") == "solid"
    assert page.locator("#heads").get_attribute("aria-label")
    for key, head in {
        "ArrowRight": "2-3",
        "ArrowDown": "3-3",
        "ArrowLeft": "3-2",
        "ArrowUp": "2-2",
        "End": "2-4",
        "PageDown": "3-4",
        "Home": "3-1",
        "PageUp": "1-1",
    }.items():
        page.keyboard.press(key)
        assert status(page).startswith(f"Head {head}: "), key
    page.keyboard.press("ArrowLeft")
    assert status(page).startswith("Head 1-1: "), "there is no head before the first"


def test_a_relation_shows_its_best_heads_and_an_example_of_its_corpus(opened):
    page = opened()
    relations = page.locator(f"#relation optgroup[label={TREES}] option").all_inner_texts()
    page.locator("#relation").select_option(label=relations[-1])
    assert page.locator("#best-title").inner_text() == relations[-1]
    assert page.locator("#corpus").input_value() == TREES
    assert page.locator("#grid-title").inner_text().startswith(f"{TREES}: accuracy on ")
    settled(page)
    bars = (
        page.locator("#view-best .mark-rect.role-mark")
        .first.locator("path")
        .evaluate_all("all => all.map((bar) => bar.getBoundingClientRect()).map((box) => [box.top, box.width])")
    )
    assert [width for _, width in sorted(bars)] == sorted((width for _, width in bars), reverse=True), "best on top"
    sentence = page.locator("#best-sentence").inner_text()
    assert sentence.startswith(f"Head {page.locator('#head').input_value()} finds ")


def test_a_corpus_and_an_example_change_the_maps(opened):
    page = opened()
    for corpus, unit in ((TEXT, "tokens"), (DOCUMENTS, "words")):
        page.locator("#corpus").select_option(corpus)
        assert page.locator("#grid-title").inner_text().startswith(f"{corpus}: ")
        assert unit in page.locator("#example-note").inner_text()
    before = seen(page)
    page.locator("#example").select_option("1")
    settled(page)
    after = seen(page)
    assert {view for view in before if before[view] != after[view]} == {"lines", "heat"}
    words = page.locator("#word option").all_text_contents()[1:]
    down = page.locator("#view-heat .role-axis-label").last.locator("text").all()
    places = sorted((text.bounding_box()["y"], text.text_content()) for text in down)
    assert [f"{number} {text}" for number, (_, text) in enumerate(places, start=1)] == words


def test_a_measure_that_is_a_kind_colours_the_grid(opened):
    page = opened()
    page.locator("#measure").select_option(label="behaviour, as figure 6 is coloured")
    assert page.locator("#view-kinds svg").is_visible()
    assert not page.locator("#view-grid svg").is_visible()
    assert page.locator("#view-kinds svg").bounding_box()["width"] > 250


def test_a_word_shows_its_lines_alone(opened):
    page = opened()
    every = page.locator("#view-lines .mark-rule.role-mark line").count()
    page.locator("#view-lines .mark-text.role-mark text").nth(2).click()
    settled(page)
    assert page.locator("#word").input_value() == "2"
    assert 0 < page.locator("#view-lines .mark-rule.role-mark line").count() < every
    page.locator("#word").select_option("-1")
    settled(page)
    assert page.locator("#view-lines .mark-rule.role-mark line").count() == every


def test_markup_in_a_corpus_stays_text(opened):
    page = opened()
    page.locator("#corpus").select_option(TREES)
    found = page.locator("#example option").filter(has_text=HOSTILE).get_attribute("value")
    page.locator("#example").select_option(found)
    settled(page)
    words = page.locator("#view-lines .mark-text.role-mark text").all_text_contents()
    assert words.count(HOSTILE) == words.count(QUOTED) == 2, "left and right"
    assert HOSTILE in page.locator("#word").inner_text()
    page.locator("#view-heat .mark-rect.role-mark path").first.hover()
    page.locator("#view-heat .mark-rect.role-mark path").nth(13).hover()
    assert HOSTILE in page.locator("#vg-tooltip-element.visible").inner_text()
    assert page.title() == "What the attention heads look at"
    assert page.locator("img").count() == 0
    assert page.locator("script:not([type])").count() == 0


def test_each_table_is_handed_out_as_the_run_wrote_it(opened, report):
    written = {"-".join(path.relative_to(report.parent).parts): path for path in report.parent.rglob("*.csv")}
    names = opened().locator("[data-table]").evaluate_all("all => all.map((one) => one.dataset.name)")
    for start in range(0, len(names), DOWNLOADS):
        page = opened()
        page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
        for name in names[start : start + DOWNLOADS]:
            page.locator(f"[data-name='{name}']").focus()
            with page.expect_download() as download:
                page.keyboard.press("Enter")  # figures above are drawn meanwhile and move what a pointer would hit
            assert download.value.path().read_bytes() == written.pop(name).read_bytes(), name
    assert set(written) == {f"tiny-{corpus}-claims.csv" for corpus in (TEXT, TREES, DOCUMENTS)}, "they are in one table"
