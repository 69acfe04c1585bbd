//! The bridge to Python: a handful of functions that take and give data, as JSON text and Arrow bytes. Work is done
//! with the interpreter released. What a user did wrong becomes a `ScenarioError`; a fault of ours a `RuntimeError`.
//!
//! Long, because every function that Python calls stands here.

use pyo3::{create_exception, exceptions, prelude::*, types::PyBytes};
use schedlab_bridge::{
    batch, caches, experiments, explaining, following, recording, replaying, results, said, sweep, tables,
};
use std::{
    collections::{BTreeMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    time::Duration,
};

create_exception!(schedlab._core, ScenarioError, exceptions::PyValueError);

/// Does `work` with the interpreter released; neither an error nor a panic goes through as anything but an exception.
fn released<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, String> + Send) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(done) => done.map_err(ScenarioError::new_err),
        Err(panic) => Err(exceptions::PyRuntimeError::new_err(format!("fault in the engine: {}", said(&*panic)))),
    }
}

/// Keys, the bytes of each request, and the rest as JSON.
type ReadTrace<'py> = (Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>, String);

/// Runs by the thousand on that many threads; see `sweep`.
#[pyclass(frozen)]
struct Sweep(sweep::Sweep);

#[pymethods]
impl Sweep {
    #[new]
    fn new(threads: usize) -> PyResult<Sweep> {
        sweep::Sweep::start(threads).map(Sweep).map_err(exceptions::PyRuntimeError::new_err)
    }

    /// Queues a run of a scenario for each seed.
    fn put(&self, py: Python<'_>, scenario_json: &str, seeds: Vec<u64>) {
        py.detach(|| self.0.put(scenario_json, &seeds));
    }

    /// Waits until all runs are finished, or for that long; gives how many can be taken and how many are under way.
    fn wait(&self, py: Python<'_>, seconds: f64) -> (u64, u64) {
        py.detach(|| self.0.wait(Duration::from_secs_f64(seconds)))
    }

    /// Takes what is finished, in the order of `put`: the number of runs, and the rows of those that were made, as `run_batch`
    /// gives them.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<(usize, Bound<'py, PyBytes>)> {
        let (runs, stream) = released(py, || self.0.take())?;
        Ok((runs, PyBytes::new(py, &stream)))
    }
}

/// Scenario, engine, seed and factors of a run.
type Label = (String, String, u64, Vec<String>);
/// Names of the swept fields; hash and values of each cell.
type Outlines = (Vec<String>, Vec<(String, Vec<String>)>);
/// Number and bytes of a file.
type Filled<'py> = Vec<(usize, Bound<'py, PyBytes>)>;

/// The last file of a folder of results; see `results`.
#[pyclass]
struct Tail(results::Tail);

#[pymethods]
impl Tail {
    /// The file of that number, with what it has if `path` is given.
    #[new]
    #[pyo3(signature = (number, path=None))]
    fn new(py: Python<'_>, number: usize, path: Option<PathBuf>) -> PyResult<Tail> {
        released(py, || path.map_or_else(|| Ok(results::Tail::new(number)), |path| results::Tail::open(&path, number)))
            .map(Tail)
    }

    /// Adds the runs of a stream of rows; gives the files that are to be written.
    fn append<'py>(
        &mut self,
        py: Python<'py>,
        stream: &[u8],
        experiment: &str,
        factors: Vec<String>,
        labels: Vec<Label>,
        most: usize,
    ) -> PyResult<Filled<'py>> {
        let labels = labelled(experiment, labels);
        let filled = released(py, || self.0.append(stream, &factors, &labels, most))?;
        Ok(filled.into_iter().map(|(number, bytes)| (number, PyBytes::new(py, &bytes))).collect())
    }

    /// Adds the rows that another file has of these runs; gives the files that are to be written.
    fn copy<'py>(
        &mut self,
        py: Python<'py>,
        path: PathBuf,
        experiment: &str,
        factors: Vec<String>,
        labels: Vec<Label>,
        most: usize,
    ) -> PyResult<Filled<'py>> {
        let labels = labelled(experiment, labels);
        let filled = released(py, || self.0.copy(&path, &factors, &labels, most))?;
        Ok(filled.into_iter().map(|(number, bytes)| (number, PyBytes::new(py, &bytes))).collect())
    }
}

