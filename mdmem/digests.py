"""SHA-1 and SHA-256 in hexadecimal, and short digests.

The interpreter's own code does it for what is small: loading `hashlib` takes 2 ms, for the library behind it, which is eight times as fast.
"""

from __future__ import annotations

import sys

_MUCH, _SOME = 500_000, 20_000
"""Bytes for which the library is loaded, and for which it is taken where it is loaded."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import blake2b as _blake2b
    from hashlib import sha1 as _sha1
    from hashlib import sha256 as _sha256
else:
    try:
        from _blake2 import blake2b as _blake2b
        from _sha1 import sha1 as _sha1
        from _sha256 import sha256 as _sha256
    except ImportError:  # another interpreter, or a later one, which has them elsewhere
        from hashlib import blake2b as _blake2b
        from hashlib import sha1 as _sha1
        from hashlib import sha256 as _sha256


def sha1(data: bytes | memoryview) -> str:
    """As git names objects; it protects nothing here."""
    if _is_much(data):
        import hashlib

        return hashlib.sha1(data, usedforsecurity=False).hexdigest()
    return _sha1(data, usedforsecurity=False).hexdigest()


def sha256(data: bytes) -> str:
    """The SHA-256 of bytes."""
    if _is_much(data):
        import hashlib

        return hashlib.sha256(data).hexdigest()
    return _sha256(data).hexdigest()


def _is_much(data: bytes | memoryview) -> bool:
    return len(data) > (_SOME if "_hashlib" in sys.modules else _MUCH)


def short(data: bytes, size: int) -> bytes:
    """A digest of so many bytes (BLAKE2b), to tell things apart that nobody else sees."""
    return _blake2b(data, digest_size=size).digest()
