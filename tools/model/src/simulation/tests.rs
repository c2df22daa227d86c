use super::*;
use crate::Cost;
use phalanx::placement::{Placement, assign};
use phalanx::schedule::{Algorithm, Hierarchy, Operation, Request};
use phalanx::topology::Extents;
use phalanx::tuning::{CostsError, LevelModel, LevelRates, MachineCosts, Profile, Transport};

/// The special case: one level, no effects, every algorithm, with m a multiple of everything so
/// that the sums are exact.
#[test]
fn the_textbook_is_the_special_case_of_one_level() {
    let mut compared = 0;
    for &algorithm in Algorithm::ALL {
        for p in [1, 2, 3, 4, 6, 8, 9, 16] {
            for &operation in algorithm.operations() {
                let request = Request::new(operation, p);
                let Ok(schedule) = algorithm.schedule(&request) else { continue };
                let m = 2520.0 * schedule.contract().split as f64;
                let one = Simulation::textbook(p, 7.0, 2.0).run(&schedule, m).unwrap();
                let cost = Cost::of(&schedule);
                let words = cost.tw.numerator() as f64 * m / cost.tw.denominator() as f64;
                assert_eq!(one.ns, 7.0 * cost.ts as f64 + 2.0 * words, "{algorithm} p = {p}");
                compared += 1;
            }
        }
    }
    assert!(compared > 500, "{compared}");
}

fn on(id: &str, p: usize, placement: &Placement) -> Simulation {
    let costs = MachineCosts::named(id).unwrap();
    let machine = costs.machine().unwrap();
    Simulation::new(&machine, &assign(placement, &machine, p).unwrap(), costs).unwrap()
}

fn barrier(p: usize) -> phalanx::schedule::Schedule {
    Algorithm::BAR_ANY.schedule(&Request::new(Operation::Barrier, p)).unwrap()
}

#[test]
fn the_table_can_be_and_its_machines_have_their_levels() {
    let mut whole = 0;
    for costs in MachineCosts::all() {
        costs.check().unwrap();
        let machine = costs.machine().unwrap();
        let ranks = assign(&Placement::Compact, &machine, machine.pu_count()).unwrap();
        match Simulation::new(&machine, &ranks, costs) {
            Ok(simulation) => {
                whole += 1;
                assert!(simulation.run(&barrier(simulation.ranks()), 0.0).unwrap().ns > 0.0);
                assert!(MachineCosts::nearest(&machine).1, "{}", costs.id);
            }
            Err(SimulationError::Costs(CostsError::NoData { .. })) => {
                assert!(["xeon-8468-2s-snc4", "orfeo-thin-2x12"].contains(&&*costs.id));
            }
            Err(error) => panic!("{}: {error}", costs.id),
        }
    }
    assert!(whole >= 18, "{whole}");
}

#[test]
fn ranks_without_a_core_and_other_numbers_of_ranks_are_refused() {
    let good = MachineCosts::named("thunderx2-2s").unwrap();
    let unbound = assign(&Placement::Unpinned, &good.machine().unwrap(), 2).unwrap();
    let error = Simulation::new(&good.machine().unwrap(), &unbound, good).unwrap_err();
    assert_eq!(error, CostsError::Unbound { rank: 0 }.into());
    let other = on("thunderx2-2s", 4, &Placement::Compact).run(&barrier(8), 0.0);
    assert_eq!(other.unwrap_err(), SimulationError::Ranks { schedule: 8, layout: 4 });
}

#[test]
fn absurd_constants_of_messages_are_refused() {
    let simulation = on("thunderx2-2s", 4, &Placement::Compact);
    let refused = |transport| {
        let other = simulation.clone().with_transport(transport);
        other.run(&barrier(4), 0.0).unwrap_err().to_string()
    };
    let ours = Transport::PHALANX;
    let negative = refused(Transport { send_ns: -1.0, ..ours });
    assert_eq!(negative, "the transport: send_ns = -1 cannot be");
    assert!(refused(Transport { transfers: f64::NAN, ..ours }).contains("transfers = NaN"));
    assert!(refused(Transport { receive_ns: f64::INFINITY, ..ours }).contains("receive_ns = inf"));
    assert!(refused(Transport { pulls: 0.0, ..ours }).contains("pulls = 0"));
    assert!(refused(Transport { copy_rate: Some(-2.0), ..ours }).contains("copy_rate = -2"));
    let textbook = |t_s, t_w| Simulation::textbook(4, t_s, t_w).run(&barrier(4), 0.0);
    assert!(textbook(0.0, 0.0).is_ok());
    assert!(textbook(-1.0, 1.0).unwrap_err().to_string().contains("a hand-off of -1 ns"));
    assert!(textbook(1.0, -1.0).unwrap_err().to_string().contains("a rate of -1"));
    for bytes in [-8.0, f64::NAN, f64::INFINITY] {
        let error = simulation.run(&barrier(4), bytes).unwrap_err().to_string();
        assert_eq!(error, format!("the call: {bytes} bytes cannot be"));
    }
}

