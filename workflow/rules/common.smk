"""What the rules share: the config made whole, paths and params that follow from it."""

LIBRARY = "javascript/vega.js"  # what the page of every figure carries


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


def of_model(key):
    """A param: one key of the model's config entry."""
    return lambda wildcards: MODELS[wildcards.model][key]


def of_corpus(key):
    """A param: one key of the corpus' config entry."""
    return lambda wildcards: CORPORA[wildcards.corpus][key]
