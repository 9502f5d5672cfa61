from bench.summary import BATCH, KAFKA, TRANSACTIONS, Sample, figures
from bench.transaction_tables import transaction_grids


def test_transactions_are_shown_beside_what_goes_without_them() -> None:
    samples = [
        Sample(
            0,
            TRANSACTIONS,
            BATCH,
            {
                "plain_rate": 200_000.0,
                "rate": 180_000.0,
                "share": 0.9,
                "commit": {"p50_ms": 8.25, "p99_ms": 20.0},
            },
        )
    ]
    found = {path: figure._asdict() for path, figure in figures(samples).items()}

    grid, _ = transaction_grids(
        {"plan": {"systems": [KAFKA, BATCH]}, "targets": [], "figures": found}
    )

    assert grid.rows[0] == [KAFKA, "-", "-", "-", "-", "-"]
    assert grid.rows[1] == [
        BATCH,
        "200 (200 to 200)",
        "180 (180 to 180)",
        "0.90 (0.90 to 0.90)",
        "8.2 (8.2 to 8.2)",
        "20.0 (20.0 to 20.0)",
    ]
