"""Rollouts are untrusted: which files a row can make the report show, and which it never can."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Compare, Rollouts

Lay = Callable[[Path], str]

PLANTED = "planted-secret-7431"
OUTSIDE = "unavailable: outside the log roots"
NOT_REGULAR = "unavailable: not a regular file"
ANY = "unavailable: "

# A fault that reads without end shall fail its test, not the machine.
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from rollout_compare.cli import main
sys.exit(main())
"""


def plant(folder: Path, name: str = "test-stdout.txt") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"first line\n{PLANTED}\n")
    return folder / name


@pytest.fixture
def work(rollouts: Rollouts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with both sides in folders of their own; the command runs in an empty folder elsewhere."""
    rollouts.write("work/old/rollouts.jsonl", [{"task_id": "t", "reward": 1.0}])
    (tmp_path / "work/new").mkdir()
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    return tmp_path / "work"


def write_loser(work: Path, logs_dir: object, **fields: object) -> list[object]:
    """The arguments of a comparison whose losing row names `logs_dir`; the summary goes to a file."""
    row = {"task_id": "t", "reward": 0.0, "verifier_logs_dir": logs_dir, **fields}
    (work / "new/rollouts.jsonl").write_text(json.dumps(row) + "\n")
    return [work / "old/rollouts.jsonl", work / "new/rollouts.jsonl", "--json", work / "summary.json"]


def source_of(work: Path) -> str:
    """Where the summary says that the shown output comes from."""
    (task,) = json.loads((work / "summary.json").read_text())["tasks"]
    source: str = task["verifier_output"]["source"]
    return source


def run_apart(arguments: list[object], code: str = LIMITED) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, ended when it waits or reads without end."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


# What is shown


def _inside(work: Path) -> str:
    plant(work / "new/logs")
    return "logs"


def _absolute_inside(work: Path) -> str:
    return str(plant(work / "new/logs").parent)


def _up_and_back(work: Path) -> str:
    plant(work / "new/logs")
    return "../new/more/../logs/./"


def _link_inside(work: Path) -> str:
    plant(work / "new/attempts/1")
    (work / "new/logs").symlink_to("attempts/1")
    return "logs"


def _link_to_a_file_inside(work: Path) -> str:
    plant(work / "new/attempts", "1.log")
    (work / "new/logs").mkdir()
    (work / "new/logs/test-stdout.txt").symlink_to("../attempts/1.log")
    return "logs"


@pytest.mark.parametrize("lay", [_inside, _absolute_inside, _up_and_back, _link_inside, _link_to_a_file_inside])
def test_a_log_inside_the_roots_is_shown(run: Compare, work: Path, lay: Lay) -> None:
    (work / "new/more").mkdir()
    done = run(*write_loser(work, lay(work)))
    assert done.status == 0
    assert PLANTED in done.out
    assert not source_of(work).startswith(ANY)


def test_a_root_may_itself_lie_below_a_dot_folder(rollouts: Rollouts, run: Compare, tmp_path: Path) -> None:
    old = rollouts.write("old.jsonl", [{"task_id": "t", "reward": 1.0}])
    row = {"task_id": "t", "reward": 0.0, "verifier_logs_dir": "logs"}
    new = rollouts.write(".cache/run/new.jsonl", [row])
    plant(tmp_path / ".cache/run/logs")
    assert PLANTED in run(old, new).out


def test_a_side_reached_by_a_link_keeps_its_logs(run: Compare, work: Path) -> None:
    arguments = write_loser(work, _inside(work))
    (work / "link").symlink_to("new")
    assert PLANTED in run(arguments[0], work / "link/rollouts.jsonl").out


# What is not


def _absolute_folder(work: Path) -> str:
    return str(plant(work / "outside").parent)


def _absolute_file(work: Path) -> str:
    return str(plant(work / "outside", "run.log"))


def _parents(work: Path) -> str:
    plant(work / "outside")
    return "../outside"


def _parents_from_below(work: Path) -> str:
    plant(work / "outside")
    (work / "new/logs").mkdir()
    return "logs/../../outside"


def _folder_whose_name_starts_like_the_root(work: Path) -> str:
    return str(plant(work / "new-secrets").parent)


def _linked_folder(work: Path) -> str:
    plant(work / "outside")
    (work / "new/logs").symlink_to(work / "outside")
    return "logs"


def _linked_file(work: Path) -> str:
    plant(work / "outside", "run.log")
    (work / "new/logs").mkdir()
    (work / "new/logs/test-stdout.txt").symlink_to(work / "outside/run.log")
    return "logs"


def _link_to_a_link(work: Path) -> str:
    plant(work / "outside")
    (work / "new/hop").symlink_to("../outside")
    (work / "new/logs").symlink_to("hop")
    return "logs"


def _parent_of_a_linked_folder(work: Path) -> str:
    plant(work / "outside/logs")
    (work / "outside/deep").mkdir()
    (work / "new/link").symlink_to(work / "outside/deep")
    plant(work / "new/logs").write_text("a harmless text\n")
    return "link/../logs"


def _log_of_the_other_side(work: Path) -> str:
    return str(plant(work / "old/logs").parent)


def _log_of_the_other_side_by_parents(work: Path) -> str:
    plant(work / "old/logs")
    return "../old/logs"


@pytest.mark.parametrize(
    "lay",
    [
        _absolute_folder,
        _absolute_file,
        _parents,
        _parents_from_below,
        _folder_whose_name_starts_like_the_root,
        _linked_folder,
        _linked_file,
        _link_to_a_link,
        _parent_of_a_linked_folder,
        _log_of_the_other_side,
        _log_of_the_other_side_by_parents,
    ],
)
def test_a_path_that_leaves_the_roots_is_not_read(run: Compare, work: Path, lay: Lay) -> None:
    done = run(*write_loser(work, lay(work)))
    assert done.status == 0
    assert PLANTED not in done.out + done.err + (work / "summary.json").read_text()
    assert source_of(work).startswith(OUTSIDE)


def _dot_folder(work: Path) -> str:
    plant(work / "new/.git")
    return ".git"


def _dot_folder_above(work: Path) -> str:
    plant(work / "new/.ssh/deep/logs")
    return ".ssh/deep/logs"


def _dot_folder_below(work: Path) -> str:
    plant(work / "new/logs/.env.d")
    return "logs/.env.d"


def _dot_file(work: Path) -> str:
    plant(work / "new/logs", ".netrc.log")
    return "logs/.netrc.log"


def _link_to_a_dot_folder(work: Path) -> str:
    plant(work / "new/.git")
    (work / "new/logs").symlink_to(".git")
    return "logs"


def _other_ending(name: str) -> Lay:
    def lay(work: Path) -> str:
        plant(work / "new/logs", name)
        return f"logs/{name}"

    return lay


def _link_to_another_ending(work: Path) -> str:
    plant(work / "new/logs", "credentials.json")
    (work / "new/logs/test-stdout.txt").symlink_to("credentials.json")
    return "logs"


@pytest.mark.parametrize(
    "lay",
    [
        _dot_folder,
        _dot_folder_above,
        _dot_folder_below,
        _dot_file,
        _link_to_a_dot_folder,
        *(
            pytest.param(_other_ending(name), id=name)
            for name in (
                "prod.env",
                "id_rsa",
                "config.json",
                "test-stdout",
                "log",
                "test-stdout.txt.key",
                "a.logx",
            )
        ),
        _link_to_another_ending,
    ],
)
def test_dot_names_and_other_file_endings_are_not_read(run: Compare, work: Path, lay: Lay) -> None:
    done = run(*write_loser(work, lay(work)))
    assert done.status == 0
    assert PLANTED not in done.out + done.err + (work / "summary.json").read_text()
    assert source_of(work).startswith(ANY)


@pytest.mark.parametrize("lay", [_absolute_folder, _linked_file, _dot_folder, _link_to_another_ending])
@pytest.mark.parametrize("field", ["test_output", "details", "error"])
def test_what_is_not_read_gives_way_to_the_fields(run: Compare, work: Path, lay: Lay, field: str) -> None:
    done = run(*write_loser(work, lay(work), **{field: "field begins\nfield ends"}))
    assert "field begins" in done.out
    assert PLANTED not in done.out
    assert source_of(work) == f"row field {field}"


def test_logs_roots_do_not_open_what_lies_beside_them(run: Compare, work: Path) -> None:
    plant(work / "outside")
    (work / "roots/logs").mkdir(parents=True)
    options = ["--logs-root", work / "roots/logs", "--new-logs-root", work / "roots"]
    done = run(*write_loser(work, "../../outside"), *options)
    assert PLANTED not in done.out + (work / "summary.json").read_text()
    assert source_of(work).startswith(ANY)


# Odd paths

LONG = "d" * 300


@pytest.mark.parametrize(
    "logs_dir",
    [
        pytest.param(LONG, id="name of 300 characters"),
        pytest.param("/" + LONG, id="absolute name of 300 characters"),
        pytest.param("d/" * 5000, id="path of 10,000 characters"),
        pytest.param("../" * 5000, id="5,000 parents"),
        pytest.param("logs\0", id="NUL"),
        pytest.param("/\0", id="absolute NUL"),
        pytest.param("logs\udcff", id="lone low surrogate"),
        pytest.param("\ud800/logs", id="lone high surrogate"),
        pytest.param("~/logs", id="tilde"),
        pytest.param("$HOME/logs", id="variable"),
        pytest.param("file:///etc/hostname", id="address"),
        pytest.param("logs\nFlips (99)\x1b[2J", id="control characters"),
    ],
)
@pytest.mark.parametrize("options", [(), ("--allow-absolute-logs",)], ids=["confined", "not confined"])
def test_an_odd_path_is_unavailable_and_the_report_goes_on(
    run: Compare, work: Path, logs_dir: str, options: tuple[str, ...]
) -> None:
    done = run(*write_loser(work, logs_dir), *options)
    assert done.status == 0
    assert "Traceback" not in done.err
    assert source_of(work).startswith(ANY)
    assert "\x1b" not in done.out
    assert not any(line.strip() == "Flips (99)" for line in done.out.splitlines())


def test_a_link_that_points_at_itself_is_unavailable(run: Compare, work: Path) -> None:
    (work / "new/logs").symlink_to("logs")
    done = run(*write_loser(work, "logs"))
    assert done.status == 0
    assert source_of(work).startswith(ANY)


# What is no regular file


def _fifo(work: Path) -> str:
    (work / "new/logs").mkdir()
    os.mkfifo(work / "new/logs/test-stdout.txt")
    return "logs"


def _fifo_named_outright(work: Path) -> str:
    (work / "new/logs").mkdir()
    os.mkfifo(work / "new/logs/run.log")
    return "logs/run.log"


def _device(work: Path) -> str:
    (work / "new/logs").mkdir()
    try:
        os.mknod(work / "new/logs/test-stdout.txt", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("no permission to make a device file")
    return "logs"


def _socket(work: Path) -> str:
    (work / "new/logs").mkdir()
    # A socket's address is limited to about a hundred characters: bind by a short name, then move.
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
    Path("socket").rename(work / "new/logs/test-stdout.txt")
    return "logs"


@pytest.mark.parametrize("lay", [_fifo, _fifo_named_outright, _device, _socket])
def test_what_is_no_regular_file_is_not_opened(work: Path, lay: Lay) -> None:
    done = run_apart(write_loser(work, lay(work)))
    assert done.returncode == 0, done.stderr
    assert source_of(work).startswith(NOT_REGULAR)


@pytest.mark.parametrize("lay", [_fifo, _device])
def test_lifting_the_confinement_does_not_wait_or_read_without_end(work: Path, lay: Lay) -> None:
    done = run_apart([*write_loser(work, str(work / "new" / lay(work))), "--allow-absolute-logs"])
    assert done.returncode == 0, done.stderr


def _link_to_an_endless_device(work: Path) -> str:
    (work / "new/logs").mkdir()
    (work / "new/logs/test-stdout.txt").symlink_to("/dev/zero")
    return "logs"


@pytest.mark.parametrize(
    "lay",
    [_link_to_an_endless_device, lambda _: "/dev/zero", lambda _: "/dev/stdin"],
    ids=["link", "endless", "standard input"],
)
def test_a_device_of_the_system_is_outside(work: Path, lay: Lay) -> None:
    done = run_apart(write_loser(work, lay(work)))
    assert done.returncode == 0, done.stderr
    assert source_of(work).startswith(OUTSIDE)


def _linked_environment(work: Path) -> str:
    (work / "new/logs").mkdir()
    (work / "new/logs/test-stdout.txt").symlink_to("/proc/self/environ")
    return "logs"


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="this system has no /proc/self/environ")
@pytest.mark.parametrize(
    "lay",
    [
        lambda _: "/proc/self/environ",
        lambda _: "../" * 40 + "proc/self/environ",
        lambda _: "/proc/self/root/proc/self/environ",
        _linked_environment,
    ],
    ids=["absolute", "parents", "through the root of the process", "link"],
)
def test_the_environment_is_never_shown(work: Path, lay: Lay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", PLANTED)
    done = run_apart(write_loser(work, lay(work)))
    assert done.returncode == 0, done.stderr
    assert PLANTED not in done.stdout + done.stderr + (work / "summary.json").read_text()
    assert source_of(work).startswith(OUTSIDE)


# What may not be read

# Root may read everything, so the process gives its capabilities away before it starts: what remains are the
# permissions of an owner. The path to lock is the first argument; status 77 says that it is still open.
WITHOUT_CAPABILITIES = """
import ctypes, os, sys
locked = sys.argv.pop(1)
header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
if os.geteuid() == 0:
    ctypes.CDLL(None).capset(header, nothing)
try:
    os.listdir(locked) if os.path.isdir(locked) else open(locked)
    sys.exit(77)
except PermissionError:
    pass
from rollout_compare.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize("locked", ["new/logs", "new/logs/test-stdout.txt"], ids=["folder", "file"])
@pytest.mark.parametrize(
    ("fields", "expected"),
    [({}, "unavailable: cannot read"), ({"judge_output": "judged"}, "row field judge_output")],
    ids=["no field", "a field"],
)
def test_a_log_without_permission_is_unavailable(
    work: Path, locked: str, fields: dict[str, object], expected: str
) -> None:
    plant(work / "new/logs")
    arguments = write_loser(work, "logs", **fields)
    (work / locked).chmod(0)
    try:
        done = run_apart([work / locked, *arguments], WITHOUT_CAPABILITIES)
    finally:
        (work / locked).chmod(0o755)
    if done.returncode == 77:
        pytest.skip("this process cannot give up the right to read everything")
    assert done.returncode == 0, done.stderr
    assert PLANTED not in done.stdout + done.stderr + (work / "summary.json").read_text()
    assert source_of(work).startswith(expected)


# What lifts the confinement


@pytest.mark.parametrize("lay", [_absolute_folder, _absolute_file])
def test_allowing_absolute_logs_shows_them(run: Compare, work: Path, lay: Lay) -> None:
    done = run(*write_loser(work, lay(work)), "--allow-absolute-logs")
    assert done.status == 0
    assert PLANTED in done.out
    assert not source_of(work).startswith(ANY)


# How much is read

COUNTING = f"""{LIMITED.replace("sys.exit(main())", "status = main()")}
sys.stderr.write(open("/proc/self/io").readline())
sys.exit(status)
"""


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="this system does not count what a process reads")
def test_a_log_of_ten_gigabytes_is_read_from_its_end(work: Path) -> None:
    log = plant(work / "new/logs")
    with log.open("r+b") as stream:
        stream.truncate(10 << 30)
        stream.seek(0, os.SEEK_END)
        stream.write(b"\nFAILED test_login\nthe last line\n")
    done = run_apart(write_loser(work, "logs"), COUNTING)
    assert done.returncode == 0, done.stderr
    assert "FAILED test_login" in done.stdout
    assert "the last line" in done.stdout
    assert PLANTED not in done.stdout, "the first lines are no part of the tail"
    (read,) = [int(line.split()[1]) for line in done.stderr.splitlines() if line.startswith("rchar:")]
    assert read < 64 << 20
