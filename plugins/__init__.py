"""The application: command line, pipelines, reporters, pytest plugin and hooks."""
