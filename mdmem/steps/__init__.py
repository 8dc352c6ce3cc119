"""The steps of pipelines: of two that begin, one is at work (`turns`), and each leaves a record
(`run_log`).
"""
