//! The five tests of the specification of agentic tools, in every vocabulary.

use insta::assert_snapshot;
use tool_system::Vocabulary;

use super::{ALL, PROJECT, talk};
use crate::testing::Talk;

#[tokio::test]
async fn test_1_basic_file_reading() {
    let told =
        talk(Vocabulary::Standard).say("Read package.json and tell me the project name").await;
    assert_snapshot!(told, @r#"
    > Read package.json and tell me the project name
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules. To get a model: toolkiln setup)

    Reading package.json.
    [offline_1 read_file {"path":"package.json"}]
    The project's name is **context-kiln**, says package.json.
    "#);
    for vocabulary in ALL {
        let told = talk(vocabulary).say("Read package.json and tell me the project name").await;
        assert!(
            told.ends_with("The project's name is **context-kiln**, says package.json.\n"),
            "{told}"
        );
        let told = talk(vocabulary).say("What is the project's version?").await;
        assert!(
            told.ends_with("The project's version is **1.2.0**, says package.json.\n"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn test_2_symbol_lookup() {
    let told = talk(Vocabulary::Standard).say("Find where DatabaseService is defined").await;
    assert_snapshot!(told, @r#"
    > Find where DatabaseService is defined
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules. To get a model: toolkiln setup)

    Looking up where `DatabaseService` is defined.
    [offline_1 find_definition {"symbol":"DatabaseService"}]
    Reading src/services/DatabaseService.js around line 2.
    [offline_2 read_file {"path":"src/services/DatabaseService.js","offset":1,"limit":14}]
    `DatabaseService` is defined in src/services/DatabaseService.js:2:

        1	// TODO: pool connections
        2	export class DatabaseService {
        3	  connect() {}
        4	}
    "#);
    for vocabulary in ALL {
        let told = talk(vocabulary).say("Find where DatabaseService is defined").await;
        assert!(told.contains("src/services/DatabaseService.js:"), "{told}");
        assert!(told.contains("export class DatabaseService {\n"), "{told}");
    }
}

#[tokio::test]
async fn test_3_file_edit_with_approval() {
    const REQUEST: &str = "Add a comment to the top of main.js explaining what it does";
    let mut standard = talk(Vocabulary::Standard);
    assert_snapshot!(standard.say(REQUEST).await, @r#"
    > Add a comment to the top of main.js explaining what it does
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules. To get a model: toolkiln setup)

    Looking for main.js.
    [offline_1 glob {"pattern":"**/main.js"}]
    It is at src/main.js; reading it.
    [offline_2 read_file {"path":"src/main.js"}]
    Proposing this comment for src/main.js:

        // main.js: defines main and stop.
    [offline_3 edit_lines {"path":"src/main.js","operation":"insert","start_line":1,"content":"// main.js: defines main and stop."}]
    Done: the comment is at the top of src/main.js.

    Edited line 2 (+1) (change 1)
    "#);
    assert_snapshot!(standard.say("undo that").await, @"
    > undo that
    Undoing the last change.
    [offline_4 undo {}]
    Undid change 1: src/main.js (change 2)
    ");
    assert!(standard.project.read("src/main.js").starts_with("#!/usr/bin/env node\nimport"));
    assert_snapshot!(talk(Vocabulary::Explorer).say(REQUEST).await, @r##"
    > Add a comment to the top of main.js explaining what it does
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules. To get a model: toolkiln setup)

    Looking for main.js.
    [offline_1 find_files {"pattern":"**/main.js"}]
    It is at src/main.js; reading it.
    [offline_2 read_file {"path":"src/main.js"}]
    Proposing this comment for src/main.js:

        // main.js: defines main and stop.
    [offline_3 edit_file {"path":"src/main.js","content":"#!/usr/bin/env node\n// main.js: defines main and stop.\nimport { ToolExecutionService } from './services/ToolExecutionService';\n\nexport function main() {\n  return new ToolExecutionService();\n}\n\nfunction stop() {}\n","description":"Adds: // main.js: defines main and stop."}]
    Done: the comment is at the top of src/main.js.

        diff --git a/src/main.js b/src/main.js
        --- a/src/main.js
        +++ b/src/main.js
        @@ -1,4 +1,5 @@
         #!/usr/bin/env node
        +// main.js: defines main and stop.
         import { ToolExecutionService } from './services/ToolExecutionService';
         
         export function main() {
    "##);
    for vocabulary in ALL {
        let mut talk = talk(vocabulary);
        let before = talk.project.read("src/main.js");
        // Not every vocabulary can look for a file by its name.
        let told = talk.say(&REQUEST.replace("main.js", "src/main.js")).await;
        let after = talk.project.read("src/main.js");
        let comment = "#!/usr/bin/env node\n// main.js: defines main and stop.\n";
        assert_eq!(after, before.replace("#!/usr/bin/env node\n", comment), "{told}");
    }
}

#[tokio::test]
async fn test_3_the_user_may_decline() {
    let mut talk = Talk::new(Vocabulary::Standard, PROJECT, Some("too vague".into()));
    let told = talk.say("Add a comment to the top of src/main.js explaining what it does").await;
    assert_snapshot!(told.lines().last().unwrap_or_default(), @"You declined this: too vague. Nothing was changed. Tell me what should be different, or do it with a command; `help` shows them.");
    assert!(!talk.project.read("src/main.js").contains("defines"));
}

#[tokio::test]
async fn test_4_multi_file_search() {
    let told = talk(Vocabulary::Standard).say("Find all TODO comments in the project").await;
    assert_snapshot!(told, @r#"
    > Find all TODO comments in the project
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules. To get a model: toolkiln setup)

    Searching the project for `TODO`.
    [offline_1 grep {"pattern":"TODO","case_sensitive":true}]
        src/services/DatabaseService.js (1)
          1: // TODO: pool connections
        src/services/ToolExecutionService.js (1)
          3: constructor() { this.db = new DatabaseService(); } // TODO inject
    "#);
    for vocabulary in ALL {
        let told = talk(vocabulary).say("Find all TODO comments in the project").await;
        assert!(
            told.contains("src/services/DatabaseService.js (1)\n      1: // TODO: pool"),
            "{told}"
        );
        assert!(told.contains("src/services/ToolExecutionService.js (1)\n"), "{told}");
    }
}

#[tokio::test]
async fn test_5_impact_analysis() {
    let mut standard = talk(Vocabulary::Standard);
    assert_snapshot!(standard.say("What files use ToolExecutionService?").await, @r#"
    > What files use ToolExecutionService?
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules. To get a model: toolkiln setup)

    Looking up where `ToolExecutionService` is defined.
    [offline_1 find_definition {"symbol":"ToolExecutionService"}]
    Looking for the files that import src/services/ToolExecutionService.js.
    [offline_2 find_importers {"target":"src/services/ToolExecutionService.js"}]
    Files that import `ToolExecutionService` (src/services/ToolExecutionService.js):

        src/main.js (1)
          2: import { ToolExecutionService } from './services/ToolExecutionService';
    "#);
    assert_snapshot!(standard.say("What breaks if I change src/services/DatabaseService.js?").await, @r#"
    > What breaks if I change src/services/DatabaseService.js?
    Working out what depends on `src/services/DatabaseService.js`.
    [offline_3 impact {"target":"src/services/DatabaseService.js"}]
        src/services/DatabaseService.js (1)
          src/services/ToolExecutionService.js (1)
            src/main.js
        [2 files are affected, 1 of them directly, 0 tests among them]
    "#);
    for vocabulary in ALL {
        let told = talk(vocabulary).say("What files use ToolExecutionService?").await;
        assert!(told.contains("src/main.js"), "{told}");
    }
}
