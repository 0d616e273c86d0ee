//! What agents answer for their users over MCP, in the audit.

use serde_json::json;

use super::Replicas;
use crate::web::agents::{Agent, adding};

#[test]
fn what_a_client_of_mcp_answers_is_in_the_audit() {
    let Some(replicas) = Replicas::new([]) else { return };
    let (first, second) = (replicas.start(), replicas.start());
    let user = first.get("/api/me")["id"].take();
    let answers = [
        ("form", json!({"action": "accept", "content": {"decision": "once"}}), "approved"),
        ("form", json!({"action": "accept", "content": {"decision": "deny"}}), "denied"),
        ("form", json!({"action": "cancel"}), "denied"),
        ("url", json!({"action": "decline"}), "denied"),
    ];
    let mut before = Vec::new();
    for (way, answer, verdict) in answers {
        let capabilities = json!({"elicitation": {way: {}}});
        let agent = Agent { token: "all", capabilities, ..Agent::new(&first) };
        let asked = agent.result("tools/call", adding());
        let mut again = adding();
        again["requestState"] = asked["requestState"].clone();
        again["inputResponses"] = json!({"approval": answer});
        let done = agent.result("tools/call", again);
        assert_eq!(done["isError"], verdict != "approved", "{done}");
        let audit = second.get("/api/audit?project=app")["entries"].take();
        let is_answer = |row: &&serde_json::Value| row["subject"] == "append_file";
        let mut rows: Vec<_> =
            audit.as_array().unwrap().iter().filter(is_answer).cloned().collect();
        let row = rows.remove(0);
        assert_eq!(rows, before, "{way} {answer}: one row each");
        assert_eq!((&row["kind"], &row["user"]), (&json!(verdict), &user), "{way} {answer}");
        assert!(row["at"].as_i64().unwrap() > 0, "{row}");
        before = [vec![row], rows].concat();
    }
}
