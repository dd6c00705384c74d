"""What the engine costs beside a bare baseline, for those who change it: `python -m bench.<name>`; not in the wheel.

What users measure on their own data is `rememo bench`, in src/rememo/bench.
"""
