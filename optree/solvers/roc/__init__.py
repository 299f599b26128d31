"""Best trees for AUC, partial AUC, F-beta and Jaccard, by envelopes of ROC curves."""

SOLVERS = {"roc": "solver"}
