"""The dashboard: server-rendered pages to inspect and manage a memory."""
