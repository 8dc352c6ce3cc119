"""Secrets in text: the one table of rules, for writes, the pre-commit check and `mdmem redact`.

Rules are for tokens with an issuer's prefix, keys in armour, and values called a password, token or
key; only these need a judgement (`_is_random`). Every pattern is bounded, and compiled only where
one of its rule's literals is in the text.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from re import Match, Pattern
from typing import Any

from mdmem.startup import late
from mdmem.startup.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Secret:
    """Characters `start` to `end`, in line `line` (from 1). Messages never show its value."""

    kind: str
    start: int
    end: int
    line: int


_ANY_CASE = "(?i)"
_ARMOUR = "PRIVATE" + " KEY"


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret.

    Each has one of `literals` (lower case where `pattern` ignores case), at its beginning if
    `leads`. `pattern`'s group `secret`, or the match, is the secret. `judge` accepts a match;
    `strict_judge` accepts more, for texts that are only left out.
    """

    kind: str
    literals: tuple[str, ...]
    pattern: str
    judge: Callable[[str], bool] | None = None
    leads: bool = False
    strict_judge: Callable[[str], bool] | None = None

    @property
    def is_named(self) -> bool:
        """True for a value that is called a secret, in whatever case."""
        return self.pattern.startswith(_ANY_CASE)


_PLACEHOLDER = late.pattern(
    r"(?i)example|sample|placeholder|your|change.?me|replace|dummy|fake|redacted|insert|xxxx|"
    r"\*{3}|\.{3}|…|•{3}|0{8}|12345|abcdef|todo|foobar|"
    r"^0x[0-9a-f]{40}$|(?-i:^[A-Z]{2,}(?:_[A-Z]{2,})+$)|"  # a public address, a name of a value
    r"^(?:none|null|true|false|undefined|secret|password|passwd)$|"
    r"[<>{}]|\$[({]|%[sd(]|^\$[A-Za-z_]|environ|getenv|process\.|config\.|"
    r"settings\.|secrets\.|vault:|::|\(\)|=>|://"
)
_CHUNK = late.pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_FORMAT = late.pattern(r"(?i)%[sd]")
_LONG_BASE64 = late.pattern(r"[A-Za-z0-9+/=]{30,}")
_HEXADECIMAL = late.pattern(r"[0-9a-f]{16,}")
_SMALL, _CAPITAL, _LETTER, _DIGIT, _SIGN = (
    late.pattern(pattern) for pattern in ("[a-z]", "[A-Z]", "[A-Za-z]", r"\d", "[!#%&*+?@^~$]")
)
_EXAMPLE = late.pattern(r"EXAMPLE|YOUR|your-|xxxxx|XXXXX|\.\.\.")
_LINE_END = late.pattern(r"\r\n?|\n")
_ESCAPE = late.pattern(r"\\([!-/:-@\[-`{-~])")
"""A backslash escape of CommonMark."""
_MAX_NAME_CHARS = 40
_MIN_ENTROPY = 2.6
_MAX_RANDOM_CHUNK = 3.2
"""Mean length of runs of one case or class: longer in words, below 2.5 in random text."""
_CLOSING = ".,:)]}"
"""Signs behind a value, of which three dots mask its end (`sk-df6b...`)."""


def _entropy(text: str) -> float:
    return (
        -math.fsum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())
        if text
        else 0.0
    )


def _is_no_placeholder(value: str) -> bool:
    return not _PLACEHOLDER.search(value)


def _is_random(value: str) -> bool:
    return _is_no_placeholder(value) and value.count("/") <= 2 and _has_no_words(value)


def _has_no_words(value: str) -> bool:
    if _entropy(value) < _MIN_ENTROPY:
        return False
    chunks = _CHUNK.findall(value)
    letters = sum(len(chunk) for chunk in chunks)
    if not chunks or letters < len(value) / 2:
        return False
    if _HEXADECIMAL.fullmatch(value):
        return True
    mixed = sum(bool(part.search(value)) for part in (_SMALL, _CAPITAL, _DIGIT)) >= 2
    return mixed and letters / len(chunks) < _MAX_RANDOM_CHUNK


def _is_password(value: str) -> bool:
    """True for letters with digits and signs, or random values."""
    if not _is_no_placeholder(value):
        return False
    return _is_random(value) or bool(
        _LETTER.search(value) and _DIGIT.search(value) and _SIGN.search(value)
    )


