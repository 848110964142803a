"""A Slurm of one node on this machine's loopback address, with a GPU that is only declared.

Its daemons, key, state and logs have a folder of their own. Only a link to the configuration has to
lie in /etc/slurm, since the `srun` of a job looks nowhere else.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PACKAGES = {
    "munged": "munge",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sbatch": "slurm-client",
}
"""Debian's package of each program."""

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort=26817
SlurmdPort=26818
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
MinJobAge=600
KillWait=5
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} Gres=gpu:1
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE
"""


SETTINGS = Path("/etc/slurm")


class Cluster:
    """The running Slurm, as its commands show it."""

    def run(self, *command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stderr or done.stdout}"
        return done.stdout

    def jobs(self) -> dict[str, dict[str, str]]:
        """What Slurm knows of each job, by its number; also of those that ended."""
        lines = self.run("scontrol", "show", "job", "--oneliner").splitlines()
        jobs = [dict(re.findall(r"(\S+?)=(\S*)", line)) for line in lines]
        return {job["JobId"]: job for job in jobs if "JobId" in job}

    def pids(self, job: str) -> list[int]:
        """The processes of a running job."""

        def listed() -> list[str]:
            command = ["scontrol", "listpids", job]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            return done.stdout.splitlines()[1:]

        until(listed, f"the processes of job {job}")
        return [int(line.split()[0]) for line in listed()]

    def queue(self) -> list[str]:
        """The numbers of the jobs that wait or run."""
        return self.run("squeue", "--noheader", "--format=%i").split()


def until(condition: Callable[[], object], what: str, seconds: float = 120) -> None:
    """Wait for something, and fail by its name where it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come within {seconds} s"
        time.sleep(0.2)


def install() -> None:
    """Install Debian's packages of what is missing."""
    missing = [package for program, package in PACKAGES.items() if shutil.which(program) is None]
    if missing and shutil.which("apt-get") is None:
        pytest.exit(
            f"{', '.join(missing)} would be installed by Debian's apt-get, which is not here."
        )
    if missing:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        options = ["--yes", "-qq", "--no-install-recommends"]
        for command in (["update", "-qq"], ["install", *options, *missing]):
            subprocess.run(
                ["apt-get", *command], env=environment, stdout=subprocess.DEVNULL, check=True
            )


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    """A Slurm that lives in `folder`, and ends with all its jobs at the end of the block."""
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(1024))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    configuration = CONFIGURATION.format(
        host=socket.gethostname(), folder=folder, cpus=os.cpu_count(), memory=memory
    )
    (folder / "slurm.conf").write_text(configuration)
    # A GPU needs a file to be one; this one cannot compute.
    (folder / "gres.conf").write_text(f"NodeName={socket.gethostname()} Name=gpu File=/dev/null\n")
    munged = [
        *("munged", "--foreground", "--force", f"--socket={folder}/munge.socket"),
        *(f"--key-file={key}", f"--pid-file={folder}/munge.pid"),
        *(f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed"),
    ]
    cluster = Cluster()
    with contextlib.ExitStack() as stack:
        for name in ("slurm.conf", "gres.conf"):
            stack.enter_context(_link(SETTINGS / name, folder / name))
        stack.enter_context(_daemon(munged, folder))
        until((folder / "munge.socket").exists, "munged's socket")
        stack.enter_context(_daemon(["slurmctld", "-D"], folder))
        stack.enter_context(_daemon(["slurmd", "-D"], folder))
        until(_is_idle, f"an idle node (see {folder}/*.log)")
        stack.callback(_end_jobs, cluster)
        yield cluster


@contextlib.contextmanager
def _link(link: Path, target: Path) -> Iterator[None]:
    """A link for the time of the block; a file that lies there is left alone."""
    if link.exists():
        pytest.exit(
            f"{link} is there already: this machine has a Slurm, and a test must not end it."
        )
    link.parent.mkdir(exist_ok=True)
    # One that leads nowhere was left by a test that was killed.
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    try:
        yield
    finally:
        link.unlink()


def _is_idle() -> bool:
    done = subprocess.run(
        ["sinfo", "--noheader", "--format=%T"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() == "idle"


def _end_jobs(cluster: Cluster) -> None:
    """Jobs would outlive the daemons."""
    cluster.run("scancel", "--user", "root")
    until(lambda: not cluster.queue(), "the end of all jobs")


@contextlib.contextmanager
def _daemon(command: list[str], folder: Path) -> Iterator[None]:
    with (folder / f"{command[0]}.out").open("w") as output:
        # In a session of its own, so that Ctrl-C ends the jobs first, and then the daemons.
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
