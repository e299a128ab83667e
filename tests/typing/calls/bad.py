"""Calls that a type checker refuses: every line that is marked, and no other."""

from typing import Any

import numpy as np

import dpquantiles as dpq

data = np.arange(100.0)
table: Any = {}

dpq.quantils(data, 0.5, epsilon=1)  # error
dpq.quantiles(data, 0.5, epsilom=1)  # error
dpq.quantiles(data, 0.5, epsilon="one")  # error
dpq.quantiles(data, "medain", epsilon=1)  # error
dpq.quantiles(data, ["0.5"], epsilon=1)  # error
dpq.quantiles(data, epsilon=1)  # error
dpq.quantiles(data, 0.5, 1.0)  # error
dpq.quantiles(data, 0.5, epsilon=1, neighbors="swop")  # error
dpq.quantiles(data, 0.5, epsilon=1, mechanism="join_exp")  # error
dpq.quantiles(data, 0.5, epsilon=1, rng=42)  # error
dpq.quantiles(data, 0.5, epsilon=1, rng=np.random.default_rng(1))  # error
dpq.quantiles(data, 0.5, epsilon=1, bounds=3)  # error
dpq.quantiles(data, 0.5, epsilon=1, bounds=(1, 2, 3))  # error
dpq.quantiles(data, 0.5, epsilon=1, grid=(0, 1))  # error
dpq.quantiles(data, 0.5, epsilon=1, size="many")  # error
dpq.quantiles(data, 0.5, epsilon=1, size={"a": 1})  # error
dpq.quantiles(data, 0.5, epsilon=1, intervals="people")  # error
dpq.quantiles(data, 0.5, epsilon=1, ledger="budget.db")  # error
dpq.quantiles(data, 0.5, epsilon=1, keys=["a"])  # error
dpq.quantiles(table, 0.5, by="g", keys=["a"], epsilon=1)  # error
dpq.quantiles(table, 0.5, column="x", by="g", intervals="people")  # error
dpq.quantiles(table, 0.5, column="x", by=3, keys=["a"])  # error
dpq.quantiles(table, 0.5, column="x", by="g", epsilom=1)  # error
dpq.median(data, epsilom=1)  # error
dpq.median(data, column=3)  # error
dpq.median(data, 0.5, epsilon=1)  # error
dpq.quartiles(data, epsilon="one")  # error
dpq.deciles(data, max_rows_per_unit="two")  # error
dpq.deciles(table, column="x", by="g", epsilon="one")  # error
dpq.percentiles(data, "median", epsilon=1)  # error
dpq.percentiles(data, 5, delta="none")  # error
value = dpq.median(table, column="x", by="g", keys=["a"]).value  # error
keys = dpq.median(data, epsilon=1).keys  # error
dpq.describe(table, ["x"], epsilom=1)  # error
dpq.describe(table, ["x"], bounds=(0, 1))  # error
dpq.describe(table, ["x"], mechanism="best")  # error
dpq.plan(size=9, q="medain", epsilon=1)  # error
dpq.plan(size=9, q=0.5, epsilon=1, data="bumpy")  # error
dpq.plan(q=0.5, epsilon=1)  # error
dpq.epsilon_for(rank_error=0.1, size=9, q=0.5, neighbors="add_remove")  # error
dpq.size_for(rank_error=0.1, q=0.5, epsilon=1, mechanism="best")  # error
dpq.Ledger("a.db", epsilon="one")  # error
dpq.Ledger("a.db", epsilon=1, neighbors="add")  # error
dpq.median(data, epsilon=1).interval(of="people")  # error
