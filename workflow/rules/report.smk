"""
The report: every table and figure of a run on one page, with an explorer of its heads.

    maps --choose_report_examples--> report/{model}/{corpus}.parquet: the maps of a few short examples, for display
    describe_machine --> report/machine.json
    all --write_report--> results/report.html
"""


rule choose_report_examples:
    """Choose the examples of {wildcards.corpus} that the report shows as {wildcards.model} sees them."""
    input:
        description="models/{model}/description.json",
        encoded="encoded/{model}/{corpus}/examples.parquet",
        attention=maps_of_corpus(),
    output:
        shown="report/{model}/{corpus}.parquet",
        counted="report/{model}/{corpus}.json",
    log:
        "logs/choose_report_examples/{model}/{corpus}.log",
    conda:
        with_model("../../envs/analyse.yaml")
    resources:
        **resources_with_maps(2000),
    params:
        live=live,
        number=config["report"]["examples"],
        most=config["report"]["tokens"],
        kind=of_corpus("kind"),
        code=code_with_maps("choose_report_examples"),
    script:
        "../../scripts/choose_report_examples.py"


rule describe_machine:
    """Describe the machine and the versions of what the models run in."""
    input:
        descriptions=[f"models/{model}/description.json" for model in reported_models()],
    output:
        described="report/machine.json",
    log:
        "logs/describe_machine.log",
    conda:
        "../../envs/attend.yaml"
    params:
        code=code_of("describe_machine"),
    script:
        "../../scripts/describe_machine.py"


rule write_report:
    """Write everything that was found into one page."""
    input:
        descriptions=[f"models/{model}/description.json" for model in reported_models()],
        results=reported_files(),
        examples=[f"report/{model}/{corpus}.parquet" for model, corpus in judged_runs()],
        counts=[f"report/{model}/{corpus}.json" for model, corpus in judged_runs()],
        machine="report/machine.json",
        library=LIBRARY,
    output:
        html="results/report.html",
    log:
        "logs/write_report.log",
    conda:
        "../../envs/draw.yaml"
    resources:
        mem_mb=lambda wildcards, input, attempt: attempt * int(2000 + 20 * input.size_mb),
    params:
        runs=[[model, corpus, CORPORA[corpus]["kind"]] for model, corpus in judged_runs()],
        settings=lambda wildcards: config,
        captions=lambda wildcards: CAPTIONS,
        benchmarked=benchmarked,
        named=named,
        code=code_of("write_report"),
    script:
        "../../scripts/write_report.py"
