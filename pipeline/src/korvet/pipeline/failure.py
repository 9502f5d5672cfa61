"""How a job fails for a reason that a person can act on."""


class LakeError(Exception):
    """One sentence on what went wrong, one on what to do about it; the command shows both.

    Anything else that a job raises is a bug, or Spark's.
    """

    def __init__(self, problem: str, advice: str = "") -> None:
        super().__init__(f"{problem} {advice}".rstrip())
        self.problem = problem
        self.advice = advice
