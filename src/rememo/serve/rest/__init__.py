"""REST: the operations of a memory as routes under `/v1`."""
