"""The memory as an MCP server: tools, resources and prompts for assistants, over stdio and HTTP.

Nothing here imports the engine when it is loaded: a server on stdio answers before its memory is open.
"""
