"""Whole runs with their reference processes: argv = JSON list of [entry, axes, args, more]."""

import json
import sys

from steps import execute

print(
    json.dumps([execute(entry, axes, args, **more).model_dump() for entry, axes, args, more in json.loads(sys.argv[1])])
)
