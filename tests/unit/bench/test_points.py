from bench.points import AXES, BASE, PAIRS, POINTS, SHAPES, Client, Point, shape_cells


def test_the_base_has_the_cells_that_have_no_more_to_their_names() -> None:
    assert BASE.cell("produce") == "produce"


def test_a_cell_is_named_by_what_differs_from_the_base() -> None:
    point = Point(size=1024, partitions=16, producers=8, acks="all", compression="lz4")

    assert point.cell("produce") == "produce-1k-partitions-16-producers-8-acks-all-lz4"


def test_no_two_points_share_a_cell_or_a_label() -> None:
    assert len({point.name for point in POINTS}) == len(POINTS)
    assert len({point.label for point in POINTS}) == len(POINTS)


def test_the_targets_points_are_100_bytes_and_1_kb_with_either_acks() -> None:
    assert {(point.size, point.acks) for point in PAIRS} == {
        (100, "1"),
        (100, "all"),
        (1024, "1"),
        (1024, "all"),
    }


def test_every_axis_is_varied_from_the_base() -> None:
    every = (*PAIRS, *AXES)

    assert {point.size for point in every} == {100, 1024, 10240}
    assert {point.partitions for point in every} >= {1, 4, 16}
    assert {point.producers for point in every} == {1, 8}
    assert {point.compression for point in every} == {"none", "lz4"}
    assert {point.client for point in every} == set(Client)


def test_redis_knows_a_record_and_nothing_of_how_it_is_sent() -> None:
    point = Point(size=1024, key_size=16, headers=2, acks="all", partitions=4)

    assert point.shape == Point(size=1024, key_size=16, headers=2)


def test_a_point_is_compared_with_plain_redis_adding_the_same_records() -> None:
    cells = shape_cells(("produce", "consume"), "produce")

    assert cells["produce-acks-all"] == "produce"
    assert cells["consume-1k-acks-all"] == "produce-1k"
    assert cells[SHAPES[0].cell("produce")] == "produce-key-16"


def test_larger_records_are_handed_over_in_as_many_bytes() -> None:
    small, large = Point(), Point(size=10_240)

    assert small.deal.chunk * small.size == 500_000
    assert large.deal.chunk == 48
    assert large.under_way == 20 * 48
