"""Twins of rules that have many: a rule says what it does, a module here what it must tell apart."""
