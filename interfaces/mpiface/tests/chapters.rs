//! Chapters of the standard beyond the first functions, each as a program of tests/programs, on
//! several numbers of ranks. Without the compiler, a test says so and passes.

mod common;

use common::*;

programs! {
    contents_names_and_attributes_of_datatypes:
        "contents.c" [] on [1, 2, 4, 6] says "contents fine\n";
    communicators_between_groups_and_of_a_part:
        "between.c" [] on [1, 2, 3, 5, 8] says "between fine\n";
    graphs_and_collectives_of_neighbours: "graphs.c" [] on [1, 2, 3, 4, 6, 8] says "graphs fine\n";
    long_reductions_that_are_started_have_the_bits_of_the_blocking_ones:
        "folds.c" [] on [1, 2, 3, 5, 7] says "folds fine\n";
    large_counts_and_datatypes_of_many_blocks: "large.c" [] on [1, 2, 3, 8] says "large fine\n";
    one_of_many_messages_is_found_and_nobody_is_a_peer:
        "matching.c" [] on [1, 2, 3] says "matching fine\n";
    parts_of_every_length_and_many_messages_at_once:
        "uneven.c" [] on [1, 2, 3, 4, 8] says "uneven fine\n";
    windows_of_each_kind: "windows.c" [] on [1, 2, 3, 4, 8] says "windows fine\n";
    codes_requests_and_infos_of_a_programs_own:
        "codes.c" ["-pthread"] on [1, 3] says "codes fine\n";
    what_is_freed_stays_while_it_is_used: "freed.c" [] on [1, 2, 3, 5, 8] says "freed fine\n";
    fortran_has_the_same_functions: "chapters.f90" ["-w"] on [1, 4] says " chapters fine\n";
}

#[test]
fn one_buffer_for_both_ends_of_a_call_is_found() {
    runs("apart.c", &[], &[1, 2, 3, 8], "apart fine\n");
    let Some(program) = built(CC, "apart.c", &[]) else { return };
    fail(&program, "fatal", 1, &["MPI_Alltoall at apart.c", "invalid buffer", "MPI_IN_PLACE"]);
}

#[test]
fn messages_are_matched_in_the_order_of_the_standard() {
    let Some(program) = built(CC, "order.c", &[]) else { return };
    for (ranks, rounds, seed) in [(1, 40, 1), (2, 200, 2), (3, 100, 3), (5, 40, 4), (8, 20, 5)] {
        let arguments = [rounds, seed].map(|it: i32| it.to_string());
        let arguments = arguments.each_ref().map(|it| it.as_str());
        assert_eq!(succeed(ranks, &program, &arguments), "order fine\n");
    }
}

/// Of those that go pair by pair, too: a rank in another call, or with another root, is named.
#[test]
fn uneven_calls_that_differ_are_named() {
    let Some(program) = built(CC, "leave.c", &[]) else { return };
    for (how, odd) in [("", "MPI_Scatterv"), (" all", "MPI_Alltoallv"), (" root", "MPI_Gatherv")] {
        let how = format!("uneven{how}");
        differ(&program, &how, 1, &format!("{odd} at leave.c:"), "MPI_Gatherv at leave.c:");
    }
    fail(&program, "uneven root", 1, &["root 0", "root 1"]);
}

/// Not in an hour, if the time of one grew with their number.
#[test]
fn very_many_calls_at_once_end_in_time() {
    let Some(program) = built(CC, "many.c", &["-O2"]) else { return };
    let cases = "late waitall 50000, to_self backward 50000, any testall 50000, \
                 cancelled waitall 50000, started waitsome 50000, iallreduce waitsome 50000, \
                 ahead testsome 50000, ibcast tests 50000, freed waitall 50000, \
                 freed_comm waitsome 50000, freed_types waitall 20000, persistent testsome 5000, \
                 iallreduce waitany 5000, posted testany 5000";
    for case in cases.split(", ") {
        let words: Vec<&str> = case.split(' ').chain(["1"]).collect();
        let out = succeed(2, &program, &words);
        assert!(out.contains(" ns each"), "{out}");
    }
}

#[test]
fn errors_stand_in_the_statuses_and_their_texts_have_lines() {
    runs("statuses.c", &[], &[1, 2, 3], "statuses fine\n");
    let Some(program) = built(CC, "statuses.c", &[]) else { return };
    let words = ["MPI_Waitall at statuses.c:", "status 1: message longer", "sent in MPI_Send at"];
    fail(&program, "fatal", 19, &words);
}

#[test]
fn sessions_without_and_beside_mpi_init() {
    runs("sessions.c", &[], &[1, 2, 3, 8], "sessions fine\n");
    let Some(program) = built(CC, "sessions.c", &[]) else { return };
    fail(&program, "open", 1, &["rank 1 has left", "without MPI_Session_finalize"]);
    fail(&program, "none", 16, &["MPI_Barrier at sessions.c", "before MPI_Init"]);
}

#[test]
fn wrong_access_and_waits_without_end_are_named() {
    let Some(program) = built(CC, "windows.c", &[]) else { return };
    fail(&program, "held", 1, &["MPI_Win_lock", "rank 0's window", "has left"]);
    fail(&program, "unposted", 1, &["MPI_Win_start", "to call MPI_Win_post"]);
    fail(&program, "outside", 48, &["MPI_Put at windows.c", "bytes 1 to 5 of rank 0's window"]);
}