fn labelled(experiment: &str, labels: Vec<Label>) -> Vec<results::Label> {
    let label = |(scenario, engine, seed, factors)| results::Label {
        experiment: experiment.to_owned(),
        scenario,
        engine,
        seed,
        factors,
    };
    labels.into_iter().map(label).collect()
}

/// Which runs are asked for: all of some scenarios with some seeds.
#[pyclass(frozen)]
struct Runs(results::Runs);

#[pymethods]
impl Runs {
    #[new]
    fn new(scenarios: Vec<String>, seeds: Vec<u64>) -> Runs {
        Runs(results::Runs::new(scenarios, seeds))
    }
}

/// Which runs a file of results has, and which metrics each has.
#[pyclass(frozen)]
struct Index(results::Index);

#[pymethods]
impl Index {
    /// Reads it; no value is read.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Index> {
        released(py, || results::Index::read(&path)).map(Index)
    }

    /// Scenario, engine, seeds, and whether the runs depend on them.
    fn runs(&self) -> Vec<results::Known> {
        self.0.runs()
    }

    /// The scenarios whose only run stands for all seeds, and the seed of that run.
    fn alike(&self) -> BTreeMap<String, u64> {
        self.0.alike()
    }

    /// Whether the file has any of these runs.
    fn has(&self, runs: &Runs) -> bool {
        self.0.has(&runs.0)
    }

    /// The metrics that some runs have, in the order of the file.
    fn metrics(&self, runs: &Runs) -> Vec<String> {
        self.0.metrics(&runs.0)
    }
}

/// Values of some metrics in some runs, as columns of numbers.
#[pyclass]
#[derive(Default)]
struct Columns(results::Columns);

#[pymethods]
impl Columns {
    #[new]
    fn new() -> Columns {
        Columns::default()
    }

    /// Adds the values that one more file has of these metrics in these runs.
    fn add(&mut self, py: Python<'_>, path: PathBuf, runs: &Runs, metrics: HashSet<String>) -> PyResult<()> {
        released(py, || self.0.add(&path, &runs.0, &metrics))
    }

    /// The unit of a metric, if it is known.
    fn unit(&self, metric: &str) -> Option<&str> {
        self.0.unit(metric)
    }

    /// Unit, seeds and values of a metric in the runs of a scenario.
    fn get(&self, scenario: &str, metric: &str) -> Option<results::Found> {
        self.0.get(scenario, metric)
    }

    /// Whether a scenario has runs with a metric.
    fn has(&self, scenario: &str, metric: &str) -> bool {
        self.0.has(scenario, metric)
    }

    /// Scenario and metric of all values, scenario by scenario.
    fn keys(&self) -> Vec<(String, String)> {
        self.0.keys()
    }

    /// The largest of a metric's values without their signs, in all runs.
    fn largest(&self, metric: &str) -> Option<f64> {
        self.0.largest(metric)
    }

    /// Whether no scenario has several runs with a metric.
    fn is_of_single_runs(&self, metric: &str) -> bool {
        self.0.is_of_single_runs(metric)
    }
}

