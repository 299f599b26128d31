"""Mixed-integer programs: OCT and BinOCT on HiGHS, an open-source program for mixed-integer programming."""

SOLVERS = {"binoct": "binoct", "oct": "oct"}
