"""The data a run reads against what it is promised to be: files on disk and places in them, without jax."""