/// A profile that has not measured a level is not stretched over it.
#[test]
fn a_profile_without_a_level_is_refused() {
    let near = LevelRates {
        level: "l3".to_string(),
        place: "ccx".to_string(),
        t_s_ns: 105.0,
        t_s_ci: [95.0, 115.0],
        t_w_ns_per_byte: 0.05,
        t_w_ci: [0.04, 0.06],
        samples: 600,
        pieces: Vec::new(),
    };
    let costs = MachineCosts::of_profile(&Profile::default().with_level(near).unwrap()).unwrap();
    let two = phalanx::machine::Machine::from_synthetic("pack:2 [numa] l3:1 core:4 pu:1").unwrap();
    let ranks = assign(&Placement::Compact, &two, 8).unwrap();
    let error = LevelModel::new(&two, &ranks, &costs).unwrap_err();
    let text = "profile: no hand-off is known between cores of the same machine";
    assert_eq!(error.to_string(), text);
    assert_eq!(Simulation::new(&two, &ranks, &costs).unwrap_err(), error.into());
}

/// Each effect, switched off alone, changes a case that is about it, and in the right direction.
#[test]
fn every_effect_has_an_effect() {
    let rome = |p| on("epyc-7742-2s-nps4", p, &Placement::Compact);
    let time = |s: &Simulation, a: Algorithm, op, bytes| {
        let request = Request::new(op, s.ranks());
        s.run(&a.schedule(&request).unwrap(), bytes).unwrap().ns
    };
    let all_gather =
        |s: &Simulation, bytes| time(s, Algorithm::AG_RING, Operation::AllGather, bytes);
    let fused = |s: &Simulation, bytes| time(s, Algorithm::AR_FUSED, Operation::AllReduce, bytes);
    // Neighbours on a packed ring are near, but for the ends: dearer where all are equally far.
    assert!(all_gather(&rome(128), 8.0) < all_gather(&rome(128).without(Effect::Levels), 8.0));
    let spread = rome(128).spread(&barrier(128), 0.0, 9).unwrap();
    assert!(spread[0] <= spread[1] && spread[1] < spread[2]);
    // Waiting for everybody after each step never helps.
    let scan = |s: &Simulation| time(s, Algorithm::SCAN_CHAIN, Operation::Scan, 8.0);
    assert!(scan(&rome(100)) <= scan(&rome(100).without(Effect::Overlap)) + 1e-6);
    assert!(fused(&rome(128), 1e6) > fused(&rome(128).without(Effect::Occupancy), 1e6));
    assert!(fused(&rome(128), 1e6) > fused(&rome(128).without(Effect::Saturation), 1e6));
    assert!(all_gather(&rome(8), 1e8) > all_gather(&rome(8).without(Effect::Memory), 1e8));
    // The first of a cache pays the whole way, and so ends as late as without; the others do not.
    let each = |s: &Simulation| {
        let request = Request::new(Operation::AllReduce, s.ranks());
        s.run(&Algorithm::AR_FUSED.schedule(&request).unwrap(), 4096.0).unwrap().ranks
    };
    assert_ne!(each(&rome(64)), each(&rome(64).without(Effect::ReadSharing)));
    assert!(fused(&rome(16), 64.0) > fused(&rome(16).without(Effect::Pollers), 64.0));
    let both = Transport { turnaround: true, acknowledge_ns: 400.0, ..Transport::PHALANX };
    let mpi = rome(64).with_transport(both);
    let all_reduce = |s: &Simulation| time(s, Algorithm::AR_HCUBE, Operation::AllReduce, 8.0);
    assert!(all_reduce(&mpi) > all_reduce(&mpi.without(Effect::Turnaround)));
    let request = Request::new(Operation::Barrier, 64);
    let asked = Algorithm::BAR_ANY.schedule(&request).unwrap().acknowledged([5]);
    let ring = |s: &Simulation| s.run(&asked, 0.0).unwrap().ns;
    assert!(ring(&mpi) >= ring(&mpi.without(Effect::Acknowledgement)) + 400.0 - 1e-6);
    // Of direct access, calls end later, and a gather's ranks store beside each other.
    let gather = |s: &Simulation, bytes| time(s, Algorithm::GA_FUSED, Operation::Gather, bytes);
    assert!(fused(&rome(64), 8.0) > fused(&rome(64).without(Effect::DirectAccess), 8.0));
    assert!(gather(&rome(64), 1e5) < gather(&rome(64).without(Effect::DirectAccess), 1e5) / 2.0);
    // A rank with lent memory waits; and a shift in place copies more than it takes.
    let pair = |s: &Simulation| time(s, Algorithm::AR_ANY, Operation::AllReduce, 1025.0);
    assert!(pair(&rome(2)) > pair(&rome(2).without(Effect::Lending)) + 49.0);
    assert_eq!(all_reduce(&rome(2)), all_reduce(&rome(2).without(Effect::Lending)));
    let far = rome(128).with_lines_at_rank_0();
    assert!(
        far.run(&barrier(128), 0.0).unwrap().ns
            > far.without(Effect::Home).run(&barrier(128), 0.0).unwrap().ns
    );
    assert!(rome(64).counter_barrier() > rome(64).without(Effect::SharedWriters).counter_barrier());
}

