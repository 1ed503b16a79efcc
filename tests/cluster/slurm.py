"""A Slurm of one node on this machine: no systemd, no control groups, no accounts, and a GPU that is none."""

import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

TOOLS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "squeue", "scancel", "scontrol")
SYSTEM = f"{os.environ['PATH']}:/usr/sbin:/sbin"
PR_SET_PDEATHSIG = 1
CONFIG = """
ClusterName=test
SlurmctldHost={node}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
# What would need control groups, systemd or a database is left out.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
MailProg=/bin/true
ReturnToService=2
# The node has what stands here, whatever the machine has.
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
GresTypes=gpu
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0
MinJobAge=900
KillWait=2
StateSaveLocation={folder}/controller
SlurmdSpoolDir={folder}/node
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
NodeName={node} NodeAddr=127.0.0.1 CPUs=4 RealMemory=20000 Gres=gpu:2 State=UNKNOWN
PartitionName=cpu Nodes={node} Default=YES MaxTime=1-00:00:00 State=UP
PartitionName=gpu Nodes={node} MaxTime=1-00:00:00 State=UP
"""


def why_not() -> str | None:
    """Why there can be no Slurm here, or None."""
    missing = [tool for tool in TOOLS if not shutil.which(tool, path=SYSTEM)]
    if missing:
        return f"no {', '.join(missing)} here: apt-get install --no-install-recommends slurm-wlm munge"
    return None if os.geteuid() == 0 else "a node's daemon must be started as root"


@contextmanager
def one_node_slurm(folder: Path):
    """
    Yield the environment in which Slurm's commands reach the cluster.

    Its daemons are children of this process: they end with the block, and with the process should that be killed.
    """
    environment = _written(folder)
    with ExitStack() as running:
        running.enter_context(_daemon("munged", environment, folder, "--foreground", "--force", *_munge_files(folder)))
        _wait_for((folder / "munge.socket").exists, "munge's socket", folder)
        running.enter_context(_daemon("slurmctld", environment, folder, "-D", "-c"))
        running.enter_context(_daemon("slurmd", environment, folder, "-D"))
        _wait_for(lambda: _says(environment, "sinfo", "-h", "-o", "%T") == "idle", "an idle node", folder)
        try:
            yield environment
        finally:
            _says(environment, "scancel", "--user=root")
            _wait_for(lambda: not _says(environment, "squeue", "-h", "-t", "R,CG"), "the end of all jobs", folder)


def jobs(environment: dict) -> list[dict[str, str]]:
    """Every job since the cluster started, as `scontrol show job` has it, in the order of submission."""
    shown = _says(environment, "scontrol", "show", "job", "--oneliner").splitlines()
    found = [dict(re.findall(r"(?:^| )(\w+)=(\S*)", line)) for line in shown if line.startswith("JobId=")]
    return sorted(found, key=lambda job: int(job["JobId"]))


def cancel(environment: dict, job: dict[str, str]):
    subprocess.run(["scancel", job["JobId"]], env=environment, check=True)


def _written(folder: Path) -> dict:
    """Write the configuration; the environment that finds it."""
    for part in ("controller", "node", "bin"):
        (folder / part).mkdir(parents=True)
    folder.chmod(0o755)  # munge wants to see that nobody else can write to where its socket is
    ports = dict(zip(("controller_port", "node_port"), _free_ports(2), strict=True))
    config = CONFIG.format(node=socket.gethostname().split(".")[0], folder=folder, **ports)
    (folder / "slurm.conf").write_text(config)
    stand_ins = [f"Name=gpu File={device} Flags=nvidia_gpu_env" for device in ("/dev/null", "/dev/zero")]
    (folder / "gres.conf").write_text("\n".join(stand_ins) + "\n")  # a device must be named; two jobs can have one each
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o400)
    # Snakemake's executor starts srun without SLURM_CONF, which then looks into /etc/slurm; that stays as it is.
    wrapper = folder / "bin" / "srun"
    real = shutil.which("srun", path=SYSTEM)
    wrapper.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {real} "$@"\n')
    wrapper.chmod(0o755)
    return os.environ | {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": f"{folder}/bin:{SYSTEM}"}


def _munge_files(folder: Path) -> list[str]:
    files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    return [f"--{option}={folder}/munge.{ending}" for option, ending in files.items()]


def _free_ports(count: int) -> list[int]:
    with ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextmanager
def _daemon(name: str, environment: dict, folder: Path, *arguments: str):
    """Run a daemon in the foreground of a child that the kernel ends should this process end first."""
    prctl = ctypes.CDLL(None).prctl
    with open(folder / f"{name}.log", "wb") as log:
        process = subprocess.Popen(
            [shutil.which(name, path=SYSTEM), *arguments],
            env=environment,
            stdout=log,
            stderr=log,
            preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, signal.SIGTERM),
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _says(environment: dict, *command: str) -> str:
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=30)
    return run.stdout.strip()


def _wait_for(condition, what: str, folder: Path, seconds: float = 60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            logs = "\n".join(f"== {log.name}\n{log.read_text()[-2000:]}" for log in folder.glob("*.log"))
            raise TimeoutError(f"Slurm: {what} did not come within {seconds} s\n{logs}")
        time.sleep(0.2)
