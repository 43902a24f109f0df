"""What a step's parameters mean in training, held against the committed lock."""
