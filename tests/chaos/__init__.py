"""
The fault suite: the real system as processes, broken while an independent checker watches.

`python -m tests.chaos` (or `make chaos`) runs the scenarios. `world` starts origin and system,
`scenarios` breaks them, `laws` judges what the origin saw and what the store holds, `report` writes
the table of docs/reliability.md. `tests/system/test_chaos.py` runs small versions.
"""
