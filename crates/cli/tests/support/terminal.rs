//! Commands on a terminal, which `script` of util-linux provides.

use super::RAWLINE;
use rawline_testkit::process::run;
use std::process::Command;

/// Runs `rawline` with these arguments on a terminal this wide, on which `typed` is typed. Returns its exit code and
/// everything that the terminal shows; what is typed before the echo is off is shown as well.
pub fn on_terminal(url: &str, columns: u16, args: &[&str], typed: &str) -> (Option<i32>, String) {
    let words = [&[RAWLINE], args].concat();
    let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    let line = format!("stty -echo cols {columns} rows 24; exec {}", quoted.join(" "));
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("SHELL", "/bin/sh").env("TERM", "xterm");
    let output = run(
        {
            command.env("RAWLINE_BROKER", url);
            command
        },
        typed.as_bytes(),
    );
    let shown = String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n");
    (output.status.code(), shown)
}
