"""Texts that count as secrets, and texts that do not. Every token here is made up, and put together
only when the tests run.
"""

import re
import string
import time
from random import Random

import pytest
from conftest import examples
from hypothesis import example, given
from hypothesis import strategies as st

from mdmem.secrets import (
    ALLOW_COMMENT,
    RULES,
    SHORTEST_TOKEN,
    Rule,
    _entropy,
    find,
    redact,
    redact_values,
)

_RANDOM = Random(20260305)
CPU_LIMIT = 0.75
"""Seconds for 400,000 characters; about ten times what they take."""


def random_text(length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    """Random characters; at least a small letter, a capital and a digit of those that the alphabet
    has.
    """
    kinds = [
        group
        for group in (string.ascii_lowercase, string.ascii_uppercase, string.digits)
        if set(group) & set(alphabet)
    ]
    while True:
        characters = "".join(_RANDOM.choices(alphabet, k=length))
        if all(set(characters) & set(group) for group in kinds):
            return characters


HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + "234567"
DIGITS = string.digits
KEY_WORDS = "PRIVATE" + " KEY"


def armour(title: str = KEY_WORDS, end: str = "\n") -> str:
    body = end.join(random_text(64) for _ in range(4))
    return f"-----BEGIN {title}-----{end}{body}{end}-----END {title}-----"


TOKENS = [
    ("age-key", "AGE-SECRET" + "-KEY-1" + random_text(58, string.ascii_uppercase + DIGITS)),
    *(("aws-access-key", start + "IA" + random_text(16, UPPER)) for start in ("AK", "AS")),
    *(("aws-access-key", start + random_text(16, UPPER)) for start in ("AB" + "IA", "AC" + "CA")),
    *(("github-token", f"gh{letter}" + "_" + random_text(36)) for letter in "oprsu"),
    ("github-token", "github" + "_pat_" + random_text(22) + "_" + random_text(59)),
    *(
        ("gitlab-token", "gl" + part + "-" + random_text(20))
        for part in ("pat", "dt", "rt", "ptt", "cbt", "oas", "ft", "imt", "agent")
    ),
    ("openai-key", "sk" + "-" + random_text(20) + "T3Blbk" + "FJ" + random_text(20)),
    *(
        ("openai-key", "sk" + f"-{part}-" + random_text(60))
        for part in ("proj", "svcacct", "admin", "None")
    ),
    ("anthropic-key", "sk" + "-ant-" + "api03-" + random_text(93)),
    ("openrouter-key", "sk" + "-or-v1-" + random_text(64, HEX)),
    ("perplexity-key", "pp" + "lx-" + random_text(48)),
    ("groq-key", "gs" + "k_" + random_text(52)),
    ("xai-key", "xa" + "i-" + random_text(80)),
    ("huggingface-token", "h" + "f_" + random_text(34)),
    ("replicate-token", "r" + "8_" + random_text(37)),
    ("google-api-key", "AI" + "za" + random_text(35)),
    ("google-oauth", "GOC" + "SPX-" + random_text(28)),
    ("google-oauth", "ya" + "29." + random_text(60)),
    (
        "slack-token",
        "xo"
        + "xb-"
        + random_text(12, DIGITS)
        + "-"
        + random_text(12, DIGITS)
        + "-"
        + random_text(24),
    ),
    (
        "slack-token",
        "xa"
        + "pp-1-"
        + random_text(11, string.ascii_uppercase + DIGITS)
        + "-"
        + random_text(13, DIGITS)
        + "-"
        + random_text(64, HEX),
    ),
    (
        "slack-webhook",
        "https://hooks.slack"
        + ".com/services/T"
        + random_text(10)
        + "/B"
        + random_text(10)
        + "/"
        + random_text(24),
    ),
    *(
        (
            "discord-webhook",
            f"https://{host}"
            + ".com/api/webhooks/"
            + random_text(18, DIGITS)
            + "/"
            + random_text(68),
        )
        for host in ("discord", "discordapp")
    ),
    ("telegram-token", random_text(10, DIGITS) + ":A" + "A" + random_text(33)),
    *(
        ("stripe-key", start + f"k_{part}_" + random_text(24))
        for start in "sr"
        for part in ("live", "test")
    ),
    ("stripe-webhook", "wh" + "sec_" + random_text(32)),
    ("square-token", "sq" + "0atp-" + random_text(22)),
    *(
        ("shopify-token", f"shp{part}" + "_" + random_text(32, HEX))
        for part in ("at", "ca", "pa", "ss")
    ),
    ("twilio-key", "S" + "K" + random_text(32, HEX)),
    ("sendgrid-key", "S" + "G." + random_text(22) + "." + random_text(43)),
    ("mailgun-key", "ke" + "y-" + random_text(32, HEX)),
    ("mailchimp-key", random_text(32, HEX) + "-u" + "s14"),
    ("npm-token", "np" + "m_" + random_text(36)),
    ("pypi-token", "py" + "pi-AgE" + random_text(120)),
    ("rubygems-key", "ruby" + "gems_" + random_text(48, HEX)),
    ("docker-token", "dckr" + "_pat_" + random_text(27)),
    ("notion-token", "nt" + "n_" + random_text(46)),
    ("notion-token", "sec" + "ret_" + random_text(43)),
    *(("linear-key", f"lin_{part}" + "_" + random_text(40)) for part in ("api", "oauth")),
    ("figma-token", "fi" + "gd_" + random_text(40)),
    ("airtable-token", "pa" + "t" + random_text(14) + "." + random_text(64, HEX)),
    *(("digitalocean-token", f"do{letter}" + "_v1_" + random_text(64, HEX)) for letter in "opr"),
    *(("vault-token", f"hv{letter}" + "." + random_text(90)) for letter in "sb"),
    ("terraform-token", random_text(14) + ".atlas" + "v1." + random_text(67)),
    ("supabase-token", "sb" + "p_" + random_text(40, HEX)),
    ("databricks-token", "da" + "pi" + random_text(32, HEX)),
    ("atlassian-token", "ATA" + "TT3" + random_text(180)),
    ("grafana-token", "gl" + "sa_" + random_text(32) + "_" + random_text(8, HEX)),
    *(("sentry-token", f"sntry{letter}" + "_" + random_text(60)) for letter in "su"),
    ("newrelic-key", "NR" + "AK-" + random_text(27, string.ascii_uppercase + DIGITS)),
    ("postman-key", "PM" + "AK-" + random_text(24, HEX) + "-" + random_text(34, HEX)),
    *(
        ("planetscale-token", f"pscale_{part}" + "_" + random_text(43))
        for part in ("tkn", "pw", "oauth")
    ),
    *(
        ("doppler-token", f"d{'p'}.{part}" + "." + random_text(43))
        for part in ("pt", "st", "ct", "sa", "scim", "audit")
    ),
    ("jwt", "ey" + "J" + random_text(33) + ".ey" + "J" + random_text(60) + "." + random_text(43)),
]
"""One token of each kind and of each prefix."""

KEYS = [armour(f"{kind}{KEY_WORDS}") for kind in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ")] + [
    armour("PGP " + KEY_WORDS + " BLOCK")
]

PASSWORD, RANDOM_WORD = "tR0ub4dor" + "!3xq", random_text(32)
NAMED_VALUES = [
    ("password", PASSWORD, text)
    for text in (
        "password: {}",
        "DB_PASSWORD={}",
        'passwd = "{}"',
        "**Password**: `{}`",
        "**password**: {}",
        "- **password:** {}",
        "__Password:__ `{}`",
        "*wifi password:*\n{}",
        "passphrase: {}",
        "pwd={}",
        "passcode => {}",
        "the password is {}",
        "the password was `{}`",
        '{{"password": "{}"}}',
        "password:\n  {}",
    )
] + [
    ("key", RANDOM_WORD, text)
    for text in (
        "token: {}",
        "**API key:** {}",
        "api_key = '{}'",
        "API-KEY={}",
        "access key: {}",
        "client_secret: {}",
        "private_key={}",
        "signing key: {}",
        "encryption_key: {}",
        "credentials: {}",
        "auth_key: {}",
        "the token is {}",
        '"apiKey":"{}"',
    )
]
OTHERS = [
    ("azure-key", "Account" + "Key=" + random_text(86) + "=="),
    ("azure-key", "SharedAccess" + "Key=" + random_text(43) + "="),
    ("url-password", "postgres://ada:" + random_text(14) + "@db.internal:5432/app"),
    ("url-password", "https://:" + random_text(14) + "@host.internal/x"),
    ("bearer-token", "Authorization: Bearer " + random_text(40)),
    ("bearer-token", "authorization: basic " + random_text(40)),
]
EVERYTHING = [
    *TOKENS,
    *(("private-key", key) for key in KEYS),
    *((k, t.format(v)) for k, v, t in NAMED_VALUES),
    *OTHERS,
]

CONTEXTS = [
    "{}",
    "- {}",
    "- the one of Bo is {}.",
    "`{}`",
    "| a | {} | b |",
    "> {}",
    "```\n{}\n```",
    '{{"x": "{}"}}',
    "**{}**",
    "({})",
    "a\tb {}",
]


@pytest.mark.parametrize("context", CONTEXTS)
def test_tokens_in_context(context: str):
    missed = []
    for kind, token in TOKENS:
        text = f"# M\n\n{context.format(token)}\n\nend\n"
        secrets = find(text)
        exact = redact(text) == text.replace(token, f"[REDACTED:{kind}]")
        if [secret.kind for secret in secrets] != [kind] or not exact:
            missed.append((kind, [secret.kind for secret in secrets], exact))
    assert missed == []


@pytest.mark.parametrize("quote", ["", "> ", "    ", "> > "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_private_keys(quote: str, end: str):
    for key in KEYS:
        text = f"a{end}" + end.join(quote + line for line in key.split("\n")) + f"{end}b{end}"
        assert [(secret.kind, secret.line) for secret in find(text)] == [("private-key", 2)]
        assert redact(text) == f"a{end}{quote}[REDACTED:private-key]{end}b{end}"


def test_private_keys_that_are_cut_off_or_in_one_line():
    begin, *body = armour().split("\n")[:-1]
    assert redact("\n".join([begin, *body, "", "the end"])) == "[REDACTED:private-key]\n\nthe end"
    assert redact('{"key": "' + armour(end="\\n") + '"}') == '{"key": "[REDACTED:private-key]"}'
    assert (
        redact(f"{armour()}\nbetween\n{armour()}")
        == "[REDACTED:private-key]\nbetween\n[REDACTED:private-key]"
    )


@pytest.mark.parametrize(("kind", "value", "text"), NAMED_VALUES)
@pytest.mark.parametrize("context", ["{}", "- {}", "> {}", "| {} | b |", "{}."])
def test_values_with_a_name(kind: str, value: str, text: str, context: str):
    whole = context.format(text.format(value))
    assert redact(whole) == whole.replace(value, f"[REDACTED:{kind}]")


@pytest.mark.parametrize(("kind", "text"), OTHERS)
def test_other_kinds(kind: str, text: str):
    assert [secret.kind for secret in find(f"- see {text} there")] == [kind]


@pytest.mark.parametrize(
    "rule",
    [rule for rule in RULES if not rule.is_named and rule.kind != "private-key"],
    ids=lambda rule: rule.kind,
)
@examples(8)
@given(st.data())
def test_no_token_is_short_or_has_a_space_in_it(rule: Rule, data: st.DataObject):
    token = data.draw(
        st.from_regex(rule.pattern.replace("++", "+").replace("}+", "}"), fullmatch=True)
    )
    assert len(token) >= SHORTEST_TOKEN
    assert token.split() == [token]


STRICT = [
    ("the wifi password is {}", "ORCDUAcUygis"),
    ("the wifi password is {}", "hdqirrczqnjJ"),
    ("DB_PASSWORD={}", "QbGcAjBuxwwdaa"),
    ("DB_PASSWORD={}", "2p%sE4ss0gz167"),
    ("passwd: {}", "R6Km5hp%DMa40E"),
    ("aws_secret_access_key = {}", "/7czVG73WDg54/PjadYTmKc/vDJ0nUfIpi+gttrg"),
    ("secret: {}", "qq0qNlQqCvnZ3Rk//zjAk6LFoEPr/2xSRF/2Vilq"),
]
"""Values that are taken for secrets where a text is only left out: they are called so, and are no
word.
"""


@pytest.mark.parametrize(("text", "value"), STRICT)
def test_what_is_called_a_password_need_not_look_random_where_a_text_is_left_out(
    text: str, value: str
):
    assert value in redact(text.format(value))
    assert value not in redact(text.format(value), strict=True)


def test_every_rule_has_its_example():
    texts = [text for _, text in EVERYTHING]
    assert [
        rule.pattern for rule in RULES if not any(re.search(rule.pattern, text) for text in texts)
    ] == []
    assert {kind for kind, _ in EVERYTHING} == {rule.kind for rule in RULES}


def test_every_literal_is_needed_for_its_rule():
    """Each literal stands in an example of its rule, in lower case where the pattern
    ignores case.
    """
    for rule in RULES:
        examples = [match[0] for _, text in EVERYTHING for match in re.finditer(rule.pattern, text)]
        folded = (
            [text.lower() for text in examples] if rule.pattern.startswith("(?i)") else examples
        )
        assert all(any(literal in text for literal in rule.literals) for text in folded), rule.kind


LOOK_ALIKES = [
    "commit " + "9fceb02d0ae598e95dc970b74767f19372d61af8",
    "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "sha512-" + "Q2hhcmFjdGVyIG9mIGEgaGFzaCBpcyBub3QgYSBzZWNyZXQ" + "==",
    "id: 123e4567-e89b-12d3-a456-426614174000",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "![x](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk)",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4Zk2zN1s6nL0Jq7vN0eQb8kq1QvVwG2m3xk7yR9hZ1 ada@example.org",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ2hhcmFjdGVycw\n-----END CERTIFICATE-----",
    "-----BEGIN " + KEY_WORDS + "----- is how a key begins",
    "password: <your password>",
    "password: changeme123!",
    "**password:** changeme123!",
    "**Password:** stored in 1Password, entry Bank2",
    "**token:** see **docs/tokens.md** for the list",
    "api_key: YOUR_API_KEY_HERE_1234",
    "token: xxxxxxxxxxxxxxxxxxxxxxxx",
    "AKIA" + "IOSFODNN7" + "EXAMPLE",
    "gh" + "p_" + "x" * 36,
    "gh" + "p_" + "…",
    "apiKey: `s" + "k-df6bcc...`",
    "api_key: s" + "k-df6bcc8812af…",
    "toToken: '0x" + "A0b8" * 10 + "',",
    "postgres://postgres:postgres@localhost/app",
    "redis://:RANDOM_PASSWORD@cache:6379",
    "password: ********",
    "token: ${GITHUB_TOKEN}",
    "token: $GITHUB_TOKEN",
    "password: %(password)s",
    "token: {{ secrets.DEPLOY_TOKEN }}",
    'token = os.environ["MY_TOKEN_9"]',
    'const apiKey = process.env.API_KEY_2 ?? ""',
    "password = getpass.getpass()",
    "secret: vault:secret/data/app#key9",
    "the password is kept in the safe",
    "Never write a password into MEMORY.md; a token expires after 90 days.",
    "password: stored in 1Password, entry Bank2",
    "key: someCamelCaseIdentifierOfTheProgram",
    "key: some_snake_case_identifier_of_the_program",
    "token: kebab-case-name-of-some-kind",
    "version: 1.24.3-rc.1+build.20260305",
    "Das Passwort: siehe Datenschutzgrundverordnung, Abschnitt 3.",
    "Le mot de passe est anticonstitutionnellement long",
    "密码是每九十天更换一次的,密钥保存在保险箱里。",
    "token file: /home/ada/.config/tool/credentials/token.json",
    "see https://example.org/items/8f14e45fceea167a5a36dedd4bea2543?page=2",
    "https://github.com/org/repo/commit/9fceb02d0ae598e95dc970b74767f19372d61af8",
    "http://localhost:8080/@scope/package",
    "postgres://user:pass@localhost/db",
    "postgres://user:${PASSWORD}@localhost/db",
    "https://user:<password>@host.org/",
    "Bearer of good news since nineteen eighty-four",
    "Authorization: Bearer <token>",
    "Basic instructions for beginners_and_others",
    "keyboard: Keychron K8 Pro",
    "monkey: banana42banana42",
    "tokens: 128000",
    "max_tokens: 4096, temperature: 0.2",
    "primary key: user_id, created_at",
    "SK" + "ILLS: python, rust",
    "hf" + "_hub_download(repo_id)",
    "npm" + "_config_registry",
    "sk" + "-learn and sk" + "-image",
    "ex" + "gh" + "p_" + random_text(36),
    "gh" + "p_" + random_text(35),
    "ey" + "J" + random_text(20),
]


@pytest.mark.parametrize("text", LOOK_ALIKES)
@pytest.mark.parametrize("context", ["{}", "- {}", "`{}`"])
def test_look_alikes_pass(text: str, context: str):
    whole = context.format(text)
    assert find(whole) == ()
    assert redact(whole) == whole
    assert redact(whole, strict=True) == whole


TOKEN = next(token for kind, token in TOKENS if kind == "github-token")


@pytest.mark.parametrize(
    "comment",
    [
        ALLOW_COMMENT,
        "<!-- mdmem:allow-secret -->",
        "<!-- MDMEM: allow secret -->",
        "# gitleaks:allow",
        "# pragma: allowlist secret",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_an_allow_comment_lets_its_own_line_pass(comment: str, end: str):
    assert find(f"- {TOKEN} {comment}{end}") == ()
    assert [secret.line for secret in find(f"{comment}{end}- {TOKEN}{end}{comment}{end}")] == [2]
    assert [secret.line for secret in find(f"- {TOKEN} {comment}{end}- {TOKEN}{end}")] == [2]


@pytest.mark.parametrize(
    "comment", ["<!-- allow -->", "<!-- mdmem: allow shrink -->", "mdmem allow secret"]
)
def test_other_comments_do_not(comment: str):
    assert len(find(f"- {TOKEN} {comment}")) == 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines(end: str):
    text = end.join(["# M", "", TOKEN, *armour(end="\n").split("\n"), f"\u2028\x0c{TOKEN}", "end"])
    assert [secret.line for secret in find(text)] == [3, 4, 10]


def test_the_entropy_is_the_same_on_every_python():
    assert _entropy("works at Stripe") == _entropy("epirtS ta skrow") == 3.506890595608519


def test_two_in_one_line_and_overlapping():
    assert redact(f"{TOKEN} {TOKEN}") == "[REDACTED:github-token] [REDACTED:github-token]"
    assert redact(f"token: {TOKEN}") == "token: [REDACTED:github-token]"
    text = f"password: {TOKEN}!x9"
    assert [secret.kind for secret in find(text)] == ["password"]
    assert redact(text) == "password: [REDACTED:password]"
    assert redact(f"password: x9!aB{armour()} and on") == "password: [REDACTED:password] and on"


PIECES = st.one_of(
    st.sampled_from([text for _, text in EVERYTHING]),
    st.sampled_from(
        [
            "\n",
            "\r\n",
            " ",
            "- ",
            "`",
            "|",
            ".",
            "password: ",
            "token=",
            "is ",
            "://",
            ":",
            "@",
            ALLOW_COMMENT,
            "é",
            "\ud800",
            "Ä",
        ]
    ),
    st.text(max_size=12),
)


@pytest.mark.parametrize(
    "text",
    [
        "token=client_secret: {}",
        "client_secret: a1B2!npm_secret_key: https://u:AWS_SECRET_ACCESS_KEY={}",
        "api_key=token=secret: {}",
    ],
)
def test_a_name_where_a_value_would_be(text: str):
    value = "d7sxves75iu9B9HzPeOFB1VVS31bikIMViZMvEGpDJFv8tfU"
    assert value not in redact(text.format(value))


@given(st.lists(PIECES, max_size=8).map("".join))
@example(
    "gho_D7IfvCDh4Z3oQZu3M5GpxcFuVvgLjd0n1NGUtoken=client_secret: oVEGmwWXW8XJ2NuJ7ZkJqx7RT5UcdIap"
)
@example(
    "client_secret: a1B2!npm_secret_key: https://u:AWS_SECRET_ACCESS_KEY=d7sxves75iu9B9HzPeOFB1VVS31bikIMViZMvEGpDJFv8tfU"
)
def test_redacting_twice_is_redacting_once(text: str):
    once = redact(text)
    assert redact(once) == once
    assert (once == text) == (find(text) == ())


@given(st.lists(PIECES, max_size=8).map("".join))
def test_only_secrets_are_redacted(text: str):
    secrets = find(text)
    between = [a.end for a in secrets], [b.start for b in secrets[1:]]
    assert all(end <= start for end, start in zip(*between, strict=False))
    unchanged = [
        text[a:b]
        for a, b in zip(
            [0, *between[0]], [secret.start for secret in secrets] + [len(text)], strict=True
        )
    ]
    assert redact(text) == "".join(
        part
        for secret, before in zip([*secrets, None], unchanged, strict=True)
        for part in (before, f"[REDACTED:{secret.kind}]" if secret else "")
    )


@given(
    st.text(st.sampled_from(" \n-*`|>.é"), max_size=8),
    st.sampled_from(TOKENS),
    st.text(st.sampled_from(" \n*`|>.é"), max_size=8),
)
def test_the_middle_of_a_token_is_redacted(before: str, token: tuple[str, str], after: str):
    clean = redact(f"{before} {token[1]} {after}")
    middle = token[1][len(token[1]) // 3 :]
    assert not any(middle[i : i + 8] in clean for i in range(len(middle) - 8))


HOSTILE = [
    "a",
    "password=",
    "password: tR0ub4dor!3 ",
    "-----BEGIN ",
    "-----BEGIN " + KEY_WORDS + "-----\n",
    "-----BEGIN " + KEY_WORDS + "-----\n" + "A" * 17 + "\n",
    "://a:",
    "x://",
    "http://a:",
    "key token=a ",
    "apikey",
    "bearer ",
    "-ey" + "Jaaaaaaaa",
    ".ey" + "Jaaaaaaaa.",
    "-sk" + "-proj-",
    "sk" + "-proj-",
    "xo" + "xb-1234567-",
    " gl" + "pat-",
    "aaaaaaaaaaaaaa.atlas" + "v1.",
    "1",
    "\n",
    TOKEN + " ",
]


@pytest.mark.costly
@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_takes_linear_time(piece: str):
    text = (piece * (1 + 200_000 // len(piece)))[:200_000]
    start = time.process_time()
    find(text)
    assert time.process_time() - start < CPU_LIMIT


@pytest.mark.parametrize("template", ["{}", "- the one of Bo: {}.", "a \\* b\n\n- {} \\[x\\]"])
def test_as_formatters_of_markdown_write_it(template: str):
    missed = []
    for kind, token in TOKENS:
        escaped = re.sub(r"([_.~*+-])", r"\\\1", token)
        text = template.format(escaped)
        if [secret.kind for secret in find(text)] != [kind] or redact(text) != template.format(
            f"[REDACTED:{kind}]"
        ):
            missed.append((kind, find(text), redact(text)))
    assert missed == []


@pytest.mark.parametrize(
    "text", [r"C:\\_tools\\key\-file", r"\*not\_a\-token\*", "\\" * 1000, r"$\_{n}\.$"]
)
def test_other_backslashes_hide_and_show_nothing(text: str):
    assert find(text) == ()
    assert redact(text) == text


def test_all_texts_of_a_json_value_are_redacted():
    token = f"ghp_{'a1B2c3D4e5F6' * 3}"
    value = {"rows": [{"text": f"it is {token}", "line": 3}, (token, None)], "more": True}
    hidden = "[REDACTED:github-token]"
    assert redact_values(value) == {
        "rows": [{"text": f"it is {hidden}", "line": 3}, [hidden, None]],
        "more": True,
    }
