//! The plan that the user sees.

use protocol::{SessionEvent, StepStatus};
use serde_json::json;
use session::Session;

use crate::stage::{Scripted, Stage, calls, result_of, says, send};

#[tokio::test]
async fn a_plan_is_in_the_conversation_in_its_log_and_after_resuming_it() {
    let steps = json!([{"text": "Look", "status": "done"}, {"text": "Write"}]);
    let model = Scripted::new(
        "scripted",
        [calls("p1", "plan", json!({"steps": steps})), says("That is the plan.")],
    );
    let stage = Stage::new(&model).await;
    let mut session = stage.begin().await;
    send(&mut session, "Make a plan").await;
    let plan = session.context().plan().to_vec();
    let shown: Vec<_> = plan.iter().map(|step| (step.text.as_str(), step.status)).collect();
    assert_eq!(shown, [("Look", StepStatus::Done), ("Write", StepStatus::Pending)]);
    assert_eq!(result_of(&model.requests()[1], "p1").unwrap(), json!("1 of 2 done"));
    let log = stage.log(&session).await;
    let logged = log.iter().find_map(|entry| match &entry.event {
        SessionEvent::PlanChanged { steps } => Some(steps),
        _ => None,
    });
    assert_eq!(logged, Some(&plan));

    let id = session.id().clone();
    drop(session);
    let (resumed, damage) = Session::resume(stage.parts.clone(), id).await.unwrap();
    assert_eq!(resumed.context().plan(), plan);
    assert!(damage.is_empty());
}
