"""Secrets in rollouts and logs: no report tells them, whole or in part, and the comparison stays the same."""

from __future__ import annotations

import base64
import json
import random
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Compare, Json, Rollouts

FRAGMENT = 8
"""So many characters of a secret in a row are a fragment of it."""
LETTERS = string.ascii_letters
ALPHANUMERIC = string.ascii_letters + string.digits
URL_SAFE = ALPHANUMERIC + "-_"
BASE64 = ALPHANUMERIC + "+/"

_random = random.Random(20)


def chars(alphabet: str, number: int) -> str:
    """Random characters, with a letter and a digit at the ends, as tokens have them."""
    return "k" + "".join(_random.choices(alphabet, k=number - 2)) + "7"


@dataclass(frozen=True)
class Planted:
    """A secret as it stands in a text, `told` being what may stay readable of it."""

    name: str
    text: str
    told: tuple[str, ...] = ()
    variable: str = ""
    pattern: str = ""

    def fragments(self) -> Iterator[str]:
        """Every piece of the secret that must not be seen."""
        hidden = self.text
        for part in self.told:
            hidden = hidden.replace(part, "\n")
        for part in hidden.split("\n"):
            yield from (part[at : at + FRAGMENT] for at in range(len(part) - FRAGMENT + 1))


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def jwt() -> str:
    return ".".join(
        [
            base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("="),
            base64.urlsafe_b64encode(b'{"sub":"1234567890","iat":1516239022}').decode().rstrip("="),
            chars(URL_SAFE, 43),
        ]
    )


def key_body(lines: int) -> str:
    return "\n".join([*(chars(BASE64, 64) for _ in range(lines)), chars(BASE64, 22) + "=="])


def private_key(kind: str = "RSA ", lines: int = 12) -> str:
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{key_body(lines)}\n-----END {kind}PRIVATE KEY-----"


EDGES = (
    *(f"-----{edge} {kind}PRIVATE KEY-----" for edge in ("BEGIN", "END") for kind in ("RSA ", "OPENSSH ", "EC ", "")),
)

TOKENS = [
    Planted("GitHub personal", "ghp_" + chars(ALPHANUMERIC, 36)),
    Planted("GitHub OAuth", "gho_" + chars(ALPHANUMERIC, 36)),
    Planted("GitHub user", "ghu_" + chars(ALPHANUMERIC, 36)),
    Planted("GitHub installation", "ghs_" + chars(ALPHANUMERIC, 36)),
    Planted("GitHub installation, long", f"ghs_{chars(URL_SAFE, 80)}.{chars(URL_SAFE, 330)}.{chars(URL_SAFE, 86)}"),
    Planted("GitHub refresh", "ghr_" + chars(ALPHANUMERIC, 76)),
    Planted("GitHub fine-grained", f"github_pat_{chars(ALPHANUMERIC, 22)}_{chars(ALPHANUMERIC, 59)}"),
    Planted("AWS key id", "AKIA" + "".join(_random.choices(string.ascii_uppercase + "234567", k=16))),
    Planted("AWS temporary key id", "ASIA" + "".join(_random.choices(string.ascii_uppercase + "234567", k=16))),
    Planted("AWS secret", f"aws_secret_access_key = {chars(BASE64, 40)}", ("aws_secret_access_key = ",)),
    Planted("AWS secret, exported", f'AWS_SECRET_ACCESS_KEY="{chars(BASE64, 40)}"', ('AWS_SECRET_ACCESS_KEY="', '"')),
    Planted("Google API key", "AIza" + chars(URL_SAFE, 35)),
    Planted("Google access token", "ya29." + chars(URL_SAFE, 100)),
    Planted("Slack bot", f"xoxb-{_random.randrange(10**11, 10**12)}-{_random.randrange(10**11, 10**12)}-"
            + chars(ALPHANUMERIC, 24)),
    Planted("Slack app", f"xapp-1-A0{chars(string.ascii_uppercase, 9)}-{chars(string.digits, 13)}-"
            + chars(string.hexdigits[:16], 64)),
    Planted("Hugging Face", "hf_" + chars(LETTERS, 34)),
    Planted("NVIDIA", "nvapi-" + chars(URL_SAFE, 64)),
    Planted("OpenAI", "sk-" + chars(ALPHANUMERIC, 48)),
    Planted("OpenAI project", "sk-proj-" + chars(URL_SAFE, 120)),
    Planted("Anthropic", "sk-ant-api03-" + chars(URL_SAFE, 93) + "AA"),
    Planted("JSON web token", jwt()),
    Planted("base64 of a checkout token", encoded("x-access-token:ghs_" + chars(ALPHANUMERIC, 36))),
    Planted("bearer", f"Bearer {chars(ALPHANUMERIC, 40)}", ("Bearer ",)),
    Planted("bearer, header", f"Authorization: Bearer {chars(ALPHANUMERIC, 32)}", ("Authorization: Bearer ",)),
    Planted(
        "basic, header",
        f"AUTHORIZATION: basic {encoded('user:' + chars(ALPHANUMERIC, 20))}",
        ("AUTHORIZATION: basic ",),
    ),
    Planted(
        "URL password",
        f"https://user:{chars(ALPHANUMERIC, 20)}@example.com/x",
        ("https://user:", "@example.com/x"),
    ),
    Planted("URL token", f"https://{'x-access-token'}:{chars(ALPHANUMERIC, 40)}@github.com/a/b.git",
            ("https://x-access-token:", "@github.com/a/b.git")),
    Planted("value of *_TOKEN", "plain words 42", variable="DEPLOY_TOKEN"),
    Planted("value of *_KEY", "quite0rdinary", variable="Some_Key"),
    Planted("value of *_SECRET", chars(ALPHANUMERIC, 12), variable="CLIENT_SECRET"),
    Planted("value of *_PASSWORD", "correct horse battery", variable="DB_PASSWORD"),
    Planted("value with a quote and a backslash", 'hunter2-hunter"2\\three', variable="MAIL_PASSWORD"),
    Planted("own pattern", "employee-" + chars(string.digits, 9), pattern=r"employee-\w+"),
]  # fmt: skip
KEYS = [
    Planted("RSA key", private_key("RSA "), EDGES),
    Planted("key", private_key(""), EDGES),
    Planted("OpenSSH key", private_key("OPENSSH ", 30), EDGES),
    Planted("EC key", private_key("EC ", 2), EDGES),
]
Side = Path | list[Json]
by_name: dict[str, Any] = {"ids": lambda secret: secret.name.replace(" ", "_")}


