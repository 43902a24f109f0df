"""`rules`, `explain` and `schema`: every rule is listed and explained; the schema refuses an unknown key."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import jsonschema
import pytest
from contract_lint.linters.registry import rules
from contract_lint.linters.rule import Rule
from contract_lint.plugins.report.explanation import acceptance, blocks, render, twins
from contract_lint.plugins.report.rule_docs import sections
from ruamel.yaml import YAML

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_rules_as_json_and_markdown(cli: Run) -> None:
    listed = json.loads(cli("rules", "--format", "json").stdout)["rules"]
    assert [rule["code"] for rule in listed] == sorted(rule.code for rule in rules())
    assert all(rule["summary"] and rule["doc"] for rule in listed)
    table = cli("rules", "--format", "markdown").stdout.splitlines()
    assert len(table) == len(listed) + 2 and {line.count(" | ") for line in table if "---" not in line} == {4}


@pytest.mark.parametrize("columns", [80, 120])
def test_rules_as_text(cli: Run, columns: int) -> None:
    text = cli("rules", env={"COLUMNS": str(columns)}).stdout
    assert max(map(len, text.splitlines())) <= columns
    assert all(rule.code in text and rule.name in text for rule in rules())


@pytest.mark.parametrize("prefix", ["SHD", "shd2", "JIT10"])
def test_the_beginning_of_codes_lists_the_rules(cli: Run, prefix: str) -> None:
    done = cli("explain", prefix, "--format", "json")
    listed = [rule["code"] for rule in json.loads(done.stdout)["rules"]]
    assert listed == [each.code for each in rules() if each.code.startswith(prefix.upper())]
    assert (done.returncode, len(listed) > 1) == (0, True)


def test_rules_in_preview_are_marked(cli: Run) -> None:
    text, table = cli("rules", env={"COLUMNS": "120"}).stdout, cli("rules", "--format", "markdown").stdout
    previews = {rule.code for rule in rules("source") if getattr(rule, "preview", False)}
    assert previews
    for listed in (text, table):
        assert {line.strip("| ")[:6] for line in listed.splitlines() if "(preview)" in line} == previews
    assert {r["code"] for r in json.loads(cli("rules", "--format", "json").stdout)["rules"] if r["preview"]} == previews
    for rule in rules("source"):
        assert ("In preview" in render(rule, "text", 80)) is (rule.code in previews)
        assert ("In preview" in render(rule, "markdown")) is (rule.code in previews)


@pytest.mark.parametrize("columns", [60, 80])
def test_targets_as_text(cli: Run, columns: int) -> None:
    lines = cli("targets", env={"COLUMNS": str(columns)}).stdout.splitlines()
    assert all(len(line) <= columns or "pip install" in line for line in lines)
    assert "h200 (131.32 GiB)" in " ".join(" ".join(lines).split())


def test_sentences_on_standard_error_fold_where_a_width_is_known(cli: Run) -> None:
    name = "-".join(["part"] * 10)
    env = {"COLUMNS": "60"}
    said, whole = (cli("explain", name, env=each).stderr for each in (env, {}))
    assert max(map(len, said.splitlines())) <= 60 < max(map(len, whole.splitlines()))
    assert said.split() == whole.split()
    usage = cli(
        "init", "m:build", "-o", "a/folder/that/is/named/at/some/length/first.yaml", "--target", "cpu:8", env=env
    )
    assert usage.returncode == 2 and max(map(len, usage.stderr.splitlines())) <= 60


def test_no_two_rules_have_one_code_or_name() -> None:
    """Either selects, explains and accepts a rule."""
    for told in ([rule.code for rule in rules()], [rule.name for rule in rules()]):
        assert sorted(told) == sorted(set(told))


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.code)
def test_explanations_fit_and_end_with_a_snippet_to_copy(rule: Rule) -> None:
    lines = render(rule, "text", 80).splitlines()
    written = {line.strip() for _, examples in twins(rule) for _, code in examples for line in code.splitlines()}
    prose = [line for line in lines if not line.startswith("  - https://") and line.strip() not in written]
    assert max(map(len, prose)) <= 100
    assert lines[-1].strip() == acceptance(rule)[1]
    assert rule.code in lines[-1]


def test_explain_by_code_and_by_name(cli: Run) -> None:
    by_code = cli("explain", "shd204", env={"COLUMNS": "80"}).stdout
    assert by_code == cli("explain", "unplanned-collective", env={"COLUMNS": "80"}).stdout
    assert by_code.startswith("SHD204 unplanned-collective  error")
    for heading in ("What it does", "Why is this bad?", "Example", "Use instead", "References"):
        assert f"\n{heading}\n" in by_code
    as_written = {line.strip() for rule in rules() if rule.code == "SHD204" for line in rule.doc.splitlines()}
    assert all(len(line) <= 80 or line.strip() in as_written for line in by_code.splitlines())
    assert "```" not in by_code


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_every_rule_can_be_explained(form: str) -> None:
    for rule in rules():
        text = render(rule, form, 80)
        assert rule.code in text and (form != "text" or "##" not in text)


def test_blocks_keep_code_and_join_prose() -> None:
    body = "One\ntwo.\n\n- a\n- b\n  goes on\n\n```python\nx = 1\n\n    y = 2\n```\nafter\n\n    indented\n"
    assert list(blocks(body)) == [
        ("One two.", False),
        ("- a", False),
        ("- b goes on", False),
        ("x = 1\n\n    y = 2", True),
        ("after", False),
        ("indented", True),
    ]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.code)
def test_code_and_addresses_are_printed_as_they_are_written(rule: Rule) -> None:
    shown = {line.strip() for line in render(rule, "text", 60).splitlines()}
    for _, body in sections(rule.doc):
        for text, verbatim in blocks(body):
            kept = text.splitlines() if verbatim else [text] if text.startswith("- https://") else []
            assert {line.strip() for line in kept} <= shown


def test_schema_takes_a_contract_and_refuses_an_unknown_key(cli: Run, contract_text: str) -> None:
    schema = json.loads(cli("schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    contract = YAML(typ="safe").load(contract_text)
    assert list(validator.iter_errors(contract)) == []
    assert list(validator.iter_errors(contract | {"mesch": {}}))
    sizes = {name: 8 for name in ("d_model", "heads", "kv_heads", "d_ff", "vocab", "sequence")}
    bound = sizes | {"kind": "dense", "layers": {"from": "base#layers"}}
    assert list(validator.iter_errors(contract | {"config": {"base": "b.yml"}, "model": bound})) == []
    assert list(validator.iter_errors(contract | {"batch": {"size": {"from": "no alias"}}}))
    assert not list(validator.iter_errors(contract | {"batch": {"size": {"from": "base#batch"}}}))


@pytest.mark.parametrize("rule", rules("source"), ids=lambda rule: rule.code)
def test_examples_are_shown_as_they_are_written(rule: Rule) -> None:
    """Every line of code of the page, indented as it is there, in text and in Markdown."""
    for form in ("text", "markdown"):
        shown = render(rule, form, 100).splitlines()
        for heading, body in sections(rule.doc):
            code = [line[4:].rstrip() for line in body.splitlines() if line.startswith("    ") and line.strip()]
            if heading not in ("Example", "Use instead") or not code:
                continue
            alike = [[each for each in shown if each.lstrip() == line.lstrip()] for line in code]
            margins = [{len(each) - len(line) for each in found} for line, found in zip(code, alike, strict=True)]
            assert set.intersection(*margins), (heading, code)


def test_an_explanation_shows_all_examples_only_if_asked(cli: Run) -> None:
    short, long = cli("explain", "JIT103"), cli("explain", "JIT103", "--examples")
    assert "examples: --examples shows them" in short.stdout and "# bad" in long.stdout
    assert len(short.stdout.splitlines()) < 60 < len(long.stdout.splitlines())
