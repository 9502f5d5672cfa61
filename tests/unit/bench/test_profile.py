from bench.profile import hottest
from bench.profile_tables import profile_grids


def test_self_time_is_of_the_innermost_function() -> None:
    samples, top = hottest("main;serve;read 30\nmain;serve 10\nmain;wait;read 60\n")

    assert samples == 100
    assert [(hot.function, hot.share) for hot in top] == [("read", 0.9), ("serve", 0.1)]


def test_a_functions_name_may_have_spaces() -> None:
    _, top = hottest("main;read (frames.py) 4\n")

    assert top[0].function == "read (frames.py)"


def test_a_thread_that_waits_for_work_is_no_sample() -> None:
    samples, top = hottest("run;epoll_wait (libc.so.6) 90\nrun;read (libc.so.6) 10\n")

    assert samples == 10
    assert [(hot.function, hot.share) for hot in top] == [("read (libc.so.6)", 1.0)]


def test_code_without_symbols_is_summed_by_its_library() -> None:
    _, top = hottest("run;0x7f01 (libc.so.6) 3\nrun;0x7f02 (libc.so.6) 1\n")

    assert [(hot.function, hot.share) for hot in top] == [("in libc.so.6", 1.0)]


def test_the_processes_of_a_load_stand_side_by_side() -> None:
    load = {"system": "korvet-batch", "kind": "produce", "samples": 10, "cpu_us": 0.25}
    gateway = [{"function": "read", "share": 0.5}, {"function": "write", "share": 0.25}]
    storage = [{"function": "pack", "share": 0.9}]

    (grid,) = profile_grids(
        {
            "profiles": [
                {**load, "role": "gateway", "hottest": gateway},
                {**load, "role": "storage", "hottest": storage},
            ]
        }
    )

    assert grid.header == [
        "gateway, 0.25 µs a record",
        "self",
        "storage, 0.25 µs a record",
        "self",
    ]
    assert grid.rows == [["read", "50%", "pack", "90%"], ["write", "25%", "", ""]]
