"""The command line: one file for each verb, loaded when that verb is called."""
