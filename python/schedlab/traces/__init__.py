"""Recordings of kernels: what happened in them, and in what two of them differ. The engine computes.

asked.py      what is asked of a recording, and the engine's answer
shown.py      the answer as tables and sentences
sums.py       what happened to a row in each block of time
against.py    two recordings compared, with intervals by bootstrap over blocks of time
runs.py       a recording compared with the runs of an experiment
"""
