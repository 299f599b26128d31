"""The scikit-learn face of the solvers: one base, and per solver its name, its encoding and its parameters."""

from __future__ import annotations

import warnings
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from optree import solvers, views
from optree.budget import Budget
from optree.encoding import Encoder, EncodingSpec
from optree.errors import OptreeError
from optree.objective import Objective
