"""The dashboard: pages to look into a memory, made on the server."""
