"""Schedules: systemd or cron calls `run` every few minutes.

`texts` is pure, `placing` installs and removes.
"""
