"""Plots of results that are no estimators: paths of trees along lambda, and importances of columns."""

from optree.drawing.curves import importances as plot_importances
from optree.drawing.lambda_scores import trees as plot_lambda_path

__all__ = ["plot_importances", "plot_lambda_path"]