def _is_mixed(value: str) -> bool:
    """True for letters with digits, or inner capitals, as in no word."""
    plain = _FORMAT.sub("", value)
    if not _is_no_placeholder(plain):
        return False
    return bool(
        (_LETTER.search(plain) and (_DIGIT.search(plain) or _SIGN.search(plain)))
        or (_SMALL.search(plain) and _CAPITAL.search(plain, 1))
    )


def _is_random_at_length(value: str) -> bool:
    """True for random values too long for a placeholder or a path."""
    return _LONG_BASE64.fullmatch(value) is not None and _has_no_words(value.replace("/", ""))


_WORD = r"(?<![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9])"


def _token(kind: str, pattern: str, *literals: str) -> Rule:
    """A token with a prefix; placeholders of documentation do not count."""
    return Rule(
        kind=kind,
        literals=literals,
        pattern=_WORD + pattern + _END,
        judge=_is_no_example,
        leads=True,
    )


def _inner(kind: str, pattern: str, literal: str) -> Rule:
    return Rule(
        kind=kind, literals=(literal,), pattern=_WORD + pattern + _END, judge=_is_no_example
    )


def _is_no_example(value: str) -> bool:
    return not _EXAMPLE.search(value) and _entropy(value) > 2.0


_VALUE = r"(?P<secret>[^\s\"'`,;<>|\\]{8,200})"
_NAME_END = (
    r"[A-Za-z0-9_\-]{0,20}[\"'`*]{0,3}\s{0,3}(?:=|:|:=|=>)(?:[*_~]{1,3}(?=\s))?"
    r"\s{0,3}[*\"'`]{0,3}"
)
"""The rest of a name, and a separator, which Markdown may emphasise with it (`**password:** …`)."""

