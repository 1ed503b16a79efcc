"""
Load a model or refuse it by name, and describe it once: what every later stage needs to know of it.

A source is `package:NAME/path` (weights inside an installed Python package), a local folder, or a hub id whose
pinned revision `fetch_model` has downloaded into a local folder. Nothing here reaches the network.
"""

import hashlib
import importlib.util
import inspect
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
from safetensors import SafetensorError
from torch import nn

from headscope.description import Description, LayerView
from headscope.devices import pick_device
from headscope.errors import InputError

PACKAGE_PREFIX = "package:"
PROBE_TOKENS = 256
PROBE_TEXT = "The heads of a model look at the words before them, at the words after them, and at nothing. "
MOST_CHARACTERS = 400  # of a message that transformers wrote
POOLER = "pooler"  # in the names of weights that no map depends on
NO_LIMIT = 1_000_000  # tokenizers without a limit of their own say 1e30
ROW_SUM_TOLERANCE = 1e-3  # a float32 softmax over thousands of keys is off by 1e-6; see also check_rows

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


@dataclass(frozen=True)
class LoadedModel:
    """A model in evaluation mode on its device, with its tokenizer."""

    network: nn.Module
    tokenizer: transformers.PreTrainedTokenizerBase
    device: torch.device

    @property
    def takes_segments(self) -> bool:
        """Whether the model tells the segments of a pair apart."""
        if "token_type_ids" not in inspect.signature(self.network.forward).parameters:
            return False
        types = getattr(self.network.config, "type_vocab_size", None)
        return types > 1 if types is not None else "token_type_ids" in self.tokenizer.model_input_names

    def forward(self, ids, segments=None):
        """
        Run one batch of equally long inputs.

        Parameters
        ----------
        ids
            Token ids, int64 (example, token).
        segments
            Segment ids of the same shape; ignored by a model without segments.

        Returns
        -------
        maps
            One (example, head, query, key) a layer.
        row_sum_error
            The largest |sum of a row - 1|, a scalar of the maps' dtype still on the device; `check_rows` refuses a
            bad one.

        Raises
        ------
        InputError
            If there are no maps or they are not square.
        """
        with torch.inference_mode():
            _, maps = self.states_and_maps(ids, segments)
            errors = [(layer.sum(-1, dtype=torch.float32) - 1).abs().amax() for layer in maps]
            return maps, torch.stack(errors).amax().to(maps[0].dtype)

    def states_and_maps(self, ids, segments=None):
        """
        Run one batch as `forward` does, keeping what a backward pass needs where the caller's mode says so.

        Returns
        -------
        states
            The last hidden states, (example, token, width).
        maps
            One (example, head, query, key) a layer.

        Raises
        ------
        InputError
            If there are no maps or they are not square.
        """
        inputs = {"input_ids": ids.to(self.device)}
        if self.takes_segments and segments is not None:
            inputs["token_type_ids"] = segments.to(self.device)
        output = self.network(**inputs, output_attentions=True, return_dict=True)
        maps = getattr(output, "attentions", None)
        check_maps(maps, tuple(ids.shape), self.network)
        return getattr(output, "last_hidden_state", None), maps


