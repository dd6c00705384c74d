"""The table: every way to state a fact that the rules know, grouped by what it is about.

To teach a new one, add a row to the file of its theme: the verb, the frame that follows it, the predicate and at least one
example. A test runs the examples of every row.
"""

from rememo.extract.pattern_row import PatternRow
from rememo.extract.rows import attributes, doings, health, home, people, tastes, things, work

ROWS: tuple[PatternRow, ...] = (
    *home.ROWS,
    *work.ROWS,
    *people.ROWS,
    *tastes.ROWS,
    *health.ROWS,
    *things.ROWS,
    *doings.ROWS,
    *attributes.ROWS,
)

__all__ = ["ROWS"]
