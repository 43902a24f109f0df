"""The interpreter: what a name is on each path, what two places have in common, which code runs together."""

from __future__ import annotations

from textwrap import dedent

import pytest
from contract_lint.linters.source.analyse import analyse_file, summarise
from contract_lint.linters.source.facts import FileFacts
from contract_lint.linters.source.keys import varies
from contract_lint.linters.source.program import link
from contract_lint.linters.source.records import Call, Function
from contract_lint.linters.source.summary import FileSummary
from contract_lint.linters.source.text import plain_source


def facts_of(code: str) -> FileFacts:
    source = plain_source("example.py", "from lib import use\n" + dedent(code))
    summary = summarise(source)
    assert isinstance(summary, FileSummary)
    facts = analyse_file(source, link([summary]))
    assert isinstance(facts, FileFacts)
    return facts


def function(facts: FileFacts, name: str) -> Function:
    return next(each for each in facts.functions if each.name == name)


def uses(facts: FileFacts, name: str = "f") -> list[Call]:
    """The calls of `use` in a function."""
    return [call for call in function(facts, name).calls if (facts.callee(call).name or "").endswith("use")]


def test_a_name_that_is_not_rebound_is_one_value() -> None:
    facts = facts_of("def f(x):\n    use(x)\n    y = x\n    use(y)\n    x = x + 1\n    use(x)\n")
    first, second, third = [call.args[0] for call in uses(facts)]
    assert first is second and third is not first and third.op == "bin"


def test_paths_that_meet_give_a_phi_unless_they_agree() -> None:
    facts = facts_of("def f(c, x):\n    y = x\n    if c:\n        x = 1\n    use(x)\n    use(y)\n")
    met, kept = [call.args[0] for call in uses(facts)]
    assert met.op == "phi" and [each.op for each in met.args] == ["const", "param"] and kept.op == "param"


@pytest.mark.parametrize(
    ("statement", "changed"),
    [
        ("d.update(x)", True),
        ("y, s = d.update(x)", False),
        ("y = x + d.add(x)", False),
        ("d.append(x)", True),
        ("for i in x:\n    y, s = d.update(i)", False),
        ("for i in x:\n    d.update(i)", True),
    ],
)
def test_update_changes_a_dictionary_only_where_its_result_is_not_used(statement: str, changed: bool) -> None:
    body = "".join(f"    {line}\n" for line in ["use(d)", *statement.splitlines(), "use(d)"])
    before, after = [call.args[0] for call in uses(facts_of("def f(d, x):\n" + body))]
    assert (before is not after) is changed


def test_a_method_called_update_leaves_the_object_what_it_is() -> None:
    code = "class C:\n    def f(self, x):\n        use(self)\n        self.update(x)\n        use(self)\n"
    before, after = [call.args[0] for call in uses(facts_of(code))]
    assert before is after


def test_an_arm_that_ends_brings_nothing() -> None:
    facts = facts_of("def f(c, x):\n    if c:\n        x = 1\n        return x\n    use(x)\n")
    assert uses(facts)[0].args[0].op == "param"


@pytest.mark.parametrize(
    ("body", "together"),
    [
        ("if c:\n    use(1)\nelse:\n    use(2)\n", False),
        ("if c:\n    use(1)\nuse(2)\n", True),
        ("if c:\n    use(1)\n    return\nuse(2)\n", False),
        ("for i in c:\n    if i:\n        use(1)\n        continue\n    use(2)\n", False),
        ("for i in c:\n    if i:\n        use(1)\n        return\nuse(2)\n", False),
        ("try:\n    use(1)\nexcept E:\n    use(2)\n", False),
        ("try:\n    use(1)\nexcept E:\n    pass\nelse:\n    use(2)\n", True),
        ("try:\n    use(1)\nexcept E:\n    return\nuse(2)\n", True),
        ("try:\n    use(1)\nexcept E:\n    pass\nfinally:\n    use(2)\n", True),
        ("try:\n    use(1)\n    return\nfinally:\n    use(2)\n", True),
        ("match c:\n    case 1:\n        use(1)\n    case _:\n        use(2)\n", False),
        ("use(1) if c else use(2)\n", False),
        ("with c:\n    use(1)\nuse(2)\n", True),
    ],
)
def test_what_runs_in_one_round(body: str, together: bool) -> None:
    code = "def f(c):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    first, second = uses(facts_of(code))
    assert first.block.excludes(second.block) is not together


def test_a_loop_carries_what_it_rebinds_and_keeps_the_rest() -> None:
    facts = facts_of(
        """
        def f(xs, a, b):
            for x in xs:
                use(a)
                use(b)
                use(x)
                a = step(a)
            use(a)
        """
    )
    a, b, x, after = [call.args[0] for call in uses(facts)]
    (loop,) = function(facts, "f").loops
    assert a.op == "loop" and a.args[1].op == "call" and b.op == "param" and x.op == "element"
    assert after is not a and after.op == "phi"
    assert varies(a, loop) and varies(x, loop) and not varies(b, loop)


def test_tuples_dictionaries_and_items_in_sight() -> None:
    facts = facts_of(
        """
        def f(x, y):
            a, (b, *c) = x, (y, 1, 2)
            d = {"p": a, "q": b}
            d["r"] = c
            use(d["p"])
            use(d["q"])
            use(d["r"])
            use([x, y][-1])
        """
    )
    first, second, rest, last = [call.args[0] for call in uses(facts)]
    assert first.data.name == "x" and second.data.name == "y" and rest.op == "list" and last.data.name == "y"


def test_attributes_are_known_until_a_method_runs() -> None:
    facts = facts_of(
        """
        class A:
            def f(self):
                use(self.key)
                use(self.key)
                self.key = 1
                use(self.key)
                self.change()
                use(self.key)
        """
    )
    first, again, stored, unknown = [call.args[0] for call in uses(facts)]
    assert first is again and stored.op == "const" and unknown.op == "attr" and unknown is not first


def test_closures_see_what_a_name_becomes() -> None:
    facts = facts_of(
        """
        def outer(x):
            def inner():
                use(x)
                use(later)
                use(once)
            once = x
            later = 1
            later = 2
            return inner
        """
    )
    x, later, once = [call.args[0] for call in uses(facts, "inner")]
    assert x.op == "param" and later.data == 2 and once is not later and once.data.name == "x"


def test_globals_that_a_function_sets() -> None:
    facts = facts_of("state = None\ndef f(x):\n    global state\n    state = x\n    use(state)\n")
    assert [store.kind for store in function(facts, "f").stores] == ["global"]
    assert facts.module.exports["state"].op == "phi"


def test_deep_and_long_code_is_followed_or_reported() -> None:
    chain = "def f(x):\n" + "    x = x + 1\n" * 3000 + "    use(x)\n"
    assert uses(facts_of(chain))[0].args[0].op == "bin"
    deep = facts_of("def f(x):\n    return x" + "()" * 3000 + "\n")
    assert len(function(deep, "f").calls) == 3000 or deep.module.too_deep == [2]
