"""
Probes for readers: finished tables in, Table 3 and its figures out. {corpus} is what the probes are scored on.

    results/{model}/{corpus}/probes/table3 --render_table3--> probes/table3.{html,md}
    table3, curve, weights --draw_probe_*--> results/{model}/{corpus}/figures/
"""


rule render_table3:
    """Render Table 3 of {wildcards.model} on {wildcards.corpus}."""
    input:
        description="models/{model}/description.json",
        table3="results/{model}/{corpus}/probes/table3.parquet",
    output:
        html=report(
            "results/{model}/{corpus}/probes/table3.html",
            caption="../report/table_3.rst",
            category="Probes",
            labels={"figure": "table 3: probes over all heads", "model": "{model}", "corpus": "{corpus}"},
        ),
        markdown="results/{model}/{corpus}/probes/table3.md",
    log:
        "logs/render_table3/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        corpus="{corpus}",
        train=config["probes"]["train"],
        code=code_of("render_table3"),
    script:
        "../../scripts/render_table3.py"


rule draw_probe_weights:
    """Draw which heads of {wildcards.model} the probes read."""
    input:
        weights="results/{model}/{corpus}/probes/weights.parquet",
        library=LIBRARY,
    output:
        **drawing("probe_weights", "Probes", "weights of every head"),
    log:
        "logs/draw_probe_weights/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        model="{model}",
        train=config["probes"]["train"],
        code=code_of("draw_probe_weights"),
    script:
        "../../scripts/draw_probe_weights.py"


rule draw_probe_curve:
    """Draw how much the probes of {wildcards.model} learn from how many sentences, on {wildcards.corpus}."""
    input:
        curve="results/{model}/{corpus}/probes/curve.parquet",
        table3="results/{model}/{corpus}/probes/table3.parquet",
        library=LIBRARY,
    output:
        **drawing("probe_curve", "Probes", "learning curve"),
    log:
        "logs/draw_probe_curve/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        model="{model}",
        corpus="{corpus}",
        train=config["probes"]["train"],
        code=code_of("draw_probe_curve"),
    script:
        "../../scripts/draw_probe_curve.py"
