"""The words of each language as constants, under the same names; `en` says what each is for."""
