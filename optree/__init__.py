"""optree: provably optimal decision trees, and a benchmark that anyone can reproduce."""
