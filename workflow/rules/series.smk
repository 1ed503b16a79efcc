"""
Checkpoint series: the tables of a model's steps put together, and figures of its heads over training.

    syntax/{table1,heads} of each step --merge_series_syntax--> results/series/{series}/{corpus}/syntax/{best,traced}
    surface/heads of each step --merge_series_surface--> results/series/{series}/{corpus}/surface/{heads,layers}
    those --draw_series_syntax, draw_series_surface--> results/series/{series}/{corpus}/figures/
"""


wildcard_constraints:
    series="|".join(map(re.escape, SERIES)) or "(?!)",


rule merge_series_syntax:
    """Follow the best heads of {wildcards.series} on {wildcards.corpus} over its steps."""
    input:
        table1=of_steps("syntax/table1.parquet"),
        heads=of_steps("syntax/heads.parquet"),
    output:
        best="results/series/{series}/{corpus}/syntax/best.parquet",
        best_csv="results/series/{series}/{corpus}/syntax/best.csv",
        traced="results/series/{series}/{corpus}/syntax/traced.parquet",
        traced_csv="results/series/{series}/{corpus}/syntax/traced.csv",
    log:
        "logs/merge_series_syntax/{series}/{corpus}.log",
    benchmark:
        "logs/merge_series_syntax/{series}/{corpus}.benchmark.tsv"
    conda:
        "../../envs/analyse.yaml"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * int(2000 + 10 * input.size_mb),
    params:
        steps=steps,
        code=code_of("merge_series_syntax"),
    script:
        "../../scripts/merge_series_syntax.py"


rule merge_series_surface:
    """Follow what the heads of {wildcards.series} look at on {wildcards.corpus} over its steps."""
    input:
        of_steps=of_steps("surface/heads.parquet"),
    output:
        heads="results/series/{series}/{corpus}/surface/heads.parquet",
        heads_csv="results/series/{series}/{corpus}/surface/heads.csv",
        layers="results/series/{series}/{corpus}/surface/layers.parquet",
        layers_csv="results/series/{series}/{corpus}/surface/layers.csv",
    log:
        "logs/merge_series_surface/{series}/{corpus}.log",
    benchmark:
        "logs/merge_series_surface/{series}/{corpus}.benchmark.tsv"
    conda:
        "../../envs/analyse.yaml"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * int(2000 + 10 * input.size_mb),
    params:
        steps=steps,
        code=code_of("merge_series_surface"),
    script:
        "../../scripts/merge_series_surface.py"


rule draw_series_syntax:
    """Draw the best heads of {wildcards.series} on {wildcards.corpus} over its steps."""
    input:
        best="results/series/{series}/{corpus}/syntax/best.parquet",
        traced="results/series/{series}/{corpus}/syntax/traced.parquet",
        library=LIBRARY,
    output:
        **drawing("series_syntax", "Over training", "accuracy of the best heads", "results/series/{series}/{corpus}"),
    log:
        "logs/draw_series_syntax/{series}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        series="{series}",
        corpus="{corpus}",
        scheme=config["syntax"]["scheme"],
        rare=config["syntax"]["rare"],
        code=code_of("draw_series_syntax"),
    script:
        "../../scripts/draw_series_syntax.py"


rule draw_series_surface:
    """Draw what the heads of {wildcards.series} look at on {wildcards.corpus} over its steps."""
    input:
        descriptions=descriptions_of_steps,
        layers="results/series/{series}/{corpus}/surface/layers.parquet",
        library=LIBRARY,
    output:
        **drawing("series_surface", "Over training", "what heads look at", "results/series/{series}/{corpus}"),
    log:
        "logs/draw_series_surface/{series}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        series="{series}",
        corpus="{corpus}",
        code=code_of("draw_series_surface"),
    script:
        "../../scripts/draw_series_surface.py"
