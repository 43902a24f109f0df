"""The smoke test of a resume: a run that is killed and taken up again, each leg in a process of its own."""
