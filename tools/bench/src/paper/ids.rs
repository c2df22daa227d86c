//! Every id of the catalogue's checklist: the algorithms, their aliases, and the entries that are
//! no schedules.

use crate::suggest;
use phalanx::schedule::{Algorithm, Operation, UnknownAlgorithm};

/// Other names for algorithms.
const ALIASES: [(&str, Algorithm); 9] = [
    ("BC-AP", Algorithm::BC_AP_HCUBE),
    ("RED-AP", Algorithm::RED_AP_HCUBE),
    ("AG-AP", Algorithm::AG_AP_HCUBE),
    ("RS-AP", Algorithm::RS_AP_HCUBE),
    ("AR-AP", Algorithm::AR_AP_HCUBE),
    ("SC-AP", Algorithm::SC_AP_HCUBE),
    ("GA-AP", Algorithm::GA_AP_HCUBE),
    ("TX-AP", Algorithm::TX_AP_HCUBE),
    ("SCAN-VEC", Algorithm::SCAN_HCUBE),
];

/// Entries that are no schedules, and where they are to be seen.
const ELSEWHERE: [(&str, &str); 12] = [
    ("EMB-RGC-RING", "phalanx cost CS-HC-RGC-F -p 8 --shift 1 --on hypercube"),
    ("EMB-RGC-MESH", "phalanx::topology::gray on the coordinates of a mesh"),
    ("EMB-RING-MESH", "phalanx cost AG-RING -p 16 --on torus"),
    ("EMB-HC-RING", "phalanx cost AG-HCUBE -p 8 --on ring"),
    ("EMB-HC-LINEAR", "phalanx cost AG-HCUBE -p 8 --on linear"),
    ("EMB-HC-MESH", "phalanx cost AG-HCUBE -p 16 --on torus"),
    ("EMB-HC-TREE", "phalanx cost AG-HCUBE -p 8 --on tree"),
    ("EMB-ECUBE-XOR", "phalanx cost TX-HCUBE-XOR -p 8 --on hypercube"),
    ("EMB-ECUBE-SHIFT", "phalanx cost CS-HC-ECUBE -p 8 --shift 3 --on hypercube"),
    ("COST-DIL", "phalanx cost ID -p RANKS --on NETWORK"),
    ("COST-CONG", "phalanx cost ID -p RANKS --on NETWORK"),
    ("COST-XOVER", "phalanx cost --all OP -p RANKS --words M --ts T --tw T"),
];

/// One line of the list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) id: &'static str,
    /// None: no schedule.
    pub(crate) algorithm: Option<Algorithm>,
    /// The words where the line is not an algorithm's own.
    see: &'static str,
}

impl Entry {
    /// The operations, joined by commas.
    pub(crate) fn operations(&self) -> String {
        let names: &[Operation] = self.algorithm.map_or(&[], Algorithm::operations);
        names.iter().map(|op| op.name()).collect::<Vec<_>>().join(",")
    }

    /// Its needs.
    pub(crate) fn needs(&self) -> &'static str {
        self.algorithm.map_or("", Algorithm::precondition)
    }

    /// Where it comes from.
    pub(crate) fn source(&self) -> &'static str {
        self.algorithm.map_or("section 2", Algorithm::source)
    }

    /// One line on it.
    pub(crate) fn about(&self) -> String {
        match self.algorithm {
            Some(algorithm) if algorithm.id() == self.id => algorithm.about().to_string(),
            Some(algorithm) => format!("another name of {algorithm}"),
            None => format!("no schedule: see {}", self.see),
        }
    }
}

/// All of them.
pub(crate) fn list() -> Vec<Entry> {
    let own = Algorithm::ALL.iter().map(|&a| Entry { id: a.id(), algorithm: Some(a), see: "" });
    let other = ALIASES.iter().map(|&(id, a)| Entry { id, algorithm: Some(a), see: "" });
    let none = ELSEWHERE.iter().map(|&(id, see)| Entry { id, algorithm: None, see });
    own.chain(other).chain(none).collect()
}

/// Reads an id, or says which is nearest.
pub fn parse(text: &str) -> Result<Algorithm, String> {
    let id = text.trim().to_ascii_uppercase().replace('_', "-");
    let all = list();
    match all.iter().find(|entry| entry.id == id) {
        Some(Entry { algorithm: Some(algorithm), .. }) => Ok(*algorithm),
        Some(entry) => Err(format!("{id} is {}", entry.about())),
        None => {
            let whole = |e: UnknownAlgorithm| {
                let said = e.to_string();
                let sign = if said.ends_with('?') { "" } else { ";" };
                format!("{said}{sign} `phalanx trace --list` names all")
            };
            text.trim().parse().map_err(whole)
        }
    }
}

/// Reads an operation, or says which is nearest.
pub fn parse_operation(text: &str) -> Result<Operation, String> {
    suggest::find("operation", text, &Operation::ALL.map(|it| (it.name(), it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checklist of the catalogue, section 5.
    #[test]
    fn the_checklist_is_complete() {
        let checklist = "BC-NAIVE BC-RING BC-LINEAR BC-LOOP BC-MESH BC-MESHD BC-HCUBE \
            BC-HCUBE-SRC BC-TREE-LEAF BC-TREE-NODE RED-RING RED-LINEAR RED-MESH RED-MESHD \
            RED-HCUBE RED-TREE-LEAF RED-TREE-NODE AG-NAIVE AG-RING AG-LINEAR AG-MESH AG-MESHD \
            AG-HCUBE AG-PIPE RS-RING RS-LINEAR RS-MESH RS-HCUBE AR-NAIVE AR-HCUBE AR-RING \
            AR-MESH BAR-AR SCAN-HCUBE SCAN-VEC SC-NAIVE SC-HCUBE SC-RING SC-MESH SC-LINEAR \
            SC-TREE-LEAF GA-HCUBE GA-RING GA-MESH GA-LINEAR TX-RING TX-MESH TX-HCUBE \
            TX-HCUBE-XOR CS-RING CS-MESH CS-MESH-MIN CS-HC-RGC-F CS-HC-RGC-FB CS-HC-ECUBE \
            BC-SPLIT-HCUBE BC-SPLIT-RING BC-SPLIT-MESH RED-SPLIT-HCUBE RED-SPLIT-RING \
            RED-SPLIT-MESH AR-SPLIT-HCUBE AR-SPLIT-RING AR-SPLIT-MESH BC-AP RED-AP AG-AP RS-AP \
            SC-AP GA-AP TX-AP AG-AP-RING TX-AP-RING AG-AP-MESH TX-AP-MESH EMB-RGC-RING \
            EMB-RGC-MESH EMB-RING-MESH EMB-HC-RING EMB-HC-MESH EMB-HC-LINEAR EMB-HC-TREE \
            EMB-ECUBE-XOR EMB-ECUBE-SHIFT COST-DIL COST-CONG COST-XOVER";
        let all = list();
        for id in checklist.split_whitespace() {
            assert_eq!(all.iter().filter(|e| e.id == id).count(), 1, "{id}");
        }
    }

    #[test]
    fn the_nearest_id_is_offered() {
        let refused = |text| parse(text).unwrap_err();
        assert!(refused("AG-RNIG").contains("did you mean AG-RING?"));
        assert!(refused("EMB-HC-RING").contains("phalanx cost AG-HCUBE -p 8 --on ring"));
        assert_eq!(parse("ag_ap"), Ok(Algorithm::AG_AP_HCUBE));
        assert!(parse_operation("all-gahter").unwrap_err().contains("did you mean all-gather?"));
    }
}