def locate(source: str) -> Path:
    """
    Find the folder of a `package:NAME/path` or local source, without importing the package.

    Raises
    ------
    InputError
        If the package is not installed or the folder does not exist.
    """
    if not source.startswith(PACKAGE_PREFIX):
        folder = Path(source)
        if not folder.is_dir():
            raise InputError(f"model source {source!r}: expected a folder, found none there; check the path")
        return folder
    package, _, inside = source.removeprefix(PACKAGE_PREFIX).partition("/")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise InputError(
            f"model source {source!r}: expected the Python package {package} to be installed, found none; "
            "install it with pip (its distribution may spell the name with hyphens)"
        )
    folder = Path(spec.submodule_search_locations[0]) / inside
    if not folder.is_dir():
        raise InputError(f"model source {source!r}: package {package} has no folder {inside!r}; check the path")
    return folder


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
) -> LoadedModel:
    """
    Load model and tokenizer from a local folder through transformers' Auto classes.

    Raises
    ------
    InputError
        If the device is not here, if the weights are pickled or code would have to be run and the config did not
        allow it, if weights that the model needs are missing or have another shape, or if transformers cannot load it.
    """
    place = pick_device(device)
    _refuse_pickle(folder, name, allow_pickle)
    tokenizer = load_tokenizer(folder, name, allow_remote_code)
    network, report = _loaded(
        transformers.AutoModel,
        folder,
        name,
        attn_implementation=attention,
        dtype=getattr(torch, dtype),
        use_safetensors=None if allow_pickle else True,
        output_loading_info=True,
        trust_remote_code=allow_remote_code,
    )
    _refuse_missing_weights(report, name)
    if getattr(network.config, "is_encoder_decoder", False):
        network = network.get_encoder()
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
    Load the checkpoint as the masked language model of its architecture.

    Parameters
    ----------
    loading
        The keys of the config entry that say how the model is loaded.

    Returns
    -------
    masked
        The model; None where transformers knows none of this architecture, or one whose loss is a decoder's.
    missing
        The weights, besides the encoder's, that the checkpoint lacks: transformers made them up.

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
    masked, report = _loaded(
        transformers.AutoModelForMaskedLM,
        folder,
        name,
        dtype=getattr(torch, loading.get("dtype", "float32")),
        use_safetensors=None if loading.get("allow_pickle", False) else True,
        output_loading_info=True,
        trust_remote_code=trusted,
    )
    made_up = {*report["missing_keys"], *(key for key, *_ in report["mismatched_keys"])}
    encoder = f"{masked.base_model_prefix}."
    return masked, sorted(key for key in made_up if not key.startswith(encoder))


