"""Starts one command and prints its wall seconds, CPU seconds, peak memory (ru_maxrss) and exit status.

    python -I -S launch.py OUTPUT COMMAND...

A child's peak is never measured below that of the process that starts it, so that process is this one: it
imports next to nothing.
"""

import os
import sys
import time

output, *command = sys.argv[1:]
writing = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
redirections = [
    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
    (os.POSIX_SPAWN_OPEN, 1, output, writing, 0o644),
]
start = time.perf_counter()
child = os.posix_spawnp(command[0], command, os.environ, file_actions=redirections)
_, status, usage = os.wait4(child, 0)
wall = time.perf_counter() - start
print(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, os.waitstatus_to_exitcode(status))
