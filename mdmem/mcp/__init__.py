"""The MCP server for agents: tools, resources and prompts over standard input and output.

The protocol is our own (`protocol`, `server`); tests hold it against the official SDK.
"""
