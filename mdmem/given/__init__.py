"""A record of the entries that sessions were given, so that none comes back as a new one."""
