"""What the rules share: the config made whole, paths and params that follow from it."""

LIBRARY = "javascript/vega.js"  # what the page of every figure carries
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


def completed(config):
    """The config with its defaults, or one clear error before any job."""
    deployed = any("conda" in str(method).lower() for method in workflow.deployment_settings.deployment_method)
    given = workflow.overwrite_configfiles
    files = [*(file for file in workflow.configfiles if file not in given), *given]  # a later one beats an earlier one
    try:
        return complete(config, files, ROOT, packages_here=not deployed)
    except InputError as error:
        raise WorkflowError(str(error))


def say_who_is_here():
    """Clear the locks of a run that was killed; where one is still at work, say so before Snakemake refuses."""
    try:
        other = clear_stale_locks() if workflow.is_main_process else None
    except InputError as error:
        raise WorkflowError(str(error))
    if other:
        logger.warning(f"Another Snakemake is at work in this folder ({other}): what it makes is locked until it ends.")


def refuse_unwritable_outputs():
    """Refuse folders of outputs that cannot be written, where Snakemake itself would fail without a word of them."""
    patterns = [str(output) for rule in workflow.rules for output in rule.output]
    try:
        if workflow.is_main_process:
            refuse_unwritable({os.path.dirname(pattern.partition("{")[0]) or "." for pattern in patterns})
    except InputError as error:
        raise WorkflowError(str(error))


def models_on(corpus):
    """The models that are run on a corpus: those that it names, else every one but random twins."""
    return CORPORA[corpus]["models"] or [model for model in MODELS if model not in TWINS]


def runs(kind):
    """(model, corpus) for each corpus of a kind, but that which probes learn from, and each model that is run on it."""
    return [
        (model, name)
        for name, corpus in CORPORA.items()
        if corpus["kind"] == kind and name != config["probes"]["train"]
        for model in models_on(name)
    ]


def probe_runs():
    """(model, treebank) for each model, but twins, and each treebank that its probes are scored on; none without train."""
    train = config["probes"]["train"]
    learning = [model for model in models_on(train) if model not in TWINS] if train else []
    return [(model, corpus) for model, corpus in runs("treebank") if model in learning]


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


def of_probe_runs(*files):
    """These result files of every model and every treebank that its probes are scored on."""
    return [f"results/{model}/{corpus}/{file}" for model, corpus in probe_runs() for file in files]


def of_runs(kind, *files):
    """These result files of every run on a kind of corpus."""
    return [f"results/{model}/{corpus}/{file}" for model, corpus in runs(kind) for file in files]


def of_other_runs(kind, file):
    """An input function: this result file of each run of the model on a kind of corpus; none where there is none."""

    def paths(wildcards):
        return [f"results/{model}/{corpus}/{file}" for model, corpus in runs(kind) if model == wildcards.model]

    return paths


def figures(*names):
    """The files of these figures below the results of a run."""
    return [f"figures/{name}.{ending}" for name in names for ending in ("html", "svg", "png")]


def drawing(figure, category, title, folder="results/{model}/{corpus}"):
    """The outputs of a rule that draws a figure; the page goes into Snakemake's own report as well."""
    path = f"{folder}/figures/{figure}"
    page = report(
        f"{path}.html",
        caption=f"../report/{figure}.rst",
        category=category,
        labels={"figure": title} | {name: f"{{{name}}}" for name in re.findall(r"{(\w+)}", folder)},
    )
    return {"html": page, "svg": f"{path}.svg", "png": f"{path}.png"}


def names_of(kind):
    """A wildcard constraint: the names of the corpora of a kind, or one that matches none."""
    names = [re.escape(name) for name, corpus in CORPORA.items() if corpus["kind"] == kind]
    return "|".join(names) or "(?!)"


def with_vectors_of(source):
    """A wildcard constraint: the treebanks, if the config takes word vectors from this source (`model`, `file`)."""
    named = "model" if config["probes"]["vectors"] == "model" else "file"
    return names_of("treebank") if named == source else "(?!)"


def of_user(files):
    """Input files of the user, which stay where they are, also under the `prefix` of a module."""
    return [local(str(file)) for file in files]


def of_model(key):
    """A param: one key of the model's config entry."""
    return lambda wildcards: MODELS[wildcards.model][key]


def of_corpus(key):
    """A param: one key of the corpus' config entry."""
    return lambda wildcards: CORPORA[wildcards.corpus][key]


def corpus_file(wildcards):
    """The corpus as the user has it, or as fetch_corpus stores it."""
    return corpus_files(wildcards)[0]


def corpus_files(wildcards):
    """The files of a corpus that may have several."""
    path = CORPORA[wildcards.corpus]["path"]
    return of_user(find_files(path, ROOT).values()) if path else [f"downloads/corpora/{wildcards.corpus}"]


def corpus_name(wildcards):
    """A param: what the corpus is called in messages and tables, the same on every machine."""
    corpus = CORPORA[wildcards.corpus]
    return corpus["url"] or corpus["path"]


def corpus_names(wildcards):
    """A param: what each file of the corpus is called, in the order of `corpus_files`."""
    corpus = CORPORA[wildcards.corpus]
    return [corpus["url"]] if corpus["url"] else list(find_files(corpus["path"], ROOT))


