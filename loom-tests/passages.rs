// Passages of the library's sources, found by their tokens: layout and comments do not matter.
// (Included by the build scripts of both kinds of models.)

/// A token and its place in the text: a word, a string or character, or one sign.
fn tokens(text: &str) -> Vec<(&str, std::ops::Range<usize>)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80;
    while at < bytes.len() {
        let rest = &text[at..];
        let end = if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        } else if bytes[at].is_ascii_whitespace() {
            at += 1;
            continue;
        } else if bytes[at] == b'"' {
            let mut end = at + 1;
            while bytes.get(end).is_some_and(|&b| b != b'"') {
                end += 1 + usize::from(bytes[end] == b'\\');
            }
            end + 1
        } else if bytes[at] == b'\''
            && (rest[1..].starts_with('\\') || rest[2..].starts_with('\''))
        {
            // A character, not a lifetime.
            at + 2 + rest[2..].find('\'').unwrap_or(0) + 1
        } else if word(bytes[at]) {
            at + bytes[at..].iter().take_while(|&&b| word(b)).count()
        } else {
            at + 1
        };
        let end = end.min(bytes.len());
        found.push((&text[at..end], at..end));
        at = end;
    }
    found
}

/// Where `passage` stands in `text`. A comma before a closing sign does not count.
fn places(text: &str, passage: &str) -> Vec<std::ops::Range<usize>> {
    let plain = |text| {
        let all: Vec<(&str, std::ops::Range<usize>)> = tokens(text);
        let is_last =
            |i: usize| all.get(i + 1).is_some_and(|next| [")", "]", "}"].contains(&next.0));
        let kept = (0..all.len()).filter(|&i| all[i].0 != "," || !is_last(i));
        kept.map(|i| all[i].clone()).collect::<Vec<_>>()
    };
    let (all, wanted) = (plain(text), plain(passage));
    let fits = |part: &[(&str, std::ops::Range<usize>)]| {
        part.iter().zip(&wanted).all(|(a, b)| a.0 == b.0)
    };
    let parts = all.windows(wanted.len()).filter(|part| fits(part));
    parts.map(|part| part[0].1.start..part[part.len() - 1].1.end).collect()
}

/// Puts `to` in the place of `from`, which must stand in `files` exactly once.
fn replace(files: &mut [(String, String)], name: &str, from: &str, to: &str) {
    let found: usize = files.iter().map(|(_, text)| places(text, from).len()).sum();
    assert_eq!(found, 1, "the library has changed; {name}: {from}");
    for (_, text) in files {
        for place in places(text, from) {
            text.replace_range(place, to);
        }
    }
}
