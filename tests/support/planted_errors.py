"""Errors to plant in the rules of the verifier: each is a text of the program and its replacement."""

PLANTED = {
    "B1: the second-least loss of a leaf": ("return G.min(0)", "return G.max(0)"),
    "B1: one level counts as none": (
        "if d <= 0 or m <= 0:\n            return G",
        "if d <= 1 or m <= 0:\n            return G",
    ),
    "B2: M is forgotten": ("first + second - M", "first + second"),
    "B2: multiway splits have two leaves": ("- M, 0) if self.binary or self.leaves else 0", "- M, 0)"),
    "B2: two levels have two leaves": ("(d == 1 or m == 1) and", "(d <= 2 or m == 1) and"),
    "B2: two splits have two leaves": ("(d == 1 or m == 1) and", "(d == 1 or m <= 2) and"),
    "B2: one split never has three leaves": (" and (self.binary or not self.leaves) else", " else"),
    "B2: three leaves pay thrice": ("np.minimum(bound, 2 * self.price)", "np.minimum(bound, 3 * self.price)"),
    "B3: the first leaf is paid for": ("self.price * (held - 1)", "self.price * held"),
    "B3: two parts are too few": ("(held < 2)", "(held < 3)"),
    "B3: the minimum of rows is too few": ("(rows < self.least))", "(rows <= self.least))"),
    "B4: leaves in place of trees": ("gain = M - low[-1]\n", "gain = M - low[0]\n"),
    "B4: twice the price": ("(np.maximum, gain) <= price", "(np.maximum, gain) <= 2 * price"),
    "B4: all parts but two": ("- shape.over(np.maximum, gain)", "- 2 * shape.over(np.maximum, gain)"),
    "B4: without condition C": ("self.binary or (not self.leaves and self.least == 1)", "True"),
    "B4: condition C without leaves of any size": (
        "self.binary or (not self.leaves and self.least == 1)",
        "self.binary or not self.leaves",
    ),
    "B4: condition C without payment of splits": (
        "self.binary or (not self.leaves and self.least == 1)",
        "self.binary or self.least == 1",
    ),
    "B5: half of the loss": (
        "(within + (low[at] - self.sums[K, at])[:, None])",
        "(low[at, None] + (within - self.sums[K, at, None]) // 2)",
    ),
    "B5: small leaves may shrink": (
        "M if problem.least == 1 else np.where(",
        "np.where(True, M, 0) if True else np.where(",
    ),
    "a listed bound for fewer levels is used": ("if levels >= self.d - 1:", "if True:"),
    "a listed bound for fewer splits is used": ("if share <= most]", "]"),
    "unlisted parts: a level too few": ("M, self.d - 2, share - 1)", "M, self.d - 3, share - 1)"),
    "unlisted parts: a split too few": ("M, self.d - 2, share - 1)", "M, self.d - 2, share - 2)"),
    "unlisted parts: no leaf": ("np.minimum(self.sums[:K, at].min(0), below)", "below"),
    "the first part has all rows": ("later[..., :n, *rest], out", "0 * later[..., :n, *rest], out"),
    "a third part is in the first part, too": ("*rest] -= later", "*rest] -= 0 * later"),
    "the parts of a threshold overlap": ("above = codes > np", "above = codes >= np"),
    "cumulative sums have a row too few": ("[problem.ends] - 1 ", "[problem.ends] - 2 "),
    "a listed support has B4, without M": ("M if self.d > 2 else None", "0 * M"),
    "of three G_k, two have M as their sum": ("if K == 2 else pairs[K]", "if K >= 2 else pairs[K]"),
}