def _loaded(auto_class, folder, name, **options):
    try:
        return auto_class.from_pretrained(folder, local_files_only=True, **options)
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
    config = folder / "config.json"
    if not config.is_file():
        raise InputError(f"model {name}: expected a config.json in {folder}, found none; is it a checkpoint?")
    if "auto_map" in json.loads(config.read_text("utf-8")) and not allow_remote_code:
        raise InputError(
            f"model {name} in {folder}: expected an architecture that transformers knows, found Python code of its "
            "own (auto_map in config.json); set allow_remote_code: true in its config entry if you trust it"
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


def check_maps(maps, ids_shape: tuple[int, int], network: nn.Module):
    """
    Refuse attention maps that are absent or not square.

    Raises
    ------
    InputError
        One sentence that names the cause.
    """
    kind = type(network).__name__
    if not maps or any(layer is None for layer in maps):
        used = getattr(network.config, "_attn_implementation", "its own")
        raise InputError(
            f"{kind} returned no attention maps: its attention implementation is {used!r}, which does not give "
            "them; use attention: eager in the model's config entry, or a model that has it"
        )
    examples, size = ids_shape
    expected = (examples, maps[0].shape[1], size, size)
    for number, layer in enumerate(maps, start=1):
        if layer.shape != expected:
            raise InputError(
                f"{kind}, layer {number}: expected maps of shape {expected} (example, head, query, key), found "
                f"{tuple(layer.shape)}; sparse or chunked attention, or layers of unlike heads, have no common table"
            )


def check_rows(row_sum_error):
    """
    Refuse maps whose rows do not sum to one, given the largest error of any row in the maps' dtype.

    Rounding to that dtype is forgiven: a row of bfloat16 weights may be off by its precision.

    Raises
    ------
    InputError
        If the error is beyond rounding, or not finite.
    """
    error = float(row_sum_error)
    if not error <= max(ROW_SUM_TOLERANCE, 2 * torch.finfo(row_sum_error.dtype).eps):
        found = f"a row that is off by {error:.3g}" if math.isfinite(error) else "values that are not finite"
        raise InputError(
            f"attention maps: expected every row to sum to 1, found {found}; the model's weights are broken (NaN), or "
            "what it returns are no attention probabilities"
        )


def describe(model: LoadedModel, name: str, source: str, revision: str | None) -> Description:
    """
    Run the model once on a short text and say what it is; refuses it as `LoadedModel.forward` does.

    Layers and heads are counted in the maps, as executed. Whether a layer is causal is read off the maps; a window
    is taken from the model's config, or from the maps where the config says nothing.
    """
    config = model.network.config
    limit = _limit(model)
    size = min(limit or PROBE_TOKENS, PROBE_TOKENS)
    text = model.tokenizer(PROBE_TEXT * PROBE_TOKENS, truncation=True, max_length=size, return_tensors="pt")
    maps, row_sum_error = model.forward(text["input_ids"])
    check_rows(row_sum_error)
    return Description(
        name=name,
        source=source,
        revision=revision,
        architecture=type(model.network).__name__,
        layers=len(maps),
        heads=maps[0].shape[1],
        width=config.hidden_size,
        parameters=sum(weights.numel() for weights in model.network.parameters()),
        limit=limit,
        segments=model.takes_segments,
        special_tokens=_special_tokens(model.tokenizer),
        views=[_view(layer[0].float().cpu(), config, number) for number, layer in enumerate(maps)],
        weights=weights_fingerprint(model.network),
        tokenizer=tokenizer_fingerprint(model.tokenizer),
    )


def _limit(model) -> int | None:
    """The longest input: the tokenizer's word, and the learned positions (RoBERTa's start after the padding id)."""
    limits = [model.tokenizer.model_max_length, getattr(model.network.config, "max_position_embeddings", NO_LIMIT)]
    for path, module in model.network.named_modules():
        if isinstance(module, nn.Embedding) and path.endswith("position_embeddings") and module.padding_idx is not None:
            limits.append(module.num_embeddings - module.padding_idx - 1)
    limit = min(limit for limit in limits if limit and limit > 0)
    return None if limit >= NO_LIMIT else int(limit)


def _special_tokens(tokenizer) -> dict:
    """The special tokens by role; a model without cls or sep uses its begin or end token where it sets one."""
    roles = {
        "cls": tokenizer.cls_token or tokenizer.bos_token,
        "sep": tokenizer.sep_token or tokenizer.eos_token,
        "mask": tokenizer.mask_token,
        "pad": tokenizer.pad_token,
        "unk": tokenizer.unk_token,
    }
    return {role: [token, tokenizer.convert_tokens_to_ids(token)] for role, token in roles.items() if token is not None}


def _view(weights: torch.Tensor, config, layer: int) -> LayerView:
    """
    What one layer sees, from its maps (head, query, key) and the config.

    A key that no head gives any weight is taken for unseen only where whole regions say so: a trained head can
    give a single visible key a weight that underflows to zero.
    """
    seen = (weights > 0).any(0)
    size = len(seen)
    causal = size > 1 and not seen.triu(1).any()
    queries, keys = seen.nonzero(as_tuple=True)
    observed = int((queries - keys).abs().max())
    declared = _declared_reach(config, layer)
    view = LayerView(bool(causal), observed if declared is None and observed < size // 2 else declared)
    if (weights[:, torch.from_numpy(~view.mask(size))] > 0).any():
        raise InputError(
            f"layer {layer + 1}: expected attention that is full, causal or a window of fixed width, found weights "
            f"outside of {view}; this attention pattern is not supported"
        )
    return view


def _declared_reach(config, layer: int) -> int | None:
    kinds = getattr(config, "layer_types", None)
    if kinds and kinds[layer] == "full_attention":
        return None
    if getattr(config, "local_attention", None) and kinds:
        return config.local_attention // 2
    window = getattr(config, "sliding_window", None)
    return window - 1 if window else None


def weights_fingerprint(network: nn.Module) -> str:
    """
    Return a digest of every parameter and buffer: name, dtype, shape and bytes.

    Poolers are left out: no map depends on them, and where a checkpoint has none they are random on every loading.
    """
    digest = hashlib.blake2b(digest_size=16)
    for name, weights in sorted(network.state_dict().items()):
        if POOLER in name:
            continue
        digest.update(f"{name} {weights.dtype} {tuple(weights.shape)}".encode())
        digest.update(weights.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    return digest.hexdigest()


def tokenizer_fingerprint(tokenizer) -> str:
    """Return a digest of what decides a tokenizer's output: its rules, vocabulary and special tokens."""
    rules = tokenizer.backend_tokenizer.to_str() if tokenizer.is_fast else sorted(tokenizer.get_vocab().items())
    said = json.dumps([type(tokenizer).__name__, rules, str(tokenizer.special_tokens_map)], ensure_ascii=False)
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()
