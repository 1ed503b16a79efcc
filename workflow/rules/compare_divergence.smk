"""
How unlike the heads of two models are on the same examples, for the pairs of models that the config names.

    shards of both --count_compare_divergence--> counts/compare_divergence/{model}/{other}/{corpus}/{shard}.parquet, ...
    all --merge_compare_divergence--> compared/{model}/{other}/{corpus}/{divergence,nearest,layers,pairs,left_out}.parquet
    of all pairs --join_compare_divergence--> results/compare/{corpus}/{divergence,nearest,...}.{parquet,csv}
    of a pair --draw_compare_divergence--> results/compare/{corpus}/{model}/{other}/figures/
"""


wildcard_constraints:
    other="|".join(map(re.escape, MODELS)),


rule count_compare_divergence:
    """Compare the heads of {wildcards.model} and {wildcards.other} on shard {wildcards.shard} of {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        other_description="models/{other}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        other_encoded="encoded/{other}/{corpus}/examples.parquet",
        attention=maps_of_job,
        other_attention=maps_of_corpus("other"),
    output:
        sums="counts/compare_divergence/{model}/{other}/{corpus}/{shard}.parquet",
        examples="counts/compare_divergence_examples/{model}/{other}/{corpus}/{shard}.parquet",
    log:
        "logs/count_compare_divergence/{model}/{other}/{corpus}/{shard}.log",
    benchmark:
        "logs/count_compare_divergence/{model}/{other}/{corpus}/{shard}.benchmark.tsv"
    conda:
        with_model("../../envs/analyse.yaml")
    threads: MAPS_THREADS
    resources:
        **resources_with_maps(3000, models=2),
    params:
        live=live,
        shard="{shard}",
        other_live=other_live,
        smoothing=config["clusters"]["smoothing"],
        code=code_with_maps("count_compare_divergence"),
    script:
        "../../scripts/count_compare_divergence.py"


rule merge_compare_divergence:
    """Average the divergence of the heads of {wildcards.model} and {wildcards.other} over {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        other_description="models/{other}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        other_encoded="encoded/{other}/{corpus}/examples.parquet",
        sums=shards("counts/compare_divergence", "model", "other"),
        examples=shards("counts/compare_divergence_examples", "model", "other"),
    output:
        divergence="compared/{model}/{other}/{corpus}/divergence.parquet",
        nearest="compared/{model}/{other}/{corpus}/nearest.parquet",
        layers="compared/{model}/{other}/{corpus}/layers.parquet",
        pairs="compared/{model}/{other}/{corpus}/pairs.parquet",
        left_out="compared/{model}/{other}/{corpus}/left_out.parquet",
    log:
        "logs/merge_compare_divergence/{model}/{other}/{corpus}.log",
    benchmark:
        "logs/merge_compare_divergence/{model}/{other}/{corpus}.benchmark.tsv"
    conda:
        "../../envs/analyse.yaml"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * int(2000 + 10 * input.size_mb),
    params:
        code=code_of("merge_compare_divergence"),
    script:
        "../../scripts/merge_compare_divergence.py"


rule join_compare_divergence:
    """Put the pairs of models that were compared on {wildcards.corpus} together."""
    input:
        of_divergence=of_compared("divergence"),
        of_nearest=of_compared("nearest"),
        of_layers=of_compared("layers"),
        of_pairs=of_compared("pairs"),
        of_left_out=of_compared("left_out"),
    output:
        divergence="results/compare/{corpus}/divergence.parquet",
        divergence_csv="results/compare/{corpus}/divergence.csv",
        nearest="results/compare/{corpus}/nearest.parquet",
        nearest_csv="results/compare/{corpus}/nearest.csv",
        layers="results/compare/{corpus}/layers.parquet",
        layers_csv="results/compare/{corpus}/layers.csv",
        pairs="results/compare/{corpus}/pairs.parquet",
        pairs_csv="results/compare/{corpus}/pairs.csv",
        left_out="results/compare/{corpus}/left_out.parquet",
        left_out_csv="results/compare/{corpus}/left_out.csv",
    log:
        "logs/join_compare_divergence/{corpus}.log",
    conda:
        "../../envs/analyse.yaml"
    params:
        code=code_of("join_compare_divergence"),
    script:
        "../../scripts/join_compare_divergence.py"


rule draw_compare_divergence:
    """Draw how unlike the heads of {wildcards.model} and {wildcards.other} are on {wildcards.corpus}."""
    input:
        nearest="compared/{model}/{other}/{corpus}/nearest.parquet",
        layers="compared/{model}/{other}/{corpus}/layers.parquet",
        pairs="compared/{model}/{other}/{corpus}/pairs.parquet",
        library=LIBRARY,
    output:
        **drawing(
            "compare_divergence",
            "Models side by side",
            "divergence of the heads of two models",
            "results/compare/{corpus}/{model}/{other}",
        ),
    log:
        "logs/draw_compare_divergence/{model}/{other}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        corpus="{corpus}",
        code=code_of("draw_compare_divergence"),
    script:
        "../../scripts/draw_compare_divergence.py"
