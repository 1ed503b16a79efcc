"""
Dependency syntax: word-level shards and trees in, Table 1, figure 5 and their relatives out.

    shard --count_syntax--> counts/syntax/{model}/{corpus}/{shard}.parquet
    all --merge_syntax--> results/{model}/{corpus}/syntax/{heads,table1}.{parquet,csv} --render_table1, draw_syntax_*
    table1 and shards --choose_sentences--> syntax/examples --draw_figure_5--> results/{model}/{corpus}/figures/
"""


rule count_syntax:
    """Score the heads of {wildcards.model} on shard {wildcards.shard} of {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        trees="examples/{corpus}/trees.parquet",
        attention=maps_of_job,
    output:
        hits="counts/syntax/{model}/{corpus}/{shard}.parquet",
    log:
        "logs/count_syntax/{model}/{corpus}/{shard}.log",
    benchmark:
        "logs/count_syntax/{model}/{corpus}/{shard}.benchmark.tsv"
    conda:
        with_model("../../envs/analyse.yaml")
    threads: MAPS_THREADS
    resources:
        **resources_with_maps(2000),
    params:
        live=live,
        shard="{shard}",
        code=code_with_maps("count_syntax"),
    script:
        "../../scripts/count_syntax.py"


rule merge_syntax:
    """Find the best head of {wildcards.model} for each relation of {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        hits=shards("counts/syntax"),
    output:
        heads="results/{model}/{corpus}/syntax/heads.parquet",
        heads_csv="results/{model}/{corpus}/syntax/heads.csv",
        table1="results/{model}/{corpus}/syntax/table1.parquet",
        table1_csv="results/{model}/{corpus}/syntax/table1.csv",
    log:
        "logs/merge_syntax/{model}/{corpus}.log",
    benchmark:
        "logs/merge_syntax/{model}/{corpus}.benchmark.tsv"
    conda:
        "../../envs/analyse.yaml"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * int(2000 + 10 * input.size_mb),
    params:
        every=config["syntax"]["all"],
        offsets=config["syntax"]["offsets"],
        resamples=config["syntax"]["resamples"],
        seed=config["syntax"]["seed"],
        code=code_of("merge_syntax"),
    script:
        "../../scripts/merge_syntax.py"


rule choose_sentences:
    """Choose the relations and sentences of {wildcards.corpus} that figure 5 shows."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        trees="examples/{corpus}/trees.parquet",
        table1="results/{model}/{corpus}/syntax/table1.parquet",
        attention=maps_of_corpus(),
    output:
        examples="results/{model}/{corpus}/syntax/examples.parquet",
        examples_csv="results/{model}/{corpus}/syntax/examples.csv",
    log:
        "logs/choose_sentences/{model}/{corpus}.log",
    conda:
        with_model("../../envs/analyse.yaml")
    resources:
        **resources_with_maps(2000),
    params:
        live=live,
        scheme=config["syntax"]["scheme"],
        relations=config["figure_5"]["relations"],
        rare=config["syntax"]["rare"],
        code=code_with_maps("choose_sentences"),
    script:
        "../../scripts/choose_sentences.py"


rule render_table1:
    """Render Table 1 of {wildcards.model} on {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        table1="results/{model}/{corpus}/syntax/table1.parquet",
    output:
        html=report(
            "results/{model}/{corpus}/syntax/table1.html",
            caption="../report/table_1.rst",
            category="Syntax",
            labels={"figure": "table 1: the best head of each relation", "model": "{model}", "corpus": "{corpus}"},
        ),
        markdown="results/{model}/{corpus}/syntax/table1.md",
    log:
        "logs/render_table1/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        corpus="{corpus}",
        rare=config["syntax"]["rare"],
        code=code_of("render_table1"),
    script:
        "../../scripts/render_table1.py"


rule draw_figure_5:
    """Draw sentences as the best heads of {wildcards.model} see them, on {wildcards.corpus}."""
    input:
        examples="results/{model}/{corpus}/syntax/examples.parquet",
        library=LIBRARY,
    output:
        **drawing("figure_5", "Syntax", "5: heads that follow a relation"),
    log:
        "logs/draw_figure_5/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        model="{model}",
        corpus="{corpus}",
        code=code_of("draw_figure_5"),
    script:
        "../../scripts/draw_figure_5.py"


rule draw_syntax_heads:
    """Draw how well every head of {wildcards.model} follows each relation of {wildcards.corpus}."""
    input:
        heads="results/{model}/{corpus}/syntax/heads.parquet",
        table1="results/{model}/{corpus}/syntax/table1.parquet",
        library=LIBRARY,
    output:
        **drawing("syntax_heads", "Syntax", "accuracy of every head"),
    log:
        "logs/draw_syntax_heads/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        model="{model}",
        corpus="{corpus}",
        scheme=config["syntax"]["scheme"],
        relations=6,
        code=code_of("draw_syntax_heads"),
    script:
        "../../scripts/draw_syntax_heads.py"


rule draw_syntax_baseline:
    """Draw the best heads of {wildcards.model} against fixed offsets, on {wildcards.corpus}."""
    input:
        table1="results/{model}/{corpus}/syntax/table1.parquet",
        library=LIBRARY,
    output:
        **drawing("syntax_baseline", "Syntax", "best head against baseline"),
    log:
        "logs/draw_syntax_baseline/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        model="{model}",
        corpus="{corpus}",
        scheme=config["syntax"]["scheme"],
        rare=config["syntax"]["rare"],
        code=code_of("draw_syntax_baseline"),
    script:
        "../../scripts/draw_syntax_baseline.py"
