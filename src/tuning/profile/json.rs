//! The file format. It is strict: an unknown member is an error, except below `evidence`, which is
//! for human readers.

use super::{LevelRates, MachineId, Payloads, Piece, Profile, ProfileError};
use crate::tuning::Tuning;
use nojson::{DisplayJson, RawJson, RawJsonValue, json, object};
use std::path::Path;

/// The version that is written and read.
const VERSION: u64 = 2;

/// One of the sizes.
type Size = fn(&mut Tuning) -> &mut usize;

/// The sizes by name; in the file `null` stands for the largest number: never.
const SIZES: [(&str, Size); 14] = [
    ("broadcast_fused", |t| &mut t.broadcast_fused),
    ("reduce_fused", |t| &mut t.reduce_fused),
    ("all_gather_fused", |t| &mut t.all_gather_fused),
    ("reduce_scatter_fused", |t| &mut t.reduce_scatter_fused),
    ("all_reduce_fused", |t| &mut t.all_reduce_fused),
    ("scan_fused", |t| &mut t.scan_fused),
    ("scatter_fused", |t| &mut t.scatter_fused),
    ("gather_fused", |t| &mut t.gather_fused),
    ("all_to_all_fused", |t| &mut t.all_to_all_fused),
    ("shift_fused", |t| &mut t.shift_fused),
    ("many_ranks", |t| &mut t.many_ranks),
    ("many_ranks_fused", |t| &mut t.many_ranks_fused),
    ("stream_from", |t| &mut t.stream_from),
    ("star_below", |t| &mut t.star_below),
];

/// No profile needs more; a device file may have no end.
const MOST_BYTES: u64 = 16 << 20;

/// Members of one object, each of which is compared with those before it; a tuning has 15.
const MOST_MEMBERS: usize = 64;

pub(super) fn read(path: &Path) -> Result<Profile, ProfileError> {
    let refuse = |what: String| ProfileError::new(format!("it cannot be read: {what}")).of(path);
    let text = crate::file::text(path, MOST_BYTES).map_err(refuse)?;
    parse(&text).map_err(|e| e.of(path))
}

pub(super) fn text(profile: &Profile) -> String {
    let object = json(|f| {
        f.set_indent_size(2);
        f.set_spacing(true);
        f.object(|f| {
            f.member("phalanx_profile", VERSION)?;
            f.member("created", &profile.created)?;
            f.member("machine", profile.machine.as_ref().map(machine_text))?;
            f.member(
                "levels",
                json(|f| f.array(|f| f.elements(profile.levels.iter().map(level_text)))),
            )?;
            f.member("copies", pieces_text(&profile.copies))?;
            f.member("payloads", payloads_text(&Payloads::OWN))?;
            f.member(
                "tunings",
                json(|f| f.array(|f| f.elements(profile.tunings.iter().map(tuning_text)))),
            )
        })
    });
    format!("{object}\n")
}

fn machine_text(machine: &MachineId) -> impl DisplayJson + '_ {
    object(|f| {
        f.member("cpu", &machine.cpu)?;
        f.member("topology", &machine.topology)
    })
}

fn level_text(l: &LevelRates) -> impl DisplayJson + '_ {
    object(|f| {
        f.member("level", &l.level)?;
        f.member("place", &l.place)?;
        f.member("t_s_ns", l.t_s_ns)?;
        f.member("t_s_ci", l.t_s_ci)?;
        f.member("t_w_ns_per_byte", l.t_w_ns_per_byte)?;
        f.member("t_w_ci", l.t_w_ci)?;
        f.member("samples", l.samples)?;
        f.member("pieces", pieces_text(&l.pieces))
    })
}

fn pieces_text(pieces: &[Piece]) -> impl DisplayJson + '_ {
    let piece = |p: &Piece| {
        let p = *p;
        object(move |f| {
            f.member("from_bytes", p.from_bytes)?;
            f.member("t_s_ns", p.t_s_ns)?;
            f.member("t_w_ns_per_byte", p.t_w_ns_per_byte)
        })
    };
    json(move |f| f.array(|f| f.elements(pieces.iter().map(piece))))
}

