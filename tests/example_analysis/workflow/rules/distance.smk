"""
How far heads look: shards in, a table out.

    shard --count_distance--> counts/distance/{model}/{corpus}/{shard}.parquet
    all --merge_distance--> results/{model}/{corpus}/distance/heads.{parquet,csv}
"""


rule count_distance:
    """Sum how far the heads of {wildcards.model} look in shard {wildcards.shard} of {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        attention=maps_of_job,
    output:
        counts="counts/distance/{model}/{corpus}/{shard}.parquet",
    log:
        "logs/count_distance/{model}/{corpus}/{shard}.log",
    benchmark:
        "logs/count_distance/{model}/{corpus}/{shard}.benchmark.tsv"
    conda:
        with_model("../../envs/analyse.yaml")
    threads: MAPS_THREADS
    resources:
        **resources_with_maps(2000),
    params:
        live=live,
        shard="{shard}",
        code=code_with_maps("count_distance"),
    script:
        "../../scripts/count_distance.py"


rule merge_distance:
    """Average how far the heads of {wildcards.model} look in {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        counts=shards("counts/distance"),
    output:
        heads="results/{model}/{corpus}/distance/heads.parquet",
        heads_csv="results/{model}/{corpus}/distance/heads.csv",
    log:
        "logs/merge_distance/{model}/{corpus}.log",
    benchmark:
        "logs/merge_distance/{model}/{corpus}.benchmark.tsv"
    conda:
        "../../envs/analyse.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
    params:
        code=code_of("merge_distance"),
    script:
        "../../scripts/merge_distance.py"


rule distance:
    input:
        of_runs("text", "distance/heads.csv"),