def parsed(corpus):
    """Whether this is a treebank whose trees Stanza makes."""
    return CORPORA[corpus]["kind"] == "treebank" and CORPORA[corpus]["format"] in ("paragraphs", "words")


def resolved(corpus):
    """Whether these are documents whose coreference Stanza resolves."""
    return CORPORA[corpus]["kind"] == "coreference" and CORPORA[corpus]["format"] == "paragraphs"


def document_files(wildcards):
    """The documents with coreference as the user has them, or as Stanza makes them."""
    return [f"resolved/{wildcards.corpus}/documents.conllu"] if resolved(wildcards.corpus) else corpus_files(wildcards)


def document_names(wildcards):
    """A param: what each of these files is called."""
    return document_files(wildcards) if resolved(wildcards.corpus) else corpus_names(wildcards)


def treebank_file(wildcards):
    """The trees as the user has them, or as Stanza makes them."""
    return f"parsed/{wildcards.corpus}/trees.conllu" if parsed(wildcards.corpus) else corpus_file(wildcards)


def stanza_files(wildcards):
    """The list of fetched models; a folder of the user's own is taken as it is."""
    corpus = CORPORA[wildcards.corpus]
    packages = corpus["package"] + (f"+{corpus['coref_package']}" if corpus["kind"] == "coreference" else "")
    folder = config["stanza"]["models"]
    return f"{folder}/{corpus['language']}.{packages}.json" if folder == "downloads/stanza" else []


def stanza_folder(wildcards, input):
    """A param: where these models lie; fetched ones beside their list, the first input."""
    return os.path.dirname(input[0]) if stanza_files(wildcards) else config["stanza"]["models"]


def skipped_files(wildcards):
    """What each stage passed over, in the order of the stages."""
    return [
        *([f"parsed/{wildcards.corpus}/skipped.parquet"] if parsed(wildcards.corpus) else []),
        *([f"resolved/{wildcards.corpus}/skipped.parquet"] if resolved(wildcards.corpus) else []),
        f"examples/{wildcards.corpus}/skipped.parquet",
        f"encoded/{wildcards.model}/{wildcards.corpus}/skipped.parquet",
    ]


def fold(wildcards):
    """A param: how the tokens of a word attend as one; None where maps are of tokens."""
    return None if CORPORA[wildcards.corpus]["kind"] == "text" else config["attention"]["fold"]


def checkpoint(wildcards, input):
    """A param: where the model is to be loaded from; the files of a fetched one lie beside their list, the first input."""
    return checkpoint_of(wildcards.model, input)


def checkpoint_of(name, files):
    """Where a model is to be loaded from, given what a job reads of it."""
    model = MODELS[name]
    return files[0].removesuffix(".json") if model["revision"] else model["source"]


def fetched_list(wildcards):
    """The list of the files that fetch_model downloaded; none of a model that is here."""
    return f"downloads/models/{wildcards.model}.json" if MODELS[wildcards.model]["revision"] else []


def checkpoint_files(wildcards):
    """
    What a change of the model shows in: the list of fetched files, or the files of a local folder.

    Tables that lie in it are no part of it, and none that we made and may refuse.
    """
    model = MODELS[wildcards.model]
    if model["revision"]:
        return f"downloads/models/{wildcards.model}.json"
    if package_of(model["source"]):
        return []
    files = sorted(path for path in Path(model["source"]).iterdir() if path.is_file())
    return of_user(path for path in files if path.suffix not in MAGIC)


def loading(wildcards):
    """A param: the keys of the config entry that say how the model is loaded."""
    model = MODELS[wildcards.model]
    keys = ("dtype", "attention", "allow_pickle", "allow_remote_code")
    return {key: model[key] for key in keys} | {"random_init": model["seed"] if model["random_init"] else None}


def mlm_head_file(wildcards):
    """The head that the config names or has fitted; none where the checkpoint's own is meant."""
    head = MODELS[wildcards.model]["mlm_head"]
    if head == "train":
        return f"models/{wildcards.model}/mlm_head.safetensors"
    return of_user(find_files(head, ROOT).values())[0] if head else []


def mlm_head_name(wildcards):
    """A param: what the head is called where it is said to be used."""
    model = MODELS[wildcards.model]
    return model["mlm_head"] or ("random weights" if model["random_init"] else "the checkpoint's own")


def mlm_text(key):
    """An input function: the text in a model's tokens that this key of the section train_mlm_head names."""
    return lambda wildcards: f"encoded/{wildcards.model}/{config['train_mlm_head'][key]}/examples.parquet"


def vectors_file(wildcards):
    """The user's file of word vectors."""
    return of_user(find_files(config["probes"]["vectors"], ROOT).values())[0]


def vectors_name(wildcards):
    """A param: what it is called."""
    return str(*find_files(config["probes"]["vectors"], ROOT))


def word_vectors(wildcards):
    """The word vectors of the corpus; a random twin is given those of its original."""
    return f"probes/{TWINS.get(wildcards.model, wildcards.model)}/{wildcards.corpus}/vectors.parquet"


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
