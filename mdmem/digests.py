"""SHA-1 and SHA-256 in hexadecimal, and short digests.

The interpreter's own code does it for what is small: loading `hashlib` takes 3 ms, for the library behind it, which is faster only where
there is much to do.
"""

_MUCH = 500_000
"""Bytes."""

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


def sha1(data: bytes) -> str:
    """As git names objects; it protects nothing here."""
    if len(data) > _MUCH:
        import hashlib

        return hashlib.sha1(data, usedforsecurity=False).hexdigest()
    return _sha1(data, usedforsecurity=False).hexdigest()


def sha256(data: bytes) -> str:
    """The SHA-256 of bytes."""
    if len(data) > _MUCH:
        import hashlib

        return hashlib.sha256(data).hexdigest()
    return _sha256(data).hexdigest()


def short(data: bytes, size: int) -> bytes:
    """A digest of so many bytes (BLAKE2b), to tell things apart that nobody else sees."""
    return _blake2b(data, digest_size=size).digest()
