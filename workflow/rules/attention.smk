"""
Attention maps: model and examples in, shards out.

    source --fetch_model, describe_model--> models/{model}/description.json
    examples --encode_text, encode_words or encode_documents--> encoded/{model}/{corpus}/examples.parquet
    both --extract_attention, one job a shard--> attention/{model}/{corpus}/{shard}.parquet
"""


rule fetch_model:
    """Download {wildcards.model}."""
    output:
        files="downloads/models/{model}.json",
    log:
        "logs/fetch_model/{model}.log",
    localrule: True  # nodes of a cluster often have no network
    conda:
        "../../envs/fetch.yaml"
    params:
        folder=lambda wildcards, output: output.files.removesuffix(".json"),
        source=of_model("source"),
        revision=of_model("revision"),
        allow_pickle=of_model("allow_pickle"),
        allow_remote_code=of_model("allow_remote_code"),
        random_init=of_model("random_init"),
    script:
        "../../scripts/fetch_model.py"


rule describe_model:
    """Load {wildcards.model} once, try it and describe it."""
    input:
        checkpoint_files,
        fetched=fetched_list,
    output:
        description="models/{model}/description.json",
    log:
        "logs/describe_model/{model}.log",
    benchmark:
        "logs/describe_model/{model}.benchmark.tsv"
    conda:
        "../../envs/attend.yaml"
    resources:
        mem_mb=memory_of_checkpoint,
        runtime=lambda wildcards, attempt: attempt * 30,
    params:
        name="{model}",
        checkpoint=checkpoint,
        source=of_model("source"),
        revision=of_model("revision"),
        loading=loading,
        code=code_of("describe_model"),
    script:
        "../../scripts/describe_model.py"


rule encode_text:
    """Turn {wildcards.corpus} into the tokens of {wildcards.model}."""
    input:
        checkpoint_files,
        description="models/{model}/description.json",
        pairs="examples/{corpus}/pairs.parquet",
    output:
        encoded="encoded/{model}/{corpus}/examples.parquet",
        skipped="encoded/{model}/{corpus}/skipped.parquet",
    log:
        "logs/encode_text/{model}/{corpus}.log",
    benchmark:
        "logs/encode_text/{model}/{corpus}.benchmark.tsv"
    wildcard_constraints:
        corpus=names_of("text"),
    conda:
        "../../envs/attend.yaml"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * int(2000 + 30 * input.size_mb),
    params:
        checkpoint=checkpoint,
        allow_remote_code=of_model("allow_remote_code"),
        max_tokens=of_corpus("max_tokens"),
        segments=of_corpus("segments"),
        code=code_of("encode_text"),
    script:
        "../../scripts/encode_text.py"


rule encode_words:
    """Turn the sentences of {wildcards.corpus} into the tokens of {wildcards.model}."""
    input:
        checkpoint_files,
        description="models/{model}/description.json",
        trees="examples/{corpus}/trees.parquet",
    output:
        encoded="encoded/{model}/{corpus}/examples.parquet",
        skipped="encoded/{model}/{corpus}/skipped.parquet",
    log:
        "logs/encode_words/{model}/{corpus}.log",
    benchmark:
        "logs/encode_words/{model}/{corpus}.benchmark.tsv"
    wildcard_constraints:
        corpus=names_of("treebank"),
    conda:
        "../../envs/attend.yaml"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * int(2000 + 30 * input.size_mb),
    params:
        checkpoint=checkpoint,
        allow_remote_code=of_model("allow_remote_code"),
        max_tokens=of_corpus("max_tokens"),
        code=code_of("encode_words"),
    script:
        "../../scripts/encode_words.py"


rule encode_documents:
    """Turn the documents of {wildcards.corpus} into the tokens of {wildcards.model}, cut to its limit."""
    input:
        checkpoint_files,
        description="models/{model}/description.json",
        documents="examples/{corpus}/documents.parquet",
        mentions="examples/{corpus}/mentions.parquet",
    output:
        encoded="encoded/{model}/{corpus}/examples.parquet",
        skipped="encoded/{model}/{corpus}/skipped.parquet",
    log:
        "logs/encode_documents/{model}/{corpus}.log",
    benchmark:
        "logs/encode_documents/{model}/{corpus}.benchmark.tsv"
    wildcard_constraints:
        corpus=names_of("coreference"),
    conda:
        "../../envs/attend.yaml"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * int(2000 + 30 * input.size_mb),
    params:
        checkpoint=checkpoint,
        allow_remote_code=of_model("allow_remote_code"),
        max_tokens=of_corpus("max_tokens"),
        code=code_of("encode_documents"),
    script:
        "../../scripts/encode_documents.py"


rule extract_attention:
    """Write the attention maps of {wildcards.model} for shard {wildcards.shard} of {wildcards.corpus}."""
    input:
        checkpoint_files,
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
    output:
        attention=stored("attention"),
    log:
        "logs/extract_attention/{model}/{corpus}/{shard}.log",
    benchmark:
        "logs/extract_attention/{model}/{corpus}/{shard}.benchmark.tsv"
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
        dtype=config["attention"]["dtype"],
        fold=fold,
        code=code_of("extract_attention"),
    script:
        "../../scripts/extract_attention.py"


rule list_skipped:
    """List what of {wildcards.corpus} was passed over for {wildcards.model}, and why."""
    input:
        stages=skipped_files,
    output:
        skipped="results/{model}/{corpus}/skipped.parquet",
        skipped_csv="results/{model}/{corpus}/skipped.csv",
    log:
        "logs/list_skipped/{model}/{corpus}.log",
    conda:
        "../../envs/analyse.yaml"
    params:
        code=code_of("list_skipped"),
    script:
        "../../scripts/list_skipped.py"
