"""What Unicode says of characters. Its tables, a megabyte of them, are loaded where a text is not plain."""


def nfc(text: str) -> str:
    """The text in NFC (Unicode Standard Annex 15)."""
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize("NFC", text)


def nfkc(text: str) -> str:
    """The text in NFKC."""
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize("NFKC", text)


def category(character: str) -> str:
    """The general category of a character, such as `Zs`."""
    import unicodedata

    return unicodedata.category(character)
