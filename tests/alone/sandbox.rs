//! Systems that refuse calls, and ones with more processors than a mask of 1024: teams are built
//! and run all the same. A filter stays with a process: each case is one of its own.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use crate::common::again;
use phalanx::machine::{Machine, affinity};
use phalanx::{Team, dist::Block, op};

/// The case of the child: system calls, the error, the second argument from which they go through.
const CASE: &str = "PHALANX_TEST_REFUSED";

#[test]
fn refused_calls() {
    let masks = [libc::SYS_sched_getaffinity, libc::SYS_sched_setaffinity];
    let memory = [libc::SYS_get_mempolicy, libc::SYS_set_mempolicy, libc::SYS_mbind];
    // (Where `rseq` is refused, the C library may end each program before it begins.)
    let more = [libc::SYS_move_pages, libc::SYS_membarrier, libc::SYS_getcpu];
    let (each, small) = ([&masks[..1], &masks[1..], &masks, &memory, &more], 1 << 10);
    for error in [libc::EPERM, libc::ENOSYS, libc::EINVAL] {
        each.iter().for_each(|calls| run(calls, error, u32::MAX));
    }
    // A kernel's mask of 8192 processors.
    run(&masks[..1], libc::EINVAL, small);
}

fn run(calls: &[i64], error: i32, below: u32) {
    let numbers = calls.iter().map(|call| format!(" {call}")).collect::<String>();
    let case = format!("{error} {below}{numbers}");
    let mut child = again(module_path!(), "child");
    let run = child.arg("--ignored").env(CASE, &case).output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && said.contains("1 passed"), "{case}\n{said}\n{errors}");
}

/// From now on this thread, and those that it starts, have these calls refused.
fn refuse(calls: &[u32], error: u32, below: u32) {
    let step = |code: u32, k: u32, jumps: (u8, u8)| libc::sock_filter {
        code: code as u16,
        jt: jumps.0,
        jf: jumps.1,
        k,
    };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let is = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let is_from = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
    let end = libc::BPF_RET | libc::BPF_K;
    let mut steps = Vec::new();
    for &call in calls {
        steps.push(step(load, 0, (0, 0)));
        steps.push(step(is, call, (0, 3)));
        steps.push(step(load, 24, (0, 0)));
        steps.push(step(is_from, below, (1, 0)));
        steps.push(step(end, libc::SECCOMP_RET_ERRNO | error, (0, 0)));
    }
    steps.push(step(end, libc::SECCOMP_RET_ALLOW, (0, 0)));
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: a program of so many steps, which the system copies.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            | libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter)
    };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

#[test]
#[ignore = "started by the test above"]
fn child() {
    let Ok(case) = std::env::var(CASE) else { return };
    let words: Vec<u32> = case.split(' ').map(|word| word.parse().unwrap()).collect();
    let before = affinity::current_mask().unwrap();
    refuse(&words[2..], words[0], words[1]);
    // SAFETY: ends a process that hangs.
    unsafe { libc::alarm(100) };
    let machine = Machine::this().unwrap();
    if affinity::current_mask() == Ok(before) {
        assert!(machine.warnings().is_empty(), "{:?}", machine.warnings());
    } else {
        let text = &machine.warnings()[0];
        assert!(text.starts_with("cannot read the thread's affinity mask: "), "{text}");
        assert!(machine.source().to_string().contains("not known, all"));
    }
    for ranks in [1, 2, 3] {
        let team = Team::builder().ranks(ranks).build().unwrap();
        let sums = team.run(|comm| (0..99).map(|i| comm.sum([i])[0]).sum::<usize>()).unwrap();
        assert_eq!(sums, vec![99 * 49 * ranks; ranks]);
        assert_eq!(team.distributed(&Block::new(10_000, ranks), |i| i).unwrap().len(), 10_000);
    }
    let largest = phalanx::run(2, |comm| comm.all_reduce_values([comm.rank()], op::Max)[0]);
    assert_eq!(largest.unwrap(), [1, 1]);
}
