"""Which device a network runs on."""

import torch

from headscope.errors import InputError


def pick_device(wish: str) -> torch.device:
    """
    Turn `auto`, `cpu`, `cuda`, `cuda:1` or `mps` into a device; `auto` takes a GPU where there is one.

    Raises
    ------
    InputError
        If that device is not on this machine.
    """
    if wish == "auto":
        wish = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(wish)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"device: expected one that is on this machine, found {wish!r} ({str(error).splitlines()[0]}); "
            "use auto or cpu"
        ) from error
    return device
