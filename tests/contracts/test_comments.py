"""Comments of YAML, told apart from text that looks like one."""

from __future__ import annotations

from contract_lint.contracts.comments import yaml_comments

TEXT = """\
# top
a: "x # no"   # quoted
b: 'it''s # no' # single
c: |   # header
  # no block
  text # no
d: plain#no # plain
f: "multi
  # no
  end # no" # after
g: [a, # in a flow
   "b # no", c] # flow end
h: plain multi
  line # plain end
i: |
  last # no
# end
"""


def test_all_of_them() -> None:
    assert [(line, text) for line, _, text in yaml_comments(TEXT)] == [
        (1, "# top"),
        (2, "# quoted"),
        (3, "# single"),
        (4, "# header"),
        (7, "# plain"),
        (10, "# after"),
        (11, "# in a flow"),
        (12, "# flow end"),
        (14, "# plain end"),
        (17, "# end"),
    ]


def test_columns_are_one_based() -> None:
    assert list(yaml_comments("a: 1  # x\r\n")) == [(1, 7, "# x")]


def test_text_that_is_not_yaml_has_none() -> None:
    assert list(yaml_comments("a: [ # x\n")) == []
