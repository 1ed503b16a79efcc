"""
Gradients of the masked language model's loss: model and examples in, tables and figure 3 out, without stored maps.

    texts --train_mlm_head, where the config says so--> models/{model}/mlm_head.safetensors
    model and head --check_mlm_head--> models/{model}/mlm_head.json: where the head comes from, or why there is none
    examples --count_gradients, one job a shard--> counts/gradients/{model}/{corpus}/{shard}.parquet
    all --merge_gradients--> results/{model}/{corpus}/gradients/{layers,heads,loss}.{parquet,csv} --draw_figure_3-->
"""


rule train_mlm_head:
    """Fit a head for masked tokens to {wildcards.model}."""
    input:
        checkpoint_files,
        description="models/{model}/description.json",
        training=mlm_text("corpus"),
        held_out=mlm_text("held_out"),
    output:
        head="models/{model}/mlm_head.safetensors",
        curve="models/{model}/mlm_head.csv",
    log:
        "logs/train_mlm_head/{model}.log",
    benchmark:
        "logs/train_mlm_head/{model}.benchmark.tsv"
    conda:
        "../../envs/attend.yaml"
    threads: 8
    resources:
        mem_mb=memory_to_train,
        runtime=minutes_to_train,
        device="auto",
    params:
        checkpoint=checkpoint,
        loading=loading,
        corpora=[config["train_mlm_head"]["corpus"], config["train_mlm_head"]["held_out"]],
        draws=config["train_mlm_head"]["draws"],
        epochs=config["train_mlm_head"]["epochs"],
        batch=config["train_mlm_head"]["batch"],
        learning_rate=config["train_mlm_head"]["learning_rate"],
        seed=config["train_mlm_head"]["seed"],
        code=code_of("train_mlm_head"),
    script:
        "../../scripts/train_mlm_head.py"


rule check_mlm_head:
    """Find the head of {wildcards.model} for masked tokens."""
    input:
        checkpoint_files,
        description="models/{model}/description.json",
        file=mlm_head_file,
    output:
        answer="models/{model}/mlm_head.json",
    log:
        "logs/check_mlm_head/{model}.log",
    conda:
        "../../envs/attend.yaml"
    resources:
        mem_mb=memory(copies=4),
        runtime=lambda wildcards, attempt: attempt * 30,
    params:
        checkpoint=checkpoint,
        loading=loading,
        name=mlm_head_name,
        code=code_of("check_mlm_head"),
    script:
        "../../scripts/check_mlm_head.py"


rule count_gradients:
    """Sum the gradients of {wildcards.model} over shard {wildcards.shard} of {wildcards.corpus}."""
    input:
        checkpoint_files,
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        answer="models/{model}/mlm_head.json",
        file=mlm_head_file,
    output:
        counts="counts/gradients/{model}/{corpus}/{shard}.parquet",
    log:
        "logs/count_gradients/{model}/{corpus}/{shard}.log",
    benchmark:
        "logs/count_gradients/{model}/{corpus}/{shard}.benchmark.tsv"
    conda:
        "../../envs/attend.yaml"
    threads: 8
    resources:
        mem_mb=memory(copies=4, backward=True),
        runtime=minutes(passes=4),
        device="auto",
        budget_mb=0,
    params:
        checkpoint=checkpoint,
        loading=loading,
        shard="{shard}",
        seed=config["gradients"]["seed"],
        code=code_of("count_gradients"),
    script:
        "../../scripts/count_gradients.py"


rule merge_gradients:
    """Average the gradients of {wildcards.model} over {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        answer="models/{model}/mlm_head.json",
        counts=shards("counts/gradients"),
    output:
        layers="results/{model}/{corpus}/gradients/layers.parquet",
        layers_csv="results/{model}/{corpus}/gradients/layers.csv",
        heads="results/{model}/{corpus}/gradients/heads.parquet",
        heads_csv="results/{model}/{corpus}/gradients/heads.csv",
        loss="results/{model}/{corpus}/gradients/loss.parquet",
        loss_csv="results/{model}/{corpus}/gradients/loss.csv",
    log:
        "logs/merge_gradients/{model}/{corpus}.log",
    benchmark:
        "logs/merge_gradients/{model}/{corpus}.benchmark.tsv"
    conda:
        "../../envs/analyse.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
    params:
        code=code_of("merge_gradients"),
    script:
        "../../scripts/merge_gradients.py"


rule draw_figure_3:
    """Draw how much the loss of {wildcards.model} hangs on its attention, on {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        layers="results/{model}/{corpus}/gradients/layers.parquet",
        heads="results/{model}/{corpus}/gradients/heads.parquet",
        loss="results/{model}/{corpus}/gradients/loss.parquet",
        library=LIBRARY,
    output:
        **drawing("figure_3", "Gradients", "3: what the loss hangs on"),
    log:
        "logs/draw_figure_3/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        corpus="{corpus}",
        code=code_of("draw_figure_3"),
    script:
        "../../scripts/draw_figure_3.py"