@dataclass(frozen=True)
class Told:
    """Everything that one run tells."""

    text: str
    json: str
    markdown: str
    err: str

    def leak(self, secret: Planted) -> str:
        """Where a piece of the secret is told, with what stands around it; empty when it is told nowhere."""
        for form in ("text", "json", "markdown", "err"):
            told = getattr(self, form)
            for fragment in secret.fragments():
                at = told.find(fragment)
                if at >= 0:
                    return f"{form}: {told[max(0, at - 80) : at + 80]!r}"
        return ""

    @property
    def summary(self) -> Json:
        """The JSON summary."""
        parsed: Json = json.loads(self.json)
        return parsed


@pytest.fixture
def tell(rollouts: Rollouts, run: Compare, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Told]:
    """Every report on two sides' rows; `secret` brings its environment variable and pattern along."""

    def call(old: Side, new: Side, *options: object, secret: Planted | None = None) -> Told:
        if secret is not None and secret.variable:
            monkeypatch.setenv(secret.variable, secret.text)
        patterns = ["--redact", secret.pattern] if secret is not None and secret.pattern else []
        paths = [
            side if isinstance(side, Path) else rollouts.write(f"{name}.jsonl", side)
            for name, side in (("old", old), ("new", new))
        ]
        files = [rollouts.folder / "report.json", rollouts.folder / "report.md"]
        done = run(
            *paths, "--json", files[0], "--markdown", files[1], "--logs-root", rollouts.folder, *patterns, *options
        )
        assert done.status == 0, done.err
        summary, markdown = (file.read_text(encoding="utf-8") for file in files)
        return Told(done.out, summary, markdown, done.err)

    return call


def flip(**losing: Any) -> tuple[list[Json], list[Json]]:
    """Two sides of one flipped task, whose losing row says these things."""
    return [{"task_id": "t", "reward": 1}], [{"task_id": "t", "reward": 0} | losing]


