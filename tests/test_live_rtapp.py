"""A task set of rt-app on the live host: the table of the simulator, with the shares that are asked for."""

from conftest import agent_or_skip
from test_rtapp import PERIODIC

#: Most by which a share may differ, % of a processor. Threads are pinned nowhere, and the host may be busy.
NEAR = 4


def test_a_task_set_has_the_same_table_on_the_host_and_in_the_simulator(schedlab, tmp_path):
    agent_or_skip()
    file = tmp_path / "periodic.json"
    file.write_text(PERIODIC)
    names = [f"tasks.{task}.{metric}" for task in ("player", "driver") for metric in ("share", "deadlines")]
    found = {}
    for on in ("sim", "host"):
        words = ("--on", on, "--seeds", "1", "--set", f"metrics={names}".replace("'", '"'), "--dirty", "--trust")
        (cell,) = schedlab.json("run", file, *words)["cells"]
        found[on] = {name: cell["metrics"][name]["mean"] for name in names}
    for task, share, deadlines in (("player", 20, 100), ("driver", 10, 200)):
        for on in found:
            assert abs(found[on][f"tasks.{task}.share"] - share) < NEAR, found
            # The last one is due when the run ends.
            assert abs(found[on][f"tasks.{task}.deadlines"] - deadlines) <= 2, found
