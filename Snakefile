"""headscope: what do the attention heads of a language model look at? See README.md."""

import os
import re
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.0")

ROOT = Path(workflow.current_basedir.get_path_or_uri(secret_free=True))
sys.path.insert(0, str(ROOT / "scripts"))

from headscope.config import complete
from headscope.errors import InputError
from headscope.staleness import code_of


configfile: "config/config.yaml" if os.path.exists("config/config.yaml") else str(ROOT / "config/config.yaml")


include: "workflow/rules/common.smk"


config.update(completed(config))
MODELS = {model["name"]: model for model in config["models"]}
CORPORA = {corpus["name"]: corpus for corpus in config["corpora"]}


wildcard_constraints:
    model="|".join(map(re.escape, MODELS)),
    corpus="|".join(map(re.escape, CORPORA)),
    shard=r"\d+-of-\d+",


include: "workflow/rules/corpora.smk"
include: "workflow/rules/attention.smk"
include: "workflow/rules/surface.smk"


localrules:
    all,
    surface,
    figure_1,
    figure_2,
    figure_4,


rule surface:
    input:
        of_runs("text", "skipped.csv", "surface/heads.csv", "surface/uniform.csv"),
        of_runs("text", *figures(1, 2, 4)),


rule figure_1:
    input:
        of_runs("text", *figures(1)),


rule figure_2:
    input:
        of_runs("text", *figures(2)),


rule figure_4:
    input:
        of_runs("text", *figures(4)),


rule all:
    default_target: True
    input:
        rules.surface.input,
