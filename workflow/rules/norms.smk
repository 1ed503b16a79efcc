"""
Norms and the [SEP] page: text examples and model in, tables and a figure out. No attention map is read from disk.

    model and examples --count_norms, one job a shard--> counts/norms/{model}/{corpus}/{shard}.parquet
    all --merge_norms--> results/{model}/{corpus}/norms/{layers,heads}.{parquet,csv}
    all and gradients/layers --compare_sep--> norms/{shares,claims} --draw_figure_sep, render_claims
"""


rule count_norms:
    """Sum attention and norms of {wildcards.model} over shard {wildcards.shard} of {wildcards.corpus}."""
    input:
        checkpoint_files,
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
    output:
        counts="counts/norms/{model}/{corpus}/{shard}.parquet",
    log:
        "logs/count_norms/{model}/{corpus}/{shard}.log",
    benchmark:
        "logs/count_norms/{model}/{corpus}/{shard}.benchmark.tsv"
    wildcard_constraints:
        corpus=names_of("text"),
    conda:
        "../../envs/attend.yaml"
    threads: 8
    resources:
        mem_mb=memory(),
        runtime=minutes(passes=2),
        device="auto",
        budget_mb=0,
    params:
        checkpoint=checkpoint,
        loading=loading,
        shard="{shard}",
        code=code_of("count_norms"),
    script:
        "../../scripts/count_norms.py"


rule merge_norms:
    """Average attention and norms of {wildcards.model} over {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        counts=shards("counts/norms"),
    output:
        layers="results/{model}/{corpus}/norms/layers.parquet",
        layers_csv="results/{model}/{corpus}/norms/layers.csv",
        heads="results/{model}/{corpus}/norms/heads.parquet",
        heads_csv="results/{model}/{corpus}/norms/heads.csv",
    log:
        "logs/merge_norms/{model}/{corpus}.log",
    benchmark:
        "logs/merge_norms/{model}/{corpus}.benchmark.tsv"
    conda:
        "../../envs/analyse.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
    params:
        code=code_of("merge_norms"),
    script:
        "../../scripts/merge_norms.py"


rule compare_sep:
    """Compare what the separator gets of attention, norms and gradients in {wildcards.model} on {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        counts=shards("counts/norms"),
        layers="results/{model}/{corpus}/norms/layers.parquet",
        gradients="results/{model}/{corpus}/gradients/layers.parquet",
    output:
        shares="results/{model}/{corpus}/norms/shares.parquet",
        shares_csv="results/{model}/{corpus}/norms/shares.csv",
        claims="results/{model}/{corpus}/norms/claims.parquet",
        claims_csv="results/{model}/{corpus}/norms/claims.csv",
    log:
        "logs/compare_sep/{model}/{corpus}.log",
    benchmark:
        "logs/compare_sep/{model}/{corpus}.benchmark.tsv"
    conda:
        "../../envs/analyse.yaml"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * int(2000 + 10 * input.size_mb),
    params:
        resamples=config["norms"]["resamples"],
        seed=config["norms"]["seed"],
        code=code_of("compare_sep"),
    script:
        "../../scripts/compare_sep.py"


rule render_claims:
    """Render what was found of the claims about the separator in {wildcards.model} on {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        claims="results/{model}/{corpus}/norms/claims.parquet",
    output:
        html=report(
            "results/{model}/{corpus}/norms/claims.html",
            caption="../report/claims.rst",
            category="Norms",
            labels={"figure": "what attention to the separator is for", "model": "{model}", "corpus": "{corpus}"},
        ),
        markdown="results/{model}/{corpus}/norms/claims.md",
    log:
        "logs/render_claims/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        corpus="{corpus}",
        code=code_of("render_claims"),
    script:
        "../../scripts/render_claims.py"


rule draw_figure_sep:
    """Draw what the separator gets in {wildcards.model} on {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        shares="results/{model}/{corpus}/norms/shares.parquet",
        heads="results/{model}/{corpus}/norms/heads.parquet",
        library=LIBRARY,
    output:
        **drawing("figure_sep", "Norms", "is attention to the separator a no-op?"),
    log:
        "logs/draw_figure_sep/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        corpus="{corpus}",
        code=code_of("draw_figure_sep"),
    script:
        "../../scripts/draw_figure_sep.py"
