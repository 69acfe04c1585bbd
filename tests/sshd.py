"""Other hosts for tests: an `sshd` of our own on the loopback, with its own keys, configuration and folders."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

BOOT = Path("/proc/sys/kernel/random/boot_id")
JOURNALS = Path("/var/lib/schedlab")


class Fleet:
    """Hosts by their aliases in an ssh configuration; `close` ends their daemons."""

    def __init__(self, folder: Path):
        self.folder, self.daemons = folder, []
        self.folder.mkdir(parents=True)
        self.sshd = shutil.which("sshd", path=f"{os.environ.get('PATH')}:/usr/sbin:/usr/local/sbin")
        lacking = [name for name in ("ssh", "ssh-keygen") if not shutil.which(name)]
        if lacking or not self.sshd:
            pytest.skip(f"there is no {', '.join([*lacking, *([] if self.sshd else ['sshd'])])} (apt: openssh-server)")
        self.key, self.config, self.known = (folder / name for name in ("key", "config", "known_hosts"))
        self._new_key(self.key)
        self.made_run = False
        if os.geteuid() == 0 and not Path("/run/sshd").exists():
            # Where sshd keeps itself apart from those whom it does not know yet.
            Path("/run/sshd").mkdir(mode=0o755)
            self.made_run = True

    def _new_key(self, path: Path) -> None:
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path]
        subprocess.run(words, check=True)

    @property
    def command(self) -> str:
        """What SCHEDLAB_SSH is to be."""
        return f"ssh -F {self.config}"

    def host(self, alias: str, *before: str, address: str = "127.0.0.1", more: str = "") -> subprocess.Popen:
        """Start a daemon, by the words `before` if there are any, and know it by that alias; with `more` in its
        configuration."""
        port, key = _free_port(), self.folder / f"{alias}.host"
        self._new_key(key)
        config = self.folder / f"{alias}.sshd"
        config.write_text(
            f"Port {port}\nListenAddress {address}\nHostKey {key}\nAuthorizedKeysFile {self.key}.pub\nPidFile none\n"
            f"UsePAM no\nStrictModes no\nPasswordAuthentication no\nAcceptEnv *\n{more}\n"
        )
        words = [*before, self.sshd, "-D", "-e", "-f", str(config)]
        with open(self.folder / f"{alias}.log", "wb") as log:
            daemon = subprocess.Popen(words, stderr=log, stdin=subprocess.DEVNULL)
        self.daemons.append(daemon)
        with self.known.open("a") as known:
            known.write(f"[{address}]:{port} {' '.join((key.parent / f'{key.name}.pub').read_text().split()[:2])}\n")
        daemon.port, daemon.address = port, address
        self.alias(alias, daemon)
        end = time.monotonic() + 20
        while b"listening" not in (self.folder / f"{alias}.log").read_bytes():
            assert daemon.poll() is None, (self.folder / f"{alias}.log").read_text()
            assert time.monotonic() < end, f"{alias} did not begin to listen"
            time.sleep(0.02)
        return daemon

    def cache(self, alias: str) -> Path:
        """The folder of caches that sessions of that alias have."""
        return self.folder / alias / "cache"

    def alias(self, alias: str, daemon: subprocess.Popen, cache: Path | None = None, **more: str) -> None:
        """Know a daemon by a name, with a folder of caches of its own, and with more options of ssh's."""
        environment = more.pop("SetEnv", "")
        options = {
            "SetEnv": f"XDG_CACHE_HOME={cache or self.cache(alias)} {environment}",
            "HostName": daemon.address,
            "Port": str(daemon.port),
            "IdentityFile": str(self.key),
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": str(self.known),
            "GlobalKnownHostsFile": "/dev/null",
        }
        with self.config.open("a") as config:
            config.write(f"Host {alias}\n" + "".join(f"  {k} {v}\n" for k, v in {**options, **more}.items()))

    def close(self) -> None:
        for daemon in self.daemons:
            daemon.terminate()
            daemon.wait()
        if self.made_run:
            Path("/run/sshd").rmdir()


def as_another_machine(folder: Path) -> list[str]:
    """The words that start a program as if on another computer: another boot, and a journal of its own. It sees what
    this kernel has otherwise. None where that cannot be done."""
    folder.mkdir()
    (folder / "journals").mkdir()
    (folder / "boot").write_text(f"{os.urandom(4).hex()}-0000-4000-8000-{os.urandom(6).hex()}\n")
    mounts = f"mount --bind {folder}/journals {JOURNALS} && mount --bind {folder}/boot {BOOT}"
    words = ["unshare", "--mount", "sh", "-c", f'{mounts} && exec "$@"', "sh"]
    if os.geteuid() or not shutil.which("unshare"):
        return []
    JOURNALS.mkdir(exist_ok=True)
    return words if not subprocess.run([*words, "true"], capture_output=True).returncode else []


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]
