//! Whole screens of 60 columns.

use super::scenes::scenes;

#[test]
fn whole_screens() {
    insta::assert_snapshot!(scenes(60, false), @r#"
    === first screen
    toolkiln · scripted (it was asked for) · actor · /help

    ╭──────────────────────────────────────────────────────────╮
    │ ›                                                        │
    ╰──────────────────────────────────────────────────────────╯
      ready · scripted · strict
    === tools and Markdown
    › look

    I look.

      Read      src/db.js
                1 line
      Read      missing.js
                failed
                FILE_NOT_FOUND: missing.js does not exist
                List the directory or search by name to find the
                right path.
      Ran       printf 'one\ntwo\nthree\n'
                (3 lines)

    Kiln

    A short paragraph with code and text that is long enough to
    be wrapped on a narrow screen.

    A link.

    • one
    • two
      1. deep

    name  │ what it is good for, in more words than fit on  │ 数
          │ a narrow screen                                 │
    ──────┼─────────────────────────────────────────────────┼───
    glaze │ it makes the surface smooth and keeps water out │ 12
    漢字  │ wide letters                                    │  3

    ─── rust
      fn main() {
          println!("héllo 🎉");
      }
    ───

    Done 🎉.

    Thought for _ ms
    26 in (6 cached) · 10 out · _ ms · context 1%

    ╭──────────────────────────────────────────────────────────╮
    │ ›                                                        │
    ╰──────────────────────────────────────────────────────────╯
      ready · ↑26 ↓10 · 18 of 33k · scripted · strict
    === viewer
    I look.

      Read      src/db.js
                1 line
      Read      missing.js
                failed
                FILE_NOT_FOUND: missing.js does not exist
                List the directory or search by name to find the
                right path.
      Ran       printf 'one\ntwo\nthree\n'
                (3 lines)

    Kiln

    A short paragraph with code and text that is long enough to
    be wrapped on a narrow screen.

    A link.

    • one
    • two
      1. deep

    name  │ what it is good for, in more words than fit on  │ 数
          │ a narrow screen                                 │
    ──────┼─────────────────────────────────────────────────┼───
    glaze │ it makes the surface smooth and keeps water out │ 12
    漢字  │ wide letters                                    │  3

    ─── rust
      fn main() {
          println!("héllo 🎉");
      }
    ───

    Done 🎉.

    Thought for _ ms
    26 in (6 cached) · 10 out · _ ms · context 1%

    Thought for _ ms                 1 of 2  ← earlier  → later
    Well.

    I see.
    1–3 of 3   space page   g G ends   / search   q back
      ready · ↑26 ↓10 · 18 of 33k · scripted · strict
    === context

    › /context
                   tokens   share
    system prompt  (tokens) (share) (bar)
    tools  (tokens) (share) (bar)
    instructions  (tokens) (share) (bar)
    messages  (tokens) (share) (bar)
    tool results  (tokens) (share) (bar)
    images  (tokens) (share) (bar)
    in all  (tokens) (share) (bar)
    free  (tokens) (share) (bar)
    Estimated; the model sees _k tokens.

    ╭──────────────────────────────────────────────────────────╮
    │ ›                                                        │
    ╰──────────────────────────────────────────────────────────╯
      ready · ↑26 ↓10 · 18 of 33k · scripted · strict
    === help
      /continue       go on after a pause
      /init           have AGENTS.md written for this project
      /tools          list the tools
      /allow RULE     allow something without asking
    Model and context
      /model [NAME]   list the models, or change to one
      /role [NAME]    show or change the role
      /context        show what fills the model's window
      /compact        make the conversation shorter for the
                      model
      /cost           show what was used and what it cost
    Sessions
      /sessions       list the sessions
      /resume [ID]    go on with another session
      /rewind         go back to an earlier message
      /new            begin a new session
      /fork           go on in a copy of this session
      /rename TITLE   name this session
    Other
      /help           list the commands and keys
      /clear          clear the screen
      /exit           leave; Ctrl-D does the same
    Keys
      @path           attaches a file, an image or the listing
                      of a directory
      @Name           attaches the lines of a symbol that has
                      one definition
      !command        runs a command, confined, and lets the
                      model know
      Shift-Enter     begins a new line; so do Alt-Enter,
                      Ctrl-J, and \ at the end of a line
      Up              takes back what is queued, then goes
                      through what was typed before
      Ctrl-R          searches in what was typed before
      Ctrl-G          opens the message in your editor
      Ctrl-O          opens what was folded: outputs, diffs,
                      thoughts
      Esc             stops the turn; twice goes back to an
                      earlier message
      Ctrl-C          stops the turn; twice leaves
      Ctrl-Z          suspends; `fg` comes back

    ╭──────────────────────────────────────────────────────────╮
    │ ›                                                        │
    ╰──────────────────────────────────────────────────────────╯
      ready · ↑26 ↓10 · 18 of 33k · scripted · strict
    === question with a diff

    › edit

      Rewrite   src/numbers.js
                waiting for you

      src/numbers.js  +2 −2
        1    export const n1 = 1;
        2    export const n2 = 2;
        3    export const n3 = 3;
        4  - export const n4 = 4;
        4  + export const four = 2 + 2;
        5    export const n5 = 5;
        6    export const n6 = 6;
        7    export const n7 = 7;
        8  - export const n8 = 8;
        8  + export const n8 = 4 + 4;
        9    export const n9 = 9;

    ╭ Edit src/numbers.js, +2 −2?                              ╮
    │ y yes   n no, say why   e edit   c comment   a always…   │
    │ d diff in full                                           │
    ╰                                                          ╯
    ╭──────────────────────────────────────────────────────────╮
    │ ›                                                        │
    ╰──────────────────────────────────────────────────────────╯
    (status)
    === queue of three

    › edit

      Rewrite   src/numbers.js
                interrupted
                CANCELLED: the call was cancelled
    · cancelled
    13 in (3 cached) · 5 out · _ ms · context 1%

    › go on

    half

      › first                                           queued
      › /context                                        queued
      › !ls                                    queued · ↑ edit
    ╭──────────────────────────────────────────────────────────╮
    │ ›                                                        │
    ╰──────────────────────────────────────────────────────────╯
    (status)
    === rewind

    › edit

      Rewrite   src/numbers.js
                interrupted
                CANCELLED: the call was cancelled
    · cancelled
    13 in (3 cached) · 5 out · _ ms · context 1%

    › go on

    half

    · cancelled
    _k in · 2 out · _ ms

    › /rewind

    Go back to before ›
    › go on  today __:__
      edit   today __:__
      look   today __:__
      1 of 3 · enter takes · esc closes
      ready · ↑_k ↓2 · 18 of 33k · scripted · strict
    === model

    › edit

      Rewrite   src/numbers.js
                interrupted
                CANCELLED: the call was cancelled
    · cancelled
    13 in (3 cached) · 5 out · _ ms · context 1%

    › go on

    half

    · cancelled
    _k in · 2 out · _ ms

    › /rewind

    › /model

    Models of ollama: ›
    › scripted
      another
      1 of 2 · enter takes · esc closes
      ready · ↑_k ↓2 · 18 of 33k · scripted · strict
    === resume

    › /resume

    Resume ›
    › look  today __:__
      1 of 1 · enter takes · esc closes
      ready · ↑_k ↓2 · 18 of 33k · scripted · strict
    "#);
}
