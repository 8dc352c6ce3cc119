"""Schedules: what has `run` called every few minutes, by systemd or by cron.

`units` and `crontab` are the texts (pure). `placing` puts them where the system looks, and takes
them out again.
"""
