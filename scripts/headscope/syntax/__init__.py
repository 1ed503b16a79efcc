"""Dependency syntax: score every head (`scoring`), make numbers (`accuracy`), show (`examples`, `table1`, `names`)."""
