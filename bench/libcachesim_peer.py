"""One turn of libCacheSim: `libcachesim_peer.py TRACE CLASS SLOTS` prints misses and time of a trace in oracleGeneral.

Opening the trace and its own call for a whole trace are timed, in processor time; a loop in Python would be ten times
slower. The call reads the records too, from memory. Its hash table is given the size that holds the cache, which is
quicker than its default.
"""

import json
import sys
import time

import libcachesim


def main():
    """Run it once."""
    trace, policy, slots = sys.argv[1], sys.argv[2], int(sys.argv[3])
    parameters = libcachesim.ReaderInitParam(ignore_obj_size=True)
    begin = time.process_time_ns()
    reader = libcachesim.TraceReader(trace, libcachesim.TraceType.ORACLE_GENERAL_TRACE, parameters)
    requests = reader.get_num_of_req()
    cache = getattr(libcachesim, policy)(cache_size=slots, hashpower=max(10, slots.bit_length()))
    miss_ratio, _ = cache.process_trace(reader)
    elapsed = time.process_time_ns() - begin
    print(json.dumps({"requests": requests, "misses": round(miss_ratio * requests), "cpu_ns": elapsed}))


if __name__ == "__main__":
    main()
