"""Hidden states of words: written from a model (`extraction`), as Parquet (`store`), read in any order (`laying`)."""
