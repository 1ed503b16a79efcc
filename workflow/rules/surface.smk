"""
Surface patterns: shards in, tables and figures 1, 2 and 4 out.

    shard --count_surface--> counts/surface/{model}/{corpus}/{shard}.parquet
    all --merge_surface--> results/{model}/{corpus}/surface/{heads,uniform}.{parquet,csv}
    heads and shards --choose_maps--> surface/maps --draw_figure_*--> results/{model}/{corpus}/figures/
"""


rule count_surface:
    """Sum the surface measures of {wildcards.model} over shard {wildcards.shard} of {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        attention=maps_of_job,
    output:
        counts="counts/surface/{model}/{corpus}/{shard}.parquet",
    log:
        "logs/count_surface/{model}/{corpus}/{shard}.log",
    benchmark:
        "logs/count_surface/{model}/{corpus}/{shard}.benchmark.tsv"
    conda:
        with_model("../../envs/analyse.yaml")
    threads: MAPS_THREADS
    resources:
        **resources_with_maps(2000),
    params:
        live=live,
        shard="{shard}",
        code=code_with_maps("count_surface"),
    script:
        "../../scripts/count_surface.py"


rule merge_surface:
    """Average the surface measures of {wildcards.model} over {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        counts=shards("counts/surface"),
    output:
        heads="results/{model}/{corpus}/surface/heads.parquet",
        heads_csv="results/{model}/{corpus}/surface/heads.csv",
        uniform="results/{model}/{corpus}/surface/uniform.parquet",
        uniform_csv="results/{model}/{corpus}/surface/uniform.csv",
    log:
        "logs/merge_surface/{model}/{corpus}.log",
    benchmark:
        "logs/merge_surface/{model}/{corpus}.benchmark.tsv"
    conda:
        "../../envs/analyse.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
    params:
        neighbours=config["surface"]["neighbours"],
        code=code_of("merge_surface"),
    script:
        "../../scripts/merge_surface.py"


rule choose_maps:
    """Choose the maps of {wildcards.model} on {wildcards.corpus} that figure 1 shows."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        heads="results/{model}/{corpus}/surface/heads.parquet",
        attention=maps_of_corpus(),
    output:
        maps="results/{model}/{corpus}/surface/maps.parquet",
        maps_csv="results/{model}/{corpus}/surface/maps.csv",
    log:
        "logs/choose_maps/{model}/{corpus}.log",
    conda:
        with_model("../../envs/analyse.yaml")
    resources:
        **resources_with_maps(2000),
    params:
        live=live,
        example=config["figure_1"]["example"],
        chosen=lambda wildcards: [
            head["head"] for head in config["figure_1"]["heads"] if head["model"] == wildcards.model
        ],
        tokens=config["figure_1"]["tokens"],
        code=code_with_maps("choose_maps"),
    script:
        "../../scripts/choose_maps.py"


rule draw_figure_1:
    """Draw token-to-token maps of chosen heads of {wildcards.model} on {wildcards.corpus}."""
    input:
        maps="results/{model}/{corpus}/surface/maps.parquet",
        library=LIBRARY,
    output:
        **drawing("figure_1", "Surface patterns", "1: maps of single heads"),
    log:
        "logs/draw_figure_1/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        model="{model}",
        corpus="{corpus}",
        code=code_of("draw_figure_1"),
    script:
        "../../scripts/draw_figure_1.py"


rule draw_figure_2:
    """Draw where the heads of {wildcards.model} look on {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        heads="results/{model}/{corpus}/surface/heads.parquet",
        uniform="results/{model}/{corpus}/surface/uniform.parquet",
        library=LIBRARY,
    output:
        **drawing("figure_2", "Surface patterns", "2: where heads look"),
    log:
        "logs/draw_figure_2/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        corpus="{corpus}",
        code=code_of("draw_figure_2"),
    script:
        "../../scripts/draw_figure_2.py"


rule draw_figure_4:
    """Draw how broadly the heads of {wildcards.model} attend on {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        heads="results/{model}/{corpus}/surface/heads.parquet",
        uniform="results/{model}/{corpus}/surface/uniform.parquet",
        library=LIBRARY,
    output:
        **drawing("figure_4", "Surface patterns", "4: entropy of heads"),
    log:
        "logs/draw_figure_4/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        corpus="{corpus}",
        code=code_of("draw_figure_4"),
    script:
        "../../scripts/draw_figure_4.py"
