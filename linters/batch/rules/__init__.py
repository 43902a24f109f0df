"""Rules on a batch, a file each."""
