"""Imports that a fix needs or leaves unused, changed with LibCST: where they belong, with comments and layout kept.

The only module that loads LibCST; it is imported when a fix of that kind is applied.
"""

from __future__ import annotations

import libcst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor, RemoveImportsVisitor
from libcst.metadata import MetadataWrapper


def with_imports(text: str, needed: tuple[str, ...], unused: tuple[str, ...]) -> str | None:
    """The text with what is needed imported, and what is no longer used not; None where LibCST cannot read it.

    Both are written `package.module` or `package.module:name`, with ` as other` behind where it has another name here.
    An import that is there is not repeated, and one that is still used stays.
    """
    try:
        tree = libcst.parse_module(text)
        if needed:
            context = CodemodContext()
            for each in needed:
                module, name, alias = _parts(each)
                AddImportsVisitor.add_needed_import(context, module, name, alias)
            tree = AddImportsVisitor(context).transform_module(tree)
        if unused:
            wrapper = MetadataWrapper(tree)
            context = CodemodContext(wrapper=wrapper)
            for each in unused:
                RemoveImportsVisitor.remove_unused_import(context, *_parts(each))
            tree = RemoveImportsVisitor(context).transform_module(wrapper.module)
    except (libcst.ParserSyntaxError, RecursionError, ValueError):
        return None
    return tree.code


def _parts(spelled: str) -> tuple[str, str | None, str | None]:
    """Module, name in it, and the name that it has here."""
    path, _, alias = spelled.partition(" as ")
    module, _, name = path.partition(":")
    return module.strip(), name.strip() or None, alias.strip() or None
