"""Which argument of a call is which parameter: a class method gets its class first, however it is reached."""

from __future__ import annotations

import pytest
from contract_lint.linters.source.analyse import check_sources
from contract_lint.linters.source.text import plain_source

CACHES = """
import jax

class Cache:
    def __init__(self, keys):
        self.keys = keys

    @classmethod
    def init(cls, key, config, count):
        return cls(jax.random.normal(key, (config.width, count)))

    @staticmethod
    def draw(key, config, count):
        return jax.random.normal(key, (config.width, count))

    @classmethod
    def pair(cls, key, other, config):
        return cls.init(key, config, 3), cls.init(other, config, 3)
"""
USER = """
import jax
from caches import Cache

def serve(config, key, other, cache: Cache):
    return {first}(key, config, 3), {second}({again}, config, 3)
"""
WAYS = ("Cache.init", "Cache.draw", "cache.init", "cache.draw")


@pytest.mark.parametrize("first", WAYS)
@pytest.mark.parametrize("second", WAYS)
def test_the_key_is_the_key_and_the_configuration_is_none(first: str, second: str) -> None:
    for again, found in (("other", []), ("key", ["SEM101"])):
        texts = {"caches.py": CACHES, "example.py": USER.format(first=first, second=second, again=again)}
        assert [each.code for each in check_sources([plain_source(*each) for each in texts.items()])] == found
