"""`schedlab guest`: the kernels that experiments can run on with `--on guest:KERNEL`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli.forms import Csv, Form, Json, Markdown, chosen

NAME = "guest"
EXAMPLE = "schedlab guest boot 6.1"

app = typer.Typer(
    help="Real kernels on an emulated machine that counts instructions: schedlab run FILE --on guest:6.1. "
    "guest:6.1@2 has two processors and is noisy; with guest:6.1@2-counted they take turns. Every verb has --json.",
    no_args_is_help=True,
)

Kernel = Annotated[
    str,
    typer.Argument(
        help="A version, as 6.1, or the path of a bzImage; +FOLDER adds its modules. @N: N processors, noisy; "
        "@N-counted: they take turns, and results mostly repeat."
    ),
]


@app.command("list", epilog="Example: schedlab guest list --here")
def list_(
    here: Annotated[bool, typer.Option("--here", help="Only kernels that are fetched; uses no network.")] = False,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """List the kernels that are fetched, and those that this machine's package sources offer."""
    from schedlab.cli.output import print_json, print_result
    from schedlab.system.terminal import say
    from schedlab.tables import Cell, Column, Table
    from schedlab.targets.guest import kernels

    form = chosen(json, csv, markdown)
    known = [
        {
            "kernel": kernels.series(kernel.release),
            "version": kernel.version,
            "release": kernel.release,
            "fetched": True,
        }
        for kernel in kernels.fetched()
    ]
    seen = {(kernel["kernel"], kernel["version"]) for kernel in known}
    for package in [] if here else kernels.available(say):
        release = package.name.removeprefix(kernels.PREFIX)
        if (kernels.series(release), package.version) not in seen:
            known.append(
                {
                    "kernel": kernels.series(release),
                    "version": package.version,
                    "release": release,
                    "fetched": False,
                }
            )
    known.sort(key=lambda kernel: kernels.order(kernel["version"]))
    if form is Form.JSON:
        print_json({"kernels": known})
        return
    columns = [Column("kernel", key=True), Column("version"), Column("release"), Column("", plain=("fetched",))]
    rows = [
        [one["kernel"], one["version"], one["release"], Cell("fetched" if one["fetched"] else "", (one["fetched"],))]
        for one in known
    ]
    print_result(form, Table.of_texts(columns, rows))


@app.command("fetch", epilog="Example: schedlab guest fetch 6.12")
def fetch(kernel: Kernel, json: Json = False) -> None:
    """Fetch the newest kernel of a version, and the emulator if it is not installed."""
    from schedlab.cli.output import print_json
    from schedlab.system.terminal import say
    from schedlab.targets.guest import kernels, qemu

    plain, own = qemu.processors(kernel)
    found = kernels.find(plain, say) if "/" in plain else kernels.fetch(plain, say)
    emulator = qemu.find(say, own)
    if json:
        about = {"kernel": kernel, "release": found.release, "version": found.version, "image": str(found.image)}
        print_json(about | {"emulator": str(emulator.program), "emulator_version": emulator.version})
        return
    print(f"{kernel}: {found.release} ({found.version}), {found.image}")
    print(f"emulator: {emulator.program} {emulator.version}")


@app.command("boot", epilog="Example: schedlab guest boot 6.1 -- check")
def boot(
    kernel: Kernel,
    command: Annotated[
        list[str] | None, typer.Argument(help="What to run there, as the agent knows it: check, tunables, calibrate.")
    ] = None,
    module: Annotated[
        list[str] | None,
        typer.Option("--module", help="A module to load first: null_blk, or null_blk:hw_queue_depth=2."),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", min=1, help="End a guest that takes longer, in seconds (default: 180)."),
    ] = None,
    console: Annotated[
        bool, typer.Option("--console", help="Show all messages of the kernel while it boots, on standard error.")
    ] = False,
    json: Json = False,
) -> None:
    """Boot a kernel, run a command of the agent in it, and print the answer.

    A kernel that hangs is ended after --timeout seconds of real time, and the end of its console is shown.
    """
    from schedlab.cli.output import print_json
    from schedlab.system.interrupt import ctrl_c
    from schedlab.system.terminal import say
    from schedlab.targets.guest import emulation, machine
    from schedlab.targets.guest.setup import Setup

    modules = {name: value for name, _, value in (text.partition(":") for text in module or [])}
    guest = replace(
        machine.ready(kernel, say),
        setup=Setup(modules=modules, words=emulation.VERBOSE if console else ()),
        longest=timeout or emulation.BOOT_LIMIT,
        console=say if console else None,
    )
    with ctrl_c() as stop:
        report = guest.ask(command or ["machine"], settle_ns=0, stop=stop, plain=True)
    if json:
        seconds = round(report.ended.seconds, 3)
        print_json({"engine": guest.engine, "seconds": seconds, "digest": report.digest, "answer": report.answer})
        return
    print(report.answer, end="")
    print(f"{guest.engine}: {report.ended.seconds:.1f} s")


@app.command("build", epilog="Example: schedlab guest build examples/schedulers/fifo.bpf.c --kernel 6.17")
def build(
    source: Annotated[Path, typer.Argument(help="A scheduler, NAME.bpf.c; NAME.bpf.o is written to its folder.")],
    kernel: Annotated[str, typer.Option(help="The kernel whose types it is compiled for.")] = "6.17",
    json: Json = False,
) -> None:
    """Compile a scheduler for a guest kernel's sched_ext; select it with [tunables] sched_ext = "NAME.bpf.o"."""
    from schedlab.cli.output import print_json
    from schedlab.system.terminal import say
    from schedlab.targets.guest import build, machine

    build.refuse_no_source(source)
    target = build.build(source, machine.ready(kernel, say), say)
    if json:
        print_json({"object": str(target), "kernel": kernel, "bytes": target.stat().st_size})
        return
    print(target)
