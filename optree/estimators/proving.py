"""Proofs of fitted trees, which the program ``optree-verify`` checks."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from optree.actions import AbsoluteErrors
from optree.arrays import as_float
from optree.budget import Budget
from optree.encoding.table_columns import TableColumns
from optree.errors import NoRoomError, OptreeError, renamed, warn
from optree.estimators.memory import check_fits
from optree.measure import ACCURACY

if TYPE_CHECKING:
    from optree.proofs.files import Written


_COPIES = 2  # of the codes, a byte each, while a proof is searched


class Provable:
    """An estimator whose tree can be proven."""

    def prove(self, X, y, path, sample_weight=None, *, data=None, time_limit: float | None = None) -> Written:
        """Write a proof that no tree costs less than :attr:`lower_bound_`, and the table that the proof is about.

        ``optree-verify DATA PATH`` checks the proof without this package. A search that found the optimum proves that
        the tree is optimal. A search that reached a limit proves that no tree is better by more than the gap. The proof
        of a heuristic tree has the cost of the tree alone. The search for a proof takes several times the seconds of
        the fit, and may take hours for a tree over all thresholds without a limit on depth. If ``time_limit`` ends the
        search, the proof has a greater gap, and a warning says so.

        Parameters
        ----------
        X, y, sample_weight
            The training rows, as they were given to :meth:`fit`. A fitted estimator does not keep them.
        path : str or path
            The file of the proof; folders that do not exist are made.
        data : str or path, optional
            The CSV file of the table; by default ``path`` with the ending ``.csv``, which replaces the table of an
            earlier proof and no other file. The proof holds for this file.
        time_limit : float or None, default=None
            Seconds of the search for the proof, half of them for the bound and half for the list of supports.

        Returns
        -------
        Written
            The files, the checksum of the proof, its bytes, the number of listed supports, the gap, the seconds, and
            whether the search ended.

        Warns
        -----
        ConvergenceWarning
            If the time limit ended the search.

        Raises
        ------
        OptreeError
            If the objective is none of the accuracy, with any ``costs``, the squared error, and the costs of two or
            more actions, if ``monotonic_cst`` is given, if a file would be lost, if the rows are not the training rows,
            if the codes of all candidate splits do not fit into memory, or if the time limit is reached before a
            bound is proven and listed.
        """
        from optree.proofs.features import Texts
        from optree.proofs.files import write_proof

        check_is_fitted(self)
        for name, value in {"path": path, "data": data or ""}.items():
            if not isinstance(value, str | PathLike):
                raise OptreeError(f"prove: {name} = {value!r} is not accepted; give the name of a file")
            if value and Path(value).is_dir():
                raise OptreeError(f"prove: {name} = {str(value)!r} is a folder; give the name of a file")
        objective, base, path = self._objective(), clone(self), Path(path)
        if objective.measure != ACCURACY:
            raise OptreeError(
                f"prove: the objective {objective.measure.name} has no proofs; accuracy has, with any costs"
            )
        if getattr(self, "monotonic_cst", None) is not None:
            raise OptreeError(
                "prove: with monotonic_cst the tree is proven, and no file can hold the proof; give monotonic_cst=None"
            )
        table = path.with_suffix(".csv") if data is None else Path(data)
        if path.resolve() == table.resolve():
            raise OptreeError(f"prove: {str(path)!r} is not accepted for both files; give the table a name of its own")
        if data is None and table.exists() and not path.exists():
            raise OptreeError(f"prove: {str(table)!r} exists, and would be replaced; give data, the file of the table")
        with renamed({"budget: seconds": "prove: time_limit"}):
            clock = Budget(seconds=time_limit).start()
        problem, unit = base._problem(X, y, sample_weight)
        if isinstance(problem.target, AbsoluteErrors):
            raise OptreeError("prove: criterion = 'absolute_error' has no proofs; give criterion = 'squared_error'")
        if len(problem.classes) == 1 and problem.target.kind == "actions":
            raise OptreeError("prove: the costs of one action have no proofs; the costs of two or more have")
        columns, objective = problem.columns, self._charged(objective, problem).of_rows(problem)
        try:
            splits, remedy = columns.encoder.n_features_, "max_thresholds, or fewer rows or columns"
            check_fits(len(problem.y), f"{splits} candidate splits", _COPIES * splits, self.memory_limit, remedy)
        except NoRoomError as error:
            raise NoRoomError(f"prove: {error}, in a new fit") from error
        texts = Texts(columns.X, columns.encoder, base._has_all_thresholds)
        own = TableColumns(columns.X, lambda: self.encoder_)
        scale = objective.scale(problem)
        tree = self.tree_.refit(problem.over(own))
        whole = objective.cost(tree, scale, problem.target.training_loss(tree, problem.over(own)))
        cost = scale.in_rows(whole) * unit
        found, least = getattr(self, "_searched", (self.cost_, self.lower_bound_))
        if cost != found and as_float(cost) != found:
            raise OptreeError(f"prove: the tree costs {cost} for these rows, and {found} in fit; give the same rows")
        bound = None if least is None else int(least / unit * scale.row)
        if least == found:
            bound = whole
        written = write_proof(
            path,
            table,
            texts,
            problem.over(own),
            unit,
            objective,
            tree,
            own.codes.T.astype(np.int64).__getitem__,
            bound,
            clock,
            weaker=time_limit is not None,
        )
        if not written.complete:
            text = f"prove: time_limit = {time_limit:g} ended the search; the proof leaves a gap of "
            warn(f"{text}{float(written.gap):.4g} in cost; a greater time_limit leaves less", ConvergenceWarning)
        return written

    @property
    def _has_all_thresholds(self) -> bool:
        """Return whether a column of numbers is split at all thresholds."""
        spec = self._encoding
        return spec.max_cuts is None and spec.cuts != "mdlp"