fn payloads_text(own: &Payloads) -> impl DisplayJson + '_ {
    object(|f| {
        f.member("line_bytes", own.line)?;
        f.member("slot_bytes", own.slot)?;
        f.member("copied_bytes", own.copied)
    })
}

fn tuning_text(&(ranks, tuning): &(usize, Tuning)) -> impl DisplayJson {
    object(move |f| {
        f.member("ranks", ranks)?;
        SIZES.iter().try_for_each(|(name, field)| {
            let size = *field(&mut tuning.clone());
            f.member(*name, (size != usize::MAX).then_some(size))
        })
    })
}

pub(super) fn parse(text: &str) -> Result<Profile, ProfileError> {
    let wrong = |what: String| ProfileError::new(what);
    let raw = RawJson::parse(text).map_err(|e| wrong(damage(&e, text)))?;
    profile(raw.value()).map_err(wrong)
}

/// Where the text stops being json.
fn damage(e: &nojson::JsonParseError, text: &str) -> String {
    match e.get_line_and_column_numbers(text) {
        Some((line, column)) => {
            format!("it is damaged, or no json, at line {line}, column {column}: {e}")
        }
        None => format!("it is damaged, or no json: {e}"),
    }
}

/// An object: where it is, for messages, and its members.
struct Members<'t, 'r> {
    at: String,
    members: Vec<(String, RawJsonValue<'t, 'r>)>,
}

fn profile(value: RawJsonValue<'_, '_>) -> Result<Profile, String> {
    let top = Members::of(value, "the profile")?;
    // The version first: another one may look different altogether.
    match top.find("phalanx_profile") {
        None => return Err("it is no profile: it has no \"phalanx_profile\"".to_string()),
        Some(version) if version.as_raw_str() == VERSION.to_string() => {}
        Some(other) => {
            return Err(format!(
                "it is of version {}, and this library reads version {VERSION}; run phalanx \
                 calibrate again",
                other.as_raw_str()
            ));
        }
    }
    let known =
        ["phalanx_profile", "created", "machine", "levels", "copies", "payloads", "tunings"];
    top.only(&[&known[..], &["evidence"]].concat())?;
    if let Some(found) = top.find("payloads") {
        payloads(found)?;
    }
    let machine = match top.find("machine") {
        None => None,
        Some(machine) if machine.kind().is_null() => None,
        Some(machine) => {
            let machine = Members::of(machine, "machine")?;
            machine.only(&["cpu", "topology"])?;
            Some(MachineId { cpu: machine.text("cpu")?, topology: machine.text("topology")? })
        }
    };
    let mut profile = Profile { machine, created: top.text("created")?, ..Profile::default() };
    for (i, value) in top.list("levels")?.into_iter().enumerate() {
        let level = Members::of(value, &format!("levels[{i}]"))?;
        let rates = rates(&level)?;
        profile = profile.with_level(rates).map_err(|e| format!("{}: {}", level.at, e.what))?;
    }
    let with = profile.with_copies(pieces(&top, "copies")?);
    profile = with.map_err(|e| e.what)?;
    for (i, value) in top.list("tunings")?.into_iter().enumerate() {
        let map = Members::of(value, &format!("tunings[{i}]"))?;
        let names = SIZES.map(|(name, _)| name);
        map.only(&[&["ranks"], &names[..]].concat())?;
        let ranks = map.whole("ranks")?;
        if profile.tunings.iter().any(|(own, _)| *own == ranks) {
            return Err(format!("{}: {ranks} ranks are there twice", map.at));
        }
        let mut tuning = Tuning::default();
        for (name, field) in SIZES {
            *field(&mut tuning) = match map.find(name) {
                Some(value) if value.kind().is_null() => usize::MAX,
                _ => map.whole(name)?,
            };
        }
        let with = profile.with_tuning(ranks, tuning);
        profile = with.map_err(|e| format!("{}: {}", map.at, e.what))?;
    }
    Ok(profile)
}

