"""Dreams: entries of ended days become curated memory, or are proposed.

`due` says which days are due; `candidates` reads their entries, `curated` what stands. `cases`
judges each entry by rules, `model_step` by a model, `rails` says which of the changes are carried
out and which proposed: all three are pure but for the asking. `work` puts them together, and judges
again whatever has changed before it writes; `writing` carries a change out, as a commit of its own.
`dreaming` is the verb. Kill it anywhere: what stands counts, and the rest is judged again.
"""
