//! What models are shown of definitions, uses, imports and outlines.

use serde_json::json;

use crate::harness::Bench;

const PROJECT: &str = "\
//- /src/shape.ts
export interface Shape {
  area(unit: string): number;
}
export class Circle implements Shape {
  private r = 1;
  area(unit: string, digits?: number) { return this.r; }
}
function area() {}
//- /src/draw.ts
import { Circle } from './shape';

export const circle = new Circle();
//- /src/draw.test.ts
import { circle } from './draw';
circle.area('m');
";

#[tokio::test]
async fn a_definition_is_its_file_and_its_line() {
    let bench = Bench::new(PROJECT);
    insta::assert_snapshot!(bench.text("find_definition", json!({"symbol": "Circle"})).await, @r"
    src/shape.ts
    4⇥export class Circle implements Shape
    ");
    let around = json!({"symbol": "Circle", "context": 1});
    insta::assert_snapshot!(bench.text("find_definition", around).await, @r"
    src/shape.ts
    3-⇥}
    4⇥export class Circle implements Shape
    5-⇥  private r = 1;
    ");
    insta::assert_snapshot!(bench.text("find_definition", json!({"symbol": "area"})).await, @r"
    src/shape.ts
    2⇥area(unit: string): number [Shape]
    6⇥area(unit: string, digits?: number) [Circle]
    8⇥function area()
    ");
    let one = json!({"symbol": "area", "max_results": 1});
    let text = bench.text("find_definition", one).await;
    assert!(text.ends_with("\n[1 of 3 definitions; more: max_results=3, type or path]"), "{text}");
}

#[tokio::test]
async fn imports_are_shown_where_nothing_else_is_found() {
    let bench = Bench::new("//- /a.ts\nimport { Far } from 'far';\nexport const x = Far;\n");
    insta::assert_snapshot!(bench.text("find_definition", json!({"symbol": "Far"})).await, @r"
    a.ts
    1⇥import { Far } from 'far'
    ");
    insta::assert_snapshot!(bench.text("find_definition", json!({"symbol": "Fer"})).await, @"No definition of `Fer` found; 1 file looked at. Did you mean `far` (a.ts:1)?");
    let qualified = bench.text("find_definition", json!({"symbol": "Near::Far"})).await;
    assert!(
        qualified.ends_with("\n[no `Near::Far`; these have the same last name]"),
        "{qualified}"
    );
}

#[tokio::test]
async fn uses_stand_below_their_file_and_say_what_they_are() {
    let bench = Bench::new(PROJECT);
    insta::assert_snapshot!(bench.text("find_references", json!({"symbol": "Circle"})).await, @r"
    src/draw.ts
    1 import⇥import { Circle } from './shape';
    3⇥export const circle = new Circle();
    src/shape.ts
    4 def⇥export class Circle implements Shape {
    ");
    let one = json!({"symbol": "Circle", "max_results": 1});
    insta::assert_snapshot!(bench.text("find_references", one).await, @r"
    src/draw.ts
    1 import⇥import { Circle } from './shape';
    [1 of 3 references in 2 files; more: max_results=2, or path]
    ");
    insta::assert_snapshot!(bench.text("find_references", json!({"symbol": "nothing"})).await, @"No references to `nothing`; 3 files looked at.");
}

#[tokio::test]
async fn importers_and_what_depends_on_them() {
    let bench = Bench::new(PROJECT);
    insta::assert_snapshot!(bench.text("find_importers", json!({"target": "src/shape.ts"})).await, @r"
    src/draw.ts
    1⇥import { Circle } from './shape';
    ");
    insta::assert_snapshot!(bench.text("find_importers", json!({"target": "lodash"})).await, @"Nothing imports `lodash`, and it matches no file of the project.");
    insta::assert_snapshot!(bench.text("impact", json!({"target": "src/shape.ts"})).await, @r"
    src/shape.ts (1)
      src/draw.ts (1)
        src/draw.test.ts [test]
    tests:
    src/draw.test.ts
    [2 files are affected, 1 of them directly, 1 test among them]
    ");
}

#[tokio::test]
async fn an_outline_is_folded_unless_depth_asks_for_more() {
    let bench = Bench::new(PROJECT);
    insta::assert_snapshot!(bench.text("outline", json!({"path": "src/shape.ts"})).await, @r"
    1⇥export interface Shape
    2⇥ area(unit): number
    4⇥export class Circle implements Shape { r }
    6⇥ area(unit, digits?)
    8⇥function area()
    ");
    let deep = json!({"path": "src/shape.ts", "depth": 3});
    insta::assert_snapshot!(bench.text("outline", deep).await, @r"
    1⇥export interface Shape
    2⇥ area(unit: string): number
    4⇥export class Circle implements Shape
    5⇥ private r = 1
    6⇥ area(unit: string, digits?: number)
    8⇥function area()
    ");
    insta::assert_snapshot!(bench.text("outline", json!({"path": "src"})).await, @r"
    src/draw.test.ts
    src/draw.ts
    3⇥export const circle = new Circle()
    src/shape.ts
    1⇥export interface Shape
    4⇥export class Circle implements Shape
    8⇥function area()
    ");
    let small = bench.text("outline", json!({"path": "src/shape.ts", "max_tokens": 10})).await;
    assert!(
        small.contains("more\n[6 lines of structure. Raise max_tokens, or lower depth"),
        "{small}"
    );
}

#[tokio::test]
async fn people_are_told_what_was_looked_for() {
    let bench = Bench::new(PROJECT);
    let mut told = Vec::new();
    for (tool, arguments) in [
        ("find_definition", json!({"symbol": "Circle"})),
        ("find_definition", json!({"symbol": "Square", "path": "src"})),
        ("find_references", json!({"symbol": "Circle"})),
        ("find_importers", json!({"target": "src/shape.ts"})),
        ("impact", json!({"target": "src/shape.ts"})),
        ("outline", json!({"path": "src/shape.ts"})),
        ("outline", json!({})),
    ] {
        told.push(bench.told(tool, arguments).await);
    }
    insta::assert_snapshot!(told.join("\n"), @r"
    Looked for the definition of Circle → Found Circle in src/shape.ts, line 4
    Looked for the definition of Square in src → Found no definition of Square
    Looked for uses of Circle → Found 3 references in 2 files
    Looked for importers of src/shape.ts → Found 1 import in 1 file
    Looked at what a change of src/shape.ts affects → Found 2 files that depend on src/shape.ts, 1 test among them
    Outlined src/shape.ts → Outlined src/shape.ts, 6 lines
    Outlined the project → Outlined the project, 4 lines
    ");
}
