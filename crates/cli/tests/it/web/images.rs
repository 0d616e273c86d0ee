//! Images that are pasted into a message.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use testkit::{Fixture, ModelServer, Reply};

use super::conversation::until_idle;
use super::service::Service;
use crate::agent::images::PIXEL;

#[test]
fn an_image_reaches_the_model_and_is_shown_again() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let model = ModelServer::start([Reply::text("A red pixel.")]);
    let service = Service::start(&project, &model);
    let session = service.begin();
    let mut watcher = service.watch(&session);
    let messages = format!("/api/sessions/{session}/messages");
    // What it is said to be does not count.
    let image = json!({"name": "shot.png", "data": PIXEL});
    let sent = service.post(&messages, json!({"text": "What is this?", "images": [image]}));
    assert_eq!(sent["notes"], json!(["attached shot.png (PNG image, 1x1 pixels, 70 bytes)"]));
    until_idle(&mut watcher, &session);
    assert_eq!(model.calls()[0].images(), [PIXEL]);

    let said = &service.items(&session)[0];
    assert_eq!(said["words"], "What is this?", "without the image in words");
    let shown = &service.items(&session)[0]["images"][0];
    assert_eq!((&shown["name"], &shown["media_type"]), (&json!("shot.png"), &json!("image/png")));
    let hash = shown["hash"].as_str().unwrap();
    let address = format!("GET /api/sessions/{session}/images/{hash}");
    let answer = service.request(&address, &[&service.token("chat")], "");
    assert_eq!(answer.status, 200);
    assert!(answer.bytes == STANDARD.decode(PIXEL).unwrap());
    for header in ["content-type: image/png\n", "x-content-type-options: nosniff\n"] {
        assert!(answer.head.contains(header), "{}", answer.head);
    }
    assert_eq!(service.request(&address, &[], "").refusal(), "401 UNAUTHORIZED");
    // An image of one session is not an image of another.
    let other = service.begin();
    let address = format!("GET /api/sessions/{other}/images/{hash}");
    let all = service.token("all");
    assert_eq!(service.request(&address, &[&all], "").refusal(), "404 NOT_FOUND");
    let address = format!("GET /api/sessions/{session}/images/..%2F..%2Fsecrets");
    assert_eq!(service.request(&address, &[&all], "").refusal(), "404 NOT_FOUND");
}

#[test]
fn what_is_not_an_image_is_refused_with_the_whole_message() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let service = Service::start_with(&project, &["--provider", "offline"]);
    let session = service.begin();
    let messages = format!("/api/sessions/{session}/messages");
    let svg = STANDARD.encode("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>");
    let table = [
        (vec![json!({"data": svg})], "image 1 cannot be sent: "),
        (vec![json!({"data": "no Base64!"})], "image 1 is not valid Base64"),
        (vec![json!({"data": PIXEL}); 21], "a message has at most 20 images"),
    ];
    for (images, expected) in table {
        let refused = service.try_post(&messages, json!({"text": "Look", "images": images}));
        assert_eq!(refused.refusal(), "400 INVALID_ARGUMENTS");
        let told = refused.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(told.starts_with(expected), "{told}");
    }
    assert!(service.items(&session).is_empty());
}
