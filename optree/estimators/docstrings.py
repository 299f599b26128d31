"""Text that the docstrings of several estimators share, so that it is written once."""

from __future__ import annotations

import re
from textwrap import dedent, indent

_TEXTS = {
    "class_weight": """
        class_weight : dict, "balanced" or None, default=None
            Weights of classes, which multiply the weights of rows. "balanced" gives each class the same total weight.
        smoothing : float, default=0.0
            The weight that ``predict_proba`` of a tree adds to each class of a leaf; 1 is the rule of Laplace, after
            which no class has probability 0. It changes no tree and no prediction. A set of trees counts votes.
    """,
    "min_samples_leaf": """
        min_samples_leaf : int or float, default=1
            The minimum number of rows in a leaf, whatever their weights; between 0 and 1 a share of the rows, rounded
            up. Empty children of a split do not count.
    """,
    "max_thresholds": """
        The greatest number of thresholds of a numeric column, taken at its quantiles; None for all thresholds between
        distinct values.
    """,
    "missing": """
        missing : {"best", "error"}, default="best"
            The treatment of missing values (NaN, None). "best": each split of a column with missing values sends all of
            them to one side, which is chosen like a threshold, by the objective; a multiway split has a child for them.
            For thresholds and splits of one category against the rest, a test for missing values alone is a further
            candidate split. In a column without missing values in the training rows, a missing value goes to the child
            of most training weight. "error" refuses missing values.
    """,
    "categorical": """
        categorical_features : "from_dtype", bool array of shape (n_features,) or sequence of str, default="from_dtype"
            The columns with categories, as a mask or by name; a dict or a labelled series of truth values has names. By
            default all columns of texts, truth values and unordered categories. Ordered categories (pandas, Enum of
            polars) are split at thresholds, like numbers. By default a column that identifies rows is left out with a
            warning: at least 95 % of its 20 or more values are different. Dates and durations are refused.
    """,
    "limits": """
        time_limit : float or None, default=30
            Seconds of wall clock from the call of ``fit``, without those of compilation (``compile_seconds_``). A
            search that reaches a limit warns, and keeps its best tree.
        memory_limit : float or None, default=None
            MiB of memory of the whole process; None for 1024 MiB of coded features, and no other limit but the memory
            of the machine. A table whose candidate splits cannot fit into it, or into the memory that the operating
            system has free, is refused before it is encoded.
        on_interrupt : {"raise", "return"}, default="raise"
            The end of ``fit`` after Ctrl-C. "raise": KeyboardInterrupt, which also ends a search over parameters. The
            fitted attributes are those of the best tree so far, so that the estimator can predict. There is no tree
            before the first step of the search, in a cross-validation, and in boosting. "return": a warning, and
            always a tree. Ctrl-C is raised by both while the table is read.
        n_jobs : int or None, default=None
            Threads, which share a search, or the folds of a cross-validation: None for one, -1 for all cores. The tree
            is the same for any number, unless a limit ends the search. Searches of limited depth, of the engine, of
            SPLIT, of Rashomon sets and of DPDT have threads, if they take more than a moment; other searches run on one
            thread. Each thread needs memory of its own.
    """,
    "common": """
        {limits}
        {categorical}
        unseen : {"error", "ignore"}, default="error"
            The treatment of a category that is not in the training rows: an error, or as none of the known categories.
            At a multiway split such a row stops, and gets the class of the split's training rows. A split with a child
            for each number treats a new number in the same way, also with "error".
        {missing}
        verbose : bool, default=False
            Whether to write progress to standard error: the search and the reason for it, the objective of the best
            tree so far, its bound, the gap and the seconds left, and the end. On a terminal the line of progress
            overwrites itself, a file has a line every five seconds.
    """,
    "optimal": """
        penalty : {"split", "leaf"}, default="split"
            Whether lambda is paid for each split or each leaf. Equivalent for binary splits.
        max_depth : int or None, default=None
            The greatest number of splits on a path. Small values allow searches that are many times faster
            (``solver_``).
        max_splits : int or None, default=None
            The greatest number of splits of the tree.
        {min_samples_leaf}
        {class_weight}
        costs : array-like of shape (n_classes, n_classes) or None, default=None
            ``costs[i][j]`` >= 0 is the cost, in rows, of predicting ``classes_[j]`` for a row of ``classes_[i]``; None
            for 1 for each wrong class. A data frame with the classes as labels may have them in any order.
        max_thresholds : int or None, default=None
            {max_thresholds}
        iteration_limit : int or None, default=None
            Visited supports; of the search over all thresholds, evaluations of up to 32 splits.
        one_vs_rest : "auto", bool or sequence of str, default="auto"
            The categorical columns that are split one category against the rest: all, none, or by name. "auto" takes
            the columns of more than 50 categories, and of more than 20 with fewer than 50 rows each on average. A split
            into more children leaves few rows to each, but pays the penalty of one split. A column has one of the two
            kinds of splits, and "optimal" holds among the trees with these splits. Groups of categories are not
            candidate splits. For two classes, a split into all categories with leaves as children has the errors of the
            best split into two groups. With further splits below it, two groups can have a lower cost.
    """,
    "feature_costs": """
        feature_costs : mapping of str to float or str, array-like of shape (n_features,) or None, default=None
            The cost of each split of a column on top of ``regularization``, >= 0 and in its units: by the names of
            columns (``x0``, ``x1``, ... for an array), or one for each column. Splits of other columns cost
            ``regularization`` alone.
    """,
    "warm_start": """
        warm_start : bool, default=False
            Start from the tree of the last ``fit``, if its columns are there again. The result is optimal in either
            case.
    """,
    "lookahead": """
        max_ways : int, default=2
            The greatest number of children of a split. With 2, numbers are split at thresholds. With more, numbers are
            also split into several intervals; the candidate splits are the partitions of minimum Gini impurity for each
            number of intervals. Missing values then come after all numbers: they have a child of their own, or join the
            highest interval. Categories are always split one against the rest.
        max_thresholds : int or None, default=100
            {max_thresholds}
        criterion : {"entropy", "gini"} or None, default=None
            The impurity that greedy splits minimise; None for entropy with ``max_ways=2``, else Gini impurity.
        two_levels : {"never", "lookahead", "frontier"}, default="lookahead"
            Where the last two levels are solved exactly, not greedily: nowhere, where both have lookahead, or
            everywhere.
        repeat : bool, default=True
            Whether a column may be split again on a path; with ``max_ways`` above 2.
        collapse : bool, default=False
            Join equal neighbouring subtrees, and nested splits of one column, after the search.
        iteration_limit : int or None, default=None
            Supports to be counted.
        random_state : int, RandomState or None, default=None
            Ignored: the search is deterministic.
        {class_weight}
        {common}
    """,
    "search": """
        solver_ : str
            The search that did the work: the solver, unless :mod:`optree.solvers.routing` chose another search.
        status_ : str
            "optimal"; "heuristic" for a search without a proof; "rounded" if the search ended, and the rounding of a
            target leaves ``gap_``; or the limit that ended the search: "time_limit", "memory_limit", "iteration_limit",
            "interrupted" (Ctrl-C).
        counters_ : dict of str to int
            Counters of the search, "iterations" first.
        search_seconds_ : float
            Seconds of the search, without compilation, and without encoding and layout of the data.
        compile_seconds_ : float
            Seconds of ``fit`` in which numba compiled the search, or loaded it from the disk cache. The first fit after
            installation compiles, and so does the first one with weights or parameters of another kind.
    """,
    "columns": """
        n_features_in_ : int
            Number of columns of ``X``.
        feature_names_in_ : ndarray of shape (n_features_in_,)
            Names of the columns, if ``X`` is a DataFrame whose columns are all strings.
    """,
    "classes": """
        classes_ : ndarray of shape (n_classes,)
            The classes, sorted.
        n_classes_ : int
            Number of classes.
    """,
    "of_tree": """
        feature_importances_ : ndarray of shape (n_features_in_,)
            The share of each column in the impurity decrease of all splits: of the Gini impurity, the squared error,
            or for absolute errors and actions the regret of the best single prediction.
        {columns}
    """,
    "fitted_classifier": """
        tree_ : optree.tree.Tree
            The best tree found.
        encoder_ : optree.encoding.Encoder
            The encoder of columns as the features of ``tree_``, which are the features that it splits. Predictions
            read the columns of these features only, so that an unseen category in another column is no error.
        cost_ : Fraction
            Cost of ``tree_`` on the training rows, loss plus penalty, in rows.
        lower_bound_ : Fraction or None
            Proven lower bound on the cost of all trees, in rows; None without a bound.
        regularization_ : float
            Lambda as the search used it: the nearest number to ``regularization`` for which costs are whole numbers of
            64 bits. The difference is below 2^-52; decimals of few digits are exact.
        gap_ : float or None
            ``(cost_ - lower_bound_) / total weight``; 0 if the tree is optimal, None without a bound.
        objective_ : float
            ``1 - cost_ / total weight``, the regularised accuracy.
        {search}
        trace_ : tuple of optree.result.TracePoint
            The moments at which the best tree or the lower bound improved: seconds, cost and lower bound, in the units
            of ``cost_``. ``plot_trace`` draws them.
        {classes}
        {of_tree}
    """,
    "fitted_regressor": """
        tree_ : optree.tree.Tree
            The best tree found.
        encoder_ : optree.encoding.Encoder
            The encoder of columns as the features of ``tree_``, which are the features that it splits.
        cost_ : float
            The weighted sum of squared or absolute errors of ``tree_`` on the training rows, plus penalties.
        lower_bound_ : float
            Proven lower bound on the cost of all trees.
        regularization_ : float
            Lambda as the search used it, in whole units of the grid of targets.
        gap_ : float
            ``(cost_ - lower_bound_) / cost of a leaf``; 0 if the tree is optimal.
        objective_ : float
            ``1 - cost_ / cost of a leaf``: for squared errors, R^2 on the training rows less the penalties.
        resolution_ : float
            0 without rounding. For squared errors, the step of the grid to which targets are rounded for the search:
            the root mean squared error of ``tree_`` exceeds the minimum by at most ``resolution_``. For absolute
            errors, a bound on the mean absolute error that a finished search loses by levels.
        {search}
        trace_ : tuple of optree.result.TracePoint
            The moments at which the best tree or the lower bound improved: seconds, cost and lower bound, in the units
            of ``cost_``. ``plot_trace`` draws them.
        {of_tree}
    """,
    "dpdt": """
        A state is a set of rows and a depth. Its actions are the leaf, and the splits of a CART grown on its rows with
        at most ``cart_nodes_list[depth]`` leaves. Backward induction finds the best actions. CART's own first split is
        an action, so the tree's objective is at most that of any CART of the same depth and of its pruned subtrees.

        Parameters
        ----------
        max_depth : int, default=3
            The greatest number of splits on a path.
        cart_nodes_list : sequence of int, default=(8, 8, 8)
            The greatest number of leaves of the CART at each depth, whose splits are the candidates. Beyond the list,
            and for 1 and 2, the only candidate is CART's best split. For other generators, the greatest number of
            candidate splits; beyond the list, 1.
        generator : {"cart", "top", "top_features", "lookahead", "exhaustive"}, default="cart"
            The source of candidate splits. "cart": CART's nodes. "top" and "top_features": the splits of minimum
            impurity, of all thresholds or one of each feature. "lookahead": the splits of minimum impurity after their
            best next splits. "exhaustive": all splits, for the optimum of that depth. The last two take a pass over the
            rows for each threshold, and more with every level.
        regularization : float, default=0.0
            Lambda >= 0, the penalty per unit of complexity: a share of the rows, or for numbers of the squared error of
            a leaf. One search finds the best trees for all lambdas; see ``at``.
        alpha : float or None, default=None
            Deprecated: ``regularization``, for numbers as a mean squared error.
        penalty : {"visits", "split"}, default="visits"
            The complexity: the expected number of splits on the path of a training row, or the number of splits.
        min_samples_split : int or float, default=2
            The minimum number of rows (or share, rounded up) of a split node.
        min_samples_leaf : int or float, default=1
            The minimum number of rows (or share, rounded up) of a leaf.
        min_weight_fraction_leaf : float, default=0.0
            The minimum share of the total weight in a leaf, at most 0.5.
        min_impurity_decrease : float, default=0.0
            The minimum impurity decrease of a candidate split, weighted by the share of the rows in its node.
        max_features : int, float, "sqrt", "log2" or None, default=None
            The number (or share) of features drawn for each node of a CART; None for all.
        {limits}
        random_state : int, RandomState or None, default=None
            Seed of the draws of ``max_features``. Ties are broken by the lowest feature, then the lowest threshold.
    """,
    "dpdt_fitted": """
        {categorical}
        unseen : {"error", "ignore"}, default="error"
            The treatment of a category that is not in the training rows: an error, or as none of the known categories.
            Of a column with two categories, such a row stops at the split, or goes on with most rows in boosted trees.
        {missing}
        bounds : bool, default=True
            Whether to prune candidates that cannot change the tree. Without pruning, ``counters_`` are the paper's.
        verbose : bool, default=False
            Whether to write the search and its end to standard error.

        Attributes
        ----------
        tree_ : optree.tree.Tree
            The tree for ``regularization``.
        encoder_ : optree.encoding.Encoder
            The encoder of columns as the features of ``tree_``, which are its splits.
        path_ : tuple of optree.estimators.alpha_path.AlphaStep
            All trees that are best for some lambda, by rising lambda, with ``lowest`` and ``highest`` lambda, ``loss``,
            ``complexity`` and ``splits``. ``at(regularization)`` returns an estimator with the tree.
        root_encoder_ : optree.encoding.Encoder
            The encoder of columns as the candidate splits of the root.
        cost_ : float
            Loss plus penalty of ``tree_`` on the training rows, in rows (for regression, as a sum over rows).
        {search}
            "iterations" are nodes (splits and leaves) of the fitted CARTs; for other generators, candidate splits, or
            splits with lookahead. "splits" are splits alone.
    """,
    "dpdt_notes": """
        {of_tree}

        Notes
        -----
        Values are compared as float64; infinite values are refused. A column with missing values counts twice in
        ``max_features``. Of trees of equal cost the least complex is returned, then the first in CART's order. A search
        that reaches a limit has the best trees over the root splits that were evaluated, or before the first of them a
        CART of few rows.

        References
        ----------
        Kohler, Akrour, Preux: Breiman meets Bellman: Non-Greedy Decision Trees with MDPs, KDD 2025.
    """,
    "boosting": """
        Each tree is fitted by least squares to the negative gradients of the loss (``order=1``, Friedman), or to the
        Newton steps of the rows, weighted by their curvatures (``order=2``, as in XGBoost; but ``reg_lambda`` does not
        influence the choice of splits). The value of a leaf is the Newton step of its rows in either case. All trees
        share one sorting of the columns.

        Parameters
        ----------
        n_estimators : int, default=150
            The number of stages.
        learning_rate : float, default=0.1
            The factor of each tree's values.
        order : {1, 2}, default=1
            Boosting of first or second order.
        reg_lambda : float, default=1.0
            A constant added to the curvature of a leaf if ``order=2``.
        max_depth : int, default=3
            The greatest number of splits on a path.
        cart_nodes_list : sequence of int, default=(4, 4, 4)
            As in ``DPDTreeRegressor``; ``()`` boosts CART's greedy trees.
        regularization : float, default=0.0
            As in ``DPDTreeRegressor``, for each tree.
        alpha : float or None, default=None
            Deprecated, as in ``DPDTreeRegressor``.
        min_samples_split, min_samples_leaf, max_features
            As in ``DPDTreeRegressor``.
        random_state : int, RandomState or None, default=None
            Seed of the draws of ``max_features``.
        {limits}
        {categorical}
        unseen : {"error", "ignore"}, default="error"
            The treatment of a category that is not in the training rows: an error, or as none of the known categories.
            Of a column with two categories, such a row stops at the split, or goes on with most rows in boosted trees.
        {missing}
        verbose : bool, default=False
            Whether to write the number of stages to standard error.

        Attributes
        ----------
        stages_ : list of list of optree.estimators.boosting.Stage
            The trees of each stage; fewer stages than ``n_estimators`` at a limit or after Ctrl-C.
        init_ : ndarray of shape (n_outputs,)
            The scores before the first stage.
        feature_importances_ : ndarray of shape (n_features_in_,)
            The share of each column in the decrease of the squared errors that the trees minimise.
        compile_seconds_ : float
            Seconds of ``fit`` in which numba compiled the search, or loaded it from the disk cache.
    """,
    "boosting_notes": """
        {columns}

        References
        ----------
        Kohler, Akrour, Preux: Breiman meets Bellman, KDD 2025, section 7.2. Friedman: Greedy Function Approximation,
        Annals of Statistics 2001. Chen, Guestrin: XGBoost, KDD 2016.
    """,
    "table": """
        X : DataFrame, array-like or sparse matrix of shape (n_samples, n_features)
            Numbers, texts, truth values and categories; None, NaN and NA are missing values. A frame may be of pandas,
            polars, pyarrow, or another library with the Arrow PyCapsule interface. A sparse matrix becomes an array, of
            one byte per cell if it is binary, else of eight. Dates and durations are refused.
    """,
    "fit_end": """
        sample_weight : array-like of shape (n_samples,), optional
            Weights of rows, >= 0, one by default; rows of zero weight are dropped. Rows of X, y
            and weights are matched by position. Labels of ``X`` in another order, in a series of pandas, are refused.

        Returns
        -------
        self

        Raises
        ------
        OptreeError
            A ValueError with a message of one line, if the data or a parameter is not accepted.
    """,
}


def documented(thing):
    """Replace each line ``{name}`` in the docstring of a class or function by the shared text of that name."""
    if thing.__doc__:  # None under python -OO
        thing.__doc__ = _expand(thing.__doc__)
    return thing


def _expand(text: str) -> str:
    def shared(line: re.Match) -> str:
        return indent(_expand(dedent(_TEXTS[line["name"]]).strip("\n")).rstrip(), line["indent"])

    return re.sub(r"^(?P<indent> *)\{(?P<name>\w+)\}$", shared, text, flags=re.MULTILINE)
