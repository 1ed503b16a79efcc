"""Several models side by side, and the paper's claims tested on each of them."""
