"""The server for agents: memory as tools, resources and prompts of the Model Context Protocol, over standard input and output.

`server` alone knows the SDK, which takes longer to load than all else; nothing but it is loaded before a client is answered.
"""
