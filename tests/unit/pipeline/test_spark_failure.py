"""What is told of a failure of Spark."""

from korvet.pipeline.spark_failure import reason


def test_the_words_of_our_own_error_in_a_worker_are_told() -> None:
    text = (
        "Job aborted due to stage failure\n"
        "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
        '  File "worker.py", line 1, in main\n'
        "korvet.pipeline.failure.LakeError: Storage does not answer.\n\n"
        "\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:581)\n"
    )

    assert reason(RuntimeError(text)) == "Storage does not answer."


def test_the_innermost_cause_is_told() -> None:
    text = (
        "An error occurred while calling o1.save.\n"
        ": org.apache.spark.SparkException: Job aborted\n"
        "Caused by: java.io.IOException: No space left on device\n"
    )

    assert reason(RuntimeError(text)) == "No space left on device"


def test_an_error_without_causes_is_told_by_its_first_line() -> None:
    assert reason(RuntimeError("[PATH_NOT_FOUND] no such path\n  more")) == (
        "[PATH_NOT_FOUND] no such path"
    )
    assert reason(RuntimeError()) == "RuntimeError"