fn rates(map: &Members<'_, '_>) -> Result<LevelRates, String> {
    let known =
        ["level", "place", "t_s_ns", "t_s_ci", "t_w_ns_per_byte", "t_w_ci", "samples", "pieces"];
    map.only(&known)?;
    Ok(LevelRates {
        level: map.text("level")?,
        place: map.text("place")?,
        t_s_ns: map.number("t_s_ns")?,
        t_s_ci: map.bounds("t_s_ci")?,
        t_w_ns_per_byte: map.number("t_w_ns_per_byte")?,
        t_w_ci: map.bounds("t_w_ci")?,
        samples: map.whole("samples")?,
        pieces: pieces(map, "pieces")?,
    })
}

fn pieces(map: &Members<'_, '_>, name: &str) -> Result<Vec<Piece>, String> {
    let piece = |(i, value)| {
        let piece = Members::of(value, &format!("{}.{name}[{i}]", map.at))?;
        piece.only(&["from_bytes", "t_s_ns", "t_w_ns_per_byte"])?;
        Ok(Piece {
            from_bytes: piece.whole("from_bytes")?,
            t_s_ns: piece.number("t_s_ns")?,
            t_w_ns_per_byte: piece.number("t_w_ns_per_byte")?,
        })
    };
    map.list(name)?.into_iter().enumerate().map(piece).collect()
}

/// Times of messages that travelled in other ways are of no use.
fn payloads(value: RawJsonValue<'_, '_>) -> Result<(), String> {
    let map = Members::of(value, "payloads")?;
    map.only(&["line_bytes", "slot_bytes", "copied_bytes"])?;
    let found = Payloads {
        line: map.whole("line_bytes")?,
        slot: map.whole("slot_bytes")?,
        copied: map.whole("copied_bytes")?,
    };
    let Payloads { line, slot, copied } = Payloads::OWN;
    match found == Payloads::OWN {
        true => Ok(()),
        false => Err(format!(
            "payloads: it was measured with other mailboxes, of {} bytes in a line, {} in a slot, \
             {} copied; \
             this library's have {line}, {slot}, {copied}; run phalanx calibrate again",
            found.line, found.slot, found.copied
        )),
    }
}

impl<'t, 'r> Members<'t, 'r> {
    fn of(value: RawJsonValue<'t, 'r>, at: &str) -> Result<Self, String> {
        let object = value.to_object().map_err(|_| format!("{at}: it has to be an object"))?;
        let mut members: Vec<(String, RawJsonValue<'t, 'r>)> = Vec::new();
        for (name, value) in object {
            let name = name.to_unquoted_string_str().map_err(|e| format!("{at}: {e}"))?;
            if members.iter().any(|(other, _)| *other == name) {
                return Err(format!("{at}: \"{name}\" is there twice"));
            }
            if members.len() == MOST_MEMBERS {
                return Err(format!("{at}: more than {MOST_MEMBERS} members"));
            }
            members.push((name.into_owned(), value));
        }
        Ok(Members { at: at.to_string(), members })
    }

    fn find(&self, name: &str) -> Option<RawJsonValue<'t, 'r>> {
        self.members.iter().find(|(own, _)| own == name).map(|(_, value)| *value)
    }

    /// What `read` makes of a member; it has to be `what`.
    fn get<T>(
        &self,
        name: &str,
        what: &str,
        read: impl FnOnce(RawJsonValue<'t, 'r>) -> Option<T>,
    ) -> Result<T, String> {
        let at = &self.at;
        self.find(name)
            .and_then(read)
            .ok_or_else(|| format!("{at}: \"{name}\" is missing, or is no {what}"))
    }

