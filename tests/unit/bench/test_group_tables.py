from bench.group_tables import group_grids
from bench.summary import (
    BATCH,
    COMMITS,
    IDLE,
    KAFKA,
    Sample,
    death_cell,
    figures,
    join_cell,
)


def test_groups_are_shown_beside_kafka() -> None:
    samples = [
        Sample(0, join_cell(2), KAFKA, {"again_s": 0.5}),
        Sample(0, join_cell(2), BATCH, {"again_s": 0.4}),
        Sample(0, death_cell(2), KAFKA, {"again_s": 2.5, "beyond_s": 0.5}),
        Sample(0, death_cell(2), BATCH, {"again_s": 2.25, "beyond_s": 0.25}),
        Sample(
            0, IDLE, BATCH, {"members": 9, "server_cores": 0.3, "cores": {"redis": 0.1}}
        ),
        Sample(0, COMMITS, KAFKA, {"rate": 1000.0}),
        Sample(0, COMMITS, BATCH, {"rate": 750.0}),
    ]
    found = {path: figure._asdict() for path, figure in figures(samples).items()}

    rebalances, idle, commits, _ = group_grids(
        {
            "plan": {"systems": [KAFKA, BATCH], "sizes": [2]},
            "session_seconds": 2.0,
            "targets": [],
            "figures": found,
        }
    )

    assert rebalances.rows[1] == [
        BATCH,
        "0.40 (0.40 to 0.40)",
        "0.80 (0.80 to 0.80)",
        "2.25 (2.25 to 2.25)",
        "0.25 (0.25 to 0.25)",
        "0.50 (0.50 to 0.50)",
    ]
    assert idle.rows == [[BATCH, "9", "0.300", "redis 0.100", "-"]]
    assert commits.rows[1][1:3] == ["750 (750 to 750)", "0.75 (0.75 to 0.75)"]
