"""When a job without checkpoints commits."""

from __future__ import annotations

from headrace.coordination.job.uncovered_commits import UncoveredCommits


def test_every_epoch_commits() -> None:
    commits = UncoveredCommits(interval_ms=100)
    for now in (1000, 1000, 1001, 5):
        assert commits.due(now, live=False)
        commits.planned(now, commits=True)
        assert commits.next_due() is None


def test_live_epochs_commit_from_time_to_time() -> None:
    commits = UncoveredCommits(interval_ms=100)
    commits.planned(1000, commits=commits.due(1000, live=True))
    assert commits.next_due() is None, "nothing is left"
    assert not commits.due(1004, live=True)
    commits.planned(1004, commits=False)
    assert commits.next_due() == 1100
    assert commits.due(1100, live=True)


def test_no_epoch_runs_for_sinks_that_do_not_commit() -> None:
    commits = UncoveredCommits(interval_ms=100)
    commits.planned(1000, commits=True)
    commits.planned(1004, commits=False)
    commits.observe(wanted=False)
    assert commits.next_due() is None
    assert not commits.pending
    commits.planned(1008, commits=False)
    assert commits.next_due() is None


def test_at_the_end_the_rest_is_committed_at_once() -> None:
    commits = UncoveredCommits(interval_ms=100)
    commits.planned(1000, commits=True)
    commits.planned(1004, commits=False)
    assert commits.pending
    commits.hurry()
    assert commits.due(1005, live=True)
