"""
The structural probe (Hewitt & Manning 2019), the outside reference of Table 3: hidden states and trees in, counts out.

    shard of examples --extract_states--> states/{model}/{corpus}/{shard}.parquet: hidden states of words, every layer
    those of the training treebank --train_structural--> probes/{model}/{corpus}/structural.safetensors, its layer chosen
    that and the states of a test treebank --score_structural--> counts/structural/{model}/{corpus}.parquet
"""


rule extract_states:
    """Write the hidden states of {wildcards.model} for shard {wildcards.shard} of {wildcards.corpus}."""
    input:
        checkpoint_files,
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
    output:
        states=stored("states"),
    log:
        "logs/extract_states/{model}/{corpus}/{shard}.log",
    benchmark:
        "logs/extract_states/{model}/{corpus}/{shard}.benchmark.tsv"
    wildcard_constraints:
        corpus=names_of("treebank"),
    conda:
        "../../envs/attend.yaml"
    threads: 8
    resources:
        mem_mb=memory(),
        runtime=minutes(),
        device="auto",
        budget_mb=0,
    params:
        checkpoint=checkpoint,
        loading=loading,
        shard="{shard}",
        dtype=config["probes"]["states"],
        code=code_of("extract_states"),
    script:
        "../../scripts/extract_states.py"


rule train_structural:
    """Learn the structural probe of {wildcards.model} from {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        trees="examples/{corpus}/trees.parquet",
        states=stored_shards("states"),
    output:
        probe="probes/{model}/{corpus}/structural.safetensors",
        layers="probes/{model}/{corpus}/structural_layers.parquet",
        layers_csv="probes/{model}/{corpus}/structural_layers.csv",
    log:
        "logs/train_structural/{model}/{corpus}.log",
    benchmark:
        "logs/train_structural/{model}/{corpus}.benchmark.tsv"
    conda:
        "../../envs/probe.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 3000,
        device="auto",
    params:
        scheme=config["probes"]["scheme"],
        rank=config["probes"]["structural_rank"],
        seeds=config["probes"]["seeds"],
        epochs=config["probes"]["epochs"],
        patience=config["probes"]["patience"],
        batch_words=config["probes"]["batch_words"],
        code=code_of("train_structural"),
    script:
        "../../scripts/train_structural.py"


rule score_structural:
    """Score the structural probe of {wildcards.model} on {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        trees="examples/{corpus}/trees.parquet",
        states=stored_shards("states"),
        probe=f"probes/{{model}}/{config['probes']['train']}/structural.safetensors",
    output:
        counts="counts/structural/{model}/{corpus}.parquet",
    log:
        "logs/score_structural/{model}/{corpus}.log",
    benchmark:
        "logs/score_structural/{model}/{corpus}.benchmark.tsv"
    conda:
        "../../envs/probe.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
    params:
        scheme=config["probes"]["scheme"],
        code=code_of("score_structural"),
    script:
        "../../scripts/score_structural.py"
