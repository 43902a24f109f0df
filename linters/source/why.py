"""Why a function is traced: the chain that findings give, and the shortest from each other transform that leads to it.

This walks the whole call graph, so it is a graph here: networkx takes longer to import than a check of one file does,
and only who asks for a reason pays for it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from .program import Program
from .text import is_test_path

MOST = 3
"""Other chains, or callers, that are listed."""
_NOT_TRACED = "is not traced by anything known here"


def not_traced(reasons: list[str]) -> bool:
    """Whether `why` found nothing that traces the function."""
    return reasons[0].endswith(_NOT_TRACED)


def why(program: Program, path: str, line: int) -> list[str]:
    """Why the innermost function at a line is traced; or that it is not, and who calls it."""
    inside = [
        (data["l"], id)
        for id, (data, file) in program.function_data.items()
        if file.path == path and data["l"] <= line <= data.get("e", line) and data["n"] != "<module>"
    ]
    if not inside:
        return [f"{path}:{line} is not in a function"]
    id = max(inside)[1]
    name = _name(program, id)
    traced = program.traced_functions.get(id)
    if traced is None:
        return [f"{name} {_NOT_TRACED}", *_callers(program, id)]
    told = [f"{traced} ({name})"]
    function = program.function(id)
    names = [each.name for each in function.parameters] if function is not None else []
    states = [f"{each}: {traced.parameters.get(each, 'unknown')}" for each in names if each not in ("self", "cls")]
    if states:
        told.append("parameters: " + ", ".join(states))
    return told + [f"also {each}" for each in other_chains(program, id)]


def call_graph(program: Program) -> Any:
    """The functions of a program by id, as a `networkx.DiGraph`: who calls whom, and what is defined in what.

    Each edge has the `path` and `line` of the call or definition, the first where there are several.
    """
    import networkx

    graph = networkx.DiGraph()
    for id, (data, file) in program.function_data.items():
        graph.add_node(id)
        outer = data.get("u")
        if outer is not None and not outer.endswith(":"):
            graph.add_edge(outer, id, path=file.path, line=data["l"])
    for id, callers in program.callers.items():
        for caller, line, _ in callers:
            if not graph.has_edge(caller, id):
                graph.add_edge(caller, id, path=program.function_data[caller][1].path, line=line)
    return graph


def other_chains(program: Program, id: str) -> list[str]:
    """The shortest chain from each other function that is itself handed to a transform, the shortest first."""
    import networkx

    graph = call_graph(program)
    traced = program.traced_functions
    known = traced[id].chain[0]
    found: list[tuple[int, str]] = []
    # Only what is traced hands it on.
    within = graph.subgraph([each for each in graph if each in traced])
    paths = networkx.single_source_shortest_path(within.reverse(copy=False), id)
    for root, back in paths.items():
        if not traced[root].direct or traced[root].chain[0] == known:
            continue
        hops = list(reversed(back))
        steps = [str(each) for each in traced[root].chain]
        for caller, callee in pairwise(hops):
            at = graph.edges[caller, callee]
            steps.append(f"{at['path']}:{at['line']} {_name(program, callee)}()")
        found.append((len(steps), "traced: " + " -> ".join([*steps, "here"])))
    return [text for _, text in sorted(found)[:MOST]]


def _callers(program: Program, id: str) -> list[str]:
    """Where a function is called, tests last."""
    places = {
        (is_test_path(file.path), f"called: {file.path}:{line} in {_name(program, caller)}")
        for caller, line, _ in program.callers.get(id, ())
        for file in (program.function_data[caller][1],)
    }
    return [text for _, text in sorted(places)[:MOST]]


def _name(program: Program, id: str) -> str:
    name = program.function_data[id][0]["n"]
    return "lambda" if name.startswith("<lambda") else name