@pytest.mark.parametrize("secret", [*TOKENS, *KEYS], **by_name)
def test_no_report_tells_any_piece_of_a_secret(secret: Planted, rollouts: Rollouts, tell: Callable[..., Told]) -> None:
    text = secret.text
    logs = rollouts.folder / "run.log"
    logs.write_text(f"one\nusing {text} now\nthree\n{text}\n")
    failure = {"_ng_failure_class": f"class {text}", "_ng_failure_message": f"could not {text} at all"}

    def row(task: str, reward: float | None, **more: Any) -> Json:
        return {"own": {"case": {"taskset": f"set {text}", "task_id": task}}, "reward": reward} | more

    maker = {"agent_ref": {"name": f"agent {text}"}, "response": {"model": f"model {text}"}}
    old = [
        row(f"id {text}", 1, **maker),
        row("embedded", 1),
        row("erring", 1),
        row("typed", 1),
        row("measured", 1),
        row(f"masked {text}", 1),
        row("failed", 1),
        row(f"missing {text}", 1),
        row("nowhere", 1),
    ]
    new = [
        row(f"id {text}", 0, verifier_logs_dir="run.log", agent_ref={"name": "agent"}),
        row("embedded", 0, test_output={"stdout": [f"$ login {text}", text]}),
        row("erring", 0, error=f"refused: {text}"),
        row("typed", 0, response={"model": text, "metadata": {"x_error_type": f"E {text}"}}),
        row("measured", 0, failure_kind=f"kind {text}", details=text),
        row(f"masked {text}", None, mask_sample=True, failure_kind=f"why {text}"),
        row("nowhere", 0, verifier_logs_dir=f"logs/{text}/x.log"),
        {"own": {"case": {"taskset": "other", "task_id": text}}, "reward": 1},
    ]
    name = f"old {text}.jsonl" if "/" not in text and len(text) < 200 else "old.jsonl"
    paths = (
        rollouts.write(name, old, [row(f"gone {text}", None) | failure]),
        rollouts.write("new.jsonl", new, [row("failed", None) | failure, failure]),
    )
    told = tell(*paths, "--key", "own.case", "--count-as-zero", f"class {text}", secret=secret)
    assert told.leak(secret) == ""
    assert "[redacted]" in told.text
    assert "[redacted]" in told.json
    assert "[redacted]" in told.markdown
    assert "redacted" in told.text.rstrip().rpartition("\n")[2]


@pytest.mark.parametrize("secret", [token for token in TOKENS if "." not in token.text], **by_name)
def test_secrets_in_names_given_by_options_are_not_told(secret: Planted, tell: Callable[..., Told]) -> None:
    name = secret.text
    old = [{f"id {name}": "t", "reward": 1}]
    new = [{f"id {name}": "t", "reward": 0, f"said {name}": "broken"}]
    told = tell(old, new, f"--key=id {name}", f"--verifier-field=said {name}", secret=secret)
    assert "broken" in told.text
    assert told.leak(secret) == ""


