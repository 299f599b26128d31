"""How this project uses numba: compilation of inner functions, views of structs, direct calls."""
