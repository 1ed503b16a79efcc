"""
Probes over all heads: word-level shards, trees and word vectors in, Table 3 and its relatives out.

    shards, trees and vectors of the training treebank --lay_out_sentences--> probes/{model}/{corpus}/sentences.arrow
    --train_probe, one job a probe--> probes/{model}/{corpus}/{probe}.safetensors
    those and the shards of a test treebank --score_probes--> counts/probes/{model}/{corpus}.parquet
    with the structural probe and the random twins --merge_probes--> results/{model}/{corpus}/probes/
"""


rule lay_out_sentences:
    """Lay the sentences of {wildcards.corpus} out as {wildcards.model} attends to them."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        trees="examples/{corpus}/trees.parquet",
        vectors=word_vectors,
        attention=maps_of_corpus(),
    output:
        sentences=temp("probes/{model}/{corpus}/sentences.arrow"),
        index="probes/{model}/{corpus}/sentences.parquet",
    log:
        "logs/lay_out_sentences/{model}/{corpus}.log",
    benchmark:
        "logs/lay_out_sentences/{model}/{corpus}.benchmark.tsv"
    conda:
        "../../envs/probe.yaml"
    threads: MAPS_THREADS
    resources:
        **resources_with_maps(2000),
    params:
        live=live,
        scheme=config["probes"]["scheme"],
        code=code_with_maps("lay_out_sentences"),
    script:
        "../../scripts/lay_out_sentences.py"


rule train_probe:
    """Learn the probe {wildcards.probe} over {wildcards.model} from {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        vectors=word_vectors,
        sentences="probes/{model}/{corpus}/sentences.arrow",
        index="probes/{model}/{corpus}/sentences.parquet",
    output:
        learned="probes/{model}/{corpus}/{probe}.safetensors",
        training="probes/{model}/{corpus}/{probe}.csv",
    log:
        "logs/train_probe/{model}/{corpus}/{probe}.log",
    benchmark:
        "logs/train_probe/{model}/{corpus}/{probe}.benchmark.tsv"
    wildcard_constraints:
        probe="|".join(map(re.escape, LEARNED)),
    conda:
        "../../envs/probe.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 3000,
        device="auto",
    params:
        probe="{probe}",
        seeds=config["probes"]["seeds"],
        curve=learning_curve,
        epochs=config["probes"]["epochs"],
        patience=config["probes"]["patience"],
        batch_words=config["probes"]["batch_words"],
        learning_rate=config["probes"]["learning_rate"],
        code=code_of("train_probe"),
    script:
        "../../scripts/train_probe.py"


rule score_probes:
    """Score the probes over {wildcards.model} on {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        trees="examples/{corpus}/trees.parquet",
        training_trees=f"examples/{config['probes']['train']}/trees.parquet",
        vectors=word_vectors,
        attention=maps_of_corpus(),
        probes=probes_of,
    output:
        counts="counts/probes/{model}/{corpus}.parquet",
    log:
        "logs/score_probes/{model}/{corpus}.log",
    benchmark:
        "logs/score_probes/{model}/{corpus}.benchmark.tsv"
    conda:
        "../../envs/probe.yaml"
    resources:
        **resources_with_maps(3000),
    params:
        live=live,
        scheme=config["probes"]["scheme"],
        offsets=config["syntax"]["offsets"],
        code=code_with_maps("score_probes"),
    script:
        "../../scripts/score_probes.py"


rule merge_probes:
    """Put the probes over {wildcards.model} together, as they do on {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        counts=[
            "counts/probes/{model}/{corpus}.parquet",
            "counts/structural/{model}/{corpus}.parquet",
        ],
        of_twins=counts_of_twins,
        probes=probes_of,
    output:
        table3="results/{model}/{corpus}/probes/table3.parquet",
        table3_csv="results/{model}/{corpus}/probes/table3.csv",
        curve="results/{model}/{corpus}/probes/curve.parquet",
        curve_csv="results/{model}/{corpus}/probes/curve.csv",
        weights="results/{model}/{corpus}/probes/weights.parquet",
        weights_csv="results/{model}/{corpus}/probes/weights.csv",
    log:
        "logs/merge_probes/{model}/{corpus}.log",
    benchmark:
        "logs/merge_probes/{model}/{corpus}.benchmark.tsv"
    conda:
        "../../envs/probe.yaml"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * int(2000 + 10 * input.size_mb),
    params:
        resamples=config["probes"]["resamples"],
        code=code_of("merge_probes"),
    script:
        "../../scripts/merge_probes.py"
