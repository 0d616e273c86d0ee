//! Whole conversations, with everything that can be asked for.

use insta::assert_snapshot;
use tool_system::Vocabulary;

use super::talk;

#[tokio::test]
async fn other_requests_go_through_the_same_loop() {
    let mut talk = talk(Vocabulary::Standard);
    let mut told = String::new();
    for request in [
        "hello",
        "What is this project?",
        "list the files in src",
        "find all js files",
        "find all references to DatabaseService",
        "what does src/main.js do?",
        "where is Nowhere defined?",
        "create file notes.md containing \"# Notes\"",
        "add the line \"One.\" to notes.md",
        "replace \"One\" with \"Two\" in notes.md",
        "move notes.md to docs/notes.md",
        "rename stop to halt",
        "delete docs/notes.md",
        "undo",
        "read nope.js",
        "thanks",
    ] {
        told += &talk.say(request).await;
        told += "\n";
    }
    assert_snapshot!(told, @r##"
    > hello
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules. To get a model: toolkiln setup)

    Hello. Ask for something like "Find all TODO comments in this project", or run a tool as a command, such as `grep TODO`. `help` shows what I understand, and `toolkiln setup` gets you a model.

    > What is this project?
    Looking at what there is.
    [offline_1 list_directory {"path":"."}]
    Reading README.md.
    [offline_2 read_file {"path":"README.md"}]
    The project holds:

        README.md
        package.json
        src/

    Its README.md begins:

    > # Context Kiln
    >
    > Holds contexts.

    > list the files in src
    Listing src.
    [offline_3 list_directory {"path":"src"}]
    src holds:

        main.js
        services/

    > find all js files
    Looking for files like `*.js,*.mjs,*.cjs,*.jsx`.
    [offline_4 glob {"pattern":"*.js,*.mjs,*.cjs,*.jsx"}]
    3 files:

        src/main.js
        src/services/DatabaseService.js
        src/services/ToolExecutionService.js

    > find all references to DatabaseService
    Looking for the uses of `DatabaseService`.
    [offline_5 find_references {"symbol":"DatabaseService"}]
        src/services/DatabaseService.js (1)
          2: export class DatabaseService {
        src/services/ToolExecutionService.js (2)
          1: import { DatabaseService } from './DatabaseService';
          3: constructor() { this.db = new DatabaseService(); } // TODO inject

    > what does src/main.js do?
    Reading src/main.js.
    [offline_6 read_file {"path":"src/main.js"}]
    Asking for the outline of src/main.js.
    [offline_7 outline {"path":"src/main.js"}]
    I cannot say what code means, but this is what src/main.js defines:

        4	export function main()
        8	function stop()

    > where is Nowhere defined?
    Looking up where `Nowhere` is defined.
    [offline_8 find_definition {"symbol":"Nowhere"}]
    There is no definition of `Nowhere` here; searching for the text.
    [offline_9 grep {"pattern":"Nowhere","case_sensitive":true}]
    `Nowhere` is not defined in this project. No matches

    > create file notes.md containing "# Notes"
    Proposing to create notes.md.
    [offline_10 create_file {"path":"notes.md","content":"# Notes\n","description":"As asked for"}]
    Done: notes.md is there. "undo" takes it back.

    > add the line "One." to notes.md
    Looking for notes.md.
    [offline_11 glob {"pattern":"**/notes.md"}]
    It is at notes.md; reading it.
    [offline_12 read_file {"path":"notes.md"}]
    Proposing to add the line to notes.md.
    [offline_13 append_file {"path":"notes.md","content":"One.\n"}]
    Done: the line is in notes.md.

    Appended line 2 (+1) (change 2)

    > replace "One" with "Two" in notes.md
    Looking for notes.md.
    [offline_14 glob {"pattern":"**/notes.md"}]
    It is at notes.md; reading it.
    [offline_15 read_file {"path":"notes.md"}]
    Proposing to replace `One` with `Two` in notes.md.
    [offline_16 replace_in_file {"path":"notes.md","find":"One","replace":"Two"}]
    Edited line 2 (change 3)

    > move notes.md to docs/notes.md
    Proposing to move notes.md to docs/notes.md.
    [offline_17 move_file {"from":"notes.md","to":"docs/notes.md"}]
    Done: notes.md is now docs/notes.md. "undo" takes it back.

    > rename stop to halt
    Proposing to rename `stop` to `halt` wherever it is used.
    [offline_18 rename_symbol {"symbol":"stop","new_name":"halt"}]
        Renamed `stop` to `halt` in 1 place, by name.
        src/main.js 1
        [change 5]

    > delete docs/notes.md
    Proposing to delete docs/notes.md.
    [offline_19 delete_file {"path":"docs/notes.md"}]
    Done: docs/notes.md is gone. "undo" brings it back.

    > undo

    [offline_20 undo {}]
    Undid change 6: docs/notes.md (change 7)

    > read nope.js

    [offline_21 read {"file_paths":["nope.js"]}]
    That did not work: nope.js does not exist
    List the directory or search by name to find the right path.

    > thanks
    You are welcome.
    "##);
}

#[tokio::test]
async fn commands_go_through_the_same_loop() {
    let mut talk = talk(Vocabulary::Standard);
    let mut told = String::new();
    for request in [
        "grep TODO",
        "/read_file path=src/main.js limit=2",
        "/replace_in_file src/main.js stop halt",
        "glob **/*.js",
        "redo",
    ] {
        told += &talk.say(request).await;
        told += "\n";
    }
    assert_snapshot!(told, @r#"
    > grep TODO
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules. To get a model: toolkiln setup)
    [offline_1 grep {"pattern":"TODO"}]
        src/services/DatabaseService.js (1)
          1: // TODO: pool connections
        src/services/ToolExecutionService.js (1)
          3: constructor() { this.db = new DatabaseService(); } // TODO inject

    > /read_file path=src/main.js limit=2

    [offline_2 read_file {"path":"src/main.js","limit":2}]
        1	#!/usr/bin/env node
        2	import { ToolExecutionService } from './services/ToolExecutionService';
        [of 8]

    > /replace_in_file src/main.js stop halt

    [offline_3 replace_in_file {"path":"src/main.js","find":"stop","replace":"halt"}]
    Edited line 8 (change 1)

    > glob **/*.js

    [offline_4 glob {"pattern":"**/*.js"}]
        src/main.js
        src/services/: DatabaseService.js ToolExecutionService.js

    > redo

    [offline_5 redo {}]
    That did not work: there is nothing to redo
    Only changes made through Toolkiln can be undone; `toolkiln history` lists them.
    "#);
}
