import json
import re

import pytest
import yaml
from checkpoints import REPOSITORY

from headscope import resources
from headscope.encoding import write_encoded
from headscope.resources import (
    ModelSize,
    checkpoint_mb,
    memory_to_load,
    memory_to_run,
    minutes_to_run,
    model_size,
    tokens_of,
)

SCRIPTS = REPOSITORY / "scripts"
PROFILES = {
    name: yaml.safe_load((REPOSITORY / "workflow" / "profiles" / name / "config.yaml").read_text("utf-8"))
    for name in ("slurm", "kubernetes")
}
BERT = ModelSize(parameters=110_000_000, layers=12, heads=12, width=768, bytes_per_number=4, tokens=512)


def described(folder, **changes):
    path = folder / "description.json"
    path.write_text(json.dumps({"parameters": 1000, "layers": 2, "heads": 3, "width": 8, "limit": 64} | changes))
    return path


def rules():
    """Each rule with its text, from the rule files."""
    for path in sorted((REPOSITORY / "workflow" / "rules").glob("*.smk")):
        for text in re.split(r"^rule ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
            yield text[: text.index(":")], text


def test_parts_of_bert_base_at_512_tokens():
    assert BERT.weights_mb == 440
    assert BERT.maps_mb == pytest.approx(150.99, abs=0.01)  # 4 bytes × 144 heads × 512²
    assert BERT.states_mb == pytest.approx(18.87, abs=0.01)  # 4 bytes × 12 layers × 768 × 512


def test_memory_is_program_weights_and_copies_of_a_batch():
    assert memory_to_load(440, attempt=1) == 1500 + 2 * 440
    assert memory_to_run(BERT, attempt=1) == 1500 + 2 * 440 + 6 * 256  # the maps of one input are less than a batch
    long = ModelSize(110_000_000, 12, 12, 768, 4, tokens=1024)
    assert memory_to_run(long, attempt=1) == 1500 + 2 * 440 + 3624  # 6 × 603.98
    assert memory_to_run(BERT, attempt=1, kept_mb=100) == memory_to_run(BERT, attempt=1) + 100


def test_gradients_take_what_is_kept_for_the_backward_pass():
    assert memory_to_run(BERT, attempt=1, backward=True) - memory_to_run(BERT, attempt=1) == 1888  # 10 maps, 20 states


def test_minutes_are_loading_computing_and_writing():
    # 440 MB at 50 MB/s: 8.8 s; 100,000 tokens × 220 million operations at 20 billion a second: 1,100 s;
    # 100,000 × 2 bytes × 144 heads × 512 at 50 MB/s: 295 s.
    assert minutes_to_run(BERT, tokens=100_000, attempt=1) == 10 + 24  # 1,403.7 s
    assert minutes_to_run(BERT, tokens=100_000, attempt=1, passes=4) == 10 + 79  # 4,703.7 s


def test_each_attempt_asks_for_as_much_again_but_not_for_more_than_a_day():
    assert memory_to_run(BERT, attempt=3) == 3 * memory_to_run(BERT, attempt=1)
    assert minutes_to_run(BERT, 100_000, attempt=2) == 2 * minutes_to_run(BERT, 100_000, attempt=1)
    assert minutes_to_run(BERT, 1e9, attempt=1) == minutes_to_run(BERT, 1e9, attempt=3) == 24 * 60


@pytest.mark.parametrize(
    ("limit", "max_tokens", "tokens"), [(64, None, 64), (64, 32, 32), (64, 128, 64), (None, 32, 32), (None, None, 512)]
)
def test_the_longest_input_is_the_lower_of_two_limits(tmp_path, limit, max_tokens, tokens):
    assert model_size(described(tmp_path, limit=limit), "float32", max_tokens).tokens == tokens


def test_weights_are_counted_as_they_are_computed_with(tmp_path):
    assert model_size(described(tmp_path), "bfloat16", None).weights_mb == 0.002


def test_a_model_that_is_not_described_yet_is_asked_about_again(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        model_size(tmp_path / "description.json", "float32", None)
    assert error.value.filename == str(tmp_path / "description.json"), "by it Snakemake knows that an input is missing"


def test_a_checkpoint_is_as_large_as_its_weights(tmp_path):
    (tmp_path / "tokenizer.json").write_bytes(bytes(9_000_000))
    assert checkpoint_mb(str(tmp_path)) == resources.UNKNOWN_WEIGHTS_MB
    (tmp_path / "pytorch_model.bin").write_bytes(bytes(3_000_000))
    assert checkpoint_mb(str(tmp_path)) == 3
    for part in (1, 2):
        (tmp_path / f"model-0000{part}-of-00002.safetensors").write_bytes(bytes(2_000_000))
    assert checkpoint_mb(str(tmp_path)) == 4
    assert checkpoint_mb("package:there_is_none/model") == resources.UNKNOWN_WEIGHTS_MB


def test_tokens_of_a_shard_are_not_underestimated(encoded, bert_described, tmp_path):
    path = tmp_path / "examples.parquet"
    write_encoded(encoded.table, path, bert_described.tokenizer)
    assert tokens_of(path) >= encoded.table["ids"].list.len().sum()
    assert tokens_of(path, shards=2) == tokens_of(path) / 2


def test_rules_with_a_device_and_no_others_get_a_gpu():
    """Rules that read maps have one for live maps; those named here use it on stored ones as well."""
    with_a_device = {name for name, text in rules() if 'device="auto"' in text}
    on_stored_maps = {path.stem for path in SCRIPTS.glob("count_*.py") if "pick_device" in path.read_text("utf-8")}
    with_a_device |= on_stored_maps
    for profile in PROFILES.values():
        assert {name for name, asked in profile["set-resources"].items() if "gpu" in asked} == with_a_device


def test_rules_that_load_a_model_ask_by_its_size():
    for name, text in rules():
        if "loading=loading" in text:
            assert re.search(r"mem_mb=memory", text), name
            assert re.search(r"runtime=", text), name


def test_profiles_name_rules_that_there_are():
    names = {name for name, _ in rules()}
    for profile in PROFILES.values():
        assert {*profile["set-resources"], *profile["set-threads"]} <= names


def test_batches_of_the_profiles_are_those_that_memory_reckons_with():
    for profile in PROFILES.values():
        budgets = {asked["budget_mb"] for asked in profile["set-resources"].values() if "budget_mb" in asked}
        assert budgets == {resources.BATCH_MB}


def test_no_job_is_grouped_with_another():
    assert not [name for name, text in rules() if re.search(r"^    group:", text, re.MULTILINE)]
    assert not any("groups" in profile or "group-components" in profile for profile in PROFILES.values())


def test_the_default_profile_sets_nothing_that_a_cluster_would():
    """It is read after a profile of the command line, and beats it."""
    default = yaml.safe_load((REPOSITORY / "workflow" / "profiles" / "default" / "config.yaml").read_text("utf-8"))
    for profile in PROFILES.values():
        assert not default.keys() & profile.keys()
