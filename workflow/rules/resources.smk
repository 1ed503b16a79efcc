"""What jobs that run a model ask of a cluster, by the model's size, the corpus and the attempt; and its object store."""

from headscope.resources import checkpoint_mb, memory_to_load, memory_to_run, minutes_to_run, model_size, tokens_of


def size_of_model(wildcards, input):
    """How large the model is, with the longest input that the corpus, where there is one, has for it."""
    corpus = CORPORA.get(wildcards.get("corpus"), {})
    return model_size(input.description, MODELS[wildcards.model]["dtype"], corpus.get("max_tokens"))


def memory(**needs):
    """A resource: the memory of a job that runs the model over examples; see headscope.resources."""
    return lambda wildcards, input, attempt: memory_to_run(size_of_model(wildcards, input), attempt, **needs)


def minutes(passes=1):
    """A resource: the minutes that a job over its share of the corpus, or over all of it, may take."""

    def runtime(wildcards, input, attempt):
        tokens = tokens_of(input.encoded, jobs(wildcards.corpus) if "shard" in wildcards.keys() else 1)
        return minutes_to_run(size_of_model(wildcards, input), tokens, attempt, passes)

    return runtime


def memory_of_checkpoint(wildcards, input, attempt):
    """A resource: the memory to load a model that is not described yet; as float32, its file may be half as large."""
    return memory_to_load(2 * checkpoint_mb(checkpoint(wildcards, input)), attempt)


def memory_to_train(wildcards, input, attempt):
    """A resource: the memory to fit a head to masked tokens: the embeddings and the states that it learns from."""
    size, draws = size_of_model(wildcards, input), config["train_mlm_head"]["draws"]
    kept_mb = 5 * draws * size.width * tokens_of(input.training) / 1e6  # 15 % of tokens, at 34 bytes a number at most
    return memory_to_run(size, attempt, copies=8, kept_mb=kept_mb)


def minutes_to_train(wildcards, input, attempt):
    """A resource: the minutes to fit a head: the draws run through the model, an epoch over them takes less than that."""
    passes = config["train_mlm_head"]["draws"] * (1 + config["train_mlm_head"]["epochs"])
    return minutes_to_run(size_of_model(wildcards, input), tokens_of(input.training), attempt, passes)


def constrain_stored_outputs():
    """
    Apply the constraints of wildcards to outputs in an object store, once all rules are there.

    Snakemake 9.27.1 puts them into the address of an output, but not into the path that it compares with (seen with
    snakemake-storage-plugin-s3 0.3.6, which works that out when it is made), so rules of corpora of two kinds would both fit.
    """
    if workflow.storage_settings.default_storage_provider:
        for one in workflow.rules:
            for _ in range(2):  # the address first, then the path from the address
                one.update_wildcard_constraints()
                for file in filter(lambda file: file.is_storage, one.output):
                    file.storage_object.__post_init__()
