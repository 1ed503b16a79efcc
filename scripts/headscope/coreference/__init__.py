"""Coreference: score every head (`scoring`, `baselines`), make numbers (`accuracy`), show (`passages`, `table2`)."""
