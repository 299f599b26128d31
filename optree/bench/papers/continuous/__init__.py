"""The papers on trees over all thresholds: Quant-BnB, ConTree and DPDT."""
