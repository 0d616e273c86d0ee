//! Which files import what, and what a change affects.

use protocol::ErrorCode;
use serde_json::{Value, json};
use tool_system::{Limits, Vocabulary};

use crate::harness::{Bench, each, strings};

const PROJECT: &str = r#"
//- /src/services/ToolExecutionService.js
export class ToolExecutionService {}
//- /src/services/index.js
export { ToolExecutionService } from './ToolExecutionService';
//- /src/App.jsx
import { ToolExecutionService } from './services/ToolExecutionService.js';
import debounce from 'lodash/debounce';
//- /src/Panel.jsx
import { ToolExecutionService } from './services';
//- /src/notes.js
// ToolExecutionService is only talked about here: './services/ToolExecutionService'
//- /src/App.test.jsx
import App from './App';
//- /.gitignore
generated/
//- /generated/x.js
import '../src/services/ToolExecutionService';
//- /node_modules/other/index.js
require('../../src/services/ToolExecutionService');
"#;

#[tokio::test]
async fn impact_analysis() {
    let bench = Bench::speaking(Vocabulary::Explorer, PROJECT);
    let found =
        bench.ok("find_importers", json!({"modulePath": "../services/ToolExecutionService"})).await;
    insta::assert_json_snapshot!(found, @r#"
    {
      "targets": [
        "src/services/ToolExecutionService.js"
      ],
      "importers": [
        {
          "path": "src/App.jsx",
          "line": 1,
          "statement": "import { ToolExecutionService } from './services/ToolExecutionService.js';"
        },
        {
          "path": "src/Panel.jsx",
          "line": 1,
          "statement": "import { ToolExecutionService } from './services';",
          "via": "src/services/index.js"
        },
        {
          "path": "src/services/index.js",
          "line": 1,
          "statement": "export { ToolExecutionService } from './ToolExecutionService';",
          "kind": "re-export"
        }
      ],
      "total": 3,
      "files": 3,
      "message": "Found 3 imports in 3 files."
    }
    "#);
}

#[tokio::test]
async fn all_spellings_of_a_module_have_the_same_importers() {
    let bench = Bench::new(PROJECT);
    let absolute = bench.project.root().join("src/services/ToolExecutionService.js");
    for target in [
        "src/services/ToolExecutionService.js",
        "./services/ToolExecutionService",
        "ToolExecutionService",
        absolute.to_str().unwrap(),
    ] {
        let found = bench.ok("find_importers", json!({"target": target})).await;
        let paths = each(&found["importers"], "path");
        assert_eq!(paths, ["src/App.jsx", "src/Panel.jsx", "src/services/index.js"], "{target}");
    }
}

#[tokio::test]
async fn nothing_found_is_an_answer_with_near_names() {
    let bench = Bench::new(PROJECT);
    let found = bench.ok("find_importers", json!({"target": "ToolExecutonService"})).await;
    assert_eq!(found["total"], 0);
    assert_eq!(
        found["message"],
        "Nothing imports `ToolExecutonService`, and it matches no file of the project. Did you \
         mean src/services/ToolExecutionService.js?"
    );
    let found = bench.ok("find_importers", json!({"target": "src/App.test.jsx"})).await;
    assert_eq!(found["message"], "Nothing imports src/App.test.jsx.");
    assert_eq!(strings(&found["targets"]), ["src/App.test.jsx"]);
}

#[tokio::test]
async fn what_can_mean_several_things_is_answered_for_all_of_them() {
    let bench = Bench::new(
        "//- /a/store.ts\n//- /b/store.ts\n//- /a/x.ts\nimport './store'\n//- /b/y.ts\nimport './store'\n",
    );
    let found = bench.ok("find_importers", json!({"target": "store"})).await;
    assert_eq!(each(&found["importers"], "target"), ["a/store.ts", "b/store.ts"]);
    let message = found["message"].as_str().unwrap();
    assert!(message.contains("can mean several things: a/store.ts; b/store.ts"), "{message}");
}

fn many_importers(count: usize) -> String {
    let mut project = String::from("//- /db.py\n");
    for index in 0..count {
        project.push_str(&format!("//- /m{index:04}.py\nimport db\n"));
    }
    project
}

#[tokio::test]
async fn results_are_limited_with_a_true_total_and_a_hint() {
    let bench = Bench::new(&many_importers(120));
    let shown = async |arguments: Value| {
        let found = bench.ok("find_importers", arguments).await;
        assert_eq!((&found["total"], &found["files"]), (&json!(120), &json!(120)));
        (
            found["importers"].as_array().unwrap().len(),
            found["message"].as_str().unwrap().to_owned(),
        )
    };
    let (count, message) = shown(json!({"target": "db"})).await;
    assert_eq!(count, 100);
    assert!(
        message.contains("Showing the first 100, …and 20 more: raise max_results"),
        "{message}"
    );
    assert_eq!(shown(json!({"target": "db", "max_results": 7})).await.0, 7);
    assert_eq!(shown(json!({"target": "db", "max_results": 9999})).await.0, 120);
}

#[tokio::test]
async fn wrong_targets_are_explained() {
    let bench = Bench::new(PROJECT);
    for tool in ["find_importers", "impact"] {
        let error = bench.err(tool, json!({"target": "  "})).await;
        assert_eq!(error.code, ErrorCode::InvalidArguments);
        let error = bench.err(tool, json!({"target": "/etc/passwd"})).await;
        assert_eq!(error.code, ErrorCode::InvalidPath);
    }
    let error = bench.err("impact", json!({"target": "Ap"})).await;
    assert_eq!(error.code, ErrorCode::FileNotFound);
    assert!(error.message.contains("`Ap`"), "{error:?}");
    assert!(error.suggestion.unwrap().contains("src/App.jsx"));
    let error = bench.err("impact", json!({"target": "lodash"})).await;
    assert!(error.suggestion.unwrap().contains("find_importers shows by whom"));
}

#[tokio::test]
async fn time_that_ran_out_and_files_that_are_too_large_are_said() {
    let limits = Limits { search_ms: 0, ..Limits::default() };
    let bench = Bench::limited(PROJECT, limits);
    let found = bench.ok("find_importers", json!({"target": "lodash"})).await;
    assert!(found["warnings"][0].as_str().unwrap().starts_with("Time ran out"), "{found}");
    let bench = Bench::new("//- /db.py\n//- /a.py\nimport db\n");
    bench.project.write("big.py", "import db\n".repeat(200_000));
    let found = bench.ok("find_importers", json!({"target": "db.py"})).await;
    assert_eq!(each(&found["importers"], "path"), ["a.py"]);
    assert_eq!(found["warnings"][0], "Skipped files over 1048576 bytes: big.py (1 in all).");
}

#[tokio::test]
async fn languages_without_resolution_are_labelled() {
    let bench = Bench::new("//- /Main.kt\nimport com.x.Store\n//- /Store.java\nclass Store {}\n");
    let found = bench.ok("find_importers", json!({"target": "Store"})).await;
    assert_eq!(found["importers"][0]["by"], "text");
    assert_eq!(found["importers"][0]["path"], "Main.kt");
    assert!(found["message"].as_str().unwrap().contains("marked `text` are not resolved"));
}

#[tokio::test]
async fn impact_shows_a_tree_with_tests() {
    let bench = Bench::new(PROJECT);
    let found = bench.ok("impact", json!({"target": "ToolExecutionService"})).await;
    insta::assert_json_snapshot!(found, @r#"
    {
      "targets": [
        "src/services/ToolExecutionService.js"
      ],
      "text": "src/services/ToolExecutionService.js (2)\n  src/App.jsx (1)\n    src/App.test.jsx [test]\n  src/services/index.js (1)\n    src/Panel.jsx\n",
      "total": 4,
      "direct": 2,
      "tests": [
        "src/App.test.jsx"
      ],
      "tests_total": 1,
      "message": "4 files are affected, 2 of them directly, 1 test among them."
    }
    "#);
    let near = bench.ok("impact", json!({"target": "ToolExecutionService", "depth": 1})).await;
    assert_eq!(near["total"], 2);
    assert!(near["message"].as_str().unwrap().contains("raise depth or max_results"), "{near}");
}

#[tokio::test]
async fn impact_is_drawn_for_graphviz_and_mermaid() {
    let bench = Bench::new("//- /a.py\nimport b\n//- /b.py\n");
    let drawn = async |format: &str| {
        let found = bench.ok("impact", json!({"target": "b.py", "format": format})).await;
        found["text"].as_str().unwrap().to_owned()
    };
    assert!(drawn("dot").await.contains("\"a.py\" -> \"b.py\";"));
    assert!(drawn("mermaid").await.contains("n1 --> n0"));
    let error = bench.err("impact", json!({"target": "b.py", "format": "svg"})).await;
    assert_eq!(error.code, ErrorCode::InvalidArguments);
}