RULES: tuple[Rule, ...] = (
    Rule(
        kind="private-key",
        literals=(_ARMOUR,),
        pattern=r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?>(?:[^-]|-(?!----)){1,16384})-{5,8}END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        r"|(?:[\s>]{1,8}[A-Za-z0-9+/=]{16,128}){1,200})",
    ),
    _token("age-key", r"AGE-SECRET-KEY-1[A-Z0-9]{58}", "AGE-SECRET-KEY-1"),
    _token(
        "aws-access-key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}", "AKIA", "ASIA", "ABIA", "ACCA"
    ),
    _token(
        "github-token", r"gh[oprsu]_[A-Za-z0-9]{36,255}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"
    ),
    _token("github-token", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}", "github_pat_"),
    _token(
        "gitlab-token",
        r"gl(?:pat|dt|rt|ptt|cbt|oas|ft|imt|agent)-[A-Za-z0-9_\-]{20,64}",
        "glpat-",
        "gldt-",
        "glrt-",
        "glptt-",
        "glcbt-",
        "gloas-",
        "glft-",
        "glimt-",
        "glagent-",
    ),
    _inner("openai-key", r"sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}", "T3BlbkFJ"),
    _token(
        "openai-key",
        r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_\-]{40,220}",
        "sk-proj-",
        "sk-svcacct-",
        "sk-admin-",
        "sk-None-",
    ),
    _token("anthropic-key", r"sk-ant-[a-z0-9]{3,12}-[A-Za-z0-9_\-]{60,140}", "sk-ant-"),
    _token("openrouter-key", r"sk-or-v1-[0-9a-f]{64}", "sk-or-v1-"),
    _token("perplexity-key", r"pplx-[A-Za-z0-9]{40,64}", "pplx-"),
    _token("groq-key", r"gsk_[A-Za-z0-9]{48,64}", "gsk_"),
    _token("xai-key", r"xai-[A-Za-z0-9]{70,90}", "xai-"),
    _token("huggingface-token", r"hf_[A-Za-z0-9]{34,40}", "hf_"),
    _token("replicate-token", r"r8_[A-Za-z0-9]{37,40}", "r8_"),
    _token("google-api-key", r"AIza[A-Za-z0-9_\-]{35}", "AIza"),
    _token("google-oauth", r"GOCSPX-[A-Za-z0-9_\-]{28}", "GOCSPX-"),
    _token("google-oauth", r"ya29\.[A-Za-z0-9_\-]{30,300}", "ya29."),
    _token("slack-token", r"xox[abeoprs]-(?:[0-9]{6,16}-){1,3}[A-Za-z0-9\-]{10,64}", "xox"),
    _token("slack-token", r"xapp-\d-[A-Z0-9]{8,14}-\d{8,16}-[0-9a-f]{32,80}", "xapp-"),
    _token(
        "slack-webhook",
        r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/+]{40,90}",
        "https://hooks.slack.com/",
    ),
    _token(
        "discord-webhook",
        r"https://discord(?:app)?\.com/api/webhooks/\d{17,20}/[A-Za-z0-9_\-]{60,80}",
        "https://discord",
    ),
    _inner("telegram-token", r"\d{8,10}:AA[A-Za-z0-9_\-]{33}", ":AA"),
    _token(
        "stripe-key",
        r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,200}",
        "sk_live_",
        "sk_test_",
        "rk_live_",
        "rk_test_",
    ),
    _token("stripe-webhook", r"whsec_[A-Za-z0-9+/=]{24,64}", "whsec_"),
    _token("square-token", r"sq0[a-z]{3}-[A-Za-z0-9_\-]{22,43}", "sq0"),
    _token(
        "shopify-token",
        r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
        "shpat_",
        "shpca_",
        "shppa_",
        "shpss_",
    ),
    _token("twilio-key", r"SK[0-9a-f]{32}", "SK"),
    _token("sendgrid-key", r"SG\.[A-Za-z0-9_\-]{22}\.[A-Za-z0-9_\-]{43}", "SG."),
    _token("mailgun-key", r"key-[0-9a-f]{32}", "key-"),
    _inner("mailchimp-key", r"[0-9a-f]{32}-us\d{1,2}", "-us"),
    _token("npm-token", r"npm_[A-Za-z0-9]{36}", "npm_"),
    _token("pypi-token", r"pypi-AgE[A-Za-z0-9_\-]{50,300}", "pypi-AgE"),
    _token("rubygems-key", r"rubygems_[0-9a-f]{48}", "rubygems_"),
    _token("docker-token", r"dckr_pat_[A-Za-z0-9_\-]{27}", "dckr_pat_"),
    _token("notion-token", r"ntn_[A-Za-z0-9]{40,60}", "ntn_"),
    _token("notion-token", r"secret_[A-Za-z0-9]{43}", "secret_"),
    _token("linear-key", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}", "lin_api_", "lin_oauth_"),
    _token("figma-token", r"figd_[A-Za-z0-9_\-]{36,64}", "figd_"),
    _token("airtable-token", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}", "pat"),
    _token("digitalocean-token", r"do[opr]_v1_[0-9a-f]{64}", "doo_v1_", "dop_v1_", "dor_v1_"),
    _token("vault-token", r"hv[bs]\.[A-Za-z0-9_\-]{24,300}", "hvs.", "hvb."),
    _inner("terraform-token", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=\-]{60,70}", ".atlasv1."),
    _token("supabase-token", r"sbp_[0-9a-f]{40}", "sbp_"),
    _token("databricks-token", r"dapi[0-9a-f]{32}(?:-\d)?", "dapi"),
    _token("atlassian-token", r"ATATT3[A-Za-z0-9_=\-]{100,300}", "ATATT3"),
    _token("grafana-token", r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}", "glsa_"),
    _token("sentry-token", r"sntry[su]_[A-Za-z0-9+/=_\-]{40,300}", "sntrys_", "sntryu_"),
    _token("newrelic-key", r"NRAK-[A-Z0-9]{27}", "NRAK-"),
    _token("postman-key", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}", "PMAK-"),
    _token("planetscale-token", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.\-]{32,64}", "pscale_"),
    _token("doppler-token", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._\-]{40,64}", "dp."),
    _token(
        "jwt",
        r"eyJ[A-Za-z0-9_\-]{8,2000}+\.eyJ[A-Za-z0-9_\-]{8,4000}+\.[A-Za-z0-9_\-]{16,1000}",
        "eyJ",
    ),
    Rule(
        kind="azure-key",
        literals=("accountkey=", "sharedaccesskey="),
        pattern=r"(?i)(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{40,90}={0,2})",
    ),
    Rule(
        kind="url-password",
        literals=("://",),
        pattern=(
            r"(?i)(?<![a-z0-9])[a-z][a-z0-9+.\-]{1,20}://(?P<user>[^\s:/@\"'`<>]{0,64}):"
            r"(?!(?P=user)@)(?P<secret>[^\s/@\"'`<>]{4,128})@[A-Za-z0-9\[]"
        ),
        judge=lambda value: (
            _is_no_placeholder(value)
            and value.lower() not in ("pass", "pwd", "user", "token", "admin")
        ),
    ),
    Rule(
        kind="bearer-token",
        literals=("bearer ", "basic "),
        pattern=r"(?i)\b(?:bearer|basic)\s{1,3}(?P<secret>[A-Za-z0-9_\-.=+/~]{20,1000})",
        judge=_is_random,
    ),
    Rule(
        kind="password",
        literals=("passw", "passphrase", "pwd", "passcode"),
        pattern=rf"(?i)(?:passw(?:or)?d|passphrase|pwd|passcode){_NAME_END}{_VALUE}",
        judge=_is_password,
        strict_judge=_is_mixed,
    ),
    Rule(
        kind="password",
        literals=("password", "passphrase", "passcode"),
        pattern=(
            r"(?i)\b(?:password|passphrase|passcode)\s{1,3}(?:is|was|are|=|to)\s{0,3}"
            r"[:\"'`*]{0,3}(?P<secret>[^\s\"'`,;<>|]{8,100})"
        ),
        judge=_is_password,
        strict_judge=_is_mixed,
    ),
    Rule(
        kind="key",
        literals=("secret", "token", "api", "key", "credential", "auth"),
        pattern=(
            r"(?i)(?:secret|token|api[_\- ]?key|access[_\- ]?key|private[_\- ]?key|signing[_\-"
            r" ]?key|encryption[_\- ]?key|credentials?|auth[_\-]?key)"
        )
        + _NAME_END
        + _VALUE,
        judge=_is_random,
        strict_judge=_is_random_at_length,
    ),
    Rule(
        kind="key",
        literals=("secret", "token", "key"),
        pattern=(
            r"(?i)\b(?:secret|token|key)\s{1,3}(?:is|was)\s{1,3}"
            r"[:\"'`*]{0,3}(?P<secret>[^\s\"'`,;<>|]{16,200})"
        ),
        judge=_is_random,
        strict_judge=_is_random_at_length,
    ),
)