/// Placement matters, and in the known direction.
#[test]
fn neighbours_that_are_near_are_cheaper() {
    let ring = |placement: &Placement| {
        let simulation = on("epyc-9654-2s-nps4", 192, placement);
        let schedule =
            Algorithm::AG_RING.schedule(&Request::new(Operation::AllGather, 192)).unwrap();
        simulation.run(&schedule, 8.0).unwrap().ns
    };
    assert!(ring(&Placement::Compact) < ring(&Placement::Random(1)) / 1.3);
}

/// Ranks of one core, of one cache and so on: the pairs are all there.
#[test]
fn pairs_are_counted_by_level() {
    let all = on("epyc-7763-2s", 256, &Placement::Compact);
    let schedule = Algorithm::TX_ANY.schedule(&Request::new(Operation::AllToAll, 256)).unwrap();
    let messages = all.run(&schedule, 1.0).unwrap().messages;
    assert_eq!(messages.iter().sum::<usize>(), trace_len(&schedule));
    assert!(messages.iter().all(|&n| n > 0), "{messages:?}");
}

fn trace_len(schedule: &phalanx::schedule::Schedule) -> usize {
    phalanx::schedule::trace(schedule).count()
}

#[test]
fn every_case_of_the_checker_can_be_simulated() {
    let costs = MachineCosts::named("epyc-7763-2s").unwrap();
    let machine = costs.machine().unwrap();
    for p in [1, 2, 5, 8, 12] {
        let ranks = assign(&Placement::Compact, &machine, p).unwrap();
        let simulation = Simulation::new(&machine, &ranks, costs).unwrap();
        for &algorithm in Algorithm::ALL {
            for &operation in algorithm.operations() {
                let dims = Extents::squarest(p);
                let request = Request::new(operation, p).dims(dims);
                let Ok(schedule) = algorithm.schedule(&request) else { continue };
                let small = simulation.run(&schedule, 8.0).unwrap().ns;
                let large = simulation.run(&schedule, 1e6).unwrap().ns;
                assert!(small.is_finite() && small <= large, "{algorithm} {p}: {small} {large}");
            }
        }
    }
}

