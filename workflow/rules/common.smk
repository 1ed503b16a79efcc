"""What the rules share: the config made whole, paths and params that follow from it."""


def completed(config):
    """The config with its defaults, or one clear error before any job."""
    deployed = any("conda" in str(method).lower() for method in workflow.deployment_settings.deployment_method)
    try:
        return complete(config, workflow.configfiles, ROOT, packages_here=not deployed)
    except InputError as error:
        raise WorkflowError(str(error))


def runs(kind):
    """(model, corpus) for each corpus of a kind and each model that is run on it."""
    return [
        (model, name)
        for name, corpus in CORPORA.items()
        if corpus["kind"] == kind
        for model in corpus["models"] or MODELS
    ]


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


def drawing(figure, category, title):
    """The outputs of a rule that draws a figure; the page goes into Snakemake's own report as well."""
    path = f"results/{{model}}/{{corpus}}/figures/{figure}"
    page = report(
        f"{path}.html",
        caption=f"../report/{figure}.rst",
        category=category,
        labels={"figure": title, "model": "{model}", "corpus": "{corpus}"},
    )
    return {"html": page, "svg": f"{path}.svg", "png": f"{path}.png"}


def names_of(kind):
    """A wildcard constraint: the names of the corpora of a kind, or one that matches none."""
    names = [re.escape(name) for name, corpus in CORPORA.items() if corpus["kind"] == kind]
    return "|".join(names) or "(?!)"


def shards(folder):
    """An input function: the files of all shards of a run below a folder, in order."""

    def paths(wildcards):
        count = CORPORA[wildcards.corpus]["shards"]
        return [
            f"{folder}/{wildcards.model}/{wildcards.corpus}/{number}-of-{count}.parquet"
            for number in range(1, count + 1)
        ]

    return paths


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
    return (
        [str(file) for file in find_files(path, ROOT).values()] if path else [f"downloads/corpora/{wildcards.corpus}"]
    )


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


def checkpoint(wildcards):
    """A param: where the model is to be loaded from."""
    model = MODELS[wildcards.model]
    return f"downloads/models/{wildcards.model}" if model["revision"] else model["source"]


def checkpoint_files(wildcards):
    """What a change of the model shows in: the list of fetched files, or the files of a local folder."""
    model = MODELS[wildcards.model]
    if model["revision"]:
        return f"downloads/models/{wildcards.model}.json"
    if package_of(model["source"]):
        return []
    return sorted(str(path) for path in Path(model["source"]).iterdir() if path.is_file())


def loading(wildcards):
    """A param: the keys of the config entry that say how the model is loaded."""
    keys = ("dtype", "attention", "allow_pickle", "allow_remote_code")
    return {key: MODELS[wildcards.model][key] for key in keys}


def mlm_head_file(wildcards):
    """The head that the config names or has fitted; none where the checkpoint's own is meant."""
    head = MODELS[wildcards.model]["mlm_head"]
    if head == "train":
        return f"models/{wildcards.model}/mlm_head.safetensors"
    return str(*find_files(head, ROOT).values()) if head else []


def mlm_text(key):
    """An input function: the text in a model's tokens that this key of the section train_mlm_head names."""
    return lambda wildcards: f"encoded/{wildcards.model}/{config['train_mlm_head'][key]}/examples.parquet"