@pytest.mark.parametrize("secret", TOKENS, **by_name)
def test_no_error_line_tells_any_piece_of_a_secret(
    secret: Planted, rollouts: Rollouts, run: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    if secret.variable:
        monkeypatch.setenv(secret.variable, secret.text)
    options = ["--redact", secret.pattern] if secret.pattern else []
    good = rollouts.write("good.jsonl", [{"task_id": "t", "reward": 1}])
    for number in (0, 190, 440):
        label = f"{'x' * number} {secret.text}"
        for arguments in (
            (good, rollouts.write("bad.jsonl", [{"task_id": label, "reward": label}])),
            (good, rollouts.write("cut.jsonl", [f'{{"task_id": {json.dumps(label)}, "reward": tru'])),
            (good, f"{rollouts.folder}/{label}"),
            (good, f"{rollouts.folder}/*{label}"),
            (good, good, "--json", f"{rollouts.folder}/none/{label}"),
            (good, good, "--markdown", f"{rollouts.folder}/none/{label}"),
            (good, good, "--template", f"{rollouts.folder}/{label}"),
            (good, good, f"--key={label}" if "." not in label else f"--template={label}"),
        ):
            done = run(*arguments, *options)
            assert done.status in (1, 2)
            assert Told(done.out, "", "", done.err).leak(secret) == "", arguments


# Cuts: a secret that lies across one is redacted before


def straddling(secret: Planted, limit: int) -> Iterator[int]:
    """How much stands before the secret, so that a cut after `limit` characters falls into it at many places."""
    length = len(secret.text)
    for inside in sorted({0, 1, 5, 8, 9, 12, 16, 20, length // 2, length - 9, length - 1, length}):
        if 0 <= inside <= min(length, limit):
            yield limit - inside


def flips(said: Iterator[Json]) -> tuple[list[Json], list[Json]]:
    """Two sides of many flipped tasks, whose losing rows say these things."""
    losing = [{"task_id": f"t{number}", "reward": 0} | fields for number, fields in enumerate(said)]
    return [{"task_id": row["task_id"], "reward": 1} for row in losing], losing


@pytest.mark.parametrize("secret", TOKENS, **by_name)
def test_no_piece_survives_the_cut_of_an_error(secret: Planted, tell: Callable[..., Told]) -> None:
    errors = [
        "x" * (before - 1) + f" {secret.text}" for limit in (119, 120, 121) for before in straddling(secret, limit)
    ]
    told = tell(*flips({"error": error, "test_output": "one"} for error in errors), secret=secret)
    assert told.leak(secret) == ""


@pytest.mark.parametrize("secret", TOKENS, **by_name)
def test_no_piece_survives_the_cut_of_a_reason(secret: Planted, tell: Callable[..., Told]) -> None:
    limits = (1_000, 1_000 - len("mask_sample (failure_kind="))
    kinds = ["x" * (before - 1) + f" {secret.text}" for limit in limits for before in straddling(secret, limit)]
    old, new = flips({"failure_kind": kind} for kind in kinds)
    for number, kind in enumerate(kinds):
        old.append({"task_id": f"m{number}", "reward": 1})
        new.append({"task_id": f"m{number}", "reward": 0, "mask_sample": True, "failure_kind": kind})
        new[-1]["_ng_failure_message"] = kind
    assert tell(old, new, secret=secret).leak(secret) == ""


@pytest.mark.parametrize("secret", TOKENS, **by_name)
def test_no_piece_survives_the_cut_of_a_name(secret: Planted, tell: Callable[..., Told]) -> None:
    old, new = [], []
    for before in [*straddling(secret, 200), *straddling(secret, 300)]:
        name = "x" * (before - 1) + f" {secret.text}"
        maker = {"agent_ref": {"name": name}, "response": {"model": name}}
        old += [{"task_id": name, "reward": 1} | maker, {"task_id": f"{name} missing", "reward": 1} | maker]
        new += [{"task_id": name, "reward": 0, "verifier_logs_dir": f"{name}/{name}"}]
    assert tell(old, new, secret=secret).leak(secret) == ""


@pytest.mark.parametrize("secret", TOKENS, **by_name)
def test_no_piece_survives_the_cut_of_a_line(secret: Planted, tell: Callable[..., Told]) -> None:
    lines = [
        "x" * (before - 1) + f" {secret.text} and on" + "y" * 3_000
        for limit in (120, 200, 400, 2_000)
        for before in straddling(secret, limit)
    ]
    assert tell(*flips({"test_output": f"one\n{line}"} for line in lines), secret=secret).leak(secret) == ""
    together = {"test_output": "\n".join(lines)}
    assert tell(*flips(iter([together])), "--tail", 1_000, secret=secret).leak(secret) == ""


@pytest.mark.parametrize("secret", TOKENS, **by_name)
def test_no_piece_survives_the_cut_of_a_very_long_text(secret: Planted, tell: Callable[..., Told]) -> None:
    texts = [f"{'x' * before} {secret.text} {'y' * 20_000}" for before in (119, 1_990, 8_192, 8_312, 10_185, 10_190)]
    said = ({"error": text, "test_output": f"{text}\nlast", "failure_kind": text} for text in texts)
    assert tell(*flips(said), secret=secret).leak(secret) == ""


@pytest.mark.parametrize("secret", [TOKENS[0], TOKENS[4], TOKENS[26]], **by_name)
@pytest.mark.parametrize("line", ["short", "long", "only"])
def test_no_piece_survives_where_the_reading_of_a_log_begins(
    secret: Planted, line: str, rollouts: Rollouts, tell: Callable[..., Told]
) -> None:
    window = 1 << 20
    said = []
    for inside in (8, len(secret.text) // 2):
        # The window begins inside the secret, on a line that ends soon, after a while, or with the log.
        rest = {"short": " and on\n", "long": " and on" * 2_000 + "\n", "only": ""}[line]
        filler = ("filler\n" if rest else "filler ") * (window // 7 + 1)
        text = f"before {secret.text}{rest}"
        text += filler[len(filler) - window + len(secret.text) - inside + len(rest) :]
        (rollouts.folder / f"{inside}.log").write_text(text)
        said += [{"verifier_logs_dir": f"{inside}.log"}, {"test_output": text}]
    assert tell(*flips(iter(said)), "--tail", 100_000, secret=secret).leak(secret) == ""


@pytest.mark.parametrize("secret", KEYS, **by_name)
@pytest.mark.parametrize("prefix", ["", "> ", "2026-01-01T00:00:00Z "], ids=ascii)
def test_no_piece_of_a_key_survives_wherever_a_tail_cuts_it(
    secret: Planted, prefix: str, tell: Callable[..., Told]
) -> None:
    lines = [f"{prefix}{line}" for line in ["before", *secret.text.split("\n"), "after"]]
    log = "\n".join(lines)
    for tail in range(1, len(lines) + 1, 1 + len(lines) // 12):
        told = tell(*flip(test_output=log), "--tail", tail, secret=secret)
        assert told.leak(secret) == "", tail


@pytest.mark.parametrize("secret", KEYS, **by_name)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n", "\\\\n"], ids=ascii)
@pytest.mark.parametrize("part", ["whole", "without its begin", "without its end"])
def test_no_piece_of_a_key_is_told_that_is_there_in_part(
    secret: Planted, newline: str, part: str, tell: Callable[..., Told]
) -> None:
    lines = secret.text.split("\n")
    lines = {"whole": lines, "without its begin": lines[1:], "without its end": lines[:-1]}[part]
    text = newline.join(lines)
    assert tell(*flip(test_output=f"first\n{text}\nlast")).leak(secret) == ""
    assert tell(*flip(test_output={"key": text})).leak(secret) == ""
    assert tell(*flip(error=text.replace("\n", " "))).leak(secret) == ""


def drawn(text: str) -> list[str]:
    """Lines from which a terminal makes the text, or nothing."""
    middle = len(text) // 2
    return [
        f"using {text}\rdone",
        f"10%\r{text}",
        f"\x1b[32m{text}\x1b[0m",
        f"{text[:middle]}\x1b[31m{text[middle:]}\x1b[0m",
        "".join(f"{text[at : at + 6]}\x1b[1m" for at in range(0, len(text), 6)),
        f"{text[:middle]}\x1b[K{text[middle:]}",
        f"\x1b]0;{text}\x07title",
        f"\x1b]8;;http://x/{text}\x07link\x1b]8;;\x07",
        f"{text[:middle]}\x1b]8;;http://x/\x07{text[middle:]}",
        f"one\n\x1b[1A\x1b[2K{text}",
    ]


@pytest.mark.parametrize("secret", TOKENS, **by_name)
@pytest.mark.parametrize("place", ["log", "error", "failure kind", "task"])
def test_no_piece_survives_what_a_terminal_does_to_a_line(
    secret: Planted, place: str, tell: Callable[..., Told]
) -> None:
    lines = drawn(secret.text)
    old, new = flips(
        {"log": {"test_output": f"first\n{line}\nlast"}, "error": {"error": line, "test_output": "one"}}.get(
            place, {"failure_kind": line}
        )
        for line in lines
    )
    if place == "task":
        for at, line in enumerate(lines):
            old[at]["task_id"] = new[at]["task_id"] = f"{at} {line}"
    assert tell(old, new, secret=secret).leak(secret) == ""


# What is said of it, and what stays as it was


def redactions(told: Told) -> tuple[str, str, int]:
    """How many secrets each report says that it redacted."""
    counts = [re.search(r"([\d,]+) secrets? redacted", report) for report in (told.text, told.markdown)]
    text, markdown = (found[1] if found else "0" for found in counts)
    return text, markdown, told.summary["redacted"]


def test_reports_say_how_many_secrets_they_redacted(tell: Callable[..., Told]) -> None:
    assert redactions(tell(*flip(test_output="nothing"))) == ("0", "0", 0)
    first, second = TOKENS[0].text, TOKENS[15].text
    told = tell(*flip(error=f"no {first}", test_output=f"{first}\n{first}", failure_kind=first))
    assert redactions(told) == ("1", "1", 1)
    assert "1 secret redacted" in told.text
    told = tell(*flip(error=f"no {first}", failure_kind=f"{first} {second}"))
    assert redactions(told) == ("2", "2", 2)
    assert "2 secrets redacted" in told.markdown


def test_a_json_summary_counts_only_what_it_would_have_told(tell: Callable[..., Told]) -> None:
    told = tell(*flip(test_output=TOKENS[0].text))
    assert redactions(told) == ("1", "1", 0)


@pytest.mark.parametrize("secret", TOKENS, **by_name)
def test_ids_with_a_secret_still_join(secret: Planted, tell: Callable[..., Told]) -> None:
    old = [{"task_id": f"a {secret.text}", "reward": 1}, {"task_id": "b", "reward": 1}]
    new = [{"task_id": f"a {secret.text}", "reward": 0}, {"task_id": "b", "reward": 1}]
    counts = tell(old, new, secret=secret).summary["counts"]
    assert (counts["tasks"], counts["flipped"], counts["identical"], counts["missing"]) == (2, 1, 1, 0)


def test_tasks_whose_ids_differ_in_a_secret_alone_stay_apart(tell: Callable[..., Told]) -> None:
    names = [f"ghp_{chars(ALPHANUMERIC, 36)}" for _ in range(3)]
    old = [{"task_id": name, "reward": 1} for name in names]
    new = [{"task_id": name, "reward": reward} for name, reward in zip(names, (0, 1, 0), strict=True)]
    told = tell(old, new)
    counts = told.summary["counts"]
    assert (counts["tasks"], counts["flipped"], counts["identical"]) == (3, 2, 1)
    assert [task["task"] for task in told.summary["tasks"]] == ["[redacted]"] * 3
    assert told.text.count("- [redacted]: 1 -> 0") == 2
    assert redactions(told)[2] == 3


def test_the_digest_and_the_verdict_are_those_without_redaction(tell: Callable[..., Told]) -> None:
    sides = [
        [{"task_id": f"case {number}", "reward": reward, "error": ""} for number in range(12)] for reward in (1, 0)
    ]
    plain = tell(*sides).summary
    redacted = tell(*sides, "--redact", "case").summary
    assert redacted["redacted"] == 1
    assert [side["digest"] for side in redacted["sides"].values()] == [
        side["digest"] for side in plain["sides"].values()
    ]
    assert redacted["verdict"] == plain["verdict"]
    assert redacted["statistics"] == plain["statistics"]


HARMLESS = (
    "task-abcdefghijklmnopqrstuvwxyz0123",
    "disk-0123456789abcdefghijklmnop",
    "risk-assessment-of-something-long-0123",
    "The bearer of news has arrived",
    "the bearer understands",
    "Bearer authentication is required",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "123e4567-e89b-12d3-a456-426614174000",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "https://example.com:8080/path?at=noon",
    "http://user@example.com/",
    "someone@example.com",
    "git@github.com:owner/repository.git",
    "self.assertEqual(sk, 1)",
    "tests/hf_transformers/test_modeling.py::test_x",
    "eyJust a word",
    "AssertionError: AIzanother",
    "Authorization header is missing",
    "authorization: none of these",
    "xoxo",
    "-----BEGIN CERTIFICATE-----",
    "PRIVATE KEY",
    "the file holds no PRIVATE KEY at all",
    "ghp_short",
    "password=hunter2",
)


@pytest.mark.parametrize("text", HARMLESS)
def test_words_that_are_no_secrets_stay(text: str, tell: Callable[..., Told]) -> None:
    old = [{"task_id": text, "reward": 1}]
    new = [{"task_id": text, "reward": 0, "test_output": f"first\n{text}\nlast"}]
    told = tell(old, new)
    assert redactions(told) == ("0", "0", 0)
    assert told.text.count(text) == 2
    assert told.summary["tasks"][0]["task"] == text


@pytest.mark.parametrize(("name", "value"), [
    ("API_KEY", "short-7"), ("KEYS", "quite long words"), ("TOKENIZER", "quite long words"),
])  # fmt: skip
def test_other_variables_and_short_values_are_no_secrets(
    name: str, value: str, tell: Callable[..., Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert value in tell(*flip(test_output=value)).text


@pytest.mark.parametrize("name", ["ted", "act", "edacte"])
def test_a_pattern_may_match_a_piece_of_the_words_that_replace_it(name: str, tell: Callable[..., Told]) -> None:
    told = tell(
        *flip(error=f"asked {name} for more", test_output="one"),
        "--redact",
        f"(?<=asked ){name}",
    )
    assert "asked [redacted] for more" in told.text


def test_a_pattern_that_is_none_is_wrong_usage_and_not_told(rollouts: Rollouts, run: Compare) -> None:
    good = rollouts.write("good.jsonl", [{"task_id": "t", "reward": 1}])
    done = run(good, good, "--redact", "(hunter2sesame")
    assert done.status == 2
    assert done.out == ""
    assert "hunter2" not in done.err
