use super::*;

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn keys_reach_the_program_and_its_output_the_screen() {
    let mut screen = LiveScreen::start(&Command::new("cat"), 20, 4);
    screen.press("one\r");
    screen.wait_until(|screen| screen.contents() == "one\none");
    assert_eq!((screen.cursor(), screen.bytes()), ((2, 0), 10));
    screen.press("\x04");
    assert_eq!(screen.wait_exit(), 0);
}

#[test]
fn the_terminal_is_the_controlling_one() {
    let mut screen = LiveScreen::start(&sh("exec cat >/dev/tty"), 20, 4);
    screen.press("ready\r");
    screen.wait_for("ready\nready");
    // The kernel turns the key into a signal only for the group of processes that has the terminal.
    screen.press("\x03");
    assert_eq!(screen.wait_exit(), 128 + 2);
}

#[test]
fn nothing_of_the_environment_is_inherited() {
    let mut command = Command::new("env");
    command.env("KILN", "hot");
    let mut screen = LiveScreen::start(&command, 60, 10);
    screen.wait_exit();
    let text = screen.text();
    let mut names: Vec<&str> = text.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["KILN", "PATH", "TERM"]);
    assert!(text.contains("TERM=xterm-256color"));
}

#[test]
fn modes_that_are_left_behind_are_seen() {
    let mut screen = LiveScreen::start(&sh("stty raw -echo; printf '\\033[?25l\\033[>1u'"), 20, 4);
    assert_eq!(screen.wait_exit(), 0);
    let changed = screen.changed_modes();
    let expected = ["-icanon", "-echo", "-isig", "-opost", "+hidden cursor", "+keyboard protocol"];
    for change in expected {
        assert!(changed.iter().any(|found| found == change), "{change} in {changed:?}");
    }
    assert!(!screen.modes().has("icanon"));
}

#[test]
fn modes_that_are_put_back_are_no_change() {
    let script =
        "kept=$(stty -g); stty raw -echo; printf raw; dd bs=1 count=1 2>&-; stty \"$kept\"";
    let mut screen = LiveScreen::start(&sh(script), 20, 4);
    screen.wait_for("raw");
    assert!(screen.changed_modes().contains(&"-icanon".to_owned()));
    screen.press("x");
    assert_eq!(screen.wait_exit(), 0);
    assert_eq!(screen.changed_modes(), [""; 0]);
}

#[test]
fn a_resize_is_told_to_the_program() {
    let script = "trap 'stty size; exit 0' WINCH; stty size; while :; do read -r line; done";
    let mut screen = LiveScreen::start(&sh(script), 80, 24);
    screen.wait_for("24 80");
    screen.resize(100, 30);
    screen.wait_for("30 100");
    assert_eq!(screen.look(|screen| screen.size().1.get()), 100);
    assert_eq!(screen.wait_exit(), 0);
}

#[test]
fn wide_characters_take_two_columns() {
    let mut screen = LiveScreen::start(&sh("printf '窯 é🙂|'; cat"), 20, 4);
    screen.wait_until(|screen| screen.contents() == "窯 é🙂|");
    assert_eq!(screen.cursor(), (0, 7));
    assert!(screen.look(|screen| screen.cell(0, 0).is_some_and(vt100::Cell::is_wide)));
}

#[test]
fn a_paste_has_brackets_if_the_program_wants_them() {
    let script = "stty raw -echo; printf '\\033[?2004hready '; dd bs=1 count=15 2>&- | od -An -c";
    let mut screen = LiveScreen::start(&sh(script), 80, 4);
    screen.wait_for("ready");
    screen.paste("a\nb");
    screen.wait_exit();
    let text = screen.text();
    assert!(
        text.contains("033   [   2   0   0   ~   a  \\r   b 033   [   2   0   1   ~"),
        "{text}"
    );
    let mut screen = LiveScreen::start(&Command::new("cat"), 80, 4);
    screen.paste("plain\n");
    screen.wait_until(|screen| screen.contents() == "plain\nplain");
}

#[test]
fn bells_are_counted() {
    let mut screen = LiveScreen::start(&sh("printf 'a\\007b\\007'"), 20, 4);
    screen.wait_exit();
    assert_eq!((screen.bells(), screen.text().as_str()), (2, "ab"));
}

#[test]
fn output_is_held_and_let_go() {
    let script = "stty -echo; printf ready; read line; printf ' held'; read line; printf ' end'";
    let mut screen = LiveScreen::start(&sh(script), 20, 4);
    screen.wait_for("ready");
    screen.hold_output(true);
    screen.press("\r\r");
    assert_eq!(screen.text(), "ready");
    screen.hold_output(false);
    assert_eq!(screen.wait_exit(), 0);
    assert_eq!(screen.text(), "ready held end");
}

#[test]
fn a_job_stops_and_goes_on() {
    let mut screen = LiveScreen::start_as_job(&Command::new("cat"), 40, 8);
    screen.press("ready\r");
    screen.wait_for("ready\nready");
    screen.stop();
    screen.resume();
    screen.press("again\r");
    screen.wait_for("again\nagain");
    // The key does the same as the signal.
    screen.press("\x1a");
    screen.wait_stopped();
    screen.resume();
    screen.press("over\r");
    screen.wait_for("over\nover");
    screen.press("\x04");
    assert_eq!(screen.wait_exit(), 0);
    assert_eq!(screen.changed_modes(), [""; 0]);
}

#[test]
fn a_signal_ends_the_program_alone_or_below_its_shell() {
    for start in [LiveScreen::start, LiveScreen::start_as_job] {
        let mut screen = start(&sh("echo ready; exec cat"), 40, 8);
        screen.wait_for("ready");
        screen.signal(Signal::TERM);
        assert_eq!(screen.wait_exit(), 128 + 15);
    }
}

#[test]
#[should_panic(expected = "│what it wrote")]
fn a_program_that_ends_too_early_fails_the_test_with_its_screen() {
    let mut screen = LiveScreen::start(&sh("echo what it wrote"), 40, 8);
    screen.wait_until(|screen| screen.contents().contains("what it never writes"));
}

#[test]
fn dropping_the_screen_ends_the_program() {
    let mut screen = LiveScreen::start_as_job(&sh("trap '' HUP TERM INT; echo ready; cat"), 40, 8);
    screen.wait_for("ready");
    let shared = Arc::clone(&screen.shared);
    drop(screen);
    let state = shared.lock();
    let waiting = shared.changed.wait_timeout_while(state, PATIENCE, |state| state.exit.is_none());
    assert!(waiting.is_ok_and(|(state, _)| state.exit.is_some()));
}
