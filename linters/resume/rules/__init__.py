"""Rules on a resume, a file each."""
