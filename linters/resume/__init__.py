"""A run that was killed and taken up again against one that never stopped."""
