//! Published measurements of real machines.
//!
//! One way is half of a compare-and-swap ping-pong, the median over all pairs of cores of the level,
//! unless the source says otherwise. Spreads that were not published are given as the median itself.
//! Rates are of one core reading what another has written. Of a triad over the whole
//! machine, a package is given half. What was not found is `None`, never a guess.

use std::sync::LazyLock;

use super::costs::{LevelCost, MachineCosts, MemoryCosts};
use crate::machine::Level;

/// The machines.
pub(super) static TABLE: LazyLock<Vec<MachineCosts>> =
    LazyLock::new(|| ROWS.iter().map(Row::costs).collect());

/// A level, hand-off times, rate, source.
type LevelRow = (Level, [f64; 3], Option<f64>, &'static str);

struct Row {
    id: &'static str,
    name: &'static str,
    synthetic: &'static str,
    levels: &'static [LevelRow],
    /// One core, an L3, a node, a package, the link; cache per core in MiB.
    memory: [Option<f64>; 6],
    source: &'static str,
}

impl Row {
    fn costs(&self) -> MachineCosts {
        let level = |&(level, hand_off, rate, source): &LevelRow| LevelCost {
            level,
            hand_off,
            rate,
            source: source.into(),
        };
        let [one_core, per_l3, per_node, per_package, link, cache_per_core] = self.memory;
        let source = self.source.into();
        MachineCosts {
            id: self.id.into(),
            name: self.name.into(),
            synthetic: self.synthetic.into(),
            levels: self.levels.iter().map(level).collect(),
            memory: MemoryCosts {
                one_core,
                per_l3,
                per_node,
                per_package,
                link,
                cache_per_core,
                source,
            },
        }
    }
}

const fn machine(
    id: &'static str,
    name: &'static str,
    synthetic: &'static str,
    levels: &'static [LevelRow],
    memory: [Option<f64>; 6],
    source: &'static str,
) -> Row {
    Row { id, name, synthetic, levels, memory, source }
}

static ROWS: &[Row] = &[
    machine(
        "epyc-7742-2s-nps4",
        "2x AMD EPYC 7742 (Rome, Zen 2)",
        "pack:2 group:4 [numa] l3:4 core:4 pu:2",
        &[
            (Level::Core, [8.0, 8.0, 8.1], None, "KCORES/core-to-core-latency-plus@264ea0a1"),
            (Level::L3, [24.7, 25.3, 26.3], None, "KCORES/core-to-core-latency-plus@264ea0a1"),
            (Level::Numa, [100.9, 113.9, 130.7], None, "KCORES/core-to-core-latency-plus@264ea0a1"),
            (
                Level::Package,
                [110.7, 134.6, 140.1],
                None,
                "KCORES/core-to-core-latency-plus@264ea0a1",
            ),
            (
                Level::Machine,
                [255.1, 266.6, 274.7],
                None,
                "KCORES/core-to-core-latency-plus@264ea0a1",
            ),
        ],
        [Some(28.0), Some(32.4), Some(37.2), Some(147.8), None, Some(4.0)],
        "node: simon-r/My_Stream_Benchmark RESULTS.md (128 MPI ranks, copy); rest: gist v0dro/0559e1d9b205ca9ac0ad1a29fe10377b (DGX A100 host, affinity 0-63:2, 1/4/8/32 threads)",
    ),
    machine(
        "orfeo-epyc-7h12-2s",
        "2x AMD EPYC 7H12 (Rome), ORFEO cluster, SMT off, NPS4",
        "pack:2 group:4 [numa] l3:4 core:4 pu:1",
        &[
            (Level::L3, [24.7, 25.3, 26.3], None, "KCORES/core-to-core-latency-plus@264ea0a1"),
            (Level::Numa, [100.9, 113.9, 130.7], None, "KCORES/core-to-core-latency-plus@264ea0a1"),
            (
                Level::Package,
                [110.7, 134.6, 140.1],
                None,
                "KCORES/core-to-core-latency-plus@264ea0a1",
            ),
            (
                Level::Machine,
                [255.1, 266.6, 274.7],
                None,
                "KCORES/core-to-core-latency-plus@264ea0a1",
            ),
        ],
        [None, None, None, Some(171.2), None, Some(4.0)],
        "Foundations-of-HPC/Foundations_of_HPC_2022@300db269 Basic/Benchmarking/STREAM/stream-on-epyc.md (icc, 32 threads)",
    ),
    machine(
        "epyc-7763-2s",
        "2x AMD EPYC 7763 (Milan, Zen 3)",
        "pack:2 [numa] l3:8 core:8 pu:2",
        &[
            (Level::Core, [10.2, 10.2, 10.2], None, "KCORES/core-to-core-latency-plus@264ea0a1"),
            (Level::L3, [21.5, 24.9, 27.8], None, "KCORES/core-to-core-latency-plus@264ea0a1"),
            (
                Level::Package,
                [106.9, 124.2, 134.4],
                None,
                "KCORES/core-to-core-latency-plus@264ea0a1",
            ),
            (
                Level::Machine,
                [292.6, 303.6, 322.7],
                None,
                "KCORES/core-to-core-latency-plus@264ea0a1",
            ),
        ],
        [None, None, None, Some(170.0), None, Some(4.0)],
        "learn.microsoft.com STREAM page: HBv3 (EPYC 7V73X, 120 cores) ~330-350",
    ),
    machine(
        "epyc-7r13-2s",
        "2x AMD EPYC 7R13 (Milan, AWS c6a.metal)",
        "pack:2 [numa] l3:6 core:8 pu:2",
        &[
            (Level::Core, [9.8, 9.8, 9.8], None, "KCORES/core-to-core-latency-plus@264ea0a1"),
            (Level::L3, [20.8, 22.7, 24.9], None, "KCORES/core-to-core-latency-plus@264ea0a1"),
            (
                Level::Package,
                [92.1, 107.6, 111.5],
                None,
                "KCORES/core-to-core-latency-plus@264ea0a1",
            ),
            (
                Level::Machine,
                [187.5, 197.2, 204.0],
                None,
                "KCORES/core-to-core-latency-plus@264ea0a1",
            ),
        ],
        [None, None, None, None, None, Some(4.0)],
        "",
    ),
    machine(
        "epyc-9654-2s-nps4",
        "2x AMD EPYC 9654 (Genoa, Zen 4), SMT off",
        "pack:2 group:4 [numa] l3:3 core:8 pu:1",
        &[
            (Level::L3, [25.9, 27.1, 29.3], None, "KCORES/core-to-core-latency-plus@264ea0a1"),
            (Level::Numa, [88.0, 90.2, 92.6], None, "KCORES/core-to-core-latency-plus@264ea0a1"),
            (
                Level::Package,
                [95.9, 100.2, 103.1],
                None,
                "KCORES/core-to-core-latency-plus@264ea0a1",
            ),
            (
                Level::Machine,
                [187.8, 191.6, 195.4],
                None,
                "KCORES/core-to-core-latency-plus@264ea0a1",
            ),
        ],
        [None, None, None, Some(357.5), None, Some(4.0)],
        "learn.microsoft.com STREAM page: HBv4 (EPYC 9V33X Genoa-X, 176 cores) ~650-780",
    ),
    machine(
        "epyc-9754-2s",
        "2x AMD EPYC 9754 (Bergamo, Zen 4c)",
        "pack:2 [numa] l3:16 core:8 pu:2",
        &[
            (Level::Core, [12.7, 12.7, 12.7], None, "KCORES/core-to-core-latency-plus@264ea0a1"),
            (Level::L3, [31.1, 32.5, 34.8], None, "KCORES/core-to-core-latency-plus@264ea0a1"),
            (
                Level::Package,
                [105.3, 110.5, 114.6],
                None,
                "KCORES/core-to-core-latency-plus@264ea0a1",
            ),
            (
                Level::Machine,
                [199.0, 203.6, 208.3],
                None,
                "KCORES/core-to-core-latency-plus@264ea0a1",
            ),
        ],
        [None, None, None, None, None, Some(2.0)],
        "",
    ),
    machine(
        "xeon-8375c-2s",
        "2x Intel Xeon Platinum 8375C (Ice Lake-SP, 32 cores)",
        "pack:2 [numa] l3:1 core:32 pu:2",
        &[
            (Level::Core, [8.0, 8.0, 8.2], None, "nviennot/core-to-core-latency@96a943ac"),
            (Level::L3, [46.0, 51.3, 56.6], None, "nviennot/core-to-core-latency@96a943ac"),
            (Level::Machine, [103.3, 107.8, 112.0], None, "nviennot/core-to-core-latency@96a943ac"),
        ],
        [None, None, None, None, None, Some(1.6875)],
        "",
    ),
    machine(
        "xeon-8360y-2s",
        "2x Intel Xeon Platinum 8360Y (Ice Lake-SP, 36 cores)",
        "pack:2 [numa] l3:1 core:36 pu:2",
        &[
            (Level::Core, [7.6, 7.6, 7.6], None, "KCORES/core-to-core-latency-plus@264ea0a1"),
            (Level::L3, [45.6, 50.3, 54.2], None, "KCORES/core-to-core-latency-plus@264ea0a1"),
            (
                Level::Machine,
                [109.8, 113.6, 116.9],
                None,
                "KCORES/core-to-core-latency-plus@264ea0a1",
            ),
        ],
        [None, None, None, Some(176.2), Some(55.7), Some(1.5)],
        "gjbex/Code-optimization@d917fb88 info/icelake_mlc.txt",
    ),
    machine(
        "xeon-w9-3475x-1s",
        "Intel Xeon w9-3475X (Sapphire Rapids, 36 cores, SMT off)",
        "pack:1 [numa] l3:1 core:36 pu:1",
        &[(Level::L3, [46.4, 55.3, 64.1], None, "KCORES/core-to-core-latency-plus@264ea0a1")],
        [None, None, None, None, None, Some(2.29)],
        "",
    ),
    machine(
        "xeon-8468-2s-snc4",
        "2x Intel Xeon Platinum 8468 (Sapphire Rapids, SNC4)",
        "pack:2 group:4 [numa] l3:1 core:12 pu:1",
        &[(Level::L3, [46.4, 55.3, 64.1], None, "KCORES/core-to-core-latency-plus@264ea0a1")],
        [None, None, Some(61.4), Some(245.9), None, Some(2.1875)],
        "gjbex/Code-optimization@d917fb88 info/sapphirerapids_mlc.txt",
    ),
    machine(
        "graviton2",
        "AWS Graviton2 (Neoverse N1, 64 cores)",
        "pack:1 [numa] l3:1 core:64 pu:1",
        &[(Level::L3, [42.0, 47.2, 53.2], Some(35.8), "KCORES/core-to-core-latency-plus@264ea0a1")],
        [Some(20.9), None, None, Some(169.7), None, Some(0.5)],
        "ArmDeveloperEcosystem/arm-learning-paths@25f14d46 content/learning-paths/servers-and-cloud-computing/memory-subsystem/comparative-analysis.md",
    ),
    machine(
        "graviton3",
        "AWS Graviton3 (Neoverse V1, 64 cores)",
        "pack:1 [numa] l3:1 core:64 pu:1",
        &[(Level::L3, [38.8, 46.4, 52.8], None, "KCORES/core-to-core-latency-plus@264ea0a1")],
        [None, None, None, None, None, Some(0.5)],
        "",
    ),
    machine(
        "graviton4-1s",
        "AWS Graviton4 (Neoverse V2, one socket, c8g)",
        "pack:1 [numa] l3:1 core:96 pu:1",
        &[(
            Level::L3,
            [25.7, 25.8, 25.9],
            Some(79.6),
            "ArmDeveloperEcosystem/arm-learning-paths@25f14d46 content/learning-paths/servers-and-cloud-computing/memory-subsystem/comparative-analysis.md (c2c-latency Local; pair sampling and one-way/round-trip not stated)",
        )],
        [Some(37.0), None, None, Some(465.6), None, Some(0.375)],
        "ArmDeveloperEcosystem/arm-learning-paths@25f14d46 content/learning-paths/servers-and-cloud-computing/memory-subsystem/comparative-analysis.md",
    ),
    machine(
        "altra-q80-30",
        "Ampere Altra Q80-30 (80 cores, ONE socket, 2-node mode)",
        "pack:1 group:2 [numa] group:20 core:2 pu:1",
        &[
            (Level::Group, [73.4, 83.4, 92.6], None, "KCORES/core-to-core-latency-plus@264ea0a1"),
            (Level::Numa, [132.8, 157.5, 183.7], None, "KCORES/core-to-core-latency-plus@264ea0a1"),
            (
                Level::Package,
                [139.1, 159.8, 176.9],
                None,
                "KCORES/core-to-core-latency-plus@264ea0a1",
            ),
        ],
        [None, None, None, None, None, Some(0.4)],
        "",
    ),
    machine(
        "kunpeng920-6426-2s",
        "2x HiSilicon Kunpeng 920-6426 (64 cores each, 2 CCDs per socket)",
        "pack:2 die:2 [numa] l3:1 group:8 core:4 pu:1",
        &[
            (
                Level::Group,
                [30.0, 34.5, 37.9],
                Some(28.0),
                "nviennot/core-to-core-latency@96a943ac",
            ),
            (Level::Numa, [33.4, 35.7, 38.0], Some(15.3), "nviennot/core-to-core-latency@96a943ac"),
            (
                Level::Package,
                [72.2, 80.5, 84.5],
                Some(15.3),
                "nviennot/core-to-core-latency@96a943ac",
            ),
            (
                Level::Machine,
                [146.9, 164.2, 183.5],
                Some(7.0),
                "wrBench paper, text copy, tables 5 and 9 (load latency, modified lines; read bandwidth, one core)",
            ),
        ],
        [Some(11.6), None, None, None, None, Some(1.0)],
        "wrBench paper, text copy, tables 5 and 9 (load latency, modified lines; read bandwidth, one core)",
    ),
    machine(
        "thunderx2-2s",
        "2x Marvell ThunderX2 CN99xx (32 cores each)",
        "pack:2 [numa] l3:1 core:32 pu:1",
        &[
            (
                Level::L3,
                [18.0, 26.0, 31.2],
                Some(18.5),
                "wrBench text copy id 22248019083, tables 4 and 8 (load, modified)",
            ),
            (
                Level::Machine,
                [78.0, 112.4, 140.7],
                Some(5.8),
                "wrBench text copy id 22248019083, tables 4 and 8 (load, modified; 140.7 from L2/L3)",
            ),
        ],
        [Some(9.0), None, None, None, None, Some(1.0)],
        "wrBench text copy id 22248019083, tables 4 and 8",
    ),
    machine(
        "phytium2000plus",
        "Phytium 2000+ (64 cores, 8 panels, 2 MB L2 per 4 cores)",
        "pack:1 group:8 [numa] l2:2 core:4 pu:1",
        &[
            (
                Level::L2,
                [9.1, 18.6, 18.6],
                Some(13.3),
                "wrBench text copy id 22248019083, tables 3 and 7",
            ),
            (
                Level::Numa,
                [45.0, 47.0, 49.1],
                Some(11.9),
                "wrBench text copy id 22248019083, tables 3 and 7",
            ),
            (
                Level::Package,
                [53.6, 75.0, 99.1],
                Some(8.3),
                "wrBench text copy id 22248019083, tables 3 and 7",
            ),
        ],
        [Some(6.5), None, None, None, None, Some(0.5)],
        "wrBench text copy id 22248019083, tables 3 and 7",
    ),
    machine(
        "ryzen-5950x",
        "AMD Ryzen 9 5950X (Zen 3)",
        "pack:1 [numa] l3:2 core:8 pu:2",
        &[
            (Level::Core, [7.4, 7.8, 7.9], None, "nviennot/core-to-core-latency@96a943ac"),
            (Level::L3, [16.4, 18.1, 19.8], None, "nviennot/core-to-core-latency@96a943ac"),
            (Level::Package, [83.3, 85.2, 86.9], None, "nviennot/core-to-core-latency@96a943ac"),
        ],
        [None, None, None, None, None, Some(4.0)],
        "",
    ),
    machine(
        "ryzen-7950x",
        "AMD Ryzen 9 7950X (Zen 4)",
        "pack:1 [numa] l3:2 core:8 pu:2",
        &[
            (Level::Core, [5.0, 5.3, 10.7], None, "nviennot/core-to-core-latency@96a943ac"),
            (Level::L3, [15.7, 15.7, 21.0], None, "nviennot/core-to-core-latency@96a943ac"),
            (Level::Package, [67.7, 72.7, 73.0], None, "nviennot/core-to-core-latency@96a943ac"),
        ],
        [None, None, None, None, None, Some(4.0)],
        "",
    ),
    machine(
        "smelt-ivybridge-2x10",
        "2x Intel Xeon E5 v2, 10 cores (2.494 GHz nominal)",
        "pack:2 [numa] l3:1 core:10 pu:1",
        &[
            (
                Level::L3,
                [129.0, 129.0, 129.0],
                None,
                "libsmelt/Simulator@dad65cf1 machinedb/machine-data/intel_xeon_e5_v2_2x10/pairwise-nsend_{send,receive,rtt}",
            ),
            (
                Level::Machine,
                [437.0, 437.0, 437.0],
                None,
                "libsmelt/Simulator@dad65cf1 machinedb/machine-data/intel_xeon_e5_v2_2x10/pairwise-nsend_{send,receive,rtt}",
            ),
        ],
        [None, None, None, None, None, Some(2.5)],
        "",
    ),
    machine(
        "orfeo-thin-2x12",
        "ORFEO THIN node, 2 x 12-core Intel (model not stated in the repository)",
        "pack:2 [numa] l3:1 core:12 pu:1",
        &[],
        [None, None, None, None, None, None],
        "",
    ),
];
