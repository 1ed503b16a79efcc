"""Text that wants to be more than text: in logs, tables, pages, figures and names."""

import json
import re
from dataclasses import replace

import polars as pl
import pytest
import yaml
from checkpoints import REPOSITORY
from jobs_alone import run_job
from test_syntax_charts import TABLE1_COLUMNS, row

from headscope import jobs
from headscope.charts import theme
from headscope.charts.figure_1 import figure_1
from headscope.config import complete
from headscope.corpora.text import read_pairs
from headscope.corpora.trees import read_trees
from headscope.errors import InputError, printable
from headscope.maps import named_heads, shown_cells
from headscope.pages import Column, Part, as_markdown, as_page
from headscope.syntax.table1 import render_table1
from headscope.tokenizing import encode_pairs
from headscope.writing import write_table

SCRIPT, IMAGE = "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>"
ANSI, OVERRIDE, FORMULA = "\x1b[31mred\x1b[0m\x9b2J", "\u202eevil\u2066", "=cmd|'/C calc'!A1"
HOSTILE = {
    "a script": SCRIPT,
    "an image": IMAGE,
    "quotes": "a'b\"c`d\\",
    "a path": "../../../etc/passwd",
    "an entity": "&lt;script&gt;",
    "ANSI codes": ANSI,
    "an override of direction": OVERRIDE,
    "NUL": "a\0b",
    "a carriage return": "all is well\rERROR: no",
    "a formula": FORMULA,
    "a pipe": "a|b",
    "a template": "{title} {0} %s ${x}",
    "a long word": "x" * 100_000,
}
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # by a terminal


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_log_shows_text_and_nothing_obeys_it(tmp_path, capsys, text):
    def main():
        jobs.LOG.info("read %s", text)
        raise InputError(f"few.txt:3: expected a word, found {text}")

    assert run_job(main, tmp_path / "log") == 1
    for said in ((tmp_path / "log").read_bytes().decode(), capsys.readouterr().err):
        assert not OBEYED.search(said)
        assert printable(text) in said
    assert not OBEYED.search(str(InputError(text)))


def test_a_traceback_is_printable_too(tmp_path, capsys):
    def main():
        raise KeyError(ANSI) from ValueError(ANSI)

    assert run_job(main, tmp_path / "log") == 1
    assert not OBEYED.search((tmp_path / "log").read_text() + capsys.readouterr().err)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_page_shows_text_in_every_place(text):
    columns = (Column(text, is_text=True), Column("n"), Column(text, is_paper=True))
    part = Part(text, columns, [[text, f"1 [{text}]", text]], [text], text)
    page = as_page(text, text, [part], "anchor", (text,))
    assert not re.search("<(script|img)", page)
    assert not OBEYED.search(page)
    assert page.count("<title>") == page.count("<table ") == 1
    names = (Column("a", is_text=True), Column("n"), Column("b", is_paper=True))  # who names a column escapes it
    markdown = as_markdown(text, text, [replace(part, columns=names, notes=[])])
    assert not OBEYED.search(markdown)
    assert not re.search(r"(?<!\\)<(script|img)", markdown)
    cells = [line for line in markdown.splitlines() if line.startswith("| ") and line.endswith(" |")][-1]
    assert len(re.findall(r"(?<!\\)\|", cells)) == 4, "three cells, whatever is in them"


@pytest.mark.parametrize("as_html", [True, False])
def test_a_relation_of_a_treebank_stays_a_label(as_html):
    rows = [row("ud", SCRIPT + "|" + ANSI, 20), row("ud", "all", 20)]
    table = pl.DataFrame(rows, schema=TABLE1_COLUMNS, orient="row")
    page = render_table1(table, IMAGE, SCRIPT, "source", 1, as_html)
    assert not re.search(r"(?<!\\)<(script|img)", page)
    assert not OBEYED.search(page)


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        (FORMULA, "'" + FORMULA),
        ('@SUM(1+1)*cmd|"x"!A', '\'@SUM(1+1)*cmd|"x"!A'),
        ("+HYPERLINK(1)", "'+HYPERLINK(1)"),
        ("-1+cmd|x", "'-1+cmd|x"),
        ("\t=1+cmd|x", "'\t=1+cmd|x"),
        *(
            (word, word)
            for word in ("-LRB-", "-5.2", "+1", "@user", "=", "=)", "a|b", "it's", 'say "no"', "two\nlines")
        ),
        (ANSI, "\\x1b[31mred\\x1b[0m\\x9b2J"),
        (OVERRIDE, "\\u202eevil\\u2066"),
    ],
)
def test_a_csv_runs_nothing_and_parquet_has_the_word_as_it_is(tmp_path, word, shown):
    table = pl.DataFrame({"word": [word, None], "number": [-1.5, 2.0]})
    write_table(table, tmp_path / "t.csv", tmp_path / "t.parquet")
    assert pl.read_csv(tmp_path / "t.csv", infer_schema=False)["word"].to_list() == [shown, None]
    assert pl.read_csv(tmp_path / "t.csv")["number"].to_list() == [-1.5, 2.0]
    assert pl.read_parquet(tmp_path / "t.parquet").equals(table)


