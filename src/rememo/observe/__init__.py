"""Observability: spans, metrics and log lines of a memory's operations. Off by default, without any cost.

Spans and metrics hold operations, times, numbers and error codes; never a text, a label but the tenant's, or a key.
"""

from rememo.observe.logs import JsonLines, log
from rememo.observe.traces import trace

__all__ = ["JsonLines", "log", "trace"]
