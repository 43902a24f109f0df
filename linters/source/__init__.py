"""The source linter: which functions are traced, what their values are, and what goes wrong with them.

`text` and `parse` read a file, `values/` interprets it once and leaves records, `summary` keeps what other files need,
`program` links the summaries, `traced` says which functions run under a transform, `facts` is what a rule reads,
`rules/` holds one rule in each module, `analyse` runs them.
"""
