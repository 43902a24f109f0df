"""Rules on a checkpoint, a file each."""
