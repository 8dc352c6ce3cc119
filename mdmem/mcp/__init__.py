"""The server for agents: memory as tools, resources and prompts of the Model Context Protocol, over
standard input and output.

`server` and `streams` alone know the SDK, which takes longer to load than all else; `greeting`
answers a client before.
"""
