//! Timelines as documents.

use insta::assert_snapshot;
use proptest::prelude::*;
use protocol::{
    AgentRole, ErrorCode, Image, ImageFormat, LogEntry, Opened, PlanStep, SessionEvent, Settings,
    StepStatus, ToolError, TurnEnd,
};
use pulldown_cmark::{Event, Options, Parser, Tag};
use serde_json::json;
use timeline::{Timeline, html, markdown};

use crate::properties::event;
use crate::story::{answers, call, ends, log, nested, request, runs, says, shows, starts, writes};

fn session() -> Timeline {
    let settings = Settings { provider: "p".into(), model: "m".into(), role: AgentRole::Actor };
    let asked = request("1", writes("a.txt", "one\n"));
    let yes = SessionEvent::ApprovalAnswered { call_id: "1".into(), response: asked.approve() };
    let step = |text: &str, status| PlanStep { text: text.into(), status };
    Timeline::of(&log([
        SessionEvent::Opened(Opened { root: "/p".into(), settings, forked_from: None }),
        SessionEvent::Renamed { title: "Baking".into() },
        shows("Write it", Image::new("a.png", ImageFormat::Png, (2, 1), b"png")),
        SessionEvent::ThinkingDelta { text: "Hm.".into() },
        answers("I **will**.", vec![call("1", "write_file", json!({"path": "a.txt"}))]),
        SessionEvent::PlanChanged {
            steps: vec![step("think", StepStatus::Done), step("write", StepStatus::InProgress)],
        },
        starts("1", Some("Write a.txt")),
        SessionEvent::ApprovalAsked(Box::new(asked)),
        yes,
        ends("1", Ok(json!({"message": "Written."})), Some("Created a.txt, +1")),
        answers("", vec![call("d", "delegate", json!({"task": "look"}))]),
        starts("d", None),
        nested("d", answers("Looking.", vec![call("1", "bash", json!({"command": "ls"}))])),
        nested("d", SessionEvent::ApprovalAsked(Box::new(request("1", runs("ls"))))),
        nested(
            "d",
            ends("1", Err(ToolError::new(ErrorCode::Timeout, "slow").suggest("Wait.")), None),
        ),
        ends("d", Ok(json!({"report": "Small."})), None),
        SessionEvent::TurnEnded(TurnEnd::Done),
    ]))
}

