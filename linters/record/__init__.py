"""Experiment records against what they bind."""
