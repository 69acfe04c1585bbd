"""The options that say which computers make simulated runs: `--executor` and `--address`."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from schedlab.executors.cluster import Cluster
    from schedlab.targets.target import Target

PANEL = "On a cluster"
Executor = Annotated[
    str | None,
    typer.Option("--executor", help="Make simulated runs on a cluster: ray or dask.", rich_help_panel=PANEL),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        help="The cluster's: ray://HOST:10001, tcp://HOST:8786. Without it, one on this computer, for this command.",
        rich_help_panel=PANEL,
    ),
]


def cluster(executor: str | None, address: str | None, threads: int | None, names: Sequence[str]) -> "Cluster | None":
    """The cluster that the options name, checked as far as it can be without it; None if they name none.

    `names` are those of the targets.
    """
    from schedlab.errors import UsageError
    from schedlab.targets.names import is_simulated

    if executor is None:
        if address is not None:
            raise UsageError("--address is that of a cluster: add --executor ray or --executor dask")
        return None
    from schedlab.executors.cluster import cluster as found
    from schedlab.targets.simulator import refusal

    for name in names:
        if not is_simulated(name):
            raise UsageError(refusal(name))
    if address is not None and threads is not None:
        raise UsageError("--threads is for this computer, and --address names another one: leave out one of them")
    return found(executor, address, threads or os.cpu_count() or 1)


def on(cluster: "Cluster | None", targets: "list[Target]") -> "list[Target]":
    """The targets with the workers of the cluster, if there is one."""
    from schedlab.targets.simulator import on_cluster

    return on_cluster(targets, cluster) if cluster else targets


def connected(cluster: "Cluster | None") -> AbstractContextManager:
    """Leave the cluster at the end, if there is one."""
    return cluster or nullcontext()
