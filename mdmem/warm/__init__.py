"""The way in: a launcher, and a server that keeps the program's modules loaded."""
