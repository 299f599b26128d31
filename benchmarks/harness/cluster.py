"""A real SLURM cluster of one node on this machine, without systemd and cgroups, for a test or a benchmark.

SLURM reads ``/etc/slurm/slurm.conf`` wherever a job starts another step, so the cluster needs root. A configuration of
another cluster is left alone. All other files are in a temporary directory.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from optree.bench.system.process_limits import die_with_parent

CONFIGURATION = Path("/etc/slurm/slurm.conf")
MARK = "# made by optree's tests, and removed by them\n"
PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "squeue")
ACCOUNTING = ("slurmdbd", "mariadbd", "mariadb-install-db")
SECONDS = 60.0  # to wait for a daemon

SLURM = """
ClusterName=optree
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld}
SlurmdPort={slurmd}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,bf_interval=2,sched_interval=2,sched_min_interval=0
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
KillWait=5
MinJobAge=300
SlurmdTimeout=30
{accounting}
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} CoresPerSocket={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=debug Nodes={host} Default=YES DefMemPerCPU=500 DefaultTime=10 MaxTime=120 State=UP
"""

ACCOUNTED = """AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort={dbd}
AccountingStoragePass={folder}/munge.socket
AccountingStoreFlags=job_comment"""

DATABASE = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdPort={dbd}
SlurmUser=root
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={mysql}
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm
"""


def why_not(accounting: bool = False) -> str:
    """Return the reason why there can be no cluster on this machine, or an empty string."""
    missing = [name for name in (*PROGRAMS, *(ACCOUNTING if accounting else ())) if not shutil.which(name)]
    if missing:
        return (
            f"{', '.join(missing)} not installed (Debian: slurmctld slurmd slurm-client slurmdbd munge mariadb-server)"
        )
    if os.getuid() != 0:
        return "a SLURM cluster on this machine needs root"
    if CONFIGURATION.exists() and not CONFIGURATION.read_text().startswith(MARK):
        return f"{CONFIGURATION} belongs to another cluster"
    return ""


def _ports(count: int) -> list[int]:
    """Return free ports of this machine."""
    taken = [socket.socket() for _ in range(count)]
    for one in taken:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports


def _wait(what: str, ready: Callable[[], bool]) -> None:
    """Wait until a daemon is ready."""
    end = time.monotonic() + SECONDS
    while not ready():
        assert time.monotonic() < end, f"{what} does not come up"
        time.sleep(0.1)


def ask(*command: str) -> str:
    """Return the output of a command, empty if the command fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


class Cluster:
    """A cluster that runs between :meth:`start` and :meth:`stop`.

    Parameters
    ----------
    accounting : bool, default False
        Whether there is a database that remembers jobs (``sacct``).
    cpus : int, default 2
        The number of processors that the node declares.
    """

    def __init__(self, accounting: bool = False, cpus: int = 2):
        self.accounting, self.cpus, self.host = accounting, cpus, socket.gethostname().split(".")[0]
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-"))
        self._daemons: dict[str, subprocess.Popen] = {}

    def __enter__(self) -> Cluster:
        self.start()
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    def _daemon(self, name: str, *arguments: str) -> None:
        """Start a daemon that ends with this process, even if this process is killed."""
        with open(self.folder / f"{name}.out", "ab") as output:
            self._daemons[name] = subprocess.Popen(
                [shutil.which(name), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=partial(die_with_parent, os.getpid(), signal.SIGTERM),
            )

    def start(self) -> None:
        """Write the configuration and start all daemons."""
        folder, ports = self.folder, dict(zip(("ctld", "slurmd", "dbd", "mysql"), _ports(4), strict=True))
        self.folder.chmod(0o755)  # munge's clients look into it
        for name in ("state", "spool"):
            (folder / name).mkdir()
        (folder / "munge.key").write_bytes(os.urandom(1024))
        (folder / "munge.key").chmod(0o400)
        socket_path = str(folder / "munge.socket")
        files = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "log", "seed")]
        self._daemon("munged", "--foreground", "--force", f"--socket={socket_path}", *files)
        _wait("munged", lambda: bool(ask("munge", "--no-input", f"--socket={socket_path}")))
        memory = int(ask("awk", "/MemTotal/{print $2}", "/proc/meminfo")) // 1024 - 512
        accounting = ACCOUNTED if self.accounting else "AccountingStorageType=accounting_storage/none"
        values = {"folder": folder, "host": self.host, "cpus": self.cpus, "memory": memory, **ports}
        CONFIGURATION.parent.mkdir(exist_ok=True)
        CONFIGURATION.write_text(MARK + (SLURM.replace("{accounting}", accounting)).format(**values))
        if self.accounting:
            self._start_accounting(DATABASE.format(**values), ports["mysql"])
        self._daemon("slurmctld", "-D")
        _wait("slurmctld", lambda: "UP" in ask("scontrol", "ping"))
        self.node_up()

    def _start_accounting(self, configuration: str, port: int) -> None:
        """Start a database and its daemon, and add an account for the present user."""
        data, socket_path = self.folder / "database", self.folder / "mysql.socket"
        ask("mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root", "--skip-test-db")
        options = ["--no-defaults", f"--datadir={data}", f"--socket={socket_path}", f"--port={port}", "--user=root"]
        self._daemon("mariadbd", *options, "--bind-address=127.0.0.1", "--innodb-lock-wait-timeout=900")
        sql = "GRANT ALL ON slurm.* TO 'slurm'@'{}' IDENTIFIED BY 'slurm'; "
        make = ["mariadb", "--no-defaults", f"--socket={socket_path}", "-e", sql.format("%") + sql.format("localhost")]
        _wait("mariadbd", lambda: subprocess.run(make, capture_output=True, check=False).returncode == 0)
        path = CONFIGURATION.with_name("slurmdbd.conf")
        path.write_text(MARK + configuration)
        path.chmod(0o600)
        self._daemon("slurmdbd", "-D")
        _wait(
            "slurmdbd",
            lambda: subprocess.run(["sacctmgr", "-n", "list", "cluster"], capture_output=True).returncode == 0,
        )
        for entity in (["cluster", "optree"], ["account", "demo"], ["user", "root", "Account=demo"]):
            ask("sacctmgr", "-n", "-i", "add", *entity)

    def node_up(self) -> None:
        """Start the node, or return it to service."""
        self._daemon("slurmd", "-D")
        ask("scontrol", "update", f"nodename={self.host}", "state=resume")
        _wait("slurmd", lambda: ask("sinfo", "-h", "-o", "%T") in ("idle", "mixed", "allocated"))

    def node_down(self) -> None:
        """Kill the node's daemon and all processes of its jobs at once, as a loss of power does."""
        steps = ask("pgrep", "-x", "slurmstepd").split()
        everything = [one for step in steps for one in (step, *_below(step))]
        for pid in [self._daemons["slurmd"].pid, *map(int, everything)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._daemons.pop("slurmd").wait()
        ask("scontrol", "update", f"nodename={self.host}", "state=down", "reason=power")

    def jobs(self) -> list[str]:
        """Return the numbers of the jobs that run or wait."""
        return ask("squeue", "-h", "-o", "%A").split()

    def stop(self) -> None:
        """Cancel all jobs, end all daemons, and remove every file."""
        if jobs := self.jobs():
            ask("scancel", *jobs)
            end = time.monotonic() + 20
            while self.jobs() and time.monotonic() < end:
                time.sleep(0.2)
        for daemon in reversed(self._daemons.values()):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for name in ("slurm.conf", "slurmdbd.conf"):
            path = CONFIGURATION.with_name(name)
            if path.exists() and path.read_text().startswith(MARK):
                path.unlink()
        shutil.rmtree(self.folder, ignore_errors=True)


def _below(pid: str) -> list[str]:
    """Return the descendants of a process."""
    children = ask("pgrep", "-P", pid).split()
    return children + [grandchild for child in children for grandchild in _below(child)]
