"""A task set of rt-app on the live host: the table of the simulator, with the shares that are asked for."""

import os

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
    # Other tasks of the host may take time from the player, but not from the driver, which is under real time.
    for on, task, share, deadlines in (
        ("sim", "player", 20, 100),
        ("sim", "driver", 10, 200),
        ("host", "driver", 10, 200),
    ):
        of_one = found[on][f"tasks.{task}.share"] * os.cpu_count()
        assert abs(of_one - share) < NEAR, found
        # The last one is due when the run ends.
        assert abs(found[on][f"tasks.{task}.deadlines"] - deadlines) <= 2, found
    assert 0 < found["host"]["tasks.player.share"] * os.cpu_count() < 20 + NEAR, found
    assert 0 < found["host"]["tasks.player.deadlines"] <= 102, found
