"""Rules on the data behind batches, a file each."""
