"""Dreams: entries of past days become curated memory, or are proposed.

`due` says which days are due; `candidates` reads their entries, `curated` current memory. `cases`
judges each entry by rules, `model_step` by a model; `policy` says which changes are applied and
which proposed. `dreaming` repeats that whenever memory has changed, and `writing` makes a commit of
each change, so it can be killed anywhere.
"""
