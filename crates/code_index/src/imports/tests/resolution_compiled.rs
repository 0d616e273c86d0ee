//! Where imports lead in languages whose files see each other by package, namespace or build file.

use super::{edges, importers};

#[test]
fn tests_of_another_go_package_import_the_one_beside_them() {
    let project = r#"
//- /go.mod
module example.com/app
//- /db/db.go
package db
//- /db/export_test.go
package db
//- /db/inner_test.go
package db
import "fmt"
//- /db/outer_test.go
package db_test
import "example.com/app/db"
//- /main.go
package main
import "example.com/app/db"
"#;
    let table: [(&str, &[&str]); 5] = [
        ("db/db.go", &["db/outer_test.go:2", "main.go:2"]),
        ("example.com/app/db", &["db/outer_test.go:2", "main.go:2"]),
        ("db", &["db/outer_test.go:2", "main.go:2"]),
        // What it adds for tests only the tests see.
        ("db/export_test.go", &["db/outer_test.go:2"]),
        ("db/outer_test.go", &[]),
    ];
    for (asked, expected) in table {
        assert_eq!(importers(project, asked), expected, "{asked}");
    }
}

#[test]
fn includes_are_found_where_the_compiler_looks() {
    let project = r#"
//- /compile_commands.json
[{"directory": "/build/x/out", "file": "/build/x/src/a.c", "command": "cc -I../second -I../first a.c"}]
//- /src/a.c
#include <x.h>
//- /first/x.h
//- /second/x.h
#include "deep/y.h"
//- /first/deep/y.h
"#;
    insta::assert_snapshot!(edges(project).join("\n"), @"
    second/x.h:1 -> first/deep/y.h
    src/a.c:1 -> second/x.h
    ");
}

#[test]
fn includes_are_found_where_cmake_says() {
    let project = r#"
//- /CMakeLists.txt
include_directories(${PROJECT_SOURCE_DIR}/api)
//- /app/main.cpp
#include <shape.h>
#include <lib/box.h>
#include "x.h"
//- /api/shape.h
//- /other/shape.h
//- /lib/CMakeLists.txt
target_include_directories(lib PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/public> PRIVATE private)
//- /lib/public/lib/box.h
//- /old/lib/box.h
//- /lib/private/x.h
//- /a/x.h
//- /b/x.h
"#;
    insta::assert_snapshot!(edges(project).join("\n"), @"
    app/main.cpp:1 -> api/shape.h
    app/main.cpp:2 -> lib/public/lib/box.h
    app/main.cpp:3 -> lib/private/x.h
    ");
}

#[test]
fn java_sees_its_own_package_without_an_import() {
    let project = "
//- /src/main/java/com/x/App.java
package com.x;
import com.x.db.Store;
class App { Helper helper; Store store; String text; Missing missing; }
//- /src/main/java/com/x/Helper.java
package com.x;
class Helper {}
//- /src/main/java/com/x/db/Store.java
package com.x.db;
public class Store {}
//- /src/main/java/com/x/db/Helper.java
package com.x.db;
class Helper {}
//- /src/test/java/com/x/AppTest.java
package com.x;
class AppTest { App app = new App(); }
";
    insta::assert_snapshot!(edges(project).join("\n"), @"
    src/main/java/com/x/App.java:2 -> src/main/java/com/x/db/Store.java
    src/main/java/com/x/App.java:3 -> src/main/java/com/x/Helper.java
    src/test/java/com/x/AppTest.java:2 -> src/main/java/com/x/App.java
    ");
}

#[test]
fn csharp_sees_types_by_namespace() {
    let project = "
//- /Cart.cs
namespace Shop.Sales;
public partial class Cart { Order last; }
//- /Cart.g.cs
namespace Shop.Sales { partial class Cart { } }
//- /Orders.cs
namespace Shop { class Order { } class MarkAttribute { } enum State { Open } }
//- /Tools.cs
namespace Shop.Text { static class Tools { public static int Twice(this int a) => a; } }
//- /Main.cs
using System;
using Shop.Sales;
using Shop.Text;
using Renamed = Shop.State;
class Program { Cart cart; int b = 1.Twice(); Shop.Order order; String text; }
//- /Elsewhere.cs
namespace Other { class Cart { } class Uses { Cart cart; } }
//- /Marked.cs
using Shop;
[Mark] class Marked { }
";
    insta::assert_snapshot!(edges(project).join("\n"), @"
    Cart.cs:2 -> Orders.cs
    Main.cs:2 -> Cart.cs
    Main.cs:2 -> Cart.g.cs
    Main.cs:3 -> Tools.cs
    Main.cs:4 -> Orders.cs
    Main.cs:5 -> Orders.cs
    Marked.cs:1 -> Orders.cs
    ");
    assert_eq!(importers(project, "Orders.cs"), ["Cart.cs:2", "Main.cs:4", "Marked.cs:1"]);
    assert_eq!(importers(project, "Cart.cs"), ["Main.cs:2"]);
}
