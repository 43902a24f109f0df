"""What a project says that changes how its source is understood. Which findings are shown is no matter of this."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import blake2b


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """Options of the analysis.

    `traced` names functions that are traced though nothing here shows it (`axlearn.common.*:BaseLayer.forward`);
    `module_methods` the methods of a Module that are traced by convention, beside `__call__`. `requirements` holds what
    the project declares of each package, as (name, specifier), for rules that depend on a version. `jobs` is the
    number of processes, 0 for as many as there are CPUs; it changes no finding.
    """

    traced: tuple[str, ...] = ()
    module_methods: tuple[str, ...] = ()
    requirements: tuple[tuple[str, str], ...] = ()
    jobs: int = 1

    @property
    def digest(self) -> str:
        """The name of everything that can change a finding."""
        told = {name: value for name, value in asdict(self).items() if name != "jobs"}
        return blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=8).hexdigest()
