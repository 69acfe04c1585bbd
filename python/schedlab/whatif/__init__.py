"""What another scheduler or setting would have done to the tasks of a recording.

`asked` is what is changed; `replays` makes the runs; `judged` says which numbers of them can be trusted, and gives
these with intervals; `document` and `shown` put it in JSON and in tables.
"""
