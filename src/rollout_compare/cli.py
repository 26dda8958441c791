"""The command line: its options and their help."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from rollout_compare import options
from rollout_compare.core.errors import UsageError
from rollout_compare.formats.names import FORMAT_NAMES
from rollout_compare.output import OutputError, error_line, print_aside, print_text, settle_streams
from rollout_compare.version import VERSION, commit

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from typing import NoReturn, TypeVar

    T = TypeVar("T")

_PRINTED, _UNPRINTED, _MISUSED, _TERMINATED = 0, 1, 2, 143
_HELP_WIDTH = 100


def entry() -> NoReturn:
    """The `rollout-compare` command."""
    # A cancelled job ends like an interrupted one: what was half-written is taken away.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    sys.exit(main())


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv` (default: the process's own) and return its exit status.

    0: a report was made, whatever it says; 1: an input cannot be read or an output cannot be written. Wrong usage
    raises SystemExit(2), as argparse does. Whether standard error can be written makes no difference.
    """
    try:
        return _main(argv)
    except BrokenPipeError:
        # Whoever read the help has seen enough.
        return _PRINTED
    except OutputError as fault:
        print_aside(f"{error_line(str(fault))}\n")
        return _UNPRINTED
    finally:
        settle_streams()


def _main(argv: Sequence[str] | None) -> int:
    parser = _parser()
    for argument in sys.argv[1:] if argv is None else argv:
        if argument.startswith("--") and argument.endswith("=--"):
            # Older versions of argparse make an empty list of that value.
            parser.error(f"argument {argument[:-3]}: expected one argument")
    arguments = parser.parse_args(argv)
    # Imported only now: --version and --help start at once.
    from rollout_compare.command import run

    try:
        return run(arguments)
    except UsageError as fault:
        parser.error(str(fault))


class _Parser(argparse.ArgumentParser):
    """A parser whose messages tell no secret, whatever was typed."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and exit."""
        if sys.stderr is None:
            # argparse would print the usage on standard output.
            self.exit(_MISUSED)
        import os

        from rollout_compare.report.untrusted import Redactor, label

        super().error(label(Redactor.from_environment(os.environ)(message)).replace("##[", "##\\["))


class _Help(argparse.Action):
    """Prints the help. If that fails it is an error, as with a report; argparse's own action lets it pass."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print and exit."""
        print_text([parser.format_help()])
        parser.exit()


class _Version(argparse.Action):
    """Prints the version and the commit as they are; argparse's own action imports what wraps text first."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print and exit."""
        made_from = commit()
        print_text([f"rollout-compare {VERSION}{f' ({made_from})' if made_from else ''}\n"])
        parser.exit()


def _formatter(prog: str) -> argparse.HelpFormatter:
    # With a width given, argparse need not ask for the terminal's, which costs an import.
    return argparse.HelpFormatter(prog, width=_HELP_WIDTH)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="rollout-compare",
        add_help=False,
        formatter_class=_formatter,
        description="Compare two rollout files task by task: what is identical, flipped, masked or missing.",
        epilog=(
            "A report, not a gate. Exit status: 0 a report was made, whatever it says; 1 an input cannot be read or "
            "an output cannot be written; 2 wrong usage."
        ),
    )
    add = parser.add_argument
    field, path = _named(options.field_name), _named(options.path)
    add("-h", "--help", action=_Help, nargs=0, help="show this help message and exit")
    add(
        "old_rollouts",
        metavar="OLD",
        nargs="?",
        help="reference: a file (.jsonl, .gz, .zst), a directory or a glob",
    )
    add("new_rollouts", metavar="NEW", nargs="?", help="candidate: likewise")
    add("--old", metavar="PATH", action="append", default=[], help="a shard of the reference (repeatable)")
    add("--new", metavar="PATH", action="append", default=[], help="a shard of the candidate (repeatable)")
    add(
        "--key",
        metavar="FIELD",
        type=field,
        help="dotted field that names the task (default: found by itself)",
    )
    add("--old-key", metavar="FIELD", type=field, help="the same for the old side only")
    add("--new-key", metavar="FIELD", type=field, help="the same for the new side only")
    add("--reward", metavar="FIELD", type=field, help="dotted field that holds the reward, or its name in the format")
    for option, words in (
        ("--where", "compare only rows with this value in a dotted field (repeatable; all must hold)"),
        ("--old-where", "the same for the old side only"),
        ("--new-where", "the same for the new side only"),
    ):
        add(
            option,
            metavar="FIELD=VALUE",
            type=_measured(options.condition),
            action="append",
            default=[],
            help=words,
        )
    add(
        "--format-in",
        metavar="NAME",
        choices=FORMAT_NAMES,
        help=f"read both sides as one of: {', '.join(FORMAT_NAMES)} (default: found by itself)",
    )
    add(
        "--margin",
        metavar="M",
        type=_measured(options.margin),
        help="largest difference of mean rewards that does not matter: 0.02 or 2%%",
    )
    add(
        "--tail",
        metavar="N",
        type=_measured(options.number),
        default=options.TAIL,
        help=f"lines of verifier output per flip (default {options.TAIL}, 0 none)",
    )
    for option, words in (
        ("--logs-root", "folder that verifier_logs_dir is relative to (repeatable)"),
        ("--old-logs-root", "the same for the old side only"),
        ("--new-logs-root", "the same for the new side only"),
    ):
        add(option, metavar="DIR", action="append", default=[], help=words)
    add("--allow-absolute-logs", action="store_true", help="read absolute log paths outside the folders too")
    add(
        "--verifier-field",
        metavar="FIELD",
        type=field,
        action="append",
        default=[],
        help="row field with verifier output",
    )
    add(
        "--count-as-zero",
        metavar="CLASS",
        action="append",
        default=[],
        help="failure class that counts as reward 0",
    )
    add("--json", metavar="PATH", type=path, help="write the JSON summary to PATH, or - for standard output")
    add("--markdown", metavar="PATH", type=path, help="write the report for a pull request's comment to PATH")
    add("--html", metavar="PATH", type=path, help="write the report to open in a browser to PATH")
    add("--template", metavar="FILE", type=path, help="a Jinja2 template that extends the Markdown report")
    add(
        "--redact",
        metavar="REGEX",
        type=_pattern,
        action="append",
        default=[],
        help="show [redacted] instead of what matches, in every report (repeatable)",
    )
    add("--format", choices=("text", "markdown", "json"), default="text", help="what to print (default text)")
    add("--version", action=_Version, nargs=0, help="show the version and the commit, and exit")
    return parser


def _named(rule: Callable[[str], str]) -> Callable[[str], str]:
    """The rule for what has a name, with argparse's error."""

    def checked(text: str) -> str:
        try:
            return rule(text)
        except ValueError as fault:
            raise argparse.ArgumentTypeError(f"not {fault}: {text!r}") from None

    return checked


def _measured(rule: Callable[[str], T]) -> Callable[[str], T]:
    """The rule for a number or a condition, likewise."""

    def checked(text: str) -> T:
        try:
            return rule(text)
        except ValueError as fault:
            raise argparse.ArgumentTypeError(f"must be {fault}, not {text!r}") from None

    return checked


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return options.pattern(text)
    except ValueError as fault:
        # The text may be the secret: it is not repeated.
        raise argparse.ArgumentTypeError(str(fault)) from None
