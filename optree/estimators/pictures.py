"""Pictures of a fitted tree: matplotlib, SVG, and an interactive page for browsers and notebooks."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from optree.drawing import curves, svg, views
from optree.drawing.interactive import page
from optree.drawing.layout import Detail
from optree.drawing.rows import details
from optree.errors import OptreeError
from optree.estimators.tables import read_numbers
from optree.files import write_whole


class TreePictures:
    """The pictures of a fitted ``tree_``, whose features ``encoder_`` computes."""

    def plot(self, ax=None, *, X=None, y=None, sideways=None):
        """Draw the tree with matplotlib, and return the axes.

        A node shows the class shares of its training rows and their number, in the weights of ``fit``. Sibling leaves
        of one class are one box, and empty leaves are left out. The child whose condition holds is on the left. Twenty
        classes have colours of their own; the colours of the first eight are distinct for people with any colour
        vision. A figure with a dark background has a dark picture, as with
        ``matplotlib.style.use("dark_background")``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on; by default those of a new figure of the tree's size.
        X : table, optional
            Rows, the training rows or others. A split of a column of numbers then shows the histogram of the column
            among the rows of its node, with its threshold. Each row counts once.
        y : array-like, optional
            The target of these rows, as in ``fit``. Histograms then show the classes, and leaves of a regression tree
            the distribution of the target. Leaves of a policy tree say the cost that they save over the best single
            action.
        sideways : bool, optional
            Whether the tree grows to the right, with a line for each leaf; by default if it would be wider than 12
            inches.
        """
        check_is_fitted(self)
        if not (ax is None or hasattr(ax, "add_patch")):
            raise OptreeError(f"plot: ax = {ax!r} is not accepted; give axes of matplotlib, or None")
        return views.plot(self.tree_, ax, self._details(X, y), sideways)

    def to_svg(self, path=None, *, X=None, y=None, sideways=None) -> str:
        """Return the picture of :meth:`plot` as SVG, which is dark for readers who prefer dark pages.

        Parameters
        ----------
        path : str or path, optional
            A file to be written; folders that do not exist are made.
        X, y, sideways
            As in :meth:`plot`.
        """
        check_is_fitted(self)
        return self._written(svg.to_svg(self.tree_, self._details(X, y), sideways, alone=True), path)

    def to_html(self, path=None) -> str:
        """Return a page with the tree, as one file without a network.

        Subtrees fold and unfold, a chosen node shows its rows and conditions, and a row whose values are typed is
        followed to its leaf.

        Parameters
        ----------
        path : str or path, optional
            A file to be written; folders that do not exist are made.
        """
        check_is_fitted(self)
        return self._written(page.of(self), path)

    def _written(self, text: str, path) -> str:
        """Write a text into a file, unless ``path`` is None, and return the text."""
        if path is not None:
            write_whole(path, text.encode())
        return text

    def plot_trace(self, ax=None):
        """Draw the cost of the best tree and the lower bound over the seconds of the search, and return the axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on; by default those of a new figure.
        """
        check_is_fitted(self)
        if not getattr(self, "trace_", ()):
            raise OptreeError(f"plot_trace: {type(self).__name__} has no trace_; a search for one tree has it")
        return curves.course(self.trace_, self.search_seconds_, ax)

    def plot_importances(self, ax=None, *, most=20):
        """Draw ``feature_importances_`` as bars, the greatest first, and return the axes.

        :func:`optree.plots.plot_importances` draws importances of any other kind.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on; by default those of a new figure.
        most : int, default=20
            The greatest number of bars. Columns of importance zero have none.
        """
        check_is_fitted(self)
        if not hasattr(self, "feature_importances_"):
            raise OptreeError(
                f"plot_importances: {type(self).__name__} has no feature_importances_; draw others with "
                "optree.plots.plot_importances"
            )
        return curves.importances(self.feature_importances_, self.encoder_.names_, ax, most)

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's view of the parameters, and for a fitted tree its page."""
        parameters = super()._repr_html_inner()
        return parameters + page.framed(self) if hasattr(self, "tree_") else parameters

    def _repr_mimebundle_(self, **kwargs) -> dict:
        """Return the view of a notebook."""
        found = super()._repr_mimebundle_(**kwargs)
        return found | {"text/html": self._repr_html_inner()} if "text/html" in found else found

    def _details(self, X, y) -> dict[int, Detail]:
        """Return the parts of pictures that rows have."""
        if X is None and y is not None:
            raise OptreeError("plot: y without X is not accepted; give both, or X alone")
        if X is None:
            return {}
        X = self._table(X)
        y = None if y is None else self._drawn_target(y)
        if y is not None and len(y) != X.shape[0]:
            raise OptreeError(f"plot: X has {X.shape[0]} rows and y has {len(y)}; the same number is accepted")
        return details(self.tree_, self.encoder_, X, y)

    def _drawn_target(self, y) -> np.ndarray:
        """Return the target of drawn rows: costs, numbers, or the positions of classes."""
        if hasattr(self, "actions_"):
            costs = read_numbers(y, "plot: y")
            if costs.shape[1:] != (len(self.actions_),):
                raise OptreeError(f"plot: y has the shape {costs.shape}; (rows, {len(self.actions_)}) is accepted")
            return costs
        if self.tree_.values is not None:
            return read_numbers(column_or_1d(y), "plot: y")
        y = column_or_1d(y)
        place = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        if (wrong := self.classes_[place] != y).any():
            accepted = ", ".join(map(str, self.classes_))
            raise OptreeError(f"plot: y has the class {y[wrong.argmax()]!r}; accepted: {accepted}")
        return place
