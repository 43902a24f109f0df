"""A saved state against what is promised of it: read from the metadata on disk, no array loaded, without jax."""
