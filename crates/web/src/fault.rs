//! What is wrong with a question.

use schedlab_model::experiment::Problem;
use serde_json::json;

/// As a page shows it. The engine knows no columns.
#[derive(Debug)]
pub struct Fault {
    message: String,
    line: Option<usize>,
    field: Option<String>,
}

impl Fault {
    /// What is wrong at a line of a list that was typed in.
    pub fn at(line: usize, message: &str) -> Fault {
        Fault { message: format!("list:{line}: {message}"), line: Some(line), field: None }
    }

    /// The answer that says it.
    pub fn answer(&self) -> Vec<u8> {
        let Fault { message, line, field } = self;
        let fault = json!({ "message": message, "line": line, "column": null, "field": field });
        crate::packed(&json!({ "fault": fault }).to_string(), &[])
    }
}

impl From<String> for Fault {
    fn from(message: String) -> Fault {
        Fault { message, line: None, field: None }
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Fault {
        let field = Some(&problem.field).filter(|field| !field.is_empty()).cloned();
        Fault { message: problem.to_string(), line: problem.line, field }
    }
}