    fn text(&self, name: &str) -> Result<String, String> {
        self.get(name, "text", |v| Some(v.to_unquoted_string_str().ok()?.into_owned()))
    }

    fn number(&self, name: &str) -> Result<f64, String> {
        self.get(name, "number", number)
    }

    fn whole(&self, name: &str) -> Result<usize, String> {
        self.get(name, "whole number", |v| v.as_integer_str().ok()?.parse().ok())
    }

    fn bounds(&self, name: &str) -> Result<[f64; 2], String> {
        self.get(name, "pair of numbers", |v| {
            let all: Option<Vec<f64>> = v.to_array().ok()?.map(number).collect();
            all?.try_into().ok()
        })
    }

    fn list(&self, name: &str) -> Result<Vec<RawJsonValue<'t, 'r>>, String> {
        self.get(name, "list", |v| Some(v.to_array().ok()?.collect()))
    }

    fn only(&self, known: &[&str]) -> Result<(), String> {
        let at = &self.at;
        match self.members.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) => {
                Err(format!("{at}: unknown member \"{name}\"; known are {}", known.join(", ")))
            }
        }
    }
}

fn number(value: RawJsonValue<'_, '_>) -> Option<f64> {
    crate::decimal::parse(value.as_number_str().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;

    fn sample() -> Profile {
        let machine = Machine::from_synthetic("pack:2 core:2 pu:1").unwrap();
        let rates = LevelRates {
            level: "package".into(),
            place: "any".into(),
            t_s_ns: 100.5,
            t_s_ci: [95.0, 106.0],
            t_w_ns_per_byte: 0.125,
            t_w_ci: [0.1, 0.15],
            samples: 700,
            pieces: vec![
                Piece { from_bytes: 0, t_s_ns: 80.25, t_w_ns_per_byte: 0.0 },
                Piece { from_bytes: 1025, t_s_ns: 210.0, t_w_ns_per_byte: 0.03 },
            ],
        };
        let copies = vec![Piece { from_bytes: 4096, t_s_ns: 12.5, t_w_ns_per_byte: 0.025 }];
        let mut never = Tuning::default();
        for (index, (_, field)) in SIZES.into_iter().enumerate() {
            *field(&mut never) = if index == 9 { usize::MAX } else { 100 + index };
        }
        Profile::of(&machine, "2026-01-02T03:04:05Z")
            .with_level(rates)
            .and_then(|p| p.with_copies(copies))
            .and_then(|p| p.with_tuning(4, never))
            .and_then(|p| p.with_tuning(2, Tuning::default()))
            .unwrap()
    }

    #[test]
    fn what_is_written_is_read_back() {
        for profile in [sample(), Profile::default()] {
            assert_eq!(parse(&text(&profile)).unwrap(), profile);
        }
        let with =
            text(&sample()).replacen('{', "{\"evidence\": {\"any\": [1, \"two\", null]},", 1);
        assert_eq!(parse(&with).unwrap(), sample());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let good = text(&sample());
        for (from, to, wanted) in [
            ("\"phalanx_profile\": 2", "\"phalanx_profile\": 3", "version 3"),
            ("\"phalanx_profile\": 2", "\"phalanx_profile\": 1", "version 1"),
            ("\"phalanx_profile\": 2", "\"phalanx_profile\": \"2\"", "version \"2\""),
            ("\"copies\": [", "\"copy\": [", "unknown member \"copy\""),
            ("\"from_bytes\": 1025", "\"from_bytes\": 0", "longer and longer"),
            ("\"t_s_ns\": 210", "\"t_s_ns\": -210", "must be times"),
            ("\"from_bytes\": 4096", "\"from_bytes\": -1", "copies[0]: \"from_bytes\""),
            ("\"t_s_ns\": 12.5", "\"t_s_ns\": 1e999", "copies: the t_s and t_w"),
            ("\"copied_bytes\": 1024", "\"copied_bytes\": 40", "other mailboxes"),
            ("\"created\": \"2026", "\"created\": 5, \"x\": \"2026", "unknown member \"x\""),
            ("\"created\": \"2026-01-02T03:04:05Z\"", "\"created\": 5", "\"created\""),
            ("\"cpu\":", "\"gpu\":", "unknown member \"gpu\""),
            ("\"cpu\":", "\"topology\": \"\", \"cpu\":", "\"topology\" is there twice"),
            ("\"level\": \"package\"", "\"level\": \"l9\"", "unknown level 'l9'"),
            ("\"t_s_ns\": 100.5", "\"t_s_ns\": -1", "must be times"),
            ("\"t_s_ns\": 100.5", "\"t_s_ns\": 1e999", "must be times"),
            ("\"t_s_ns\": 100.5", "\"t_s_ns\": null", "\"t_s_ns\""),
            ("\"samples\": 700", "\"samples\": 1.5", "\"samples\""),
            ("\"tunings\": [", "\"tunings\": [7, ", "tunings[0]: it has to be an object"),
            ("\"ranks\": 4", "\"ranks\": 0", "1 to 1024"),
            ("\"ranks\": 4", "\"ranks\": 2", "there twice"),
            ("\"reduce_fused\": 101", "\"reduce_fused\": -1", "\"reduce_fused\""),
            ("\"reduce_fused\": 101", "\"reduce_fused\": \"never\"", "\"reduce_fused\""),
            ("\"reduce_fused\": 101,", "", "\"reduce_fused\" is missing"),
            ("\"levels\": [", "\"levels\": [[", "line"),
        ] {
            assert!(good.contains(from), "{from} in {good}");
            let error = parse(&good.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(wanted), "{to}: {error}");
        }
        assert!(parse("[]").unwrap_err().to_string().contains("has to be an object"));
        assert!(parse("{}").unwrap_err().to_string().contains("no profile"));
        assert!(parse("").unwrap_err().to_string().contains("damaged"));
    }

    /// Cut anywhere, one byte changed anywhere, parts repeated or nested
    /// deeply: a profile or an error, never a panic.
    #[test]
    fn damage_never_panics() {
        let good = text(&sample());
        for cut in 0..good.trim_end().len() {
            assert!(parse(&good[..cut]).is_err(), "{cut}");
        }
        let mut state = 1u64;
        let mut next = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % n
        };
        for at in 0..good.len() {
            for with in [b'0', b'9', b'"', b'}', b']', b'-', b'e', b'.', b' ', 0, 0x7f] {
                let mut bytes = good.clone().into_bytes();
                bytes[at] = with;
                let _: Result<Profile, ProfileError> = parse(&String::from_utf8(bytes).unwrap());
            }
        }
        for _ in 0..3000 {
            let mut bytes = good.clone().into_bytes();
            for _ in 0..=next(6) {
                let (from, to) = (next(bytes.len()), next(bytes.len()));
                let len = next(40).min(bytes.len() - from.max(to));
                match next(3) {
                    0 => bytes.copy_within(from..from + len, to),
                    1 => drop(bytes.drain(from..from + len)),
                    _ => bytes[from] = b" \"{}[]:,0-9.eE\\u"[next(16)],
                }
            }
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let _: Result<Profile, ProfileError> = parse(&text);
        }
        for deep in ["[".repeat(100_000), "{\"a\":".repeat(100_000)] {
            assert!(parse(&deep).is_err());
        }
        let numbers = ["1e999", "-1e999", "1e-999", "18446744073709551616", "-0", "1e18"];
        for number in numbers {
            for key in ["\"ranks\": 4", "\"reduce_fused\": 101", "\"t_s_ns\": 100.5"] {
                let name = key.split(' ').next().unwrap();
                assert!(good.contains(key), "{key}");
                let text = good.replace(key, &format!("{name} {number}"));
                let _: Result<Profile, ProfileError> = parse(&text);
            }
        }
    }
}
