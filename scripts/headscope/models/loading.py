"""Load a model and its tokenizer from a local folder, or refuse them with one sentence."""

from contextlib import contextmanager
from pathlib import Path

import torch
import transformers
from safetensors import SafetensorError
from torch import nn

from headscope.description import Description
from headscope.devices import pick_device
from headscope.errors import InputError
from headscope.models.fingerprints import POOLER, weights_fingerprint
from headscope.models.loaded import LoadedModel
from headscope.models.random_weights import RandomWeights
from headscope.refusals import read_config, refuse_without_maps

ENCODER, HEAD = 0, 1  # before the seed of random weights: what is drawn, so that no two share a number
MOST_CHARACTERS = 400  # of a message that transformers wrote

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


def load_tokenizer(folder: Path, name: str, allow_remote_code: bool = False):
    """
    Load the tokenizer of a checkpoint.

    Raises
    ------
    InputError
        If code would have to be run and the config did not allow it, or if transformers cannot load it.
    """
    _refuse_remote_code(folder, name, allow_remote_code)
    return _loaded(transformers.AutoTokenizer, folder, name, trust_remote_code=allow_remote_code)


def load(
    folder: Path,
    name: str,
    device: str = "cpu",
    dtype: str = "float32",
    attention: str = "eager",
    allow_pickle: bool = False,
    allow_remote_code: bool = False,
    random_init: int | None = None,
) -> LoadedModel:
    """
    Load model and tokenizer from a local folder through transformers' Auto classes.

    Parameters
    ----------
    random_init
        The seed of random weights; the folder needs none then. None: those in the folder.

    Raises
    ------
    InputError
        If the device is not here, if the architecture has no attention maps, if the weights are pickled or code would
        have to be run and the config did not allow it, if weights that the model needs are missing, not finite or of
        another shape, or if transformers cannot load it.
    """
    place = pick_device(device)
    refuse_without_maps(folder, name)
    if random_init is None:
        _refuse_pickle(folder, name, allow_pickle)
    tokenizer = load_tokenizer(folder, name, allow_remote_code)
    options = {"attn_implementation": attention, "dtype": getattr(torch, dtype), "trust_remote_code": allow_remote_code}
    if random_init is None:
        network, report = _trained(transformers.AutoModel, folder, name, allow_pickle, **options)
        _refuse_missing_weights(report, name)
    else:
        network = _drawn(transformers.AutoModel, folder, name, (ENCODER, random_init), **options)
    if getattr(network.config, "is_encoder_decoder", False):
        network = network.get_encoder()
    _refuse_broken_weights(network, name)
    return LoadedModel(network.eval().to(place), tokenizer, place)


def load_described(folder: Path, described: Description, device: str, loading: dict) -> LoadedModel:
    """
    Load the model that was described.

    Raises
    ------
    InputError
        As `load`, and if its weights have changed since.
    """
    model = load(folder, described.name, device, **loading)
    found = weights_fingerprint(model.network)
    if found != described.weights:
        raise InputError(
            f"model {described.name}: expected the weights that were described ({described.weights}), found others "
            f"({found}); they changed under the same name: delete models/{described.name} and run again"
        )
    return model


def load_masked(folder: Path, name: str, loading: dict) -> tuple[nn.Module | None, list[str]]:
    """
    Load the checkpoint as the masked language model of its architecture; a random one has the encoder of `load`.

    Parameters
    ----------
    loading
        The keys of the config entry that say how the model is loaded.

    Returns
    -------
    masked
        The model; None where transformers knows none of this architecture, or one whose loss is a decoder's.
    missing
        The weights, besides the encoder's, that the checkpoint lacks: transformers made them up. None of a random one.

    Raises
    ------
    InputError
        If transformers cannot load it.
    """
    trusted = loading.get("allow_remote_code", False)
    config = _loaded(transformers.AutoConfig, folder, name, trust_remote_code=trusted)
    own_code = "AutoModelForMaskedLM" in getattr(config, "auto_map", {})
    known = own_code or type(config) in transformers.MODEL_FOR_MASKED_LM_MAPPING
    if not known or getattr(config, "is_encoder_decoder", False):
        return None, []
    options = {"dtype": getattr(torch, loading.get("dtype", "float32")), "trust_remote_code": trusted}
    if loading.get("random_init") is not None:
        return _drawn_masked(folder, name, loading["random_init"], **options), []
    masked, report = _trained(
        transformers.AutoModelForMaskedLM, folder, name, loading.get("allow_pickle", False), **options
    )
    made_up = {*report["missing_keys"], *(key for key, *_ in report["mismatched_keys"])}
    encoder = f"{masked.base_model_prefix}."
    return masked, sorted(key for key in made_up if not key.startswith(encoder))


