//! The socket for commands: a line of JSON in, a line of JSON out. It is a file that only its user may use, in a folder that only its
//! user may read; nothing listens on a network.

use schedlab_linux::Fault;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    fs::{self, DirBuilder, Permissions},
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    os::unix::{
        fs::{DirBuilderExt, MetadataExt, PermissionsExt},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    time::Duration,
};

/// How long the other end may take, and how long its line may be.
const PATIENCE: Duration = Duration::from_millis(200);
const ANSWERED: Duration = Duration::from_secs(10);
const LONGEST: u64 = 4096;
const LONGEST_ANSWER: u64 = 16 << 20;

/// What may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// This process has the focus; none has it, if it is 0.
    Focus(i32),
    /// How things stand.
    Status,
}

/// Where it is, unless another place is given.
pub fn usual_place() -> Result<PathBuf, Fault> {
    let given = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let root = nix::unistd::geteuid().is_root().then(|| PathBuf::from("/run"));
    given.or(root).map(|folder| folder.join("schedlab/attend")).ok_or_else(|| Fault::Refused {
        what: "the socket for commands".to_owned(),
        why: "XDG_RUNTIME_DIR is not set".to_owned(),
        advice: "set it, or name a place with --socket".to_owned(),
    })
}

/// The daemon's end.
pub(crate) struct Server {
    pub(crate) listener: UnixListener,
    path: PathBuf,
}

impl Server {
    /// Listens there, unless another daemon does.
    pub(crate) fn listen(path: &Path) -> Result<Server, Fault> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|why| Fault::file(folder, "make", why))?;
        let about = fs::symlink_metadata(folder).map_err(|why| Fault::file(folder, "read", why))?;
        if !about.is_dir() || about.uid() != nix::unistd::geteuid().as_raw() || about.mode() & 0o022 != 0 {
            return Err(Fault::Refused {
                what: format!("the folder {}", folder.display()),
                why: "it is not one that only this user may write".to_owned(),
                advice: "name another place with --socket".to_owned(),
            });
        }
        if UnixStream::connect(path).is_ok() {
            return Err(Fault::Refused {
                what: path.display().to_string(),
                why: "schedlab attend is at work already".to_owned(),
                advice: "stop that one first, or give this one another --socket".to_owned(),
            });
        }
        match fs::remove_file(path) {
            Err(why) if why.kind() != ErrorKind::NotFound => return Err(Fault::file(path, "remove", why)),
            _ => {}
        }
        let fault = |why| Fault::file(path, "listen on", why);
        let listener = UnixListener::bind(path).map_err(fault)?;
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(fault)?;
        listener.set_nonblocking(true).map_err(fault)?;
        Ok(Server { listener, path: path.to_owned() })
    }

    /// Answers all that wait. Who takes too long, or says nonsense, gets an error or nothing.
    pub(crate) fn serve(&self, mut answer: impl FnMut(Asked) -> Value) {
        while let Ok((stream, _)) = self.listener.accept() {
            let said = read_line(&stream, PATIENCE, LONGEST).and_then(|line| Ok(serde_json::from_str::<Asked>(&line)?));
            let value = match said {
                Ok(asked) => answer(asked),
                Err(why) => serde_json::json!({ "error": format!("the request: {why}") }),
            };
            let _ = stream.set_write_timeout(Some(PATIENCE));
            let _ = writeln!(&stream, "{value}");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn read_line(stream: &UnixStream, patience: Duration, longest: u64) -> std::io::Result<String> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(patience))?;
    let mut line = String::new();
    BufReader::new(stream.take(longest)).read_line(&mut line)?;
    Ok(line)
}

/// Asks the daemon at that place.
pub fn ask(path: &Path, asked: Asked) -> Result<Value, Fault> {
    let stream = UnixStream::connect(path).map_err(|why| Fault::Refused {
        what: path.display().to_string(),
        why: format!("no schedlab attend answers there ({why})"),
        advice: "start one, or name its place with --socket".to_owned(),
    })?;
    let fault = |why| Fault::file(path, "ask", why);
    let line = serde_json::to_string(&asked).expect("it is plain");
    writeln!(&stream, "{line}").map_err(fault)?;
    let answer = read_line(&stream, ANSWERED, LONGEST_ANSWER).map_err(fault)?;
    let value: Value =
        serde_json::from_str(&answer).map_err(|why| Fault::Wrong(format!("{}: {why}", path.display())))?;
    match value.get("error").and_then(Value::as_str) {
        Some(why) => Err(Fault::Wrong(why.to_owned())),
        None => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_command_is_answered_and_nonsense_gets_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own/attend");
        let server = Server::listen(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
        let there = path.clone();
        let asker = thread::spawn(move || {
            let good = ask(&there, Asked::Focus(17)).unwrap();
            let stream = UnixStream::connect(&there).unwrap();
            writeln!(&stream, "nonsense").unwrap();
            (good, read_line(&stream, ANSWERED, LONGEST).unwrap())
        });
        while !asker.is_finished() {
            server.serve(|asked| serde_json::json!({ "asked": asked }));
            thread::sleep(Duration::from_millis(1));
        }
        let (good, bad) = asker.join().unwrap();
        assert_eq!(good["asked"]["focus"], 17);
        assert!(bad.contains("the request: "), "{bad}");
        assert!(Server::listen(&path).is_err_and(|why| why.to_string().contains("at work already")));
        drop(server);
        assert!(!path.exists());
        assert!(ask(&path, Asked::Status).unwrap_err().to_string().contains("no schedlab attend answers there"));
    }
}
