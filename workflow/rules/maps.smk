"""
How jobs come by attention maps: from the shards of extract_attention, or, with attention: {store: false}, from the model.

A job that reads maps names `maps_of_job` or `maps_of_corpus` as its input, the params `live` and `code=code_with_maps(...)`,
the environment `with_model(...)`, and the threads and resources below. Where maps are stored, none of that differs from the
other counts; where they are not, all of it is that of extract_attention.
"""

from types import SimpleNamespace

LIVE = not config["attention"]["store"]
MAPS_THREADS = 8 if LIVE else 1
SHARDS_PER_JOB = config["attention"]["shards_per_job"]
PARTS = [f".{part}" for part in range(1, SHARDS_PER_JOB + 1)] if SHARDS_PER_JOB > 1 else [""]  # of a job


def jobs(corpus):
    """How many jobs share a corpus; each makes or reads as many shards as a job has."""
    return -(-CORPORA[corpus]["shards"] // SHARDS_PER_JOB)


def stored(folder):
    """An output: the shards that a job makes; deleted when all that read them are done, if the config does not keep them."""
    paths = [f"{folder}/{{model}}/{{corpus}}/{{shard}}{part}.parquet" for part in PARTS]
    return paths if config["attention"]["keep"] else [temp(path) for path in paths]


def shards(folder, *of):
    """An input function: what every job left of a run below a folder, in order; `of` are wildcards, here `model`."""

    def paths(wildcards):
        run = Path(folder, *(wildcards[name] for name in of or ("model",)), wildcards.corpus)
        count = jobs(wildcards.corpus)
        return [f"{run}/{number}-of-{count}.parquet" for number in range(1, count + 1)]

    return paths


def stored_shards(folder, of="model"):
    """An input function: every shard of a run that a job of extraction stored below a folder, in order."""

    def paths(wildcards):
        whole = shards(folder, of)(wildcards)
        return [f"{path.removesuffix('.parquet')}{part}.parquet" for path in whole for part in PARTS]

    return paths


def maps_of_job(wildcards):
    """The shards that this job reads; the checkpoint where maps come straight from the model."""
    if LIVE:
        return loaded_files(wildcards)
    run = f"attention/{wildcards.model}/{wildcards.corpus}"
    return [f"{run}/{wildcards.shard}{part}.parquet" for part in PARTS]


def maps_of_corpus(of="model"):
    """An input function: all shards of a run, of the model that this wildcard names, or the checkpoint as above."""
    return (lambda wildcards: loaded_files(the_model(of, wildcards))) if LIVE else stored_shards("attention", of)


def loaded_files(wildcards):
    """What a job that loads the model reads of it, as a list; nothing of a model that lies in a package."""
    files = checkpoint_files(wildcards)
    return [files] if isinstance(files, str) else files


def the_model(of, wildcards):
    """The wildcards of a run of the model that `of` names, for the functions that know it as `model`."""
    return SimpleNamespace(model=wildcards[of], corpus=wildcards.corpus)


def live(wildcards, input):
    """A param: how the maps that a job reads are made; None where they lie on disk."""
    return live_of(the_model("model", wildcards), input.attention) if LIVE else None


def other_live(wildcards, input):
    """A param: the same of the other model."""
    return live_of(the_model("other", wildcards), input.other_attention) if LIVE else None


def live_of(run, files):
    """How the maps of a run are made, given what the job reads of its model."""
    return {"checkpoint": checkpoint_of(run.model, files), "loading": loading(run), "fold": fold(run)}


def code_with_maps(script):
    """A param: the code of a script that reads maps; that of the model as well where they come straight from it."""
    return code_of(script, *(["headscope.live"] if LIVE else []))


def with_model(environment):
    """The environment for reading maps: that for running a model, where maps come straight from it."""
    return "../../envs/attend.yaml" if LIVE else environment


def resources_with_maps(mb, models=1):
    """Resources: this much memory; where maps come straight from so many models, what running them takes as well."""
    if LIVE:
        asked = {"mem_mb": memory(copies=2 * models, kept_mb=mb), "runtime": minutes()}
    else:
        asked = {"mem_mb": lambda wildcards, attempt: attempt * mb}
    return asked | {"device": "auto", "budget_mb": 0}
