"""
Corpora: file or address in, examples out.

    path or url --fetch_corpus--> downloads/corpora/{corpus} --read_text--> examples/{corpus}/pairs.parquet
"""


rule fetch_corpus:
    """Download {wildcards.corpus}."""
    output:
        file="downloads/corpora/{corpus}",
    log:
        "logs/fetch_corpus/{corpus}.log",
    conda:
        "../../envs/fetch.yaml"
    params:
        url=of_corpus("url"),
        sha256=of_corpus("sha256"),
    script:
        "../../scripts/fetch_corpus.py"


rule read_text:
    """Pair the paragraphs of {wildcards.corpus}."""
    input:
        text=corpus_file,
    output:
        pairs="examples/{corpus}/pairs.parquet",
        skipped="examples/{corpus}/skipped.parquet",
    log:
        "logs/read_text/{corpus}.log",
    benchmark:
        "logs/read_text/{corpus}.benchmark.tsv"
    wildcard_constraints:
        corpus=names_of("text"),
    conda:
        "../../envs/analyse.yaml"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * int(500 + 8 * input.size_mb),
    params:
        name=lambda wildcards: CORPORA[wildcards.corpus]["url"] or CORPORA[wildcards.corpus]["path"],
        format=of_corpus("format"),
        code=code_of("read_text"),
    script:
        "../../scripts/read_text.py"
