import pytest

from headscope import staleness
from headscope.staleness import code_of

LIBRARY = {
    "scripts/job.py": "from headscope.analysis import count\nfrom headscope.jobs import run\n",
    "scripts/headscope/__init__.py": "",
    "scripts/headscope/analysis.py": (
        '"""Words."""\nfrom headscope.parts import deep\n\ndef count(x):\n    """Words."""\n    return x + 1\n'
    ),
    "scripts/headscope/parts/__init__.py": "",
    "scripts/headscope/parts/deep.py": "def far(x):\n    from headscope import lazy\n    return x\n",
    "scripts/headscope/lazy.py": "A = 1\n",
    "scripts/headscope/other.py": "B = 1\n",
    "scripts/headscope/parts/page.js": "let a = 1;\n",
    "scripts/headscope/unused/page.js": "let b = 1;\n",
    "scripts/headscope/jobs.py": "C = 1\n",
}


@pytest.fixture
def digest(tmp_path, monkeypatch):
    """A function: the digest of the little library above after some of its files were changed."""
    monkeypatch.setattr(staleness, "SCRIPTS", tmp_path / "scripts")

    def after(changes=()):
        for file, text in (LIBRARY | dict(changes)).items():
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text(text)
        code_of.cache_clear()
        return code_of("job")

    yield after
    code_of.cache_clear()


@pytest.mark.parametrize(
    ("file", "before", "now"),
    [
        ("scripts/job.py", "count\n", "count as c\n"),
        ("scripts/headscope/analysis.py", "x + 1", "x + 2"),
        ("scripts/headscope/parts/deep.py", "return x", "return -x"),
        ("scripts/headscope/parts/__init__.py", "", "Z = 1"),
        ("scripts/headscope/lazy.py", "A = 1", "A = 2"),
        ("scripts/headscope/parts/page.js", "a = 1", "a = 2"),
    ],
)
def test_a_change_of_code_that_is_run_counts(digest, file, before, now):
    assert digest() != digest({file: LIBRARY[file].replace(before, now, 1)})


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (
            "scripts/headscope/analysis.py",
            '"""Other."""\n# new\nfrom headscope.parts import deep\ndef count(x):\n    return (x + 1)\n',
        ),
        ("scripts/headscope/other.py", "B = 2\n"),
        ("scripts/headscope/jobs.py", "C = 2\n"),
        ("scripts/headscope/unused/page.js", "let b = 2;\n"),
        ("scripts/headscope/parts/page.md", "Words.\n"),
    ],
    ids=[
        "comments, docstrings and layout",
        "a module that is not imported",
        "how a script is run",
        "a page beside no module",
        "notes",
    ],
)
def test_a_change_of_anything_else_does_not(digest, file, text):
    assert digest() == digest({file: text})


def test_a_function_of_a_docstring_only_can_be_digested(digest):
    digest({"scripts/headscope/lazy.py": 'class A:\n    """Words."""\n'})


def test_a_script_that_is_not_there_fails_at_once(digest):
    digest()
    with pytest.raises(FileNotFoundError):
        code_of("no_such_script")
