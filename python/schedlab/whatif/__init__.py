"""What another scheduler or setting would have done to the tasks of a recording.

asked.py       what is changed
replays.py     the runs
judged.py      which numbers of them can be trusted, with intervals
scatter.py     how far another run may be from them
document.py    predictions as JSON
assumed.py     what a recording does not show and is taken for granted
several.py     one prediction from several recordings of a load
shown.py       predictions as tables
"""
