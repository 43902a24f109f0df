"""Promises about the compiled program: placements, collectives, memory."""
