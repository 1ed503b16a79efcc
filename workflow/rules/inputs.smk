"""What a job reads of the user's corpora and models, and the params that say how."""


def of_user(files):
    """Input files of the user: where they are, also under the `prefix` of a module; with an object store they lie there."""
    is_remote = workflow.storage_settings.default_storage_provider is not None
    return [str(file) if is_remote else local(str(file)) for file in files]


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
