"""Observe: what a running memory does, as spans, metrics and log lines. Nothing is watched unless asked, and then only counted.

Spans and metrics tell operations, times, numbers and kinds of errors; never a text, a label but the tenant's, or a key.
"""

from rememo.observe.logs import JsonLines, log
from rememo.observe.traces import trace

__all__ = ["JsonLines", "log", "trace"]
