"""
The models of the Hugging Face world: loaded or refused by name (`loading`), run (`loaded`), described (`describing`).

Nothing here reaches the network.
"""

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # before transformers is imported
