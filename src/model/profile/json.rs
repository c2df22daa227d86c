//! The file. Strict: what is not known is an error, except below `evidence`,
//! which is for eyes.

use super::{Fingerprint, LevelRates, Profile, ProfileError, Switch};
use crate::schedule::{Algorithm, Operation};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The version that is written and read.
const VERSION: u64 = 1;

/// No profile needs more; a device file may have no end.
const MOST_BYTES: u64 = 16 << 20;

pub(super) fn read(path: &Path) -> Result<Profile, ProfileError> {
    let refuse = |what: String| ProfileError::new(what).of(path);
    let about = std::fs::metadata(path).map_err(|e| refuse(format!("it cannot be read: {e}")))?;
    if !about.is_file() {
        return Err(refuse("it cannot be read: it is no file".to_string()));
    }
    if about.len() > MOST_BYTES {
        return Err(refuse(format!("{} bytes are more than any profile needs", about.len())));
    }
    let text =
        std::fs::read_to_string(path).map_err(|e| refuse(format!("it cannot be read: {e}")))?;
    parse(&text).map_err(|e| e.of(path))
}

pub(super) fn text(profile: &Profile) -> String {
    let machine = profile.machine.as_ref();
    let level = |l: &LevelRates| {
        json!({
            "level": l.level,
            "place": l.place,
            "t_s_ns": l.t_s_ns,
            "t_s_ci": l.t_s_ci,
            "t_w_ns_per_byte": l.t_w_ns_per_byte,
            "t_w_ci": l.t_w_ci,
            "samples": l.samples,
        })
    };
    let step = |s: &Switch| json!({ "from_bytes": s.from_bytes, "algorithm": s.algorithm.id() });
    let switches = profile.switches.iter().map(|s| {
        json!({
            "operation": s.operation.name(),
            "ranks": s.ranks,
            "steps": s.steps.iter().map(step).collect::<Vec<_>>(),
        })
    });
    let object = json!({
        "phalanx_profile": VERSION,
        "created": profile.created,
        "machine": machine.map(|m| json!({ "cpu": m.cpu, "topology": m.topology })),
        "levels": profile.levels.iter().map(level).collect::<Vec<_>>(),
        "switches": switches.collect::<Vec<_>>(),
    });
    format!("{object:#}\n")
}

pub(super) fn parse(text: &str) -> Result<Profile, ProfileError> {
    let value: Value = serde_json::from_str(text)
        .map_err(|e| ProfileError::new(format!("it is damaged, or no json: {e}")))?;
    profile(&value).map_err(ProfileError::new)
}

fn profile(value: &Value) -> Result<Profile, String> {
    let Some(top) = value.as_object() else { return Err("it is no object".to_string()) };
    // The version first: another one may look different altogether.
    match top.get("phalanx_profile") {
        None => return Err("it is no profile: it has no \"phalanx_profile\"".to_string()),
        Some(version) if version.as_u64() == Some(VERSION) => {}
        Some(other) => {
            return Err(format!(
                "it is of version {other}, and this library reads version {VERSION}; run phalanx calibrate again"
            ));
        }
    }
    let known = ["phalanx_profile", "created", "machine", "levels", "switches", "evidence"];
    only(top, &known, "the profile")?;
    let machine = match top.get("machine") {
        None | Some(Value::Null) => None,
        Some(machine) => {
            let machine = object(machine, "machine")?;
            only(machine, &["cpu", "topology"], "machine")?;
            let text = |key| string(machine, key, "machine");
            Some(Fingerprint { cpu: text("cpu")?, topology: text("topology")? })
        }
    };
    let created = string(top, "created", "the profile")?;
    let mut profile = Profile { machine, created, ..Profile::default() };
    for (i, level) in list(top, "levels", "the profile")?.iter().enumerate() {
        let at = format!("levels[{i}]");
        let level = rates(object(level, &at)?, &at)?;
        profile = profile.with_level(level).map_err(|e| format!("{at}: {}", e.what))?;
    }
    for (i, switches) in list(top, "switches", "the profile")?.iter().enumerate() {
        let at = format!("switches[{i}]");
        let map = object(switches, &at)?;
        only(map, &["operation", "ranks", "steps"], &at)?;
        let operation: Operation =
            string(map, "operation", &at)?.parse().map_err(|e| format!("{at}: {e}"))?;
        let ranks = whole(map, "ranks", &at)?;
        if profile.switches.iter().any(|s| (s.operation, s.ranks) == (operation, ranks)) {
            return Err(format!("{at}: {operation} on {ranks} ranks is there twice"));
        }
        let steps = list(map, "steps", &at)?.iter().map(|step| {
            let map = object(step, &at)?;
            only(map, &["from_bytes", "algorithm"], &at)?;
            let algorithm: Algorithm =
                string(map, "algorithm", &at)?.parse().map_err(|e| format!("{at}: {e}"))?;
            Ok(Switch { from_bytes: whole(map, "from_bytes", &at)?, algorithm })
        });
        let steps: Vec<Switch> = steps.collect::<Result<_, String>>()?;
        profile = profile
            .with_switches(operation, ranks, &steps)
            .map_err(|e| format!("{at}: {}", e.what))?;
    }
    Ok(profile)
}

