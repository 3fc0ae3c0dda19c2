//! Protocol transcripts: scripts that play an exchange message by message, with what every node said beside them.
//!
//! A script is commands (`> ...`) with the expected output under each, and comments. It opens with a comment that names
//! the protocol rule it shows and what would go wrong without it. The commands drive a cluster of real kernels in one
//! thread ([`cluster`]); nothing is delivered and no time passes unless the script says so, so every order of events that
//! a rule is about can be written down. The verbs are listed in [`commands`].
//!
//! `SKARV_UPDATE=1 cargo test -p kernel --test transcripts` writes what happened into the scripts: read the difference
//! before it is kept.

#[path = "transcripts/cluster.rs"]
mod cluster;
#[path = "transcripts/commands.rs"]
mod commands;
#[path = "transcripts/describe.rs"]
mod describe;
#[path = "transcripts/operations.rs"]
mod operations;
#[path = "transcripts/script.rs"]
mod script;

macro_rules! transcripts {
    ($($block:ident: $($case:ident)*;)*) => {
        $(mod $block {
            $(#[test]
            fn $case() {
                crate::script::check(stringify!($block), stringify!($case));
            })*
        })*

        /// Every script in the directory is a test above, so none is left out.
        #[test]
        fn every_script_is_a_test() {
            let mut listed = vec![$($(concat!(stringify!($block), "/", stringify!($case), ".script")),*),*];
            listed.sort();
            assert_eq!(crate::script::list(), listed);
        }
    };
}