SHORTEST_TOKEN = 16
"""No issuer's token is shorter, or has a space."""
_ARMOUR_NUMBER = next(number for number, rule in enumerate(RULES) if _ARMOUR in rule.literals)
_FOLDED_LITERALS, _TOKEN_LITERALS = (
    tuple(
        (literal, number)
        for number, rule in enumerate(RULES)
        if rule.is_named is is_named
        for literal in rule.literals
        if literal != _ARMOUR
    )
    for is_named in (True, False)
)
"""Literals with rule numbers: of values called secrets (lower case), and of tokens."""

ALLOW_COMMENT = "<!-- mdmem: allow secret -->"
"""Exempts its line."""
REDACTED = "[REDACTED:"
_ALLOWED = late.pattern(r"(?i)mdmem:\s?allow[ -]secret|gitleaks:allow|pragma: allowlist secret")
"""Exempting comments of mdmem and of common scanners."""


def find(text: str, *, strict: bool = False) -> tuple[Secret, ...]:
    """The secrets of a text in order, overlaps joined, except in lines with an allow comment.

    Args:
        strict: no line is exempt, and passwords need not look random: for texts that are better
            left out than stored.
    """
    escaped = _matches_without_escapes(text, strict) if "\\" in text else ()
    matches = sorted([*_matches(text, strict), *escaped], key=lambda match: (match[1], -match[2]))
    if not matches:
        return ()
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    lines = [bisect_right(starts, start) for _, start, _ in matches]
    allowed: set[int] = set()
    if not strict:
        allowed = {
            line
            for line in set(lines)
            if _ALLOWED.search(
                text, starts[line - 1], starts[line] if line < len(starts) else len(text)
            )
        }
    result: list[Secret] = []
    for line, (kind, start, end) in zip(lines, matches, strict=True):
        if line in allowed:
            continue
        if result and start < result[-1].end:
            result[-1] = replace(result[-1], end=max(end, result[-1].end))
        else:
            result.append(Secret(kind, start, end, line))
    return tuple(result)


