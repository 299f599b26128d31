"""Errors to plant in the rules of the verifier: each is a text of the program and its replacement."""

PLANTED = {
    "B1: the second-least loss of a leaf": ("leaf = self.error * first", "leaf = self.error * second"),
    "B1: one level counts as none": (
        "if d <= 0 or m <= 0:\n            return leaf\n        two",
        "if d <= 1 or m <= 0:\n            return leaf\n        two",
    ),
    "B2: M is forgotten": ("first + second - sums[-2]", "first + second"),
    "B2: multiway splits have two leaves": ("- sums[-2], 0) if self.binary or self.leaves else 0", "- sums[-2], 0)"),
    "B2: two levels have two leaves": ("(d == 1 or m == 1) and", "(d <= 2 or m == 1) and"),
    "B2: two splits have two leaves": ("(d == 1 or m == 1) and", "(d == 1 or m <= 2) and"),
    "B2: one split never has three leaves": (" and (self.binary or not self.leaves)\n", "\n"),
    "B2: three leaves pay thrice": ("np.minimum(bound, 2 * self.price)", "np.minimum(bound, 3 * self.price)"),
    "B3: the first leaf is paid for": (
        "self.price * (held.astype(self.kind) - 1)",
        "self.price * held.astype(self.kind)",
    ),
    "B3: two parts are too few": ("out = held < 2", "out = held < 3"),
    "B3: the minimum of rows is too few": ("(sums[-1] < self.least))", "(sums[-1] <= self.least))"),
    "B4: leaves in place of trees": ("self.error * sums[-2] - low[-1]\n", "self.error * sums[-2] - low[0]\n"),
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
        "problem.error * (self.sums[-2, at, None] - pairs[-2])",
        "problem.error * (self.sums[-2, at, None] - pairs[-2]) // 2",
    ),
    "B5: small leaves may shrink": ("away[pairs[-1] < self.sums[-1]] = problem.none", "pass"),
    "a listed bound for fewer levels is used": ("if levels >= self.d - 1:", "if True:"),
    "a listed bound for fewer splits is used": ("if share <= most]", "]"),
    "unlisted parts: a level too few": (
        "problem.simple(pairs, self.d - 2, share - 1)",
        "problem.simple(pairs, self.d - 3, share - 1)",
    ),
    "unlisted parts: a split too few": (
        "problem.simple(pairs, self.d - 2, share - 1)",
        "problem.simple(pairs, self.d - 2, share - 2)",
    ),
    "unlisted parts: no leaf": ("np.minimum(leaf, below)", "below"),
    "the first part has all rows": (
        "first = total[..., None] - parts_last",
        "first = total[..., None] - 0 * parts_last",
    ),
    "a third part is in the first part, too": (
        "first[..., splits] -= parts_last",
        "first[..., splits] -= 0 * parts_last",
    ),
    "the parts of a threshold overlap": ("above = codes > np", "above = codes >= np"),
    "cumulative sums have a row too few": ("len(order) - 1 - at]", "np.maximum(len(order) - 2 - at, 0)]"),
}
