"""A million changes wait at the source while the sink is stopped: memory stays within the stated bound, and nothing is lost.
With --durable they wait in the stream's log, and the source is read to its end.

usage: memory_test.py WEIR [--durable] [--sanitized]
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import programs

CHANGES = 1_000_000
BUDGET = 8 << 20
PROGRAM = 48 << 20  # code, stacks, CAF, pipes, allocator slack: docs/running.md says so
LOG = BUDGET + (8 << 20) + (8 << 20)  # on the way to the log; kept in memory near its head; SQLite's caches
SANITIZER = 384 << 20  # shadow memory, red zones, and what was freed and is kept for a while (256 MiB)


def bytes_read(pid):
    return int(re.search(r"rchar: (\d+)", pathlib.Path(f"/proc/{pid}/io").read_text()).group(1))


def main():
    weir = sys.argv[1]
    is_durable = "--durable" in sys.argv
    bound = BUDGET + PROGRAM + (LOG if is_durable else 0) + (SANITIZER if "--sanitized" in sys.argv else 0)
    with tempfile.TemporaryDirectory(prefix="weir-memory-") as directory:
        feed = pathlib.Path(directory) / "feed.jsonl"
        with feed.open("w") as out:
            for number in range(CHANGES):
                record = {"collection": "items", "key": f"key-{number % 5000}", "op": "upsert", "payload": {"n": number}}
                out.write(json.dumps(record) + "\n")
        config = pathlib.Path(directory) / "pipeline.toml"
        config.write_text(
            f"""name = "memory-test"
state = "state"
[source]
type = "jsonl"
path = "feed.jsonl"
{programs.stream_table(sys.argv) or "[stream]"}
items = 1024
bytes = {BUDGET}
budget = {BUDGET}
[[sink]]
name = "out"
type = "stdout"
"""
        )
        # The sink is stopped: nobody reads what it writes.
        run = subprocess.Popen([weir, "run", "--quiet", str(config)], stdout=subprocess.PIPE)
        # The source has come to rest when it has read nothing more for a while; only then is there something to look at.
        seen, quiet = -1, 0
        while run.poll() is None and quiet < 20:
            now = bytes_read(run.pid)
            quiet = quiet + 1 if now == seen and now > 1 << 20 else 0
            seen = now
            time.sleep(0.05)
        if run.poll() is not None:
            sys.exit(f"weir run ended with {run.returncode} while its sink was stopped")
        status = pathlib.Path(f"/proc/{run.pid}/status").read_text()
        peak = int(re.search(r"VmHWM:\s*(\d+) kB", status).group(1)) * 1024
        waiting = feed.stat().st_size - seen
        numbers = [json.loads(line)["payload"]["n"] for line in run.stdout]
        code = run.wait()
        print(
            f"stopped with {waiting} of {feed.stat().st_size} bytes still at the source; peak {peak / 2**20:.1f} MiB, "
            f"bound {bound / 2**20:.0f} MiB; then ended with {code} after {len(numbers)} changes"
        )
        whole = numbers == list(range(CHANGES))
        sys.exit(0 if code == 0 and peak <= bound and (waiting > 0) != is_durable and whole else 1)


if __name__ == "__main__":
    main()
