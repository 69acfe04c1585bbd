//! A file with the number of the process that has the focus, watched by inotify: for terminals, servers and scripts. Empty is none.

use super::Source;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use schedlab_linux::Fault;
use std::{
    fs::File,
    io::Read,
    os::fd::{AsFd, BorrowedFd},
    path::{Path, PathBuf},
};

/// A number is not longer.
const MOST_BYTES: u64 = 64;

/// The file, by its folder: it may be replaced, and need not be there yet.
pub(super) struct PidFile {
    path: PathBuf,
    watched: Inotify,
    last: Option<Option<i32>>,
}

impl PidFile {
    pub(super) fn open(path: &Path) -> Result<PidFile, Fault> {
        let path = std::path::absolute(path).map_err(|why| Fault::file(path, "find", why))?;
        let fault = |why: nix::Error| Fault::file(&path, "watch", why.into());
        let watched = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).map_err(fault)?;
        let events = AddWatchFlags::IN_CLOSE_WRITE | AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_DELETE;
        watched.add_watch(path.parent().unwrap_or(Path::new("/")), events).map_err(fault)?;
        Ok(PidFile { watched, last: None, path: path.clone() })
    }

    fn read(&self) -> Result<Option<i32>, Fault> {
        let mut text = String::new();
        let read = File::open(&self.path).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text));
        match read {
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(why) => Err(Fault::file(&self.path, "read", why)),
            Ok(_) if text.trim().is_empty() => Ok(None),
            Ok(_) => {
                let number = text.trim().parse().ok().filter(|pid: &i32| *pid > 0);
                let wrong = || Fault::Wrong(format!("{}: {text:?} is no number of a process", self.path.display()));
                number.map(Some).ok_or_else(wrong)
            }
        }
    }
}

impl Source for PidFile {
    fn name(&self) -> String {
        format!("file {}", self.path.display())
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.watched.as_fd()
    }

    fn news(&mut self) -> Result<Option<Option<i32>>, Fault> {
        while self.watched.read_events().is_ok_and(|events| !events.is_empty()) {}
        let now = Some(self.read()?);
        let changed = now != self.last;
        self.last = now;
        Ok(now.filter(|_| changed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_that_is_written_replaced_emptied_or_removed_is_news_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("focus");
        let mut source = PidFile::open(&path).unwrap();
        assert_eq!(source.news().unwrap(), Some(None));
        fs::write(&path, "17\n").unwrap();
        assert_eq!(source.news().unwrap(), Some(Some(17)));
        assert_eq!(source.news().unwrap(), None);
        fs::write(folder.path().join("new"), "18").unwrap();
        fs::rename(folder.path().join("new"), &path).unwrap();
        assert_eq!(source.news().unwrap(), Some(Some(18)));
        fs::write(&path, "").unwrap();
        assert_eq!(source.news().unwrap(), Some(None));
        fs::write(&path, "-3").unwrap();
        assert!(source.news().unwrap_err().to_string().ends_with("\"-3\" is no number of a process"));
        fs::remove_file(&path).unwrap();
        assert_eq!(source.news().unwrap(), Some(None).filter(|_| false), "as it was last");
    }
}
