"""
Annotation by Stanza: raw text in, trees and coreference out, which then are read as if they were gold.

    fetch_stanza, fetch_stanza_coreference--> downloads/stanza/
    text --parse_dependencies--> parsed/{corpus}/trees.conllu --read_treebank
    text --resolve_coreference--> resolved/{corpus}/documents.conllu --read_coreference
"""


rule fetch_stanza:
    """Download Stanza's models {wildcards.package} of {wildcards.language}."""
    output:
        listed="downloads/stanza/{language}.{package}.json",
    log:
        "logs/fetch_stanza/{language}.{package}.log",
    wildcard_constraints:
        language="[a-z-]+",
        package="[^+]+",
    localrule: True  # nodes of a cluster often have no network
    conda:
        "../../envs/parse.yaml"
    params:
        language="{language}",
        package="{package}",
        folder=lambda wildcards, output: os.path.dirname(output.listed),
    script:
        "../../scripts/fetch_stanza.py"


use rule fetch_stanza as fetch_stanza_coreference with:
    output:
        listed="downloads/stanza/{language}.{package}+{coref_package}.json",
    log:
        "logs/fetch_stanza/{language}.{package}+{coref_package}.log",
    params:
        language="{language}",
        package="{package}",
        coref_package="{coref_package}",
        transformer_revision=config["stanza"]["transformer_revision"],
        allow_pickle=config["stanza"]["allow_pickle"],
        folder=lambda wildcards, output: os.path.dirname(output.listed),


rule parse_dependencies:
    """Parse {wildcards.corpus} with Stanza."""
    input:
        stanza_files,
        text=corpus_file,
    output:
        conllu="parsed/{corpus}/trees.conllu",
        skipped="parsed/{corpus}/skipped.parquet",
    log:
        "logs/parse_dependencies/{corpus}.log",
    benchmark:
        "logs/parse_dependencies/{corpus}.benchmark.tsv"
    wildcard_constraints:
        corpus=names_of("treebank"),
    conda:
        "../../envs/parse.yaml"
    threads: 8
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 6000,
        device="auto",
    params:
        models=stanza_folder,
        language=of_corpus("language"),
        package=of_corpus("package"),
        format=of_corpus("format"),
        max_words=of_corpus("max_words"),
        name=corpus_name,
        code=code_of("parse_dependencies"),
    script:
        "../../scripts/parse_dependencies.py"


rule resolve_coreference:
    """Resolve the coreference of {wildcards.corpus} with Stanza."""
    input:
        stanza_files,
        text=corpus_file,
    output:
        corefud="resolved/{corpus}/documents.conllu",
        skipped="resolved/{corpus}/skipped.parquet",
    log:
        "logs/resolve_coreference/{corpus}.log",
    benchmark:
        "logs/resolve_coreference/{corpus}.benchmark.tsv"
    wildcard_constraints:
        corpus=names_of("coreference"),
    conda:
        "../../envs/parse.yaml"
    threads: 8
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 12000,
        device="auto",
    params:
        models=stanza_folder,
        language=of_corpus("language"),
        package=of_corpus("package"),
        coref_package=of_corpus("coref_package"),
        max_words=of_corpus("max_words"),
        name=corpus_name,
        code=code_of("resolve_coreference"),
    script:
        "../../scripts/resolve_coreference.py"
