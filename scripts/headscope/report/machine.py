"""What machine and which versions a run has: what tells readers how to take its times, and nothing that names it."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "polars", "pyarrow", "safetensors")
PROCESSOR = Path("/proc/cpuinfo")
GIB = 2**30


def machine() -> dict[str, str]:
    """Return the class of this machine: system, processor, cores, memory and, where torch is and finds one, the GPU."""
    facts = {
        "System": f"{platform.system()} on {platform.machine()}",
        "Processor": _processor(),
        "Cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "Memory": f"{_memory() / GIB:.0f} GiB",
        "GPU": _gpu(),
    }
    return {name: fact for name, fact in facts.items() if fact}


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that numbers hang on, as far as they are installed here."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    lines = PROCESSOR.read_text("utf-8").splitlines() if PROCESSOR.is_file() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())


def _memory() -> int:
    """Return the bytes of memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _gpu() -> str:
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name(0)
    return "Apple, by Metal" if torch.backends.mps.is_available() else ""
