"""One module a rule; each holds `RULE`."""
