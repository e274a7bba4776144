use std::fs;

use super::*;

#[test]
fn a_failed_write_keeps_the_former_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.txt");
    let text = |text: &'static str| {
        move |out: &mut dyn Write| {
            out.write_all(text.as_bytes()).unwrap();
            Ok::<_, Error>(())
        }
    };
    write_durably(&path, text("first")).unwrap();
    write_durably(&path, text("second")).unwrap();
    let failure = write_durably(&path, |out| {
        out.write_all(b"third").unwrap();
        Err(Error::invalid_parameter("x", 1, "2"))
    });
    assert!(failure.is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "second");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert!(write_durably(Path::new("/"), text("")).is_err());
    assert!(write_durably(&folder.path().join("no/file"), text("")).is_err());
}

#[cfg(unix)]
#[test]
fn what_takes_no_bytes_stays_what_it_is() {
    use std::os::unix::net::UnixListener;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for path in [&path, &link] {
        let error = write_durably(path, |_| Ok::<_, Error>(())).unwrap_err().to_string();
        assert!(error.contains("is a socket or a block device"), "{error}");
    }
    assert!(!fs::metadata(&path).unwrap().is_file());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}
