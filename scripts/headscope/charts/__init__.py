"""A finished table in, an Altair chart out; one module a figure. `theme` has what they share and saves them."""