def _matches(text: str, strict: bool) -> Iterator[tuple[str, int, int]]:
    return (match for rule in _possible_rules(text) for match in _matches_of(rule, text, strict))


def _matches_without_escapes(text: str, strict: bool) -> Iterator[tuple[str, int, int]]:
    """Matches in the text as Markdown shows it: formatters write `ghp\\_…`."""
    escapes = [match.start() for match in _ESCAPE.finditer(text)]
    removed = [start - number for number, start in enumerate(escapes)]
    for kind, start, end in _matches(_ESCAPE.sub(r"\1", text), strict) if escapes else ():
        yield kind, start + bisect_right(removed, start), end + bisect_right(removed, end - 1)


def _possible_rules(text: str) -> Iterable[Rule]:
    lowered = text.lower()
    # Flat tables: this is asked of each message of a transcript, and the answer is nearly always
    # none.
    numbers = {number for literal, number in _FOLDED_LITERALS if literal in lowered}
    if _ARMOUR in text:
        numbers.add(_ARMOUR_NUMBER)
    if max(map(len, text.split()), default=0) >= SHORTEST_TOKEN:
        numbers.update([number for literal, number in _TOKEN_LITERALS if literal in text])
    return (RULES[number] for number in sorted(numbers)) if numbers else ()


def _matches_of(rule: Rule, text: str, strict: bool) -> Iterator[tuple[str, int, int]]:
    last_end = 0
    for match in _pattern_matches(rule, text):
        group: str | int = "secret" if "secret" in match.re.groupindex else 0
        start = match.start(group)
        # A match that overlaps a secret is not judged: that would take long where one prefix is
        # repeated thousands of times.
        if start < last_end or _is_accepted(rule, match[group], strict):
            last_end = start + len(match[group].rstrip("."))
            yield rule.kind, start, last_end


def _is_accepted(rule: Rule, written: str, strict: bool) -> bool:
    value = written.rstrip(_CLOSING)
    if "..." in written[len(value) :]:
        value += "..."
    return (
        rule.judge is None
        or rule.judge(value)
        or bool(strict and rule.strict_judge and rule.strict_judge(value))
    )


def _pattern_matches(rule: Rule, text: str) -> Iterator[Match[str]]:
    """A pattern with a leading literal is tried only there: ten times as fast."""
    pattern = re.compile(rule.pattern)
    if not rule.leads:
        return _overlapping_matches(pattern, text)
    starts = sorted(start for literal in rule.literals for start in _starts(literal, text))
    return (match for start in starts if (match := pattern.match(text, start)))


def _overlapping_matches(pattern: Pattern[str], text: str) -> Iterator[Match[str]]:
    """Matches, also inside a secret, which may name the next one (`token=api_key: …`)."""
    group = "secret" if "secret" in pattern.groupindex else 0
    for match in pattern.finditer(text):
        yield match
        inner: Match[str] | None = match
        while (
            inner
            and inner[group].endswith((":", "="))
            and len(inner[group]) <= _MAX_NAME_CHARS
            and inner.start(group) > inner.start()
        ):
            inner = pattern.search(text, inner.start(group))
            if inner is None or inner.start() >= match.end():
                break
            yield inner


def _starts(literal: str, text: str) -> Iterator[int]:
    start = text.find(literal)
    while start >= 0:
        yield start
        start = text.find(literal, start + 1)


def redact(text: str, *, strict: bool = False) -> str:
    """The text with each secret replaced by `[REDACTED:kind]`; `strict` as in `find`."""
    parts, end = [], 0
    for secret in find(text, strict=strict):
        parts += [text[end : secret.start], f"{REDACTED}{secret.kind}]"]
        end = secret.end
    return "".join([*parts, text[end:]])


def redact_values(value: Any) -> Any:
    """A JSON value with the secrets of all its texts replaced, as by `redact`."""
    match value:
        case str():
            return redact(value)
        case list() | tuple():
            return [redact_values(each) for each in value]
        case Mapping():
            return {name: redact_values(each) for name, each in value.items()}
    return value
