"""The MCP server for agents: tools, resources and prompts over standard input and output.

Only `server` loads the SDK, which is slow; `greeting` answers a client before that.
"""