/// Bridge to the engine.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::{Columns, Index, Runs, ScenarioError, Sweep, Tail};

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        // A panic becomes an exception that carries its message; its source location is for debugging the engine.
        if std::env::var_os("SCHEDLAB_DEBUG").is_none() {
            std::panic::set_hook(Box::new(|_| {}));
        }
        Ok(())
    }

    /// Version of the package and digest of the sources: equal versions give equal results.
    #[pyfunction]
    fn version() -> &'static str {
        schedlab_bridge::VERSION
    }

    /// Everything that can be named in an experiment, by family, as JSON.
    #[pyfunction]
    fn catalogue(py: Python<'_>) -> PyResult<String> {
        released(py, tables::catalogue)
    }

    /// The page of one name, as JSON: family, name, page (Markdown), info; of a name of several families `entries` has each.
    #[pyfunction]
    #[pyo3(signature = (name, family=None))]
    fn page(py: Python<'_>, name: &str, family: Option<&str>) -> PyResult<String> {
        released(py, || tables::page(name, family))
    }

    /// JSON Schema of experiment files.
    #[pyfunction]
    fn schema(py: Python<'_>) -> PyResult<String> {
        released(py, experiments::schema)
    }

    /// Reads and checks an experiment in "toml" or "json" and gives it as JSON. `files` has, for each name that `files_of_experiment`
    /// gives, what messages call the file, and its text.
    #[pyfunction]
    #[pyo3(signature = (text, label, format, overrides, files=BTreeMap::new()))]
    fn read_experiment(
        py: Python<'_>,
        text: &str,
        label: &str,
        format: &str,
        overrides: Vec<String>,
        files: BTreeMap<String, (String, String)>,
    ) -> PyResult<String> {
        released(py, || experiments::read(text, label, format, &overrides, &files, &tables::CATALOGUE))
    }

    /// The names of the files that an experiment names.
    #[pyfunction]
    fn files_of_experiment(py: Python<'_>, text: &str, format: &str, overrides: Vec<String>) -> PyResult<Vec<String>> {
        released(py, || experiments::files(text, format, &overrides))
    }

    /// What is ignored of an experiment's file, or done in another way than it says.
    #[pyfunction]
    fn notes_of_experiment(py: Python<'_>, text: &str) -> PyResult<Vec<String>> {
        released(py, || Ok(experiments::notes(text)))
    }

    /// The text of an experiment in "toml", or as a task set of "rt-app".
    #[pyfunction]
    fn write_experiment(py: Python<'_>, experiment_json: &str, label: &str, format: &str) -> PyResult<String> {
        released(py, || experiments::write(experiment_json, label, format, &tables::CATALOGUE))
    }

    /// The cells of an experiment from a place on, and at most that many, as a JSON list of scenario, factors and hash.
    #[pyfunction]
    fn expand(py: Python<'_>, experiment_json: &str, first: u64, most: u64) -> PyResult<String> {
        released(py, || experiments::expand(experiment_json, first, most, &tables::CATALOGUE))
    }

    /// The names of the swept fields, and of the same cells hash and values of these.
    #[pyfunction]
    fn outline(py: Python<'_>, experiment_json: &str, first: u64, most: u64) -> PyResult<Outlines> {
        released(py, || experiments::outline(experiment_json, first, most, &tables::CATALOGUE))
    }

    /// The fields of an experiment that a tuner may change, with their levels, and the conditions of its goal, as JSON.
    #[pyfunction]
    fn space(py: Python<'_>, experiment_json: &str) -> PyResult<String> {
        released(py, || experiments::space(experiment_json, &tables::CATALOGUE))
    }

    /// Runs a JSON list of scenario and seed on that many threads; see `batch` for the columns of the Arrow stream.
    #[pyfunction]
    fn run_batch<'py>(py: Python<'py>, runs_json: &str, threads: usize) -> PyResult<Bound<'py, PyBytes>> {
        let stream = released(py, || batch::run(runs_json, threads))?;
        Ok(PyBytes::new(py, &stream))
    }

    /// The warnings in a stream of rows, each with its run; the runs that have values, and those that are the same under every seed.
    #[pyfunction]
    fn about_rows(py: Python<'_>, stream: &[u8]) -> PyResult<results::About> {
        released(py, || results::about(stream))
    }

    /// What files lack of these scenarios with these seeds: places of scenarios, each with the places of the seeds that it lacks.
    #[pyfunction]
    fn lacking(files: Vec<PyRef<'_, Index>>, scenarios: Vec<String>, seeds: Vec<u64>) -> Vec<(usize, Vec<usize>)> {
        results::lacking(files.iter().map(|index| &index.0), &scenarios, &seeds)
    }

    /// Writes one run to a file, whole or not at all; see `recording` for the kinds.
    #[pyfunction]
    #[pyo3(signature = (run_json, kind, path, limit_ns, from_ns=0))]
    fn record(py: Python<'_>, run_json: &str, kind: &str, path: &str, limit_ns: u64, from_ns: u64) -> PyResult<()> {
        released(py, || recording::write(run_json, kind, path.as_ref(), from_ns, limit_ns))
    }

    /// Draws a recording, of whatever kernel; see `recording` for the kinds.
    #[pyfunction]
    #[pyo3(signature = (recording, kind, title, path, limit_ns, from_ns=0))]
    fn draw(
        py: Python<'_>,
        recording: &str,
        kind: &str,
        title: &str,
        path: &str,
        limit_ns: u64,
        from_ns: u64,
    ) -> PyResult<()> {
        released(py, || recording::draw(recording.as_ref(), kind, title, path.as_ref(), from_ns, limit_ns))
    }

    /// The running tasks over time, of a recording; see `recording` for the columns of the Arrow stream.
    #[pyfunction]
    fn turns<'py>(py: Python<'py>, recording: &str) -> PyResult<Bound<'py, PyBytes>> {
        let stream = released(py, || recording::turns(recording.as_ref()))?;
        Ok(PyBytes::new(py, &stream))
    }

    /// Leads a run's scheduler through a recording of a kernel, from a time to another; see `following` for the answer, JSON.
    #[pyfunction]
    fn follow(py: Python<'_>, run_json: &str, recording: &str, from_ns: u64, until_ns: u64) -> PyResult<String> {
        released(py, || following::follow(run_json, recording.as_ref(), from_ns, until_ns))
    }

    /// Checks what is asked of a recording of a kernel; see `explaining`.
    #[pyfunction]
    fn check_explain(py: Python<'_>, asked_json: &str) -> PyResult<()> {
        released(py, || explaining::check(asked_json))
    }

    /// Says what happened in a recording of a kernel, as JSON; see `explaining`.
    #[pyfunction]
    fn explain(py: Python<'_>, path: PathBuf, asked_json: &str) -> PyResult<String> {
        released(py, || explaining::explain(&path, asked_json))
    }

    /// Gives a recording of a kernel as an experiment, as JSON, and writes its work to a file; see `replaying`.
    #[pyfunction]
    fn prepare_replay(py: Python<'_>, path: PathBuf, asked_json: &str, out: PathBuf) -> PyResult<String> {
        released(py, || replaying::prepare(&path, asked_json, &out))
    }

    /// Runs a scenario that replays a recording, and says what happened as `explain` does, as JSON; see `replaying`.
    #[pyfunction]
    fn replay(py: Python<'_>, run_json: &str, measured_json: &str) -> PyResult<String> {
        released(py, || replaying::replay(run_json, measured_json))
    }

    /// Checks what is wanted of caches and says what will be run, as JSON; see `caches`.
    #[pyfunction]
    fn cache_plan(py: Python<'_>, plan_json: &str) -> PyResult<String> {
        released(py, || caches::check(plan_json))
    }

    /// Reads a trace of requests: its keys as numbers of 32 bits, the bytes of each request as numbers of 64 bits if they are
    /// wanted, and what there is to say of it as JSON; see `caches`.
    #[pyfunction]
    fn read_requests<'py>(py: Python<'py>, path: &str, wanted_json: &str) -> PyResult<ReadTrace<'py>> {
        let (keys, bytes, summary) = released(py, || caches::read(path.as_ref(), wanted_json))?;
        let bytes = bytes.map(|bytes| PyBytes::new(py, bytemuck::cast_slice(&bytes)));
        Ok((PyBytes::new(py, bytemuck::cast_slice(&keys)), bytes, summary))
    }

    /// Runs eviction policies over keys, and bytes, that `read_requests` gave; see `caches` for the columns of the Arrow stream.
    #[pyfunction]
    #[pyo3(signature = (keys, objects, plan_json, threads, bytes=None, object_bytes=None))]
    fn cache_curves<'py>(
        py: Python<'py>,
        keys: &[u8],
        objects: u32,
        plan_json: &str,
        threads: usize,
        bytes: Option<&[u8]>,
        object_bytes: Option<u64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let trace = caches::Trace { keys, objects, bytes, object_bytes };
        let stream = released(py, || caches::curves(&trace, plan_json, threads))?;
        Ok(PyBytes::new(py, &stream))
    }
}