/// The quick estimates choose algorithms that the simulation finds near the best, on every machine
/// with levels, for every operation that they know.
#[test]
fn quick_choices_are_near_the_best_of_the_simulation() {
    let (mut sum, mut n) = (0.0, 0.0);
    let mut seen = std::collections::BTreeSet::new();
    for id in [
        "epyc-7742-2s-nps4",
        "epyc-7763-2s",
        "epyc-9654-2s-nps4",
        "xeon-8375c-2s",
        "kunpeng920-6426-2s",
    ] {
        let costs = MachineCosts::named(id).unwrap();
        let machine = costs.machine().unwrap();
        for p in [16, 64] {
            let ranks = assign(&Placement::Compact, &machine, p).unwrap();
            let Some(model) = LevelModel::new(&machine, &ranks, costs).unwrap() else { continue };
            let simulation = Simulation::new(&machine, &ranks, costs).unwrap();
            for (operation, bytes) in [
                (Operation::Barrier, 0),
                (Operation::AllReduce, 8),
                (Operation::AllReduce, 1 << 16),
                (Operation::AllReduce, 1 << 20),
                (Operation::Broadcast, 8),
                (Operation::Broadcast, 1 << 20),
                (Operation::Reduce, 8),
                (Operation::Reduce, 1 << 20),
                (Operation::AllGather, 8),
                (Operation::AllGather, 1 << 12),
                (Operation::ReduceScatter, 8),
                (Operation::ReduceScatter, 1 << 12),
                (Operation::Scan, 8),
                (Operation::Scan, 1 << 16),
            ] {
                let choice = model.choose(operation, bytes, true).unwrap();
                assert_eq!(choice.stages.is_empty(), !choice.algorithm.uses_levels());
                let time = |algorithm: Algorithm, levels: &phalanx::schedule::Hierarchy| {
                    let request = Request::new(operation, p).levels(levels.clone());
                    let schedule = algorithm.schedule(&request).ok()?;
                    simulation.run(&schedule, bytes as f64).ok().map(|outcome| outcome.ns)
                };
                let ours = time(choice.algorithm, &choice.levels).unwrap();
                // Whatever else there is, over all levels with some degrees.
                let flat = |a: &Algorithm| !a.id().contains("NAIVE") && !a.id().contains("AP-");
                let mut best = ours;
                for algorithm in Algorithm::for_operation(operation).filter(flat) {
                    if !(algorithm.uses_levels()
                        || algorithm.is_direct()
                        || algorithm.id().ends_with("ANY")
                        || algorithm.id().ends_with("HCUBE"))
                    {
                        continue;
                    }
                    for d in [0, 4] {
                        let levels = model.hierarchy().clone().degrees(&[d; 4]);
                        best = time(algorithm, &levels).map_or(best, |ns| best.min(ns));
                    }
                }
                seen.insert(choice.algorithm.id());
                let direct = |s| choice.levels.exchange(s) == phalanx::schedule::Exchange::Direct;
                seen.extend((0..choice.levels.stages()).any(direct).then_some("direct"));
                (sum, n) = (sum + (ours / best).ln(), n + 1.0);
                assert!(ours < 2.0 * best, "{id} {p} {operation} {bytes}: {choice}: {ours} {best}");
            }
        }
    }
    let mean = (sum / n).exp();
    assert!(mean < 1.15, "{mean}");
    for id in ["BC-FUSED", "BC-HIER", "AR-RADIX", "AR-HIER-SPLIT", "BAR-RADIX", "direct"] {
        assert!(seen.contains(id), "{id} {seen:?}");
    }
}

/// A run that would take minutes is refused at once, and says how much it would be. The limits are
/// lower here than elsewhere.
#[test]
fn too_many_messages_are_refused() {
    let flat = Simulation::textbook(1100, 100.0, 1.0);
    let of = |algorithm: Algorithm| {
        let request = Request::new(algorithm.operations()[0], 1100);
        flat.run(&algorithm.schedule(&request).unwrap(), 8.0).unwrap_err()
    };
    let messages = 1100 * 1099;
    let refused = SimulationError::Messages { messages, most: step_clocks::MOST };
    assert_eq!(of(Algorithm::AG_RING), refused);
    assert_eq!(of(Algorithm::TX_FUSED), refused);
    assert_eq!(refused.to_string(), "about 1 million messages: at most 1 million are simulated");
    let error = Simulation::textbook(300, 1.0, 1.0).run(&backwards(300), 8.0).unwrap_err();
    assert!(error.to_string().contains(" in one step: at most "), "{error}");
}

