//! The system's limits to the memory and the threads of this process, for errors.

/// The limits in words; what is not known is left out.
pub(crate) fn in_words() -> String {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let group = std::fs::read_to_string("/sys/fs/cgroup/pids.max").unwrap_or_default();
    words(&limits, &group)
}

fn words(limits: &str, group: &str) -> String {
    let rows: &[_] = &[
        ("Max address space", "address space (ulimit -v)", " bytes"),
        ("Max processes", "processes and threads (ulimit -u)", ""),
    ];
    let mut known = Vec::new();
    for (name, words, unit) in rows {
        let soft = limits.lines().find_map(|it| it.strip_prefix(name));
        if let Some(it) = soft.and_then(|it| it.split_whitespace().next()) {
            known.push(format!("{words} {it}{}", if it == "unlimited" { "" } else { unit }));
        }
    }
    if group.trim().parse::<u64>().is_ok() {
        known.push(format!("threads of the container (pids.max) {}", group.trim()));
    }
    match known.is_empty() {
        true => "the system's limits are not known".to_string(),
        false => format!("limits of this process: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn limits_are_named_as_far_as_they_are_known() {
        let table = "Limit              Soft Limit  Hard Limit  Units\n\
                     Max processes      96365       96365       processes \n\
                     Max address space  204800000   unlimited   bytes     \n";
        let space = "address space (ulimit -v) 204800000 bytes";
        let threads = "processes and threads (ulimit -u) 96365";
        let all = format!("limits of this process: {space}, {threads}");
        assert_eq!(words(table, "max\n"), all);
        assert_eq!(
            words(table, "512\n"),
            format!("{all}, threads of the container (pids.max) 512")
        );
        assert_eq!(words("", ""), "the system's limits are not known");
        let open = table.replace("204800000", "unlimited");
        assert!(words(&open, "").contains("(ulimit -v) unlimited, "));
    }
}
