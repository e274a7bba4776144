//! Panics of contained work.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{IS_CONTAINED, contained};

#[test]
fn a_panic_is_an_error_with_its_message() {
    assert_eq!(contained(|| 3), Ok(3));
    let error = contained(|| -> u8 { panic!("page {} is wrong", 7) }).unwrap_err();
    assert_eq!(error, "its content cannot be decoded (page 7 is wrong)");
    let error = contained(|| [0_u8; 2].iter().map(|i| [1_u8][usize::from(*i) + 5]).sum::<u8>());
    assert!(error.unwrap_err().contains("out of bounds"));
}

#[test]
fn only_the_work_itself_is_contained() {
    // Inside other contained work, after a panic, and on other threads.
    assert!(!IS_CONTAINED.get());
    contained(|| {
        contained(|| panic!("inner")).unwrap_err();
        assert!(IS_CONTAINED.get());
        let other = std::thread::spawn(|| IS_CONTAINED.get());
        assert!(!other.join().unwrap());
    })
    .unwrap();
    assert!(!IS_CONTAINED.get());
}

#[test]
fn nothing_is_printed_and_other_panics_still_reach_the_hook() {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    // A process of its own: the hook is the process's, and other tests panic at will.
    if std::env::var_os("JOINTLY_TEST_HOOK").is_none() {
        let name = "data::contained::tests::\
                    nothing_is_printed_and_other_panics_still_reach_the_hook";
        let program = std::env::current_exe().unwrap();
        let run = std::process::Command::new(program)
            .args(["--exact", name, "--nocapture"])
            .env("JOINTLY_TEST_HOOK", "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    std::panic::set_hook(Box::new(|_| _ = SEEN.fetch_add(1, Ordering::Relaxed)));
    for _ in 0..3 {
        contained(|| panic!("kept")).unwrap_err();
    }
    assert_eq!(SEEN.load(Ordering::Relaxed), 0);
    std::panic::catch_unwind(|| panic!("told")).unwrap_err();
    assert_eq!(SEEN.load(Ordering::Relaxed), 1);
}
