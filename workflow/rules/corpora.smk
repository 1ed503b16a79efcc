"""
Corpora: file or address in, examples out.

    path or url --fetch_corpus--> downloads/corpora/{corpus}
    text --read_text--> examples/{corpus}/pairs.parquet
    treebank --read_treebank--> examples/{corpus}/trees.parquet
    coreference --read_coreference--> examples/{corpus}/{documents,mentions}.parquet
"""


rule fetch_corpus:
    """Download {wildcards.corpus}."""
    output:
        file="downloads/corpora/{corpus}",
    log:
        "logs/fetch_corpus/{corpus}.log",
    localrule: True  # nodes of a cluster often have no network
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
        name=corpus_name,
        format=of_corpus("format"),
        code=code_of("read_text"),
    script:
        "../../scripts/read_text.py"


rule read_treebank:
    """Read the trees of {wildcards.corpus}."""
    input:
        treebank=treebank_file,
    output:
        trees="examples/{corpus}/trees.parquet",
        skipped="examples/{corpus}/skipped.parquet",
    log:
        "logs/read_treebank/{corpus}.log",
    benchmark:
        "logs/read_treebank/{corpus}.benchmark.tsv"
    wildcard_constraints:
        corpus=names_of("treebank"),
    conda:
        "../../envs/analyse.yaml"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * int(1000 + 20 * input.size_mb),
    params:
        name=lambda wildcards: treebank_file(wildcards) if parsed(wildcards.corpus) else corpus_name(wildcards),
        format=lambda wildcards: "conllu" if parsed(wildcards.corpus) else CORPORA[wildcards.corpus]["format"],
        most_bad=of_corpus("max_bad_trees"),
        language=of_corpus("language"),
        code=code_of("read_treebank"),
    script:
        "../../scripts/read_treebank.py"


rule read_coreference:
    """Read the documents and mentions of {wildcards.corpus}."""
    input:
        corpus=document_files,
    output:
        documents="examples/{corpus}/documents.parquet",
        mentions="examples/{corpus}/mentions.parquet",
        skipped="examples/{corpus}/skipped.parquet",
    log:
        "logs/read_coreference/{corpus}.log",
    benchmark:
        "logs/read_coreference/{corpus}.benchmark.tsv"
    wildcard_constraints:
        corpus=names_of("coreference"),
    conda:
        "../../envs/analyse.yaml"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * int(1000 + 20 * input.size_mb),
    params:
        names=document_names,
        format=lambda wildcards: "corefud" if resolved(wildcards.corpus) else CORPORA[wildcards.corpus]["format"],
        discontinuous=of_corpus("discontinuous"),
        code=code_of("read_coreference"),
    script:
        "../../scripts/read_coreference.py"
