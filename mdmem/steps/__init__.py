"""Steps of pipelines: one runs at a time (`turns`), and each leaves a record (`run_log`)."""
