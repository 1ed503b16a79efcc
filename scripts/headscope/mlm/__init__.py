"""Masked language modelling: which tokens are hidden, and the heads that guess them."""
