"""What each verb does, free of the command line and of the output format."""
