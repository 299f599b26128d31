"""MurTree's search as its paper describes it, with a switch for every technique."""
