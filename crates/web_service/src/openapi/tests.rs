mod items;

use std::collections::BTreeSet;

use super::*;

#[test]
fn every_reference_of_the_description_leads_somewhere() {
    let document = document(&crate::routes());
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 50, "{}", found.len());
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

#[test]
fn what_is_both_read_and_written_looks_the_same() {
    let routes = crate::routes();
    let mut described = Described::new();
    for route in &routes {
        for schema in [route.query, route.body].into_iter().flatten() {
            schema(&mut described.read);
        }
        if let Some(schema) = route.answer {
            schema(&mut described.written);
        }
    }
    let written = described.written.take_definitions(true);
    for (name, read) in described.read.take_definitions(true) {
        assert!(written.get(&name).is_none_or(|written| *written == read), "{name}");
    }
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member.as_str().filter(|_| name == "$ref") {
                    Some(reference) => found.push(reference.to_owned()),
                    None => references(member, found),
                }
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| references(element, found)),
        _ => {}
    }
}

#[test]
fn every_schema_is_a_valid_one_and_every_operation_has_its_own_name() {
    let document = document(&crate::routes());
    let mut names = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{method} {path}: {name}");
        }
    }
    assert_eq!(names.len(), crate::routes().len());
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        assert!(jsonschema::meta::is_valid(schema), "{name}");
    }
}

/// Whatever needs no login is in this list, and whatever can answer a question or run a tool has the
/// scope of its own.
#[test]
fn what_each_route_needs() {
    let rows = crate::routes().into_iter().map(|route| {
        let need = match route.need {
            Need::Nothing => "nothing",
            Need::Login => "login",
            Need::Scope(scope) => scope.word(),
        };
        format!("{need:8} {:6} {}", route.method.as_str(), route.path)
    });
    insta::assert_snapshot!(rows.collect::<Vec<_>>().join("\n"), @r"
    nothing  GET    /api
    nothing  GET    /api/proof
    nothing  GET    /api/login
    nothing  POST   /api/login
    login    POST   /api/logout
    login    GET    /api/overview
    login    GET    /api/projects
    login    GET    /api/models
    login    GET    /api/stats
    tools    GET    /api/files
    tools    GET    /api/files/content
    tools    GET    /api/search
    login    POST   /api/highlight
    login    GET    /api/sessions
    chat     POST   /api/sessions
    login    GET    /api/sessions/{session}
    chat     PATCH  /api/sessions/{session}
    chat     DELETE /api/sessions/{session}
    login    GET    /api/sessions/{session}/timeline
    chat     POST   /api/sessions/{session}/fork
    login    GET    /api/sessions/{session}/export
    chat     POST   /api/sessions/{session}/messages
    login    GET    /api/sessions/{session}/images/{hash}
    login    GET    /api/sessions/{session}/queue
    chat     DELETE /api/sessions/{session}/queue/{message}
    chat     POST   /api/sessions/{session}/interrupt
    chat     POST   /api/sessions/{session}/continue
    chat     POST   /api/sessions/{session}/rewind
    login    GET    /api/approvals
    login    GET    /api/approvals/{owner}/{question}
    approve  POST   /api/approvals/{owner}/{question}
    login    GET    /api/sessions/{session}/diff
    login    GET    /api/sessions/{session}/changed
    login    GET    /api/history
    tools    POST   /api/history/undo
    tools    POST   /api/history/redo
    chat     GET    /api/complete
    login    GET    /api/custom-tools
    approve  POST   /api/custom-tools/trust
    login    GET    /api/stats/days
    login    GET    /api/search/all
    login    GET    /api/tools
    tools    POST   /api/tools/{tool}
    login    GET    /api/policy
    tools    POST   /api/policy/explain
    approve  DELETE /api/policy/{rule}
    login    GET    /api/events
    login    GET    /api/sessions/{session}/log
    ");
}
