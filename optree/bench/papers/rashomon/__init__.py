"""Numbers that the authors of TreeFARMS, RESPLIT and PRAXIS printed, beside the exact sets."""
