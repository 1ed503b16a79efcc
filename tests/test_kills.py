"""A run that is killed again and again ends with the tables of one that was left alone."""

import os
import random
import shutil
import sys
from itertools import cycle, islice

import pytest
from killing import HEADS, KINDS, SEED, SHARDS, Harness, results, undisturbed_run
from workflow_runs import copy_workflow, tiny_config, write_inputs

KILLS = int(os.environ.get("HEADSCOPE_KILLS", 20))

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the harness finds processes in /proc")


@pytest.fixture(scope="module")
def undisturbed(bert_folder, tmp_path_factory):
    return undisturbed_run(tmp_path_factory.mktemp("undisturbed"), bert_folder, SEED)


def test_whatever_is_killed_when_the_same_command_ends_with_the_same_bytes(undisturbed, bert_folder, tmp_path):
    folder = write_inputs(copy_workflow(tmp_path), tiny_config(bert_folder, shards=SHARDS))
    harness, wanted, killed = Harness(folder, HEADS, SEED, cores=1), results(undisturbed), dict.fromkeys(KINDS, 0)
    rounds, kinds = 1, list(islice(cycle(KINDS), KILLS))
    random.Random(SEED).shuffle(kinds)
    while kinds:
        if results(folder).keys() == wanted.keys():  # all is made: from the beginning, all over
            for made in ("results", "counts", "attention", "encoded", "examples"):
                shutil.rmtree(folder / made, ignore_errors=True)
            rounds += 1
        kills = harness.kill(kinds[-1])
        cut = [start for start in harness.starts("extract_attention", harness.last) if not start[2]]
        assert len(cut) <= kills, f"{kinds[-1]}: {cut}"
        if kills:  # else the run had ended: the same again
            killed[kinds.pop()] += 1
    harness.finish()
    assert "Nothing to be done" in harness.finish()
    found = results(folder)
    assert found.keys() == wanted.keys()
    assert [name for name in wanted if found[name] != wanted[name]] == []
    assert harness.unfinished() == []
    assert sum(killed.values()) == KILLS
    starts = harness.starts("extract_attention")
    for shard in range(1, SHARDS + 1):
        finished = [start for start in starts if start[1].endswith(f"shard={shard}-of-{SHARDS}") and start[2]]
        assert len(finished) <= rounds, "what was finished is not made again"
    print(killed, rounds, f"{len(starts)} extractions, {sum(not start[2] for start in starts)} of them cut")
