"""
Which heads are alike: token-level shards in, divergences, a map of the heads and figure 6 out.

    shard --count_divergence--> counts/divergence/{model}/{corpus}/{shard}.parquet, counts/divergence_examples/...
    all --merge_divergence--> results/{model}/{corpus}/clusters/divergence.{parquet,csv}
    that and surface/heads --map_heads--> clusters/{map,tests} --draw_figure_6, draw_divergence--> figures/
"""


rule count_divergence:
    """Compare the heads of {wildcards.model} on shard {wildcards.shard} of {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        attention=maps_of_job,
    output:
        sums="counts/divergence/{model}/{corpus}/{shard}.parquet",
        examples="counts/divergence_examples/{model}/{corpus}/{shard}.parquet",
    log:
        "logs/count_divergence/{model}/{corpus}/{shard}.log",
    benchmark:
        "logs/count_divergence/{model}/{corpus}/{shard}.benchmark.tsv"
    conda:
        with_model("../../envs/analyse.yaml")
    threads: MAPS_THREADS
    resources:
        **resources_with_maps(2000),
    params:
        live=live,
        shard="{shard}",
        smoothing=config["clusters"]["smoothing"],
        code=code_with_maps("count_divergence"),
    script:
        "../../scripts/count_divergence.py"


rule merge_divergence:
    """Average the divergence of the heads of {wildcards.model} over {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        sums=shards("counts/divergence"),
        examples=shards("counts/divergence_examples"),
    output:
        divergence="results/{model}/{corpus}/clusters/divergence.parquet",
        divergence_csv="results/{model}/{corpus}/clusters/divergence.csv",
    log:
        "logs/merge_divergence/{model}/{corpus}.log",
    benchmark:
        "logs/merge_divergence/{model}/{corpus}.benchmark.tsv"
    conda:
        "../../envs/analyse.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
    params:
        code=code_of("merge_divergence"),
    script:
        "../../scripts/merge_divergence.py"


rule map_heads:
    """Place the heads of {wildcards.model} on a map by what they do on {wildcards.corpus}."""
    input:
        divergence="results/{model}/{corpus}/clusters/divergence.parquet",
        heads="results/{model}/{corpus}/surface/heads.parquet",
    output:
        mapped="results/{model}/{corpus}/clusters/map.parquet",
        mapped_csv="results/{model}/{corpus}/clusters/map.csv",
        tests="results/{model}/{corpus}/clusters/tests.parquet",
        tests_csv="results/{model}/{corpus}/clusters/tests.csv",
    log:
        "logs/map_heads/{model}/{corpus}.log",
    benchmark:
        "logs/map_heads/{model}/{corpus}.benchmark.tsv"
    conda:
        "../../envs/map.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
    params:
        thresholds=config["clusters"]["behaviours"],
        starts=config["clusters"]["starts"],
        permutations=config["clusters"]["permutations"],
        seed=config["clusters"]["seed"],
        code=code_of("map_heads"),
    script:
        "../../scripts/map_heads.py"


rule draw_figure_6:
    """Draw which heads of {wildcards.model} are alike on {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        heads="results/{model}/{corpus}/surface/heads.parquet",
        uniform="results/{model}/{corpus}/surface/uniform.parquet",
        mapped="results/{model}/{corpus}/clusters/map.parquet",
        tests="results/{model}/{corpus}/clusters/tests.parquet",
        table1=of_other_runs("treebank", "syntax/table1.parquet"),
        table2=of_other_runs("coreference", "coreference/table2.parquet"),
        library=LIBRARY,
    output:
        **drawing("figure_6", "Clusters", "6: heads that are alike"),
    log:
        "logs/draw_figure_6/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        corpus="{corpus}",
        scheme=config["syntax"]["scheme"],
        rare=config["syntax"]["rare"],
        code=code_of("draw_figure_6"),
    script:
        "../../scripts/draw_figure_6.py"


rule draw_divergence:
    """Draw the divergence of every two heads of {wildcards.model} on {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        divergence="results/{model}/{corpus}/clusters/divergence.parquet",
        uniform="results/{model}/{corpus}/surface/uniform.parquet",
        mapped="results/{model}/{corpus}/clusters/map.parquet",
        library=LIBRARY,
    output:
        **drawing("divergence", "Clusters", "divergence of every two heads"),
    log:
        "logs/draw_divergence/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        corpus="{corpus}",
        code=code_of("draw_divergence"),
    script:
        "../../scripts/draw_divergence.py"
