//! What is recorded: a project, what the scripted model says, and what the user does.
//!
//! Everything that could differ from run to run is held back by a gate or waited for, so that each frame is
//! taken when the screen is at rest.

use serde_json::json;
use testkit::{Fixture, Gate, Reply};

/// One step of the run.
pub(crate) enum Step {
    /// Types words, with a frame after each of them.
    Type(&'static str),
    /// Presses a key.
    Press(&'static str),
    /// Lets so many pieces of the model's text go.
    Pass(usize),
    /// Waits until the screen shows all of these.
    Wait(&'static [&'static str]),
    /// Lets so many milliseconds pass: a question takes no key before users can have read it.
    Rest(u64),
    /// Takes a frame that stands so many milliseconds.
    Hold(u64),
}

/// The width of the picture, and its height.
pub(crate) const COLUMNS: u16 = 100;
pub(crate) const ROWS: u16 = 34;

/// How long a word stands before the next one is typed.
pub(crate) const WORD_MILLISECONDS: u64 = 110;

pub(crate) const TITLE: &str =
    "toolkiln chat: a question, what the model looks at, a change that is approved, and the answer";

const CART: &str = "\
import { format } from './money';

export class Cart {
  lines: { price: number; count: number }[] = [];

  total(): string {
    let sum = 0;
    for (const line of this.lines) sum += line.price * line.count;
    return sum.toString();
  }
}
";

const SUM: &str = "    let sum = 0;
    for (const line of this.lines) sum += line.price * line.count;
    return sum.toString();
";
const ROUNDED: &str = "    const sum = this.lines.reduce(
      (sum, line) => sum + line.price * line.count, 0);
    return format(sum);
";

/// The project that is talked about.
pub(crate) fn project() -> Fixture {
    let project = Fixture::new("");
    project.write("src/cart.ts", CART);
    project.write(
        "src/money.ts",
        "export function format(amount: number): string {\n  return amount.toFixed(2);\n}\n",
    );
    project.write("package.json", "{\"name\": \"shop\", \"version\": \"1.0.0\"}\n");
    project
        .write("test/cart.test.sh", "echo '✗ cart › rounds totals'\necho 'expected \"3.30\", got \"3.3000000000000003\"'\nexit 1\n");
    project
}

/// What the model says. Each piece of its text waits for a step that lets it go.
pub(crate) fn replies(gate: &Gate) -> Vec<Reply> {
    let look = Reply::pieces(["I will look at how totals are computed first."])
        .and_call("grep", json!({"pattern": "toFixed|toString"}));
    // Calls of one reply are shown in the order in which they end, so each is a reply of its own.
    let read = |path: &str| Reply::call("read_file", json!({"path": path}));
    let (cart, money) = (read("src/cart.ts"), read("src/money.ts"));
    let run = Reply::pieces(["The tests should show it:"])
        .and_call("bash", json!({"command": "sh test/cart.test.sh"}));
    let change = Reply::pieces([
        "`total()` adds floats and prints them with `toString`.\n\n",
        "I suggest to round once, at the end:",
    ])
    .and_call("replace_in_file", json!({"path": "src/cart.ts", "find": SUM, "replace": ROUNDED}));
    let end = Reply::pieces([
        "Totals are rounded once now, by `format` of **src/money.ts**. `/undo` takes the change back.",
    ]);
    [look, cart, money, run, change, end].map(|reply| reply.through(gate)).into()
}

/// What the user does and sees.
pub(crate) const STEPS: &[Step] = &[
    Step::Wait(&["›"]),
    Step::Hold(900),
    Step::Type("Prices with three decimals show up in the cart. Find out why and fix it."),
    Step::Hold(500),
    Step::Press("\r"),
    Step::Wait(&["thinking"]),
    Step::Hold(900),
    Step::Pass(1),
    Step::Wait(&["I will look at how totals", "Searched", "money.ts", "thinking"]),
    Step::Hold(1300),
    Step::Pass(1),
    Step::Wait(&["The tests should show it", "Ran", "exit 1", "thinking"]),
    Step::Hold(1600),
    Step::Pass(1),
    Step::Wait(&["adds floats", "writing"]),
    Step::Hold(600),
    Step::Pass(1),
    Step::Wait(&["round once, at the end", "waiting for you"]),
    Step::Rest(500),
    Step::Hold(2600),
    Step::Press("y"),
    Step::Wait(&["Edited", "thinking"]),
    Step::Hold(900),
    Step::Pass(1),
    Step::Wait(&["takes the change back.", "ready"]),
    Step::Hold(4000),
];
