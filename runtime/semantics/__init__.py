"""What a step means, by experiment: its terms, their normalisers, its update and its random numbers."""
