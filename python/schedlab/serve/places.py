"""Where the page may have experiments run: the simulator, this host, guest kernels that are fetched."""

from typing import Any

from schedlab.errors import UsageError
from schedlab.targets import agent
from schedlab.targets.guest import kernels
from schedlab.targets.names import GUEST, HOST, SIM

OF_SIM = "The simulator of the command, on all processors; known runs are not made again."
OF_HOST = (
    "Real tasks on this computer, timed by its kernel. What the experiment sets is put back at the end. "
    "The whole plan is shown before anything starts."
)
OF_GUEST = "A real kernel on an emulated computer; nothing of this one is changed."


def known() -> list[dict[str, Any]]:
    """All places, each with what happens there."""
    found = [{"on": SIM, "title": "the simulator", "about": OF_SIM}]
    if _has_agent():
        found.append({"on": HOST, "title": "this computer", "about": OF_HOST})
    for version in _fetched():
        found.append({"on": GUEST + version, "title": f"guest kernel {version}", "about": OF_GUEST})
    return found


def _has_agent() -> bool:
    try:
        agent.program()
    except UsageError:
        return False
    return True


def _fetched() -> list[str]:
    """Versions of the kernels that are fetched; none if one of them is damaged, which `schedlab guest list` says."""
    try:
        return list(dict.fromkeys(kernels.series(kernel.release) for kernel in kernels.fetched()))
    except UsageError:
        return []
