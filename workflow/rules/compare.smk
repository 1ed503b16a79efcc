"""
Several models side by side: result tables of each in, tables with a column of models, figures and claims out.

    results/{model}/{corpus}/* --judge_claims--> results/{model}/{corpus}/claims.{parquet,csv}
    those of every model and corpus --compare_claims--> results/compare/claims.{parquet,csv,html,md}
    tables of each model --compare_surface, compare_tables--> results/compare/{corpus}/*.{parquet,csv}
    those --draw_compare_*--> results/compare/{corpus}/figures/
"""


rule judge_claims:
    """Judge the paper's claims by what was found of {wildcards.model} on {wildcards.corpus}."""
    input:
        unpack(claim_tables),
        description="models/{model}/description.json",
    output:
        claims="results/{model}/{corpus}/claims.parquet",
        claims_csv="results/{model}/{corpus}/claims.csv",
    log:
        "logs/judge_claims/{model}/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        kind=of_corpus("kind"),
        rare=config["syntax"]["rare"],
        code=code_of("judge_claims"),
    script:
        "../../scripts/judge_claims.py"


rule compare_claims:
    """Set the paper's claims side by side for every model."""
    input:
        descriptions=[f"models/{model}/description.json" for model in judged_models()],
        judged=[f"results/{model}/{corpus}/claims.parquet" for model, corpus in judged_runs()],
    output:
        claims="results/compare/claims.parquet",
        claims_csv="results/compare/claims.csv",
        html=report(
            "results/compare/claims.html",
            caption="../report/compare_claims.rst",
            category="Comparison",
            labels={"figure": "the paper's claims, model by model"},
        ),
        markdown="results/compare/claims.md",
    log:
        "logs/compare_claims.log",
    conda:
        "../../envs/draw.yaml"
    params:
        runs=[list(run) for run in judged_runs()],
        code=code_of("compare_claims"),
    script:
        "../../scripts/compare_claims.py"


rule compare_surface:
    """Compare what the heads of several models look at in {wildcards.corpus}."""
    input:
        heads=of_each_model("results/{model}/{corpus}/surface/heads.parquet"),
        uniform=of_each_model("results/{model}/{corpus}/surface/uniform.parquet"),
    output:
        surface="results/compare/{corpus}/surface.parquet",
        surface_csv="results/compare/{corpus}/surface.csv",
    log:
        "logs/compare_surface/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        models=compared_models,
        code=code_of("compare_surface"),
    script:
        "../../scripts/compare_surface.py"


rule compare_tables:
    """Put the tables of {wildcards.analysis} of several models on {wildcards.corpus} together."""
    input:
        tables=of_each_model("results/{model}/{corpus}/{table}.parquet"),
    output:
        compared="results/compare/{corpus}/{analysis}.parquet",
        compared_csv="results/compare/{corpus}/{analysis}.csv",
    log:
        "logs/compare_tables/{corpus}/{analysis}.log",
    wildcard_constraints:
        analysis="|".join(COMPARED_TABLES),
    conda:
        "../../envs/draw.yaml"
    params:
        models=compared_models,
        code=code_of("compare_tables"),
    script:
        "../../scripts/compare_tables.py"


rule draw_compare_surface:
    """Draw what the heads of several models look at in {wildcards.corpus}."""
    input:
        descriptions=of_each_model("models/{model}/description.json"),
        surface="results/compare/{corpus}/surface.parquet",
        library=LIBRARY,
    output:
        **drawing("compare_surface", "Comparison", "what heads look at, by depth", "results/compare/{corpus}"),
    log:
        "logs/draw_compare_surface/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        corpus="{corpus}",
        code=code_of("draw_compare_surface"),
    script:
        "../../scripts/draw_compare_surface.py"


rule draw_compare_syntax:
    """Draw the best head of each relation of {wildcards.corpus} in several models."""
    input:
        descriptions=of_each_model("models/{model}/description.json"),
        syntax="results/compare/{corpus}/syntax.parquet",
        library=LIBRARY,
    output:
        **drawing("compare_syntax", "Comparison", "best heads, model by model", "results/compare/{corpus}"),
    log:
        "logs/draw_compare_syntax/{corpus}.log",
    conda:
        "../../envs/draw.yaml"
    params:
        corpus="{corpus}",
        scheme=config["syntax"]["scheme"],
        rare=config["syntax"]["rare"],
        code=code_of("draw_compare_syntax"),
    script:
        "../../scripts/draw_compare_syntax.py"
