"""Teaching an embedder what requests for tools look like: pairs, training of a low-rank update, and its test."""