#[test]
fn a_session_in_markdown() {
    assert_snapshot!(markdown(&session()), @r#"
    # Baking

    - Project: /p
    - Model: m of p
    - Role: actor
    - Began: 1970-01-01 00:00:00 UTC
    - Last entry: 1970-01-01 00:00:08 UTC
    - Used: 3.6k tokens · \$0.7500

    *this session is called Baking*

    ## You

    > Write it
    > [image: a.png (PNG image, 2x1 pixels, 3 bytes)]

    ## Thinking

    ```text
    Hm.
    ```

    ## Assistant

    > I **will**.

    ### ✔ Created a.txt, +1 · 4.5 s

    Asked: needs approval: no rule allows it → approved

    ```diff
    diff --git a/a.txt b/a.txt
    new file mode 100644
    --- /dev/null
    +++ b/a.txt
    @@ -0,0 +1 @@
    +one
    ```

    ## Plan

    - [x] think
    - [ ] (in progress) write

    ### ✔ delegate look · 4.5 s

    ```text
    {
      "report": "Small."
    }
    ```

    ### Assistant

    > Looking.

    #### ✘ bash ls · failed · 4.5 s

    Asked: needs approval: no rule allows it → no answer

    TIMEOUT: slow

    Wait.

    ```text
    $ ls
    ```

    *3.0k tokens in · 600 out · \$0.7500 · 6.0 s*

    ---
    "#);
}

#[test]
fn a_session_in_html() {
    let page = html(&session());
    let (head, body) = page.split_once("<main>\n").unwrap();
    assert_snapshot!(body, @r#"
    <h1>Baking</h1>
    <dl>
    <dt>Project</dt><dd>/p</dd>
    <dt>Model</dt><dd>m of p</dd>
    <dt>Role</dt><dd>actor</dd>
    <dt>Began</dt><dd>1970-01-01 00:00:00 UTC</dd>
    <dt>Last entry</dt><dd>1970-01-01 00:00:08 UTC</dd>
    <dt>Used</dt><dd>3.6k tokens · $0.7500</dd>
    </dl>
    <p class="notice info">this session is called Baking</p>
    <section class="message">
    <h2>You</h2>
    <div class="text">Write it
    [image: a.png (PNG image, 2x1 pixels, 3 bytes)]</div>
    <p><img alt="a.png (PNG image, 2x1 pixels, 3 bytes)" src="data:image/png;base64,cG5n"></p>
    </section>
    <details class="thinking"><summary>Thinking</summary>
    <div class="text">Hm.</div>
    </details>
    <section class="answer">
    <p>I <strong>will</strong>.</p>
    </section>
    <details class="call done" open><summary><span class="mark">✔</span> Created a.txt, +1<span class="dim"> · 4.5 s</span></summary>
    <p>needs approval: no rule allows it <strong>approved</strong></p>
    <pre class="diff"><span class="head">diff --git a/a.txt b/a.txt</span><span class="head">new file mode 100644</span><span class="head">--- /dev/null</span><span class="head">+++ b/a.txt</span><span class="place">@@ -0,0 +1 @@</span><span class="add">+one</span></pre>
    <details><summary>Arguments</summary>
    <pre>{
      &quot;path&quot;: &quot;a.txt&quot;
    }</pre>
    </details>
    <details><summary>Result</summary>
    <pre>{
      &quot;message&quot;: &quot;Written.&quot;
    }</pre>
    </details>
    </details>
    <section class="plan">
    <h2>Plan</h2>
    <div>✔ think</div>
    <div>▶ write</div>
    </section>
    <details class="call done"><summary><span class="mark">✔</span> delegate look<span class="dim"> · 4.5 s</span></summary>
    <details><summary>Sub-agent</summary>
    <section class="answer">
    <p>Looking.</p>
    </section>
    <details class="call failed" open><summary><span class="mark">✘</span> bash ls<span class="dim"> · failed · 4.5 s</span></summary>
    <p>needs approval: no rule allows it <strong>no answer</strong></p>
    <pre>$ ls
    </pre>
    <p class="failure text">TIMEOUT: slow</p>
    <p class="warning text">Wait.</p>
    <details><summary>Arguments</summary>
    <pre>{
      &quot;command&quot;: &quot;ls&quot;
    }</pre>
    </details>
    </details>
    </details>
    <details><summary>Arguments</summary>
    <pre>{
      &quot;task&quot;: &quot;look&quot;
    }</pre>
    </details>
    <details><summary>Result</summary>
    <pre>{
      &quot;report&quot;: &quot;Small.&quot;
    }</pre>
    </details>
    </details>
    <p class="turn">3.0k tokens in · 600 out · $0.7500 · 6.0 s</p>
    </main>
    </body>
    </html>
    "#);
    let style = head.find("<style>").unwrap()..head.find("</style>").unwrap();
    let head = format!("{}{}", &head[..style.start], &head[style.end..]);
    assert_snapshot!(head, @r#"
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
    <meta name="viewport" content="width=device-width">
    <title>Baking</title>
    </style>
    </head>
    <body>
    "#);
}

const HOSTILE: &str = "</style><script>alert(1)</script>\"'><img src=x onerror=y>\u{202e}\u{1b}[2J\n\
    ```\n# You\n~~~\n<!-- [a](javascript:b) ![c](http://d/e.png)";

/// A session in which every text that comes from elsewhere is hostile.
fn hostile_session(text: &str) -> Timeline {
    let settings = Settings { provider: text.into(), model: text.into(), role: AgentRole::Actor };
    let mut data = serde_json::to_value(Image::new(text, ImageFormat::Png, (1, 1), b"x")).unwrap();
    data["data"] = text.into();
    let image: Image = serde_json::from_value(data).unwrap();
    let error = ToolError::new(ErrorCode::ExecutionError, text).suggest(text);
    let result = json!({"output": text, "diff": text, "changes": {"dropped": text},
        "checks": [{"name": text, "ok": false, "why": text, "signal": 9}]});
    let step = PlanStep { text: text.into(), status: StepStatus::Pending };
    let mut asked = request("1", writes(text, text));
    asked.reason = text.into();
    let reply = asked.approve().saying(text);
    Timeline::of(&log([
        SessionEvent::Opened(Opened { root: text.into(), settings, forked_from: None }),
        SessionEvent::Renamed { title: text.into() },
        shows(text, image),
        SessionEvent::ThinkingDelta { text: text.into() },
        answers(text, vec![call("1", text, json!({text: text})), call("2", text, json!({}))]),
        SessionEvent::PlanChanged { steps: vec![step] },
        starts("1", Some(text)),
        SessionEvent::ApprovalAsked(Box::new(asked)),
        SessionEvent::ApprovalAnswered { call_id: "1".into(), response: reply },
        nested("1", answers(text, Vec::new())),
        ends("1", Ok(result), Some(text)),
        ends("2", Err(error), None),
        SessionEvent::ApprovalAsked(Box::new(request("3", runs(text)))),
        SessionEvent::Nudged { text: text.into() },
        SessionEvent::TurnEnded(TurnEnd::Done),
    ]))
}

/// The names of all elements, in order.
fn elements(page: &str) -> Vec<&str> {
    let tags = page.split('<').skip(1);
    tags.map(|tag| tag.split(|c: char| !c.is_ascii_alphanumeric() && c != '/' && c != '!').next())
        .map(Option::unwrap_or_default)
        .collect()
}

#[test]
fn hostile_texts_in_html_stay_text() {
    let page = html(&hostile_session(HOSTILE));
    let known = [
        "!doctype", "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "dl",
        "dt", "dd", "section", "div", "p", "img", "details", "summary", "span", "strong", "pre",
        "code",
    ];
    for element in elements(&page) {
        assert!(known.contains(&element.trim_start_matches('/')), "{element}");
    }
    assert_eq!(page.matches("</style>").count(), 1);
    assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'));
    // Bytes that are not Base64 are not an address.
    assert!(!page.contains("<img"));
    assert!(!page.contains("javascript:b\"") && !page.contains("href=\"java"));
}

/// The levels of headings, and what is more than text.
fn structure(document: &str) -> (Vec<String>, Vec<String>) {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let (mut depth, mut headings, mut active) = (0, Vec::new(), Vec::new());
    for event in Parser::new_ext(document, options) {
        match event {
            Event::Start(Tag::BlockQuote(_)) => depth += 1,
            Event::End(pulldown_cmark::TagEnd::BlockQuote(_)) => depth -= 1,
            Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                headings.push(level.to_string());
            }
            Event::Html(html) | Event::InlineHtml(html) => active.push(html.to_string()),
            Event::Start(Tag::Image { dest_url, .. } | Tag::Link { dest_url, .. })
                if !dest_url.starts_with("http") =>
            {
                active.push(dest_url.to_string());
            }
            Event::Start(Tag::Image { dest_url, .. }) => active.push(dest_url.to_string()),
            _ => {}
        }
    }
    (headings, active)
}

#[test]
fn a_message_cannot_make_links_of_another() {
    let timeline = Timeline::of(&log([
        answers("[a]: javascript:b", Vec::new()),
        answers("[a] and ![a]", Vec::new()),
    ]));
    assert_eq!(structure(&markdown(&timeline)).1, Vec::<String>::new());
}

#[test]
fn a_tab_that_is_code_alone_but_not_in_a_quotation_hides_nothing() {
    let timeline = Timeline::of(&log([says("\t</style><script>")]));
    assert!(markdown(&timeline).ends_with("> \t\\</style>\\<script>\n"));
}

#[test]
fn hostile_texts_in_markdown_stay_text() {
    let (headings, active) = structure(&markdown(&hostile_session(HOSTILE)));
    let (expected, _) = structure(&markdown(&hostile_session("harmless")));
    assert_eq!(active, Vec::<String>::new());
    assert_eq!(headings, expected);
}

proptest! {
    #[test]
    fn every_timeline_is_a_document(events in prop::collection::vec(event(), 0..25)) {
        let entries: Vec<LogEntry> = log(events);
        let timeline = Timeline::of(&entries);
        let page = html(&timeline);
        let count = |tag: &str| page.matches(tag).count();
        prop_assert_eq!(count("<details"), count("</details>"));
        prop_assert_eq!(count("<script"), 0);
        prop_assert_eq!(count("</style>"), 1);
        let document = markdown(&timeline);
        let (headings, active) = structure(&document);
        prop_assert_eq!(active, Vec::<String>::new());
        let titled = timeline.items().iter().filter(|item| {
            use timeline::ItemBody::{Answer, Call, Message, Plan, Thinking};
            matches!(item.body, Message(_) | Answer(_) | Thinking { .. } | Call(_) | Plan { .. })
        });
        prop_assert_eq!(headings.len(), titled.count() + 1, "{}", document);
    }

    #[test]
    fn any_text_stays_text(text in "[-a<>/!\\[\\]()`~&:\\\\\\n \"=#*_|1.>+\t]{0,50}") {
        // Of nothing there is no heading.
        let (headings, active) = structure(&markdown(&hostile_session(&(text + "a"))));
        let (expected, _) = structure(&markdown(&hostile_session("harmless")));
        prop_assert_eq!(active, Vec::<String>::new());
        prop_assert_eq!(headings.len(), expected.len());
    }

    #[test]
    fn a_message_is_in_its_document(text in "[a-z]{1,20}") {
        let timeline = Timeline::of(&log([says(&text)]));
        let quoted = format!("> {text}\n");
        prop_assert!(markdown(&timeline).contains(&quoted));
        prop_assert!(html(&timeline).contains(&text));
    }
}
