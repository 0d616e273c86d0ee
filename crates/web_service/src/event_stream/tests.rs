use std::sync::Arc;

use super::*;
use crate::credentials::Secrets;
use crate::guard::Site;
use crate::hub::SessionHub;
use crate::view::Viewer;

/// A service with its sessions, as its only user sees them.
fn app() -> (Arc<WebApp>, Arc<SessionHub>, HubView) {
    let hub = SessionHub::new(Vec::new());
    let secrets = Secrets::generate().unwrap();
    let site = Site::loopback(([127, 0, 0, 1], 1).into(), &[]);
    let log = Arc::new(|_: &str| ());
    let (app, _) = WebApp::new(Arc::clone(&hub), site, &secrets, log).unwrap();
    let view = HubView::new(Arc::clone(&hub), Viewer::Only);
    (app, hub, view)
}

async fn next(stream: &mut EventStream) -> Option<String> {
    stream.next().await.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_client_hears_something_even_if_nothing_happens_until_the_service_ends() {
    let (app, hub, view) = app();
    let mut stream = EventStream::open(&app, view, Follow::default()).await.unwrap();
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
    hub.signal().tell();
    assert_eq!(next(&mut stream).await.as_deref(), Some("event: beat\ndata: {}\n\n"));
    app.closing.cancel();
    assert_eq!(next(&mut stream).await, None);
}

#[tokio::test]
async fn a_session_that_does_not_exist_is_refused_unless_the_client_comes_back() {
    let (app, _, view) = app();
    let gone = "1hf7yat00zzzzzzzzzzz";
    let follow = Follow::parse(gone, None).unwrap();
    assert!(EventStream::open(&app, view.clone(), follow).await.is_err());
    let follow = Follow::parse("", Some(&format!("{gone}:3"))).unwrap();
    assert!(EventStream::open(&app, view, follow).await.is_ok());
}
