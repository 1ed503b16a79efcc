import tomllib

import yaml
from checkpoints import REPOSITORY

import headscope

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
CITATION = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text("utf-8"))
KEYS = {  # those of the Citation File Format 1.2.0 that we may use; its validator needs an older jsonschema than ours
    *("cff-version", "message", "title", "type", "authors", "version", "date-released", "license", "abstract"),
    *("keywords", "references", "doi", "url", "repository-code", "identifiers"),
}


def test_the_version_is_one():
    assert CITATION["version"] == PROJECT["version"] == headscope.__version__
    changes = (REPOSITORY / "CHANGELOG.md").read_text("utf-8")
    assert f"## {headscope.__version__}" in changes or "## Unreleased" in changes


def test_the_citation_has_what_the_format_wants():
    assert {"cff-version", "message", "title", "authors"} <= CITATION.keys() <= KEYS
    assert (CITATION["cff-version"], CITATION["type"], CITATION["license"]) == ("1.2.0", "software", PROJECT["license"])
    assert CITATION["authors"] == [{"name": "The headscope authors"}]


def test_the_paper_is_cited_as_well():
    [paper] = CITATION["references"]
    assert [author["family-names"] for author in paper["authors"]] == ["Clark", "Khandelwal", "Levy", "Manning"]
    assert (paper["year"], paper["doi"]) == (2019, "10.18653/v1/W19-4828")
    assert all(author.keys() == {"family-names", "given-names"} for author in paper["authors"])
