use std::sync::Arc;

use super::*;
use crate::credentials::Secrets;
use crate::guard::Site;

fn app() -> Arc<WebApp> {
    let hub = SessionHub::new(Vec::new());
    let secrets = Secrets::generate().unwrap();
    WebApp::new(
        hub,
        Site::loopback(([127, 0, 0, 1], 1).into(), &[]),
        &secrets,
        Arc::new(|_: &str| ()),
    )
    .unwrap()
    .0
}

async fn next(stream: &mut EventStream) -> Option<String> {
    stream.next().await.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_client_hears_something_even_if_nothing_happens_until_the_service_ends() {
    let app = app();
    let mut stream = EventStream::open(&app, Follow::default()).await.unwrap();
    let hello = "id: \nevent: hello\ndata: {\"beat_ms\":10000}\n\n";
    assert_eq!(next(&mut stream).await.as_deref(), Some(hello));
    let none = "event: questions\ndata: {\"questions\":[]}\n\n";
    assert_eq!(next(&mut stream).await.as_deref(), Some(none));
    for _ in 0..3 {
        let before = Instant::now();
        assert_eq!(next(&mut stream).await.as_deref(), Some("event: beat\ndata: {}\n\n"));
        assert!(before.elapsed() <= BEAT + Duration::from_millis(1));
    }
    // A change that shows nothing is not an event.
    app.hub.signal().tell();
    assert_eq!(next(&mut stream).await.as_deref(), Some("event: beat\ndata: {}\n\n"));
    app.closing.cancel();
    assert_eq!(next(&mut stream).await, None);
}

#[tokio::test]
async fn a_session_that_does_not_exist_is_refused_unless_the_client_comes_back() {
    let app = app();
    let gone = "1hf7yat00zzzzzzzzzzz";
    let follow = Follow::parse(gone, None).unwrap();
    assert!(EventStream::open(&app, follow).await.is_err());
    let follow = Follow::parse("", Some(&format!("{gone}:3"))).unwrap();
    assert!(EventStream::open(&app, follow).await.is_ok());
}