fn rates(map: &Map<String, Value>, at: &str) -> Result<LevelRates, String> {
    let known = ["level", "place", "t_s_ns", "t_s_ci", "t_w_ns_per_byte", "t_w_ci", "samples"];
    only(map, &known, at)?;
    let bounds = |key: &str| match list(map, key, at)?.as_slice() {
        [a, b] => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => Ok([a, b]),
            _ => Err(format!("{at}: \"{key}\" has to be two numbers")),
        },
        _ => Err(format!("{at}: \"{key}\" has to be two numbers")),
    };
    Ok(LevelRates {
        level: string(map, "level", at)?,
        place: string(map, "place", at)?,
        t_s_ns: number(map, "t_s_ns", at)?,
        t_s_ci: bounds("t_s_ci")?,
        t_w_ns_per_byte: number(map, "t_w_ns_per_byte", at)?,
        t_w_ci: bounds("t_w_ci")?,
        samples: whole(map, "samples", at)?,
    })
}

fn only(map: &Map<String, Value>, known: &[&str], at: &str) -> Result<(), String> {
    match map.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(format!("{at}: unknown member \"{key}\"; known are {}", known.join(", "))),
    }
}

fn object<'a>(value: &'a Value, at: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("{at}: it has to be an object"))
}

fn list<'a>(map: &'a Map<String, Value>, key: &str, at: &str) -> Result<&'a Vec<Value>, String> {
    let list = map.get(key).and_then(Value::as_array);
    list.ok_or_else(|| format!("{at}: \"{key}\" is missing, or is no list"))
}

fn string(map: &Map<String, Value>, key: &str, at: &str) -> Result<String, String> {
    let text = map.get(key).and_then(Value::as_str);
    text.map(str::to_string).ok_or_else(|| format!("{at}: \"{key}\" is missing, or is no text"))
}

fn number(map: &Map<String, Value>, key: &str, at: &str) -> Result<f64, String> {
    let number = map.get(key).and_then(Value::as_f64);
    number.ok_or_else(|| format!("{at}: \"{key}\" is missing, or is no number"))
}

fn whole(map: &Map<String, Value>, key: &str, at: &str) -> Result<usize, String> {
    let number = map.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    number.ok_or_else(|| format!("{at}: \"{key}\" is missing, or is no whole number"))
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
        };
        let steps = [
            Switch { from_bytes: 0, algorithm: Algorithm::SC_ANY },
            Switch { from_bytes: 8192, algorithm: Algorithm::SC_NAIVE },
        ];
        Profile::of(&machine, "2026-01-02T03:04:05Z")
            .with_level(rates)
            .and_then(|p| p.with_switches(Operation::Scatter, 4, &steps))
            .and_then(|p| p.with_switches(Operation::Scatter, 2, &steps[..1]))
            .unwrap()
    }

    #[test]
    fn what_is_written_is_read_back() {
        for profile in [sample(), Profile::default()] {
            assert_eq!(parse(&text(&profile)).unwrap(), profile);
        }
        let mut value: Value = serde_json::from_str(&text(&sample())).unwrap();
        value["evidence"] = json!({ "anything": [1, "two", null] });
        assert_eq!(parse(&value.to_string()).unwrap(), sample());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let good: Value = serde_json::from_str(&text(&sample())).unwrap();
        let error = |pointer: &str, to: Value| {
            let mut value = good.clone();
            *value.pointer_mut(pointer).unwrap() = to;
            parse(&value.to_string()).unwrap_err().to_string()
        };
        for (pointer, to, wanted) in [
            ("/phalanx_profile", json!(2), "version 2"),
            ("/phalanx_profile", json!("1"), "version \"1\""),
            ("/created", json!(5), "\"created\""),
            ("/machine", json!([]), "machine: it has to be an object"),
            ("/machine/cpu", json!(null), "\"cpu\""),
            ("/levels/0/level", json!("l9"), "unknown level 'l9'"),
            ("/levels/0/t_s_ns", json!(-1.0), "must be times"),
            ("/levels/0/t_s_ci", json!([1]), "two numbers"),
            ("/levels/0/samples", json!(1.5), "\"samples\""),
            ("/switches/0/operation", json!("bcast"), "unknown operation 'bcast'"),
            ("/switches/0/ranks", json!(0), "1 to 1024"),
            ("/switches/0/ranks", json!(2), "there twice"),
            ("/switches/0/steps", json!([]), "from 0 bytes"),
            ("/switches/0/steps/0/from_bytes", json!(1), "from 0 bytes"),
            ("/switches/0/steps/1/from_bytes", json!(0), "do not ascend"),
            ("/switches/0/steps/0/algorithm", json!("SC-RNIG"), "did you mean"),
            ("/switches/0/steps/0/algorithm", json!("AG-ANY"), "not for scatter"),
        ] {
            let error = error(pointer, to);
            assert!(error.contains(wanted), "{pointer}: {error}");
        }
        let mut value = good.clone();
        value["chunk"] = json!(1);
        let unknown = parse(&value.to_string()).unwrap_err().to_string();
        assert!(unknown.contains("unknown member \"chunk\""), "{unknown}");
        assert!(parse("[]").unwrap_err().to_string().contains("no object"));
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
            for key in ["\"ranks\": 4", "\"from_bytes\": 8192", "\"t_s_ns\": 100.5"] {
                let name = key.split(' ').next().unwrap();
                assert!(good.contains(key), "{key}");
                let text = good.replace(key, &format!("{name} {number}"));
                let _: Result<Profile, ProfileError> = parse(&text);
            }
        }
    }
}