/// Neighbours that begin the next call while the others still wait.
#[test]
fn calls_in_a_loop_overlap() {
    let simulation = on("epyc-7742-2s-nps4", 64, &Placement::Compact);
    let schedule = Algorithm::BC_ANY.schedule(&Request::new(Operation::Broadcast, 64)).unwrap();
    let one = simulation.run(&schedule, 8.0).unwrap().ns;
    let each = simulation.back_to_back(&schedule, 8.0, 10).unwrap();
    assert!(each > 0.0 && each < one, "{each} {one}");
    let exchange = Algorithm::BAR_AR.schedule(&Request::new(Operation::Barrier, 64)).unwrap();
    let one = simulation.run(&exchange, 0.0).unwrap().ns;
    assert!((simulation.back_to_back(&exchange, 0.0, 4).unwrap() / one - 1.0).abs() < 0.05);
}

/// Everybody to everybody, the highest rank first.
fn backwards(p: usize) -> phalanx::schedule::Schedule {
    use phalanx::schedule::{BlockRange, Contract, Round, Schedule};
    let operation = Operation::AllGather;
    let contract = Contract { operation, ranks: p, root: 0, shift: 0, split: 1 };
    let pairs = (0..p).flat_map(|a| (0..p).rev().filter(move |&b| a != b).map(move |b| (a, b)));
    let messages = pairs.map(|(a, b)| (a, b, vec![BlockRange::one(a)])).collect();
    Schedule::of_rounds("BACKWARDS", contract, vec![Round { combine: false, messages }])
}

/// A step of more messages than are kept, not in the order of ranks.
#[test]
fn a_wide_step_in_another_order_is_kept_all_the_same() {
    let schedule = backwards(40);
    // The plain one knows no lending.
    let simulation = on("epyc-7763-2s", 40, &Placement::Compact).without(Effect::Lending);
    assert_eq!(simulation.run(&schedule, 1e5), Ok(slowly(&simulation, &schedule, 1e5)));
}

/// The result of the plain simulation.
fn slowly(s: &Simulation, schedule: &phalanx::schedule::Schedule, bytes: f64) -> Outcome {
    let setup = s.setup(schedule, bytes);
    let mut clocks = reference::ReferenceClocks::new(s.ranks(), s.levels());
    (0..schedule.steps()).for_each(|step| clocks.step(s, &setup, step));
    Outcome { ns: clocks.last(), ranks: clocks.now, messages: clocks.messages }
}

/// The quick simulation is the plain one, to the last bit: every algorithm, kept steps and wide
/// ones, near and far placements, with effects and without.
#[test]
fn quick_and_plain_simulations_agree_to_the_last_bit() {
    let mpi = Transport {
        send_ns: 40.7,
        send_share: 1.0,
        acknowledge_ns: 790.0,
        turnaround: true,
        copy_rate: Some(11.5),
        sender_copies: true,
        ..Transport::PHALANX
    };
    let few = [Effect::Overlap, Effect::Occupancy, Effect::Levels];
    let (mut compared, mut wide) = (0, 0);
    for (p, placement) in
        [(16, Placement::Scatter), (7, Placement::Compact), (24, Placement::Random(5))]
    {
        let own = on("epyc-7742-2s-nps4", p, &placement);
        let groups = Hierarchy::even(p, &[4, 2]);
        for (simulation, bytes) in [
            (own.clone().with_effects(Effects::ALL), 1e5),
            (own.clone().with_transport(mpi), 1e5),
            (own.clone().with_lines_at_rank_0(), 8.0),
            (few.iter().fold(own.clone(), |s, &e| s.without(e)), 1e7),
        ] {
            // The plain one has never had these.
            let simulation = simulation.without(Effect::Lending).without(Effect::DirectAccess);
            for &algorithm in Algorithm::ALL {
                for &operation in algorithm.operations() {
                    let request = Request::new(operation, p).shift(5).levels(groups.clone());
                    let Ok(schedule) = algorithm.schedule(&request) else { continue };
                    let schedule = schedule.acknowledged([1]);
                    let plain = slowly(&simulation, &schedule, bytes);
                    let most = plain.messages.iter().sum::<usize>();
                    wide += usize::from(most > 200 * schedule.steps());
                    assert_eq!(
                        simulation.run(&schedule, bytes),
                        Ok(plain),
                        "{algorithm} {p} {bytes}"
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 1000 && wide > 10, "{compared} {wide}");
}
