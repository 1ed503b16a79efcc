"""
Word vectors of treebanks, for the probes: from the model itself or from a file, as the config says.

    model and examples --embed_words--> probes/{model}/{corpus}/vectors.parquet, results/{model}/{corpus}/probes/coverage
    file and examples --look_up_words--> the same
"""


rule embed_words:
    """Take the vectors of the words of {wildcards.corpus} out of {wildcards.model}."""
    input:
        checkpoint_files,
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        trees="examples/{corpus}/trees.parquet",
    output:
        vectors="probes/{model}/{corpus}/vectors.parquet",
        coverage="results/{model}/{corpus}/probes/coverage.parquet",
        coverage_csv="results/{model}/{corpus}/probes/coverage.csv",
    log:
        "logs/embed_words/{model}/{corpus}.log",
    benchmark:
        "logs/embed_words/{model}/{corpus}.benchmark.tsv"
    wildcard_constraints:
        corpus=with_vectors_of("model"),
    conda:
        "../../envs/attend.yaml"
    resources:
        mem_mb=memory(),
        runtime=minutes(),
    params:
        checkpoint=checkpoint,
        loading=loading,
        code=code_of("embed_words"),
    script:
        "../../scripts/embed_words.py"


rule look_up_words:
    """Look the words of {wildcards.corpus} up in a file of word vectors."""
    input:
        encoded="encoded/{model}/{corpus}/examples.parquet",
        trees="examples/{corpus}/trees.parquet",
        file=vectors_file,
    output:
        vectors="probes/{model}/{corpus}/vectors.parquet",
        coverage="results/{model}/{corpus}/probes/coverage.parquet",
        coverage_csv="results/{model}/{corpus}/probes/coverage.csv",
    log:
        "logs/look_up_words/{model}/{corpus}.log",
    benchmark:
        "logs/look_up_words/{model}/{corpus}.benchmark.tsv"
    wildcard_constraints:
        corpus=with_vectors_of("file"),
    conda:
        "../../envs/analyse.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
    params:
        name=vectors_name,
        code=code_of("look_up_words"),
    script:
        "../../scripts/look_up_words.py"
