"""The soak test itself: a trial finds nothing lost, and finds what is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import soak


@pytest.mark.slow
def test_a_trial_that_loses_nothing() -> None:
    work = soak.run_trial(soak.files_of_the_user, seed=1)
    assert work.losses == [] and work.counts["processes"] == 1 and work.counts["files of the user"] == 3


def test_a_loss_is_counted() -> None:
    def overwrite(work: soak.Workspace) -> None:
        for name, number in (("calm", "1.0"), ("disturbed", "1.1")):
            Path(work.folder, name).mkdir()
            Path(work.folder, name, "results.json").write_text(number)
        Path(work.folder, "disturbed", ".geobias-run.json").touch()
        work.compare("disturbed", "calm")

    work = soak.run_trial(overwrite, seed=1)
    assert [loss.split(":")[0] for loss in work.losses] == [
        "disturbed and calm differ",
        "disturbed has no page",
        "left behind in disturbed",
    ]
