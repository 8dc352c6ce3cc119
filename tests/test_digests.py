"""Digests, whichever library works them out."""

import hashlib
import sys

import pytest

from mdmem import digests

SIZES = (0, 1, 19_999, 20_001, 499_999, 500_001)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("loaded", [False, True])
def test_digests_are_the_librarys(size: int, loaded: bool, monkeypatch: pytest.MonkeyPatch):
    data = bytes(range(256)) * (size // 256) + bytes(size % 256)
    if not loaded:
        monkeypatch.delitem(sys.modules, "_hashlib")
    assert digests.sha1(data) == digests.sha1(memoryview(data)) == hashlib.sha1(data).hexdigest()
    assert digests.sha256(data) == hashlib.sha256(data).hexdigest()
    assert digests.short(data, 8) == hashlib.blake2b(data, digest_size=8).digest()
