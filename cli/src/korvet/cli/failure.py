"""How a command fails: one sentence on what went wrong, one on what to do about it."""


class Failure(Exception):
    """Ends the command with exit status 1; `advice` may span lines, as for a log's end.

    Where `is_unanswered`, there was nobody to ask, so that asking for more is in vain.
    """

    def __init__(
        self, problem: str, advice: str = "", *, is_unanswered: bool = False
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.advice = advice
        self.is_unanswered = is_unanswered
