#!/bin/sh
# Builds the fuzz targets, or those that are named, and runs each for some seconds (TIME, 180). Stops at the first one that finds something:
# the input is in artifacts/TARGET, and `cargo +nightly fuzz tmin TARGET FILE` makes it smaller.
set -eu
cd "$(dirname "$0")/.."
data=tests/data
# Bytes of an input.
longest=65536
count=0

# The inputs that fuzzing starts from: the samples of the tests. Some targets take bytes in front that say how to read the rest.
seed() {
    target=$1 before=$2
    shift 2
    mkdir -p "fuzz/corpus/$target"
    for file; do
        count=$((count + 1))
        { printf "$before"; head -c "$longest" "$file"; } >"fuzz/corpus/$target/sample-$count"
    done
}

texts="$data/perf-script.txt $data/perf-script-chains.txt $data/task-perf.txt"
seed perf '' $data/*.perf
seed dat '' $data/*.dat
seed perf_script '' $texts
seed trace_cmd_report '' $texts
seed tracefs '' $data/tracefs.txt
seed perfetto '' $data/*.trace
seed blktrace '' $data/*.blktrace
seed blkparse '' $data/blkparse.txt
seed raw '\000\020' $data/raw/per_cpu/cpu*/trace_pipe_raw
seed stream '' $data/*.txt $data/*.trace $data/*.blktrace
seed explain '\000' $data/*.txt $data/*.perf $data/*.dat $data/*.trace
seed explain '\376' $data/*.txt $data/*.trace
(cd ../.. && cargo test --quiet -p schedlab-traces --test requests --test kernel fuzzer -- --ignored)

cargo +nightly fuzz build
# Its look for leaks at the end needs ptrace, and what leaks is seen in the memory of a run.
export ASAN_OPTIONS=detect_leaks=0
for target in ${*:-$(cargo +nightly fuzz list)}; do
    cargo +nightly fuzz run "$target" -- -max_total_time="${TIME:-180}" -rss_limit_mb=512 -timeout=10 -max_len=$longest -print_final_stats=1
done
