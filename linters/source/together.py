"""Whether one run can pass two places of a function: what the conditions round both say, taken together.

Each condition is taken apart into facts: one question, and whether it is answered yes. A question of a value and
constants (`mode == "train"`, `n > 3`, `flag`, `x is None`) is a test of that value. Facts contradict where the same
question is answered twice, or where no value passes all tests of it. Two questions are the same where they are asked
of the same values: of a name that was bound again meanwhile, they are not.

A question of a value that two arms of a branch brought, where one arm's value cannot give the answer, says which arm
was taken: after `x = None; if c: x = f()`, the `x` of `if x is None` is that of the arm where `c` did not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice, pairwise
from typing import Any, NamedTuple

from .records import Block, Branch
from .values.value import Value, dotted

Condition = tuple[Value, str]
"""A condition that was asked, and the arm that is taken, `then` or `else`."""
Test = Callable[[Any], bool]
"""Whether a value gives the answer to a question that was given; none does that the question cannot be asked of."""


class Tested(NamedTuple):
    """What a question asks of one value: whose identity, the test, the constants in it, and those of which it must be
    one to pass, None where it may be another.
    """

    subject: Hashable
    passes: Test
    among: list[Any]
    only: frozenset[Any] | None = None


class Said(NamedTuple):
    """One fact: a question and its answer, and the test where it is a question of a value and constants."""

    question: Hashable
    answer: bool
    tested: Tested | None


class Round(NamedTuple):
    """What the conditions round a block say, and for the values that must be one of some constants, these: two blocks
    for other constants are told apart by that alone, as in a long chain of `if n == 1`, `if n == 2`.
    """

    facts: list[Said]
    only: dict[Hashable, frozenset[Any]]


_DEEPEST = 8
_MOST = 40
"""So many conditions round one place are looked at, the innermost: long functions may have thousands."""
_MADE = frozenset({"tuple", "list", "dict", "set", "comp", "function", "class", "format", "bin"})
_MAKERS = ("jax.random.", "jax.numpy.", "numpy.")
"""Libraries whose functions give arrays, or raise."""
_PLAIN = (str, int, float, bool, bytes, type(None))
_OPPOSITE = {"NotEq": "Eq", "IsNot": "Is", "NotIn": "In", "GtE": "Lt", "LtE": "Gt"}
_TURNED = {"Eq": "Eq", "NotEq": "NotEq", "Lt": "Gt", "Gt": "Lt", "LtE": "GtE", "GtE": "LtE"}
_ASKED: dict[str, Callable[[Any, Any], bool]] = {
    "Eq": lambda value, constant: value == constant,
    "Is": lambda value, constant: value is constant or (type(value) is type(constant) and value == constant),
    "In": lambda value, constants: value in constants,
    "Lt": lambda value, constant: value < constant,
    "Gt": lambda value, constant: value > constant,
}


class _Other:
    """A value that is none of the constants that are named, true or false."""

    def __init__(self, truth: bool) -> None:
        self.truth = truth

    def __bool__(self) -> bool:
        return self.truth


_OTHERS = (_Other(True), _Other(False))


def together(first: Block, second: Block, *more: Condition) -> bool:
    """Whether one run can pass both blocks: not in other arms of a branch, nor under conditions that contradict.

    `more` are conditions that hold for the first beside those that stand round it.
    """
    mine, theirs = _said_round(first), _said_round(second)
    for subject, only in mine.only.items():
        other = theirs.only.get(subject)
        if other is not None and only.isdisjoint(other):
            return False
    if first.excludes(second):
        return False
    if not more and not (mine.facts and theirs.facts):
        return True
    return not _is_contradiction([*mine.facts, *theirs.facts, *_said(more)])


def _said_round(block: Block) -> Round:
    """What the conditions round a block say. Remembered in the block."""
    if block.said is None:
        found = _said(islice(block.guards(), _MOST))
        only: dict[Hashable, frozenset[Any]] = {}
        for each in found:
            if each.tested is not None and each.tested.only is not None:
                only.setdefault(each.tested.subject, each.tested.only)
        block.said = Round(found, only)
    return block.said


def contradict(conditions: Iterable[Condition]) -> bool:
    """Whether conditions cannot all be so."""
    return _is_contradiction(_said(conditions))


def _said(conditions: Iterable[Condition]) -> list[Said]:
    asked = facts((value, arm == "then") for value, arm in conditions if arm in ("then", "else"))
    return [Said(*_question(value, holds), _test(value, holds)) for value, holds in asked]


def _is_contradiction(said: Iterable[Said]) -> bool:
    answers: dict[Hashable, bool] = {}
    tests: dict[Hashable, list[Test]] = {}
    constants: dict[Hashable, list[Any]] = {}
    for question, answer, tested in said:
        if answers.setdefault(question, answer) is not answer:
            return True
        if tested is not None:
            tests.setdefault(tested.subject, []).append(tested.passes)
            constants.setdefault(tested.subject, []).extend(tested.among)
    return any(len(each) > 1 and not _possible(each, constants[subject]) for subject, each in tests.items())


def _possible(tests: list[Test], constants: list[Any]) -> bool:
    """Whether a value passes all tests: each constant, numbers beside and between them, and what is none of them."""
    numbers = sorted({each for each in constants if type(each) in (int, float)})
    beside = [number + by for number in numbers for by in (-0.5, 0.5, -1, 1)]
    between = [(left + right) / 2 for left, right in pairwise(numbers)]
    for candidate in (*constants, *beside, *between, None, True, False, *_OTHERS):
        if all(passes(candidate) for passes in tests):
            return True
    return False


def facts(conditions: Iterable[tuple[Value, bool]], depth: int = 0) -> Iterator[tuple[Value, bool]]:
    """What conditions say one by one: themselves, all operands of an `and` that holds, of an `or` that does not, and
    which arms were taken before.
    """
    for value, holds in conditions:
        while value.op == "unary" and value.data == "Not":
            value, holds = value.args[0], not holds
        yield value, holds
        if value.op == "bool" and (value.data == "And") is holds:
            yield from facts(((each, holds) for each in value.args), depth)
        if depth < _DEEPEST:
            yield from facts(_arm_taken(value, holds), depth + 1)


def _arm_taken(value: Value, holds: bool) -> Iterator[tuple[Value, bool]]:
    """The condition, and its answer, that a fact about a value of two arms tells of the branch between these."""
    is_test = value.op == "compare" and len(value.data) == 1
    turned = is_test and value.args[0].op == "const"
    subject = value.args[1 if turned else 0] if is_test else value
    branch = subject.data if subject.op == "phi" else None
    if not isinstance(branch, Branch) or branch.kind not in ("if", "ternary") or len(subject.args) != 2:
        return
    if branch.value is None:
        return
    left = [(at, each) for at, each in enumerate(subject.args) if _may_answer(value, subject, each, holds)]
    if len(left) == 1:
        at, brought = left[0]
        yield branch.value, at == 0
        if brought.op == "phi":
            yield _asked_of(value, subject, brought), holds


def _may_answer(value: Value, subject: Value, brought: Value, holds: bool, depth: int = 0) -> bool:
    """Whether what an arm brought in place of a subject may give this answer."""
    if brought.op == "phi":
        return depth >= _DEEPEST or any(_may_answer(value, subject, each, holds, depth + 1) for each in brought.args)
    known = brought.op == "const" and type(brought.data) in _PLAIN
    is_none = value.op == "compare" and value.data[0] in ("Is", "IsNot")
    if not known and not (is_none and _is_made(brought)):
        return True
    test = _test(value, holds)
    return test is None or any(test.passes(each) for each in ((brought.data,) if known else _OTHERS))


def _asked_of(value: Value, subject: Value, brought: Value) -> Value:
    """The question that was asked of a subject, of another value."""
    if value is subject:
        return brought
    return Value(value.op, value.node, tuple([brought if each is subject else each for each in value.args]), value.data)


def _is_made(value: Value) -> bool:
    """Whether a value is surely an object of its own: none of the constants."""
    made = dotted(value.data.func) if value.op == "call" else None
    return value.op in _MADE or (made is not None and made.startswith(_MAKERS))


def _question(value: Value, holds: bool) -> tuple[Hashable, bool]:
    """A condition as it is asked without a negation, and its answer then."""
    if value.op == "compare" and len(value.data) == 1:
        operator, (left, right) = value.data[0], value.args
        if operator in _OPPOSITE:
            operator, holds = _OPPOSITE[operator], not holds
        if operator == "Gt":
            operator, left, right = "Lt", right, left
        return ("compare", operator, identity(left), identity(right)), holds
    return identity(value), holds


def _test(value: Value, holds: bool) -> Tested | None:
    """What a condition asks of one value. None where it does not."""
    if value.op != "compare" or len(value.data) != 1:
        return Tested(identity(value), lambda candidate: bool(candidate) is holds, [])
    operator, (subject, other) = value.data[0], value.args
    if subject.op == "const" and operator in _TURNED:
        operator, subject, other = _TURNED[operator], other, subject
    if operator in _OPPOSITE:
        operator, holds = _OPPOSITE[operator], not holds
    several = operator == "In"
    if several and other.op not in ("tuple", "list", "set"):
        return None
    given = other.args if several else (other,)
    if not all(each.op == "const" and type(each.data) in _PLAIN for each in given):
        return None
    among = [each.data for each in given]
    if operator in ("Lt", "Gt") and type(among[0]) not in (int, float):
        return None
    asked, constant = _ASKED[operator], among if several else among[0]

    def test(candidate: Any) -> bool:
        try:
            return asked(candidate, constant) is holds
        except TypeError:
            return False

    only = frozenset(among) if holds and operator in ("Eq", "In") else None
    return Tested(identity(subject), test, among, only)


def identity(value: Value, depth: int = 0) -> Hashable:
    """Equal for two values that are the same while nobody changes an object: the same expression of the same values."""
    op, args = value.op, value.args
    if op == "const":
        return ("const", type(value.data), repr(value.data))
    if op == "name":
        return ("name", value.data)
    if depth < _DEEPEST:
        if op == "call" and not value.data.keywords:
            args = (value.data.func, *value.data.args)
            return (op, *(identity(each, depth + 1) for each in args))
        if op in ("attr", "unary", "bin", "compare", "bool", "item", "tuple"):
            return (op, value.data, *(identity(each, depth + 1) for each in args))
    return ("value", id(value))
