"""What brings several runs together: comparisons, series, claims, the report; and which probes there are."""

CLAIM_TABLES = {  # by which claims are judged on a corpus of each kind
    "text": {
        "surface": "surface/heads",
        "uniform": "surface/uniform",
        "sep": "norms/claims",
        "clusters": "clusters/tests",
    },
    "treebank": {"table1": "syntax/table1"},
    "coreference": {"table2": "coreference/table2"},
}
CAPTIONS = {path.stem: path.read_text("utf-8") for path in sorted((ROOT / "workflow" / "report").glob("*.rst"))}
COMPARED_TABLES = {"syntax": "syntax/table1", "coreference": "coreference/table2", "probes": "probes/table3"}


def compared_on(corpus):
    """The pairs of models that the config wants compared and that are both run on a corpus."""
    on = models_on(corpus) if corpus != config["probes"]["train"] else []
    return [pair for pair in config["compare"]["divergence"] if {*pair} <= {*on}]


def of_compared(table):
    """An input function: this table of every pair of models that is compared on the corpus."""
    return lambda wildcards: [
        f"compared/{model}/{other}/{wildcards.corpus}/{table}.parquet" for model, other in compared_on(wildcards.corpus)
    ]


def series_runs(kind):
    """(series, corpus) for each checkpoint series and each corpus of a kind that all its steps are run on."""
    every = {*runs(kind)}
    return [
        (name, corpus)
        for name, steps in SERIES.items()
        for corpus in CORPORA
        if {(step, corpus) for step in steps} <= every
    ]


def of_steps(file):
    """An input function: this result file of every step of the series, in their order."""
    return lambda wildcards: [f"results/{step}/{wildcards.corpus}/{file}" for step in SERIES[wildcards.series]]


def descriptions_of_steps(wildcards):
    """The descriptions of every step of the series."""
    return [f"models/{step}/description.json" for step in SERIES[wildcards.series]]


def of_series(kind, *files):
    """These result files of every series on every corpus of a kind."""
    return [f"results/series/{name}/{corpus}/{file}" for name, corpus in series_runs(kind) for file in files]


def steps(wildcards):
    """A param: the steps of the series, in the order of `of_steps`."""
    return SERIES[wildcards.series]


def probes_of(wildcards):
    """The probes that are learned over a model; of a random twin only those that Table 3 shows."""
    probes = [ATTENTION, ATTENTION_WORDS] if wildcards.model in TWINS else LEARNED
    train = config["probes"]["train"]
    return [f"probes/{wildcards.model}/{train}/{probe}.safetensors" for probe in probes]


def learning_curve(wildcards):
    """A param: from how many sentences a probe is learned besides all."""
    shown = wildcards.probe in CURVES and wildcards.model not in TWINS
    return config["probes"]["learning_curve"] if shown else []


def counts_of_twins(wildcards):
    """What the random twins of a model got right."""
    twins = [twin for twin, original in TWINS.items() if original == wildcards.model]
    return [f"counts/probes/{twin}/{wildcards.corpus}.parquet" for twin in twins]


def judged_runs():
    """(model, corpus) for all that the paper's claims are judged on."""
    return [run for kind in CLAIM_TABLES for run in runs(kind)]


def judged_models():
    """The models of these runs, in the order of the config."""
    judged = {model for model, _ in judged_runs()}
    return [model for model in MODELS if model in judged]


def claim_tables(wildcards):
    """The result tables that claims are judged by, by name."""
    run = wildcards.model, wildcards.corpus
    tables = CLAIM_TABLES[CORPORA[wildcards.corpus]["kind"]] | (
        {"table3": "probes/table3"} if run in probe_runs() else {}
    )
    return {name: f"results/{wildcards.model}/{wildcards.corpus}/{table}.parquet" for name, table in tables.items()}


def compared_models(wildcards):
    """A param: the models that are compared on a corpus; for its probes those that have any."""
    models = models_on(wildcards.corpus)
    if wildcards.get("analysis") == "probes":
        models = [model for model in models if (model, wildcards.corpus) in probe_runs()]
    return models


def of_each_model(path):
    """An input function: this file of each model that is compared on a corpus."""

    def paths(wildcards):
        table = COMPARED_TABLES.get(wildcards.get("analysis"))
        return [path.format(model=model, corpus=wildcards.corpus, table=table) for model in compared_models(wildcards)]

    return paths


def of_comparisons(runs, *files):
    """These files of the comparison on each corpus that several of these runs are on."""
    corpora = [corpus for _, corpus in runs]
    return [
        f"results/compare/{corpus}/{file}"
        for corpus in dict.fromkeys(corpora)
        if corpora.count(corpus) > 1
        for file in files
    ]


def reported_models():
    """The models that the report describes: those that are run, and the random twins whose probes are shown."""
    run = {model for model, _ in judged_runs()}
    probed = {model for model, _ in probe_runs()}
    return [model for model in MODELS if model in run or TWINS.get(model) in probed]


def reported_files():
    """The tables, as Parquet, and the pages of figures of all analyses."""
    analyses = (rules.surface, rules.gradients, rules.norms, rules.clusters, rules.syntax, rules.coreference)
    analyses += (rules.probes, rules.compare, rules.compare_divergence, rules.series)
    made = dict.fromkeys(str(file) for analysis in analyses for file in analysis.input)
    tables = [file.removesuffix(".csv") + ".parquet" for file in made if file.endswith(".csv")]
    return tables + [file for file in made if Path(file).parent.name == "figures" and file.endswith(".html")]


def benchmarked(wildcards):
    """
    A param: the wildcards of each rule's benchmark, in the order of its path below `logs`, by the name of the rule.

    A path has the constraint of a wildcard behind its name: `{model,one|other}`.
    """
    paths = [str(rule.benchmark) for rule in workflow.rules if rule.benchmark]
    found = [re.search(r"logs/(\w+)/(.+)\.benchmark\.tsv", path) for path in paths]
    return {match[1]: re.findall(r"{(\w+)[,}]", match[2]) for match in sorted(found, key=lambda match: match[1])}


def named(wildcards):
    """A param: the models, corpora, their number of jobs and the series of this config, whose benchmarks are counted."""
    return {"models": [*MODELS], "corpora": {corpus: jobs(corpus) for corpus in CORPORA}, "series": [*SERIES]}
