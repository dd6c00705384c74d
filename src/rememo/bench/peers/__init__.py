"""The same work for Rememo and for its peers, each in an environment of its own.

`run` installs and drives, `work` is what runs inside a peer's environment, `wrappers` says how each peer adds and searches,
and `table` shows what came out.
"""