def _trained(auto_class, folder, name, allow_pickle, **options):
    """The network and transformers' report on what was missing."""
    safe = None if allow_pickle else True
    return _loaded(auto_class, folder, name, use_safetensors=safe, output_loading_info=True, **options)


def _drawn(auto_class, folder, name, seed: tuple[int, int], **options):
    """The network of the architecture in the folder, with random weights of its own initialisation."""
    trusted = options["trust_remote_code"]
    config = _loaded(transformers.AutoConfig, folder, name, trust_remote_code=trusted)
    with _explained(auto_class, folder, name), RandomWeights(*seed):
        return auto_class.from_config(config, **options)


def _drawn_masked(folder, name, seed, **options):
    """
    The masked language model, its encoder's weights those that `load` draws.

    The order of drawing is another in the whole model, so its encoder is not the same by itself.
    """
    encoder = _drawn(transformers.AutoModel, folder, name, (ENCODER, seed), **options).state_dict()
    masked = _drawn(transformers.AutoModelForMaskedLM, folder, name, (HEAD, seed), **options)
    with _explained(transformers.AutoModelForMaskedLM, folder, name):
        masked.base_model.load_state_dict({key: encoder[key] for key in masked.base_model.state_dict()})
    return masked


def _loaded(auto_class, folder, name, **options):
    with _explained(auto_class, folder, name):
        return auto_class.from_pretrained(folder, local_files_only=True, **options)


@contextmanager
def _explained(auto_class, folder, name):
    """Turn what transformers raises into one sentence."""
    try:
        yield
    except (OSError, ValueError, ImportError, KeyError, RuntimeError, SafetensorError) as error:
        cause = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"model {name} in {folder}: expected files that transformers {transformers.__version__} can load "
            f"({auto_class.__name__}), found: {cause[:MOST_CHARACTERS]}"
        ) from error


def _refuse_pickle(folder, name, allow_pickle):
    files = sorted(path.name for path in folder.iterdir())
    if allow_pickle or any(file.endswith(".safetensors") for file in files):
        return
    pickled = [file for file in files if file.endswith((".bin", ".pt", ".pth", ".ckpt"))]
    found = f"only pickled weights ({', '.join(pickled)}), which can run code" if pickled else f"none ({files})"
    raise InputError(
        f"model {name} in {folder}: expected weights as .safetensors, found {found}; convert them, or set "
        "allow_pickle: true in the model's config entry if you trust their source"
    )


def _refuse_remote_code(folder, name, allow_remote_code):
    config = read_config(folder, name)
    if config is None:
        raise InputError(f"model {name}: expected a config.json in {folder}, found none; is it a checkpoint?")
    if "auto_map" in config and not allow_remote_code:
        raise InputError(
            f"model {name} in {folder}: expected an architecture that transformers knows, found Python code of its "
            "own (auto_map in config.json); set allow_remote_code: true in its config entry if you trust it"
        )


def _refuse_broken_weights(network, name):
    broken = [key for key, weights in network.named_parameters() if POOLER not in key and not weights.isfinite().all()]
    if broken:
        raise InputError(
            f"model {name}: expected finite weights, found NaN or infinity in {len(broken)} of them "
            f"({', '.join(broken[:3])}); the checkpoint is broken: get it again, or from an earlier step"
        )


def _refuse_missing_weights(report, name):
    missing = sorted(key for key in report["missing_keys"] if POOLER not in key)
    wrong = sorted(str(key) for key in report["mismatched_keys"])
    if missing or wrong:
        raise InputError(
            f"model {name}: expected every weight in the checkpoint, found {len(missing)} missing and {len(wrong)} of "
            f"another shape ({', '.join((missing + wrong)[:3])} ...), which would be random; the checkpoint is not "
            "of the architecture that its config.json names"
        )
