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
        attention="attention/{model}/{corpus}/{shard}.parquet",
    output:
        hits="counts/syntax/{model}/{corpus}/{shard}.parquet",
    log:
        "logs/count_syntax/{model}/{corpus}/{shard}.log",
    benchmark:
        "logs/count_syntax/{model}/{corpus}/{shard}.benchmark.tsv"
    conda:
        "../../envs/analyse.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
    params:
        code=code_of("count_syntax"),
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
        attention=shards("attention"),
    output:
        examples="results/{model}/{corpus}/syntax/examples.parquet",
        examples_csv="results/{model}/{corpus}/syntax/examples.csv",
    log:
        "logs/choose_sentences/{model}/{corpus}.log",
    conda:
        "../../envs/analyse.yaml"
    params:
        scheme=config["syntax"]["scheme"],
        relations=config["figure_5"]["relations"],
        rare=config["syntax"]["rare"],
        code=code_of("choose_sentences"),
    script:
        "../../scripts/choose_sentences.py"
