use std::num::NonZeroU16;

use super::*;

fn frames(states: &[(&str, u64)]) -> Vec<Frame> {
    let size = |number| NonZeroU16::new(number).expect("not zero");
    let mut parser = vt100::Parser::new(size(4), size(24), 0);
    let frame = |(bytes, milliseconds): &(&str, u64)| {
        parser.process(bytes.as_bytes());
        Frame::new(parser.screen(), *milliseconds)
    };
    states.iter().map(frame).collect()
}

#[test]
fn a_run_becomes_an_animation_whose_last_frame_stands_without_it() {
    let frames = frames(&[
        ("╭──╮\r\n│\x1b[32m›\x1b[0m │\r\n╰──╯\x1b[2;4H", 300),
        ("\x1b[2;3H\x1b[1m窯\x1b[0m \x1b[7m<a & b>\x1b[0m", 500),
        ("\x1b[?25l\x1b[4;1H\x1b[3;4;38;5;208mdone\x1b[0;2m  ok · 3.44 s", 1200),
    ]);
    insta::assert_snapshot!(svg(&frames, 24, "A <run>"), @r##"
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 233.6 104" width="233.6" height="104" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" role="img">
    <title>A &lt;run&gt;</title>
    <style>
    text { white-space: pre; }
    @media (prefers-reduced-motion: no-preference) {
    .f0 { animation: k0 2000ms step-end infinite; }
    @keyframes k0 { 0% { visibility: visible; } 15% { visibility: hidden; } }
    .f1 { animation: k1 2000ms step-end infinite; }
    @keyframes k1 { 0% { visibility: hidden; } 15% { visibility: visible; } 40% { visibility: hidden; } }
    .f2 { animation: k2 2000ms step-end infinite; }
    @keyframes k2 { 0% { visibility: hidden; } 40% { visibility: visible; } 100% { visibility: visible; } }
    }
    </style>
    <defs>
    <g id="r0"><path d="M8.4 9Q4.2 9 4.2 18M8.4 9h16.8M25.2 9Q29.4 9 29.4 18" fill="none" stroke="#d8dee9"/></g>
    <g id="r1"><path d="M4.2 9L4.2 0M4.2 9L4.2 18" fill="none" stroke="#d8dee9"/><text x="8.4" y="13.5" textLength="8.4" lengthAdjust="spacingAndGlyphs" xml:space="preserve" fill="#a3d27f">›</text><path d="M29.4 9L29.4 0M29.4 9L29.4 18" fill="none" stroke="#d8dee9"/></g>
    <g id="r2"><path d="M8.4 9Q4.2 9 4.2 0M8.4 9h16.8M25.2 9Q29.4 9 29.4 0" fill="none" stroke="#d8dee9"/></g>
    <g id="r3"><path d="M4.2 9L4.2 0M4.2 9L4.2 18" fill="none" stroke="#d8dee9"/><text x="8.4" y="13.5" textLength="8.4" lengthAdjust="spacingAndGlyphs" xml:space="preserve" fill="#a3d27f">›</text><text x="16.8" y="13.5" textLength="16.8" lengthAdjust="spacingAndGlyphs" xml:space="preserve" fill="#d8dee9" font-weight="bold">窯</text><rect x="42" width="58.8" height="18" fill="#d8dee9"/><text x="42" y="13.5" textLength="58.8" lengthAdjust="spacingAndGlyphs" xml:space="preserve" fill="#161a21">&lt;a &amp; b&gt;</text></g>
    <g id="r4"><text x="0" y="13.5" textLength="33.6" lengthAdjust="spacingAndGlyphs" xml:space="preserve" fill="#ff8700" font-style="italic" text-decoration="underline">done</text><text x="58.8" y="13.5" textLength="84" lengthAdjust="spacingAndGlyphs" xml:space="preserve" fill="#d8dee9" opacity="0.6">ok · 1.2 s</text></g>
    </defs>
    <rect x="0.5" y="0.5" width="232.6" height="103" rx="10" fill="#161a21" stroke="#3b4252"/>
    <g class="f0" visibility="hidden">
    <use href="#r0" x="16" y="16"/>
    <use href="#r1" x="16" y="34"/>
    <use href="#r2" x="16" y="52"/>
    <rect x="41.2" y="34" width="8.4" height="18" fill="#d8dee9" fill-opacity="0.55"/>
    </g>
    <g class="f1" visibility="hidden">
    <use href="#r0" x="16" y="16"/>
    <use href="#r3" x="16" y="34"/>
    <use href="#r2" x="16" y="52"/>
    <rect x="116.8" y="34" width="8.4" height="18" fill="#d8dee9" fill-opacity="0.55"/>
    </g>
    <g class="f2">
    <use href="#r0" x="16" y="16"/>
    <use href="#r3" x="16" y="34"/>
    <use href="#r2" x="16" y="52"/>
    <use href="#r4" x="16" y="70"/>
    </g>
    </svg>
    "##);
}

#[test]
fn the_same_frames_give_the_same_bytes_and_rows_are_defined_once() {
    let frames = frames(&[("one\r\ntwo", 10), ("\r\nthree", 10)]);
    let picture = svg(&frames, 24, "t");
    assert_eq!(picture, svg(&frames.clone(), 24, "t"));
    assert_eq!(picture.matches(">one</text>").count(), 1);
    assert_eq!(picture.matches("<use href=\"#r0\"").count(), 2);
}

#[test]
fn one_frame_is_a_plain_picture() {
    let picture = svg(&frames(&[("still", 1000)]), 24, "t");
    assert!(!picture.contains("animation") && !picture.contains("hidden"), "{picture}");
}
