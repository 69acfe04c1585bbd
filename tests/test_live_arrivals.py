"""Times of arrival in a file, on the live host and in the simulator."""

from conftest import agent_or_skip

#: Between two requests, s, and how many there are.
GAP, REQUESTS = 0.02, 40
FILE = """
question = "When do requests come?"
machine = "uniform"
scheduler = { name = "eevdf" }
seeds = 1
metrics = ["tasks.server.passes", "elapsed"]
[workload.server]
count = 2
arrivals = { recorded = { file = "times.txt" } }
steps = [{ compute = "2ms" }]
"""


def test_the_requests_of_a_file_come_to_the_host_and_the_simulator_alike(schedlab, tmp_path):
    agent_or_skip()
    (tmp_path / "times.txt").write_text("".join(f"{number * GAP:.3f}\n" for number in range(REQUESTS)))
    (tmp_path / "ask.toml").write_text(FILE)
    for words in ((), ("--on", "host", "--dirty")):
        (cell,) = schedlab.json("run", tmp_path / "ask.toml", *words)["cells"]
        found = {name: cell["metrics"][name]["mean"] for name in ("tasks.server.passes", "elapsed")}
        assert found["tasks.server.passes"] == REQUESTS
        assert found["elapsed"] > (REQUESTS - 1) * GAP, "none came before its time"
