"""The largest memory of programs: recorded as processes end, kept by program and class of arguments, and made into
limits.

classes.py    which runs are counted together: program, and class of arguments (`classes.toml` has the rules)
store.py      the database: its tables, its bounds, who may write to it
recorder.py   the agent's lines into the database, in whole transactions
history.py    what is in a database: runs by class, sums, quantiles
limits.py     a limit with a chosen share of breaches
advice.py     a limit in the forms in which it is set
drift.py      versions of a program compared
replay.py     what limits would have cost and broken in the recorded history
shown.py      all of these as tables
"""
