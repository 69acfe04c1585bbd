//! The bridge to Python: a handful of functions that take and give data, as JSON text and Arrow bytes. Work is done
//! with the interpreter released. What a user did wrong becomes a `ScenarioError`; a fault of ours a `RuntimeError`.

use pyo3::{create_exception, exceptions, prelude::*, types::PyBytes};
use schedlab_bridge::{batch, caches, experiments, following, recording, tables};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

create_exception!(schedlab._core, ScenarioError, exceptions::PyValueError);

/// Does `work` with the interpreter released; neither an error nor a panic goes through as anything but an exception.
fn released<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, String> + Send) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(done) => done.map_err(ScenarioError::new_err),
        Err(panic) => Err(exceptions::PyRuntimeError::new_err(format!("fault in the engine: {}", said(&*panic)))),
    }
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it gave no reason")
}

/// Keys, the bytes of each request, and the rest as JSON.
type ReadTrace<'py> = (Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>, String);

/// Bridge to the engine.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::ScenarioError;

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

    /// Reads and checks an experiment in "toml" or "json" and gives it as JSON.
    #[pyfunction]
    fn read_experiment(
        py: Python<'_>,
        text: &str,
        label: &str,
        format: &str,
        overrides: Vec<String>,
    ) -> PyResult<String> {
        released(py, || experiments::read(text, label, format, &overrides))
    }

    /// The cells of an experiment, as a JSON list of scenario, factors and hash.
    #[pyfunction]
    fn expand(py: Python<'_>, experiment_json: &str) -> PyResult<String> {
        released(py, || experiments::expand(experiment_json))
    }

    /// Runs a JSON list of scenario and seed on that many threads; see `batch` for the columns of the Arrow stream.
    #[pyfunction]
    fn run_batch<'py>(py: Python<'py>, runs_json: &str, threads: usize) -> PyResult<Bound<'py, PyBytes>> {
        let stream = released(py, || batch::run(runs_json, threads))?;
        Ok(PyBytes::new(py, &stream))
    }

    /// Writes one run to a file, whole or not at all; see `recording` for the kinds.
    #[pyfunction]
    fn record(py: Python<'_>, run_json: &str, kind: &str, path: &str, limit_ns: u64) -> PyResult<()> {
        released(py, || recording::write(run_json, kind, path.as_ref(), limit_ns))
    }

    /// Draws a recording, of whatever kernel; see `recording` for the kinds.
    #[pyfunction]
    fn draw(py: Python<'_>, recording: &str, kind: &str, title: &str, path: &str, limit_ns: u64) -> PyResult<()> {
        released(py, || recording::draw(recording.as_ref(), kind, title, path.as_ref(), limit_ns))
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
