"""Jobs at work: the worker, what each task does, heartbeats, and waiting for an end."""
