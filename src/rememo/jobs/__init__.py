"""Background jobs: the worker, its tasks, heartbeats, and waiting for jobs to end."""
