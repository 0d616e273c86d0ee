use super::*;

/// The pieces with their inks in words.
fn marked(text: &str) -> String {
    let name = |ink: Ink| {
        let names = [
            (Ink::BOLD, "b"),
            (Ink::ITALIC, "i"),
            (Ink::STRUCK, "s"),
            (Ink::CYAN, "c"),
            (Ink::UNDERLINED, "u"),
            (Ink::DIM, "d"),
        ];
        let set = names.iter().filter(|(own, _)| ink.and(*own) == ink);
        set.map(|(_, name)| *name).collect::<String>()
    };
    let drawn = pieces(text, Ink::PLAIN, false).into_iter().map(|piece| match name(piece.ink) {
        ink if ink.is_empty() => piece.text,
        ink => format!("{{{ink}:{}}}", piece.text),
    });
    drawn.collect()
}

#[test]
fn emphasis_code_and_links_are_found() {
    let table = [
        ("a **b** c", "a {b:b} c"),
        ("*a **b** c*", "{i:a }{bi:b}{i: c}"),
        ("**a *b***", "{b:a }{bi:b}"),
        ("***a***", "{bi:a}"),
        ("**a *b**", "{b:a *b}"),
        ("~~gone~~ ~5", "{s:gone} ~5"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("snake_case_name and _i_", "snake_case_name and {i:i}"),
        ("`a*b*` ``x ` y``", "{c:a*b*} {c:x ` y}"),
        ("**`a**b`**", "{bc:a**b}"),
        ("\\*no\\* C:\\x", "*no* C:\\x"),
        ("[docs](https://d.rs)", "{u:docs} {d:(https://d.rs)}"),
        ("[https://d.rs](https://d.rs)", "{u:https://d.rs}"),
        ("![pic](a_b.png) v[0] [x] y", "{u:pic} {d:(a_b.png)} v[0] [x] y"),
        ("<https://d.rs> <br> a<b", "{u:https://d.rs} <br> a<b"),
        ("R&amp;D &lt;b&gt; &#65;&#x42; `&amp;`", "R&D <b> AB {c:&amp;}"),
        ("a && b &nope; &amp", "a && b &nope; &amp"),
        ("&#42;no&#42; &#x1b;[2J", "*no* \\x1B[2J"),
        ("*not closed", "*not closed"),
        ("**over\ntwo lines**", "{b:over\ntwo lines}"),
    ];
    for (text, expected) in table {
        assert_eq!(marked(text), expected, "{text}");
    }
}

#[test]
fn where_links_can_be_followed_targets_are_not_shown() {
    let shown = |text| -> String {
        let mark = |piece: StyledText| match piece.target {
            Some(target) => format!("<{}|{target}>", piece.text),
            None => piece.text,
        };
        pieces(text, Ink::PLAIN, true).into_iter().map(mark).collect()
    };
    assert_eq!(shown("[a **b**](https://c) d"), "<a |https://c><b|https://c> d");
    assert_eq!(shown("[x](src/x.rs) <mailto:a@b>"), "x (src/x.rs) <mailto:a@b|mailto:a@b>");
    assert_eq!(shown("[x](javascript:y) [](https://c)"), "x (javascript:y)  (https://c)");
}

#[test]
fn what_could_still_become_a_mark_is_held_back_and_the_rest_is_not() {
    let settled = |text| {
        let mut pieces = Vec::new();
        let source = InlineSource { text, before: None, complete: false, links: false };
        settle(source, Ink::PLAIN, &mut pieces)
    };
    for (text, expected) in [
        ("words come", 10),
        ("words **bold", 6),
        ("a `co", 2),
        ("see [docs](http", 4),
        ("2 * 3", 5),
        ("a_b", 3),
        ("wow!", 3),
        ("R&am", 1),
        ("a & b", 5),
    ] {
        assert_eq!(settled(text), expected, "{text}");
    }
    let endless = format!("*{}", "a ".repeat(LONGEST_SPAN));
    assert_eq!(settled(&endless), endless.len());
}
