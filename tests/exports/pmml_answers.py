"""Evaluate PMML by JPMML, in a process of its own, since a Java machine stays in its process.

Standard input has a list of pairs in JSON: a document, and its rows as mappings of columns to values. Standard output
has the list of the results of each row: mappings of outputs to values, or null for a row without an answer.
"""

import json
import sys

from jpmml_evaluator import JavaError, LoadingModelEvaluatorBuilder, make_backend

backend = make_backend("jpype")


def results(evaluator, row):
    """Return the outputs for a row, None if the row is invalid."""
    try:
        return evaluator.evaluate(row)
    except JavaError as error:
        if str(error.className).endswith((".InvalidResultException", ".ValueCheckException")):
            return None
        raise


found = []
for document, rows in json.load(sys.stdin):
    evaluator = LoadingModelEvaluatorBuilder(backend).loadString(document).build()
    found.append([results(evaluator, row) for row in rows])
json.dump(found, sys.stdout)