transcripts! {
    checkpoint:
        a_session_waits
        in_turns
        begins_anew_with_a_learner
        closed_and_durable
        closed_by_who_knows_the_learner
        deposed_sequencer
        disk_full
        disk_full_alone
        disk_hangs
        group_away
        left_alone
        memory_of_all_members
        memory_told_again
        never_proved
        not_proved
        prepared_is_waited_for
        sections_without_rows
        waits_in_turn
        rests_beside_a_session
        stopped_with_its_disk;
    channel:
        duplicates_are_dropped
        frames_out_of_order
        lost_frame_is_sent_again
        disk_behind
        overloaded
        sent_again_after_a_while;
    commit:
        acknowledged_before_replicated
        autocommit_two_shards
        busy_shard_is_left_to_its_owner
        commit_index
        commit_index_travels_with_records
        home_elsewhere
        joined
        joined_bounds
        joined_three_members
        locks_without_writes
        long_transaction
        long_transaction_three_members
        long_transaction_two_shards
        message_counts
        record_before_answer
        records_of_two_workers
        rollback
        sequencer_on_backup
        sequencer_on_primary
        session_closes_during_commit
        shortest_way_back
        stamps_of_two_workers
        two_shards
        two_shards_sequencer_elsewhere
        vote_waits_for_record
        undone_in_steps;
    control:
        accounts_change
        answers_of_earlier_boots
        copies_of_a_new_leader
        dropped_rows_go_after_adoption
        index_given_up
        index_is_adopted_when_built
        index_of_another
        index_without_room
        leader_among_three_voters
        leader_dies
        misconfigured_node_is_not_let_in
        newer_schema_overtakes
        one_schema_change_at_a_time
        schema_change_is_done_once
        said_when_it_is_durable
        schema_change_waits_for_its_table
        table_closes_for_its_copy
        table_younger_than_a_snapshot
        schema_change_withdrawn
        snapshot_instead_of_entries
        transactions_keep_their_definition
        views_are_formed_when_all_are_there
        votes_of_a_lost_directory;
    envelope:
        another_boot_of_a_peer
        excluded_boot_is_refused
        future_view_waits
        wrong_identity_is_refused;
    handover:
        heard_of_its_end_sooner
        old_snapshot
        reads_past_the_door
        nobody_is_filled
        nothing_is_given_back_then
        acknowledged_late
        what_has_begun_waits_for
        dies_while_it_hands_over
        given_up
        last_copy_does_not_leave
        node_leaves
        shards_rest_too
        share
        step_before_its_entry
        who_may_stop;
    lease:
        a_learner_goes_first
        asked_again_soon
        broken_link
        counts_when_heard
        deaf_node_is_not_let_in
        deposed_leader_gives_none
        deposed_sequencer
        does_not_keep_up
        excluded_by_its_own_log
        from_when_it_was_asked
        frozen_node
        heirs_must_live
        last_copy_needs_none
        leader_is_the_heir
        learner_may_be_promoted
        learners_wait_for_nobody
        links_of_a_new_boot
        links_of_workers_take_a_moment
        locks_prove_nothing
        new_leader_waits
        not_read_yet
        one_of_a_group_at_a_time
        reads_of_others
        refusals_are_reads
        silent_node
        slow_is_no_fault
        speaks_of_itself
        two_are_silent
        voters_wait_for_nobody
        waiting_for_others
        who_hangs_takes_nobodys_place
        who_was_away_says_nothing
        who_was_frozen_has_not_listened
        word_of_a_stranger;
    lock:
        a_wait_that_ends_is_no_deadlock
        cancel_a_waiting_reader
        cancel_does_not_take_back_a_commit
        cancel_while_waiting
        close_frees_locks
        commit_keeps_locks_until_decided
        deadlock_across_nodes
        deadlock_in_one_shard
        deadlock_in_two_shards_of_a_node
        deadlock_of_three
        first_come_first_served
        long_rows_take_turns
        nowait_and_skip_locked
        one_victim_in_two_shards
        peek_before_locking
        range_deadlock
        ranges_and_entries_take_turns
        ranges_keep_phantoms_out
        refusal_undoes_the_statement
        refused_insert_frees_keys
        refused_while_another_shard_waits
        semi_consistent_scan
        undo_frees_inserted_keys
        undo_to_a_statement
        wait_timeout
        youngest_by_the_clusters_time
        youngest_of_a_circle;
    outcome:
        cut_off
        forgotten
        goes_on_alone
        held
        in_flight
        locking_reads_are_never_unknown
        of_several_shards
        reads_are_never_unknown
        silence_is_waited_for
        told_to_a_learner;
    read:
        backup_is_never_stale
        grant_behind_held
        prepared_row_on_backup
        read_committed
        reader_waits_for_committing
        repeatable_read
        snapshot_at_a_backup
        snapshot_below_and_above
        snapshot_below_the_horizon
        snapshot_bounds_the_commit
        strict_snapshot
        whole_transactions_only;
    rejoin:
        answer_to_the_boot_before
        disk_catches_up
        disk_holds_a_checkpoint
        unsent_row_is_not_copied
        age_of_the_prepared
        long_while_it_waits
        unsent_part_is_not_copied
        two_learners
        learner_begins_anew
        prepared_without_rows
        marker_first
        restart_before_the_views
        rewritten_row_is_copied
        snapshot_of_a_deleted_row
        boots_begin_anew
        copy_in_the_log
        decisions_are_told
        decision_on_its_way
        all_hold_what_was_copied
        directory_lost
        disk_forgets
        held_until_let_in
        last_copy_stays
        late_messages
        learner_dies
        learner_is_awaited
        node_comes_back
        outcome_from_before
        prepared_and_checkpoint
        prepared_is_copied
        restart_says_it
        snapshot_from_before
        worker_behind
        parts_are_copied
        in_flight_is_copied_once
        from_own_disk
        own_disk_undecided
        own_disk_pending
        table_dropped_meanwhile;
    report:
        deadlocks_are_remembered
        locks_of_all_nodes;
    restart:
        damage_in_one_group
        leader_is_a_stranger
        voter_away
        damage_of_the_only_one
        damage_of_the_only_closed
        damage_while_loading
        filled_behind_a_checkpoint
        ended_as_planned
        group_lost
        index_half_built
        learner_is_no_heir
        loading_one_ends
        lossy
        lossy_began_without
        lossy_cut_back
        lossy_cut_off
        lossy_does_not_help
        lossy_is_for_one_restart
        lossy_second
        lossy_two_groups
        lossy_undecided
        lost_part
        one_ends_otherwise
        power_failure;
    sequencer:
        granted_snapshots_hold_the_horizon
        horizon_keeps_open_snapshots
        old_snapshots_let_the_horizon_pass
        one_snapshot_request_at_a_time
        session_closes_before_its_snapshot_comes
        timestamps_after_locks;
    takeover:
        told_to_a_voter_that_is_away
        backup_dies
        behind_the_exclusion
        committed
        dead_coordinator
        decide_behind_its_operation
        early_of_the_dead
        ending_is_ended
        follower_dies_with_its_tail
        forgotten
        heir_fetches
        heir_is_left_alone
        heir_sends
        held_record_came
        idle_transaction
        in_doubt
        in_doubt_not_decided
        last_member_stays
        late_answer_is_no_tail
        late_frame_of_the_dead
        late_record_of_the_dead
        not_committed
        prepared_taken_over
        primary_dies
        question_that_waited
        record_of_another_shard
        same_node_again
        several_not_found
        snapshot_of_an_earlier_request
        stamped_twice
        taken_for_dead
        three_shrunk_to_two
        two_followers_send
        voter_dies;
}

/// Rule R6: a learner that keeps rows of its own disk by another rule differs from its primary, and finds that itself.
mod broken {
    use crate::script::play_broken;

    #[test]
    #[should_panic(expected = "are not those of the primary")]
    fn loaded_not_compared() {
        play_broken("rejoin/from_own_disk", "LoadedNotCompared");
    }

    #[test]
    #[should_panic(expected = "are not those of the primary")]
    fn loaded_written_over() {
        play_broken("rejoin/own_disk_pending", "LoadedWrittenOver");
    }
}
