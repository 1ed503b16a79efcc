"""
Coreference: word-level shards, documents and mentions in, Table 2, its part of figure 5 and their relatives out.

    shard --count_coreference--> counts/coreference/{model}/{corpus}/{shard}.parquet
    all --merge_coreference--> results/{model}/{corpus}/coreference/{heads,table2,distances,mentions}.{parquet,csv}
    table2 and shards --choose_passage--> coreference/{links,passage} --draw_figure_5_coreference--> figures/
"""


rule count_coreference:
    """Score the heads of {wildcards.model} on shard {wildcards.shard} of {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        documents="examples/{corpus}/documents.parquet",
        mentions="examples/{corpus}/mentions.parquet",
        attention=maps_of_job,
    output:
        hits="counts/coreference/{model}/{corpus}/{shard}.parquet",
    log:
        "logs/count_coreference/{model}/{corpus}/{shard}.log",
    benchmark:
        "logs/count_coreference/{model}/{corpus}/{shard}.benchmark.tsv"
    conda:
        with_model("../../envs/analyse.yaml")
    threads: MAPS_THREADS
    resources:
        **resources_with_maps(2000),
    params:
        live=live,
        shard="{shard}",
        code=code_with_maps("count_coreference"),
    script:
        "../../scripts/count_coreference.py"


rule merge_coreference:
    """Find the head of {wildcards.model} that best follows coreference in {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        mentions="examples/{corpus}/mentions.parquet",
        hits=shards("counts/coreference"),
    output:
        heads="results/{model}/{corpus}/coreference/heads.parquet",
        heads_csv="results/{model}/{corpus}/coreference/heads.csv",
        table2="results/{model}/{corpus}/coreference/table2.parquet",
        table2_csv="results/{model}/{corpus}/coreference/table2.csv",
        distances="results/{model}/{corpus}/coreference/distances.parquet",
        distances_csv="results/{model}/{corpus}/coreference/distances.csv",
        scored_mentions="results/{model}/{corpus}/coreference/mentions.parquet",
        scored_mentions_csv="results/{model}/{corpus}/coreference/mentions.csv",
    log:
        "logs/merge_coreference/{model}/{corpus}.log",
    benchmark:
        "logs/merge_coreference/{model}/{corpus}.benchmark.tsv"
    conda:
        "../../envs/analyse.yaml"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * int(2000 + 10 * input.size_mb),
    params:
        resamples=config["coreference"]["resamples"],
        seed=config["coreference"]["seed"],
        code=code_of("merge_coreference"),
    script:
        "../../scripts/merge_coreference.py"


rule choose_passage:
    """Choose the passage of {wildcards.corpus} that figure 5 shows."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        documents="examples/{corpus}/documents.parquet",
        mentions="examples/{corpus}/mentions.parquet",
        table2="results/{model}/{corpus}/coreference/table2.parquet",
        attention=maps_of_corpus(),
    output:
        links="results/{model}/{corpus}/coreference/links.parquet",
        links_csv="results/{model}/{corpus}/coreference/links.csv",
        passage="results/{model}/{corpus}/coreference/passage.parquet",
        passage_csv="results/{model}/{corpus}/coreference/passage.csv",
    log:
        "logs/choose_passage/{model}/{corpus}.log",
    conda:
        with_model("../../envs/analyse.yaml")
    resources:
        **resources_with_maps(2000),
    params:
        live=live,
        document=config["coreference"]["document"],
        code=code_with_maps("choose_passage"),
    script:
        "../../scripts/choose_passage.py"


rule render_table2:
    """Render Table 2 of {wildcards.model} on {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        table2="results/{model}/{corpus}/coreference/table2.parquet",
    output:
        html=report(
            "results/{model}/{corpus}/coreference/table2.html",
            caption="../report/table_2.rst",
            category="Coreference",
            labels={"figure": "table 2: heads and antecedents", "model": "{model}", "corpus": "{corpus}"},
        ),
        markdown="results/{model}/{corpus}/coreference/table2.md",
    log:
        "logs/render_table2/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        corpus="{corpus}",
        code=code_of("render_table2"),
    script:
        "../../scripts/render_table2.py"


rule draw_figure_5_coreference:
    """Draw a passage of {wildcards.corpus} as the best head of {wildcards.model} sees it."""
    input:
        links="results/{model}/{corpus}/coreference/links.parquet",
        passage="results/{model}/{corpus}/coreference/passage.parquet",
        library=LIBRARY,
    output:
        **drawing("figure_5_coreference", "Coreference", "5: the head that follows coreference"),
    log:
        "logs/draw_figure_5_coreference/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        model="{model}",
        corpus="{corpus}",
        code=code_of("draw_figure_5_coreference"),
    script:
        "../../scripts/draw_figure_5_coreference.py"


rule draw_coreference_heads:
    """Draw how well every head of {wildcards.model} follows coreference in {wildcards.corpus}."""
    input:
        heads="results/{model}/{corpus}/coreference/heads.parquet",
        table2="results/{model}/{corpus}/coreference/table2.parquet",
        library=LIBRARY,
    output:
        **drawing("coreference_heads", "Coreference", "accuracy of every head"),
    log:
        "logs/draw_coreference_heads/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        model="{model}",
        corpus="{corpus}",
        candidates=config["coreference"]["candidates"],
        code=code_of("draw_coreference_heads"),
    script:
        "../../scripts/draw_coreference_heads.py"


rule draw_coreference_distances:
    """Draw how far {wildcards.model} follows coreference in {wildcards.corpus}."""
    input:
        distances="results/{model}/{corpus}/coreference/distances.parquet",
        table2="results/{model}/{corpus}/coreference/table2.parquet",
        library=LIBRARY,
    output:
        **drawing("coreference_distances", "Coreference", "accuracy by distance"),
    log:
        "logs/draw_coreference_distances/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        model="{model}",
        corpus="{corpus}",
        candidates=config["coreference"]["candidates"],
        code=code_of("draw_coreference_distances"),
    script:
        "../../scripts/draw_coreference_distances.py"