def test_a_hostile_text_goes_through_to_a_figure(bert, tmp_path):
    (tmp_path / "evil.txt").write_text("\n".join([*HOSTILE.values()][:12]).replace("\r", " ") + "\n", "utf-8")
    pairs, _ = read_pairs(tmp_path / "evil.txt")
    encoded, skipped = encode_pairs(pairs, bert.tokenizer, 64)
    assert (encoded.height, skipped.height) == (6, 0)
    for example in encoded.iter_rows(named=True):
        tokens = example["tokens"]
        tokens[1:3] = [SCRIPT, ANSI]  # as another tokenizer may have them
        maps = pl.Series([0.5] * len(tokens) ** 2).to_numpy().reshape(1, 1, len(tokens), -1)
        cells = shown_cells(
            maps, example["example"], named_heads(["1-1"], 1, 1), tokens, list(range(min(6, len(tokens))))
        )
        paths = [tmp_path / f"figure.{ending}" for ending in ("html", "svg", "png")]
        theme.save(figure_1(cells, "m", "c"), *paths, tmp_path / "evil.txt")
        page, drawing = (path.read_text("utf-8") for path in paths[:2])
        start = page.index('id="specification">') + len('id="specification">')
        specification = page[start : page.index("</script>", start)]
        assert "<" not in specification
        assert json.loads(specification)
        assert "\x1b" not in page[:start] + specification + drawing
        assert "<script" not in drawing


def test_a_hostile_tree_is_read_as_it_is(tmp_path):
    words = [word.replace("\r", " ") for word in [*HOSTILE.values()][:12]]
    rows = [
        f"{n}\t{word}\t_\tX\t_\t_\t{n - 1}\t{'root' if n == 1 else SCRIPT}\t_\t_" for n, word in enumerate(words, 1)
    ]
    (tmp_path / "evil.conllu").write_text("\n".join(rows) + "\n\n", "utf-8")
    trees, _ = read_trees(tmp_path / "evil.conllu", "conllu")
    assert trees["words"].to_list() == [words]


@pytest.mark.parametrize("section", ["models", "corpora"])
@pytest.mark.parametrize(
    "name", [*[*HOSTILE.values()][:11], "", ".", "..", ".hidden", "-rf", "a/b", "a b", "name\n", "nul\0", "~", "ü"]
)
def test_a_name_that_is_no_plain_folder_is_refused(section, name):
    config = yaml.safe_load((REPOSITORY / "config" / "config.yaml").read_text("utf-8"))
    config[section][0]["name"] = name
    with pytest.raises(InputError) as refused:
        complete(config, base=REPOSITORY)
    assert f"{section}[0].name: found " in str(refused.value)
    assert not OBEYED.search(str(refused.value))


@pytest.mark.parametrize("section", ["models", "corpora"])
def test_names_that_one_folder_would_hold_on_some_disks_are_refused(section):
    config = yaml.safe_load((REPOSITORY / "config" / "config.yaml").read_text("utf-8"))
    first = config[section][0]
    config[section].append(first | {"name": first["name"].upper()})
    with pytest.raises(InputError, match=f"{section}: expected names that differ in more than case, found "):
        complete(config, base=REPOSITORY)


def test_a_hostile_key_is_shown_as_text():
    config = yaml.safe_load((REPOSITORY / "config" / "config.yaml").read_text("utf-8"))
    with pytest.raises(InputError) as refused:
        complete(config | {ANSI: 1}, base=REPOSITORY)
    assert not OBEYED.search(str(refused.value))
